"""Measures every decomposition of a program that can be a witness, and records what is unsettled.

Builds the joint tables once per computation, and measures the influence of each listed set of its
positions. `candidates`, `occurrences` and `partial_sums` define what is listed, what a bound
excludes, and what is searched when there is too much to list.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial

import numpy as np

from proxyuse.detect.bounded import Bounded
from proxyuse.detect.candidates import (
    Candidate,
    Candidates,
    Listing,
    candidates_of,
    listing_of,
)
from proxyuse.detect.decompositions import Decompositions, Measures
from proxyuse.detect.forest_terms import measure_forest
from proxyuse.detect.inside_tests import tests_hold_trees
from proxyuse.detect.occurrences import measure_occurrences, near
from proxyuse.detect.operators import (
    OVERHEAD,
    Operator,
    PartialSum,
    SumBudget,
    operator_of_trees,
)
from proxyuse.detect.partial_sums import search_partial_sums
from proxyuse.detect.progress import Clock, OutOfTime
from proxyuse.detect.results import Detection, Unsettled
from proxyuse.detect.search_notes import (
    drawn_note,
    drawn_variable_note,
    forest_notes,
    open_sets_note,
)
from proxyuse.detect.time_limit import Columns, InTime, measure_in_time
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Site
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.bounds.screen import Screen, screen_for
from proxyuse.measure.engine import Measurement
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.measure.forests.partial_sums import TreeSums
from proxyuse.notes import Note, NotListed, Stopped, Unmeasured, VariablesNotMeasured
from proxyuse.program import Program
from proxyuse.settings import Settings


def detect(
    engine: Measurement,
    program: Program,
    association: Association,
    settings: Settings,
    *,
    clock: Clock | None = None,
    known: dict[bytes, Array] | None = None,
    strict: bool = False,
    appropriate: Callable[[Term], bool] | None = None,
    half: Callable[[], Measurement | None] | None = None,
) -> Detection:
    """Measure the decompositions of a program.

    The cost is one joint table per computation, and one influence per listed set of positions.
    Partial sums are listed if they are minimal witnesses, or irreducible ones where the search is
    not exhaustive; `all_sets` lists all of them. See `search_partial_sums`, also for `appropriate`.
    With `strict`, partial sums and sets of occurrences that were not searched exhaustively count
    as unsettled.

    `known` holds associations from other programs on the same population, by the digest of the
    computation, and new ones are added to it. If it is passed, only computations that can be
    witnesses are listed.

    `half` returns the measurement on the rows that choose partial sums, to be confirmed on the
    others.
    """
    detector = _Detector(
        engine, program, association, settings, clock or Clock(None), known, strict, appropriate,
        half,
    )  # fmt: skip
    return detector.run()


@dataclass(eq=False)
class _Detector:
    engine: Measurement
    program: Program
    association: Association
    settings: Settings
    clock: Clock
    known: dict[bytes, Array] | None
    strict: bool
    appropriate: Callable[[Term], bool] | None
    half: Callable[[], Measurement | None] | None
    parts: list[Measures] = field(default_factory=list)
    unsettled: dict[tuple[str, str], Unsettled] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    listing: Listing = field(init=False)
    in_time: InTime | None = None  # the measurements within a time limit
    operators: list[Operator] = field(default_factory=list)  # partial sums not yet searched
    bounded: Bounded | None = None
    searched: list[Note] = field(default_factory=list)
    chosen: set[tuple[str, bytes]] = field(default_factory=set)  # see `Detection`
    open_sets: list[tuple[Term, int, float]] = field(default_factory=list)  # see `search_notes`

    @cached_property
    def candidates(self) -> Candidates:
        """All computations of the program."""
        listed = self.settings.budget.subsets if self.settings.all_sets else 0
        return candidates_of(self.program, self.settings.variables, listed)

    @cached_property
    def forest(self) -> ForestEngine | None:
        """The engine of a large forest, whose terms are bounded first; None for other programs."""
        small = len(self.program.points) <= self.settings.budget.positions
        if self._measures_everything or small:
            return None
        engines = (e for e in self.engine.engines if isinstance(e, ForestEngine))
        forest = next(engines, None) or ForestEngine.of(self.engine.sample)
        return None if forest is None or tests_hold_trees(forest.plan) else forest

    @property
    def _measures_everything(self) -> bool:
        return self.settings.measure == "all" or self.settings.all_sets

    def run(self) -> Detection:
        with self.clock.until_deadline():
            if self.forest is not None:
                self._measure_forest(self.forest)
            else:
                self.operators = list(self.candidates.operators)
                self._measure(self.candidates.listing)
            while self.operators:
                self._search_sums(self.operators[0])
                del self.operators[0]
        if self.clock.stopped:
            self._stop()
        excluded = self.candidates.excluded if self.forest is None else []
        for candidate in excluded:
            sites = tuple(candidate.sites)
            self._leave_open("positions", candidate.term, sites, len(sites))
        if self.open_sets:
            self.searched.insert(0, open_sets_note(self.program, self.open_sets))
        self.clock.report()
        parts = self.parts or [Measures.empty(len(self.engine.protected_names))]
        joined = Measures.joined(parts) if self.forest is None else Measures.stacked(parts)
        joined = self._with_errors(joined)
        decompositions = Decompositions(
            self.program,
            self.engine.protected_names,
            joined,
            partial(self.engine.tables, measure=self.association),
            self.engine.guesses,
            self._unmeasured(),
            self._operator_count,
        )
        return Detection(
            decompositions,
            tuple(self.unsettled.values()),
            tuple(self.notes),
            tuple(self.searched),
            self.forest is not None
            or (bool(self.candidates.operators) and not self.settings.all_sets),
            self.bounded,
            frozenset(self.chosen),
        )

    def _unmeasured(self) -> int:
        """The number of computations that a bound or a time limit left out, at most."""
        if self.bounded is not None:
            return self.bounded.computations
        if self.forest is not None:
            return 2 * len(self.forest.plan.forest.test)
        if self.in_time is not None:
            return len(self.listing.terms) - len(np.unique(self.in_time.columns[0]))
        return 0

    def _with_errors(self, measures: Measures) -> Measures:
        """Add the error bounds of sampled influences, and a note about them."""
        estimates = self.engine.drawn
        if not estimates:
            return measures
        drawn = [estimates.get(tuple(sites)) for sites in measures.sites]
        pairs = zip(drawn, measures.owners.tolist(), measures.sites, strict=True)
        listed = [(estimate, owner, sites) for estimate, owner, sites in pairs if estimate]
        for estimate, owner, sites in listed:
            suspicious = measures.associations[owner].max() >= self.settings.epsilon
            if suspicious and not estimate.settled:
                self._leave_open("influences", measures.terms[owner], tuple(sites), 1)
        if listed:
            self.notes.append(drawn_note([estimate for estimate, _, _ in listed]))
        errors = np.zeros(len(drawn)) if measures.errors is None else measures.errors.copy()
        errors += [0.0 if estimate is None else estimate.error for estimate in drawn]
        return replace(measures, errors=errors)

    def _measure(self, listing: Listing) -> None:
        """Measure computations: all tables first, then the influence at each position."""
        start = self.clock.done
        self.clock.total += len(listing.terms) + len(listing.sites)
        if self.clock.limit is not None:
            self._measure_in_time(listing)
            self.clock.done = self.clock.total
            return
        associations = self._associations(listing.terms)
        self.clock.done = start + len(listing.terms)
        suspicious = associations.max(axis=1) >= self.settings.epsilon
        owners, sites, influences, reaches = self._columns(listing, suspicious)
        order = np.argsort(owners, kind="stable")
        self.parts.append(
            Measures(
                listing.terms,
                associations,
                owners[order],
                [sites[i] for i in order.tolist()],
                influences[order],
                reaches[order],
            )
        )
        self.clock.done = self.clock.total

    def _associations(self, terms: Sequence[Term]) -> Array:
        """The association of each computation with each protected attribute, cached in `known`."""
        if self.known is None:
            return self.engine.associations(terms, self.association)
        new = tuple(term for term in terms if term.digest not in self.known)
        measured = self.engine.associations(new, self.association) if new else ()
        self.known.update((term.digest, row) for term, row in zip(new, measured, strict=True))
        rows = [self.known[term.digest] for term in terms]
        return np.array(rows).reshape(len(terms), len(self.engine.protected_names))

    def _columns(self, listing: Listing, suspicious: Array) -> Columns:
        """The decompositions of a listing with their influences and reaches."""
        if self.known is not None:
            return self._measure_some(listing, suspicious)
        return self._measure_all(listing, suspicious)

    def _measure_some(self, listing: Listing, suspicious: Array) -> Columns:
        """Measure only computations that may be witnesses."""
        chosen = np.flatnonzero(suspicious)
        some = Listing([listing.candidates[i] for i in chosen.tolist()], self.program.points)
        owners, sites, influences, reaches = self._measure_all(some, suspicious[chosen])
        return chosen[owners], sites, influences, reaches

    def _measure_all(self, listing: Listing, suspicious: Array) -> Columns:
        """Measure each position alone, and sets of positions of repeated computations."""
        influences = self._influences(listing, suspicious)
        reaches = self.engine.reaches(listing.sites)
        more: list[tuple[int, tuple[Site, ...], float, float]] = []
        entangled = listing.entangled
        if self.settings.all_sets:
            entangled = sorted(listing.entangled + listing.apart)
        else:
            for index in listing.apart:
                own = listing.sites_of(index)
                sites = listing.candidates[index].arrangement(self.program.points).together
                influence = math.fsum(influences[own])
                if near(influence, self.settings.delta):
                    influence = self.engine.influence(sites)
                more.append((index, sites, influence, math.fsum(reaches[own])))
        for index in entangled:
            self.clock.tick()
            candidate = listing.candidates[index]
            own = listing.sites_of(index)
            sets = self._occurrences(candidate, influences[own], bool(suspicious[index]))
            more += [
                (index, sites, influence, self._reach(candidate, sites, reaches[own]))
                for sites, influence in sets.items()
            ]
        return (
            np.concatenate([listing.owners, [row[0] for row in more]]).astype(np.intp),
            [*listing.single_sets, *(row[1] for row in more)],
            np.array([*influences, *(row[2] for row in more)], dtype=np.float64),
            np.array([*reaches, *(row[3] for row in more)], dtype=np.float64),
        )

    def _influences(self, listing: Listing, suspicious: Array) -> Sequence[float]:
        """The influence at each position; NaN where it is not needed and expensive.

        In a large program, even influences that are cheap one by one are expensive together.
        """
        if self._measures_everything:
            return self.engine.influences(listing.sites)
        needed = suspicious[listing.owners]
        if len(listing.sites) <= self.settings.budget.positions:
            return self.engine.influences(listing.sites, needed.tolist())
        result = np.full(len(listing.sites), math.nan)
        chosen = np.flatnonzero(needed)
        result[chosen] = self.engine.influences([listing.sites[i] for i in chosen.tolist()])
        return result.tolist()

    def _reach(
        self, candidate: Candidate, sites: tuple[Site, ...], reaches: Sequence[float]
    ) -> float:
        """The share of rows that evaluate one of several positions."""
        if candidate.arrangement(self.program.points).apart:
            known = dict(zip(candidate.sites, reaches, strict=True))
            return math.fsum(known[site] for site in sites)
        return self.engine.reach(sites)

    def _occurrences(
        self, candidate: Candidate, singles: Sequence[float], suspicious: bool
    ) -> dict[tuple[Site, ...], float]:
        """The influence of sets of occurrences of a repeated computation."""
        budget, all_sets = self.settings.budget, self.settings.all_sets
        done, total = self.clock.done, self.clock.total
        measured = measure_occurrences(
            self.engine,
            candidate.arrangement(self.program.points),
            singles,
            delta=self.settings.delta,
            settle=suspicious,
            all_sets=all_sets,
            budget=budget.subsets if all_sets else budget.occurrences,
            needed=suspicious or self._measures_everything,
            expect=self.clock.expect,
        )
        self.clock.done = max(self.clock.done, done + self.clock.total - total)
        if all_sets and not measured.all_listed:
            text = self.program.brief(candidate.term)
            count = len(candidate.sites)
            self.notes.append(NotListed("occurrence sets", text, count))
        if measured.unmeasured:
            sites = tuple(candidate.sites)
            disjoint = candidate.arrangement(self.program.points).disjoint
            bound = self.engine.occurrence_bound(sites) if disjoint else 1.0
            if bound > self.settings.delta:
                self.open_sets.append((candidate.term, len(sites), bound))
            if bound > self.settings.delta and self.strict:
                self._leave_open("occurrence sets", candidate.term, sites, measured.unmeasured)
        return measured.influences

    # Partial sums

    def _search_sums(self, operator: Operator) -> None:
        """Find witnesses among the operand subsets of an operator."""
        text = self.program.brief(operator.term)
        if self.settings.all_sets:
            if operator.subsets <= self.settings.budget.subsets:
                return  # they are all listed
            self.notes.append(NotListed("partial sums", text, operator.subsets))
        engine, rows = self.engine, self.engine.n_rows
        most, operators = SumBudget(), self._operator_count
        result = search_partial_sums(
            engine,
            operator,
            self.association,
            epsilon=self.settings.epsilon,
            delta=self.settings.delta,
            screen=self._screen,
            budget=SumBudget(
                min(most.screened, self.settings.budget.subsets * rows),
                min(most.measured // operators, self.settings.budget.subsets * (rows + OVERHEAD)),
                min(most.bounded, self.settings.budget.search * rows),
                self.settings.budget.subsets,
                followed=self.settings.budget.grow,
            ),
            name="the score" if self._one_operator else f"`{text}`",
            singles=self._singles(operator),
            elsewhere=self.candidates.positions if self.forest is None else lambda term: [],
            appropriate=self.appropriate,
            tick=lambda steps: self.clock.tick(),
            half=self.half,
        )
        listed = {witness.steps: witness for witness in result.witnesses}
        for attribute, witness in result.chosen:
            listed.setdefault(witness.steps, witness)
            self.chosen.add((engine.protected_names[attribute], witness.term.digest))
        self._list(list(listed.values()))
        if result.searched is not None:
            self.searched.append(result.searched)
            if self.strict:
                sites = tuple(Site(point) for point in operator.points)
                count = result.subsets - result.measured
                self._leave_open("operand subsets", operator.term, sites, count)

    @property
    def _one_operator(self) -> bool:
        return self._operator_count == 1

    @property
    def _operator_count(self) -> int:
        """The number of operators whose partial sums are searched."""
        if self.forest is None:
            return len(self.candidates.operators)
        return int(self.tree_operator is not None)

    @cached_property
    def tree_operator(self) -> Operator | None:
        """The sum of the trees of a large forest, if its partial sums can be searched."""
        sums = next((e for e in self.engine.engines if isinstance(e, TreeSums)), None)
        return None if sums is None else operator_of_trees(sums)

    @cached_property
    def _screen(self) -> Screen | None:
        sample = self.engine.sample
        return screen_for(
            sample.attributes,
            sample.weights,
            self.association,
            groups=sample.groups,
            max_support=sample.max_support,
            best_cut=sample.best_cut,
        )

    def _singles(self, operator: Operator) -> dict[int, tuple[Array, float]]:
        """The known measures of the operands of an operator with one position, by step."""
        if len(operator.points) > 1:
            return {}
        if self.forest is not None:
            return self._single_trees(operator)
        associations, influences = self._known_singles
        below = self.program.points.below(operator.points[0])
        steps = [step for step in operator.steps if below[step] in influences]
        terms = self.program.points.terms
        return {
            step: (associations[terms[below[step]].digest], influences[below[step]])
            for step in steps
        }

    def _single_trees(self, operator: Operator) -> dict[int, tuple[Array, float]]:
        """The measures of the trees of a large forest; zero for those that are not witnesses."""
        measured = {
            sites[0].point: (part.associations[owner], influence)
            for part in self.parts
            for owner, sites, influence in zip(
                part.owners.tolist(), part.sites, part.influences.tolist(), strict=True
            )
            if len(sites) == 1 and not sites[0].operands
        }
        none = np.zeros(len(self.engine.protected_names)), 0.0
        below = self.program.points.below(operator.points[0])
        return {step: measured.get(below[step], none) for step in operator.steps}

    @cached_property
    def _known_singles(self) -> tuple[dict[bytes, Array], dict[int, float]]:
        """The associations of each term, and the influence of each single point."""
        listed = self.parts[0]
        digests = (term.digest for term in listed.terms)
        points = zip(listed.sites, listed.influences.tolist(), strict=True)
        return dict(zip(digests, listed.associations, strict=True)), {
            sites[0].point: influence
            for sites, influence in points
            if len(sites) == 1 and not sites[0].operands
        }

    def _list(self, sums: Sequence[PartialSum]) -> None:
        """List partial sums with their measures."""
        if sums:
            sites = [positions for partial in sums for positions in partial.positions]
            counts = [len(partial.positions) for partial in sums]
            self.parts.append(
                Measures(
                    tuple(partial.term for partial in sums),
                    np.array([partial.associations for partial in sums]),
                    np.repeat(np.arange(len(sums)), counts),
                    sites,
                    np.array([i for partial in sums for i in partial.influences]),
                    np.array([self.engine.reach(positions) for positions in sites]),
                )
            )

    # Forests

    def _measure_forest(self, engine: ForestEngine) -> None:
        """Measure the terms of a large forest that can be witnesses, and the terms above it."""
        points = self.program.points
        self._measure(listing_of(points, engine.plan.points_above(points)))
        result = measure_forest(
            self.engine,
            engine,
            self.association,
            epsilon=self.settings.epsilon,
            delta=self.settings.delta,
            variables=self.settings.variables,
            exact=self.settings.exact,
            tick=self.clock.tick,
        )
        self.bounded = result.bounded
        if result.rows:
            self.parts.append(result.columns())
        self.notes += [drawn_variable_note(self.program, *drawn) for drawn in result.drawn]
        self.open_sets += result.open
        if self.tree_operator is not None:
            self.operators = [self.tree_operator]
        self.searched += forest_notes(engine, self.tree_operator is not None)
        if not self.settings.variables:
            self._leave_open("variables", self.program.term, (Site(0),), 1)
            self.notes.append(VariablesNotMeasured())

    # A time limit

    def _measure_in_time(self, listing: Listing) -> None:
        """Measure computations until the time limit, and keep the finished measurements."""
        in_time = measure_in_time(
            listing,
            self.program.points,
            attributes=len(self.engine.protected_names),
            epsilon=self.settings.epsilon,
            associations=self._associations,
            measure=self._columns,
        )
        owners, sites, influences, reaches = in_time.columns
        kept, owners = np.unique(owners, return_inverse=True)
        if len(kept):
            terms = tuple(listing.terms[i] for i in kept.tolist())
            associations = in_time.associations[kept]
            self.parts.append(Measures(terms, associations, owners, sites, influences, reaches))
        self.in_time, self.listing = in_time, listing
        if in_time.stopped:
            raise OutOfTime

    def _stop(self) -> None:
        """Record what the time limit left unsettled, the most important first."""
        remaining: list[int] = []
        assert self.clock.limit is not None
        note = Stopped(self.clock.limit, "computations")
        if self.in_time is not None:
            remaining = self.in_time.remaining
            note = Stopped(self.clock.limit, "below epsilon", len(self.in_time.unneeded))
        if remaining:
            listing = self.listing
            sites = tuple(site for i in remaining for site in listing.candidates[i].sites)
            self._leave_open("computations", self.program.term, sites, len(remaining))
            total = len(listing.terms)
            note = Stopped(self.clock.limit, "computations", len(remaining), total)
        elif self.forest is not None and self.bounded is None:
            count = len(self.forest.plan.forest.test)
            self._leave_open("computations", self.program.term, (Site(0),), count)
            note = Stopped(self.clock.limit, "trees")
        elif self.operators:
            note = Stopped(self.clock.limit, "combinations")
        for operator in self.operators:
            points = tuple(Site(point) for point in operator.points)
            self._leave_open("operand subsets", operator.term, points, operator.subsets)
        self.notes.insert(0, note)

    def _leave_open(
        self, what: Unmeasured, term: Term, sites: tuple[Site, ...], count: int
    ) -> None:
        brief = self.program.brief(term)
        self.unsettled[what, brief] = Unsettled(what, brief, count, self.program.points, sites)
