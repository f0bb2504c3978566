import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from proxyuse.repairing.recipes.fitting import training_of
from proxyuse.repairing.recipes.recipe import Recipe
from proxyuse.repairing.recipes.reweigh import Reweigh, independent_weights, target_groups
from proxyuse.repairing.recipes.training import CannotFit
from tests.recipe_cases import tree
from tests.repaired_cases import (
    CODES,
    MARRIED,
    NUMBER,
    NUMBERS,
    THREE,
    TWO,
    fitted,
)


@given(
    arrays(np.int64, 40, elements=st.integers(0, 2)),
    arrays(np.int64, 40, elements=st.integers(0, 1)),
    arrays(np.float64, 40, elements=st.floats(0.25, 4, width=16)),
)
def test_reweighed_rows_are_independent(y, z, weights):
    y[:6], z[:6] = [0, 1, 2, 0, 1, 2], [0, 0, 0, 1, 1, 1]  # every cell has rows
    new = weights * independent_weights(y, z, weights)
    total = new.sum()
    assert total == pytest.approx(weights.sum())
    for label in range(3):
        assert new[y == label].sum() == pytest.approx(weights[y == label].sum())
        for value in range(2):
            joint = new[(y == label) & (z == value)].sum() / total
            assert joint == pytest.approx(new[y == label].sum() * new[z == value].sum() / total**2)
    for value in range(2):
        assert new[z == value].sum() == pytest.approx(weights[z == value].sum())


def reweighed(model, X, y, z, weights=None):
    training = training_of(model, X, y, weights, {"z": z})
    (changed,) = Reweigh("z").variants(training)
    return changed.weights


def test_labels_of_any_type_are_reweighed():
    z = np.array(["married" if value else None for value in MARRIED], dtype=object)
    for y in (TWO, CODES, THREE, TWO == "yes"):
        model = tree(max_depth=2).fit(NUMBERS, y)
        weights = reweighed(model, NUMBERS, y, z)
        table = pd.crosstab(y, MARRIED, weights, aggfunc="sum").to_numpy()
        shares = table / table.sum()
        assert shares == pytest.approx(shares.sum(axis=1, keepdims=True) * shares.sum(axis=0))
        new = Recipe((Reweigh("z"),)).fitted(model, NUMBERS, y, None, {"z": z})
        assert new.tree_.weighted_n_node_samples[0] == pytest.approx(weights.sum())


def test_numbers_are_reweighed_in_groups():
    model = fitted("tree of numbers")
    weights = reweighed(model, NUMBERS, NUMBER, MARRIED)
    groups = target_groups(NUMBER, MARRIED, np.ones(120), labels=False)
    table = pd.crosstab(groups, MARRIED, weights, aggfunc="sum").to_numpy()
    shares = table / table.sum()
    assert len(table) > 1
    assert shares == pytest.approx(shares.sum(axis=1, keepdims=True) * shares.sum(axis=0))


def test_a_long_attribute_is_reweighed_in_16_groups():
    z = np.linspace(0, 1, 600)
    y = np.arange(600) % 2
    X = np.stack([z, y], axis=1)
    weights = reweighed(tree().fit(X, y), X, y, z)
    assert len(np.unique(weights.round(9))) <= 32
    assert weights == pytest.approx(np.ones(600), abs=0.2)


def test_reweighing_needs_the_attribute():
    with pytest.raises(CannotFit, match="'z' are not known"):
        Recipe((Reweigh("z"),)).fitted(fitted("tree"), NUMBERS, TWO)
