import pickle

import pytest

from proxyuse.models.registry import translate
from proxyuse.program import Program
from proxyuse.repairing.recipes.constrain import Constrain
from proxyuse.repairing.recipes.drop import Drop
from proxyuse.repairing.recipes.recipe import Recipe
from proxyuse.repairing.recipes.registry import extended, recipes_for
from proxyuse.repairing.recipes.reweigh import Reweigh
from proxyuse.repairing.recipes.training import CannotFit
from tests.recipe_cases import NMI
from tests.repaired_cases import (
    CASES,
    PROTECTED,
    fitted,
)


class Violation:
    def __init__(self, text):
        self.expression = Program.parse(text).term


ROOMS = Violation("rooms >= 2")
BOTH = Violation("ite(days >= 3, ite(decades >= 4, 1, 0), 0)")


def listed(model, *violations, **options):
    return recipes_for(
        model, violations, attributes=["married"], epsilon=0.1, association=NMI, **options
    )


def test_recipes_come_cheapest_first():
    recipes = listed(fitted("tree"), ROOMS, BOTH)
    assert [recipe.columns for recipe in recipes if recipe.method == "drop"] == [
        ("rooms", "days"),
        ("rooms", "decades"),
        ("rooms",),
        ("rooms", "days", "decades"),
    ]
    assert [recipe.method for recipe in recipes[:4]] == [
        "drop",
        "coarsen",
        "reweigh",
        "drop + reweigh",
    ]
    assert len(set(recipes)) == len(recipes)


def test_every_drop_comes_with_and_without_weights():
    recipes = listed(fitted("tree"), ROOMS, BOTH)
    drops = {recipe.columns for recipe in recipes if recipe.method == "drop"}
    assert drops == {recipe.columns for recipe in recipes if recipe.method == "drop + reweigh"}


def test_only_possible_recipes_are_listed():
    assert listed(fitted("frozen"), ROOMS) == []
    assert listed(fitted("tree")) == []
    methods = {m for recipe in listed(fitted("discriminant"), ROOMS) for m in recipe.methods}
    assert methods == {"drop", "coarsen"}
    methods = {m for recipe in listed(fitted("histograms"), ROOMS, BOTH) for m in recipe.methods}
    assert methods == {"drop", "reweigh", "constrain", "coarsen"}
    chosen = listed(fitted("histograms"), ROOMS, BOTH, methods=("constrain",))
    assert [recipe.parts for recipe in chosen] == [(Constrain((("days", "decades"),)),)]


@pytest.mark.parametrize(
    "name", ["tree", "forest", "histograms", "logistic", "pipeline, tree", "pipeline, searched"]
)
def test_every_listed_recipe_fits_or_does_not_apply(name):
    case, model = CASES[name], fitted(name)
    before = pickle.dumps(model)
    applied = 0
    for recipe in listed(model, ROOMS, BOTH):
        try:
            new = recipe.fitted(model, case.X, case.y, None, PROTECTED)
        except CannotFit:
            continue
        applied += 1
        assert type(new) is type(model)
        if "drop" in recipe.methods:
            assert not set(recipe.columns) & set(translate(new).variables)
    assert applied >= 5
    assert pickle.dumps(model) == before


def test_a_recipe_is_extended_by_what_the_new_model_uses():
    recipe = Recipe((Drop(("rooms",)), Reweigh("married")))
    assert extended(recipe, [BOTH]) == [
        Recipe((Drop(("rooms", "days")), Reweigh("married"))),
        Recipe((Drop(("rooms", "decades")), Reweigh("married"))),
    ]
    assert extended(recipe, []) == []
    assert extended(Recipe((Reweigh("married"),)), [BOTH]) == []
