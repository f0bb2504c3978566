"""Find every decomposition of a program that is a witness, or say what was not settled.

For each computation the joint tables are made once; for each listed set of its positions, its
influence. See `candidates`, `occurrences` and `subsets` for what is listed, what is excluded by
a bound, and what is searched when there is too much of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from decimal import Decimal

import numpy as np

from proxyuse.detect.candidates import Candidate, LargeOperator, Listing, candidates_of
from proxyuse.detect.in_time import Columns, InTime, measure_in_time
from proxyuse.detect.measured import Decompositions, Measures
from proxyuse.detect.occurrences import measure_occurrences, near
from proxyuse.detect.progress import Clock, OutOfTime
from proxyuse.detect.subsets import settle_operator
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const, Term, children
from proxyuse.lang.positions import Points, Position, Spot
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
    search : sets of operands that may be looked at to exclude their subsets, when there are more.
    grow : subsets of one operator that are measured when they cannot be excluded.
    occurrences : sets of occurrences of one repeated term that may be measured to find the
        strongest.
    """

    subsets: int = 16_384
    search: int = 256
    grow: int = 64
    occurrences: int = 256

    def __post_init__(self) -> None:
        for name in BUDGET_KEYS:
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise DataError(f"a budget's {name} is {value!r}; pass a whole number of 0 or more")


BUDGET_KEYS = tuple(item.name for item in fields(Budget))


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Decompositions that were not measured and may be witnesses.

    Attributes
    ----------
    what : ``operand subsets``, ``occurrence sets`` or ``positions``; ``computations`` if a time
        limit was reached.
    term : the beginning of the operator's or the repeated term's text.
    count : how many were not measured.
    """

    what: str
    term: str
    count: int
    _points: Points = field(repr=False, compare=False)
    _spots: tuple[Spot, ...] = field(repr=False)

    @property
    def positions(self) -> tuple[Position, ...]:
        """Where the term stands."""
        return tuple(self._points.position(spot) for spot in self._spots)

    def __str__(self) -> str:
        first = ", ".join(str(self._points.position(spot)) for spot in self._spots[:3])
        at = first + (", ..." if len(self._spots) > 3 else "")
        count = f"{self.count:,}" if self.count < 10**15 else f"{Decimal(self.count):.2e}"
        return f"{count} {self.what} of `{self.term}` (at {at}) were not measured"


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
    variables: bool = True,
    clock: Clock | None = None,
    known: dict[bytes, Array] | None = None,
) -> Detection:
    """Measure the decompositions of a program.

    Costs the tables of each computation and the influence of each listed set of positions.

    Associations may be `known` from another program on the same population, by the digest of
    the computation: they depend on nothing else. New ones are added, and only computations are
    listed that may be witnesses.
    """
    detector = _Detector(
        engine, program, association, epsilon, delta, budget, all_sets, witnesses_only,
        variables, clock or Clock(None), known,
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
        variables: bool,
        clock: Clock,
        known: dict[bytes, Array] | None,
    ) -> None:
        self.known = known
        self.engine = engine
        self.program = program
        self.association = association
        self.epsilon = epsilon
        self.delta = delta
        self.budget = budget
        self.all_sets = all_sets
        self.witnesses_only = witnesses_only
        self.clock = clock
        self.parts: list[Measures] = []
        self.scores: dict[bytes, float] = {}  # for the search in large operators
        self.unsettled: dict[tuple[str, bytes], Unsettled] = {}
        self.notes: list[Note] = []
        self.candidates = candidates_of(program, budget.subsets, variables)
        self.found: dict[bytes, Candidate] = {}  # by the search, with all their positions
        self.in_time: InTime | None = None  # what a time limit left of the listing
        self.operators = list(self.candidates.large)  # not settled yet

    def run(self) -> Detection:
        with self.clock.until_deadline():
            self._measure(self.candidates.listing)
            while self.operators:
                self._settle(self.operators[0])
                del self.operators[0]
        if self.clock.stopped:
            self._stop()
        for candidate in self.candidates.left_out:
            spots = tuple(candidate.spots)
            self._leave_open("positions", candidate.term, spots, len(spots))
        self.clock.report()
        found = Decompositions(
            self.program,
            self.engine.protected_names,
            Measures.joined(self.parts or [self._nothing()]),
            self.engine.tables,
        )
        return Detection(found, tuple(self.unsettled.values()), tuple(self.notes))

    def _measure(self, listing: Listing) -> None:
        """Measure computations: all tables first, then the influence at each position."""
        start = self.clock.done
        self.clock.total += len(listing.terms) + len(listing.spots)
        if self.clock.limit is not None:
            self._measure_in_time(listing)
            self.clock.done = self.clock.total
            return
        associations = self._associations(listing.terms)
        self.clock.done = start + len(listing.terms)
        strongest = associations.max(axis=1)
        suspicious = strongest >= self.epsilon
        owners, spots, influences, reaches = self._columns(listing, suspicious)
        order = np.argsort(owners, kind="stable")
        self.parts.append(
            Measures(
                listing.terms,
                associations,
                owners[order],
                [spots[i] for i in order.tolist()],
                influences[order],
                reaches[order],
            )
        )
        if self.candidates.large and self.budget.grow:
            self._score(listing.terms, strongest, owners, influences)
        self.clock.done = self.clock.total

    def _associations(self, terms: Sequence[Term]) -> Array:
        """Of each computation with each protected attribute; what is known is not asked again."""
        if self.known is None:
            return self.engine.associations(terms, self.association)
        new = tuple(term for term in terms if term.digest not in self.known)
        found = self.engine.associations(new, self.association) if new else ()
        self.known.update((term.digest, row) for term, row in zip(new, found, strict=True))
        rows = [self.known[term.digest] for term in terms]
        return np.array(rows).reshape(len(terms), len(self.engine.protected_names))

    def _columns(self, listing: Listing, suspicious: Array) -> Columns:
        """The influences that are asked for."""
        if self.witnesses_only or self.known is not None:
            return self._measure_some(listing, suspicious)
        return self._measure_all(listing, suspicious)

    def _measure_some(self, listing: Listing, suspicious: Array) -> Columns:
        """Only what may be a witness; of the others, all positions together have a reach.

        The others are left out where associations were known.
        """
        asked = np.flatnonzero(suspicious)
        some = [listing.candidates[i] for i in asked.tolist()]
        chosen = Listing(some, self.program.points)
        if self.known is not None:
            self.engine.expect(chosen.terms)
        owners, spots, influences, reaches = self._measure_all(chosen, suspicious[asked])
        if self.known is not None:
            return asked[owners], spots, influences, reaches
        rest = np.flatnonzero(~suspicious)
        together = [tuple(sorted(listing.candidates[i].spots)) for i in rest.tolist()]
        return (
            np.concatenate([asked[owners], rest]),
            [*spots, *together],
            np.concatenate([influences, np.full(len(rest), math.nan)]),
            np.concatenate([reaches, [self.engine.reach(spots) for spots in together]]),
        )

    def _measure_all(self, listing: Listing, suspicious: Array) -> Columns:
        """Each position by itself, and the sets of those of repeated computations."""
        influences = self.engine.influences(listing.spots)
        reaches = self.engine.reaches(listing.spots)
        more: list[tuple[int, tuple[Spot, ...], float, float]] = []
        entangled = listing.entangled
        if self.all_sets:
            entangled = sorted(listing.entangled + listing.apart)
        else:
            for place in listing.apart:
                own = listing.spots_of(place)
                spots = listing.candidates[place].arrangement(self.program.points).together
                influence = math.fsum(influences[own])
                if near(influence, self.delta):
                    influence = self.engine.influence(spots)
                more.append((place, spots, influence, math.fsum(reaches[own])))
        for place in entangled:
            self.clock.tick()
            candidate = listing.candidates[place]
            own = listing.spots_of(place)
            sets = self._occurrences(candidate, influences[own], bool(suspicious[place]))
            more += [
                (place, spots, influence, self._reach(candidate, spots, reaches[own]))
                for spots, influence in sets.items()
            ]
        return (
            np.concatenate([listing.owners, [row[0] for row in more]]).astype(np.intp),
            [*listing.alone, *(row[1] for row in more)],
            np.array([*influences, *(row[2] for row in more)], dtype=np.float64),
            np.array([*reaches, *(row[3] for row in more)], dtype=np.float64),
        )

    def _reach(
        self, candidate: Candidate, spots: tuple[Spot, ...], reaches: Sequence[float]
    ) -> float:
        """The share of rows that evaluate one of several positions."""
        if candidate.arrangement(self.program.points).apart:
            known = dict(zip(candidate.spots, reaches, strict=True))
            return math.fsum(known[spot] for spot in spots)
        return self.engine.reach(spots)

    def _score(
        self, terms: Sequence[Term], associations: Array, owners: Array, influences: Array
    ) -> None:
        """How far each computation is on the way to being a witness."""
        most = np.full(len(terms), -math.inf)
        np.fmax.at(most, owners, influences)
        for term, association, influence in zip(terms, associations, most, strict=True):
            score = _ratio(float(association), self.epsilon)
            if influence >= 0:  # it was measured
                score = min(score, _ratio(float(influence), self.delta))
            self.scores[term.digest] = score

    def _occurrences(
        self, candidate: Candidate, singles: Sequence[float], suspicious: bool
    ) -> dict[tuple[Spot, ...], float]:
        """The influence of sets of occurrences of a repeated computation."""
        measured = measure_occurrences(
            self.engine,
            candidate.arrangement(self.program.points),
            singles,
            delta=self.delta,
            settle=suspicious,
            all_sets=self.all_sets,
            budget=self.budget.subsets if self.all_sets else self.budget.occurrences,
        )
        if self.all_sets and not measured.all_listed:
            text = self.program.brief(candidate.term)
            count = len(candidate.spots)
            self.notes.append(
                Note(NoteKind.NOT_LISTED, f"not all sets of the {count} `{text}` are listed")
            )
        if measured.unmeasured:
            spots = tuple(candidate.spots)
            self._leave_open("occurrence sets", candidate.term, spots, measured.unmeasured)
        return measured.influences

    def _settle(self, operator: LargeOperator) -> None:
        """Deal with an operator that has too many subsets of operands to list them."""
        parts = children(operator.term)

        def measure(subset: tuple[int, ...]) -> float:
            if len(subset) == 1:
                part = parts[operator.term._order[subset[0]]]
                assert not isinstance(part, Const)
                return self.scores.get(part.digest, 0.0)  # 0 for a variable that was left out
            candidate = self.candidates.with_subset(operator.points, subset)
            before = self.found.setdefault(candidate.term.digest, candidate)
            before.spots += [spot for spot in candidate.spots if spot not in before.spots]
            self._measure(Listing([before], self.program.points))
            return self.scores.get(candidate.term.digest, 0.0)  # none are kept if nothing grows

        settled = settle_operator(
            self.engine,
            operator,
            measure,
            epsilon=self.epsilon if self.association.information_bound else None,
            delta=self.delta,
            budget=self.budget.search,
            grow=self.budget.grow,
        )
        text = self.program.brief(operator.term)
        if settled.excluded:
            self.notes.append(
                Note(
                    NoteKind.PRUNED,
                    f"{settled.excluded:,} operand subsets of `{text}` are not listed: "
                    "a bound on association or influence shows that none is a witness",
                )
            )
        if settled.open:
            spots = tuple(Spot(place) for place in operator.points)
            self._leave_open("operand subsets", operator.term, spots, settled.open)

    # A time limit

    def _measure_in_time(self, listing: Listing) -> None:
        """Measure computations, and keep what was measured before the time limit."""
        found = measure_in_time(
            listing,
            self.program.points,
            attributes=len(self.engine.protected_names),
            epsilon=self.epsilon,
            associations=self._associations,
            measure=self._columns,
        )
        owners, spots, influences, reaches = found.columns
        kept, owners = np.unique(owners, return_inverse=True)
        if len(kept):
            terms = tuple(listing.terms[i] for i in kept.tolist())
            associations = found.associations[kept]
            self.parts.append(Measures(terms, associations, owners, spots, influences, reaches))
            if self.candidates.large and self.budget.grow:
                self._score(terms, associations.max(axis=1), owners, influences)
        if listing is self.candidates.listing:
            self.in_time = found
        if found.stopped:
            raise OutOfTime

    def _stop(self) -> None:
        """Name what the time limit left open, the most important first."""
        listing = self.candidates.listing
        assert self.in_time is not None
        remaining, unneeded = self.in_time.remaining, self.in_time.unneeded
        if remaining:
            spots = tuple(spot for i in remaining for spot in listing.candidates[i].spots)
            self._leave_open("computations", self.program.term, spots, len(remaining))
            text = f"{len(remaining):,} of {len(listing.terms):,} computations were not measured"
        elif self.operators:
            text = "some combinations of terms or trees were not measured"
        else:
            text = (
                f"the influence of {len(unneeded):,} computations was not measured; their "
                "association is below epsilon, so they cannot be witnesses"
            )
        for operator in self.operators:
            points = tuple(Spot(place) for place in operator.points)
            self._leave_open("operand subsets", operator.term, points, operator.subsets)
        self.notes.insert(
            0, Note(NoteKind.TIME_LIMIT, f"Stopped after {self.clock.limit:g} s, as asked; {text}.")
        )

    def _nothing(self) -> Measures:
        """No decomposition was measured."""
        attributes = len(self.engine.protected_names)
        none = np.zeros(0)
        return Measures((), np.zeros((0, attributes)), none.astype(np.intp), [], none, none)

    def _leave_open(self, what: str, term: Term, spots: tuple[Spot, ...], count: int) -> None:
        brief = self.program.brief(term)
        unsettled = Unsettled(what, brief, count, self.program.points, spots)
        self.unsettled[what, term.digest] = unsettled


def _ratio(value: float, threshold: float) -> float:
    """How far a measure is on the way to a threshold."""
    return value / threshold if threshold > 0 else float(value >= threshold) + value
