"""One round of a repair: candidates trained on some rows, and scored on others.

The work is ordered so that whatever the time, the result is the best that it allows:

1. Quick constants on the original model. From then on there is a clean model.
2. Models trained again, one by one, each with an audit. This is cheap: a fit and an audit. Those
   that are clean are candidates as they are. The others wait for constants. If a model that was
   trained without some columns uses others instead, the next one is trained without these as well,
   so the chain ends with a clean model, or without columns.
3. Constants, which take longer: on the original model, which needs the fewest changes, and on those
   that wait, the most useful first. In a limited time, a model that is less useful than the best
   candidate even before constants is left out. Then the numbers that constants left are fitted
   again.

What did not get its turn is listed with the reason.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from proxyuse.detect.progress import WorkEnded
from proxyuse.repairing.building import Builder, Draft
from proxyuse.repairing.candidate import Built, Candidate
from proxyuse.repairing.problem import Problem, ScoredRows
from proxyuse.repairing.quality import Quality
from proxyuse.repairing.recipes.recipe import Recipe
from proxyuse.repairing.recipes.registry import extended
from proxyuse.repairing.recipes.training import CannotFit
from proxyuse.repairing.selection import NO_TIME, NOT_PROMISING, TOO_MANY
from proxyuse.repairing.timer import Timer

QUICK_SHARE = 0.2
"""The share of the time for quick constants on the original model, if other methods follow."""
TRAINING_SHARE = 0.5
"""The share of the time that is left then for training models again, before their constants."""
LEAST_SHARE = 0.05
"""The share of the time for all constants that is too little to go on with one search."""
MOST_RECIPES = 24
"""The largest number of recipes, with those that follow from others."""

Key: TypeAlias = tuple[Recipe | None, bool]
"""How a candidate was made: its recipe, None for the original, and whether it was refitted."""


@dataclass(slots=True)
class Round:
    """Candidates trained on the rows of a problem, each scored on other rows.

    Attributes
    ----------
    problem : the model, and the rows that train.
    rows : the rows that score.
    builder : builds candidates.
    timer : the time for all of it.
    scored : the candidates with their quality.
    rejected : the recipes without a candidate, each with the reason as a candidate.
    """

    problem: Problem
    rows: ScoredRows
    builder: Builder
    timer: Timer
    scored: dict[Key, tuple[Built, Quality]] = field(default_factory=dict)
    rejected: dict[Recipe, Candidate] = field(default_factory=dict)

    def run(
        self, original: Draft | None, potential: float, recipes: Sequence[Recipe], *, extends: bool
    ) -> None:
        """Make the candidates.

        Parameters
        ----------
        original : the original model; None if it is not repaired in this round.
        potential : its utility before constants, where larger is better.
        recipes : how the model can be trained again, the most promising first.
        extends : whether what is wrong with a new model leads to further recipes.
        """
        waiting: list[tuple[float, Draft]] = []
        if original is not None:
            quick = self.timer.share(QUICK_SHARE if recipes else 1.0)
            self._score(self.builder.quick(original, quick))
            waiting.append((potential, original))
        trained = self._trained(deque(recipes), extends)
        self._repair([*waiting, *sorted(trained, key=lambda pair: -pair[0])])

    def _trained(self, queue: deque[Recipe], extends: bool) -> list[tuple[float, Draft]]:
        """Train models again; return those that need constants, with their utility before."""
        timer, waiting = self.timer.share(TRAINING_SHARE), []
        listed, number = set(queue), 0
        while queue:
            recipe = queue.popleft()
            number += 1
            if timer.over or number > MOST_RECIPES:
                self._reject(recipe, NO_TIME if timer.over else TOO_MANY)
                continue
            try:
                draft = self.builder.draft(self.problem, recipe, timer)
            except CannotFit as error:
                self._reject(recipe, str(error))
                continue
            except WorkEnded:
                self._reject(recipe, NO_TIME)
                continue
            if not draft.violations:
                self._build(draft, timer)
                continue
            waiting.append((self.rows.quality(draft.model).better, draft))
            if extends:
                more = [r for r in extended(recipe, draft.violations) if r not in listed]
                listed.update(more)
                queue.extendleft(more[:1])  # the most promising one next: it leads to a clean model
                queue.extend(more[1:])
        return waiting

    def _repair(self, waiting: Sequence[tuple[float, Draft]]) -> None:
        """Repair models by constants, in the order of their promise.

        Each gets half of the time that is left. What the later ones do not need goes to the first
        ones again, whose search goes on.
        """
        least = LEAST_SHARE * self.timer.left if self.timer.limited else 0.0
        while waiting:
            paused: list[tuple[float, Draft]] = []
            for number, (potential, draft) in enumerate(waiting):
                begun = draft.removal is not None
                if self.timer.left <= (least if begun else 0):
                    if not begun:
                        self._reject(draft.recipe, NO_TIME, draft.seconds)
                elif self.timer.limited and not begun and potential < self._best:
                    self._reject(draft.recipe, NOT_PROMISING, draft.seconds)
                else:
                    last = number == len(waiting) - 1 and not paused
                    self._build(draft, self.timer.share(1.0 if last else 0.5))
                    if draft.removal is not None and not draft.removal.finished:
                        paused.append((potential, draft))
            waiting = paused

    def _build(self, draft: Draft, timer: Timer) -> None:
        for built in self.builder.built(draft, timer):
            self._score(built)

    def _score(self, built: Built) -> None:
        self.scored[built.key] = built, self.rows.quality(built.deployed.model)

    @property
    def _best(self) -> float:
        """The utility of the best candidate so far."""
        values = (quality.better for _, quality in self.scored.values())
        return max(values, default=float("-inf"))

    def _reject(self, recipe: Recipe | None, reason: str, seconds: float = 0.0) -> None:
        """Note why a recipe has no candidate. The original model always has one."""
        if recipe is not None:
            self.rejected[recipe] = Candidate.of_recipe(recipe, reason, seconds)
