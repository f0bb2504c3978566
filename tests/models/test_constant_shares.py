"""A model that always makes the same decision keeps the mean probabilities of the original."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.tree import DecisionTreeClassifier

from proxyuse.decision import Threshold
from proxyuse.lang.build import const
from proxyuse.lang.positions import Site
from proxyuse.models.audited_model import audited_model
from proxyuse.models.label_shares import LEAD, closest_shares
from proxyuse.models.registry import translate
from proxyuse.models.write_back import write_back
from tests.deploy_cases import NUMBERS, THREE, TWO, X, check, fitted, prepared

WITH_PROBABILITIES = [
    "tree", "tree of three", "extra tree", "forest", "forest of three", "extra trees", "bagging",
    "boosting", "boosting of three", "boosting, exponential", "histograms", "histograms of three",
    "logistic", "logistic of three", "discriminant", "discriminant of three", "sgd",
]  # fmt: skip


@pytest.mark.parametrize("name", WITH_PROBABILITIES)
def test_a_constant_model_has_the_closest_probabilities_that_predict_its_label(name):
    model = fitted(name)
    program = translate(model)
    own = model.predict_proba(X).mean(axis=0)
    for index, label in enumerate(model.classes_):
        new = check(model, program.replaced({Site(0): const(label)}))
        assert set(new.predict(X)) == {label}
        expected = np.broadcast_to(closest_shares(own, index), (len(X), len(own)))
        np.testing.assert_allclose(new.predict_proba(X), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("target", [TWO, THREE], ids=["two", "three"])
@pytest.mark.parametrize("library", ["xgboost", "lightgbm"])
def test_other_libraries_keep_mean_probabilities_too(library, target):
    module = pytest.importorskip(library)
    quiet = {} if library == "xgboost" else {"verbose": -1}
    kind = module.XGBClassifier if library == "xgboost" else module.LGBMClassifier
    y = np.unique(target, return_inverse=True)[1]
    model = kind(n_estimators=4, max_depth=3, n_jobs=1, **quiet).fit(X[NUMBERS], y)
    program = translate(model)
    own = model.predict_proba(X[NUMBERS]).mean(axis=0)
    for index, label in enumerate(model.classes_):
        deployed = write_back(model, program.replaced({Site(0): const(label)}), X[NUMBERS])
        assert deployed.native, deployed.why
        assert set(deployed.model.predict(X[NUMBERS])) == {label}
        shares = deployed.model.predict_proba(X[NUMBERS])
        expected = np.broadcast_to(closest_shares(own, index), shares.shape)
        np.testing.assert_allclose(shares, expected, atol=1e-6)


@pytest.mark.parametrize("cut", [0.1, 0.35, 0.5, 0.9])
@pytest.mark.parametrize("name", ["tree", "forest", "boosting", "histograms", "logistic"])
def test_a_constant_decision_of_a_threshold_keeps_probabilities_on_its_side(name, cut):
    model = fitted(name)
    own = model.predict_proba(X).mean(axis=0)
    for positive, index in (("yes", 1), ("no", 0)):
        decision = Threshold(cut, positive)
        program = audited_model(model, X, set(), decision, opaque=False).program
        for label in ("yes", "no"):
            case = program.replaced({Site(0): const(label)})
            shares = check(model, case, decision=decision).predict_proba(X)[:, index]
            sides = (max(own[index], cut + LEAD), min(own[index], cut - LEAD))
            np.testing.assert_allclose(shares, sides[label != positive], rtol=0, atol=1e-9)
            assert set(shares >= cut) == {label == positive}


@pytest.mark.parametrize("positive", ["yes", "no"])
@pytest.mark.parametrize(
    "inner",
    [
        DecisionTreeClassifier(max_depth=3),
        LogisticRegression(),
        GradientBoostingClassifier(n_estimators=3, max_depth=2),
    ],
    ids=lambda inner: type(inner).__name__,
)
def test_a_wrapped_threshold_keeps_probabilities_on_its_side(inner, positive):
    model = FixedThresholdClassifier(prepared(inner), threshold=0.3, pos_label=positive).fit(X, TWO)
    program = translate(model)
    index = ["no", "yes"].index(positive)
    own = model.predict_proba(X)[:, index].mean()
    for label in ("yes", "no"):
        new = check(model, program.replaced({Site(0): const(label)}))
        assert set(new.predict(X)) == {label}
        expected = (max(own, 0.3 + LEAD), min(own, 0.3 - LEAD))[label != positive]
        np.testing.assert_allclose(new.predict_proba(X)[:, index], expected, atol=1e-9)
