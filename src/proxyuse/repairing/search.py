"""Search for the constants that preserve the most utility.

A repair picks a violation, applies a trial that removes it, audits the new program, and repeats
until the program is clean. Each step removes variables and adds none, so the search terminates.

The choice of violation and trial matters, because one change can remove several violations:

1. Greedy: always apply the cheapest trial, for a few orders of violations.
2. Best first: expand partial repairs in order of utility, with a few trials for a few violations
   each, while they are better than the best clean program. Steps seldom gain utility, so the first
   clean program is the best that these choices lead to.
3. Undo: drop steps that are not needed.

Two audits say what is wrong with a program. A light one omits combinations of occurrences and of
operands, and takes from other programs what it can. If it finds nothing, a full one decides: the
same audit, with the same options and the same goal, that a caller would run on the repaired model.
So what the search accepts is clean, and nothing is found afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count

from proxyuse.completed_audit import Audit
from proxyuse.detect.witnesses import strength
from proxyuse.judge.judgment import Violation
from proxyuse.lang.nodes import Const, Var
from proxyuse.lang.positions import Site
from proxyuse.program import Program
from proxyuse.repairing.collective import CollectiveSearch
from proxyuse.repairing.steps import (
    Removed,
    RemovedCollections,
    RemovedViolation,
    RepairedProgram,
    Steps,
    with_step,
)
from proxyuse.repairing.trial_context import Trial
from proxyuse.repairing.workbench import Workbench

Order = Callable[[Sequence[Violation]], Violation]


def _strongest(violations: Sequence[Violation]) -> Violation:
    return min(violations, key=lambda violation: strength(violation.witness))


def _smallest(violations: Sequence[Violation]) -> Violation:
    return min(violations, key=lambda v: v.witness.size)


def _largest(violations: Sequence[Violation]) -> Violation:
    return max(violations, key=lambda v: v.witness.size)


ORDERS: tuple[Order, ...] = (_strongest, _largest, _smallest)


@dataclass(frozen=True, slots=True, eq=False)
class Examined:
    """A program, and what is wrong with it.

    Attributes
    ----------
    program : the program.
    original_points : the original point of each of its points.
    steps : the steps that lead to it.
    audit : a full audit if the program is clean.
    violations : the witnesses that must go.
    columns : the columns that must go, at all their positions; not known before `violations` are
        gone.
    collections : the attributes whose collections must go; not known before `violations` are gone.
    """

    program: Program
    original_points: Sequence[int]
    steps: Steps
    audit: Audit
    violations: Sequence[Violation]
    columns: Sequence[Violation] = ()
    collections: tuple[str, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing is wrong."""
        return not (self.violations or self.columns or self.collections)


class Best:
    """The best clean program so far, with its audit."""

    def __init__(self, repaired: RepairedProgram, audit: Audit) -> None:
        self.repaired, self.audit = repaired, audit

    @property
    def value(self) -> float:
        """Its utility; larger is better."""
        return self.repaired.value

    def offer(self, repaired: RepairedProgram, audit: Audit) -> None:
        """Keep a clean program if it is better."""
        if repaired.merit > self.repaired.merit:
            self.repaired, self.audit = repaired, audit


class Search:
    """The search for a repair of one program.

    Parameters
    ----------
    bench : the program under repair.
    before : the audit of the program before the repair.
    best : the best clean program so far. The search updates it.
    """

    def __init__(self, bench: Workbench, before: Audit, best: Best) -> None:
        self.bench, self.before, self.best = bench, before, best
        self.collective = CollectiveSearch(bench, before) if bench.goal.collections else None
        self._ticket = count(1)  # breaks ties in the queue, where steps cannot be compared
        self._removing_trials: dict[tuple[bytes, str, str], list[Trial]] = {}

    # What is wrong

    def first(self) -> Examined:
        """Return the program before the repair, with what is wrong with it."""
        program, original_points = self.bench.applied(())
        return self._fully(program, original_points, (), self.before)

    def examined(self, steps: Steps) -> Examined:
        """Return the program after some steps, with what is wrong with it."""
        program, original_points = self.bench.applied(steps)
        audit = self.bench.light_audit(program)
        if violations := self.bench.goal.open(audit):
            return Examined(program, original_points, steps, audit, violations)
        return self._fully(program, original_points, steps, self.bench.audited(program))

    def _fully(
        self, program: Program, original_points: Sequence[int], steps: Steps, audit: Audit
    ) -> Examined:
        goal = self.bench.goal
        found = replace(goal, collections=goal.collections and not goal.everything).remaining(audit)
        names = tuple(dict.fromkeys(known.protected for known in found.collections))
        if goal.everything and self.collective is not None and not found:
            names = self.collective.violated(program, audit)
        violations = found.violations
        if steps and not violations:
            violations = tuple(self._left_of_denied(program, original_points, audit))
        return Examined(program, original_points, steps, audit, violations, found.columns, names)

    def _left_of_denied(
        self, program: Program, original_points: Sequence[int], audit: Audit
    ) -> Iterator[Violation]:
        """What is left of a denied computation, if it is still a witness.

        An oracle that denies a computation may accept what remains of it, because it is another
        term. But a repair must not let a denied use go on under another name.
        """
        goal, points = self.bench.goal, self.bench.original.points
        if goal.oracle is None:
            return
        for target in goal.targets(self.before).violations:
            sites = target.witness.decomposition.sites
            ranges = [pair for site in sites for pair in points.covers(site)]

            def inside(point: int, ranges: Sequence[tuple[int, int]] = ranges) -> bool:
                original = original_points[point]
                return any(start <= original < end for start, end in ranges)

            for witness in audit.witnesses:
                if witness.protected != target.witness.protected or not goal.counts(audit, witness):
                    continue
                for site in witness.decomposition.sites:
                    above = program.points.parents[site.point]
                    if inside(site.point) and (above < 0 or not inside(above)):
                        yield Violation(witness, target.judgment)
                        break

    def accept(self, examined: Examined) -> RepairedProgram:
        """Offer a clean program."""
        value = self.bench.value(examined.program)
        repaired = RepairedProgram(examined.program, examined.steps, value)
        self.best.offer(repaired, examined.audit)
        return repaired

    # Steps

    def extended(self, before: Examined, removed: Removed, new: Mapping[Site, Const]) -> Steps:
        """Return the steps to a program and one more, with constants at positions of it."""
        original = self.bench.in_original(before.program, before.original_points, new)
        return with_step(self.bench.original, before.steps, removed, original)

    def without_collections(self, examined: Examined) -> Steps | None:
        """Add a step that removes collective witnesses; None if there are none."""
        assert self.collective is not None
        names = None if self.bench.goal.everything else examined.collections
        found = self.collective.constants(examined.program, examined.audit, names)
        if found is None:
            return None
        return self.extended(examined, RemovedCollections(found[0]), found[1])

    def _moves(self, examined: Examined, orders: Sequence[Order]) -> Iterator[tuple[Steps, float]]:
        """Steps that may follow, each with its estimated gain."""
        found = examined.violations or examined.columns
        if not found:
            steps = self.without_collections(examined)
            if steps is not None:
                yield steps, 0.0
            return
        by_influence = not examined.violations
        for violation in {id(v): v for v in (order(found) for order in orders)}.values():
            removed = RemovedViolation.of(violation)
            for trial in self._removing(examined.audit, violation, by_influence):
                yield self.extended(examined, removed, trial.new), trial.gain

    def _removing(self, audit: Audit, violation: Violation, by_influence: bool) -> list[Trial]:
        """The cheapest trials that remove a violation, cached."""
        witness = violation.witness
        key = (audit.program.term.digest, witness.id, witness.protected)
        if key not in self._removing_trials:
            trials = self.bench.trials(audit)
            count = self.bench.budget.branches
            self._removing_trials[key] = trials.removing(witness, count, by_influence)
        return self._removing_trials[key]

    # Phases

    def greedy(self, order: Order, start: Examined) -> None:
        """Apply the cheapest trial until the program is clean.

        In a large program, collections come first: constants at their tests remove most violations
        of larger computations as well, in less time than a search for each of them. A large program
        is given up when it is worse than the best clean one.
        """
        examined, tried_collections = start, False
        while not examined.clean:
            before = examined.program
            steps = None
            if not tried_collections and self.collective is not None and self.collective.first:
                tried_collections = True
                if examined.collections or self.bench.goal.everything:
                    steps = self.without_collections(examined)
            if steps is None:
                steps = next((steps for steps, _ in self._moves(examined, (order,))), None)
            if steps is None:
                return
            program, _ = self.bench.applied(steps)
            if self.bench.large and self.bench.value(program) < self.best.value:
                return
            assert _variables(program) < _variables(before), "a step must remove a variable"
            examined = self.examined(steps)
        self.accept(examined)

    def best_first(self, start: Examined) -> None:
        """Expand partial repairs in order of utility, while they are better than the best."""
        bench = self.bench
        queue: list[tuple[float, int, Steps]] = []
        seen: set[bytes] = set()
        examined: Examined | None = start
        value, expanded = bench.value(start.program), 0
        while expanded < bench.budget.programs:
            if examined is not None and examined.clean:
                self.accept(examined)
            elif examined is not None:
                expanded += 1
                for steps, gain in self._moves(examined, ORDERS):
                    if value + gain > self.best.value:
                        heappush(queue, (-value - gain, next(self._ticket), steps))
            if not queue or -queue[0][0] <= self.best.value:
                return  # nothing in the queue is better
            _, _, steps = heappop(queue)
            program, _ = bench.applied(steps)
            value, examined = bench.value(program), None
            if program.term.digest not in seen and value > self.best.value:
                seen.add(program.term.digest)
                examined = self.examined(steps)

    def without_unneeded_steps(self, base: Steps) -> None:
        """Drop steps of the best repair that are not needed; those of `base` always are."""
        kept = {step.removed for step in base}
        tries, index = self.bench.budget.undo, 0
        while tries > 0 and index < len(self.best.repaired.steps) > 1:
            steps = self.best.repaired.steps
            rest = (*steps[:index], *steps[index + 1 :])
            program, _ = self.bench.applied(rest)
            if steps[index].removed not in kept:
                tries -= 1
                if self.bench.value(program) >= self.best.value:
                    examined = self.examined(rest)
                    if examined.clean:
                        repaired = RepairedProgram(program, rest, self.bench.value(program))
                        self.best.repaired, self.best.audit = repaired, examined.audit
                        continue
            index += 1


def _variables(program: Program) -> int:
    """The number of variable occurrences in a program."""
    return sum(isinstance(term, Var) for term in program.points.terms)
