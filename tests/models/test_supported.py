"""Every class in the table of what is supported: a model of it, and its program says the same."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from proxyuse.models.checks import check_predictions
from proxyuse.models.registry import translate
from proxyuse.models.supported import SUPPORTED, supported_table

ROWS = 240
RNG = np.random.default_rng(7)
X = pd.DataFrame(
    {
        "age": RNG.integers(18, 80, ROWS).astype(float),
        "hours": np.round(RNG.normal(40, 10, ROWS)).clip(0),
        "gain": np.where(RNG.random(ROWS) < 0.7, 0.0, RNG.integers(1, 9, ROWS)),
    }
)
Y = np.where(X["age"] / 20 + X["gain"] + RNG.normal(size=ROWS) > 4, "yes", "no")
NUMBERS = (X["age"] / 10 + X["gain"] + RNG.random(ROWS)).to_numpy()

TREE = DecisionTreeClassifier(max_depth=3, random_state=0)
MEMBERS = [("tree", TREE), ("logit", LogisticRegression(max_iter=500))]
NUMBER_MEMBERS = [("tree", DecisionTreeRegressor(max_depth=3)), ("line", LinearRegression())]
GRID = {"max_depth": [2, 3]}
OPTIONS: dict[str, dict[str, Any]] = {
    "SVC": {"kernel": "linear"},
    "NuSVC": {"kernel": "linear", "nu": 0.2},
    "SVR": {"kernel": "linear"},
    "NuSVR": {"kernel": "linear"},
    "BaggingClassifier": {"estimator": TREE},
    "AdaBoostClassifier": {"estimator": TREE, "n_estimators": 4},
    "AdaBoostRegressor": {"n_estimators": 4},
    "VotingClassifier": {"estimators": MEMBERS, "voting": "soft"},
    "VotingRegressor": {"estimators": NUMBER_MEMBERS},
    "StackingClassifier": {"estimators": MEMBERS},
    "StackingRegressor": {"estimators": NUMBER_MEMBERS},
    "GridSearchCV": {"estimator": TREE, "param_grid": GRID},
    "RandomizedSearchCV": {"estimator": TREE, "param_distributions": GRID, "n_iter": 2},
    "HalvingGridSearchCV": {"estimator": TREE, "param_grid": GRID},
    "HalvingRandomSearchCV": {"estimator": TREE, "param_distributions": GRID},
    "FixedThresholdClassifier": {"estimator": TREE, "threshold": 0.37, "pos_label": "yes"},
    "TunedThresholdClassifierCV": {"estimator": TREE, "scoring": "balanced_accuracy"},
    "CalibratedClassifierCV": {"estimator": TREE, "cv": 2},
    "OneVsRestClassifier": {"estimator": TREE},
    "OneVsOneClassifier": {"estimator": TREE},
    "FrozenEstimator": {"estimator": RandomForestClassifier(3, max_depth=2).fit(X, Y)},
    "Pipeline": {"steps": [("tree", TREE)]},
    "ColumnTransformer": {"transformers": [("kept", "passthrough", ["age", "gain"])]},
    "FeatureUnion": {"transformer_list": [("kept", "passthrough")]},
    "SelectFromModel": {"estimator": TREE},
    "RFE": {"estimator": TREE, "n_features_to_select": 2},
    "RFECV": {"estimator": TREE},
    "SequentialFeatureSelector": {"estimator": TREE, "n_features_to_select": 2},
    "SelectKBest": {"k": 2},
    "KBinsDiscretizer": {"n_bins": 3, "encode": "ordinal"},
    "PassiveAggressiveClassifier": {},
    "LGBMClassifier": {"n_estimators": 5, "verbose": -1},
    "LGBMRegressor": {"n_estimators": 5, "verbose": -1},
    "LGBMRanker": {"n_estimators": 5, "verbose": -1},
    "XGBClassifier": {"n_estimators": 5},
    "XGBRegressor": {"n_estimators": 5},
    "XGBRanker": {"n_estimators": 5},
    "RandomForestClassifier": {"n_estimators": 5, "max_depth": 4},
    "BayesianRuleListClassifier": {},
    "ProgramClassifier": {
        "program": "lambda age, hours, gain . ite(age <= 40, 'no', 'yes')",
        "classes": ["no", "yes"],
    },
    "ProgramRegressor": {"program": "lambda age, hours, gain . 2 * age + gain"},
}
BINARY_INPUT = {"BayesianRuleListClassifier"}
WARNINGS = pytest.mark.filterwarnings("ignore")


def fitted(name: str) -> tuple[Any, Any]:
    """A fitted model of a class, and the rows it saw."""
    module, kind = name.rsplit(".", 1)
    made = getattr(import_module(module), kind)
    rows: Any = X
    if kind == "Booster":
        return booster(module), X
    if kind in BINARY_INPUT:
        rows = (X.median() < X).astype(int)
    model = made(**OPTIONS.get(kind, {}))
    number = SUPPORTED[name].role == "model" and _is_regressor(model)
    target: Any = NUMBERS if number else Y
    if SUPPORTED[name].family in ("rule lists", "XGBoost") and not number:
        target = (Y == "yes").astype(int)
    if SUPPORTED[name].role == "transformer":
        model = make_pipeline(model, TREE)
    if kind in ("XGBRanker", "LGBMRanker"):
        return model.fit(rows, (NUMBERS > 5).astype(int), group=[ROWS]), rows
    if kind == "BayesianRuleListClassifier":
        return model.fit(rows, target, feature_names=list(rows.columns)), rows
    return model.fit(rows, target), rows


def _is_regressor(model: Any) -> bool:
    from sklearn.base import is_regressor

    return type(model).__name__.endswith("Regressor") or bool(is_regressor(model))


def booster(module: str) -> Any:
    """A native model of a boosting library."""
    target = (Y == "yes").astype(int)
    if module.startswith("xgboost"):
        import xgboost

        return xgboost.train({"objective": "binary:logistic"}, xgboost.DMatrix(X, target), 5)
    import lightgbm

    return lightgbm.train(
        {"objective": "binary", "verbose": -1}, lightgbm.Dataset(X, target), num_boost_round=5
    )


@WARNINGS
@pytest.mark.parametrize("name", SUPPORTED)
def test_each_supported_class_is_translated(name: str) -> None:
    try:
        model, rows = fitted(name)
    except (ImportError, AttributeError):
        pytest.fail(f"{name} is not there any more")
    program = translate(model)
    tolerance = 1e-5 if name.startswith("xgboost") else 1e-9
    if name.endswith("Booster"):
        data = rows
        if name.startswith("xgboost"):
            import xgboost

            data = xgboost.DMatrix(rows)
        np.testing.assert_allclose(program.predict(rows), model.predict(data), rtol=1e-5)
    else:
        assert check_predictions(model, program, rows, tolerance).rows == ROWS
    assert program.origins


def test_the_documentation_shows_the_current_table() -> None:
    page = Path(__file__).parents[2] / "docs" / "models.md"
    assert supported_table() in page.read_text(encoding="utf-8")
