"""The candidates of a repair: every method, each ended by constants, scored on other rows.

1. **Constants** on the original model, always first. From then on there is a clean model, and it is
   never given up.
2. **Recipes** train the model again in another way; see `recipes`. Their models have proxies of
   their own, so constants follow. Columns that such a model uses instead give further recipes.
3. **Refit** fits the numbers that constants left, and constants follow once more.

With validation rows, every model is trained on all rows of the repair and scored on those. Without
them, folds score: in each fold, every model is trained and repaired on the other folds, the
original included, and only the chosen one is trained on all rows.

The time is divided: no step may take more than its share of what is left. Candidates that did not
get their turn are not listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from proxyuse.lang.evaluate import Array
from proxyuse.repairing.building import Builder, Draft
from proxyuse.repairing.candidate import REFIT, Built, Candidate
from proxyuse.repairing.folds import folds
from proxyuse.repairing.problem import Problem, ScoredRows
from proxyuse.repairing.quality import Quality, pooled
from proxyuse.repairing.recipes.recipe import Recipe
from proxyuse.repairing.recipes.registry import extended
from proxyuse.repairing.selection import chosen
from proxyuse.repairing.timer import Timer
from proxyuse.request import engine_for
from proxyuse.settings import Select

FLOOR_SHARE = 0.4
"""The share of the time for constants on the original model, if other methods follow."""
RECIPE_SHARE = 0.3
"""The share of the remaining time that one recipe may take."""
RESERVE = 0.3
"""The share of the time that is kept for the chosen model, after folds."""
FIRST_FOLD_SHARE = 0.3
"""The share of the remaining time for the first fold, which decides what the others compare."""
MOST_RECIPES = 24
"""The largest number of recipes, with those that follow from others."""


@dataclass(slots=True)
class Outcome:
    """The candidates of a repair.

    Attributes
    ----------
    candidates : each with its quality.
    builts : the model of each candidate; None if it was trained on folds only.
    recipes : the recipe of each candidate; None for the original model.
    reference : the quality of the original model; None if nothing was scored.
    folds : the number of folds that scored; 0 without folds.
    failed : the candidates that could not be trained on all rows.
    interrupted : whether the work was interrupted.
    """

    reference: Quality | None = None
    folds: int = 0
    failed: set[int] = field(default_factory=set)
    candidates: list[Candidate] = field(default_factory=list)
    builts: list[Built | None] = field(default_factory=list)
    recipes: list[Recipe | None] = field(default_factory=list)
    interrupted: bool = False

    def add(self, candidate: Candidate, built: Built | None, recipe: Recipe | None) -> None:
        """Add a candidate."""
        self.candidates.append(candidate)
        self.builts.append(built)
        self.recipes.append(recipe)


@dataclass(frozen=True, slots=True)
class Portfolio:
    """How the candidates of one problem are made.

    Attributes
    ----------
    problem : the model and the rows.
    recipes : how the model can be trained again, the most promising first.
    builder : builds candidates.
    timer : the time for all of it.
    """

    problem: Problem
    recipes: Sequence[Recipe]
    builder: Builder
    timer: Timer

    def unscored(self, share: float = 1.0) -> Outcome:
        """Constants on the original model, within a share of the time."""
        outcome = Outcome()
        try:
            for built in self.builder.built(self._original(self.problem), self.timer.share(share)):
                outcome.add(built.candidate, built, None)
        except KeyboardInterrupt:
            if not outcome.builts:
                raise
            outcome.interrupted = True
        return outcome

    def validated(self, rows: ScoredRows) -> Outcome:
        """Train every candidate on all rows of the problem, and score it on other rows."""
        reference = rows.quality(self.problem.model)
        outcome = Outcome(reference)
        try:
            for built, quality in self._measured(
                self._original(self.problem), rows, self.recipes, self.timer, extends=True
            ):
                candidate = built.candidate.measured(quality, reference)
                outcome.add(candidate, built, built.recipe)
        except KeyboardInterrupt:
            if not outcome.builts:
                raise
            outcome.interrupted = True
        return outcome

    def _original(self, problem: Problem) -> Draft:
        draft = self.builder.draft(problem, None)
        assert draft is not None
        return draft

    def _measured(
        self,
        original: Draft,
        rows: ScoredRows,
        recipes: Sequence[Recipe],
        timer: Timer,
        *,
        extends: bool,
    ) -> Iterator[tuple[Built, Quality]]:
        """Yield candidates while there is time: the original, clean models, then the others.

        Models that are not clean wait, the most useful first, because constants take time. With
        `extends`, what is wrong with a model leads to further recipes.
        """
        queue, waiting = list(recipes), []
        for built in self.builder.built(original, timer.share(FLOOR_SHARE if queue else 1.0)):
            yield built, rows.quality(built.deployed.model)
        for number, recipe in enumerate(queue):
            if timer.over or number == MOST_RECIPES:
                break
            draft = self.builder.draft(original.problem, recipe)
            if draft is None:
                continue
            if not draft.violations:
                for built in self.builder.built(draft, timer):
                    yield built, rows.quality(built.deployed.model)
                continue
            waiting.append((rows.quality(draft.model).better, draft))
            if extends:
                more = extended(recipe, draft.violations)
                queue += [other for other in more if other not in queue]
        for _, draft in sorted(waiting, key=lambda pair: -pair[0]):
            if timer.over:
                return
            for built in self.builder.built(draft, timer.share(RECIPE_SHARE)):
                yield built, rows.quality(built.deployed.model)

    # Folds

    def cross_validated(self, cv: int, select: Select) -> Outcome:
        """Score every recipe on folds, and train the best one on all rows."""
        outcome = self.unscored(FLOOR_SHARE)
        if outcome.interrupted:
            return outcome
        scores = _FoldScores(self.problem)
        try:
            for inside in self._folds(cv):
                if not self._score_fold(scores, inside):
                    break
            if scores.references:
                self._finish(outcome, scores, select)
        except KeyboardInterrupt:
            outcome.interrupted = True
            outcome.failed = {i for i, built in enumerate(outcome.builts) if built is None}
        return outcome

    def _folds(self, cv: int) -> Iterator[Array]:
        request = self.problem.request
        engine = engine_for(request, request.subject.program, self.problem.clock)
        return folds(engine.sample, cv, self.problem.ranks)

    def _score_fold(self, scores: _FoldScores, inside: Array) -> bool:
        """Train and repair every model on the other folds; False if there was no time for all."""
        first = not scores.references
        limit = self.timer.share(FIRST_FOLD_SHARE if first else 1 - RESERVE)
        rows = self.problem.scored_on(inside)
        original = self.builder.draft(self.problem.on(~inside), None)
        if original is None:
            return False
        reference = rows.quality(original.model)
        recipes = self.recipes if first else scores.alive
        found = {
            built.key: built.candidate.measured(quality, reference)
            for built, quality in self._measured(original, rows, recipes, limit, extends=first)
        }
        if not first and not {(recipe, False) for recipe in recipes} <= found.keys():
            return False
        scores.add(reference, found)
        return True

    def _finish(self, outcome: Outcome, scores: _FoldScores, select: Select) -> None:
        """Give the candidates their scores, and train the best one on all rows."""
        outcome.reference, outcome.folds = pooled(scores.references), len(scores.references)
        built_of = {built.key: built for built in outcome.builts if built is not None}
        pooled_scores = scores.pooled(outcome.reference)
        outcome.candidates, outcome.builts, outcome.recipes = [], [], []
        for (recipe, refitted), candidate in pooled_scores.items():
            built = built_of.pop((recipe, refitted), None)
            if built is not None:
                candidate = built.candidate.scored_as(candidate)
            outcome.add(candidate, built, recipe)
        for (recipe, _), built in built_of.items():
            outcome.add(built.candidate, built, recipe)
        while True:
            index = chosen(outcome.candidates, select, outcome.failed)
            if outcome.builts[index] is not None:
                return
            recipe, methods = outcome.recipes[index], outcome.candidates[index].methods
            draft = self.builder.draft(self.problem, recipe)
            for built in () if draft is None else self.builder.built(draft, self.timer):
                if built.key == (recipe, REFIT in methods):
                    outcome.builts[index] = built
                    outcome.candidates[index] = built.candidate.scored_as(outcome.candidates[index])
            if outcome.builts[index] is None:
                outcome.failed.add(index)


class _FoldScores:
    """The candidates on each fold, by recipe and whether they were refitted."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.references: list[Quality] = []
        self._found: dict[tuple[Recipe | None, bool], list[Candidate]] = {}

    @property
    def alive(self) -> list[Recipe]:
        """The recipes that every fold had so far."""
        recipes = dict.fromkeys(recipe for recipe, _ in self._found)
        return [recipe for recipe in recipes if recipe is not None]

    def add(self, reference: Quality, found: dict[tuple[Recipe | None, bool], Candidate]) -> None:
        """Add a fold. Candidates that it lacks are dropped."""
        if not self.references:
            self._found = {key: [] for key in found}
        self.references.append(reference)
        self._found = {
            key: [*known, found[key]] for key, known in self._found.items() if key in found
        }

    def pooled(self, reference: Quality) -> dict[tuple[Recipe | None, bool], Candidate]:
        """The candidates with their quality over all folds."""
        return {key: known[0].over_folds(known, reference) for key, known in self._found.items()}
