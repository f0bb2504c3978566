"""Removal by constants, the method of the paper: nothing is trained again, nothing is added.

Quick first, so that there is always something to return:

1. The floor: the best program that returns the same for everyone. It is always clean.
2. A small tree: all combinations of constants; see `small_trees`.
3. Whole columns: constants at all positions of a few variables; see `whole_columns`.
4. The search of single constants; see `search`.

Whatever is clean is offered to `Best`, which keeps the program with the highest utility. The
search pauses at a deadline, with the best clean program so far, and can go on later: a repair first
gives every candidate a short time, and the promising ones the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

from proxyuse.completed_audit import Audit
from proxyuse.detect.progress import Clock, WorkEnded
from proxyuse.judge.judgment import Violation
from proxyuse.program import Program
from proxyuse.repairing.collective import RepairedCollection
from proxyuse.repairing.effort import SearchBudget
from proxyuse.repairing.goal import Goal
from proxyuse.repairing.search import ORDERS, Best, Examined, Order, Search
from proxyuse.repairing.small_trees import repair_small_tree
from proxyuse.repairing.steps import (
    Removed,
    RemovedCollections,
    RemovedViolation,
    RepairedProgram,
    Steps,
)
from proxyuse.repairing.utility import Utility
from proxyuse.repairing.whole_columns import CHOICES, Choice, entirely, replace_columns
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


class Removal:
    """Constants that make one program clean, improved for as long as there is time.

    The utility of the result is never below that of the best program with one output for all rows.

    Parameters
    ----------
    request : the rows, the thresholds and the measures.
    program : the program.
    goal : what must go.
    utility : the utility to preserve, on the rows of the request.
    before : the audit of the program by `goal.examine`, if it is known.
    effort : the limits of the search.
    remove : with ``"entirely"``, the computations that were denied are gone afterwards, at all
        their positions. Otherwise their association or influence may be just below its threshold.
    trained_again : whether the program comes from a model that was trained again. It must become
        clean even if nothing is confirmed in it: the model was made to be clean.
    clock : reports progress.
    """

    def __init__(
        self,
        request: Request,
        program: Program,
        goal: Goal,
        utility: Utility,
        *,
        before: Audit | None = None,
        effort: SearchBudget | None = None,
        remove: Remove = "below-threshold",
        trained_again: bool = False,
        clock: Clock | None = None,
    ) -> None:
        self.clock = clock or Clock(None)
        if before is None:
            before = goal.examine(request, program, clock=self.clock)
        self._bench = bench = Workbench(
            request, before.program, goal, utility, effort or SearchBudget(), self.clock
        )
        unchanged = RepairedProgram(bench.original, (), bench.value(bench.original))
        self._search = search = Search(bench, before, Best(unchanged, before))
        self._start = start = search.first()
        self._phases: list[Phase] = []
        self.stopped: Stopped | None = None
        if not start.clean if trained_again else _has_targets(goal, start):
            constant = bench.best_constant(_removed(start))
            search.best = Best(constant, bench.audited(constant.program))
            self._phases = self._planned(remove)

    @property
    def finished(self) -> bool:
        """Whether the search ran to its end."""
        return not self._phases

    def improve(self, deadline: float | None = None, *, quick: bool = False) -> Constants:
        """Go on with the search, and return the best result so far.

        A phase that a deadline ended begins again the next time.

        Parameters
        ----------
        deadline : a time of `time.monotonic` at which the search pauses; None for no deadline.
        quick : whether to stop before the first phase that is not quick.
        """
        self.stopped = None
        try:
            with self.clock.ending_at(deadline):
                while self._phases and (self._phases[0].quick or not quick):
                    done = self._phases[0].run()
                    self._phases = [] if done else self._phases[1:]
        except WorkEnded:
            self.stopped = "deadline"
        except KeyboardInterrupt:
            self.stopped = "interrupt"
        return self._result()

    def _result(self) -> Constants:
        bench, search = self._bench, self._search
        best, after = search.best.repaired, search.best.audit
        best = RepairedProgram(best.program, bench.valued(best.steps), best.value)
        collective = search.collective
        collections = collective.done(best, after) if collective and best.steps else ()
        return Constants(
            best.program, best.steps, best.value, after, collections, bench.detections + 1,
            self.stopped,
        )  # fmt: skip

    # Phases

    def _planned(self, remove: Remove) -> list[Phase]:
        """All phases, the quick ones first."""
        search = self._search
        first = self._entirely if remove == "entirely" else self._small_tree
        phases = [Phase(first, quick=True)]
        for number, choice in enumerate(CHOICES):
            phases.append(Phase(partial(self._columns, choice), quick=number == 0))
        orders = ORDERS[: search.bench.budget.orders]
        phases += [Phase(partial(self._greedy, order)) for order in orders]
        return [*phases, Phase(self._best_first), Phase(self._undo)]

    def _entirely(self) -> bool:
        goal, audit = self._search.bench.goal, self._start.audit
        self._start = entirely(self._search, self._start, _denied(goal, audit))
        if self._start.clean:
            self._search.accept(self._start)
        return self._start.clean

    def _small_tree(self) -> bool:
        return repair_small_tree(self._search, self._start)

    def _columns(self, choice: Choice) -> bool:
        replace_columns(self._search, self._start, choice)
        return False

    def _greedy(self, order: Order) -> bool:
        self._search.greedy(order, self._start)
        return False

    def _best_first(self) -> bool:
        self._search.best_first(self._start)
        return False

    def _undo(self) -> bool:
        self._search.without_unneeded_steps(self._start.steps)
        return False


@dataclass(frozen=True, slots=True)
class Phase:
    """A phase of the search.

    Attributes
    ----------
    run : does it; returns whether no better program exists, so that no other phase is needed.
    quick : whether its cost grows with the number of columns, not with the size of the program.
    """

    run: Callable[[], bool]
    quick: bool = False


def _has_targets(goal: Goal, start: Examined) -> bool:
    """Whether anything must go. Levels of collections above epsilon count if everything does."""
    return not start.clean if goal.everything else bool(goal.targets(start.audit))


def _removed(start: Examined) -> Removed:
    """The violation that stands for all of them, if one constant replaces the program."""
    found = start.violations or start.columns
    return RemovedViolation.of(found[0]) if found else RemovedCollections(start.collections)


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
