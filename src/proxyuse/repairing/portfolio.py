"""The candidates of a repair: every method, each ended by constants, scored on other rows.

With validation rows, one `Round` trains every model on all rows of the repair and scores it on
those. Without them, folds score: in each fold, a round trains and repairs every model on the other
folds, the original included, and only the chosen one is trained on all rows.

The first fold tries everything. The others repeat what may still be chosen, as far as there is
time: candidates that are clearly less useful on the first fold are dropped, and so are the least
useful of the others if all of them would take too long.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from proxyuse.detect.progress import WorkEnded
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const
from proxyuse.repairing.building import Builder, Draft
from proxyuse.repairing.candidate import REFIT, Built, Candidate
from proxyuse.repairing.folds import folds
from proxyuse.repairing.problem import Problem, ScoredRows
from proxyuse.repairing.quality import Quality, paired_difference, pooled
from proxyuse.repairing.recipes.recipe import Recipe
from proxyuse.repairing.recipes.training import CannotFit
from proxyuse.repairing.round import QUICK_SHARE, Key, Round
from proxyuse.repairing.selection import (
    NO_TIME,
    NOT_TRAINED,
    WORSE_ON_FIRST_FOLD,
    chosen,
)
from proxyuse.repairing.timer import Timer
from proxyuse.request import engine_for
from proxyuse.settings import Select

FIRST_FOLD_SHARE = 0.5
"""The share of the remaining time for the first fold, which decides what the others compare."""
RESERVE = 0.3
"""The share of the time after the first fold that is kept for the chosen model."""
CLEARLY = 2.0
"""The standard errors by which a candidate must be worse on the first fold to be dropped."""


@dataclass(slots=True)
class Outcome:
    """The candidates of a repair.

    Attributes
    ----------
    reference : the quality of the original model; None if nothing was scored.
    folds : the number of folds that scored; 0 without folds.
    excluded : the candidates that cannot be chosen, with the reasons.
    candidates : each with its quality.
    builts : the model of each candidate; None if it was not trained on all rows.
    recipes : the recipe of each candidate; None for the original model.
    interrupted : whether the work was interrupted.
    """

    reference: Quality | None = None
    folds: int = 0
    excluded: dict[int, str] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)
    builts: list[Built | None] = field(default_factory=list)
    recipes: list[Recipe | None] = field(default_factory=list)
    interrupted: bool = False

    def add(self, candidate: Candidate, built: Built | None, recipe: Recipe | None) -> None:
        """Add a candidate."""
        self.candidates.append(candidate)
        self.builts.append(built)
        self.recipes.append(recipe)

    def add_rejected(self, rejected: Mapping[Recipe, Candidate]) -> None:
        """Add the recipes that have no candidate, with the reasons."""
        for recipe, candidate in rejected.items():
            self.excluded[len(self.candidates)] = candidate.rejected
            self.add(candidate, None, recipe)

    @property
    def keys(self) -> list[Key]:
        """How each candidate was made."""
        pairs = zip(self.recipes, self.candidates, strict=True)
        return [(recipe, REFIT in candidate.methods) for recipe, candidate in pairs]

    @property
    def choices(self) -> list[int]:
        """The candidates that can be chosen."""
        return [i for i, c in enumerate(self.candidates) if c.clean and i not in self.excluded]


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

    def unscored(self) -> Outcome:
        """Constants on the original model."""
        outcome = Outcome()
        self._improve(outcome, self._original())
        return outcome

    def validated(self, rows: ScoredRows) -> Outcome:
        """Train every candidate on all rows of the problem, and score it on other rows."""
        reference = rows.quality(self.problem.model)
        outcome = Outcome(reference)
        candidates = Round(self.problem, rows, self.builder, self.timer)
        try:
            candidates.run(self._original(), reference.better, self.recipes, extends=True)
        except KeyboardInterrupt:
            if not candidates.scored:
                raise
            outcome.interrupted = True
        for built, quality in candidates.scored.values():
            outcome.add(built.candidate.measured(quality, reference), built, built.recipe)
        outcome.add_rejected(candidates.rejected)
        return outcome

    def _original(self) -> Draft:
        return self.builder.draft(self.problem, None, self.timer)

    def _improve(self, outcome: Outcome, original: Draft) -> None:
        """Go on with the constants on the original model, and with fitting its numbers again."""
        known = {key: i for i, key in enumerate(outcome.keys) if key[0] is None}
        try:
            for built in self.builder.built(original, self.timer):
                if built.key in known:
                    index = known[built.key]
                    outcome.candidates[index] = built.candidate.scored_as(outcome.candidates[index])
                    outcome.builts[index] = built
                else:
                    outcome.add(built.candidate, built, None)
        except KeyboardInterrupt:
            if not outcome.builts:
                raise
            outcome.interrupted = True

    # Folds

    def cross_validated(self, cv: int, select: Select) -> Outcome:
        """Score every recipe on folds, and train the best one on all rows."""
        outcome, original = Outcome(), self._original()
        scores = _FoldScores()
        try:
            first = self.builder.quick(original, self.timer.share(QUICK_SHARE))
            outcome.add(first.candidate, first, None)
            if first.constants.stopped == "interrupt":
                raise KeyboardInterrupt
            self._score(scores, cv)
            if scores.references:
                self._finish(outcome, scores, select, original)
            else:
                self._improve(outcome, original)
                outcome.add_rejected(scores.rejected)
        except KeyboardInterrupt:
            if not outcome.builts:
                raise
            outcome.interrupted = True
            for index, built in enumerate(outcome.builts):
                if built is None:
                    outcome.excluded.setdefault(index, NOT_TRAINED)
        return outcome

    def _score(self, scores: _FoldScores, cv: int) -> None:
        """Score the candidates on as many folds as there is time for."""
        for number, inside in enumerate(self._folds(cv), 1):
            if number == 1:
                limit = self.timer.share(FIRST_FOLD_SHARE)
            else:
                limit = self.timer.share((1 - RESERVE) / (cv - number + 1))
            if not self._score_fold(scores, inside, limit):
                return
            if number == 1:
                scores.keep_promising((1 - RESERVE) * self.timer.left / (cv - 1))

    def _folds(self, cv: int) -> Iterator[Array]:
        request = self.problem.request
        engine = engine_for(request, request.subject.program, self.problem.clock)
        return folds(engine.sample, cv, self.problem.ranks)

    def _score_fold(self, scores: _FoldScores, inside: Array, timer: Timer) -> bool:
        """Train and repair every model on the other folds; False if there was no time for all."""
        first = not scores.references
        recipes = self.recipes if first else scores.recipes
        problem, rows = self.problem.on(~inside), self.problem.scored_on(inside)
        try:
            model = self.builder.trained(problem, None)
        except CannotFit:
            return False
        reference = rows.quality(model)
        original = None
        if first or scores.has_original:
            try:
                original = self.builder.draft(problem, None, timer, model)
            except (CannotFit, WorkEnded):
                return False
        candidates = Round(problem, rows, self.builder, timer)
        candidates.run(original, reference.better, recipes, extends=first)
        if first:
            scores.rejected = candidates.rejected
        elif not scores.wanted <= candidates.scored.keys():
            return False
        scores.add(
            reference,
            {
                key: built.candidate.measured(quality, reference)
                for key, (built, quality) in candidates.scored.items()
            },
        )
        return True

    def _finish(
        self, outcome: Outcome, scores: _FoldScores, select: Select, original: Draft
    ) -> None:
        """Give the candidates their scores, and train the best one on all rows."""
        outcome.reference, outcome.folds = pooled(scores.references), len(scores.references)
        ready = {built.key: built for built in outcome.builts if built is not None}
        outcome.candidates, outcome.builts, outcome.recipes = [], [], []
        for (recipe, refitted), candidate in scores.pooled(outcome.reference).items():
            built = ready.pop((recipe, refitted), None)
            if built is not None:
                candidate = built.candidate.scored_as(candidate)
            outcome.add(candidate, built, recipe)
        for (recipe, _), built in ready.items():
            outcome.add(built.candidate.because(WORSE_ON_FIRST_FOLD), built, recipe)
        outcome.add_rejected(scores.rejected)
        while True:
            index = chosen(outcome.candidates, select, outcome.excluded)
            if outcome.recipes[index] is None:
                self._improve(outcome, original)
            else:
                self._train(outcome, index)
            if outcome.builts[index] is not None and not self._gave_up(outcome, index):
                return
            outcome.excluded[index] = NOT_TRAINED if outcome.builts[index] is None else NO_TIME
            if not outcome.choices:  # then a constant is the best that there was time for
                outcome.excluded = {
                    i: reason
                    for i, reason in outcome.excluded.items()
                    if reason != NO_TIME or outcome.builts[i] is None
                }
                return

    def _train(self, outcome: Outcome, index: int) -> None:
        """Train a candidate on all rows, if that is possible."""
        key = outcome.keys[index]
        try:
            draft = self.builder.draft(self.problem, key[0], Timer(None))
        except CannotFit:
            return
        for built in self.builder.built(draft, self.timer):
            if built.key == key:
                outcome.builts[index] = built
                outcome.candidates[index] = built.candidate.scored_as(outcome.candidates[index])

    def _gave_up(self, outcome: Outcome, index: int) -> bool:
        """Whether there was no time to find more than a constant, and another one can be tried.

        A candidate that was not measured is none: nobody knows whether it is better.
        """
        built = outcome.builts[index]
        assert built is not None
        others = [i for i in outcome.choices if i != index and outcome.candidates[i].quality]
        is_constant = isinstance(built.constants.program.term, Const)
        return bool(others) and is_constant and built.constants.stopped == "deadline"


@dataclass(slots=True)
class _FoldScores:
    """The candidates on each fold, by recipe and whether they were refitted.

    Attributes
    ----------
    references : the quality of the original model on each fold.
    rejected : the recipes without a candidate, each with the reason.
    """

    references: list[Quality] = field(default_factory=list)
    rejected: dict[Recipe, Candidate] = field(default_factory=dict)
    _found: dict[Key, list[Candidate]] = field(default_factory=dict)

    @property
    def recipes(self) -> list[Recipe]:
        """The recipes that every fold had so far."""
        recipes = dict.fromkeys(recipe for recipe, _ in self._found)
        return [recipe for recipe in recipes if recipe is not None]

    @property
    def has_original(self) -> bool:
        """Whether constants on the original model may still be chosen."""
        return any(recipe is None for recipe, _ in self._found)

    @property
    def wanted(self) -> set[Key]:
        """What another fold must have: every recipe, refitted or not."""
        return {(recipe, False) for recipe, _ in self._found}

    def add(self, reference: Quality, found: dict[Key, Candidate]) -> None:
        """Add a fold. Candidates that it lacks are dropped."""
        if not self.references:
            self._found = {key: [] for key in found}
        self.references.append(reference)
        self._found = {
            key: [*known, found[key]] for key, known in self._found.items() if key in found
        }

    def keep_promising(self, seconds: float) -> None:
        """Drop candidates after the first fold, so that each other fold takes that long.

        Those that are clearly less useful than the best go first; then the least useful ones.
        """
        best_of: dict[Recipe | None, Candidate] = {}
        for (recipe, _), (candidate,) in self._found.items():
            if recipe not in best_of or _better(candidate) > _better(best_of[recipe]):
                best_of[recipe] = candidate
        cost = {
            recipe: max(known[0].seconds for key, known in self._found.items() if key[0] == recipe)
            for recipe in best_of
        }
        ranked = sorted(best_of, key=lambda recipe: -_better(best_of[recipe]))
        kept: set[Recipe | None] = set()
        spent = 0.0
        for recipe in ranked:
            if kept and _is_worse(best_of[recipe], best_of[ranked[0]]):
                continue
            if kept and spent + cost[recipe] > seconds:
                continue
            kept.add(recipe)
            spent += cost[recipe]
        for recipe in set(ranked) - kept:
            if recipe is not None:
                self.rejected[recipe] = Candidate.of_recipe(
                    recipe, WORSE_ON_FIRST_FOLD, cost[recipe]
                )
        self._found = {key: known for key, known in self._found.items() if key[0] in kept}

    def pooled(self, reference: Quality) -> dict[Key, Candidate]:
        """The candidates with their quality over all folds."""
        return {key: known[0].over_folds(known, reference) for key, known in self._found.items()}


def _better(candidate: Candidate) -> float:
    assert candidate.quality is not None
    return candidate.quality.better


def _is_worse(candidate: Candidate, best: Candidate) -> bool:
    """Whether a candidate is clearly less useful than the best on the same rows."""
    assert candidate.quality is not None
    assert best.quality is not None
    difference = paired_difference(best.quality, candidate.quality)
    return difference.mean > CLEARLY * difference.error  # false if there is no error
