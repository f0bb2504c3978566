from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from proxyuse.measure.association.registry import association_from
from proxyuse.repairing.recipes.coarsen import Coarsen
from proxyuse.repairing.recipes.fitting import training_of
from proxyuse.repairing.recipes.recipe import Recipe
from proxyuse.repairing.recipes.training import CannotFit
from tests.recipe_cases import NMI, tree

RNG = np.random.default_rng(0)


def rows_after(recipe, model, X, y, protected, weights=None):
    (training,) = recipe.variants(training_of(model, X, y, weights, protected))
    return training.X


def association(test, z):
    codes = 2 * np.asarray(test).astype(int) + (np.asarray(z) == z[0])
    return NMI(np.bincount(codes, minlength=4).reshape(2, 2).astype(float))


AGES = RNG.integers(18, 80, 600).astype(float)
RETIRED = (AGES + RNG.normal(0, 5, 600) > 62).astype(int)
PEOPLE = pd.DataFrame({"age": AGES, "other": RNG.normal(size=600)})


@pytest.mark.parametrize("epsilon", [0.05, 0.1, 0.3])
def test_no_cut_of_a_coarsened_number_reaches_epsilon(epsilon):
    model = tree(max_depth=4).fit(PEOPLE, RETIRED)
    part = Coarsen(("age",), ("retired",), epsilon, NMI)
    before = max(association(t >= AGES, RETIRED) for t in set(AGES))
    rows = rows_after(part, model, PEOPLE, RETIRED, {"retired": RETIRED})
    assert before >= 0.3
    assert max(association(rows["age"] <= t, RETIRED) for t in set(rows["age"])) < epsilon
    assert rows["other"].equals(PEOPLE["other"])
    assert set(rows["age"]) <= set(AGES)
    kept = [t for t in sorted(set(AGES)) if association(t >= AGES, RETIRED) < epsilon]
    assert len(set(rows["age"])) > 1
    for t in kept:  # cuts that are allowed are the same as before
        assert np.array_equal(rows["age"] <= t, t >= AGES)


@pytest.mark.parametrize("keep", ["below", "above"])
def test_a_tree_on_rows_coarsened_on_one_side_has_no_forbidden_cut(keep):
    model = tree(min_samples_leaf=20).fit(PEOPLE, RETIRED)
    new = Recipe((Coarsen(("age",), ("retired",), 0.1, NMI, keep),)).fitted(
        model, PEOPLE, RETIRED, None, {"retired": RETIRED}
    )

    def cuts(fit):
        return fit.tree_.threshold[fit.tree_.feature == 0]

    assert max(association(t >= AGES, RETIRED) for t in cuts(model)) >= 0.1
    assert 0 < max(association(t >= AGES, RETIRED) for t in cuts(new)) < 0.1
    allowed = [t for t in set(AGES) if association(t >= AGES, RETIRED) < 0.1]
    middle = np.median(AGES)
    assert {min(allowed) < middle, max(allowed) > middle} == {True}
    assert all((t < 62) == (keep == "below") for t in cuts(new))


def test_missing_numbers_stay_missing():
    frame = PEOPLE.assign(age=PEOPLE["age"].mask(PEOPLE["other"] > 1.5))
    model = tree(max_depth=3).fit(frame, RETIRED)
    part = Coarsen(("age",), ("retired",), 0.1, NMI)
    rows = rows_after(part, model, frame, RETIRED, {"retired": RETIRED})
    assert rows["age"].isna().equals(frame["age"].isna())
    for t in rows["age"].dropna().unique():
        for missing in (False, True):
            test = (rows["age"] <= t) | (rows["age"].isna() & missing)
            assert association(test, RETIRED) < 0.1


ROLES = RNG.choice(["husband", "wife", "child", "other"], 600, p=[0.4, 0.1, 0.3, 0.2])
SEX = np.where(ROLES == "husband", "m", np.where(ROLES == "wife", "f", RNG.choice(["f", "m"], 600)))


@pytest.mark.parametrize("kind", [object, "str", "category"])
def test_no_test_of_a_coarsened_category_reaches_epsilon(kind):
    frame = pd.DataFrame({"role": ROLES, "other": RNG.normal(size=600)})
    frame["role"] = frame["role"].astype(kind)
    parts = [("words", OneHotEncoder(), ["role"]), ("other", "passthrough", ["other"])]
    model = make_pipeline(ColumnTransformer(parts), tree(max_depth=3)).fit(frame, SEX)
    part = Coarsen(("role",), ("sex",), 0.1, NMI)
    rows = rows_after(part, model, frame, SEX, {"sex": SEX})
    assert rows["role"].dtype == frame["role"].dtype
    assert max(association(role == ROLES, SEX) for role in set(ROLES)) >= 0.1
    assert max(association(rows["role"] == role, SEX) for role in set(ROLES)) < 0.1
    before, after = Counter(ROLES), Counter(rows["role"])
    assert set(after) == set(before)
    untouched = [role for role in before if np.array_equal(rows["role"] == role, role == ROLES)]
    assert untouched
    new = Recipe((part,)).fitted(model, frame, SEX, None, {"sex": SEX})
    assert new.predict(frame).shape == (600,)


def test_a_column_whose_values_would_all_be_merged_becomes_constant():
    frame = pd.DataFrame({"husband": (ROLES == "husband").astype(int), "role": ROLES})
    parts = [("words", OneHotEncoder(), ["role"])]
    pipeline = make_pipeline(ColumnTransformer(parts, remainder="passthrough"), tree(max_depth=3))
    model = pipeline.fit(frame, SEX)
    with pytest.raises(CannotFit, match="no value of husband can be merged"):
        rows_after(Coarsen(("husband",), ("sex",), 0.1, NMI), model, frame, SEX, {"sex": SEX})
    both = Coarsen(("husband", "role"), ("sex",), 0.1, NMI)
    rows = rows_after(both, model, frame, SEX, {"sex": SEX})
    assert set(rows["husband"]) == {0}
    assert not rows["role"].equals(frame["role"])
    assert max(association(rows["role"] == role, SEX) for role in set(ROLES)) < 0.1


def test_columns_without_a_forbidden_test_are_not_coarsened():
    model = tree(max_depth=3).fit(PEOPLE, RETIRED)
    protected = {"retired": RETIRED}
    with pytest.raises(CannotFit, match="no value of other can be merged"):
        rows_after(Coarsen(("other",), ("retired",), 0.1, NMI), model, PEOPLE, RETIRED, protected)
    both = rows_after(
        Coarsen(("other", "age"), ("retired",), 0.1, NMI), model, PEOPLE, RETIRED, protected
    )
    assert both["other"].equals(PEOPLE["other"])
    assert not both["age"].equals(PEOPLE["age"])
    with pytest.raises(CannotFit, match="values of sex are not known"):
        rows_after(Coarsen(("age",), ("sex",), 0.1, NMI), model, PEOPLE, RETIRED, protected)


@pytest.mark.parametrize("measure", ["cramers-v", "squared-correlation"])
def test_coarsening_uses_the_measure_of_the_audit(measure):
    model = tree(max_depth=4).fit(PEOPLE, RETIRED)
    part = Coarsen(("age",), ("retired",), 0.2, association_from(measure))
    rows = rows_after(part, model, PEOPLE, RETIRED, {"retired": RETIRED})
    for t in set(rows["age"]):
        correlation = np.corrcoef(rows["age"] <= t, RETIRED)[0, 1] if t < rows["age"].max() else 0.0
        value = abs(correlation) if measure == "cramers-v" else correlation**2
        assert value < 0.2


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000))
def test_coarsened_rows_of_any_data_have_no_forbidden_test(seed):
    random = np.random.default_rng(seed)
    x = random.integers(0, 30, 200).astype(float)
    z = (x + random.normal(0, random.uniform(1, 20), 200) > random.integers(0, 30)).astype(int)
    frame = pd.DataFrame({"x": x, "other": random.normal(size=200)})
    y = random.integers(0, 2, 200)
    model = tree(max_depth=1).fit(frame, y)
    try:
        rows = rows_after(Coarsen(("x",), ("z",), 0.15, NMI), model, frame, y, {"z": z})
    except CannotFit:
        return
    assert max(association(rows["x"] <= t, z) for t in set(rows["x"])) < 0.15
