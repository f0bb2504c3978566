"""Repaired programs of XGBoost and LightGBM become models again that say what they say."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

xgb = pytest.importorskip("xgboost")
lgb = pytest.importorskip("lightgbm")

from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402

from proxyuse.data.table import Table  # noqa: E402
from proxyuse.decision import Threshold  # noqa: E402
from proxyuse.lang.build import const  # noqa: E402
from proxyuse.lang.nodes import Add, Argmax, Const, Ite, Var  # noqa: E402
from proxyuse.lang.positions import Site, operand_choices  # noqa: E402
from proxyuse.models.checks import check_predictions, compare, predictions  # noqa: E402
from proxyuse.models.lightgbm import write_back as lightgbm_model  # noqa: E402
from proxyuse.models.registry import translate  # noqa: E402
from proxyuse.models.remaining_trees import CannotWriteBack, remaining_trees  # noqa: E402
from proxyuse.models.translation import DOUBLE, SINGLE  # noqa: E402
from proxyuse.models.xgboost import write_back as xgboost_model  # noqa: E402
from proxyuse.program import Frame, Program  # noqa: E402
from tests.faithful import with_categories  # noqa: E402

ROWS = 300
QUIET = {"n_jobs": 1, "verbose": -1, "min_child_samples": 5}
NATIVE = {"num_threads": 1, "verbose": -1, "min_data_in_leaf": 5}


# Models


def numbers(missing=True):
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(ROWS, 4)), columns=["a", "b", "c", "d"])
    score = X["a"] - X["b"] + X["c"] * X["d"]
    return (X.mask(rng.random(X.shape) < 0.15) if missing else X), score


def classes(count):
    X, score = numbers()
    return X, pd.qcut(score, count, labels=False).to_numpy()


def xgboost_sklearn(kind, X, y, **options):
    options = {"n_estimators": 5, "max_depth": 3, "n_jobs": 1, "random_state": 0} | options
    return kind(**options).fit(X, y), X


def xgboost_native(objective, X, y, **options):
    options = {"objective": objective, "max_depth": 3, "nthread": 1} | options
    return xgb.train(options, xgb.DMatrix(X, y, enable_categorical=True), 4), X


def lightgbm_sklearn(kind, X, y, **options):
    options = {"n_estimators": 5, "num_leaves": 6} | QUIET | options
    return kind(**options).fit(X, y), X


def lightgbm_native(objective, X, y, **options):
    options = {"objective": objective, "num_leaves": 6} | NATIVE | options
    return lgb.train(options, lgb.Dataset(X, y), 4), X


def stopped_early(model, **fit):
    X, y = classes(3)
    more = fit or {"eval_set": [(X[200:], y[200:])], "verbose": False}
    return model.fit(X[:200], y[:200], **more), X


def stopped_early_lightgbm():
    X, y = classes(3)
    stop = lgb.early_stopping(2, verbose=False)
    return stopped_early(
        lgb.LGBMClassifier(n_estimators=30, num_leaves=5, learning_rate=0.8, **QUIET),
        eval_X=X[200:], eval_y=y[200:], callbacks=[stop],
    )  # fmt: skip


def positive():
    X, score = numbers()
    return X, np.exp(score / 2)


CATEGORIES = {"max_cat_to_onehot": 1, "min_data_per_group": 5, "cat_smooth": 1}

MODELS = {
    "xgb two classes": lambda: xgboost_sklearn(xgb.XGBClassifier, *classes(2)),
    "xgb three classes": lambda: xgboost_sklearn(xgb.XGBClassifier, *classes(3), n_estimators=3),
    "xgb one round": lambda: xgboost_sklearn(xgb.XGBClassifier, *classes(3), n_estimators=1),
    "xgb regressor": lambda: xgboost_sklearn(xgb.XGBRegressor, *numbers()),
    "xgb positive": lambda: xgboost_sklearn(
        xgb.XGBRegressor, *positive(), objective="count:poisson"
    ),
    "xgb dart": lambda: xgboost_sklearn(
        xgb.XGBClassifier, *classes(2), booster="dart", rate_drop=0.5, n_estimators=8
    ),
    "xgb forest": lambda: xgboost_sklearn(xgb.XGBRFClassifier, *classes(2)),
    "xgb pruned": lambda: xgboost_sklearn(
        xgb.XGBClassifier, *classes(2), tree_method="exact", gamma=1.0, max_depth=5
    ),
    "xgb hinge": lambda: xgboost_sklearn(
        xgb.XGBClassifier, *classes(2), objective="binary:hinge"
    ),
    "xgb categories": lambda: xgboost_sklearn(
        xgb.XGBClassifier, *with_categories(500), enable_categorical=True, max_cat_to_onehot=1
    ),
    "xgb stopped early": lambda: stopped_early(
        xgb.XGBClassifier(n_estimators=30, max_depth=3, n_jobs=1, learning_rate=1.0,
                          early_stopping_rounds=2)
    ),
    "xgb native two": lambda: xgboost_native("binary:logistic", *classes(2)),
    "xgb native shares": lambda: xgboost_native("multi:softprob", *classes(3), num_class=3),
    "xgb native classes": lambda: xgboost_native("multi:softmax", *classes(3), num_class=3),
    "xgb native numbers": lambda: xgboost_native("reg:squarederror", *numbers()),
    "lgb two classes": lambda: lightgbm_sklearn(lgb.LGBMClassifier, *classes(2)),
    "lgb words": lambda: lightgbm_sklearn(
        lgb.LGBMClassifier, classes(3)[0], np.array(["no", "perhaps", "yes"])[classes(3)[1]]
    ),
    "lgb one round": lambda: lightgbm_sklearn(lgb.LGBMClassifier, *classes(3), n_estimators=1),
    "lgb one against all": lambda: lightgbm_sklearn(
        lgb.LGBMClassifier, *classes(3), objective="multiclassova", n_estimators=3
    ),
    "lgb steep": lambda: lightgbm_sklearn(lgb.LGBMClassifier, *classes(2), sigmoid=2.5),
    "lgb regressor": lambda: lightgbm_sklearn(lgb.LGBMRegressor, *numbers()),
    "lgb positive": lambda: lightgbm_sklearn(lgb.LGBMRegressor, *positive(), objective="gamma"),
    "lgb forest": lambda: lightgbm_sklearn(
        lgb.LGBMClassifier, *classes(3), boosting_type="rf", subsample=0.6, subsample_freq=1
    ),
    "lgb dart": lambda: lightgbm_sklearn(lgb.LGBMClassifier, *classes(2), boosting_type="dart"),
    "lgb categories": lambda: lightgbm_sklearn(
        lgb.LGBMClassifier, *with_categories(500), **CATEGORIES
    ),
    "lgb stopped early": stopped_early_lightgbm,
    "lgb native two": lambda: lightgbm_native("binary", *classes(2), sigmoid=0.5),
    "lgb native shares": lambda: lightgbm_native("multiclass", *classes(3), num_class=3),
    "lgb native each": lambda: lightgbm_native("multiclassova", *classes(3), num_class=3),
    "lgb native lambda": lambda: lightgbm_native("cross_entropy_lambda", *classes(2)),
    "lgb native numbers": lambda: lightgbm_native("regression", *numbers()),
}  # fmt: skip

_fitted: dict[str, Any] = {}


def fitted(name):
    if name not in _fitted:
        _fitted[name] = MODELS[name]()
    return _fitted[name]


def is_xgboost(model):
    return type(model).__module__.startswith("xgboost")


def write(model, program):
    family = xgboost_model if is_xgboost(model) else lightgbm_model
    return family.write(model, program, type(model).__name__)


def saved(model):
    """A model as its library saves it, all rounds included."""
    if is_xgboost(model):
        booster = model.get_booster() if hasattr(model, "get_booster") else model
        return bytes(booster.save_raw("json"))
    return getattr(model, "booster_", model).model_to_string(num_iteration=-1)


# Repairs


def constant_at(program, site, X, rng):
    """The value of a part for some row, or sometimes the mean."""
    values = Program(program.points.term_at(site), program.inputs).predict(X)
    labels = site == Site(0) and isinstance(program.term, Ite | Argmax)
    numbers = values.dtype == np.float64 and not labels and np.isfinite(values).all()
    if numbers and rng.random() < 0.4:
        return const(values.mean(axis=0))
    return const(values[rng.integers(len(values))])


def is_tree(program, point):
    origin = program.origins.get(program.points.written[point])
    return origin is not None and origin.node is not None


def sites(program, kind):
    """Where repairs of one kind may be made."""
    points = program.points
    inner = [
        p for p, term in enumerate(points.terms) if isinstance(term, Ite) and is_tree(program, p)
    ]
    match kind:
        case "subtrees":
            return [Site(p) for p in inner]
        case "guards":
            return [Site(points.below(p)[0]) for p in inner]
        case "variables":
            return [Site(p) for p, term in enumerate(points.terms) if isinstance(term, Var)]
        case "trees":
            return [Site(p) for p in inner if not is_tree(program, points.parents[p])]
        case "sums":
            return [Site(p) for p, term in enumerate(points.terms) if isinstance(term, Add)]
        case "operands":
            sums = [p for p, term in enumerate(points.terms) if isinstance(term, Add)]
            return [(p, operand_choices(points, p)) for p in sums
                    if len(operand_choices(points, p)) > 2]  # fmt: skip
        case _:
            return [Site(0)]


def repaired(program, kind, X, rng, count):
    """The program with some repairs of one kind, one after the other."""
    for _ in range(count):
        candidates = sites(program, kind)
        if not candidates:
            break
        site = candidates[rng.integers(len(candidates))]
        if kind == "operands":
            point, choices = site
            size = rng.integers(2, len(choices))
            site = Site(point, tuple(sorted(rng.choice(choices, size, replace=False).tolist())))
        program = program.replaced({site: constant_at(program, site, X, rng)})
    return program


# Properties of a written model


def predicts_what_the_program_computes(model, program, X):
    tolerance = SINGLE if is_xgboost(model) else DOUBLE
    check_predictions(model, program, X, tolerance)
    again = translate(model, program.inputs)
    frame = Frame(Table.of(X).column(name) for name in program.variables)
    compare(program, program.predict(X), again.predict(X), frame, tolerance).require("rewritten")
    if hasattr(model, "predict_proba"):
        if getattr(model, "objective", "") == "binary:hinge":
            return
        shares = model.predict_proba(X)
        assert np.isfinite(shares).all()
        labels = np.asarray(model.classes_)[shares.argmax(axis=1)]
        assert labels.tolist() == model.predict(X).tolist()


def survives(model, X, folder):
    """It predicts the same after pickling, and after saving and loading with its library."""
    expected = predictions(model, X)
    copies = [pickle.loads(pickle.dumps(model))]
    if is_xgboost(model):
        path = folder / "model.ubj"
        model.save_model(path)
        if isinstance(model, xgb.Booster):
            other = xgb.Booster({"nthread": 1})
        else:
            other = type(model)(n_jobs=1, enable_categorical=model.enable_categorical)
        other.load_model(path)
        copies.append(other)
    elif isinstance(model, lgb.Booster):
        path = folder / "model.txt"
        model.save_model(path)
        copies.append(lgb.Booster(model_file=path))
    for other in copies:
        assert predictions(other, X).tolist() == expected.tolist()


REPAIRS = ["subtrees", "guards", "variables", "trees", "operands", "sums", "all"]


@pytest.mark.slow
@pytest.mark.parametrize("kind", REPAIRS)
@pytest.mark.parametrize("name", MODELS)
def test_a_repaired_model_predicts_what_its_program_computes(name, kind, tmp_path):
    model, X = fitted(name)
    before, program = saved(model), translate(model)
    rng = np.random.default_rng([list(MODELS).index(name), REPAIRS.index(kind)])
    changed = repaired(program, kind, X, rng, rng.integers(1, 5))
    new = write(model, changed)
    assert type(new) is type(model)
    predicts_what_the_program_computes(new, changed, X)
    survives(new, X, tmp_path)
    assert saved(model) == before


@pytest.mark.parametrize("name", ["xgb categories", "xgb native shares", "lgb categories"])
def test_a_program_without_repairs_gives_the_same_model(name):
    model, _ = fitted(name)
    assert saved(write(model, translate(model))) == saved(model)


@pytest.mark.parametrize("name", ["xgb stopped early", "lgb stopped early"])
def test_trees_after_the_best_round_are_not_in_the_new_model(name):
    model, X = fitted(name)
    program = translate(model)
    changed = repaired(program, "guards", X, np.random.default_rng(0), 2)
    new = write(model, changed)
    known = "best_iteration" if is_xgboost(model) else "best_iteration_"
    assert getattr(new, known) == getattr(model, known)
    if is_xgboost(model):
        every = new.get_booster().predict(xgb.DMatrix(X), output_margin=True)
        np.testing.assert_array_equal(every, new.predict(X, output_margin=True))
        trees = json.loads(saved(new))["learner"]["gradient_booster"]["model"]["trees"]
        used = set(remaining_trees(changed, "XGBClassifier"))
        assert len(used) < len(trees)
        assert all(len(t["parents"]) == 1 for n, t in enumerate(trees) if n not in used)
    else:
        assert new.booster_.num_trees() == 3 * model.best_iteration_
        np.testing.assert_array_equal(new.booster_.predict(X), new.predict_proba(X))


def test_the_attributes_of_a_wrapper_are_kept():
    model, X = fitted("lgb words")
    new = write(model, translate(model).replaced({Site(0): Const("perhaps")}))
    assert new.classes_.tolist() == ["no", "perhaps", "yes"]
    assert new.get_params() == model.get_params()
    assert new.feature_names_in_.tolist() == list(X.columns)
    assert new.booster_ is not model.booster_
    assert set(new.predict(X)) == {"perhaps"}
    model, X = fitted("xgb categories")
    program = translate(model)
    new = write(model, program.replaced({Site(program.points.below(0)[0]): Const(True)}))
    assert new.get_booster().feature_names == list(X.columns)
    assert new.get_booster().feature_types == model.get_booster().feature_types
    assert str(new.get_params()) == str(model.get_params())  # one of them is NaN
    assert new.n_classes_ == 2
    assert set(new.predict(X)) == {1}


def test_a_leaf_is_the_float32_number_next_to_the_constant():
    model, _ = fitted("xgb native numbers")
    program = translate(model)
    (site, *_) = sites(program, "trees")
    new = write(model, program.replaced({site: Const(0.1)}))
    trees = json.loads(saved(new))["learner"]["gradient_booster"]["model"]["trees"]
    (leaf,) = (tree["split_conditions"] for tree in trees if len(tree["parents"]) == 1)
    assert np.float32(leaf[0]) == np.float32(0.1)


@pytest.mark.parametrize("name", ["xgb two classes", "lgb two classes"])
@pytest.mark.parametrize("kind", ["guards", "trees", "all"])
def test_the_last_step_of_a_pipeline(name, kind):
    model, _ = fitted(name)
    X, y = numbers(missing=False)[0], classes(2)[1]
    scaler = StandardScaler().set_output(transform="pandas")
    pipeline = make_pipeline(scaler, type(model)(**model.get_params())).fit(X, y)
    program = repaired(translate(pipeline), kind, X, np.random.default_rng(1), 3)
    step, last = pipeline.steps[-1]
    family = xgboost_model if is_xgboost(model) else lightgbm_model
    new = make_pipeline(scaler, family.write(last, program, step))
    predicted = new.predict(X).tolist()
    assert predicted == program.predict(X).tolist()


@pytest.mark.parametrize("name", ["xgb two classes", "xgb native two", "lgb native two"])
@pytest.mark.parametrize("constant", [True, False])
def test_a_constant_decision_is_written_back(name, constant):
    model, X = fitted(name)
    program = translate(model, decision=Threshold(0.9)).replaced({Site(0): Const(constant)})
    new = write(model, program)
    shares = new.predict_proba(X)[:, 1] if hasattr(new, "predict_proba") else predictions(new, X)
    assert set((shares >= 0.9).tolist()) == {constant}


# What is refused


@pytest.mark.parametrize("name", ["xgb native numbers", "lgb native numbers"])
@pytest.mark.parametrize("value", [np.inf, np.nan])
def test_a_leaf_needs_a_finite_number(name, value):
    model, _ = fitted(name)
    program = translate(model)
    (site, *_) = sites(program, "trees")
    with pytest.raises(CannotWriteBack, match="needs a finite number"):
        write(model, program.replaced({site: const(value)}))


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("xgb two classes", 2.0, "has the classes 0 to 1, not 2.0"),
        ("xgb native two", 1.5, "predicts probabilities"),
        ("xgb positive", -1.0, "predicts positive numbers"),
        ("xgb native shares", 0.5, "predicts 3 numbers"),
        ("xgb native numbers", 1e300, "needs a finite number"),
        ("lgb words", "never", "has no class 'never'"),
        ("lgb native two", -0.5, "predicts probabilities"),
        ("lgb native shares", 0.5, "predicts 3 numbers"),
    ],
)
def test_a_constant_that_the_model_cannot_predict_is_refused(name, value, message):
    model, _ = fitted(name)
    with pytest.raises(CannotWriteBack, match=message):
        write(model, translate(model).replaced({Site(0): Const(value)}))


@pytest.mark.parametrize("name", ["xgb native numbers", "lgb native numbers"])
def test_the_program_of_another_step_is_refused(name):
    model, _ = fitted(name)
    family = xgboost_model if is_xgboost(model) else lightgbm_model
    program = translate(model)
    with pytest.raises(CannotWriteBack, match="no longer has trees of the step 'other'"):
        family.write(model, program, "other")
    with pytest.raises(CannotWriteBack, match="no longer uses the step 'other'"):
        family.write(model, program.replaced({Site(0): Const(1.0)}), "other")


def test_weights_instead_of_trees_are_refused():
    X, y = numbers(missing=False)
    model = xgb.XGBRegressor(n_estimators=3, booster="gblinear", n_jobs=1).fit(X, y)
    with pytest.raises(CannotWriteBack, match="weights of the booster gblinear"):
        write(model, translate(model))
