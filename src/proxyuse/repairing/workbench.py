"""One program under repair: applies steps to it, and measures and audits what results.

Cost: an association depends only on its computation, so a light audit measures only changed
computations again. Influence depends on the whole program, and is measured again for computations
with enough association to be witnesses.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import msgspec
import numpy as np

from proxyuse.completed_audit import Audit
from proxyuse.detect.progress import Clock
from proxyuse.lang.evaluate import Array, constant, first_value
from proxyuse.lang.nodes import And, Const, Mul, Or, Term
from proxyuse.lang.positions import Site
from proxyuse.measure.engine import Measurement
from proxyuse.program import Program
from proxyuse.repairing.effort import SearchBudget
from proxyuse.repairing.goal import Goal
from proxyuse.repairing.steps import (
    Removed,
    RepairedProgram,
    SearchStep,
    Steps,
    merged,
)
from proxyuse.repairing.trial_context import SMALL, TrialContext
from proxyuse.repairing.trials import Trials
from proxyuse.repairing.utility import Utility, continuous
from proxyuse.request import Request, engine_for, with_defined_influence
from proxyuse.settings import Budget


class Workbench:
    """One program under repair.

    Parameters
    ----------
    request : the rows, the thresholds and the measures.
    original : the program, specialized to these rows.
    goal : what must go.
    utility : the utility to preserve.
    budget : the limits of the search.
    clock : reports progress.
    """

    def __init__(
        self,
        request: Request,
        original: Program,
        goal: Goal,
        utility: Utility,
        budget: SearchBudget,
        clock: Clock,
    ) -> None:
        self.request, self.original = request, request.specialized(original)
        self.goal, self.utility, self.clock = goal, utility, clock
        self.large = request.population.n_rows * original.size >= SMALL
        self.budget = budget.for_large if self.large else budget
        self.known: dict[bytes, Array] = {}
        self.detections = 0
        self._last_applied: tuple[Steps, tuple[Program, list[int]]] | None = None
        self._last_measurement: Measurement | None = None
        self._last_trials: tuple[Audit, Trials] | None = None
        light = Budget(request.settings.budget.subsets, 0, 0, 0)
        settings = msgspec.structs.replace(request.settings, budget=light)
        self._light = replace(request, settings=settings)

    # Programs

    def applied(self, steps: Steps) -> tuple[Program, list[int]]:
        """Return the program after some steps, and the original point of each of its points.

        The last result is cached.
        """
        if self._last_applied is None or self._last_applied[0] is not steps:
            program, original_points = self.original.replaced_points(merged(steps))
            program.checked_kinds |= self.original.checked_kinds
            self._last_applied = steps, (program, original_points)
        return self._last_applied[1]

    def valued(self, steps: Steps) -> Steps:
        """Return the steps with the utility after each of them."""
        programs = (self.applied(steps[: i + 1])[0] for i in range(len(steps)))
        return tuple(
            replace(step, value=self.value(program))
            for step, program in zip(steps, programs, strict=True)
        )

    def in_original(
        self, program: Program, original_points: Sequence[int], new: Mapping[Site, Const]
    ) -> dict[Site, Const]:
        """Translate positions of a partly repaired program into positions of the original."""
        translated: dict[Site, Const] = {}
        for site, value in new.items():
            point = original_points[site.point]
            if not site.operands:
                translated[Site(point)] = value
                continue
            below = [original_points[child] for child in program.points.below(site.point)]
            around = [self._operand_around(inner, point) for inner in below]
            inside = [below[step] for step in site.operands]
            operands = {operand for step in site.operands if (operand := around[step]) is not None}
            if sum(operand in operands for operand in around) == len(inside) == len(operands):
                steps = sorted(self.original.points.steps[operand] for operand in operands)
                translated[Site(point, tuple(steps))] = value
            else:  # they come from a nested operator: one gets the value, and the others nothing
                neutral = _neutral(program.points.terms[site.point], value)
                translated |= {Site(inner): neutral for inner in inside[1:]}
                translated[Site(inside[0])] = value
        return translated

    def _operand_around(self, inner: int, operator: int) -> int | None:
        """The operand of an original operator around a point, of which only that point is left."""
        parents = self.original.points.parents
        while inner > operator and parents[inner] != operator:
            inner = parents[inner]
        return inner if inner > operator else None

    def best_constant(self, removed: Removed) -> RepairedProgram:
        """Return the best program that has the same output for all rows."""
        sample = self.measurement(self.original).sample
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
        steps = (SearchStep(removed, {Site(0): best}, utility),)
        return RepairedProgram(self.applied(steps)[0], steps, utility)

    # Measurements

    def measurement(self, program: Program) -> Measurement:
        """Return a measurement with the category codes of the utility; the last one is cached."""
        if self._last_measurement is None or self._last_measurement.program is not program:
            vocabulary = self.utility.frame.vocabulary
            self._last_measurement = engine_for(self.request, program, self.clock, vocabulary)
        return self._last_measurement

    def value(self, program: Program) -> float:
        """Return the utility of a program; larger is better."""
        outputs = self.measurement(program).sample.outputs()
        return self.utility.better(self.utility.value(program.term, outputs))

    def trials(self, audit: Audit) -> Trials:
        """Return the trials of an audited program. Only the last one is cached."""
        if self._last_trials is None or self._last_trials[0] is not audit:
            measurement = self.measurement(audit.program)
            association, effort = self.request.association, self.budget.effort
            context = TrialContext(audit, measurement, self.utility, association, effort)
            self._last_trials = audit, Trials(context)
        return self._last_trials[1]

    # Audits

    def light_audit(self, program: Program) -> Audit:
        """Audit a program for a search; what it finds is in a full audit as well."""
        self.detections += 1
        request = with_defined_influence(self._light, program, self.clock)
        return self.goal.examine(request, program, clock=self.clock, known=self.known)

    def is_lightly_clean(self, new: Iterable[tuple[Site, Const]]) -> bool:
        """Return whether a light audit finds nothing in the original program with constants."""
        program = self.original.replaced(dict(new))
        program.checked_kinds |= self.original.checked_kinds
        return not self.goal.open(self.light_audit(program))

    def audited(self, program: Program) -> Audit:
        """Return a full audit of a program."""
        self.detections += 1
        return self.goal.examine(self.request, program, clock=self.clock)


def _neutral(operator: Term, value: Const) -> Const:
    """The constant that changes nothing as an operand."""
    match operator:
        case And():
            return Const(True)
        case Or():
            return Const(False)
    neutral = 1.0 if isinstance(operator, Mul) else 0.0
    return Const(tuple(neutral for _ in value.value) if isinstance(value.value, tuple) else neutral)


def _missing(outputs: Array) -> Array:
    if outputs.dtype == np.int32:
        return np.asarray(outputs < 0)
    if outputs.dtype == np.bool_:
        return np.zeros(len(outputs), dtype=np.bool_)
    missing = np.isnan(outputs)
    return np.asarray(missing if missing.ndim == 1 else missing.any(axis=1))
