"""Translated ensembles of other models, and wrappers, predict what they predict."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    HalvingRandomSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from proxyuse.errors import TranslationError
from proxyuse.lang.nodes import Argmax, Call, Const, Function, Ite, Vector, postorder
from proxyuse.lang.positions import Site
from proxyuse.measure.forests.plan import forest_plan
from proxyuse.models.checks import at_thresholds
from proxyuse.models.features import Inputs
from proxyuse.models.registry import input_names, translate, translate_part
from proxyuse.program import Program
from tests.faithful import DATA


@pytest.fixture(autouse=True, scope="module")
def _one_thread():
    """Threads that wait for each other would make small models slow on a busy machine."""
    with threadpool_limits(1):
        yield


def standard(data, most):
    """Numbers of about one size, so that linear models converge, in float64 columns."""
    X, y = DATA[data]()
    X = X.sample(most, random_state=0).astype(float)
    y = y[X.index].reset_index(drop=True)
    X = X.reset_index(drop=True)
    return (X - X.mean()) / X.std().replace(0, 1), y


ROWS = {
    "two classes": standard("adult", 1200),
    "three classes": standard("contraceptive", 800),
    "numbers": standard("student", 649),
}


def tree(depth=3):
    return DecisionTreeClassifier(max_depth=depth, random_state=0)


def forest():
    return RandomForestClassifier(4, max_depth=3, random_state=0)


def boosting():
    return GradientBoostingClassifier(n_estimators=3, random_state=0)


def svc():
    return LinearSVC(random_state=0)


def predicts_the_same(model, X):
    """The same labels, and the same probabilities and scores where the model has them."""
    names = input_names(model, None)
    body = translate_part(model, Inputs.raw(names))
    program = Program.traced(body.output, names, body.origins)
    for rows in (X, at_thresholds(program, X)):
        expected, predicted = model.predict(rows), program.predict(rows)
        if hasattr(model, "classes_"):
            assert predicted.tolist() == expected.tolist()
        else:
            np.testing.assert_allclose(predicted, expected, rtol=1e-9)
    terms: dict[str, Any] = {"predict_proba": body.probabilities, "decision_function": body.scores}
    for method, term in terms.items():
        if hasattr(model, method):
            predicted = Program(term, names).predict(X)
            np.testing.assert_allclose(
                predicted, getattr(model, method)(X), rtol=1e-9, atol=body.tolerance
            )
        else:
            assert term is None
    assert Program.parse(str(program)) == program
    return program


MEMBERS = [("tree", tree()), ("lost", "drop"), ("line", LogisticRegression()), ("trees", forest())]

CLASSIFIERS = {
    "AdaBoost of stumps": AdaBoostClassifier(n_estimators=12, random_state=0),
    "AdaBoost of lines": AdaBoostClassifier(LogisticRegression(), n_estimators=3),
    "bagging trees": BaggingClassifier(tree(5), 6, max_features=0.5, random_state=0),
    "bagging lines": BaggingClassifier(LogisticRegression(), 3, max_features=3, random_state=0),
    "bagging features drawn twice": BaggingClassifier(
        tree(), 3, bootstrap_features=True, random_state=0
    ),
    "bagging votes": BaggingClassifier(svc(), 3, random_state=0),
    "bagging forests": BaggingClassifier(forest(), 2, random_state=0),
    "voting": VotingClassifier([*MEMBERS, ("svc", svc())]),
    "voting by weight": VotingClassifier([*MEMBERS, ("svc", svc())], weights=[1, 9, 0.5, 2, 0.7]),
    "voting softly": VotingClassifier([*MEMBERS, ("boosting", boosting())], voting="soft"),
    "voting softly by weight": VotingClassifier(MEMBERS, voting="soft", weights=[1, 9, 2, 0.3]),
    "stacking": StackingClassifier([*MEMBERS, ("boosting", boosting())], cv=2),
    "stacking scores": StackingClassifier([("svc", svc()), ("boosting", boosting())], cv=2,
                                          stack_method="decision_function"),
    "stacking predictions": StackingClassifier([("svc", svc()), ("tree", tree())], cv=2,
                                               stack_method="predict"),
    "stacking under a tree": StackingClassifier(
        [("tree", tree()), ("svc", svc()), ("ridge", Ridge())],
        tree(4), passthrough=True, cv=2,
    ),
    "grid": GridSearchCV(tree(), {"max_depth": [1, 4]}, cv=2),
    "random search": RandomizedSearchCV(tree(), {"max_depth": [1, 4]}, n_iter=2, cv=2),
    "halving grid": HalvingGridSearchCV(tree(), {"max_depth": [1, 4]}, cv=2, random_state=0),
    "halving search": HalvingRandomSearchCV(tree(), {"max_depth": [1, 4]}, cv=2, random_state=0,
                                            n_candidates=2),
    "sigmoid of scores": CalibratedClassifierCV(svc(), cv=2),
    "sigmoid of one model's scores": CalibratedClassifierCV(svc(), cv=2, ensemble=False),
    "sigmoid of shares": CalibratedClassifierCV(forest(), cv=2),
    "isotonic in scores": CalibratedClassifierCV(svc(), cv=2, method="isotonic"),
    "isotonic in shares": CalibratedClassifierCV(
        RandomForestClassifier(2, max_depth=2, random_state=0), cv=2, method="isotonic"
    ),
    "isotonic in a tree's shares": CalibratedClassifierCV(tree(), cv=2, method="isotonic"),
    "temperature of scores": CalibratedClassifierCV(svc(), cv=2, method="temperature"),
    "temperature of shares": CalibratedClassifierCV(tree(), cv=2, method="temperature"),
    "one against the rest": OneVsRestClassifier(svc()),
    "one against the rest by shares": OneVsRestClassifier(tree()),
    "one against the rest with both": OneVsRestClassifier(LogisticRegression()),
    "one against the rest by numbers": OneVsRestClassifier(Ridge()),
    "one against one": OneVsOneClassifier(svc()),
    "one against one by shares": OneVsOneClassifier(tree()),
    "prior": DummyClassifier(strategy="prior"),
    "most frequent": DummyClassifier(strategy="most_frequent"),
    "of each other": VotingClassifier(
        [
            ("bag", BaggingClassifier(AdaBoostClassifier(n_estimators=2), 2, bootstrap=False)),
            ("stack", StackingClassifier(
                [("hist", HistGradientBoostingClassifier(max_iter=2)),
                 ("calibrated", CalibratedClassifierCV(svc(), cv=2))],
                cv=2,
            )),
        ],
        voting="soft",
    ),
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("name", CLASSIFIERS)
@pytest.mark.parametrize("data", ["two classes", "three classes"])
def test_classifiers_on_the_bundled_data(name, data):
    X, y = ROWS[data]
    predicts_the_same(CLASSIFIERS[name].fit(X, y), X)


THRESHOLDS = {
    "a share": FixedThresholdClassifier(LogisticRegression(), threshold=0.3),
    "a share of the first": FixedThresholdClassifier(forest(), threshold=0.6, pos_label="<=50K"),
    "half": FixedThresholdClassifier(tree()),
    "zero": FixedThresholdClassifier(svc()),
    "a score": FixedThresholdClassifier(svc(), threshold=0.1),
    "a score of the first": FixedThresholdClassifier(svc(), threshold=0.1, pos_label="<=50K"),
    "by scores though": FixedThresholdClassifier(
        LogisticRegression(), threshold=0.2, response_method="decision_function"
    ),
    "tuned": TunedThresholdClassifierCV(LogisticRegression(), cv=2),
    "tuned on a tree": TunedThresholdClassifierCV(tree(5), cv=2),
}


@pytest.mark.parametrize("name", THRESHOLDS)
def test_thresholds(name):
    X, y = ROWS["two classes"]
    predicts_the_same(THRESHOLDS[name].fit(X, y), X)


@pytest.mark.parametrize(("gap", "tolerance"), [(1e-3, 1e-9), (1e-6, 1e-8), (4e-15, None)])
def test_steep_interpolations_are_tolerated_unless_they_are_only_rounding(gap, tolerance):
    X, y = ROWS["two classes"]
    model = CalibratedClassifierCV(GaussianNB(), cv=2, method="isotonic").fit(X[:200], y[:200])
    for member in model.calibrated_classifiers_:
        member.calibrators[0].fit(np.array([0.6, 0.6 + gap, 0.9]), [0.1, 0.8, 0.9])
    if tolerance is None:
        with pytest.raises(TranslationError, match="differ only by rounding; calibrate with"):
            translate(model)
    else:
        program = predicts_the_same(model, X)
        body = translate_part(model, Inputs.raw(program.inputs))
        assert tolerance / 10 < body.tolerance <= tolerance


def test_a_row_at_the_threshold_is_positive():
    model = DecisionTreeClassifier(max_depth=1).fit([[0]] * 4 + [[1]] * 4, [0, 0, 0, 1, 1, 1, 1, 1])
    fixed = FixedThresholdClassifier(FrozenEstimator(model), threshold=0.25)
    X = np.array([[0.0], [1.0]])
    program = predicts_the_same(fixed.fit([[0], [1]], [0, 1]), X)
    assert program.predict(X).tolist() == [1, 1]


def test_a_threshold_on_a_model_that_was_fitted_before():
    X, y = ROWS["two classes"]
    fixed = FixedThresholdClassifier(
        tree().fit(X, y), threshold=0.7, response_method="predict_proba"
    )
    program = translate(fixed, list(X.columns))
    assert program.predict(X).tolist() == fixed.predict(X).tolist()


def regression_tree(depth=4):
    return DecisionTreeRegressor(max_depth=depth, random_state=0)


PAIR = [("tree", regression_tree()), ("ridge", Ridge())]
REGRESSORS = {
    "AdaBoost": AdaBoostRegressor(n_estimators=20, random_state=0),
    "AdaBoost of lines": AdaBoostRegressor(Ridge(), n_estimators=4, random_state=0),
    "AdaBoost of one tree": AdaBoostRegressor(n_estimators=1, random_state=0),
    "bagging": BaggingRegressor(regression_tree(), 5, max_features=0.5, random_state=0),
    "bagging lines": BaggingRegressor(Ridge(), 3, random_state=0),
    "voting": VotingRegressor(PAIR),
    "voting by weight": VotingRegressor(PAIR, weights=[1, 0.3]),
    "stacking": StackingRegressor(PAIR, passthrough=True, cv=2),
    "stacking under a tree": StackingRegressor(PAIR, regression_tree(), cv=2),
    "search": GridSearchCV(Ridge(), {"alpha": [0.1, 1]}, cv=2),
    "mean": DummyRegressor(),
    "median": DummyRegressor(strategy="median"),
    "quantile": DummyRegressor(strategy="quantile", quantile=0.3),
    "constant": DummyRegressor(strategy="constant", constant=3),
}


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_on_the_bundled_data(name):
    X, y = ROWS["numbers"]
    predicts_the_same(REGRESSORS[name].fit(X, y), X)


# Classes


@pytest.mark.parametrize("classes", [["no", "yes"], [False, True], [-5, 12], ["c", "a", "b"]])
@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(n_estimators=3), BaggingClassifier(tree(), 3),
        VotingClassifier([("a", tree()), ("b", LogisticRegression())]),
        VotingClassifier([("a", tree()), ("b", LogisticRegression())], voting="soft"),
        StackingClassifier([("a", tree()), ("b", LogisticRegression())], cv=2),
        StackingClassifier([("a", tree()), ("b", LogisticRegression())], tree(), cv=2),
        CalibratedClassifierCV(tree(), cv=2), OneVsRestClassifier(tree()),
        OneVsOneClassifier(tree()), DummyClassifier(),
    ],
)  # fmt: skip
def test_classes_of_any_type(model, classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    y = np.array(classes)[rng.integers(0, len(classes), 90)]
    predicts_the_same(model.fit(X, y), X)


@pytest.mark.parametrize("member", [tree(), LogisticRegression(), forest(), GaussianNB()])
def test_members_of_a_bag_that_never_saw_a_class(member):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)), np.repeat([0, 1, 2], [40, 15, 5])
    # A pipeline takes no weights, so that rows that are not drawn are left out of its data.
    member = make_pipeline(StandardScaler(), member)
    model = BaggingClassifier(member, 8, max_samples=0.3, random_state=3).fit(X, y)
    assert min(len(member.classes_) for member in model.estimators_) == 2
    names = input_names(model, None)
    body = translate_part(model, Inputs.raw(names))
    assert Program(body.output, names).predict(X).tolist() == model.predict(X).tolist()
    assert body.probabilities is not None
    shares = Program(body.probabilities, names).predict(X)
    np.testing.assert_allclose(shares, model.predict_proba(X), rtol=0, atol=1e-12)


def test_a_class_that_no_row_or_every_row_has():
    X = np.arange(6.0)[:, None]
    y = np.array([0, 0, 1, 1, 2, 2])
    model = OneVsRestClassifier(tree()).fit(X, y)
    constant = OneVsRestClassifier(tree())
    with pytest.warns(UserWarning, match="present in all"):
        constant.fit(X, np.zeros((6, 1), dtype=int) + 1)
    model.estimators_[2] = constant.estimators_[0]
    program = translate(model)
    assert program.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "model", [AdaBoostClassifier(n_estimators=2), RidgeClassifier(), OneVsRestClassifier(tree()),
              HistGradientBoostingClassifier(max_iter=2)],
)  # fmt: skip
def test_a_model_of_one_class_predicts_that_class(model):
    X = np.arange(6.0)[:, None]
    program = translate(model.fit(X, ["a"] * 6))
    assert isinstance(program.term, Const)
    assert program.predict(X).tolist() == model.predict(X).tolist()


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("member", [Ridge(), DecisionTreeRegressor(max_depth=3)])
def test_pairwise_regressors_that_predict_an_exact_label_vote(member, classes):
    X, y = np.arange(24.0)[:, None], np.arange(24) * classes // 24
    y[5] = classes - 1
    predicts_the_same(OneVsOneClassifier(member).fit(X, y), X)


@pytest.mark.parametrize("seed", range(4))
def test_a_weighted_median_of_trees_is_the_same_to_the_last_bit(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(80, 3)).astype(float)
    model = AdaBoostRegressor(n_estimators=30, random_state=seed).fit(X, rng.integers(0, 6, 80))
    program = translate(model)
    assert program.predict(X).tolist() == model.predict(X).tolist()


def test_a_weighted_median_is_printed_as_a_median():
    X = np.arange(8.0)[:, None]
    stump = DecisionTreeRegressor(max_depth=1)
    model = AdaBoostRegressor(stump, n_estimators=3, random_state=0).fit(
        X, [0, 1, 1, 4, 4, 2, 9, 9]
    )
    assert len(model.estimators_) == 3
    term = translate(model).term
    assert isinstance(term, Call)
    assert term.function is Function.MEDIAN
    members, weights = term.arguments
    assert weights == Const(tuple(model.estimator_weights_.tolist()))
    assert isinstance(members, Vector)
    assert all(isinstance(member, Ite) for member in members.items)


def test_a_constant_dummy():
    X = np.arange(4.0)[:, None]
    model = DummyClassifier(strategy="constant", constant="b").fit(X, ["a", "a", "b", "a"])
    assert predicts_the_same(model, X).predict(X).tolist() == ["b"] * 4


# Ties


def test_a_tied_vote_goes_to_the_first_class():
    X = np.array([[0.0], [1.0]])
    trees = [tree().fit(X, y) for y in ([0, 1], [1, 0])]
    model = VotingClassifier([("a", tree()), ("b", tree())]).fit(X, ["x", "y"])
    model.estimators_ = trees
    assert predicts_the_same(model, X).predict(X).tolist() == ["x", "x"]


@pytest.mark.parametrize("seed", range(10))
def test_ties_of_weights_and_of_many_classes(seed):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (40, 2)).astype(float)
    y = rng.integers(0, 4, 40)
    members = [(str(i), tree(i + 1).set_params(max_features=1, random_state=i)) for i in range(4)]
    for voting in ("hard", "soft"):
        model = VotingClassifier(members, voting=voting, weights=[0.1, 0.2, 0.3, 0.3])
        predicts_the_same(model.fit(X, y), X)
    predicts_the_same(AdaBoostClassifier(n_estimators=6, random_state=seed).fit(X, y), X)
    predicts_the_same(BaggingClassifier(tree(2), 5, random_state=seed).fit(X, y), X)
    predicts_the_same(OneVsOneClassifier(tree(2)).fit(X, y), X)


# Form and origins


@pytest.mark.parametrize(
    "name",
    ["AdaBoost of stumps", "bagging trees", "isotonic in a tree's shares", "grid"],
)
@pytest.mark.parametrize("data", ["two classes", "three classes"])
def test_the_fast_engine_supports_ensembles_of_trees(name, data):
    X, y = ROWS[data]
    program = translate(CLASSIFIERS[name].fit(X, y))
    if name.startswith("isotonic") and data == "three classes":
        assert isinstance(program.term, Argmax)  # of quotients
    else:
        assert forest_plan(program) is not None


def test_a_threshold_on_a_forest_is_a_sum_of_trees_as_well():
    X, y = ROWS["two classes"]
    program = translate(THRESHOLDS["a share of the first"].fit(X, y))
    assert forest_plan(program) is not None
    assert isinstance(program.term, Ite)


@pytest.mark.slow
@pytest.mark.parametrize("data", ["two classes", "three classes"])
@pytest.mark.parametrize(
    ("name", "steps"),
    [
        ("AdaBoost of stumps", {"AdaBoostClassifier", "estimators_[0]", "estimators_[11]"}),
        ("bagging lines", {"BaggingClassifier", "estimators_[0]", "estimators_[2]"}),
        ("voting softly by weight", {"VotingClassifier", "tree", "line", "trees"}),
        ("stacking", {"tree", "line", "trees", "boosting", "final_estimator"}),
        ("grid", {"best_estimator_"}),
        ("sigmoid of scores", {"CalibratedClassifierCV", "calibrated_classifiers_[1]"}),
        ("of each other", {"bag > estimators_[0] > estimators_[1]", "stack > hist",
                           "stack > calibrated > calibrated_classifiers_[0]"}),
    ],
)  # fmt: skip
def test_every_part_has_its_member_as_origin(name, steps, data):
    X, y = ROWS[data]
    program = translate(CLASSIFIERS[name].fit(X, y))
    origins = set()
    for point in range(len(program.points.terms)):
        origin = program.origin(program.points.position(Site(point)))
        assert origin is not None
        origins.add(origin.step)
    assert steps <= origins


@pytest.mark.parametrize("name", ["voting softly", "bagging lines", "stacking", "one against one"])
def test_a_part_with_an_origin_has_one_position(name):
    X, y = ROWS["three classes"]
    model = CLASSIFIERS[name].fit(X, y)
    body = translate_part(model, Inputs.raw(input_names(model, None)))
    assert body.origins.keys() & {id(node) for node in postorder(body.output)}
    program = Program.traced(body.output, X.columns.tolist(), body.origins)
    places = Counter(id(term) for term in program.points.terms if id(term) in body.origins)
    assert max(places.values()) == 1


# What is refused


@pytest.mark.parametrize(
    "model",
    [
        AdaBoostClassifier(), BaggingClassifier(), VotingClassifier(MEMBERS),
        StackingClassifier(MEMBERS), GridSearchCV(tree(), {}), CalibratedClassifierCV(),
        OneVsRestClassifier(tree()), OneVsOneClassifier(tree()), DummyClassifier(),
        DummyRegressor(), TunedThresholdClassifierCV(tree()), FixedThresholdClassifier(tree()),
    ],
)  # fmt: skip
def test_a_model_that_is_not_fitted_is_refused(model):
    with pytest.raises(TranslationError, match="is not fitted; call fit first"):
        translate(model)


def fitted(model, data="three classes"):
    X, y = ROWS[data]
    return model.fit(X[:300], y[:300])


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (lambda: FixedThresholdClassifier(tree()).fit([[0], [1]], ["a", "a"]),
         "has 1 classes; a threshold needs two"),
        (lambda: fitted(DummyClassifier(strategy="uniform")), "predicts at random"),
        (lambda: fitted(DummyClassifier(strategy="stratified")), "predicts at random"),
        (lambda: fitted(GridSearchCV(tree(), {"max_depth": [1]}, cv=2, refit=False)),
         "(not fitted|has no fitted model; search with refit=True)"),
    ],
)  # fmt: skip
def test_models_without_a_translation_are_refused(model, message):
    with pytest.raises(TranslationError, match=message):
        translate(model())


def test_several_labels_per_row_are_refused():
    X, y = ROWS["three classes"]
    several = np.column_stack([y == 1, y == 2]).astype(int)
    with pytest.raises(TranslationError, match="several labels per row"):
        translate(OneVsRestClassifier(tree()).fit(X, several))


def test_an_interpolation_that_would_be_too_large_is_refused():
    X, y = ROWS["two classes"]
    trees = RandomForestClassifier(60, random_state=0)
    model = CalibratedClassifierCV(trees, cv=2, method="isotonic").fit(X, y)
    with pytest.raises(TranslationError, match=r"each segment would repeat .*method='sigmoid'"):
        translate(model)


def test_an_unknown_member_is_refused_by_its_step():
    from sklearn.neighbors import KNeighborsClassifier

    model = fitted(VotingClassifier([("tree", tree()), ("near", KNeighborsClassifier())]))
    with pytest.raises(TranslationError, match=r"KNeighborsClassifier \(step 'near'\)"):
        translate(model)
