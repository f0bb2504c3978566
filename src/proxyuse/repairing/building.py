"""Builds one candidate: trains a model, repairs it by constants, and fits its numbers again."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from proxyuse.completed_audit import Audit
from proxyuse.errors import ProxyUseError
from proxyuse.repairing.candidate import CONSTANTS, REFIT, Built, Candidate, deployed_model
from proxyuse.repairing.constants import Removal
from proxyuse.repairing.effort import SearchBudget
from proxyuse.repairing.problem import Problem
from proxyuse.repairing.recipes.fitting import fit_clone
from proxyuse.repairing.recipes.recipe import Recipe
from proxyuse.repairing.recipes.registry import Violation as Computation
from proxyuse.repairing.recipes.training import CannotFit
from proxyuse.repairing.refit import refit
from proxyuse.repairing.steps import in_full, merged
from proxyuse.repairing.timer import Timer
from proxyuse.request import Request
from proxyuse.settings import Remove

BEFORE_REFIT = 0.85
"""The share of the time for constants, if the numbers are fitted again afterwards."""


class Draft:
    """A model before constants.

    Attributes
    ----------
    problem : the rows it was trained on.
    recipe : how it was trained; None for the original model.
    model : the model.
    request : the request for its audit.
    before : its audit.
    auditing : the time that training and auditing it took.
    seconds : the time spent on it so far.
    removal : the search for constants; None before it began.
    """

    def __init__(
        self,
        problem: Problem,
        recipe: Recipe | None,
        model: Any,
        request: Request,
        before: Audit,
        start: float,
    ) -> None:
        self.problem, self.recipe, self.model = problem, recipe, model
        self.request, self.before = request, before
        self.seconds = self.auditing = time.monotonic() - start
        self.removal: Removal | None = None

    @property
    def violations(self) -> Sequence[Computation]:
        """What is wrong with it."""
        return self.problem.goal.remaining(self.before).computations


@dataclass(frozen=True, slots=True)
class Builder:
    """Builds candidates.

    Attributes
    ----------
    effort : the limits of the search for constants.
    remove : whether denied computations are removed entirely.
    refits : whether the numbers of repaired models are also fitted again.
    """

    effort: SearchBudget
    remove: Remove
    refits: bool

    def trained(self, problem: Problem, recipe: Recipe | None) -> Any:
        """Train a model by a recipe, or raise `CannotFit`.

        Without a recipe, the model is the original one, or its clone trained on the rows if these
        are a part.
        """
        if recipe is None and problem.part is None:
            return problem.model
        if recipe is None:
            return fit_clone(problem.model, problem.rows, problem.answers, problem.fit_weights)
        return recipe.fitted(
            problem.model, problem.named_rows, problem.answers, problem.fit_weights,
            problem.attributes,
        )  # fmt: skip

    def draft(
        self, problem: Problem, recipe: Recipe | None, timer: Timer, model: Any = None
    ) -> Draft:
        """Train a model by a recipe, unless it is passed, and audit it.

        Raises
        ------
        CannotFit
            If the recipe does not apply, or if the new model cannot be audited.
        WorkEnded
            If the time was over before the end of the audit. A fit is not interrupted.
        """
        start = time.monotonic()
        if recipe is None and problem.part is None:
            return Draft(problem, recipe, problem.model, problem.request, problem.before, start)
        try:
            model = self.trained(problem, recipe) if model is None else model
            request = problem.request_of(model)
            with problem.clock.ending_at(timer.deadline):
                before = problem.goal.examine(request, clock=problem.clock)
        except ProxyUseError as error:
            raise CannotFit(str(error)) from error
        return Draft(problem, recipe, model, request, before, start)

    def quick(self, draft: Draft, timer: Timer) -> Built:
        """Repair a model by the constants that are found quickly."""
        return self._repaired(draft, timer, quick=True)

    def built(self, draft: Draft, timer: Timer) -> Iterator[Built]:
        """Repair a model by constants; then fit its numbers again, and repair that."""
        first = self._repaired(draft, timer.share(BEFORE_REFIT) if self.refits else timer)
        yield first
        if first.constants.stopped == "interrupt":
            raise KeyboardInterrupt  # it ended the constants; nothing else begins
        if self.refits and first.candidate.replaced and timer.left > draft.auditing:
            try:
                again = self._refitted(draft, first, timer)
            except (CannotFit, ProxyUseError):
                return
            if again is not None:
                yield again
                if again.constants.stopped == "interrupt":
                    raise KeyboardInterrupt

    def _repaired(self, draft: Draft, timer: Timer, *, quick: bool = False) -> Built:
        problem, recipe, before = draft.problem, draft.recipe, draft.before
        base = draft.request.subject.program
        start = time.monotonic()
        if draft.removal is None:
            draft.removal = Removal(
                draft.request,
                before.program,
                problem.goal,
                problem.utility_of(draft.request, before.program),
                before=before,
                effort=self.effort,
                remove=self.remove,
                trained_again=draft.model is not problem.model,
                clock=problem.clock,
            )
        constants = draft.removal.improve(timer.deadline, quick=quick)
        draft.seconds += time.monotonic() - start
        new = in_full(before.program, base, merged(constants.steps))
        program = base.replaced(new)
        deploy = partial(deployed_model, draft.model, program, problem.X, problem.options.decision)
        methods = () if recipe is None else recipe.methods
        if new or not methods:
            methods = (*methods, CONSTANTS)
        candidate = Candidate(
            methods,
            () if recipe is None else recipe.columns,
            replaced=len(new),
            changed=problem.changed(constants.program),
            remaining=len(problem.goal.remaining(constants.after)),
            quality=None,
            seconds=draft.seconds,
            detail="" if recipe is None else recipe.detail,
        )
        return Built(
            candidate,
            recipe,
            draft.model,
            draft.request,
            base,
            before,
            constants,
            program,
            deploy,
        )

    def _refitted(self, draft: Draft, first: Built, timer: Timer) -> Built | None:
        """The model with its numbers fitted again; None if its class has no refit."""
        problem, start = draft.problem, time.monotonic()
        if not first.deployed.native:
            return None
        model = refit(first.deployed.model, problem.rows, problem.answers, problem.fit_weights)
        if model is None:
            return None
        request = problem.request_of(model)
        before = problem.goal.examine(request, clock=problem.clock)
        other = Draft(problem, draft.recipe, model, request, before, start)
        again = self._repaired(other, timer)
        more = (CONSTANTS,) if again.candidate.replaced else ()
        candidate = replace(
            again.candidate,
            methods=(*first.candidate.methods, REFIT, *more),
            replaced=first.candidate.replaced + again.candidate.replaced,
            seconds=first.candidate.seconds + again.candidate.seconds,
        )
        return replace(again, candidate=candidate, previous=first)
