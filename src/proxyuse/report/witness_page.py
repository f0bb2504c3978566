"""One witness as a page for the person who judges it.

The page shows what the witness computes and where, its figures and its table, whose decisions
depend on it, the smaller computations inside it, computations that just miss a threshold, and
earlier judgments on similar computations. `disclosure` and `influence_by_group` withhold small
counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from textwrap import wrap

import numpy as np

from proxyuse.detect.decompositions import Decomposition
from proxyuse.detect.witnesses import Witness
from proxyuse.judge.judgment import Judgment, Oracle
from proxyuse.judge.record import Record
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Site
from proxyuse.lang.text import term_text
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.report.document import figure
from proxyuse.report.findings import judging
from proxyuse.report.findings.witness import decision, measured, shortfall
from proxyuse.report.influence_by_group import GroupInfluence, coarse, influence_by_group
from proxyuse.report.inputs import Audited
from proxyuse.report.reading import MOST_NODES, shown_text
from proxyuse.report.render.text import text_table, witness_text
from proxyuse.report.result import AuditResult
from proxyuse.report.tables import RowTables
from proxyuse.words import one_line, shortened

MOST_TERM = 300
MOST_TEXT = 72
MOST_INSIDE = 5
MOST_NEAR = 3
MOST_SIMILAR = 3
MOST_MOVED = 6
NEAR = 0.8
WIDTH = 90

_RULE = "=" * 78
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


class Pages:
    """The pages of one audit.

    Parameters
    ----------
    audit : the audit.
    result : its result, with the `min_cell` of the pages.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from proxyuse.report.document import document
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> audit = pu.audit(pu.Program.parse("ite(vitamins == 1, 'a', 'b')"), data, "pregnant")
    >>> pages = Pages(audit, document(audit))
    >>> page = pages.page(audit.witnesses[1], "Witness 2 of 3")
    >>> "The model tests `vitamins == 1`." in page, "Inside this computation" in page
    (True, True)
    >>> pages.whole_term(audit.witnesses[1])
    'vitamins == 1'
    """

    def __init__(self, audit: Audited, result: AuditResult) -> None:
        self._audit = audit
        self._result = result
        self._min_cell = result.min_cell
        self._entries = result.by_key()
        self._tables = RowTables(audit, self._min_cell)
        self._near: dict[str, list[Decomposition]] = {}

    def page(
        self,
        witness: Witness,
        head: str,
        similar: Sequence[Record] = (),
        oracle: Oracle | None = None,
    ) -> str:
        """The page of one witness.

        Parameters
        ----------
        witness : a witness of the audit.
        head : the heading.
        similar : judgments of similar computations; they are shown, never applied.
        oracle : judges the witnesses inside it.
        """
        parts = [
            [_RULE, head, ""],
            [self._itself(witness)],
            self._affected(witness),
            self._inside(witness, oracle),
            self._near_misses(witness.protected),
            _similar(witness, similar),
        ]
        return "\n".join("\n".join(part) for part in parts if part)

    def line(self, witness: Witness) -> str:
        """The computation of a witness, shortened to one line."""
        return self._brief(witness.expression)

    def whole_term(self, witness: Witness) -> str:
        """The computation of a witness in full, on several lines."""
        return term_text(witness.expression, self._audit.program.precision)

    # The witness itself

    def _itself(self, witness: Witness) -> str:
        entry = self._entries[witness.key]
        text = witness_text(self._result, entry, MOST_TERM)
        more = [judging.LONG_TERM] if entry.term_cut or len(entry.term) > MOST_TERM else []
        return "\n".join([text, *more])

    def affected(self, witness: Witness) -> tuple[list[list[str]], GroupInfluence]:
        """The name, the rows and the share of changed decisions of each group, as text."""
        groups = self._tables.groups(witness.protected)
        by_group = influence_by_group(self._audit, witness.decomposition, groups)
        rows = [
            [one_line(value.value), f"{value.rows:,}", coarse(share, room, self._min_cell)]
            for value, share, room in zip(
                self._tables.values(witness.protected),
                by_group.shares.tolist(),
                self._effective_rows(groups),
                strict=True,
            )
        ]
        return rows, by_group

    def _affected(self, witness: Witness) -> list[str]:
        name = one_line(witness.protected)
        entry = self._entries[witness.key]
        rows, by_group = self.affected(witness)
        counted = self._result.measures.influence == QuantitativeInputInfluence().name
        return [
            "",
            "Who is affected",
            *_indented(judging.affected(entry, counted, self._result.weighted)),
            *text_table([name, "rows", "decisions that change"], rows),
            *_indented(judging.estimated(by_group.pairs, by_group.within)),
            *_indented(judging.DIRECTION),
        ]

    def _effective_rows(self, groups: Array) -> list[float]:
        """The weight of each group over that of its heaviest row: its rows, if all are equal."""
        weights = self._audit.population.weights
        heaviest = np.zeros(int(groups.max()) + 1)
        np.maximum.at(heaviest, groups, weights)
        return list((np.bincount(groups, weights) / heaviest).tolist())

    # Other computations

    def _inside(self, witness: Witness, oracle: Oracle | None) -> list[str]:
        found = self._smaller(witness)
        if not found:
            return []
        judged = {
            w.expression.digest: said
            for w in self._audit.witnesses
            if w.protected == witness.protected and oracle is not None and (said := oracle(w))
        }
        rows = [
            [
                *self._figures(inner, witness.protected),
                self._standing(inner, witness.protected, judged.get(inner.expression.digest)),
                self._brief(inner.expression),
            ]
            for inner in found[:MOST_INSIDE]
        ]
        heads = ["association", "influence", "is a witness", "computation"]
        return ["", "Inside this computation", *text_table(heads, rows), *_more(found, MOST_INSIDE)]

    def _smaller(self, witness: Witness) -> list[Decomposition]:
        """The computations inside a witness, strongest first, one per term."""
        points = self._audit.program.points
        covered = [span for site in witness.decomposition.sites for span in points.covers(site)]
        starts, ends = self._hulls
        low, high = min(start for start, _ in covered), max(end for _, end in covered)
        found: dict[bytes, Decomposition] = {}
        for place in np.flatnonzero((starts >= low) & (ends <= high)).tolist():
            inner = self._audit.decompositions[place]
            digest = inner.expression.digest
            if digest == witness.expression.digest or not self._within(inner.sites, covered):
                continue
            if digest not in found or (inner.influence or 0) > (found[digest].influence or 0):
                found[digest] = inner
        return sorted(found.values(), key=lambda d: _strength(d, witness.protected))

    @cached_property
    def _hulls(self) -> tuple[Array, Array]:
        """The first and last program point of each decomposition."""
        points = self._audit.program.points
        spans = [
            [span for site in found.sites for span in points.covers(site)]
            for found in self._audit.decompositions
        ]
        starts = np.array([min(start for start, _ in some) for some in spans])
        return starts, np.array([max(end for _, end in some) for some in spans])

    def _within(self, sites: Iterable[Site], covered: Sequence[tuple[int, int]]) -> bool:
        points = self._audit.program.points
        return all(
            any(low <= start and end <= high for low, high in covered)
            for site in sites
            for start, end in points.covers(site)
        )

    def _near_misses(self, protected: str) -> list[str]:
        if protected not in self._near:
            self._near[protected] = self._just_missing(protected)
        found, audit = self._near[protected], self._audit
        if not found:
            return []
        rows = [
            [
                *self._figures(near, protected),
                shortfall(
                    max(0.0, audit.epsilon - near.associations[protected]),
                    max(0.0, audit.delta - (near.influence or 0)),
                ),
                self._brief(near.expression),
            ]
            for near in found[:MOST_NEAR]
        ]
        heads = ["association", "influence", "short by", "computation"]
        return [
            "",
            judging.just_missing(one_line(protected)),
            *text_table(heads, rows),
            *_more(found, MOST_NEAR),
        ]

    def _just_missing(self, protected: str) -> list[Decomposition]:
        """Terms that would be witnesses only if the thresholds were a fifth lower."""
        audit, measured = self._audit, self._audit.decompositions
        associations = measured.associations[:, measured.protected.index(protected)]
        near = (associations >= NEAR * audit.epsilon) & (measured.influences > NEAR * audit.delta)
        seen = {w.expression.digest for w in audit.witnesses if w.protected == protected}
        found = [measured[int(place)] for place in np.flatnonzero(near)]
        kept: list[Decomposition] = []
        for decomposition in sorted(found, key=lambda d: _strength(d, protected)):
            if decomposition.expression.digest not in seen:
                seen.add(decomposition.expression.digest)
                kept.append(decomposition)
        return kept

    # Text

    def _figures(self, found: Decomposition, protected: str) -> list[str]:
        influence = None if found.influence is None else figure(found.influence)
        return [measured(figure(found.associations[protected])), measured(influence)]

    def _standing(self, found: Decomposition, protected: str, judgment: Judgment | None) -> str:
        if found.associations[protected] < self._audit.epsilon:
            return "no"
        if found.influence is None or found.influence <= self._audit.delta:
            return "no"
        if judgment is None:
            return "yes, not judged"
        return f"yes, {decision(judgment.appropriate)}"

    def _brief(self, term: Term) -> str:
        program = self._audit.program
        text = program.brief(term) if term.size > MOST_NODES else program.text_of(term)
        reading, _ = shown_text(term, text, self._audit.population.columns)
        return shortened(one_line(reading), MOST_TEXT)


def _strength(found: Decomposition, protected: str) -> tuple[float, float, int, Site]:
    return -found.associations[protected], -(found.influence or 0.0), found.size, found.sites[0]


def _more(found: Sequence[object], shown: int) -> list[str]:
    more = len(found) - shown
    return [f"  ... and {more:,} more."] if more > 0 else []


def _indented(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _similar(witness: Witness, records: Sequence[Record]) -> list[str]:
    """Earlier judgments of similar computations, and what has changed since."""
    if not records:
        return []
    lines = ["", judging.SIMILAR]
    for record in records[:MOST_SIMILAR]:
        by = f"{one_line(record.by)} on {record.at:%Y-%m-%d at %H:%M} UTC"
        lines += [
            f"  {judging.decided(record.appropriate, by, one_line(record.reason))}",
            *(f"    {text}" for text in what_moved(record, witness)),
        ]
    return [*lines, *_more(records, MOST_SIMILAR)]


def what_moved(record: Record, witness: Witness) -> list[str]:
    """How a witness differs from the judged computation."""
    lines = [
        judging.then_and_now(
            record.association, witness.association, record.influence, witness.influence
        )
    ]
    if record.term == witness.term:
        return [*lines, judging.SAME]
    moved = moved_numbers(record.term, witness.term)
    if moved is None:
        return [*lines, f"then: {shortened(one_line(record.term), MOST_TERM)}"]
    return [*lines, judging.numbers_moved(moved, MOST_MOVED)]


def moved_numbers(before: str, now: str) -> list[tuple[str, str]] | None:
    """The numbers that differ between two texts; None if anything else differs.

    Examples
    --------
    >>> moved_numbers("ite(age <= 30.5, 1, x2)", "ite(age <= 31, 1, x2)")
    [('30.5', '31')]
    >>> moved_numbers("x + 1", "x - 1")
    """
    if _NUMBER.sub("#", before) != _NUMBER.sub("#", now):
        return None
    pairs = zip(_NUMBER.findall(before), _NUMBER.findall(now), strict=True)
    return [(a, b) for a, b in pairs if a != b]
