import pickle
import warnings

import numpy as np
import pytest
import sklearn
from sklearn.base import clone
from sklearn.model_selection import FixedThresholdClassifier, GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

from proxyuse.repairing.recipes.fitting import can_fit, fit_clone, rows_for
from proxyuse.repairing.recipes.training import CannotFit
from tests.recipe_cases import FITTED, NOT_FITTED, tree
from tests.repaired_cases import (
    CASES,
    CODES,
    NUMBERS,
    TWO,
    fitted,
)


@pytest.mark.parametrize("name", FITTED)
def test_a_clone_fitted_on_the_same_rows_predicts_the_same(name):
    case, model = CASES[name], fitted(name)
    before = pickle.dumps(model)
    new = fit_clone(model, case.X, case.y)
    assert type(new) is type(model)
    rows = rows_for(model, case.X)
    assert np.array_equal(new.predict(rows), model.predict(rows))
    assert pickle.dumps(model) == before


def test_models_without_fit_cannot_be_fitted_again():
    assert [name for name in CASES if not can_fit(fitted(name))] == [
        name for name in CASES if name in NOT_FITTED
    ]
    with pytest.raises(CannotFit, match="cannot be fitted again"):
        fit_clone(fitted("frozen"), NUMBERS, TWO)


NESTED = {
    "model": lambda model: model,
    "pipeline": lambda model: make_pipeline(StandardScaler(), model),
    "nested pipeline": lambda model: make_pipeline(
        StandardScaler(), make_pipeline(StandardScaler(), model)
    ),
    "search": lambda model: GridSearchCV(model, {"max_depth": [1, 3]}, cv=2),
    "searched pipeline": lambda model: GridSearchCV(
        Pipeline([("scale", StandardScaler()), ("model", model)]), {"model__max_depth": [3]}, cv=2
    ),
    "threshold": lambda model: FixedThresholdClassifier(model, threshold=0.4, pos_label="yes"),
    "threshold in a pipeline": lambda model: make_pipeline(
        StandardScaler(), FixedThresholdClassifier(model, threshold=0.4, pos_label="yes")
    ),
}


@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize("nested", NESTED)
def test_weights_reach_the_last_estimator(nested, routed):
    model = NESTED[nested](tree(max_depth=3)).fit(NUMBERS, TWO)
    weights = np.where(np.arange(120) % 4 == 0, 0.0, 2.0)
    with sklearn.config_context(enable_metadata_routing=routed):
        new = fit_clone(model, NUMBERS, TWO, weights)
        assert sklearn.get_config()["enable_metadata_routing"] == routed
    last = new
    while not hasattr(last, "tree_"):
        last = next(
            part
            for part in (
                last.steps[-1][1] if hasattr(last, "steps") else None,
                getattr(last, "best_estimator_", None),
                getattr(last, "estimator_", None),
            )
            if part is not None
        )
    assert last.tree_.weighted_n_node_samples[0] == weights.sum()


def test_a_model_without_weights_cannot_be_fitted_with_them():
    model = make_pipeline(StandardScaler(), clone(fitted("discriminant"))).fit(NUMBERS, TWO)
    with pytest.raises(CannotFit, match="LinearDiscriminantAnalysis takes no sample weights"):
        fit_clone(model, NUMBERS, TWO, np.ones(120))


def test_early_stopping_becomes_a_number_of_trees():
    xgboost, lightgbm = pytest.importorskip("xgboost"), pytest.importorskip("lightgbm")
    held_out = [(NUMBERS[80:], CODES[80:])]
    stopped = xgboost.XGBClassifier(
        n_estimators=60, learning_rate=1.0, n_jobs=1, early_stopping_rounds=1
    ).fit(NUMBERS[:80], CODES[:80], eval_set=held_out, verbose=False)
    new = fit_clone(stopped, NUMBERS[:80], CODES[:80])
    assert stopped.best_iteration < 58
    assert new.get_booster().num_boosted_rounds() == stopped.best_iteration + 1
    assert np.array_equal(new.predict_proba(NUMBERS), stopped.predict_proba(NUMBERS))
    light = lightgbm.LGBMClassifier(n_estimators=60, learning_rate=1.0, n_jobs=1, verbose=-1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # LightGBM 4.7 renames eval_set
        light.fit(
            NUMBERS[:80],
            CODES[:80],
            eval_set=held_out,
            callbacks=[lightgbm.early_stopping(1, verbose=False)],
        )
    again = fit_clone(light, NUMBERS[:80], CODES[:80])
    assert light.best_iteration_ < 60
    assert again.booster_.num_trees() == light.best_iteration_
    assert again.predict_proba(NUMBERS) == pytest.approx(light.predict_proba(NUMBERS))
