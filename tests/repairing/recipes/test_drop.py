import pickle

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, PolynomialFeatures, StandardScaler

from proxyuse.models.registry import translate
from proxyuse.repairing.recipes.fitting import rows_for
from proxyuse.repairing.recipes.training import CannotFit
from tests.recipe_cases import FITTED, dropped, tree
from tests.repaired_cases import (
    CASES,
    MIXED,
    NUMBERS,
    TWO,
    fitted,
    prepared,
)

READS_EVERYTHING = {
    "gaussian", "gaussian of three", "bernoulli", "multinomial", "complement", "categorical",
    "TheilSenRegressor", "frugal rules",
}  # fmt: skip


@pytest.mark.parametrize("columns", [("rooms",), ("rooms", "home")])
@pytest.mark.parametrize("name", FITTED)
def test_a_model_without_a_column_accepts_the_same_rows_and_does_not_read_it(name, columns):
    case, model = CASES[name], fitted(name)
    if not set(columns) <= set(case.X):
        columns = ("rooms",)
    before = pickle.dumps(model)
    if name in READS_EVERYTHING:
        with pytest.raises(CannotFit, match="still reads rooms"):
            dropped(columns, model, case.X, case.y)
    else:
        new = dropped(columns, model, case.X, case.y)
        assert type(new) is type(model)
        assert not set(columns) & set(translate(new).variables)
        changed = case.X.copy()
        changed[list(columns)] = case.X[list(columns)].to_numpy()[::-1]
        rows, changed_rows = rows_for(new, case.X), rows_for(new, changed)
        assert np.array_equal(new.predict(changed_rows), new.predict(rows))
    assert pickle.dumps(model) == before


FRAME = MIXED.assign(home=MIXED["home"].fillna("flat"), job=MIXED["job"].fillna("cook"))
FRAME = FRAME.fillna(3.0)
WORDS = OneHotEncoder()
SPECIFIED = {
    "names": [("n", StandardScaler(), ["days", "rooms"]), ("w", WORDS, ["home", "job"])],
    "indices": [("n", StandardScaler(), [2, 0]), ("w", WORDS, [-2, 4])],
    "slices": [("n", StandardScaler(), slice(0, 2)), ("w", WORDS, slice("home", "job"))],
    "masks": [
        ("n", StandardScaler(), [True, True, False, False, False]),
        ("w", WORDS, np.array([False, False, False, True, True])),
    ],
    "selectors": [
        ("n", StandardScaler(), make_column_selector(dtype_include="number")),
        ("w", WORDS, make_column_selector(dtype_exclude="number")),
    ],
    "functions": [("w", WORDS, lambda X: ["home", "job"])],
    "alone": [("n", StandardScaler(), ["rooms"]), ("h", WORDS, ["home"]), ("j", WORDS, ["job"])],
    "twice": [
        ("n", StandardScaler(), ["rooms", "days"]),
        ("m", StandardScaler(), ["rooms"]),
        ("w", WORDS, ["home", "job"]),
    ],
}


@pytest.mark.parametrize("columns", [("rooms",), ("home",), ("rooms", "home"), ("rooms", "days")])
@pytest.mark.parametrize("remainder", ["drop", "passthrough"])
@pytest.mark.parametrize("specified", SPECIFIED)
def test_a_column_transformer_drops_columns_however_they_are_specified(
    specified, remainder, columns
):
    transformer = ColumnTransformer(SPECIFIED[specified], remainder=remainder)
    model = Pipeline([("prep", transformer), ("model", LogisticRegression())])
    if not (specified == "functions" or remainder == "drop"):
        model.set_params(prep__remainder=StandardScaler())
    if specified == "functions" and remainder == "drop":
        columns = ("home",)
    model.fit(FRAME, TWO)
    new = dropped(columns, model, FRAME, TWO)
    before, after = (set(translate(part).variables) for part in (model, new))
    assert after == before - set(columns)
    assert new["prep"].transformers[-1] == ("dropped", "drop", [*columns])
    rest = FRAME.assign(**dict.fromkeys(columns, "?" if "home" in columns else 0))
    assert np.array_equal(new.predict(rest), new.predict(FRAME)) or not after


def test_columns_are_dropped_before_any_kind_of_step():
    steps = {
        "products": make_pipeline(
            PolynomialFeatures(2, include_bias=False), LogisticRegression(solver="newton-cg")
        ),
        "one-hot": make_pipeline(OneHotEncoder(), LogisticRegression()),
        "one-hot tree": make_pipeline(OneHotEncoder(), tree(max_depth=3)),
    }
    for pipeline in steps.values():
        model = pipeline.fit(NUMBERS, TWO)
        new = dropped(("rooms",), model, NUMBERS, TWO)
        assert "rooms" in translate(model).variables
        assert "rooms" not in translate(new).variables
        assert new.predict(NUMBERS).shape == (120,)


def test_dropping_a_column_is_training_without_it():
    model = prepared(LogisticRegression(tol=1e-10)).fit(MIXED, TWO)
    new = dropped(("rooms", "home"), model, MIXED, TWO)
    rest = prepared(LogisticRegression(tol=1e-10))
    (numbers, scaler, _), (words, encoder, _) = rest["prep"].transformers
    rest["prep"].transformers = [
        (numbers, scaler, ["decades", "days"]),
        (words, encoder, ["job"]),
    ]
    rest.fit(MIXED[["decades", "days", "job"]], TWO)
    assert new.predict_proba(MIXED) == pytest.approx(rest.predict_proba(MIXED), abs=1e-6)


def test_columns_of_arrays_are_numbered():
    X = NUMBERS.to_numpy()
    model = tree(max_depth=3).fit(X, TWO)
    new = dropped(("x0",), model, X, TWO)
    assert "x0" in translate(model).variables
    assert "x0" not in translate(new).variables
    with pytest.raises(CannotFit, match="no column 'rooms'"):
        dropped(("rooms",), model, X, TWO)
    with pytest.raises(CannotFit, match="no column would be left"):
        dropped(("x0", "x1", "x2"), model, X, TWO)


def test_a_model_fitted_on_an_array_stays_one():
    model = tree(max_depth=3).fit(NUMBERS.to_numpy(), TWO)
    new = dropped(("rooms",), model, NUMBERS, TWO)
    assert not hasattr(new, "feature_names_in_")
    assert "rooms" not in translate(new, list(NUMBERS.columns)).variables


def test_dropping_keeps_the_weights():
    model = prepared(tree(max_depth=3)).fit(MIXED, TWO)
    weights = np.where(np.arange(120) < 60, 1.0, 3.0)
    new = dropped(("rooms",), model, MIXED, TWO, weights)
    assert new["model"].tree_.weighted_n_node_samples[0] == weights.sum()


def test_a_model_that_reads_everything_is_not_trained_without_a_column():
    model = GaussianNB().fit(NUMBERS, TWO)
    with pytest.raises(CannotFit, match="still reads rooms"):
        dropped(("rooms",), model, NUMBERS, TWO)


def test_native_categories_are_dropped():
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    X = MIXED[["decades", "home", "job"]].astype({"home": "category", "job": "category"})
    y = (MIXED["home"] == "house").to_numpy().astype(int)
    few = {"n_estimators": 3, "max_depth": 3, "n_jobs": 1}
    for model in (
        xgboost.XGBClassifier(**few, enable_categorical=True),
        lightgbm.LGBMClassifier(**few, min_child_samples=5, min_data_per_group=5, verbose=-1),
        HistGradientBoostingClassifier(max_iter=3, categorical_features="from_dtype"),
    ):
        model.fit(X, y)
        new = dropped(("home",), model, X, y)
        assert "home" in translate(model).variables
        assert "home" not in translate(new).variables
        assert new.predict(X).shape == y.shape
