"""The measured decompositions in columns, as the chart of the HTML report needs them.

Measures are rounded as in the document, and terms are cut to the length of a tooltip. Nothing here
grows with the number of rows, and `cells` limits what grows with the number of decompositions. The
columns are embedded in the page as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from proxyuse.detect.witnesses import Witness
from proxyuse.lang.nodes import Add, And, Compare, Ite, Member, Not, Or, Term, Var, variables
from proxyuse.lang.positions import Points, Site, sites_id
from proxyuse.report.collective_points import points_of
from proxyuse.report.document import reach_decimals
from proxyuse.report.inputs import Audited
from proxyuse.report.leading import leading_attribute
from proxyuse.report.reading import shown_text
from proxyuse.report.release import Release, figure, release_of
from proxyuse.report.render.html.cells import MOST_POINTS, counted_cells, single_points
from proxyuse.report.render.html.nesting import parents
from proxyuse.report.result import AuditResult
from proxyuse.validity.content import figures
from proxyuse.words import one_line, shortened

MOST_TERM = 160  # characters of a computation or a name
KINDS = ("variable", "test", "branch", "sum", "whole program", "other")

_BOUNDS = ("association", "influence")
_UNSAFE = re.compile("[<>&\u007f-\u009f\u2028\u2029\ud800-\udfff]")

Column = Any  # a list with a value per decomposition, or one such list per protected attribute


def points(
    audit: Audited,
    document: AuditResult,
    repaired: Audited | None = None,
    *,
    most: int = MOST_POINTS,
) -> dict[str, Any]:
    """The decompositions of an audit in columns, and those of the repaired program if there is one.

    Parameters
    ----------
    audit : the audit.
    document : its document, which limits the precision of shares of rows.
    repaired : the audit of the repaired program.
    most : how many points each audit may have; see `cells.single_points`.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from proxyuse.report.document import document
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> columns = points(audit, document(audit))["columns"]
    >>> columns["term"], columns["association"]
    (["ite(vitamins == 1, 'a', 'b')", 'vitamins == 1', 'vitamins'], [[0.55, 0.55, 0.55]])
    >>> columns["parent"]
    [-1, 0, 1]
    """
    decimals = reach_decimals(document.min_cell, audit.population.n_rows)
    names = dict.fromkeys(audit.program.variables)
    if repaired is not None:
        names.update(dict.fromkeys(repaired.program.variables))
    numbers = {name: number for number, name in enumerate(names)}
    association, influence = audit.measures
    singles = _singles(audit, most)
    after = None
    if repaired is not None:
        kept = _singles(repaired, most)
        after = _columns(repaired, kept, numbers, decimals, document.min_cell)
        after["previous"] = _previous(audit, singles, repaired, kept)
    return {
        "protected": [_name(z.name) for z in audit.population.protected],
        "leading": audit.decompositions.protected.index(leading_attribute(audit)),
        "epsilon": float(audit.epsilon),
        "delta": float(audit.delta),
        "measures": {"association": association, "influence": influence},
        "variables": [_name(name) for name in numbers],
        "kinds": list(KINDS),
        "columns": _columns(audit, singles, numbers, decimals, document.min_cell),
        "after": after,
    }


def _singles(audit: Audited, most: int) -> list[int]:
    return single_points(audit.decompositions, audit.epsilon, audit.delta, most)


def as_script_text(columns: Mapping[str, Any]) -> str:
    r"""Columns as JSON that is safe inside a script element: nothing in it ends the element.

    Examples
    --------
    >>> as_script_text({"term": ["a < 'é</script>'"], "influence": [0.5, None]})
    '{"term":["a \\u003c \'é\\u003c/script\\u003e\'"],"influence":[0.5,null]}'
    """
    text = json.dumps(columns, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _columns(
    audit: Audited,
    singles: Sequence[int],
    numbers: Mapping[str, int],
    decimals: int,
    min_cell: int,
) -> dict[str, Column]:
    """The columns of one audit for `singles`, and the cells of all others."""
    measured, points = audit.decompositions, audit.program.points
    all_terms, all_sites = measured.terms, measured.sites
    terms, sites = [all_terms[i] for i in singles], [all_sites[i] for i in singles]
    ids = [sites_id(term, points, some) for term, some in zip(terms, sites, strict=True)]
    witnesses = {w.key: w for w in audit.witnesses}
    by_attribute = [[witnesses.get((name, id_)) for id_ in ids] for name in measured.protected]
    release = release_of(audit, min_cell)
    kinds = [KINDS.index(_kind(*one)) for one in zip(all_terms, all_sites, strict=True)]
    return {
        "id": ids,
        "term": _texts(audit, terms),
        "association": [
            [
                release.association(term, name, value).value
                for term, value in zip(
                    terms, measured.associations[singles, z].tolist(), strict=True
                )
            ]
            for z, name in enumerate(measured.protected)
        ],
        "influence": [
            None if value != value else figure(value)
            for value in measured.influences[singles].tolist()
        ],
        "reach": [figure(value, decimals) for value in measured.reaches[singles].tolist()],
        "size": [term.size for term in terms],
        "occurrences": [len(some) for some in sites],
        "kind": [kinds[i] for i in singles],
        "variables": _variables(points, sites, numbers),
        "parent": parents(points, sites),
        "witness": [[int(w is not None) for w in column] for column in by_attribute],
        "explicit": [
            [int(w is not None and w.explicit) for w in column] for column in by_attribute
        ],
        "low": _bounds(by_attribute, "low", min, release),
        "high": _bounds(by_attribute, "high", max, release),
        "cells": counted_cells(measured, singles, kinds, release.rounded),
        "curve": [
            [
                [figure(level), figure(influence)]
                for level, influence in points_of(audit, name, release)
            ]
            for name in measured.protected
        ],
    }


def _texts(audit: Audited, terms: Sequence[Term]) -> list[str]:
    """The beginning of each computation; equal ones are formatted once."""
    columns = audit.population.columns
    known: dict[bytes, str] = {}
    for term in terms:
        if term.digest not in known:
            known[term.digest] = shown_text(term, columns, MOST_TERM)[0]
    return [known[term.digest] for term in terms]


def _name(name: str) -> str:
    return shortened(one_line(name), MOST_TERM)


def _kind(term: Term, sites: Sequence[Site]) -> str:
    """The kind of a computation: one of `KINDS`."""
    match term:
        case Var():
            return "variable"
        case _ if Site(0) in sites:
            return "whole program"
        case Compare() | Member() | And() | Or() | Not():
            return "test"
        case Ite():
            return "branch"
        case Add():
            return "sum"
        case _:
            return "other"


def _variables(
    program: Points, sites: Sequence[Sequence[Site]], numbers: Mapping[str, int]
) -> list[list[int]]:
    """The variables that each computation reads.

    Computed once, as bits, for every point outside packed trees. A packed tree has its own index
    of variables, so the points inside it are not visited.
    """
    bits = _bits_outside_trees(program, numbers)
    below: dict[int, list[int]] = {}
    lists: dict[int, list[int]] = {}
    columns = []
    for point, operands in (some[0] for some in sites):
        read = bits[point] if point in bits else _bits(program.terms[point], numbers)
        if operands:
            if point not in below:
                below[point] = program.below(point)
            read = 0
            for operand in operands:
                inner = below[point][operand]
                read |= bits[inner] if inner in bits else _bits(program.terms[inner], numbers)
        if read not in lists:
            lists[read] = [number for number in range(read.bit_length()) if read >> number & 1]
        columns.append(lists[read])
    return columns


def _bits_outside_trees(program: Points, numbers: Mapping[str, int]) -> dict[int, int]:
    """The variables below each point outside packed trees; the root of a tree counts as outside."""
    outside = []
    point = 0
    while point < len(program):
        term = program.terms[point]
        outside.append((point, term))
        point += term.points if term.packed else 1
    bits = dict.fromkeys((point for point, _ in outside), 0)
    for point, term in reversed(outside):  # a point comes before those below it
        if term.packed or isinstance(term, Var):
            bits[point] = _bits(term, numbers)
        above = program.parents[point]
        if above >= 0:
            bits[above] |= bits[point]
    return bits


def _bits(term: Term, numbers: Mapping[str, int]) -> int:
    bits = 0
    for name in variables(term):
        bits |= 1 << numbers[name]
    return bits


def _bounds(
    by_attribute: Sequence[Sequence[Witness | None]],
    end: str,
    outer: Callable[[list[float]], float],
    release: Release,
) -> dict[str, Column]:
    """The confidence bounds of witnesses; for influence the outer one, if attributes differ."""
    bounds = [
        [
            None if w is None or w.validity is None else release.validity(figures(w.validity), w)
            for w in column
        ]
        for column in by_attribute
    ]
    influence = []
    for column in zip(*bounds, strict=True):
        known = [b[f"influence_{end}"] for b in column if b is not None]
        ends = [value for value in known if value is not None]
        influence.append(outer(ends) if ends else None)
    return {
        "association": [
            [None if b is None else b[f"association_{end}"] for b in column] for column in bounds
        ],
        "influence": influence,
    }


def _previous(
    before: Audited, kept_before: Sequence[int], after: Audited, kept_after: Sequence[int]
) -> list[int]:
    """For each point after the repair, the number of the same point before it, or -1.

    Equal ids mean the same term at the same positions. Where positions have moved, a term that is
    listed once on either side is the same computation, and so is the program as a whole.
    """
    numbers = {before.decompositions[i].id: number for number, i in enumerate(kept_before)}
    whole = next(
        (n for n, i in enumerate(kept_before) if Site(0) in before.decompositions.sites[i]), -1
    )
    lone_before, lone_after = _lone(before, kept_before), _lone(after, kept_after)
    previous = []
    for number, i in enumerate(kept_after):
        d = after.decompositions[i]
        digest = d.expression.digest
        same = numbers.get(d.id, -1)
        if same < 0 and Site(0) in d.sites:
            same = whole
        if same < 0 and lone_after.get(digest) == number:
            same = lone_before.get(digest, -1)
        previous.append(same)
    return previous


def _lone(audit: Audited, kept: Sequence[int]) -> dict[bytes, int]:
    """The numbers of the points whose term is listed once."""
    measured = audit.decompositions
    owners = measured.owners
    listed = np.bincount(owners, minlength=len(measured.computations))
    return {
        measured.computations[owners[i]].digest: number
        for number, i in enumerate(kept)
        if listed[owners[i]] == 1
    }
