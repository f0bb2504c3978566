"""Find every decomposition of a program that is a witness, or say what was not settled.

For each computation the joint tables are made once; for each listed set of its positions, its
influence. See `candidates`, `occurrences` and `partial_sums` for what is listed, what is excluded
by a bound, and what is searched when there is too much of it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

import numpy as np

from proxyuse.detect.candidates import Candidate, Listing, candidates_of
from proxyuse.detect.measured import Decompositions, Measures
from proxyuse.detect.occurrences import measure_occurrences, near
from proxyuse.detect.operators import Operator, PartialSum, SumBudget, SumEngine
from proxyuse.detect.partial_sums import search_partial_sums
from proxyuse.detect.progress import Clock
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Points, Position, Spot
from proxyuse.measure.association import Association
from proxyuse.measure.screen import Screen, screen_for
from proxyuse.notes import Note, NoteKind
from proxyuse.program import Program

Columns = tuple[Array, list[tuple[Spot, ...]], Array, Array]
"""Decompositions: whose they are, spots, influences, reaches."""


@dataclass(frozen=True, slots=True)
class Budget:
    """How much work detection may spend where the number of decompositions is exponential.

    Attributes
    ----------
    subsets : subsets of the operands of one operator that are exhausted, or listed, at most. With
        many rows there are fewer; see `SumBudget`.
    search : sets of operands that may be bounded to exclude their subsets, when there are more.
    grow : subsets of one operator that may be measured in a search when they cannot be exhausted,
        or more while rows are few; 0 searches none.
    occurrences : sets of occurrences of one repeated term that may be measured to find the
        strongest.
    """

    subsets: int = 16_384
    search: int = 256
    grow: int = 64
    occurrences: int = 256

    def __post_init__(self) -> None:
        for name in ("subsets", "search", "grow", "occurrences"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < 0:
                raise DataError(f"a budget's {name} is {value!r}; pass a whole number of 0 or more")


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Decompositions that were not measured and may be witnesses.

    Attributes
    ----------
    what : ``operand subsets``, ``occurrence sets`` or ``positions``.
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
    """Every measured decomposition, and what was not settled.

    Attributes
    ----------
    searched : one sentence for each operator whose partial sums were searched, not exhausted.
    selected : whether it depended on the rows which partial sums are listed.
    """

    decompositions: Decompositions
    unsettled: tuple[Unsettled, ...]
    notes: tuple[Note, ...]
    searched: tuple[str, ...] = ()
    selected: bool = False


def detect(
    engine: SumEngine,
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
    all_subsets: bool = False,
    strict: bool = False,
    appropriate: Callable[[Term], bool] | None = None,
) -> Detection:
    """Measure the decompositions of a program.

    Costs the tables of each computation and the influence of each listed set of positions. Of
    partial sums, minimal witnesses are listed, or irreducible ones where they are searched, or
    with `all_subsets` all of them; see `search_partial_sums`, also for `appropriate`. With
    `strict`, partial sums that are searched and not exhausted count as unsettled.

    Associations may be `known` from another program on the same population, by the digest of
    the computation: they depend on nothing else. New ones are added, and only computations are
    listed that may be witnesses.
    """
    detector = _Detector(
        engine, program, association, epsilon, delta, budget, all_sets, witnesses_only,
        variables, clock or Clock(None), known, all_subsets, strict, appropriate,
    )  # fmt: skip
    return detector.run()


class _Detector:
    def __init__(
        self,
        engine: SumEngine,
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
        all_subsets: bool,
        strict: bool,
        appropriate: Callable[[Term], bool] | None,
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
        self.unsettled: dict[tuple[str, bytes], Unsettled] = {}
        self.notes: list[Note] = []
        self.all_subsets, self.strict, self.appropriate = all_subsets, strict, appropriate
        self.candidates = candidates_of(program, variables, budget.subsets if all_subsets else 0)
        self.searched: list[str] = []

    def run(self) -> Detection:
        self._measure(self.candidates.listing)
        for operator in self.candidates.operators:
            self._search_sums(operator)
        for candidate in self.candidates.left_out:
            spots = tuple(candidate.spots)
            self._leave_open("positions", candidate.term, spots, len(spots))
        self.clock.report()
        found = Decompositions(
            self.program,
            self.engine.protected_names,
            Measures.joined(self.parts),
            self.engine.tables,
        )
        return Detection(
            found,
            tuple(self.unsettled.values()),
            tuple(self.notes),
            tuple(self.searched),
            bool(self.candidates.operators) and not self.all_subsets,
        )

    def _measure(self, listing: Listing) -> None:
        """Measure computations: all tables first, then the influence at each position."""
        start = self.clock.done
        self.clock.total += len(listing.terms) + len(listing.spots)
        associations = self._associations(listing.terms)
        self.clock.done = start + len(listing.terms)
        suspicious = associations.max(axis=1) >= self.epsilon
        if self.witnesses_only or self.known is not None:
            found = self._measure_some(listing, suspicious)
        else:
            found = self._measure_all(listing, suspicious)
        owners, spots, influences, reaches = found
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

    # Partial sums

    def _search_sums(self, operator: Operator) -> None:
        """Find witnesses among the subsets of an operator's operands."""
        text = self.program.brief(operator.term)
        if self.all_subsets:
            if operator.subsets <= self.budget.subsets:
                return  # they are all listed
            missing = f"not all {operator.subsets:,} partial sums of `{text}` are listed"
            self.notes.append(Note(NoteKind.NOT_LISTED, missing))
        engine, rows = self.engine, self.engine.n_rows
        most = SumBudget()
        result = search_partial_sums(
            engine,
            operator,
            self.association,
            epsilon=self.epsilon,
            delta=self.delta,
            screen=self._screen,
            budget=SumBudget(
                min(most.screened, self.budget.subsets * rows),
                min(most.measured, self.budget.subsets * rows),
                min(most.bounded, self.budget.search * rows),
                self.budget.subsets,
                followed=self.budget.grow,
            ),
            name="the score" if len(self.candidates.operators) == 1 else f"`{text}`",
            singles=self._singles(operator),
            elsewhere=self.candidates.positions,
            appropriate=self.appropriate,
            tick=lambda steps: self.clock.tick(),
        )
        self._list(result.witnesses)
        if result.searched:
            self.searched.append(result.searched)
            if self.strict:
                spots = tuple(Spot(point) for point in operator.points)
                count = result.subsets - result.measured
                self._leave_open("operand subsets", operator.term, spots, count)

    @cached_property
    def _screen(self) -> Screen | None:
        engine = self.engine
        return screen_for(
            [z for _, z in engine.protected],
            engine.weights,
            self.association,
            groups=engine.bins,
            max_support=engine.max_support,
        )

    def _singles(self, operator: Operator) -> dict[int, tuple[Array, float]]:
        """What is known of the operands of an operator that stands in one place."""
        if len(operator.points) > 1:
            return {}
        associations, influences = self._known_singles
        below = self.program.points.below(operator.points[0])
        steps = [step for step in operator.steps if below[step] in influences]
        terms = self.program.points.terms
        return {
            step: (associations[terms[below[step]].digest], influences[below[step]])
            for step in steps
        }

    @cached_property
    def _known_singles(self) -> tuple[dict[bytes, Array], dict[int, float]]:
        """The associations of each term, and the influence of each single point."""
        listed = self.parts[0]
        digests = (term.digest for term in listed.terms)
        points = zip(listed.spots, listed.influences.tolist(), strict=True)
        return dict(zip(digests, listed.associations, strict=True)), {
            spots[0].point: influence
            for spots, influence in points
            if len(spots) == 1 and not spots[0].operands
        }

    def _list(self, sums: Sequence[PartialSum]) -> None:
        """List partial sums with what was measured of them."""
        if sums:
            spots = [positions for found in sums for positions in found.positions]
            counts = [len(found.positions) for found in sums]
            self.parts.append(
                Measures(
                    tuple(found.term for found in sums),
                    np.array([found.associations for found in sums]),
                    np.repeat(np.arange(len(sums)), counts),
                    spots,
                    np.array([i for found in sums for i in found.influences]),
                    np.array([self.engine.reach(positions) for positions in spots]),
                )
            )

    def _leave_open(self, what: str, term: Term, spots: tuple[Spot, ...], count: int) -> None:
        brief = self.program.brief(term)
        unsettled = Unsettled(what, brief, count, self.program.points, spots)
        self.unsettled[what, term.digest] = unsettled
