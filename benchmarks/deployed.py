"""The models as people deploy them: a pipeline over raw columns, default hyperparameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from proxyuse.datasets import load_adult

SYNTHETIC_ROWS = 20_000
Array = npt.NDArray[Any]


@dataclass(eq=False)
class Deployed:
    """A fitted pipeline, the rows it decides about, and the protected attribute.

    Attributes
    ----------
    model : the pipeline; its last step is the estimator.
    X : raw columns.
    y : what the model was trained to predict.
    protected : its name and values.
    """

    model: Any
    X: pd.DataFrame
    y: Array
    protected: dict[str, Array]

    def taking(self, rows: int) -> Deployed:
        """The same model with this many rows, drawn from its own with replacement."""
        chosen = np.random.default_rng(0).integers(0, len(self.X), rows)
        protected = {name: values[chosen] for name, values in self.protected.items()}
        X = self.X.iloc[chosen].reset_index(drop=True)
        return Deployed(self.model, X, self.y[chosen], protected)


# Adult: 48,842 people, 13 columns, is someone married?


def _adult(estimator: Any, dense: bool = False) -> Deployed:
    people = load_adult()
    married = people["marital_status"].str.startswith("Married").to_numpy(dtype=bool)
    X = people.drop(columns=["income", "marital_status"])
    y = (people["income"] == ">50K").to_numpy(dtype=np.int64)
    model = make_pipeline(_columns(X, dense), estimator).fit(X, y)
    return Deployed(model, X, y, {"married": married})


def _columns(X: pd.DataFrame, dense: bool = False) -> ColumnTransformer:
    """Numbers are imputed and scaled, strings imputed and one-hot encoded."""
    numbers = [name for name in X.columns if pd.api.types.is_numeric_dtype(X[name])]
    words = [name for name in X.columns if name not in numbers]
    encode = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    return ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("words", encode, words),
        ],
        sparse_threshold=0 if dense else 0.3,
    )


def forest() -> Deployed:
    """Fully grown trees."""
    from sklearn.ensemble import RandomForestClassifier

    return _adult(RandomForestClassifier(random_state=0, n_jobs=1))


def forest_shallow() -> Deployed:
    """Trees of depth 10."""
    from sklearn.ensemble import RandomForestClassifier

    return _adult(RandomForestClassifier(max_depth=10, random_state=0, n_jobs=1))


def extra_trees() -> Deployed:
    """Fully grown trees with random cuts."""
    from sklearn.ensemble import ExtraTreesClassifier

    return _adult(ExtraTreesClassifier(random_state=0, n_jobs=1))


def xgb(trees: int = 100) -> Deployed:
    """Boosted trees of depth 6; XGBoost takes the zeros of sparse rows for missing values."""
    from xgboost import XGBClassifier

    return _adult(XGBClassifier(n_estimators=trees, random_state=0, n_jobs=1))


def xgb_500() -> Deployed:
    """500 of them."""
    return xgb(500)


def lgbm() -> Deployed:
    """LightGBM's 100 trees of 31 leaves."""
    from lightgbm import LGBMClassifier

    estimator = LGBMClassifier(random_state=0, n_jobs=1, verbosity=-1)
    return _adult(estimator)


def hist() -> Deployed:
    """scikit-learn's histogram boosting, which takes dense rows only."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    return _adult(HistGradientBoostingClassifier(random_state=0), dense=True)


def tree() -> Deployed:
    """One fully grown tree."""
    from sklearn.tree import DecisionTreeClassifier

    return _adult(DecisionTreeClassifier(random_state=0))


def logistic() -> Deployed:
    """A linear classifier over about a hundred encoded columns."""
    return _adult(LogisticRegression(max_iter=1000, random_state=0))


def svc() -> Deployed:
    """Another one."""
    from sklearn.svm import LinearSVC

    return _adult(LinearSVC(random_state=0))


# Synthetic rows: 20,000, numbered columns, Z a noisy copy of one column's sign


def _synthetic(estimator: Any, X: Array, y: Array) -> Deployed:
    frame = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    noise = np.random.default_rng(0).normal(size=len(X)) * X[:, 0].std()
    model = make_pipeline(SimpleImputer(), StandardScaler(), estimator).fit(frame, y)
    return Deployed(model, frame, y, {"z": X[:, 0] + noise > X[:, 0].mean()})


def _classes(estimator: Any, classes: int = 5, features: int = 20) -> Deployed:
    from sklearn.datasets import make_classification

    X, y = make_classification(
        SYNTHETIC_ROWS, features, n_informative=10, n_classes=classes, random_state=0
    )
    return _synthetic(estimator, X, y)


def _numbers(estimator: Any) -> Deployed:
    from sklearn.datasets import make_regression

    X, y = make_regression(SYNTHETIC_ROWS, 20, n_informative=10, noise=10.0, random_state=0)
    return _synthetic(estimator, X, y)


def forest_classes() -> Deployed:
    """Fully grown trees and five classes."""
    from sklearn.ensemble import RandomForestClassifier

    return _classes(RandomForestClassifier(random_state=0, n_jobs=1))


def xgb_classes() -> Deployed:
    """Boosted trees and five classes."""
    from xgboost import XGBClassifier

    return _classes(XGBClassifier(random_state=0, n_jobs=1))


def forest_regressor() -> Deployed:
    """Fully grown trees whose mean is the output."""
    from sklearn.ensemble import RandomForestRegressor

    return _numbers(RandomForestRegressor(random_state=0, n_jobs=1))


def xgb_regressor() -> Deployed:
    """Boosted trees whose sum is the output."""
    from xgboost import XGBRegressor

    return _numbers(XGBRegressor(random_state=0, n_jobs=1))


def logistic_wide() -> Deployed:
    """200 numeric columns."""
    return _classes(LogisticRegression(max_iter=1000, random_state=0), classes=2, features=200)


def logistic_onehot() -> Deployed:
    """10 columns of 100 words each, which become 1,000 columns."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 100, size=(SYNTHETIC_ROWS, 10))
    weights = rng.normal(size=(10, 100))
    score = weights[np.arange(10), codes].sum(axis=1)
    y = (score + rng.logistic(size=SYNTHETIC_ROWS) > 0).astype(np.int64)
    X = pd.DataFrame({f"w{i}": [f"v{code:02}" for code in codes[:, i]] for i in range(10)})
    estimator = LogisticRegression(max_iter=1000, random_state=0)
    model = make_pipeline(_columns(X), estimator).fit(X, y)
    z = (codes[:, 0] < 50) ^ (rng.random(SYNTHETIC_ROWS) < 0.2)
    return Deployed(model, X, y, {"z": z})
