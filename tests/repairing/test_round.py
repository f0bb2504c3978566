"""One round: what is made in which order, and what is said of the rest."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.repairing import round as rounds
from proxyuse.repairing.candidate import Candidate
from proxyuse.repairing.portfolio import _FoldScores
from proxyuse.repairing.quality import Quality
from proxyuse.repairing.recipes.drop import Drop
from proxyuse.repairing.recipes.recipe import Recipe
from proxyuse.repairing.selection import NO_TIME, TOO_MANY, WORSE_ON_FIRST_FOLD
from proxyuse.repairing.utility import Measure
from tests.portfolio_cases import DATA, OPTIONS, VALIDATION, fitted

NAMES = ("age", "rooms", "garden")


def recipes(*names: str) -> list[Recipe]:
    return [Recipe((Drop((name,)),)) for name in names]


def test_a_model_that_uses_other_columns_instead_is_trained_without_them_as_well() -> None:
    """`house` is a copy of `rooms` with errors. The stump reads it only without `rooms`."""
    rng = np.random.default_rng(0)
    shuffled = rng.permutation(DATA["rooms"])
    data = DATA.assign(house=np.where(rng.random(len(DATA)) < 0.1, shuffled, DATA["rooms"]))
    columns, large = ["rooms", "house", "age"], data["rooms"] >= 5
    stump = DecisionTreeClassifier(max_depth=1, random_state=0).fit(data[columns], large)
    assert pu.translate(stump).variables == ("rooms",)
    validation = data[columns], large
    repair = pu.repair(stump, data, large, validation=validation, methods=("drop",), **OPTIONS)
    made = [known for known in repair.candidates if known.methods[:1] == ("drop",)]
    chain, (first,) = made[0], [known for known in made if known.columns == ("rooms",)]
    assert chain.columns == ("rooms", "house")
    assert (chain.methods, chain.remaining, chain.replaced) == (("drop",), 0, 0)
    assert first.methods == ("drop", "constants")  # it read `house`
    assert first.remaining == 0


def test_recipes_beyond_the_largest_number_are_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rounds, "MOST_RECIPES", 1)
    repair = pu.repair(
        fitted("tree"), DATA, "paid", validation=VALIDATION, methods=("drop", "coarsen"), **OPTIONS
    )
    left_out = [known for known in repair.candidates if known.rejected == TOO_MANY]
    assert left_out
    for known in left_out:
        assert (known.remaining, known.quality, known.chosen) == (None, None, False)


def test_what_there_was_no_time_for_is_listed() -> None:
    options = {**OPTIONS, "seconds": 0.001}
    repair = pu.repair(fitted("tree"), DATA, "paid", validation=VALIDATION, **options)
    original, constants, *others = repair.candidates
    assert original.methods == ()
    assert constants.chosen
    assert others
    assert {known.rejected for known in others} == {NO_TIME}


def test_a_search_goes_on_although_its_quick_result_is_better_than_the_original() -> None:
    """On these answers, quick constants are always right. Numbers are fitted again, too."""
    options = {**OPTIONS, "seconds": 60}
    quick = pu.repair(
        fitted("tree"), DATA, "paid", validation=VALIDATION, methods=("constants",), **options
    )
    rows = VALIDATION[0]
    repair = pu.repair(
        fitted("tree"), DATA, "paid", validation=(rows, quick.model.predict(rows)),
        methods=("constants", "refit"), **options,
    )  # fmt: skip
    original, constants, refitted = repair.candidates
    assert original.quality is not None
    assert constants.quality is not None
    assert original.quality.utility < constants.quality.utility == 1
    assert "refit" in refitted.methods


# Folds


def candidate(wrong: int, seconds: float = 1.0) -> Candidate:
    """A candidate that is wrong in some of 100 rows of the first fold."""
    losses = (np.arange(100) < wrong).astype(float)
    quality = Quality(
        Measure.ACCURACY, 1 - losses.mean(), 0.0, None, None, None, {}, losses, None,
        (losses.mean() - losses) / 100, None, np.ones(100), np.zeros(100),
    )  # fmt: skip
    return Candidate(("drop",), (), 0, 0.0, 0, quality, seconds)


def promising(candidates: Sequence[Candidate], seconds: float) -> tuple[set[str], set[str]]:
    """The columns of the recipes that other folds repeat, and of those that they do not."""
    scores, known = _FoldScores(), recipes(*NAMES)
    found: Any = {(recipe, False): made for recipe, made in zip(known, candidates, strict=True)}
    reference = candidate(0).quality
    assert reference is not None
    scores.add(reference, found)
    scores.keep_promising(seconds)
    assert {made.rejected for made in scores.rejected.values()} <= {WORSE_ON_FIRST_FOLD}
    kept = {recipe.columns[0] for recipe in scores.recipes}
    return kept, {recipe.columns[0] for recipe in scores.rejected}


def test_clearly_worse_candidates_are_not_repeated() -> None:
    near = candidate(11), candidate(10), candidate(40)
    assert promising(near, seconds=100) == ({"age", "rooms"}, {"garden"})


def test_only_as_many_candidates_are_repeated_as_there_is_time_for() -> None:
    made = [candidate(11, 3.0), candidate(10, 4.0), candidate(12, 3.0)]
    assert promising(made, seconds=7.5) == ({"age", "rooms"}, {"garden"})
    assert promising(made, seconds=1.0) == ({"rooms"}, {"age", "garden"})
    slow = [made[0], replace(made[1], seconds=6.0), replace(made[2], seconds=1.0)]
    assert promising(slow, seconds=7.5) == ({"rooms", "garden"}, {"age"})
