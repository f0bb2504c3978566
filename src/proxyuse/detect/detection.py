"""Find every decomposition of a program that is a witness, or say what was not settled.

For each computation the joint tables are made once; for each listed set of its positions, its
influence. See `candidates`, `occurrences` and `subsets` for what is listed, what is excluded by
a bound, and what is searched when there is too much of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from proxyuse.detect.candidates import Candidate, LargeOperator, candidates_of
from proxyuse.detect.measured import Computation, Decompositions
from proxyuse.detect.occurrences import measure_occurrences
from proxyuse.detect.progress import Clock
from proxyuse.detect.subsets import settle_operator
from proxyuse.errors import DataError
from proxyuse.lang.nodes import Const, Term, children
from proxyuse.lang.positions import Position, Spot
from proxyuse.lang.text import shortened
from proxyuse.measure.association import Association
from proxyuse.measure.engine import Engine
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
        term = shortened(self.term)
        at = ", ".join(map(str, self.positions[:3])) + (", ..." if len(self.positions) > 3 else "")
        return f"{self.count:,} {self.what} of `{term}` (at {at}) were not measured"


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """Every measured decomposition, and what was not settled."""

    decompositions: Decompositions
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
        self.found: dict[bytes, Computation] = {}
        self.scores: dict[bytes, float] = {}
        self.unsettled: dict[tuple[str, bytes], Unsettled] = {}
        self.notes: list[Note] = []
        self.candidates = candidates_of(program, budget.subsets)
        if self.candidates.large:
            self.candidates = self.candidates.copy()  # the search adds to them

    def run(self) -> Detection:
        self.clock.total = len(self.candidates)
        self._measure(list(self.candidates))
        for operator in self.candidates.large:
            self._settle(operator)
        self.clock.report()
        found = Decompositions(
            self.program, self.engine.protected_names, list(self.found.values()), self.engine.tables
        )
        return Detection(found, tuple(self.unsettled.values()), tuple(self.notes))

    def _measure(self, candidates: list[Candidate]) -> None:
        """Measure computations: all tables first, then the influence at each position."""
        terms = [candidate.term for candidate in candidates]
        associations = self.engine.associations(terms, self.association)
        strongest = associations.max(axis=1)
        suspicious = strongest >= self.epsilon
        asked = [c for c, s in zip(candidates, suspicious, strict=True)
                 if s or not self.witnesses_only]  # fmt: skip
        spots = [spot for candidate in asked for spot in candidate.spots]
        influences = dict(zip(spots, self.engine.influences(spots), strict=True))
        reaches = dict(zip(spots, self.engine.reaches(spots), strict=True))
        for place, candidate in enumerate(candidates):
            self.clock.tick()
            computation = Computation(candidate.term, associations[place], [], [], [])
            self.found[candidate.term.digest] = computation
            score = _ratio(float(strongest[place]), self.epsilon)
            if self.witnesses_only and not suspicious[place]:
                together = tuple(sorted(candidate.spots))
                _append(computation, together, math.nan, self.engine.reach(together))
            elif len(candidate.spots) == 1:
                (spot,) = candidate.spots
                _append(computation, (spot,), influences[spot], reaches[spot])
                score = min(score, _ratio(influences[spot], self.delta))
            else:
                singles = {spot: influences[spot] for spot in candidate.spots}
                self._occurrences(computation, singles, reaches, bool(suspicious[place]))
                score = min(score, _ratio(max(computation.influences), self.delta))
            self.scores[candidate.term.digest] = score
            self.clock.done += 1

    def _occurrences(
        self,
        computation: Computation,
        singles: dict[Spot, float],
        reaches: dict[Spot, float],
        suspicious: bool,
    ) -> None:
        """Measure the sets of occurrences of a repeated computation."""
        measured = measure_occurrences(
            self.engine,
            singles,
            delta=self.delta,
            settle=suspicious,
            all_sets=self.all_sets,
            budget=self.budget.subsets if self.all_sets else self.budget.occurrences,
        )
        for spots, influence in measured.influences.items():
            if measured.apart:
                reach = math.fsum(reaches[spot] for spot in spots)
            else:
                reach = self.engine.reach(spots)
            _append(computation, spots, influence, reach)
        if self.all_sets and not measured.all_listed:
            text = shortened(self.program.text_of(computation.term))
            self.notes.append(
                Note(NoteKind.NOT_LISTED, f"not all sets of the {len(singles)} `{text}` are listed")
            )
        if measured.unmeasured:
            spots = tuple(singles)
            self._leave_open("occurrence sets", computation.term, spots, measured.unmeasured)

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
            self._measure([candidate])
            return self.scores[candidate.term.digest]

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
                    f"{settled.excluded:,} operand subsets of `{shortened(text)}` are not listed: "
                    "a bound on association or influence shows that none is a witness",
                )
            )
        if settled.open:
            spots = tuple(Spot(place) for place in operator.points)
            self._leave_open("operand subsets", operator.term, spots, settled.open)

    def _leave_open(self, what: str, term: Term, spots: tuple[Spot, ...], count: int) -> None:
        positions = tuple(self.program.points.position(spot) for spot in spots)
        unsettled = Unsettled(what, self.program.text_of(term), positions, count)
        self.unsettled[what, term.digest] = unsettled


def _append(
    computation: Computation, spots: tuple[Spot, ...], influence: float, reach: float
) -> None:
    computation.spots.append(spots)
    computation.influences.append(influence)
    computation.reaches.append(reach)


def _ratio(value: float, threshold: float) -> float:
    """How far a measure is on the way to a threshold."""
    return value / threshold if threshold > 0 else float(value >= threshold) + value
