"""Look for the repair that loses least.

A repair takes a violation, a trial that removes it, and starts again with what is then violated,
until nothing is. Each step takes variables out of the program and puts none in, so this ends.

Which violation is taken, and which trial, matters: what removes one computation may remove what is
wrong with others. First the cheapest trial is taken each time, for a few orders of violations: that
gives complete repairs. Then programs that are partly repaired are looked at best first, each with
a few trials for a few of its violations, as long as they are better than the best complete repair.
As steps seldom gain, the first program without violations is the best that these choices lead to.
Last, steps are taken back that turn out not to be needed.

Every repair is a set of constants at positions of the program as it was before the first step:
they can be taken back one by one, written back to a model, and checked by someone else.

The cost. Associations depend on a computation alone, so only those of computations that changed
are measured again. Influence depends on everything; it is measured again of what has enough
association to be a witness. What comes out is measured once more as a whole.
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
from proxyuse.repairing.trials import SMALL, Effort, Trial, TrialContext
from proxyuse.repairing.utility import Utility, continuous
from proxyuse.request import Request, engine_for, with_defined_influence
from proxyuse.settings import Budget

LARGE = 1000  # nodes of a term of which the beginning is kept

Order = Callable[[Sequence[Violation]], Violation]


def _strongest(violations: Sequence[Violation]) -> Violation:
    return min(violations, key=lambda violation: strength(violation.witness))


def _smallest(violations: Sequence[Violation]) -> Violation:
    return min(violations, key=lambda v: v.witness.size)


def _largest(violations: Sequence[Violation]) -> Violation:
    return max(violations, key=lambda v: v.witness.size)


ORDERS: tuple[tuple[str, Order], ...] = (
    ("strongest first", _strongest),
    ("largest first", _largest),
    ("smallest first", _smallest),
)


@dataclass(frozen=True, slots=True)
class SearchBudget:
    """How much may be spent on looking for the repair that loses least.

    Of a large program, of which rows times nodes are 2^26 and more, one order is tried, and half
    of `programs`, `undo` and `constants`.

    Attributes
    ----------
    orders : in how many orders violations are taken for first complete repairs, 1 to 3.
    programs : how many partly repaired programs are looked at after that.
    branches : how many trials are followed for a violation.
    undo : how many steps of the best repair are tried without.
    constants : constants tried for an expression where it takes an evaluation for each.
    expressions : expressions inside a computation that are tried where it takes an evaluation for
        each constant.
    checks : trials for one violation, best first, of which is asked whether they remove it.
    costly : of these, those for which it takes a look at the whole changed program.
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
                    f"a search budget's {name} is {value!r}; pass a whole number of {low} or more"
                )

    @property
    def for_large(self) -> SearchBudget:
        """The same for a large program: one order, and half of the rest."""
        return replace(self, orders=1, programs=self.programs // 2, undo=self.undo // 2)

    @property
    def effort(self) -> Effort:
        """What may be spent on one violation."""
        return Effort(self.constants, self.expressions, self.checks, self.costly)


@dataclass(frozen=True, slots=True)
class Removed:
    """The violation that a step was taken for.

    Attributes
    ----------
    id, term, protected, association, influence : of the witness, in the program it was found in;
        of a large term the beginning.
    reason : why it was judged inappropriate; empty if nobody judged.
    by : who or what judged.
    """

    id: str
    term: str
    protected: str
    association: float
    influence: float
    reason: str
    by: str

    @classmethod
    def of(cls, violation: Violation) -> Removed:
        """What is kept of a violation, when what it was measured with is let go."""
        w, said = violation.witness, violation.judgment
        reason, by = ("", "") if said is None else (said.reason, said.by)
        program = w.decomposition.program
        term = w.term if w.size <= LARGE else program.brief(w.expression)
        return cls(w.id, term, w.protected, w.association, w.influence, reason, by)


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """A step of a repair.

    Attributes
    ----------
    removed : what it was taken for.
    new : constants at positions of the original program.
    value : the utility after it, the larger the better.
    """

    removed: Removed
    new: Mapping[Site, Const]
    value: float


Steps = tuple[Taken, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """A repaired program.

    Attributes
    ----------
    program : it.
    steps : how it came about.
    value : its utility, the larger the better.
    """

    program: Program
    steps: Steps
    value: float

    @property
    def new(self) -> dict[Site, Const]:
        """The constants at positions of the original program."""
        return _merged(self.steps)


class Search:
    """Repairs of one program.

    Parameters
    ----------
    case : the rows, the thresholds and how to measure.
    original : the program as it is measured on these rows.
    oracle : says what is no violation.
    utility : what to lose least of.
    budget : how much to spend.
    """

    def __init__(
        self,
        case: Request,
        original: Program,
        oracle: Oracle | None,
        utility: Utility,
        budget: SearchBudget,
        clock: Clock,
    ) -> None:
        self.case, self.original, self.oracle = case, case.specialized(original), oracle
        self.utility, self.clock = utility, clock
        size = case.population.n_rows * original.size
        self.budget = budget if size < SMALL else budget.for_large
        self.known: dict[bytes, Array] = {}
        self.detections = 0
        self._last: Measurement | None = None
        self._stage: TrialContext | None = None
        self._ticket = count(1)  # so that steps are not compared
        self._trials: dict[tuple[bytes, str, str], list[Trial]] = {}
        light = Budget(case.settings.budget.subsets, 0, 0, 0)
        settings = msgspec.structs.replace(case.settings, budget=light)
        self._light = replace(case, settings=settings)

    def run(self, first: Audit) -> Found:
        """The best repair found, given what was found in the original program."""
        orders = ORDERS[: self.budget.orders]
        found = [self._straight(order, first) for _, order in orders]
        best = max(found, key=_merit)
        best = self._best_first(first, best)
        best = self._without_needless(best)
        constant = self._best_constant(first.violations(self.oracle)[0])
        return constant if constant.value > best.value else best

    def resumed(self, found: Found, audit: Audit) -> Found:
        """Go on with a repair that a closer look found violations in."""
        return self._straight(_strongest, audit, found.steps)

    # Complete repairs, and partial ones

    def _straight(self, order: Order, audit: Audit, steps: Steps = ()) -> Found:
        """Always the cheapest trial, until no violation is left."""
        program, back = self._applied(steps)
        while violations := audit.violations(self.oracle):
            violation = order(violations)
            trial = self._removing(audit, violation)[0]
            steps = self._step(program, back, steps, violation, trial)
            before = program
            program, back = self._applied(steps)
            assert _variables(program) < _variables(before), "a step must take out a variable"
            steps = (*steps[:-1], replace(steps[-1], value=self._value(program)))
            audit = self._detect(program)
        return Found(program, steps, self._value(program))

    def _best_first(self, first: Audit, best: Found) -> Found:
        """Look at partial repairs in order of their utility, as long as they are better."""
        waiting: list[tuple[float, int, Steps]] = [(-self._value(self.original), 0, ())]
        seen: set[bytes] = set()
        looked_at = 0
        while waiting and looked_at < self.budget.programs:
            estimate, _, steps = heappop(waiting)
            if -estimate <= best.value:
                break  # so is everything that waits
            program, back = self._applied(steps)
            value = self._value(program)
            if program.term.digest in seen or value <= best.value:
                continue
            seen.add(program.term.digest)
            looked_at += 1
            if steps:
                steps = (*steps[:-1], replace(steps[-1], value=value))
            audit = self._detect(program) if steps else first
            violations = audit.violations(self.oracle)
            if not violations:
                best = Found(program, steps, value)
                continue
            for violation in {id(v): v for v in (o(violations) for _, o in ORDERS)}.values():
                for trial in self._removing(audit, violation):
                    more = self._step(program, back, steps, violation, trial)
                    estimate = value + trial.gain
                    if estimate > best.value:
                        heappush(waiting, (-estimate, next(self._ticket), more))
        return best

    def _step(
        self,
        program: Program,
        back: Sequence[int],
        steps: Steps,
        violation: Violation,
        trial: Trial,
    ) -> Steps:
        new = self._in_original(program, back, trial.new)
        return _with_step(self.original, steps, Removed.of(violation), new)

    def _removing(self, audit: Audit, violation: Violation) -> list[Trial]:
        """The cheapest trials that remove a violation; kept."""
        witness = violation.witness
        key = (audit.program.term.digest, witness.id, witness.protected)
        if key not in self._trials:
            self._trials[key] = self._scene(audit).removing(witness, self.budget.branches)
        return self._trials[key]

    def _applied(self, steps: Steps) -> tuple[Program, list[int]]:
        """The original program after some steps, and which point of it each point is."""
        program, back = self.original.replaced_points(_merged(steps))
        program.checked_kinds |= self.original.checked_kinds
        return program, back

    def _detect(self, program: Program) -> Audit:
        self.detections += 1
        case = with_defined_influence(self._light, program, self.clock)
        return examine(case, program, clock=self.clock, known=self.known)

    def _scene(self, audit: Audit) -> TrialContext:
        """What trials are made in; the last is kept."""
        if self._stage is None or self._stage.audit is not audit:
            engine = self._engine(audit.program)
            self._stage = TrialContext(
                audit, engine, self.utility, self.case.association, self.budget.effort
            )
        return self._stage

    def _engine(self, program: Program) -> Measurement:
        """Measures that number categories as the right answers are numbered; the last is kept."""
        if self._last is None or self._last.program is not program:
            vocabulary = self.utility.frame.vocabulary
            self._last = engine_for(self.case, program, self.clock, vocabulary)
        return self._last

    def _value(self, program: Program) -> float:
        outputs = self._engine(program).sample.outputs()
        return self.utility.better(self.utility.value(program.term, outputs))

    def _in_original(
        self, program: Program, back: Sequence[int], new: Mapping[Site, Const]
    ) -> dict[Site, Const]:
        """Positions of a program under repair as positions of the original."""
        points, found = program.points, {}
        for site, value in new.items():
            if not site.operands:
                found[Site(back[site.point])] = value
                continue
            below = points.below(site.point)
            children = [back[below[step]] for step in site.operands]
            parents = {self.original.points.parents[child] for child in children}
            if len(parents) == 1:
                steps = tuple(sorted(self.original.points.steps[child] for child in children))
                found[Site(parents.pop(), steps)] = value
            else:  # the operands come from an operator inside the operator
                found[Site(back[site.point])] = value
        return found

    # Better than the first repair that works

    def _without_needless(self, found: Found) -> Found:
        """Take back steps that a repair does not need."""
        tries, index = self.budget.undo, 0
        while tries > 0 and index < len(found.steps) and len(found.steps) > 1:
            tries -= 1
            rest = (*found.steps[:index], *found.steps[index + 1 :])
            program, _ = self._applied(rest)
            value = self._value(program)
            if value >= found.value and not self._detect(program).violations(self.oracle):
                found = Found(program, rest, value)
            else:
                index += 1
        return replace(found, steps=self._valued(found.steps))

    def _valued(self, steps: Steps) -> Steps:
        """Steps with the utility after each of them, of those that are left."""
        programs = (self._applied(steps[: i + 1])[0] for i in range(len(steps)))
        return tuple(
            replace(step, value=self._value(program))
            for step, program in zip(steps, programs, strict=True)
        )

    def _best_constant(self, first: Violation) -> Found:
        """The program that says one thing of all rows, and loses least by that."""
        sample = self._engine(self.original).sample
        outputs = sample.outputs()
        known = outputs[~_missing(outputs)]
        distinct, often = np.unique(known, axis=0, return_counts=True)
        most = np.argsort(-often, kind="stable")[: 4 * self.budget.constants].tolist()
        options = [Const(first_value(distinct[i : i + 1], sample.vocabulary)) for i in most]
        if self.utility.squares and continuous(outputs):
            right = self.utility.right if self.utility.right.dtype == np.float64 else outputs
            options.append(Const(float(np.average(right, weights=self.utility.weights))))
        scored = []
        for option in options:
            said = np.broadcast_to(constant(option.value, sample.vocabulary), outputs.shape)
            scored.append((self.utility.better(self.utility.value(option, said)), option))
        value, best = max(scored, key=lambda pair: pair[0])
        whole = (Taken(Removed.of(first), {Site(0): best}, value),)
        return Found(self._applied(whole)[0], whole, value)


def _missing(outputs: Array) -> Array:
    if outputs.dtype == np.int32:
        return np.asarray(outputs < 0)
    if outputs.dtype == np.bool_:
        return np.zeros(len(outputs), dtype=np.bool_)
    lost = np.isnan(outputs)
    return np.asarray(lost if lost.ndim == 1 else lost.any(axis=1))


def _variables(program: Program) -> int:
    """How often variables stand in a program."""
    return sum(isinstance(term, Var) for term in program.points.terms)


def _merit(found: Found) -> tuple[float, int]:
    """More utility is better, then a smaller program."""
    return found.value, -found.program.size


def _with_step(original: Program, steps: Steps, removed: Removed, new: dict[Site, Const]) -> Steps:
    """Steps with one more; constants that it covers are let go."""
    covered = Cover(original.points, new)
    left = (
        replace(step, new={s: v for s, v in step.new.items() if not covered.holds(s)})
        for step in steps
    )
    return (*(step for step in left if step.new), Taken(removed, new, 0.0))


def _merged(steps: Steps) -> dict[Site, Const]:
    return {site: value for step in steps for site, value in step.new.items()}
