"""Every measured decomposition in columns: what the picture of a report is drawn from.

Measures are rounded as in the document, terms are cut to what a tooltip shows, and nothing is in
here that grows with the number of rows. The columns go into the page as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from proxyuse.detect.witnesses import Witness
from proxyuse.lang.nodes import Add, And, Compare, Ite, Member, Not, Or, Term, Var, variables
from proxyuse.lang.positions import Points, Site, sites_id
from proxyuse.lang.text import Texts
from proxyuse.page.nesting import parents
from proxyuse.report.document import figure, reach_decimals
from proxyuse.report.inputs import Audited
from proxyuse.report.result import AuditResult
from proxyuse.validity.content import figures
from proxyuse.words import one_line, shortened

MOST_TERM = 160  # characters of a computation, or of a name
KINDS = ("variable", "test", "branch", "sum", "whole program", "other")

_BOUNDS = ("association", "influence")
_UNSAFE = re.compile("[<>&\u007f-\u009f\u2028\u2029\ud800-\udfff]")

Column = Any  # a list by decomposition, or one of these for each protected attribute


def points(
    audit: Audited, document: AuditResult, repaired: Audited | None = None
) -> dict[str, Any]:
    """The decompositions of an audit in columns, and those of the repaired program if there is one.

    Parameters
    ----------
    audit : what was measured.
    document : the document of that audit, which says how fine shares of rows may be printed.
    repaired : the audit of the repaired program.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from proxyuse.report.document import document
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> found = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> columns = points(found, document(found))["columns"]
    >>> columns["term"], columns["association"], columns["parent"]
    (["ite(vitamins == 1, 'a', 'b')", 'vitamins == 1', 'vitamins'], [[1.0, 1.0, 1.0]], [-1, 0, 1])
    """
    decimals = reach_decimals(document.min_cell, audit.population.n_rows)
    names = dict.fromkeys(audit.program.variables)
    if repaired is not None:
        names.update(dict.fromkeys(repaired.program.variables))
    number = {name: place for place, name in enumerate(names)}
    association, influence = audit.measures
    return {
        "protected": [_name(z.name) for z in audit.population.protected],
        "epsilon": float(audit.epsilon),
        "delta": float(audit.delta),
        "measures": {"association": association, "influence": influence},
        "variables": [_name(name) for name in number],
        "kinds": list(KINDS),
        "columns": _columns(audit, number, decimals),
        "after": None
        if repaired is None
        else {**_columns(repaired, number, decimals), "was": _was(audit, repaired)},
    }


def as_script_text(columns: Mapping[str, Any]) -> str:
    r"""Columns as JSON that may stand in a script element: nothing in it ends the element.

    Examples
    --------
    >>> as_script_text({"term": ["a < 'é</script>'"], "influence": [0.5, None]})
    '{"term":["a \\u003c \'é\\u003c/script\\u003e\'"],"influence":[0.5,null]}'
    """
    text = json.dumps(columns, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _columns(audit: Audited, number: Mapping[str, int], decimals: int) -> dict[str, Column]:
    """The columns of one audit; variables are told by their `number`."""
    measured, points = audit.decompositions, audit.program.points
    terms, sites = measured.terms, measured.sites
    ids = [sites_id(term, points, some) for term, some in zip(terms, sites, strict=True)]
    witnesses = {w.key: w for w in audit.witnesses}
    by_attribute = [[witnesses.get((name, id_)) for id_ in ids] for name in measured.protected]
    return {
        "id": ids,
        "term": _texts(audit, terms),
        "association": [
            [figure(value) for value in measured.associations[:, z].tolist()]
            for z in range(len(measured.protected))
        ],
        "influence": [
            None if value != value else figure(value) for value in measured.influences.tolist()
        ],
        "reach": [figure(value, decimals) for value in measured.reaches.tolist()],
        "size": [term.size for term in terms],
        "occurrences": [len(some) for some in sites],
        "kind": [KINDS.index(_kind(*one)) for one in zip(terms, sites, strict=True)],
        "variables": _variables(points, sites, number),
        "parent": parents(points, sites),
        "witness": [[int(w is not None) for w in column] for column in by_attribute],
        "explicit": [
            [int(w is not None and w.explicit) for w in column] for column in by_attribute
        ],
        "low": _bounds(by_attribute, "low", min),
        "high": _bounds(by_attribute, "high", max),
    }


def _texts(audit: Audited, terms: Sequence[Term]) -> list[str]:
    """The beginning of each computation; equal ones are written once."""
    texts = Texts(audit.program.precision)
    found: dict[bytes, str] = {}
    for term in terms:
        if term.digest not in found:
            found[term.digest] = _name(shortened(texts.beginning(term, MOST_TERM + 1), MOST_TERM))
    return [found[term.digest] for term in terms]


def _name(name: str) -> str:
    return shortened(one_line(name), MOST_TERM)


def _kind(term: Term, sites: Sequence[Site]) -> str:
    """What sort of computation it is, in the words of `KINDS`."""
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
    program: Points, sites: Sequence[Sequence[Site]], number: Mapping[str, int]
) -> list[list[int]]:
    """The variables that each computation reads.

    Found once, as bits, for every point outside packed trees. A packed tree has its own index of
    variables, so the points inside it are not visited.
    """
    bits = _bits_outside_trees(program, number)
    below: dict[int, list[int]] = {}
    told: dict[int, list[int]] = {}
    found = []
    for point, operands in (some[0] for some in sites):
        read = bits[point] if point in bits else _bits(program.terms[point], number)
        if operands:
            if point not in below:
                below[point] = program.below(point)
            read = 0
            for operand in operands:
                inner = below[point][operand]
                read |= bits[inner] if inner in bits else _bits(program.terms[inner], number)
        if read not in told:
            told[read] = [place for place in range(read.bit_length()) if read >> place & 1]
        found.append(told[read])
    return found


def _bits_outside_trees(program: Points, number: Mapping[str, int]) -> dict[int, int]:
    """The variables below each point that is not inside a packed tree; the first of a tree is."""
    outside = []
    point = 0
    while point < len(program):
        term = program.terms[point]
        outside.append((point, term))
        point += term.points if term.packed else 1
    bits = dict.fromkeys((point for point, _ in outside), 0)
    for point, term in reversed(outside):  # a point comes before those below it
        if term.packed or isinstance(term, Var):
            bits[point] = _bits(term, number)
        above = program.parents[point]
        if above >= 0:
            bits[above] |= bits[point]
    return bits


def _bits(term: Term, number: Mapping[str, int]) -> int:
    bits = 0
    for name in variables(term):
        bits |= 1 << number[name]
    return bits


def _bounds(
    by_attribute: Sequence[Sequence[Witness | None]],
    end: str,
    outer: Callable[[list[float]], float],
) -> dict[str, Column]:
    """The confidence bounds of witnesses; of influence the outer one, if attributes differ."""
    said = [
        [None if w is None or w.validity is None else figures(w.validity) for w in column]
        for column in by_attribute
    ]
    influence = []
    for column in zip(*said, strict=True):
        known = [s[f"influence_{end}"] for s in column if s is not None]
        ends = [value for value in known if value is not None]
        influence.append(outer(ends) if ends else None)
    return {
        "association": [
            [None if s is None else s[f"association_{end}"] for s in column] for column in said
        ],
        "influence": influence,
    }


def _was(before: Audited, after: Audited) -> list[int]:
    """Which decomposition of the program before each one is, or -1.

    The same id is the same term at the same positions. Where positions have moved, a term that is
    listed once on either side is the same computation, and the program as a whole stays that.
    """
    ids = {d.id: place for place, d in enumerate(before.decompositions)}
    lone = _lone(before)
    lone_after = _lone(after)
    found = []
    for place, d in enumerate(after.decompositions):
        digest = d.expression.digest
        was = ids.get(d.id, -1)
        if was < 0 and Site(0) in d.sites:
            was = next((i for i, b in enumerate(before.decompositions) if Site(0) in b.sites), -1)
        if was < 0 and lone_after.get(digest) == place:
            was = lone.get(digest, -1)
        found.append(was)
    return found


def _lone(audit: Audited) -> dict[bytes, int]:
    """The decompositions whose term is listed once."""
    places: dict[bytes, list[int]] = {}
    for place, d in enumerate(audit.decompositions):
        places.setdefault(d.expression.digest, []).append(place)
    return {digest: some[0] for digest, some in places.items() if len(some) == 1}
