"""Repair: a model of the same kind in which nothing that the rows confirm is left.

Composes the stages: audit, candidates, selection, and the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Unpack

import numpy as np

from proxyuse.detect.progress import Clock
from proxyuse.errors import DataError
from proxyuse.judge.judgment import Oracle
from proxyuse.lang.evaluate import evaluate
from proxyuse.options import documented, from_keywords, refuse_unknown, shown
from proxyuse.program import Program
from proxyuse.repairing.baseline import best_constant_utility
from proxyuse.repairing.building import Builder
from proxyuse.repairing.candidate import METHODS, REFIT, Built, Candidate, deployed_model
from proxyuse.repairing.completed_repair import Loss, Repair, Step, change
from proxyuse.repairing.effort import SearchBudget
from proxyuse.repairing.frontier import with_frontier
from proxyuse.repairing.frontier_grid import frontier_grid
from proxyuse.repairing.goal import Goal
from proxyuse.repairing.portfolio import Outcome, Portfolio
from proxyuse.repairing.problem import Problem, ScoredRows
from proxyuse.repairing.recipes.fitting import can_fit
from proxyuse.repairing.recipes.recipe import Recipe
from proxyuse.repairing.recipes.registry import METHODS as RECIPES
from proxyuse.repairing.recipes.registry import recipes_for
from proxyuse.repairing.requested_utility import utility_on_rows
from proxyuse.repairing.selection import NOT_CLEAN, chosen, explained
from proxyuse.repairing.steps import RemovedCollections, in_full
from proxyuse.repairing.timer import Timer
from proxyuse.repairing.utility import Utility, UtilityFunction
from proxyuse.report.repair_result import Refusal
from proxyuse.request import request_for
from proxyuse.settings import DELTA, EPSILON, RepairKeywords, RepairOptions
from proxyuse.validity.options import methods_of


@documented(RepairOptions, RepairKeywords.__annotations__)
def repair(
    model: object,
    X: object,
    y: object = None,
    *,
    protected: object,
    epsilon: float | str = EPSILON,
    delta: float = DELTA,
    oracle: Oracle | None = None,
    utility: str | UtilityFunction | None = None,
    validation: object = None,
    **options: Unpack[RepairKeywords],
) -> Repair:
    """Make a model of the same kind in which nothing that the rows confirm is left.

    *Targets* are confirmed violations. Without a target, the model comes back unchanged. Otherwise
    several candidates are made, and the best one is returned: parts of the model are replaced with
    constants, as in the paper, or the model is trained again in other ways before that. In every
    candidate, nothing is confirmed, and no violation passes the thresholds with its bias-corrected
    association. The candidates are compared on rows that trained none of them.

    An interrupt from the keyboard ends the search with the best repair so far.

    Parameters
    ----------
    model, X, protected : as for `audit`. The rows are audited, and models are trained on them.
    y : column name or values, optional
        The correct answers. Without them, no model is trained again, and the utility is the
        agreement with the outputs of the original model.
    oracle : callable, optional
        Judges each witness. Witnesses judged appropriate stay. Without an oracle, all are removed.
    utility : str or callable, optional
        The utility to preserve: "accuracy" (the default if y holds classes), "agreement" with the
        original outputs (the default without y), "balanced accuracy", "auc", "log loss",
        "mean squared error" (the default for continuous numbers; without y, compared with the
        original outputs), or a function of the correct answers, the outputs, and
        `sample_weight` that returns a larger number for better outputs.
    validation : pair of a table and y, optional
        Other rows, which compare the candidates and train none. Without them, folds of the rows do.
    {options}

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0, 0], "income": [3, 1, 1, 2, 1], "pregnant": [1, 1, 0, 0, 0]}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', ite(income >= 2, 'a', 'b'))")
    >>> repaired = pu.repair(
    ...     program, data, protected="pregnant", epsilon=0.5, delta=0, unconfirmed=True
    ... )
    >>> print(repaired.program)
    lambda vitamins, income . ite(income >= 2, 'a', 'b')
    >>> repaired.used.after
    0.8
    """
    refuse_unknown(options, RepairKeywords.__annotations__)
    thresholds = {"epsilon": epsilon, "delta": delta}
    given = from_keywords(RepairOptions, {**thresholds, **options})
    if oracle is not None and not callable(oracle):
        raise DataError(f"oracle: expected a function, got {shown(oracle)}")
    order = Order(model, X, y, protected, oracle, utility, validation, given)
    grid = frontier_grid(given)
    done = repaired(order, SearchBudget())
    return done if grid is None else with_frontier(done, order, grid, repaired)


@dataclass(frozen=True, slots=True, eq=False)
class Order:
    """The arguments of `repair`."""

    model: object
    X: object
    y: object
    protected: object
    oracle: Oracle | None
    utility: str | UtilityFunction | None
    validation: object
    options: RepairOptions


def repaired(order: Order, effort: SearchBudget) -> Repair:
    """Repair a model; `effort` limits the search for constants."""
    options, timer = order.options, Timer(order.options.seconds)
    problem = _problem(order)
    goal, before = problem.goal, problem.before
    rows = _scored_rows(order, problem)
    if not (goal.everything or goal.targets(before)):
        return _unchanged(order, problem, effort, rows)
    trains = order.y is not None and can_fit(order.model)
    methods = options.methods or METHODS
    builder = Builder(effort, options.remove, refits=REFIT in methods and order.y is not None)
    recipes = _recipes(problem, methods) if trains else []
    portfolio = Portfolio(problem, recipes, builder, timer)
    if rows is not None:
        outcome = portfolio.validated(rows)
    elif trains and (recipes or builder.refits):
        outcome = portfolio.cross_validated(options.cv, options.select)
    else:
        outcome = portfolio.unscored()
    constants = next(b for b in outcome.builts if b is not None and b.key == (None, False))
    if not constants.candidate.replaced:
        return _unchanged(order, problem, effort, rows)
    index = chosen(outcome.candidates, options.select, outcome.excluded)
    return _result(order, problem, effort, outcome, index, rows)


def _problem(order: Order) -> Problem:
    """Audit the original model."""
    options = order.options
    request = request_for(order.model, order.X, order.protected, options)
    methods = () if options.validity is None else methods_of(options.validity)
    goal = Goal(order.oracle, methods, options.unconfirmed, options.collections)
    clock = Clock(options.progress)
    before = goal.examine(request, clock=clock)
    utility = utility_on_rows(request, before.program, order.X, order.y, order.utility, clock)
    now = _utility_of(before.program, utility)
    if not np.isfinite(now):
        raise DataError(
            f"the {utility.name} of the original model is {now}; choose another utility"
        )
    return Problem(
        order.model, order.X, order.y, order.protected, options, request, goal, before, utility,
        clock,
    )  # fmt: skip


def _scored_rows(order: Order, problem: Problem) -> ScoredRows | None:
    """The validation rows, checked; None without them."""
    if order.validation is None:
        return None
    pair = order.validation
    if not (isinstance(pair, tuple | list) and len(pair) == 2):
        raise DataError(f"validation: expected a pair of a table and y, got {shown(pair)}")
    if order.y is None:
        raise DataError("validation: the candidates are compared by y; pass y as well")
    return problem.validation_rows(*pair)


def _recipes(problem: Problem, methods: Sequence[str]) -> list[Recipe]:
    """How the model can be trained again."""
    wanted = tuple(method for method in RECIPES if method in methods)
    if not wanted:
        return []
    request, goal = problem.request, problem.goal
    return recipes_for(
        problem.model,
        goal.remaining(problem.before).computations,
        attributes=[z.name for z in request.population.protected],
        epsilon=request.settings.epsilon,
        association=request.association,
        methods=wanted,
    )


# The result


def _unchanged(
    order: Order, problem: Problem, effort: SearchBudget, rows: ScoredRows | None
) -> Repair:
    """The original model, because nothing has to be repaired."""
    program, before = problem.request.subject.program, problem.before
    value = _utility_of(before.program, problem.utility)
    number = int(np.count_nonzero(problem.utility.weights))
    selection = None
    if rows is not None:
        quality = rows.quality(order.model)
        selection = Loss(quality.utility, quality.utility, quality.rows)
    return Repair(
        before=before,
        after=before,
        program=program,
        original=program,
        base=program,
        replaced={},
        steps=(),
        collections=(),
        utility=problem.utility.name,
        used=Loss(value, value, number),
        selection=selection,
        folds=None,
        candidates=(),
        refusal=None,
        detections=1,
        search=effort,
        interrupted=False,
        _deploy=partial(deployed_model, order.model, program, order.X, order.options.decision),
        _model=order.model,
        _trained=order.model,
        _X=order.X,
        _goal=problem.goal,
        _request=problem.request,
        _problem=problem,
    )


def _result(
    order: Order,
    problem: Problem,
    effort: SearchBudget,
    outcome: Outcome,
    index: int,
    rows: ScoredRows | None,
) -> Repair:
    built = outcome.builts[index]
    assert built is not None
    parts = [built] if built.previous is None else [built.previous, built]
    replaced = {
        known.position: known.value
        for known in (
            change(built.base, site, value)
            for site, value in in_full(built.before.program, built.base, built.new).items()
        )
    }
    utility = problem.utility
    number = int(np.count_nonzero(utility.weights))
    after = built.constants.after
    used = Loss(
        _utility_of(problem.before.program, utility), utility.better(built.constants.value), number
    )
    selection = None
    quality = outcome.candidates[index].quality
    if outcome.reference is not None and quality is not None:
        selection = Loss(outcome.reference.utility, quality.utility, quality.rows)
    original = Candidate(
        (), (), 0, 0.0, len(problem.goal.remaining(problem.before)), outcome.reference, 0.0,
        rejected=NOT_CLEAN,
    )  # fmt: skip
    return Repair(
        before=problem.before,
        after=after,
        program=built.program,
        original=problem.request.subject.program,
        base=built.base,
        replaced=replaced,
        steps=tuple(step for part in parts for step in _steps(part, utility)),
        collections=tuple(known for part in parts for known in part.constants.collections),
        utility=utility.name,
        used=used,
        selection=selection,
        folds=outcome.folds or None,
        candidates=(original, *explained(outcome.candidates, index, outcome.excluded)),
        refusal=_refusal(order, problem, used, selection),
        detections=sum(part.constants.detections for part in parts),
        search=effort,
        interrupted=outcome.interrupted or built.constants.stopped == "interrupt",
        _deploy=built.deploy,
        _model=order.model,
        _trained=built.model,
        _X=order.X,
        _goal=problem.goal,
        _request=problem.request,
        _problem=problem,
    )


def _steps(built: Built, utility: Utility) -> list[Step]:
    steps = []
    for step in built.constants.steps:
        if isinstance(step.removed, RemovedCollections):
            continue
        new = in_full(built.before.program, built.base, step.new)
        changes = tuple(change(built.base, site, value) for site, value in new.items())
        steps.append(Step(step.removed, changes, utility.better(step.value)))
    return steps


def _refusal(order: Order, problem: Problem, used: Loss, selection: Loss | None) -> Refusal | None:
    """Why the repaired model should not be used."""
    utility, loss = problem.utility, selection or used
    if order.y is not None:
        constant = best_constant_utility(utility)
        after, best = utility.better(used.after), utility.better(constant or 0.0)
        if constant is not None and (after <= best or math.isclose(after, best)):
            return Refusal("constant", used.after, constant)
    lost = utility.better(loss.before) - utility.better(loss.after)
    if order.options.max_loss is not None and lost > order.options.max_loss:
        return Refusal("loss", lost, order.options.max_loss)
    return None


def _utility_of(program: Program, utility: Utility) -> float:
    frame = utility.frame
    values = evaluate(program.term, frame.arrays, frame.vocabulary)
    outputs = np.broadcast_to(values, (len(utility.right), *values.shape[1:]))
    return utility.value(program.term, outputs)
