"""Removal by constants, the method of the paper: nothing is trained again, nothing is added.

Quick first, so that there is always something to return:

1. The floor: the best program that returns the same for everyone. It is always clean.
2. A small tree: all combinations of constants; see `small_trees`.
3. Whole columns: constants at all positions of a few variables; see `whole_columns`.
4. The search of single constants; see `search`.

Whatever is clean is offered to `Best`, which keeps the program with the highest utility. The
search ends early at a deadline or at an interrupt, with the best clean program so far.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from proxyuse.completed_audit import Audit
from proxyuse.detect.progress import Clock, WorkEnded
from proxyuse.judge.judgment import Violation
from proxyuse.program import Program
from proxyuse.repairing.collective import RepairedCollection
from proxyuse.repairing.effort import SearchBudget
from proxyuse.repairing.goal import Goal
from proxyuse.repairing.search import ORDERS, Best, Examined, Search
from proxyuse.repairing.small_trees import repair_small_tree
from proxyuse.repairing.steps import (
    Removed,
    RemovedCollections,
    RemovedViolation,
    RepairedProgram,
    Steps,
)
from proxyuse.repairing.utility import Utility
from proxyuse.repairing.whole_columns import CHOICES, entirely, replace_columns
from proxyuse.repairing.workbench import Workbench
from proxyuse.request import Request
from proxyuse.settings import Remove

Stopped = Literal["deadline", "interrupt"]


@dataclass(frozen=True, slots=True, eq=False)
class Constants:
    """A program that was repaired by constants.

    Attributes
    ----------
    program : the repaired program; the original if there were no targets.
    steps : the steps that lead to it, as constants at positions of the original program.
    value : its utility on the rows; larger is better.
    after : a full audit of it, with nothing that `Goal.remaining` returns.
    collections : what was done to collections.
    detections : the number of audits.
    stopped : what ended the search early; None if it ran to its end.
    """

    program: Program
    steps: Steps
    value: float
    after: Audit
    collections: tuple[RepairedCollection, ...]
    detections: int
    stopped: Stopped | None = None


def remove_by_constants(
    request: Request,
    program: Program,
    goal: Goal,
    utility: Utility,
    *,
    before: Audit | None = None,
    effort: SearchBudget | None = None,
    deadline: float | None = None,
    remove: Remove = "below-threshold",
    trained_again: bool = False,
    clock: Clock | None = None,
) -> Constants:
    """Replace parts of a program with constants until it is clean.

    The utility of the result is never below that of the best program with one output for all rows.

    Parameters
    ----------
    request : the rows, the thresholds and the measures.
    program : the program.
    goal : what must go.
    utility : the utility to preserve, on the rows of the request.
    before : the audit of the program by `goal.examine`, if it is known.
    effort : the limits of the search.
    deadline : a time of `time.monotonic` at which the search ends; None for no deadline.
    remove : with ``"entirely"``, the computations that were denied are gone afterwards, at all
        their positions. Otherwise their association or influence may be just below its threshold.
    trained_again : whether the program comes from a model that was trained again. It must become
        clean even if nothing is confirmed in it: the model was made to be clean.
    clock : reports progress.
    """
    clock = clock or Clock(None)
    if before is None:
        before = goal.examine(request, program, clock=clock)
    bench = Workbench(request, before.program, goal, utility, effort or SearchBudget(), clock)
    floor = RepairedProgram(bench.original, (), bench.value(bench.original))
    search = Search(bench, before, Best(floor, before))
    start = search.first()
    if start.clean if trained_again else not _has_targets(goal, start):
        return Constants(bench.original, (), floor.value, before, (), 1)
    constant = bench.best_constant(_removed(start))
    search.best = Best(constant, bench.audited(constant.program))
    stopped: Stopped | None = None
    try:
        with clock.ending_at(deadline):
            _improve(search, start, remove)
    except WorkEnded:
        stopped = "deadline"
    except KeyboardInterrupt:
        stopped = "interrupt"
    best = search.best.repaired
    best = RepairedProgram(best.program, bench.valued(best.steps), best.value)
    after = search.best.audit
    collections = () if search.collective is None else search.collective.done(best, after)
    return Constants(
        best.program, best.steps, best.value, after, collections, bench.detections + 1, stopped
    )


def _has_targets(goal: Goal, start: Examined) -> bool:
    """Whether anything must go. Levels of collections above epsilon count if everything does."""
    return not start.clean if goal.everything else bool(goal.targets(start.audit))


def _removed(start: Examined) -> Removed:
    """The violation that stands for all of them, if one constant replaces the program."""
    found = start.violations or start.columns
    return RemovedViolation.of(found[0]) if found else RemovedCollections(start.collections)


def _improve(search: Search, start: Examined, remove: Remove) -> None:
    """Offer clean programs, the quickest first."""
    if remove == "entirely":
        start = entirely(search, start, _denied(search.bench.goal, start.audit))
        if start.clean:
            search.accept(start)
            return
    elif repair_small_tree(search, start):
        return
    for choice in CHOICES:
        replace_columns(search, start, choice)
    for order in ORDERS[: search.bench.budget.orders]:
        search.greedy(order, start)
    search.best_first(start)
    search.without_unneeded_steps(start.steps)


def _denied(goal: Goal, audit: Audit) -> Sequence[Violation]:
    """The targets that are removed entirely: whole columns first, larger computations last.

    Those that were judged inappropriate, and of nested ones that nobody judged, the one with no
    other inside it. To remove all of these would often mean to remove the whole program.
    """
    found = goal.targets(audit)
    innermost: dict[tuple[str, int], Violation] = {}
    for violation in sorted(found.violations, key=lambda v: v.witness.size):
        innermost.setdefault((violation.witness.protected, violation.witness.group), violation)
    denied = [v for v in found.violations if v.judgment is not None or v in innermost.values()]
    return sorted([*found.columns, *denied], key=lambda v: v.witness.size)
