"""Find every decomposition of a program that is a witness, or say what was not settled.

For each computation the joint tables are made once; for each listed set of its positions, its
influence. See `candidates`, `occurrences` and `subsets` for what is listed, what is excluded by
a bound, and what is searched when there is too much of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain

from proxyuse.detect.candidates import Candidate, Candidates, LargeOperator
from proxyuse.detect.occurrences import measure_occurrences
from proxyuse.detect.progress import Clock
from proxyuse.detect.subsets import settle_operator
from proxyuse.detect.witnesses import Decomposition
from proxyuse.errors import DataError
from proxyuse.lang.nodes import Const, Term, children
from proxyuse.lang.positions import Position, Spot
from proxyuse.measure.association import Association
from proxyuse.measure.engine import Engine
from proxyuse.measure.tables import JointTable
from proxyuse.notes import Note, NoteKind
from proxyuse.program import Program


@dataclass(frozen=True, slots=True)
class Budget:
    """How much work detection may spend where the number of decompositions is exponential.

    Attributes
    ----------
    subsets : subsets of the operands of one operator that are listed in full.
    search : subsets of one operator that are looked at when there are more than that.
    occurrences : sets of occurrences of one repeated term that may be measured to find the
        strongest.
    """

    subsets: int = 16_384
    search: int = 256
    occurrences: int = 256

    def __post_init__(self) -> None:
        if min(self.subsets, self.search, self.occurrences) < 0:
            raise DataError("a budget cannot be negative")


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Decompositions that were not measured and may be witnesses.

    Attributes
    ----------
    what : ``operand subsets`` or ``occurrence sets``.
    term : the operator or the repeated term, as text.
    positions : where it stands.
    count : how many were not measured.
    """

    what: str
    term: str
    positions: tuple[Position, ...]
    count: int

    def __str__(self) -> str:
        term = self.term if len(self.term) <= 60 else self.term[:57] + "..."
        at = ", ".join(map(str, self.positions[:3])) + (", ..." if len(self.positions) > 3 else "")
        return f"{self.count:,} {self.what} of `{term}` (at {at}) were not measured"


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """Every measured decomposition, and what was not settled."""

    decompositions: tuple[Decomposition, ...]
    unsettled: tuple[Unsettled, ...]
    notes: tuple[Note, ...]


def detect(
    engine: Engine,
    program: Program,
    association: Association,
    *,
    epsilon: float,
    delta: float,
    budget: Budget,
    all_sets: bool = False,
    witnesses_only: bool = False,
    clock: Clock | None = None,
) -> Detection:
    """Measure the decompositions of a program.

    Costs the tables of each computation and the influence of each listed set of positions.
    """
    detector = _Detector(
        engine, program, association, epsilon, delta, budget, all_sets, witnesses_only,
        clock or Clock(None),
    )  # fmt: skip
    return detector.run()


class _Detector:
    def __init__(
        self,
        engine: Engine,
        program: Program,
        association: Association,
        epsilon: float,
        delta: float,
        budget: Budget,
        all_sets: bool,
        witnesses_only: bool,
        clock: Clock,
    ) -> None:
        self.engine = engine
        self.program = program
        self.association = association
        self.epsilon = epsilon
        self.delta = delta
        self.budget = budget
        self.all_sets = all_sets
        self.witnesses_only = witnesses_only
        self.clock = clock
        # By the term's digest, so that measuring a term again replaces what was found before.
        self.found: dict[bytes, list[Decomposition]] = {}
        self.scores: dict[bytes, float] = {}
        self.unsettled: dict[tuple[str, bytes], Unsettled] = {}
        self.notes: list[Note] = []
        self.candidates = Candidates(program.points, budget.subsets)

    def run(self) -> Detection:
        self.clock.total = len(self.candidates)
        for candidate in list(self.candidates):
            self._measure(candidate)
        for operator in self.candidates.large:
            self._settle(operator)
        self.clock.report()
        return Detection(
            tuple(chain.from_iterable(self.found.values())),
            tuple(self.unsettled.values()),
            tuple(self.notes),
        )

    def _measure(self, candidate: Candidate) -> float:
        """Measure a computation; returns how close it comes to being a witness."""
        self.clock.tick()
        self.found[candidate.term.digest] = []
        tables = self.engine.tables(candidate.term)
        associations = {t.protected: self.association(t.masses) for t in tables}
        strongest = max(associations.values())
        suspicious = strongest >= self.epsilon
        closeness = _ratio(strongest, self.epsilon)
        if suspicious or not self.witnesses_only:
            influence = self._influences(candidate, tables, associations, suspicious)
            closeness = min(closeness, _ratio(influence, self.delta))
        else:
            spots = tuple(sorted(candidate.spots))
            self._add(candidate, spots, tables, associations, None)
        self.scores[candidate.term.digest] = closeness
        self.clock.done += 1
        return closeness

    def _influences(
        self,
        candidate: Candidate,
        tables: list[JointTable],
        associations: dict[str, float],
        suspicious: bool,
    ) -> float:
        measured = measure_occurrences(
            self.engine,
            candidate.spots,
            delta=self.delta,
            settle=suspicious,
            all_sets=self.all_sets,
            budget=self.budget.subsets if self.all_sets else self.budget.occurrences,
        )
        for spots, influence in measured.influences.items():
            self._add(candidate, spots, tables, associations, influence)
        if measured.unmeasured:
            self._leave_open(
                "occurrence sets", candidate.term, candidate.spots, measured.unmeasured
            )
        return max(measured.influences.values())

    def _add(
        self,
        candidate: Candidate,
        spots: tuple[Spot, ...],
        tables: list[JointTable],
        associations: dict[str, float],
        influence: float | None,
    ) -> None:
        self.found[candidate.term.digest].append(
            Decomposition(
                program=self.program,
                expression=candidate.term,
                spots=spots,
                associations=associations,
                influence=influence,
                reach=self.engine.reach(spots),
                tables={table.protected: table for table in tables},
            )
        )

    def _settle(self, operator: LargeOperator) -> None:
        """Deal with an operator that has too many subsets of operands to list them."""
        parts = children(operator.term)

        def measure(subset: tuple[int, ...]) -> float:
            if len(subset) == 1:
                part = parts[operator.term._order[subset[0]]]
                assert not isinstance(part, Const)
                return self.scores[part.digest]
            candidate = self.candidates.add_subset(operator.points, subset)
            self.clock.total += candidate.term.digest not in self.scores
            return self._measure(candidate)

        settled = settle_operator(
            self.engine,
            operator,
            measure,
            epsilon=self.epsilon if self.association.information_bound else None,
            delta=self.delta,
            budget=self.budget.search,
        )
        text = self.program.text_of(operator.term)
        if settled.excluded:
            self.notes.append(
                Note(
                    NoteKind.PRUNED,
                    f"{settled.excluded:,} operand subsets of `{_short(text)}` are not listed: a "
                    "bound on association or influence shows that none is a witness",
                )
            )
        if settled.open:
            spots = [Spot(place) for place in operator.points]
            self._leave_open("operand subsets", operator.term, spots, settled.open)

    def _leave_open(self, what: str, term: Term, spots: list[Spot], count: int) -> None:
        positions = tuple(self.program.points.position(spot) for spot in spots)
        unsettled = Unsettled(what, self.program.text_of(term), positions, count)
        self.unsettled[what, term.digest] = unsettled


def _ratio(value: float, threshold: float) -> float:
    """How far a measure is on the way to a threshold."""
    return value / threshold if threshold > 0 else float(value >= threshold) + value


def _short(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
