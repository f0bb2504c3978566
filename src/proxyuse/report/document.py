"""The typed result of an audit; see `report.result`.

Counts of rows are printed as `disclosure` allows, measures as `release` does, and reach no finer
than `min_cell` rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any, Literal

from msgspec.structs import astuple

from proxyuse.detect import results as detected
from proxyuse.detect import witnesses as detected_witnesses
from proxyuse.detect.decompositions import Decomposition
from proxyuse.errors import DataError
from proxyuse.judge.judgment import Judgment as Judged
from proxyuse.judge.judgment import Oracle, judgment_of
from proxyuse.lang.nodes import Term, Var, variables
from proxyuse.lang.positions import Site
from proxyuse.lang.text import beginning
from proxyuse.measure import guessing
from proxyuse.measure.association.ceilings import ceiling
from proxyuse.measure.association.joint_table import JointTable
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.measures.squared_correlation import SquaredCorrelation
from proxyuse.measure.association.noisy_copy import NoisyCopy, noisy_copy
from proxyuse.notes import Note, NoteKind
from proxyuse.report.collections import collection_of
from proxyuse.report.coverage import coverage_of
from proxyuse.report.direction import Directions
from proxyuse.report.disclosure import check_min_cell
from proxyuse.report.explicit import explicit_of
from proxyuse.report.findings.headline import precision_sentences
from proxyuse.report.findings.notes import note_sentence
from proxyuse.report.findings.remarks import remark_sentence
from proxyuse.report.inputs import Audited
from proxyuse.report.nearest import nearest_decompositions
from proxyuse.report.reading import shown_text
from proxyuse.report.release import DECIMALS, Figure, figure, release_of
from proxyuse.report.result import (
    MIN_CELL,
    AuditResult,
    Cut,
    Group,
    Guess,
    Judgment,
    Measures,
    Method,
    Near,
    NoteText,
    ProgramSize,
    Protected,
    Reference,
    Table,
    Thresholds,
    Unsettled,
    ValiditySummary,
    Witness,
    WitnessValidity,
)
from proxyuse.report.tables import short_threshold
from proxyuse.validity.content import method_options, validity_content
from proxyuse.verdict import AttributeVerdict, VerdictCounts, overall

MOST_TEXT = 4000  # characters of a computation
MOST_POSITIONS = 50
MOST_UNSETTLED = 100


def document(
    audit: Audited,
    *,
    about: Mapping[str, object] | None = None,
    min_cell: int = MIN_CELL,
    oracle: Oracle | None = None,
    most_groups: int | None = None,
    thresholds: bool = False,
) -> AuditResult:
    """Return the result of an audit, which every format is rendered from.

    Parameters
    ----------
    audit : the audit.
    about : what the caller knows about model and data, such as file names and hashes; anything
        that JSON can hold.
    min_cell : withhold counts of rows below this, and counts that would reveal them; 1 prints all.
    oracle : judges whether a witness is appropriate; see `Audit.violations`.
    most_groups : list only the representative, the leading and the strongest witness of this many
        groups, confirmed ones first, which is faster. By default every witness is listed. Counts
        always cover all witnesses.
    thresholds : whether to count witnesses at other pairs of thresholds, which takes a few passes
        over the rows for each of at most 1,000 computations.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0] * 50, "pregnant": [1, 1, 0, 0] * 50}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
    >>> result = document(pu.audit(program, data, protected="pregnant"))
    >>> result.verdict.value, result.complete, len(result.witnesses)
    ('confirmed', True, 3)
    >>> result.groups[0].representative == result.witnesses[0].id
    True
    >>> result.witnesses[0].reading, result.witnesses[0].association
    ('vitamins', 0.8)
    """
    check_min_cell(min_cell)
    writer = _Writer(audit, int(min_cell))
    groups = writer.release.groups(audit.witnesses)
    witnesses = [witness for group in groups for witness in group.witnesses]
    judgments = [judgment_of(oracle, witness) for witness in witnesses]
    violations = [
        witness
        for witness, judgment in zip(witnesses, judgments, strict=True)
        if judgment is None or not judgment.appropriate
    ]
    verdicts = audit.verdicts_with(oracle)
    association, influence = audit.measures
    listed = None
    if most_groups is not None:
        shown = sorted(groups, key=lambda group: not group.leading.confirmed)[:most_groups]
        listed = {w.key for g in shown for w in (g.representative, g.leading, g.strongest)}
    writer.directions.compute(listed)
    precision = writer.release.precision()
    return AuditResult(
        proxyuse=installed_version(),
        about=_about(about),
        verdict=overall(known.verdict for known in verdicts.values()),
        fail_on=audit.fail_on,
        violations=len(violations),
        complete=audit.complete,
        strict=audit.strict,
        coverage=coverage_of(audit),
        thresholds=Thresholds(float(audit.epsilon), float(audit.delta), audit.requested_epsilon),
        measures=Measures(
            association, influence, any(note.kind is NoteKind.SAMPLED for note in audit.notes)
        ),
        min_cell=int(min_cell),
        precision=precision,
        rows=audit.population.n_rows,
        total_weight=_plain(audit.population.total),
        weighted=bool((audit.population.weights != 1).any()),
        program=ProgramSize(audit.program.size, tuple(audit.program.variables)),
        decompositions=len(audit.decompositions),
        validity=_validity(audit, violations, int(min_cell)),
        protected=writer.protected(verdicts, violations, oracle),
        outcomes=writer.directions.outcomes(),
        groups=writer.groups(),
        witnesses=tuple(
            writer.witness(witness, judgment)
            for witness, judgment in zip(witnesses, judgments, strict=True)
            if listed is None or witness.key in listed
        ),
        references=writer.references(),
        nearest=writer.nearest(),
        notes=(
            *note_texts(audit.notes, int(min_cell)),
            *(NoteText("withheld", text) for text in precision_sentences(precision, int(min_cell))),
        ),
        unsettled=unsettled_texts(audit.unsettled),
        threshold_table=tuple(
            writer.release.threshold_table(table, witnesses) for table in audit.threshold_tables()
        )
        if thresholds
        else (),
    )


def note_texts(notes: Iterable[Note], min_cell: int) -> tuple[NoteText, ...]:
    """The notes as sentences; what was not settled is listed elsewhere."""
    return tuple(
        NoteText(str(note.kind), note_sentence(note, min_cell))
        for note in notes
        if note.kind is not NoteKind.UNSETTLED
    )


def unsettled_texts(unsettled: Sequence[detected.Unsettled]) -> Unsettled:
    """What was not settled: how many, and the first of them."""
    first = unsettled[:MOST_UNSETTLED]
    return Unsettled(len(unsettled), tuple(note_sentence(item.note) for item in first))


def reach_decimals(min_cell: int, rows: int) -> int:
    """The number of decimals of a share of rows: no finer than `min_cell` rows.

    Examples
    --------
    >>> reach_decimals(5, 800), reach_decimals(1, 800), reach_decimals(5, 10**9)
    (2, 4, 4)
    """
    grain = math.ceil(math.log10(min_cell / rows))
    return DECIMALS if min_cell == 1 else min(max(-grain, 1), DECIMALS)


def installed_version() -> str:
    """The version of proxyuse."""
    try:
        return metadata.version("proxyuse")
    except metadata.PackageNotFoundError:
        return "unknown"


class _Writer:
    """The parts of a result that describe computations; each computation is described once."""

    def __init__(self, audit: Audited, min_cell: int) -> None:
        self.audit = audit
        self.release = release_of(audit, min_cell)
        self.tables = self.release.tables
        self.by_values = audit.measures[0] == SquaredCorrelation().name
        self.informative = audit.measures[0] == NormalizedMutualInformation().name
        self.reach_decimals = reach_decimals(min_cell, audit.population.n_rows)
        self._described: dict[bytes, dict[str, Any]] = {}
        self._joint: dict[tuple[bytes, str], JointTable] = {}
        self._printed: dict[tuple[bytes, str], Table] = {}
        self.directions = Directions(audit, min_cell)
        self._guesses: dict[bytes, dict[str, guessing.Guess]] = {}

    def protected(
        self,
        verdicts: Mapping[str, AttributeVerdict],
        violations: Iterable[detected_witnesses.Witness],
        oracle: Oracle | None,
    ) -> tuple[Protected, ...]:
        """The protected attributes, their values and their verdicts."""
        violations = list(violations)
        witnesses = self.audit.witnesses
        return tuple(
            Protected(
                z.name,
                z.source in self.audit.program.variables,
                sum(w.protected == z.name for w in witnesses),
                len({w.group for w in witnesses if w.protected == z.name}),
                self.tables.values(z.name),
                verdicts[z.name].verdict,
                verdicts[z.name].reasons,
                VerdictCounts.of(w.verdict for w in violations if w.protected == z.name),
                () if z.derivation is None else z.derivation.columns,
                None if z.derivation is None else z.derivation.expression,
                explicit_of(self.audit, z.name, oracle, self.release),
                self._at_epsilon(z.name),
                collection_of(self.audit, z.name, oracle, self.release, self.directions),
            )
            for z in self.audit.population.protected
        )

    def _at_epsilon(self, protected: str) -> NoisyCopy | None:
        """What epsilon means for an attribute."""
        measured = self.audit.decompositions
        if not self.informative or not len(measured):
            return None
        masses = measured[0].tables[protected].masses.sum(axis=0)
        copy = noisy_copy(masses, self.audit.epsilon)
        return None if copy is None else NoisyCopy(*map(figure, astuple(copy)))

    def groups(self) -> tuple[Group, ...]:
        """Groups of nested witnesses; the group of the strongest witness comes first."""
        return tuple(
            Group(
                group.protected,
                group.number,
                group.representative.id,
                group.strongest.id,
                len(group.witnesses),
                self._verdicts(group.witnesses),
                group.leading.id,
            )
            for group in self.release.groups(self.audit.witnesses)
        )

    def _verdicts(self, witnesses: Iterable[detected_witnesses.Witness]) -> VerdictCounts | None:
        validity = self.audit.validity
        return (
            None
            if validity is None
            else VerdictCounts.of(validity.of(w).verdict for w in witnesses)
        )

    def witness(self, witness: detected_witnesses.Witness, judgment: Judged | None) -> Witness:
        """One witness with its judgment and its table."""
        decomposition, name = witness.decomposition, witness.protected
        guess = self._guess(decomposition, name)
        informed = self.release.guess(decomposition.expression, name, guess.informed)
        validity, influence = self.audit.validity, decomposition.influence
        assert influence is not None
        return Witness(
            id=witness.id,
            protected=name,
            **self._computation(decomposition),
            **self._figures(decomposition, name),
            influence=figure(influence),
            explicit=witness.explicit,
            group=witness.group,
            guess=Guess(informed.value, figure(guess.blind), informed.range),
            cut=self._cut(decomposition, name),
            validity=None
            if validity is None
            else WitnessValidity(
                **self.release.validity(validity_content(validity, witness), witness)
            ),
            judgment=None
            if judgment is None
            else Judgment(judgment.appropriate, judgment.reason, judgment.by),
            table=self._printed_table(decomposition, name),
            direction=self.directions.known.get(witness.key),
        )

    def _cut(self, decomposition: Decomposition, protected: str) -> Cut | None:
        """The best cut, at the shortest number that divides the rows in the same way."""
        table = self._table(decomposition, protected)
        cut = table.cut
        if cut is None:
            return None
        association = self._association(decomposition, protected)
        exact = association.range is None
        shown = figure(cut.association) if exact else association.value if table.divided else None
        return Cut(
            short_threshold(cut),
            None if self.by_values else shown,
            table.divided and not self.by_values,
            cut.candidates,
            None if cut.coordinate is None else cut.coordinate + 1,
        )

    def references(self) -> tuple[Reference, ...]:
        """The figures of each variable, at all its positions, and of the output."""
        measured = self.audit.decompositions
        variables_: dict[str, Decomposition] = {}
        root = None
        for index, (term, sites) in enumerate(zip(measured.terms, measured.sites, strict=True)):
            if isinstance(term, Var):
                known = variables_.get(term.name)
                if known is None or known.occurrences < len(sites):
                    variables_[term.name] = measured[index]
            if Site(0) in sites:
                root = measured[index]
        named: list[tuple[Literal["variable", "output"], str | None, Decomposition | None]] = [
            ("variable", name, variables_.get(name)) for name in self.audit.program.variables
        ]
        witnesses = {w.key for w in self.audit.witnesses}
        return tuple(
            self._reference(z.name, kind, name, decomposition, witnesses)
            for z in self.audit.population.protected
            for kind, name, decomposition in [*named, ("output", None, root)]
        )

    def _reference(
        self,
        protected: str,
        kind: Literal["variable", "output"],
        name: str | None,
        decomposition: Decomposition | None,
        witnesses: set[tuple[str, str]],
    ) -> Reference:
        if decomposition is None:
            return Reference(protected, kind, name, None, False, 0, None, None, None, None)
        return Reference(
            protected,
            kind,
            name,
            decomposition.id,
            (protected, decomposition.id) in witnesses,
            decomposition.occurrences,
            influence=_figure(decomposition.influence),
            **{
                **self._figures(decomposition, protected),
                **self._withheld(decomposition, protected),
            },
        )

    def _withheld(self, decomposition: Decomposition, protected: str) -> dict[str, Any]:
        """A reference without its association, if that would reveal a withheld count."""
        if not self.release.is_withheld(decomposition.expression, protected):
            return {}
        return {"association": None, "association_range": None}

    def nearest(self) -> tuple[Near, ...]:
        """For attributes without witnesses, the computations that come closest to being one."""
        with_witness = {w.protected for w in self.audit.witnesses}
        return tuple(
            self._near(decomposition, z.name)
            for z in self.audit.population.protected
            if z.name not in with_witness and not z.column.constant
            for decomposition in nearest_decompositions(self.audit, z.name)
        )

    def _near(self, decomposition: Decomposition, protected: str) -> Near:
        association = self._association(decomposition, protected)
        lowest = association.value if association.range is None else association.range[0]
        short = max(0.0, self.audit.epsilon - lowest)
        influence, delta = decomposition.influence, self.audit.delta
        return Near(
            id=decomposition.id,
            protected=protected,
            **self._computation(decomposition),
            **self._figures(decomposition, protected),
            influence=_figure(influence),
            association_short_by=figure(short),
            influence_short_by=None if influence is None else figure(max(0.0, delta - influence)),
        )

    def _computation(self, decomposition: Decomposition) -> dict[str, Any]:
        term = decomposition.expression
        if term.digest not in self._described:
            self._described[term.digest] = self._text(term)
        program = self.audit.program
        positions = [program.points.position(s) for s in decomposition.sites[:MOST_POSITIONS]]
        origins = [str(o) for o in map(program.origin, positions) if o is not None]
        return {
            **self._described[term.digest],
            "occurrences": decomposition.occurrences,
            "positions": tuple(map(str, positions)),
            "origins": tuple(dict.fromkeys(origins)),
        }

    def _text(self, term: Term) -> dict[str, Any]:
        longer = beginning(term, self.audit.program.precision, MOST_TEXT + 1)
        text = longer[:MOST_TEXT]
        reading, rounded = shown_text(term, self.audit.population.columns)
        return {
            "reading": reading,
            "rounded": rounded,
            "term": text,
            "term_cut": len(longer) > MOST_TEXT,
            "operator": term.tag,
            "variables": tuple(sorted(variables(term))),
            "size": term.size,
        }

    def _figures(self, decomposition: Decomposition, protected: str) -> dict[str, Any]:
        highest = (
            ceiling(self._table(decomposition, protected).masses) if self.informative else None
        )
        association = self._association(decomposition, protected)
        return {
            "association": association.value,
            "association_range": association.range,
            "ceiling": _figure(highest),
            "reach": figure(decomposition.reach, self.reach_decimals),
        }

    def _association(self, decomposition: Decomposition, protected: str) -> Figure:
        exact = decomposition.associations[protected]
        return self.release.association(decomposition.expression, protected, exact)

    def _table(self, decomposition: Decomposition, protected: str) -> JointTable:
        key = decomposition.expression.digest
        if (key, protected) not in self._joint:
            for name, table in decomposition.tables.items():
                self._joint[key, name] = table
        return self._joint[key, protected]

    def _guess(self, decomposition: Decomposition, protected: str) -> guessing.Guess:
        key = decomposition.expression.digest
        if key not in self._guesses:
            self._guesses[key] = decomposition.guesses
        return self._guesses[key][protected]

    def _printed_table(self, decomposition: Decomposition, protected: str) -> Table:
        key = decomposition.expression.digest, protected
        if key not in self._printed:
            self._printed[key] = self.release.table(decomposition, protected)
        return self._printed[key]


def _figure(value: float | None) -> float | None:
    return None if value is None else figure(value)


def _validity(
    audit: Audited, violations: Iterable[detected_witnesses.Witness], min_cell: int
) -> ValiditySummary | None:
    """How the witnesses were tested, and how many violations are confirmed."""
    validity = audit.validity
    if validity is None:
        return None
    return ValiditySummary(
        tuple(
            Method(method.name, tested, method_options(method))
            for method, tested in zip(validity.methods, validity.tested, strict=True)
        ),
        VerdictCounts.of(w.verdict for w in audit.witnesses),
        VerdictCounts.of(w.verdict for w in violations),
        tuple(remark_sentence(remark, min_cell) for remark in validity.remarks),
    )


def _plain(number: float) -> float | int:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _about(about: Mapping[str, object] | None) -> dict[str, Any]:
    """The caller's description, as JSON would return it."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(about or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise DataError(f"about: {error}; pass texts, finite numbers, lists and mappings") from None
    return plain
