"""The typed result of an audit; see `report.result`.

Counts of rows are printed as `disclosure` allows, measures with four decimals, and reach no finer
than `min_cell` rows.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from importlib import metadata
from typing import Any, Literal

import numpy as np

from proxyuse.detect import results as detected
from proxyuse.detect import witnesses as detected_witnesses
from proxyuse.detect.decompositions import Decomposition
from proxyuse.detect.witnesses import groups_of
from proxyuse.errors import DataError
from proxyuse.judge.judgment import Judgment as Judged
from proxyuse.judge.judgment import Oracle, judgment_of
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term, Var, variables
from proxyuse.lang.positions import Site
from proxyuse.lang.text import beginning
from proxyuse.measure.association.information import entropy
from proxyuse.measure.association.joint_table import JointTable
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.notes import Note, NoteKind
from proxyuse.program import Program
from proxyuse.report.coverage import coverage_of
from proxyuse.report.disclosure import check_min_cell
from proxyuse.report.findings.notes import note_sentence
from proxyuse.report.findings.remarks import remark_sentence
from proxyuse.report.inputs import Audited
from proxyuse.report.reading import shown_text
from proxyuse.report.result import (
    MIN_CELL,
    AuditResult,
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
    answer_of,
)
from proxyuse.report.tables import RowTables
from proxyuse.validity.content import method_options, validity_content
from proxyuse.verdict import VerdictCounts

MOST_TEXT = 4000  # characters of a computation
MOST_POSITIONS = 50
MOST_UNSETTLED = 100
NEAREST = 5
DECIMALS = 4


def document(
    audit: Audited,
    *,
    about: Mapping[str, object] | None = None,
    min_cell: int = MIN_CELL,
    oracle: Oracle | None = None,
    confirmed_only: bool = False,
    most_groups: int | None = None,
) -> AuditResult:
    """Return the result of an audit, which every format is rendered from.

    Parameters
    ----------
    audit : the audit.
    about : what the caller knows about model and data, such as file names and hashes; anything
        that JSON can hold.
    min_cell : withhold counts of rows below this, and counts that would reveal them; 1 prints all.
    oracle : judges whether a witness is appropriate; see `Audit.violations`.
    confirmed_only : whether only confirmed violations count for the exit code.
    most_groups : list only the representative and the strongest witness of this many groups, which
        is faster. By default every witness is listed. Counts always cover all witnesses.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
    >>> result = document(pu.audit(program, data, protected="pregnant"))
    >>> result.result, result.complete, len(result.witnesses)
    ('proxy use', True, 3)
    >>> result.groups[0].representative == result.witnesses[0].id
    True
    >>> result.witnesses[0].reading, result.witnesses[0].association
    ('vitamins', 1.0)
    """
    check_min_cell(min_cell)
    writer = _Writer(audit, int(min_cell))
    judgments = [judgment_of(oracle, witness) for witness in audit.witnesses]
    violations = sum(judgment is None or not judgment.appropriate for judgment in judgments)
    association, influence = audit.measures
    listed = None
    if most_groups is not None:
        groups = groups_of(audit.witnesses)[:most_groups]
        listed = {w.key for group in groups for w in (group.representative, group.strongest)}
    return AuditResult(
        proxyuse=installed_version(),
        about=_about(about),
        result=answer_of(violations, len(audit.witnesses), audit.complete),
        violations=violations,
        complete=audit.complete,
        coverage=coverage_of(audit),
        thresholds=Thresholds(float(audit.epsilon), float(audit.delta)),
        measures=Measures(
            association, influence, any(note.kind is NoteKind.SAMPLED for note in audit.notes)
        ),
        min_cell=int(min_cell),
        rows=audit.population.n_rows,
        total_weight=_plain(audit.population.total),
        weighted=bool((audit.population.weights != 1).any()),
        program=ProgramSize(audit.program.size, tuple(audit.program.variables)),
        decompositions=len(audit.decompositions),
        validity=_validity(audit, judgments, confirmed_only, int(min_cell)),
        protected=writer.protected(),
        groups=writer.groups(),
        witnesses=tuple(
            writer.witness(witness, judgment)
            for witness, judgment in zip(audit.witnesses, judgments, strict=True)
            if listed is None or witness.key in listed
        ),
        references=writer.references(),
        nearest=writer.nearest(),
        notes=note_texts(audit.notes, int(min_cell)),
        unsettled=unsettled_texts(audit.unsettled),
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


def ceiling(masses: Array) -> float:
    """The highest normalized mutual information that two marginal distributions allow.

    ``I(X; Z) <= min(H(X), H(Z))`` and ``H(X, Z) >= max(H(X), H(Z))``, so
    ``min(H(X), H(Z)) / max(H(X), H(Z))`` is an upper bound.

    Examples
    --------
    >>> ceiling(np.array([[5.0, 0.0], [0.0, 5.0]])), ceiling(np.array([[3.0, 4.0]]))
    (1.0, 0.0)
    >>> round(ceiling(np.array([[1.0, 0.0], [1.0, 2.0]])), 4)
    0.8113
    """
    ends = entropy(masses.sum(axis=1)), entropy(masses.sum(axis=0))
    if min(ends) == 0:
        return 0.0
    ratio = min(ends) / max(ends)
    return 1.0 if ratio > 1 - 1e-12 else ratio  # entropies of equal masses in another order


def figure(value: float, decimals: int = DECIMALS) -> float:
    """A measure as it is printed; 0 and 1 only if it is exactly that.

    Examples
    --------
    >>> figure(0.20751874), figure(0.9999999), figure(1e-9), figure(1.0)
    (0.2075, 0.9999, 0.0001, 1.0)
    """
    step = 10.0**-decimals
    if 0 < value < 1:
        return round(min(max(value, step), 1 - step), decimals)
    return round(value, decimals) + 0.0


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
        self.tables = RowTables(audit, min_cell)
        self.informative = audit.measures[0] == NormalizedMutualInformation().name
        self.reach_decimals = reach_decimals(min_cell, audit.population.n_rows)
        self._described: dict[bytes, dict[str, Any]] = {}
        self._joint: dict[tuple[bytes, str], JointTable] = {}
        self._printed: dict[tuple[bytes, str], Table] = {}

    def protected(self) -> tuple[Protected, ...]:
        """The protected attributes and their values."""
        witnesses = self.audit.witnesses
        return tuple(
            Protected(
                z.name,
                z.name in self.audit.explicit_use,
                sum(w.protected == z.name for w in witnesses),
                len({w.group for w in witnesses if w.protected == z.name}),
                self.tables.values(z.name),
            )
            for z in self.audit.population.protected
        )

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
            )
            for group in groups_of(self.audit.witnesses)
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
        masses = self._table(decomposition, name).masses
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
            guess=Guess(
                figure(float(masses.max(axis=1).sum() / masses.sum())),
                figure(float(masses.sum(axis=0).max() / masses.sum())),
            ),
            validity=None
            if validity is None
            else WitnessValidity(**validity_content(validity, witness)),
            judgment=None
            if judgment is None
            else Judgment(judgment.appropriate, judgment.reason, judgment.by),
            table=self._printed_table(decomposition, name),
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
            **self._figures(decomposition, protected),
        )

    def nearest(self) -> tuple[Near, ...]:
        """For attributes without witnesses, the computations that come closest to being one."""
        with_witness = {w.protected for w in self.audit.witnesses}
        return tuple(
            self._near(decomposition, z.name)
            for z in self.audit.population.protected
            if z.name not in with_witness
            for decomposition in self._nearest(z.name)
        )

    def _nearest(self, protected: str) -> list[Decomposition]:
        """The computations that are closest to the threshold they are further from."""
        measured = self.audit.decompositions
        associations = measured.associations[:, measured.protected.index(protected)]
        to_go = _to_go(associations, self.audit.epsilon)
        influence_to_go = np.nan_to_num(_to_go(measured.influences, self.audit.delta))
        order = np.lexsort(
            (-associations, to_go + influence_to_go, np.fmax(to_go, influence_to_go))
        )
        nearest: dict[bytes, Decomposition] = {}
        for index in order.tolist():
            decomposition = measured[index]
            nearest.setdefault(decomposition.expression.digest, decomposition)
            if len(nearest) == NEAREST:
                break
        return list(nearest.values())

    def _near(self, decomposition: Decomposition, protected: str) -> Near:
        short = max(0.0, self.audit.epsilon - decomposition.associations[protected])
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
        sites = decomposition.sites[:MOST_POSITIONS]
        points = self.audit.program.points
        origins = (_origin(self.audit.program, site) for site in sites)
        return {
            **self._described[term.digest],
            "occurrences": decomposition.occurrences,
            "positions": tuple(str(points.position(site)) for site in sites),
            "origins": tuple(dict.fromkeys(filter(None, origins))),
        }

    def _text(self, term: Term) -> dict[str, Any]:
        longer = beginning(term, self.audit.program.precision, MOST_TEXT + 1)
        text = longer[:MOST_TEXT]
        reading, rounded = shown_text(term, text, self.audit.population.columns)
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
        return {
            "association": figure(decomposition.associations[protected]),
            "ceiling": _figure(highest),
            "reach": figure(decomposition.reach, self.reach_decimals),
        }

    def _table(self, decomposition: Decomposition, protected: str) -> JointTable:
        key = decomposition.expression.digest
        if (key, protected) not in self._joint:
            for name, table in decomposition.tables.items():
                self._joint[key, name] = table
        return self._joint[key, protected]

    def _printed_table(self, decomposition: Decomposition, protected: str) -> Table:
        key = decomposition.expression.digest, protected
        if key not in self._printed:
            table = self._table(decomposition, protected)
            self._printed[key] = self.tables.printed(decomposition.expression, table)
        return self._printed[key]


def _figure(value: float | None) -> float | None:
    return None if value is None else figure(value)


def _validity(
    audit: Audited, judgments: Sequence[Judged | None], confirmed_only: bool, min_cell: int
) -> ValiditySummary | None:
    """How the witnesses were tested, and how many violations are confirmed."""
    validity = audit.validity
    if validity is None:
        if confirmed_only:
            raise DataError(
                "confirmed_only needs a method that confirms witnesses; audit with "
                'validity="confirm", "permutation" or "cross-validation"'
            )
        return None
    verdicts = [validity.of(witness).verdict for witness in audit.witnesses]
    violations = [
        verdict
        for verdict, judgment in zip(verdicts, judgments, strict=True)
        if judgment is None or not judgment.appropriate
    ]
    return ValiditySummary(
        tuple(
            Method(method.name, tested, method_options(method))
            for method, tested in zip(validity.methods, validity.tested, strict=True)
        ),
        VerdictCounts.of(verdicts),
        VerdictCounts.of(violations),
        tuple(remark_sentence(remark, min_cell) for remark in validity.remarks),
        bool(confirmed_only),
    )


def _to_go(values: Array, threshold: float) -> Array:
    """The share of the distance to a threshold that remains; for a threshold of 0, all or none."""
    if threshold > 0:
        return np.maximum(0.0, 1 - values / threshold)
    return np.where(values > 0, 0.0, 1.0)


def _origin(program: Program, site: Site) -> str | None:
    """The origin of the part at a site, or of the nearest point above it."""
    point = site.point
    while point >= 0:
        origin = program.origins.get(program.points.written[point])
        if origin is not None:
            return str(origin)
        point = program.points.parents[point]
    return None


def _plain(number: float) -> float | int:
    return int(number) if number.is_integer() and abs(number) < 2**53 else number


def _about(about: Mapping[str, object] | None) -> dict[str, Any]:
    """The caller's description, as JSON would return it."""
    try:
        plain: dict[str, Any] = json.loads(json.dumps(dict(about or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise DataError(f"about: {error}; pass texts, finite numbers, lists and mappings") from None
    return plain
