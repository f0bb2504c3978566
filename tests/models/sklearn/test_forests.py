"""A translated forest predicts what the forest predicts, on every row and to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    RandomTreesEmbedding,
)
from sklearn.tree import DecisionTreeClassifier

from proxyuse.errors import TranslationError
from proxyuse.lang.nodes import Add, Argmax, Call, Ite
from proxyuse.lang.positions import Position, Site
from proxyuse.models.registry import translate
from proxyuse.program import Origin, Program
from tests.faithful import DATA, predicts_the_same

CLASSIFIERS = [RandomForestClassifier, ExtraTreesClassifier]
REGRESSORS = [RandomForestRegressor, ExtraTreesRegressor]
ALL = CLASSIFIERS + REGRESSORS


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("data", DATA)
def test_classifiers_on_the_bundled_data(kind, data):
    X, y = DATA[data]()
    predicts_the_same(kind(10, max_depth=6, random_state=0).fit(X, y), X)


@pytest.mark.parametrize("kind", REGRESSORS)
@pytest.mark.parametrize("depth", [5, None])
def test_regressors_on_the_bundled_data(kind, depth):
    X, y = DATA["student"]()
    predicts_the_same(kind(10, max_depth=depth, random_state=0).fit(X, y), X)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_a_hundred_trees_on_every_row_of_adult(kind):
    X, y = DATA["adult"]()
    y = y == ">50K"
    predicts_the_same(kind(100, max_depth=8, random_state=0).fit(X, y), X)


SEED = st.integers(0, 2**31)


@given(SEED, st.integers(1, 30), st.integers(1, 9), st.sampled_from(ALL), st.booleans())
def test_forests_of_any_size_on_rows_that_tie_often(seed, n, trees, kind, bootstrap):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n, 2)) / 7
    y = rng.integers(0, 3, n)
    model = kind(trees, max_depth=2, bootstrap=bootstrap, random_state=seed).fit(X, y)
    program = predicts_the_same(
        model, np.stack(np.meshgrid(*[np.arange(3) / 7] * 2), -1).reshape(-1, 2)
    )
    assert Program.parse(str(program)) == program
    predicts_the_same(model, X, Program.parse(str(program)))


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("seen", [True, False])
def test_missing_values_follow_the_direction_of_each_node(kind, seen):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    holes = np.where(rng.random(X.shape) < 0.2, np.nan, X)
    model = kind(12, max_leaf_nodes=20, random_state=0).fit(holes if seen else X, y)
    predicts_the_same(model, holes)
    predicts_the_same(model, np.full((1, 4), np.nan))


@pytest.mark.parametrize(
    "classes",
    [["no", "yes"], [False, True], [0, 1], [-5, 12], [0.0, 2.0], ["a", "b", "c"], [3, 1, 2, 8],
     ["", "'", "\n"]],
)  # fmt: skip
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classes_of_any_type_and_number(kind, classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    y = np.array(classes)[rng.integers(0, len(classes), 90)]
    program = predicts_the_same(kind(7, random_state=0, max_depth=4).fit(X, y), X)
    assert program.predict(X).dtype.kind == {"U": "O", "b": "b"}.get(y.dtype.kind, "f")


@pytest.mark.parametrize(
    "options",
    [
        {"bootstrap": False}, {"warm_start": True}, {"oob_score": True, "bootstrap": True},
        {"max_samples": 0.5}, {"max_features": 1}, {"ccp_alpha": 0.01}, {"n_jobs": 1},
        {"min_weight_fraction_leaf": 0.1}, {"monotonic_cst": [1, 0, -1]},
    ],
)  # fmt: skip
@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_training_options_do_not_matter(kind, options):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] - X[:, 2] + rng.normal(size=200) > 0).astype(int)
    predicts_the_same(kind(40, max_depth=4, random_state=0, **options).fit(X, y), X)


@pytest.mark.parametrize("weight", [{0: 1, 1: 5}, "balanced", "balanced_subsample"])
def test_class_weights_do_not_matter(weight):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] > 1).astype(int)
    model = RandomForestClassifier(15, max_depth=3, class_weight=weight, random_state=0)
    predicts_the_same(model.fit(X, y), X)


def test_trees_added_by_warm_start_are_translated():
    X, y = DATA["contraceptive"]()
    model = RandomForestClassifier(3, max_depth=3, warm_start=True, random_state=0).fit(X, y)
    model.set_params(n_estimators=8).fit(X, y)
    program = predicts_the_same(model, X)
    assert len(sum_of(program).operands) == 8


# Ties


def sum_of(program):
    """The sum of the trees."""
    mean = program.term.operand if isinstance(program.term, Argmax) else program.term
    assert isinstance(mean, Call)
    total = mean.arguments[0]
    assert isinstance(total, Add)
    return total


def forest_of(counts):
    """A forest whose tree t says, at x0 = i, that class c has counts[i][t][c] of the leaf."""
    counts = np.array(counts, dtype=float)
    cases, trees, classes = counts.shape
    X = np.repeat(np.arange(cases), classes)[:, None]
    y = np.tile(np.arange(classes), cases)
    model = RandomForestClassifier(trees, max_depth=1).fit(X, y)
    model.estimators_ = [
        DecisionTreeClassifier(random_state=0).fit(X, y, sample_weight=counts[:, t].ravel())
        for t in range(trees)
    ]
    return model, np.arange(cases)[:, None].astype(float)


def sums(model, X):
    """The class shares added up, as scikit-learn adds them."""
    total = np.zeros((len(X), model.n_classes_))
    for tree in model.estimators_:
        total += tree.predict_proba(X)
    return total


# Both classes have the same share, added up in different orders.
QUOTIENTS_TIE = [
    [[8, 2], [1, 9], [2, 8], [1, 1], [4, 1], [9, 1], [1, 4]],
    [[7, 5], [1, 1], [7, 8], [8, 7], [4, 1], [5, 7], [1, 4]],
]
PRODUCTS_TIE_ELSEWHERE = [
    [[9, 2], [2, 4], [1, 1], [0, 3], [4, 2], [3, 0], [2, 9]],
    [[3, 8], [0, 9], [1, 1], [5, 9], [8, 3], [9, 5], [9, 0]],
]


def test_different_sums_with_the_same_quotient_are_a_tie():
    model, X = forest_of(QUOTIENTS_TIE)
    assert sums(model, X).argmax(axis=1).tolist() == [1, 1]
    assert model.predict(X).tolist() == [0, 0]
    predicts_the_same(model, X)


def test_multiplying_by_one_over_n_would_differ():
    model, X = forest_of(PRODUCTS_TIE_ELSEWHERE)
    product = (sums(model, X) * (1 / 7)).argmax(axis=1)
    assert (product != model.predict(X)).all()
    predicts_the_same(model, X)


def test_the_order_of_the_trees_decides_some_ties():
    model, X = forest_of(PRODUCTS_TIE_ELSEWHERE)
    program = translate(model)
    before = model.predict(X).tolist()
    model.estimators_ = model.estimators_[::-1]
    assert model.predict(X).tolist() != before
    predicts_the_same(model, X)
    assert program.predict(X).tolist() == before


@st.composite
def tied(draw):
    """Leaves whose shares add up to the same for two classes, but for rounding."""
    half = draw(st.lists(st.tuples(st.integers(0, 12), st.integers(1, 12)), min_size=1, max_size=9))
    leaves = [list(leaf) for leaf in half] + [list(leaf[::-1]) for leaf in half]
    if draw(st.booleans()):
        leaves.append([1, 1])
    return draw(st.permutations(leaves))


@given(tied().map(lambda leaves: [leaves]))
@example(QUOTIENTS_TIE)
@example(PRODUCTS_TIE_ELSEWHERE)
def test_rounding_decides_ties(cases):
    model, X = forest_of(cases)
    predicts_the_same(model, X)


def test_an_exact_tie_goes_to_the_first_class():
    model, X = forest_of([[[1, 0, 0], [0, 1, 0]], [[0, 0, 1], [0, 1, 0]]])
    assert predicts_the_same(model, X).predict(X).tolist() == [0, 1]


# Form


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_classifier_is_the_argmax_of_a_mean_of_trees(kind):
    X, y = DATA["contraceptive"]()
    program = translate(kind(4, max_depth=1, random_state=0).fit(X, y))
    assert isinstance(program.term, Argmax)
    assert program.term.labels == (1.0, 2.0, 3.0)
    total = sum_of(program)
    assert len(total.operands) == 4
    assert all(isinstance(tree, Ite) for tree in total.operands)
    assert program.text_of(program.term).endswith(", 4), 1, 2, 3)")


@pytest.mark.parametrize("kind", REGRESSORS)
def test_a_regressor_is_a_mean_of_trees(kind):
    X, y = DATA["student"]()
    program = translate(kind(4, max_depth=1, random_state=0).fit(X, y))
    assert len(sum_of(program).operands) == 4
    assert program.text_of(program.term).endswith(", 4)")


@pytest.mark.parametrize("kind", ALL)
def test_a_forest_of_one_tree_has_no_division(kind):
    X, y = DATA["contraceptive"]()
    program = predicts_the_same(kind(1, max_depth=3, random_state=0).fit(X, y), X)
    tree = program.term.operand if kind in CLASSIFIERS else program.term
    assert isinstance(tree, Ite)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("trees", [1, 3])
def test_trees_of_single_nodes(kind, trees):
    model = kind(trees).fit([[1.0], [2.0]], [1, 1])
    program = predicts_the_same(model, np.array([[5.0], [-1.0]]))
    assert program.inputs == ("x0",)
    assert program.variables == ()


def test_names_come_from_the_data_frame_or_the_caller():
    X, y = DATA["contraceptive"]()
    model = RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, y)
    assert translate(model).inputs == tuple(X.columns)
    names = [f"f{i}" for i in range(X.shape[1])]
    assert translate(model, names).inputs == tuple(names)
    with pytest.raises(TranslationError, match=r"expected 9 names, .* got 1"):
        translate(model, ["a"])


@pytest.mark.parametrize("kind", ALL)
def test_every_part_has_its_tree_and_node_as_origin(kind):
    X, y = DATA["contraceptive"]()
    model = kind(3, max_depth=3, random_state=0).fit(X, y)
    program = translate(model)
    assert program.origin(Position(())) == Origin(kind.__name__)
    seen = set()
    for point, term in enumerate(program.points.terms):
        origin = program.origin(program.points.position(Site(point)))
        assert origin is not None
        assert origin.step == kind.__name__
        if origin.tree is None or origin.node is None:
            assert origin == Origin(kind.__name__)
            continue
        seen.add((origin.tree, origin.node))
        if isinstance(term, Ite):
            tree = model.estimators_[origin.tree].tree_
            guard = program.text_of(term.guard).replace("<=?", "<=")
            name = X.columns[tree.feature[origin.node]]
            assert guard.split(" <= ")[0] == name
            assert float(guard.split(" <= ")[1]) == tree.threshold[origin.node]
    sizes = [tree.tree_.node_count for tree in model.estimators_]
    assert seen == {(tree, node) for tree, size in enumerate(sizes) for node in range(size)}


# What is refused


@pytest.mark.parametrize("kind", ALL)
def test_a_forest_that_is_not_fitted_is_refused(kind):
    with pytest.raises(TranslationError, match=f"this {kind.__name__} is not fitted; call fit"):
        translate(kind())


@pytest.mark.parametrize("kind", ALL)
def test_several_outputs_are_refused(kind):
    rows = np.array([[1.0, 5.0], [2.0, 6.0]])
    with pytest.raises(TranslationError, match="has 2 outputs; only one"):
        translate(kind(2).fit(rows, rows))


def test_a_forest_that_does_not_predict_is_refused():
    with pytest.raises(TranslationError, match=r"cannot translate .*RandomTreesEmbedding"):
        translate(RandomTreesEmbedding())


def test_a_subclass_is_translated_like_its_base():
    class Mine(RandomForestClassifier):  # type: ignore[misc]
        pass

    X, y = DATA["contraceptive"]()
    predicts_the_same(Mine(3, max_depth=3, random_state=0).fit(X, y), X)
