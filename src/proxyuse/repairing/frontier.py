"""The frontier of a repair: what it costs at stricter and at laxer thresholds.

The frontier has one point for each value of epsilon, or of delta. Each point is a repair of its
own, with the other threshold unchanged. Then each point may take over the model of a stricter
point, if that model is more useful and clean at the laxer threshold, too. So utility never falls
as a threshold becomes laxer.

Why is a model that is clean at a strict threshold also clean at a laxer one?

- A *computation* that passes larger thresholds passes smaller ones. Its measures, its confidence
  bounds and its bias-corrected association do not depend on the thresholds (see `confirmation`):
  the level alpha is divided among all computations before the rows are seen. So what keeps a
  program from being clean at laxer thresholds keeps it from being clean at stricter ones.
- A *column* that determines an attribute counts if its influence is above delta. Epsilon plays no
  role.
- A *percentage* such as ``"50%"`` is a share of a number that depends only on the rows, so the
  resolved thresholds have the same order.
- What was *judged appropriate* stays, at every threshold.

The argument has gaps:

- **Collections.** The collection of a larger epsilon has fewer members, and fewer members can have
  more influence. The collections of all levels in `LEVELS` are compared, but another value of
  epsilon is a level of its own. The members that a test confirms also depend on epsilon.
- **Searches.** Partial sums and sets of positions that cannot be exhausted are searched, and the
  thresholds guide the search. At other thresholds it may find another set.
- **Random pairs** settle an influence as above or below delta, with a small probability of error.
- **An oracle** is a function of the caller. It may judge in any way.

Therefore a model is audited again at the laxer threshold before a point takes it over. If it is
not clean there, the next best one is tried.

The requested thresholds are a point like the others. If it takes over a model, `repair` returns
that model: it satisfies stricter thresholds than requested, and it is more useful on the rows that
compare the candidates. Otherwise the result is the same as without a frontier. One guarantee comes
first: without targets, `repair` returns the original model.

Folds may end early for lack of time, so points may be compared on different rows. The original
model is compared on the same rows as its candidates. The utility of a point is that of the
original model plus the difference on the rows of the point.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from proxyuse.completed_audit import Audit
from proxyuse.detect.progress import Clock
from proxyuse.lang.evaluate import evaluate
from proxyuse.program import Program
from proxyuse.repairing.baseline import best_constant, best_constant_utility
from proxyuse.repairing.candidate import Candidate
from proxyuse.repairing.completed_repair import Repair
from proxyuse.repairing.effort import SearchBudget
from proxyuse.repairing.frontier_grid import Grid, threshold_text
from proxyuse.repairing.problem import Problem
from proxyuse.repairing.quality import Quality
from proxyuse.repairing.scoring import deviations, standard_error
from proxyuse.repairing.selection import LESS_USEFUL, NOT_CLEAN
from proxyuse.repairing.timer import Timer
from proxyuse.repairing.utility import Measure, better
from proxyuse.report.repair_result import OutcomeChanges
from proxyuse.request import request_for

if TYPE_CHECKING:
    from proxyuse.repairing.repair import Order

NOT_STRICTER = "as useful as the chosen one, which is clean at stricter thresholds, too"
Run = Callable[["Order", SearchBudget], Repair]


# The result


@dataclass(frozen=True, slots=True)
class Figures:
    """How good a model is on the rows that compare the models of a frontier.

    Attributes
    ----------
    utility : the utility in its own unit; None if there was no time to measure it.
    error : the standard error of the utility; None if it is unknown.
    auc, log_loss : the area under the ROC curve and the log loss; None if they are unknown.
    rows : the number of rows.
    """

    utility: float | None
    error: float | None = None
    auc: float | None = None
    log_loss: float | None = None
    rows: int = 0

    @classmethod
    def of(cls, quality: Quality) -> Figures:
        """The figures of a quality."""
        error = quality.error if math.isfinite(quality.error) else None
        return cls(quality.utility, error, quality.auc, quality.log_loss, quality.rows)


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """What a repair costs at one pair of thresholds.

    Attributes
    ----------
    epsilon, delta : the thresholds.
    varies : the name of the threshold that varies.
    value : its value as text: a number or a percentage.
    requested : whether these are the requested thresholds.
    targets : the number of violations that had to go. With 0, the original model needs no repair.
    taken_over : the stricter value whose model this point takes over; None if it has its own.
    figures : the quality of the model on the rows that compare the candidates: validation rows,
        folds, or the rows of the repair if there are neither.
    original, constant : the same for the original model, and the utility of the best constant
        prediction; None if it is unknown.
    repair : the repair at these thresholds, with its model, audits and candidates.

    Examples
    --------
    >>> import proxyuse as pu
    >>> pregnant = [1, 1, 0, 0, 0, 0]
    >>> data = {"vitamins": pregnant, "income": [3, 1, 1, 2, 1, 1], "pregnant": pregnant}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', ite(income >= 2, 'a', 'b'))")
    >>> options = {"epsilon": 0.5, "delta": 0, "unconfirmed": True}
    >>> repaired = pu.repair(
    ...     program, data, protected="pregnant", frontier="epsilon:0.05,0.5", **options
    ... )
    >>> for point in repaired.frontier:
    ...     print(point.value, round(point.utility, 3), point.methods, point.rates["pregnant"])
    0.05 0.5 ('constants',) {'0': 1.0, '1': 1.0}
    0.5 0.833 ('constants',) {'0': 0.75, '1': 0.5}
    """

    epsilon: float
    delta: float
    varies: str
    value: str
    requested: bool
    targets: int
    taken_over: str | None
    figures: Figures
    original: Figures
    constant: float | None
    repair: Repair = field(repr=False)

    @property
    def utility(self) -> float | None:
        """The utility; None if there was no time to measure it."""
        return self.figures.utility

    @property
    def error(self) -> float | None:
        """The standard error of the utility; None if it is unknown."""
        return self.figures.error

    @property
    def auc(self) -> float | None:
        """The area under the ROC curve; None if it is unknown."""
        return self.figures.auc

    @property
    def log_loss(self) -> float | None:
        """The log loss; None if it is unknown."""
        return self.figures.log_loss

    @property
    def rows(self) -> int:
        """The number of rows that the utility was measured on."""
        return self.figures.rows

    @property
    def chosen(self) -> Candidate:
        """The candidate that became the model."""
        return self.repair.chosen

    @property
    def methods(self) -> tuple[str, ...]:
        """How the model was made; empty for the original model."""
        return self.chosen.methods

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that its training was about."""
        return self.chosen.columns

    @property
    def changed(self) -> float:
        """The share of rows whose prediction differs from the original model's."""
        return self.chosen.changed

    @property
    def model(self) -> Any:
        """The model."""
        return self.repair.model

    @cached_property
    def changes_by_group(self) -> OutcomeChanges:
        """Who gains and who loses, on the rows of the repair; see `Repair.changes_by_group`."""
        return self.repair.changes_by_group

    @property
    def rates(self) -> Mapping[str, Mapping[str, float]]:
        """For each protected attribute, the selection rate or the mean output of each group.

        They are those of the rows of the repair. Empty for more than two classes.
        """
        if len(self.changes_by_group.labels) != 1:
            return {}
        return {
            attribute.protected: {
                group.value: group.after[0].at_least
                for group in attribute.groups
                if group.after[0].at_least is not None
            }
            for attribute in self.changes_by_group.attributes
        }


# The work


def with_frontier(done: Repair, order: Order, grid: Grid, run: Run) -> Repair:
    """Return a repair with its frontier.

    Parameters
    ----------
    done : the repair at the requested thresholds.
    order : the arguments of that repair.
    grid : the thresholds.
    run : makes a repair.
    """
    repairs = {grid.requested: done}
    if not done.interrupted:
        repairs |= dict(_others(order, grid, run))
    points = _Frontier(order, grid, repairs).points()
    known = {point.value for point in points}
    skipped = tuple(text for text in map(threshold_text, grid.values) if text not in known)
    (own,) = (point for point in points if point.requested)
    result = own.repair if own.targets else done
    return replace(result, frontier=tuple(points), frontier_skipped=skipped)


def _others(order: Order, grid: Grid, run: Run) -> Iterator[tuple[int, Repair]]:
    """Repair at the other thresholds, until an interrupt; each has an equal share of the time."""
    options, others = order.options, grid.others
    timer = Timer(options.seconds)
    for number, index in enumerate(others):
        seconds = options.seconds
        if seconds is not None:
            seconds = max(seconds / len(others), timer.left / (len(others) - number))
        at = _at(order, grid, index, seconds)
        try:
            repair = run(at, SearchBudget())
        except KeyboardInterrupt:
            return
        yield index, repair
        if repair.interrupted:
            return


def _at(order: Order, grid: Grid, index: int, seconds: float | None) -> Order:
    """The same order at another threshold."""
    changes: dict[str, Any] = {grid.name: grid.values[index], "seconds": seconds, "frontier": None}
    return replace(order, options=msgspec.structs.replace(order.options, **changes))


class _Frontier:
    """The repairs of a frontier, comparable with each other."""

    def __init__(self, order: Order, grid: Grid, repairs: Mapping[int, Repair]) -> None:
        self.order, self.grid, self.repairs = order, grid, repairs
        self.problem = repairs[grid.requested]._problem
        self.scored = any(repair.selection is not None for repair in repairs.values())
        by_rows = sorted(repairs.items(), key=lambda known: known[0] != grid.requested)
        references = [self._reference(repair) for _, repair in by_rows]
        known = [figures for figures in references if figures is not None]
        self.original = max(known, key=lambda figures: figures.rows, default=Figures(None))
        self.constant = self._constant()

    def points(self) -> list[FrontierPoint]:
        """The points, the strictest first. An interrupt ends them; the requested one is kept."""
        points: list[FrontierPoint] = []
        for index in sorted(self.repairs):
            own = self._point(index)
            try:
                points.append(self._best(own, points))
            except KeyboardInterrupt:
                if index <= self.grid.requested:
                    points.append(self._point(self.grid.requested))
                break
        return points

    def _point(self, index: int) -> FrontierPoint:
        repair = self.repairs[index]
        return FrontierPoint(
            epsilon=float(repair.after.epsilon),
            delta=float(repair.after.delta),
            varies=self.grid.name,
            value=threshold_text(self.grid.values[index]),
            requested=index == self.grid.requested,
            targets=repair.targets,
            taken_over=None,
            figures=self._figures(repair),
            original=self.original,
            constant=self.constant,
            repair=repair,
        )

    # Figures

    def _figures(self, repair: Repair) -> Figures:
        """The figures of a repaired model, on rows that are comparable with the other points."""
        if not repair.candidates:
            return self.original
        if not self.scored:
            return _on_repair_rows(self.order, self.problem, repair.model, repair.after.program)
        quality, reference = repair.chosen.quality, self._reference(repair)
        if quality is None or reference is None:
            return Figures(None)
        figures = Figures.of(quality)
        if reference.utility == self.original.utility:
            return figures
        assert reference.utility is not None
        assert self.original.utility is not None
        difference = quality.utility - reference.utility
        return replace(figures, utility=self.original.utility + difference)

    def _reference(self, repair: Repair) -> Figures | None:
        """The figures of the original model on the rows that compared the candidates of a repair.

        None if folds would have compared them, but nothing had to be repaired.
        """
        order, problem = self.order, self.problem
        if not self.scored:
            return _on_repair_rows(order, problem, order.model, repair.before.program)
        if repair.candidates:
            quality = repair.candidates[0].quality
            return None if quality is None else Figures.of(quality)
        if isinstance(order.validation, tuple | list):
            return Figures.of(problem.validation_rows(*order.validation).quality(order.model))
        return None

    def _constant(self) -> float | None:
        """The utility of the best constant prediction on the rows that compare the models."""
        order, problem = self.order, self.problem
        if order.y is not None and isinstance(order.validation, tuple | list):
            rows = problem.validation_rows(*order.validation)
            return best_constant(problem.utility.measure, rows.y, np.ones(len(rows.y)))
        return best_constant_utility(problem.utility)

    def _better(self, point: FrontierPoint) -> float:
        """The utility with its sign set so that larger is better; the smallest if unknown."""
        if point.utility is None:
            return -math.inf
        return better(self.problem.utility.measure, point.utility)

    # Models of stricter points

    def _best(self, own: FrontierPoint, stricter: Sequence[FrontierPoint]) -> FrontierPoint:
        """The point itself, or with the best model of a stricter point that is clean here."""
        for other in sorted(stricter, key=self._better, reverse=True):
            if self._better(other) <= self._better(own):
                break
            if other.taken_over is not None or not other.repair.candidates:
                continue  # the point that it was taken over from comes, too
            after = self._clean(own, other.repair)
            if after is not None:
                repair = _taken_over(own.repair, other.repair, after)
                return replace(own, taken_over=other.value, figures=other.figures, repair=repair)
        return own

    def _clean(self, own: FrontierPoint, stricter: Repair) -> Audit | None:
        """The audit of a model at the thresholds of another point; None if it is not clean."""
        order, goal = self.order, own.repair._goal
        options = own.repair._problem.options
        request = request_for(stricter.trained_model, order.X, order.protected, options)
        after = goal.examine(request, stricter.program, clock=Clock(options.progress))
        return None if goal.remaining(after) else after


def _taken_over(own: Repair, stricter: Repair, after: Audit) -> Repair:
    """The repair at laxer thresholds that returns the model of a stricter repair."""
    winner = stricter.chosen
    reference = (own.candidates or stricter.candidates)[0]
    remaining = len(own._goal.remaining(own.before))
    reference = replace(
        reference, remaining=remaining, rejected=NOT_CLEAN if remaining else LESS_USEFUL
    )
    return replace(
        stricter,
        before=own.before,
        after=after,
        candidates=(reference, *(_lost(c, winner) for c in own.candidates[1:]), winner),
        detections=own.detections + stricter.detections,
        interrupted=own.interrupted,
        _goal=own._goal,
        _request=own._request,
        _problem=own._problem,
    )


def _lost(candidate: Candidate, winner: Candidate) -> Candidate:
    """A candidate that is not chosen because a model of a stricter point is better."""
    if not candidate.chosen and (not candidate.clean or candidate.quality is None):
        return candidate
    known = candidate.quality
    worse = known is None or winner.quality is None or known.better < winner.quality.better
    return replace(candidate, chosen=False, rejected=LESS_USEFUL if worse else NOT_STRICTER)


def _on_repair_rows(order: Order, problem: Problem, model: Any, program: Program) -> Figures:
    """The figures of a model and its program on the rows of the repair."""
    if order.y is not None and not isinstance(order.model, Program):
        everyone = np.ones(problem.request.population.n_rows, np.bool_)
        return Figures.of(problem.scored_on(everyone).quality(model))
    utility = problem.utility
    values = evaluate(program.term, utility.frame.arrays, utility.frame.vocabulary)
    outputs = np.broadcast_to(values, (len(utility.right), *values.shape[1:]))
    error = None
    if utility.measure in (Measure.ACCURACY, Measure.AGREEMENT, Measure.SQUARED_ERROR):
        error = standard_error(deviations(utility.losses(outputs), utility.weights))
    rows = int(np.count_nonzero(utility.weights))
    return Figures(utility.value(program.term, outputs), error, rows=rows)
