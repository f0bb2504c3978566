"""Search for the repair that preserves the most utility.

A repair picks a violation, applies a trial that removes it, audits the new program, and repeats
until there are no violations. Each step removes variables and adds none, so the search terminates.

The choice of violation and trial matters, because one change can remove several violations. The
search has three phases:

1. Greedy: always apply the cheapest trial, for a few orders of violations. This gives complete
   repairs.
2. Best first: expand partial repairs in order of utility, with a few trials for a few violations
   each, while they are better than the best complete repair. Steps seldom gain utility, so the
   first program without violations is the best that these choices lead to.
3. Undo: drop steps that are not needed.

A repair is a set of constants at positions of the original program. Each can be undone on its own,
written back to a model, and checked by others.

Cost: an association depends only on its computation, so the search measures only changed
computations again. Influence depends on the whole program; the search measures it again for
computations with enough association to be witnesses. The result is measured in full.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from heapq import heappop, heappush
from itertools import count

import msgspec
import numpy as np

from proxyuse.auditing import Audit, examine
from proxyuse.detect.progress import Clock
from proxyuse.detect.witnesses import strength
from proxyuse.errors import DataError
from proxyuse.judge.judgment import Oracle, Violation
from proxyuse.lang.evaluate import Array, constant, first_value
from proxyuse.lang.nodes import Const, Var
from proxyuse.lang.positions import Cover, Site
from proxyuse.measure.engine import Measurement
from proxyuse.program import Program
from proxyuse.repairing.trial_context import SMALL, Effort, Trial, TrialContext
from proxyuse.repairing.trials import Trials
from proxyuse.repairing.utility import Utility, continuous
from proxyuse.request import Request, engine_for, with_defined_influence
from proxyuse.settings import Budget

LARGE = 1000  # nodes; the text of a larger term is cut short

Order = Callable[[Sequence[Violation]], Violation]


def _strongest(violations: Sequence[Violation]) -> Violation:
    return min(violations, key=lambda violation: strength(violation.witness))


def _smallest(violations: Sequence[Violation]) -> Violation:
    return min(violations, key=lambda v: v.witness.size)


def _largest(violations: Sequence[Violation]) -> Violation:
    return max(violations, key=lambda v: v.witness.size)


ORDERS: tuple[Order, ...] = (_strongest, _largest, _smallest)


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """Limits of the search for a repair.

    For a large program (rows times nodes at least 2^26), the search tries one order, and half of
    `programs`, `undo` and `constants`.

    Attributes
    ----------
    orders : the number of orders of violations in the greedy phase, 1 to 3.
    programs : partial repairs expanded in the best-first phase.
    branches : trials followed per violation.
    undo : steps of the best repair that the search tries to drop.
    constants : constants tried per expression, where each takes one evaluation.
    expressions : expressions tried inside a computation, where each constant takes one evaluation.
    checks : trials checked per violation, best first.
    costly : checks per violation that evaluate the whole changed program.
    """

    orders: int = 2
    programs: int = 24
    branches: int = 4
    undo: int = 8
    constants: int = 16
    expressions: int = 64
    checks: int = 256
    costly: int = 32

    def __post_init__(self) -> None:
        least = {"orders": 1, "branches": 1, "constants": 2}
        for name in self.__slots__:
            value, low = getattr(self, name), least.get(name, 0)
            if not isinstance(value, int) or isinstance(value, bool) or value < low:
                raise DataError(
                    f"SearchBudget: {name}: expected an integer of at least {low}, got {value!r}"
                )

    @property
    def for_large(self) -> SearchBudget:
        """The limits for a large program."""
        return replace(self, orders=1, programs=self.programs // 2, undo=self.undo // 2)

    @property
    def effort(self) -> Effort:
        """The limits for one violation."""
        return Effort(self.constants, self.expressions, self.checks, self.costly)


@dataclass(frozen=True, slots=True)
class RemovedViolation:
    """The violation that a step removes.

    Attributes
    ----------
    id, term, protected, association, influence : the witness, in the partly repaired program where
        the search met it. The text of a large term is cut short.
    reason : why it was judged inappropriate; empty without a judgment.
    by : who or what judged it.
    """

    id: str
    term: str
    protected: str
    association: float
    influence: float
    reason: str
    by: str

    @classmethod
    def of(cls, violation: Violation) -> RemovedViolation:
        """A summary of a violation that does not keep its measurements alive."""
        w, judgment = violation.witness, violation.judgment
        reason, by = ("", "") if judgment is None else (judgment.reason, judgment.by)
        program = w.decomposition.program
        term = w.term if w.size <= LARGE else program.brief(w.expression)
        return cls(w.id, term, w.protected, w.association, w.influence, reason, by)


@dataclass(frozen=True, slots=True, eq=False)
class SearchStep:
    """A step of a partial or complete repair.

    Attributes
    ----------
    removed : the violation that the step removes.
    new : constants at positions of the original program.
    value : the utility after the step; larger is better.
    """

    removed: RemovedViolation
    new: Mapping[Site, Const]
    value: float


Steps = tuple[SearchStep, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RepairedProgram:
    """A repaired program.

    Attributes
    ----------
    program : the program.
    steps : the steps that lead to it.
    value : its utility; larger is better.
    """

    program: Program
    steps: Steps
    value: float

    @property
    def new(self) -> dict[Site, Const]:
        """The constants at positions of the original program."""
        return _merged(self.steps)


class Search:
    """The search for a repair of one program.

    Parameters
    ----------
    request : the rows, the thresholds and the measures.
    original : the program, specialized to these rows.
    oracle : judges the witnesses.
    utility : the utility to preserve.
    budget : the limits of the search.
    clock : reports progress.
    """

    def __init__(
        self,
        request: Request,
        original: Program,
        oracle: Oracle | None,
        utility: Utility,
        budget: SearchBudget,
        clock: Clock,
    ) -> None:
        self.request, self.original = request, request.specialized(original)
        self.oracle, self.utility, self.clock = oracle, utility, clock
        size = request.population.n_rows * original.size
        self.budget = budget if size < SMALL else budget.for_large
        self.known: dict[bytes, Array] = {}
        self.detections = 0
        self._last_measurement: Measurement | None = None
        self._last_trials: tuple[Audit, Trials] | None = None
        self._ticket = count(1)  # breaks ties in the queue, where steps cannot be compared
        self._removing_trials: dict[tuple[bytes, str, str], list[Trial]] = {}
        light = Budget(request.settings.budget.subsets, 0, 0, 0)
        settings = msgspec.structs.replace(request.settings, budget=light)
        self._light = replace(request, settings=settings)

    def run(self, first: Audit) -> RepairedProgram:
        """The best repair, starting from the audit of the original program."""
        repairs = [self._greedy(order, first) for order in ORDERS[: self.budget.orders]]
        best = max(repairs, key=_merit)
        best = self._best_first(first, best)
        best = self._without_unneeded_steps(best)
        constant = self._best_constant(first.violations(self.oracle)[0])
        return constant if constant.value > best.value else best

    def resumed(self, repaired: RepairedProgram, audit: Audit) -> RepairedProgram:
        """Continue a repair in which a full audit found violations."""
        return self._greedy(_strongest, audit, repaired.steps)

    # Complete and partial repairs

    def _greedy(self, order: Order, audit: Audit, steps: Steps = ()) -> RepairedProgram:
        """Apply the cheapest trial until there are no violations."""
        program, original_points = self._applied(steps)
        while violations := audit.violations(self.oracle):
            violation = order(violations)
            trial = self._removing(audit, violation)[0]
            steps = self._step(program, original_points, steps, violation, trial)
            before = program
            program, original_points = self._applied(steps)
            assert _variables(program) < _variables(before), "a step must remove a variable"
            steps = (*steps[:-1], replace(steps[-1], value=self._value(program)))
            audit = self._detect(program)
        return RepairedProgram(program, steps, self._value(program))

    def _best_first(self, first: Audit, best: RepairedProgram) -> RepairedProgram:
        """Expand partial repairs in order of utility, while they are better than the best."""
        queue: list[tuple[float, int, Steps]] = [(-self._value(self.original), 0, ())]
        seen: set[bytes] = set()
        expanded = 0
        while queue and expanded < self.budget.programs:
            estimate, _, steps = heappop(queue)
            if -estimate <= best.value:
                break  # nothing in the queue is better
            program, original_points = self._applied(steps)
            value = self._value(program)
            if program.term.digest in seen or value <= best.value:
                continue
            seen.add(program.term.digest)
            expanded += 1
            if steps:
                steps = (*steps[:-1], replace(steps[-1], value=value))
            audit = self._detect(program) if steps else first
            violations = audit.violations(self.oracle)
            if not violations:
                best = RepairedProgram(program, steps, value)
                continue
            for violation in {id(v): v for v in (o(violations) for o in ORDERS)}.values():
                for trial in self._removing(audit, violation):
                    more = self._step(program, original_points, steps, violation, trial)
                    estimate = value + trial.gain
                    if estimate > best.value:
                        heappush(queue, (-estimate, next(self._ticket), more))
        return best

    def _step(
        self,
        program: Program,
        original_points: Sequence[int],
        steps: Steps,
        violation: Violation,
        trial: Trial,
    ) -> Steps:
        new = self._in_original(program, original_points, trial.new)
        return _with_step(self.original, steps, RemovedViolation.of(violation), new)

    def _removing(self, audit: Audit, violation: Violation) -> list[Trial]:
        """The cheapest trials that remove a violation, cached."""
        witness = violation.witness
        key = (audit.program.term.digest, witness.id, witness.protected)
        if key not in self._removing_trials:
            trials = self._trials(audit)
            self._removing_trials[key] = trials.removing(witness, self.budget.branches)
        return self._removing_trials[key]

    def _applied(self, steps: Steps) -> tuple[Program, list[int]]:
        """The program after some steps, and for each of its points the point in the original."""
        program, original_points = self.original.replaced_points(_merged(steps))
        program.checked_kinds |= self.original.checked_kinds
        return program, original_points

    def _detect(self, program: Program) -> Audit:
        self.detections += 1
        request = with_defined_influence(self._light, program, self.clock)
        return examine(request, program, clock=self.clock, known=self.known)

    def _trials(self, audit: Audit) -> Trials:
        """The trials of an audited program. Only the last one is cached."""
        if self._last_trials is None or self._last_trials[0] is not audit:
            measurement = self._measurement(audit.program)
            association, effort = self.request.association, self.budget.effort
            context = TrialContext(audit, measurement, self.utility, association, effort)
            self._last_trials = audit, Trials(context)
        return self._last_trials[1]

    def _measurement(self, program: Program) -> Measurement:
        """A measurement with the category codes of the utility. Only the last one is cached."""
        if self._last_measurement is None or self._last_measurement.program is not program:
            vocabulary = self.utility.frame.vocabulary
            self._last_measurement = engine_for(self.request, program, self.clock, vocabulary)
        return self._last_measurement

    def _value(self, program: Program) -> float:
        outputs = self._measurement(program).sample.outputs()
        return self.utility.better(self.utility.value(program.term, outputs))

    def _in_original(
        self, program: Program, original_points: Sequence[int], new: Mapping[Site, Const]
    ) -> dict[Site, Const]:
        """Translate positions of a partly repaired program into positions of the original."""
        points, translated = program.points, {}
        for site, value in new.items():
            if not site.operands:
                translated[Site(original_points[site.point])] = value
                continue
            below = points.below(site.point)
            children = [original_points[below[step]] for step in site.operands]
            parents = {self.original.points.parents[child] for child in children}
            if len(parents) == 1:
                steps = tuple(sorted(self.original.points.steps[child] for child in children))
                translated[Site(parents.pop(), steps)] = value
            else:  # the operands come from a nested operator
                translated[Site(original_points[site.point])] = value
        return translated

    # Improving a complete repair

    def _without_unneeded_steps(self, repaired: RepairedProgram) -> RepairedProgram:
        tries, index = self.budget.undo, 0
        while tries > 0 and index < len(repaired.steps) and len(repaired.steps) > 1:
            tries -= 1
            rest = (*repaired.steps[:index], *repaired.steps[index + 1 :])
            program, _ = self._applied(rest)
            value = self._value(program)
            if value >= repaired.value and not self._detect(program).violations(self.oracle):
                repaired = RepairedProgram(program, rest, value)
            else:
                index += 1
        return replace(repaired, steps=self._valued(repaired.steps))

    def _valued(self, steps: Steps) -> Steps:
        """The steps with the utility after each of them."""
        programs = (self._applied(steps[: i + 1])[0] for i in range(len(steps)))
        return tuple(
            replace(step, value=self._value(program))
            for step, program in zip(steps, programs, strict=True)
        )

    def _best_constant(self, first: Violation) -> RepairedProgram:
        """The best program that returns the same constant for all rows."""
        sample = self._measurement(self.original).sample
        outputs = sample.outputs()
        known = outputs[~_missing(outputs)]
        distinct, counts = np.unique(known, axis=0, return_counts=True)
        frequent = np.argsort(-counts, kind="stable")[: 4 * self.budget.constants].tolist()
        constants = [Const(first_value(distinct[i : i + 1], sample.vocabulary)) for i in frequent]
        if self.utility.squares and continuous(outputs):
            right = self.utility.right if self.utility.right.dtype == np.float64 else outputs
            constants.append(Const(float(np.average(right, weights=self.utility.weights))))
        scored = []
        for value in constants:
            repeated = np.broadcast_to(constant(value.value, sample.vocabulary), outputs.shape)
            scored.append((self.utility.better(self.utility.value(value, repeated)), value))
        utility, best = max(scored, key=lambda pair: pair[0])
        steps = (SearchStep(RemovedViolation.of(first), {Site(0): best}, utility),)
        return RepairedProgram(self._applied(steps)[0], steps, utility)


def _missing(outputs: Array) -> Array:
    if outputs.dtype == np.int32:
        return np.asarray(outputs < 0)
    if outputs.dtype == np.bool_:
        return np.zeros(len(outputs), dtype=np.bool_)
    missing = np.isnan(outputs)
    return np.asarray(missing if missing.ndim == 1 else missing.any(axis=1))


def _variables(program: Program) -> int:
    """The number of variable occurrences in a program."""
    return sum(isinstance(term, Var) for term in program.points.terms)


def _merit(repaired: RepairedProgram) -> tuple[float, int]:
    """Sorts by utility, then prefers the smaller program."""
    return repaired.value, -repaired.program.size


def _with_step(
    original: Program, steps: Steps, removed: RemovedViolation, new: dict[Site, Const]
) -> Steps:
    """Append a step, and drop the earlier constants that it covers."""
    covered = Cover(original.points, new)
    uncovered = (
        replace(step, new={s: v for s, v in step.new.items() if not covered.holds(s)})
        for step in steps
    )
    return (*(step for step in uncovered if step.new), SearchStep(removed, new, 0.0))


def _merged(steps: Steps) -> dict[Site, Const]:
    return {site: value for step in steps for site, value in step.new.items()}
