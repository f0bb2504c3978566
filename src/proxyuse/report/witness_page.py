"""One witness as a page for the person who judges it.

The page shows what the witness computes and where, its figures and its table, whose decisions
depend on it, the smaller computations inside it, computations that just miss a threshold, and
earlier judgments on similar computations. `disclosure` withholds small counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from textwrap import wrap

import numpy as np
from msgspec import structs

from proxyuse.detect.collective_witness import Collection, CollectionMember
from proxyuse.detect.decompositions import Decomposition
from proxyuse.detect.witnesses import Witness
from proxyuse.judge.judgment import Judgment, Oracle
from proxyuse.judge.record import Record
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Site
from proxyuse.lang.text import term_text
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.report.collections import collection_of
from proxyuse.report.direction import Directions
from proxyuse.report.findings import direction, explicit, judging
from proxyuse.report.findings.witness import associated, decision, measured, shortfall
from proxyuse.report.inputs import Audited
from proxyuse.report.reading import shown_text
from proxyuse.report.release import Figure, figure, release_of
from proxyuse.report.render.text import collection_text, text_table, witness_text
from proxyuse.report.result import AuditResult
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
        self._directions = Directions(audit, self._min_cell)
        self._near: dict[str, list[Decomposition]] = {}

    def page(
        self,
        witness: Witness | Collection,
        head: str,
        similar: Sequence[Record] = (),
        oracle: Oracle | None = None,
    ) -> str:
        """The page of one witness or collection.

        Parameters
        ----------
        witness : a witness or a collection of the audit.
        head : the heading.
        similar : judgments of similar computations; they are shown, never applied.
        oracle : judges the witnesses inside it.
        """
        if isinstance(witness, Collection):
            parts = [[_RULE, head, ""], self._collection(witness, oracle)]
            lowest = self._member(witness, witness.members[-1])
            parts.append(_similar(witness, lowest, similar))
            return "\n".join("\n".join(part) for part in parts if part)
        parts = [
            [_RULE, head, ""],
            [self._itself(witness)],
            self._affected(witness),
            self._inside(witness, oracle),
            self._near_misses(witness.protected),
            _similar(witness, self._released(witness.decomposition, witness.protected), similar),
        ]
        return "\n".join("\n".join(part) for part in parts if part)

    def in_order(self, witnesses: Iterable[Witness]) -> list[Witness]:
        """The witnesses in the order of the result."""
        place = {key: index for index, key in enumerate(self._entries)}
        return sorted(witnesses, key=lambda witness: place[witness.key])

    def line(self, witness: Witness | Collection) -> str:
        """The computation of a witness, shortened to one line."""
        if isinstance(witness, Collection):
            return shortened(one_line(witness.term), MOST_TEXT)
        return self._brief(witness.expression)

    def association(self, witness: Witness | Collection) -> float:
        """The association of a witness, as a result has it; the lowest of a collection."""
        if isinstance(witness, Collection):
            return self._member(witness, witness.members[-1]).value
        return self._released(witness.decomposition, witness.protected).value

    def whole_term(self, witness: Witness | Collection) -> str:
        """The computation of a witness in full, on several lines; for a collection, its members."""
        precision = self._audit.program.precision
        if isinstance(witness, Collection):
            return "\n".join(term_text(m.expression, precision) for m in witness.members)
        return term_text(witness.expression, precision)

    # A collection

    def _collection(self, known: Collection, oracle: Oracle | None) -> list[str]:
        """What a collection is, who is affected, and its most associated members."""
        name = known.protected
        release = release_of(self._audit, self._min_cell)
        entry = collection_of(self._audit, name, oracle, release, self._directions)
        assert entry is not None
        return [collection_text(self._result, entry, WIDTH)]

    def _member(self, known: Collection, member: CollectionMember) -> Figure:
        release = release_of(self._audit, self._min_cell)
        return release.association(member.expression, known.protected, member.association)

    # The witness itself

    def _itself(self, witness: Witness) -> str:
        if witness.key not in self._entries:
            return self._explicit(witness)
        entry = self._entries[witness.key]
        text = witness_text(self._result, entry, MOST_TERM)
        more = [judging.LONG_TERM] if entry.term_cut or len(entry.term) > MOST_TERM else []
        return "\n".join([text, *more])

    def _explicit(self, witness: Witness) -> str:
        """A column that determines the attribute, but is not a witness."""
        z, use = next(
            (z, use) for z, use in explicit.all_of(self._result) if (z.name, use.id) == witness.key
        )
        text = " ".join(explicit.sentences(self._result, z, use))
        return "\n".join([*wrap(one_line(text), WIDTH), "", *wrap(explicit.WHAT_COUNTS, WIDTH)])

    def _affected(self, witness: Witness) -> list[str]:
        entry = self._entries.get(witness.key)
        if entry is None:
            return []
        if entry.direction is None:
            known = self._directions.direction(witness.decomposition, witness.protected)
            entry = structs.replace(entry, direction=known)
        counted = self._result.measures.influence == QuantitativeInputInfluence().name
        remarks = direction.direction_remarks(self._result, entry)
        return [
            "",
            "Who is affected",
            *_indented(judging.affected(entry, counted, self._result.weighted)),
            *text_table(*direction.direction_table(self._result, entry)),
            *(line for remark in remarks for line in _indented(remark)),
        ]

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
        rows = []
        for near in found[:MOST_NEAR]:
            known = self._released(near, protected)
            lowest = known.value if known.range is None else known.range[0]
            lacking = shortfall(
                max(0.0, audit.epsilon - lowest),
                max(0.0, audit.delta - (near.influence or 0)),
                ranged=known.range is not None,
            )
            rows.append([*self._figures(near, protected), lacking, self._brief(near.expression)])
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
        known = self._released(found, protected)
        return [associated(known.value, known.range), measured(influence)]

    def _released(self, found: Decomposition, protected: str) -> Figure:
        exact, release = found.associations[protected], release_of(self._audit, self._min_cell)
        return release.association(found.expression, protected, exact)

    def _standing(self, found: Decomposition, protected: str, judgment: Judgment | None) -> str:
        if found.associations[protected] < self._audit.epsilon:
            return "no"
        if found.influence is None or found.influence <= self._audit.delta:
            return "no"
        if judgment is None:
            return "yes, not judged"
        return f"yes, {decision(judgment.appropriate)}"

    def _brief(self, term: Term) -> str:
        return shown_text(term, self._audit.population.columns, MOST_TEXT)[0]


def _strength(found: Decomposition, protected: str) -> tuple[float, float, int, Site]:
    return -found.associations[protected], -(found.influence or 0.0), found.size, found.sites[0]


def _more(found: Sequence[object], shown: int) -> list[str]:
    more = len(found) - shown
    return [f"  ... and {more:,} more."] if more > 0 else []


def _indented(text: str) -> list[str]:
    return wrap(text, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _similar(
    witness: Witness | Collection, association: Figure, records: Sequence[Record]
) -> list[str]:
    """Earlier judgments of similar computations, and what has changed since."""
    if not records:
        return []
    lines = ["", judging.SIMILAR]
    for record in records[:MOST_SIMILAR]:
        by = f"{one_line(record.by)} on {record.at:%Y-%m-%d at %H:%M} UTC"
        lines += [
            f"  {judging.decided(record.appropriate, by, one_line(record.reason))}",
            *(f"    {text}" for text in what_moved(record, witness, association)),
        ]
    return [*lines, *_more(records, MOST_SIMILAR)]


def what_moved(record: Record, witness: Witness | Collection, association: Figure) -> list[str]:
    """How a witness differs from the judged computation; `association` is what may be printed."""
    influences = record.influence, witness.influence
    lines = [
        judging.then_and_now(record.association, association.value, association.range, influences)
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
