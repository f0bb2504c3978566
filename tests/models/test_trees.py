"""A translated tree predicts what the tree predicts, on every row."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from proxyuse.errors import LanguageError, ProxyUseError, TranslationError
from proxyuse.lang.nodes import Const, Precision
from proxyuse.lang.positions import Position, Site
from proxyuse.models.features import Raw
from proxyuse.models.registry import translate
from proxyuse.models.tree_table import LEAF, TreeTable, packed_trees
from proxyuse.program import Origin, Program
from tests.faithful import DATA, predicts_the_same

CLASSIFIERS = [DecisionTreeClassifier, ExtraTreeClassifier]
REGRESSORS = [DecisionTreeRegressor, ExtraTreeRegressor]


def near_thresholds(model, X):
    """Rows with one value at, and next to, each threshold, in both float types."""
    rows = []
    base = np.asarray(X, dtype=np.float64)[0]
    inner = model.tree_.children_left != LEAF
    for feature, threshold in zip(
        model.tree_.feature[inner], model.tree_.threshold[inner], strict=True
    ):
        single = np.float32(threshold)
        for value in (
            threshold,
            np.nextafter(threshold, np.inf),
            np.nextafter(threshold, -np.inf),
            single,
            np.nextafter(single, np.float32(np.inf)),
            np.nextafter(single, np.float32(-np.inf)),
            (float(single) + float(np.nextafter(single, np.float32(np.inf)))) / 2,
        ):
            row = base.copy()
            row[feature] = value
            rows.append(row)
    return np.array(rows)


@pytest.mark.parametrize("kind", CLASSIFIERS)
@pytest.mark.parametrize("data", DATA)
def test_classifiers_on_the_bundled_data(kind, data):
    X, y = DATA[data]()
    predicts_the_same(kind(max_leaf_nodes=200, random_state=0).fit(X, y), X)


@pytest.mark.parametrize("kind", REGRESSORS)
def test_regressors_on_the_bundled_data(kind):
    X, y = DATA["student"]()
    predicts_the_same(kind(random_state=0).fit(X, y), X)


SIZE = st.integers(1, 40)


@given(st.integers(0, 2**32 - 1), SIZE, st.sampled_from(CLASSIFIERS + REGRESSORS), st.booleans())
def test_values_at_and_next_to_a_threshold_take_the_same_branch(seed, n, kind, close):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * (1e-7 if close else 1.0) + (1.0 if close else 0.0)
    y = rng.integers(0, 3, n)
    model = kind(random_state=seed % 1000).fit(X, y)
    program = predicts_the_same(model, X)
    if model.tree_.node_count > 1:
        predicts_the_same(model, near_thresholds(model, X), program)


def test_without_rounding_some_rows_would_take_the_other_branch():
    model = DecisionTreeClassifier().fit([[0.1], [0.2]], [0, 1])
    rows = near_thresholds(model, [[0.0]])
    exact = Program.parse(str(translate(model)).replace("float32: ", ""))
    assert (exact.predict(rows) != model.predict(rows)).any()
    predicts_the_same(model, rows)


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
@pytest.mark.parametrize("seen", [True, False])
def test_missing_values_follow_the_direction_of_each_node(kind, seen):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    missing = rng.random(X.shape) < 0.2
    holes = np.where(missing, np.nan, X)
    for seed in range(5):
        model = kind(random_state=seed, max_leaf_nodes=40).fit(holes if seen else X, y)
        predicts_the_same(model, holes)
        predicts_the_same(model, np.full((1, 4), np.nan))


@pytest.mark.parametrize(
    "classes",
    [["no", "yes"], [False, True], [0, 1], [-5, 12], [0.0, 2.0], ["a", "b", "c"], [3, 1, 2],
     ["", "'", "\n"]],
)  # fmt: skip
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_classes_of_any_type_and_number(kind, classes):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(90, 3))
    y = np.array(classes)[rng.integers(0, len(classes), 90)]
    model = kind(random_state=0, max_depth=4).fit(X, y)
    program = predicts_the_same(model, X)
    assert program.predict(X).dtype.kind == {"U": "O", "b": "b"}.get(y.dtype.kind, "f")


@pytest.mark.parametrize("kind", CLASSIFIERS + REGRESSORS)
def test_a_tree_of_a_single_node_is_a_constant(kind):
    model = kind().fit([[1.0], [2.0]], [1, 1])
    program = predicts_the_same(model, np.array([[5.0], [np.inf - np.inf]]))
    assert isinstance(program.term, Const)
    assert program.inputs == ("x0",)
    assert program.origin(Position(())) == Origin(kind.__name__, 0, 0)


def test_a_tie_in_a_leaf_goes_to_the_first_class():
    model = DecisionTreeClassifier(max_depth=1).fit([[0], [0], [1], [1]], ["b", "a", "b", "a"])
    predicts_the_same(model, np.array([[0.0], [1.0]]))


@pytest.mark.parametrize(
    "options",
    [
        {"class_weight": {0: 1, 1: 5}}, {"criterion": "entropy"}, {"ccp_alpha": 0.01},
        {"monotonic_cst": [1, 0, -1]}, {"splitter": "random"}, {"min_weight_fraction_leaf": 0.1},
    ],
)  # fmt: skip
def test_training_options_do_not_matter(options):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] - X[:, 2] + rng.normal(size=200) > 0).astype(int)
    predicts_the_same(DecisionTreeClassifier(random_state=0, **options).fit(X, y), X)


# Names


def small(X, names=None):
    y = [0, 1, 0, 1]
    model = DecisionTreeClassifier(random_state=0)
    return model.fit(pd.DataFrame(X, columns=names) if names else X, y)


ARRAY = np.array([[1.0, 5.0], [2.0, 6.0], [1.0, 7.0], [2.0, 8.0]])


def test_names_come_from_the_data_frame_the_tree_was_fitted_on():
    program = translate(small(ARRAY, ["age", "pay"]))
    assert program.inputs == ("age", "pay")
    frame = pd.DataFrame(ARRAY[:, ::-1], columns=["pay", "age"])
    assert program.predict(frame).tolist() == [0, 1, 0, 1]


def test_a_tree_fitted_without_names_has_inputs_x0_x1():
    program = translate(small(ARRAY))
    assert program.inputs == ("x0", "x1")
    assert program.predict(ARRAY).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize(
    "names", [["a", "b"], ("a", "b"), np.array(["a", "b"]), pd.Index(["a", "b"])]
)
@pytest.mark.parametrize("fitted", [None, ["age", "pay"]])
def test_the_caller_can_pass_names(names, fitted):
    assert translate(small(ARRAY, fitted), names).inputs == ("a", "b")


@pytest.mark.parametrize("names", [[], ["a"], ["a", "b", "c"]])
def test_a_wrong_number_of_names_is_refused(names):
    with pytest.raises(TranslationError, match="one per feature of the DecisionTreeClassifier"):
        translate(small(ARRAY), names)


def test_two_equal_names_are_refused():
    with pytest.raises(ProxyUseError, match=r"^the input 'a' appears twice$"):
        translate(small(ARRAY), ["a", "a"])


def test_translating_a_program_returns_it():
    program = Program.parse("x")
    assert translate(program) is program


# Origins


def test_every_part_has_its_node_as_origin():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(100, 3))
    model = DecisionTreeClassifier(random_state=0, max_depth=4).fit(X, X[:, 0] * X[:, 1] > 0)
    program = translate(model)
    tree = model.tree_
    nodes = set()
    for point, term in enumerate(program.points.terms):
        origin = program.origin(program.points.position(Site(point)))
        assert origin is not None
        assert origin.node is not None
        assert (origin.step, origin.tree) == ("DecisionTreeClassifier", 0)
        if type(term).__name__ == "Ite":
            guard = program.text_of(term.guard).replace("<=?", "<=")  # type: ignore[union-attr]
            threshold = Const(float(tree.threshold[origin.node]))
            assert guard == f"x{tree.feature[origin.node]} <= {threshold}"
        nodes.add(origin.node)
    assert nodes == set(range(tree.node_count))


# What is refused


def test_a_tree_that_is_not_fitted_is_refused():
    with pytest.raises(TranslationError, match="this DecisionTreeClassifier is not fitted; call"):
        translate(DecisionTreeClassifier())


@pytest.mark.parametrize("kind", [DecisionTreeClassifier, DecisionTreeRegressor])
def test_several_outputs_are_refused(kind):
    with pytest.raises(TranslationError, match="has 2 outputs; only one"):
        translate(kind().fit(ARRAY, ARRAY))


@pytest.mark.parametrize("model", [KNeighborsClassifier(), MLPClassifier()])
def test_the_error_for_an_unknown_model_lists_the_supported_ones(model):
    with pytest.raises(TranslationError, match=r"cannot translate .* supported: trees, forests"):
        translate(model)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "got None; for example, pass DecisionTreeClassifier().fit(X, y)"),
        (3, "got int; for example, pass DecisionTreeClassifier().fit(X, y)"),
        (b"x", "got bytes; for example, pass DecisionTreeClassifier().fit(X, y)"),
        ([DecisionTreeClassifier()], "got list; pass a single model"),
        ({"model": DecisionTreeClassifier()}, "got dict; pass a single model"),
        (ARRAY, "got ndarray; pass the model first, then the data"),
        (pd.DataFrame({"a": [1]}), "got DataFrame; pass the model first, then the data"),
        (DecisionTreeClassifier().predict, "got method; pass the model itself, because a function "
         "cannot be translated"),
    ],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_a_value_that_is_no_model_is_refused_with_advice(value, message):
    with pytest.raises(TranslationError) as error:
        translate(value)
    assert str(error.value) == f"model: expected a fitted model or a program, {message}"


@pytest.mark.parametrize(
    ("kind", "advice"),
    [
        (DecisionTreeClassifier, "pass DecisionTreeClassifier().fit(X, y)"),
        (Program, "pass Program.parse(text)"),
    ],
)
def test_a_class_is_refused_with_the_advice_to_pass_a_model(kind, advice):
    with pytest.raises(TranslationError) as error:
        translate(kind)
    name = kind.__name__
    message = f"model: {name} is a class, not a fitted model; for example, {advice}"
    assert str(error.value) == message


def test_text_is_refused_with_the_advice_to_parse_it():
    with pytest.raises(TranslationError, match=r"as text, use pu\.Program\.parse\(text\)"):
        translate("ite(x <= 1, 0, 1)")


@pytest.mark.parametrize("names", ["ab", 3, iter(["a", "b"])])
def test_names_must_be_a_sequence(names):
    with pytest.raises(TranslationError, match="expected a sequence of names"):
        translate(small(ARRAY), names)


def test_labels_of_unsupported_types_are_refused():
    with pytest.raises(LanguageError, match="not a constant"):
        translate(DecisionTreeClassifier().fit(ARRAY, np.array([b"a", b"b", b"a", b"b"])))


def test_a_subclass_is_translated_like_its_base():
    class Mine(DecisionTreeClassifier):  # type: ignore[misc]
        pass

    predicts_the_same(Mine().fit(ARRAY, [0, 1, 0, 1]), ARRAY)


# Tree tables


def table(left, right, feature=None, threshold=None, leaves=None):
    n = len(left)
    return TreeTable(
        left=np.array(left),
        right=np.array(right),
        feature=np.zeros(n, dtype=int) if feature is None else np.array(feature),
        threshold=np.zeros(n) if threshold is None else np.array(threshold),
        missing_left=np.zeros(n, dtype=bool),
        leaves=np.arange(float(n)) if leaves is None else leaves,
        precision=Precision.FLOAT64,
    )


def test_a_valid_table_becomes_nested_ites():
    sound = table([1, LEAF, 3, LEAF, LEAF], [2, LEAF, 4, LEAF, LEAF], [0, 0, 1, 0, 0])
    sound.check(2)
    (term,), origins = packed_trees([sound], [Raw("a"), Raw("b")], "t", [7])
    assert str(term) == "ite(a <= 0, 1, ite(b <= 0, 3, 4))"
    assert origins == {}
    assert Program(term).origin("root") == Origin("t", 7, 0)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (table([], []), "empty"),
        (table([1, LEAF, LEAF], [2, LEAF, LEAF], leaves=np.ones(1)), "different lengths"),
        (table([1, LEAF], [LEAF, LEAF]), "only one child"),
        (table([1, LEAF, LEAF], [3, LEAF, LEAF]), "not a node: there are 3 nodes"),
        (table([1, LEAF, LEAF], [-2, LEAF, LEAF]), "not a node"),
        (table([0, LEAF, LEAF], [2, LEAF, LEAF]), "not a node"),
        (table([1, LEAF], [1, LEAF]), "shared or not all reachable"),
        (table([1, 3, 3, LEAF, LEAF], [2, 4, 4, LEAF, LEAF]), "shared or not all reachable"),
        (table([1, LEAF, LEAF, LEAF], [2, LEAF, LEAF, LEAF]), "shared or not all reachable"),
        (table([1, LEAF, LEAF, 3, LEAF], [2, LEAF, LEAF, 4, LEAF]), "cycle"),
        (
            table([1, LEAF, LEAF, 4, 3, LEAF, LEAF], [2, LEAF, LEAF, 5, 6, LEAF, LEAF]),
            "cycle",
        ),
        (table([1, LEAF, LEAF], [2, LEAF, LEAF], [2, 0, 0]), "outside its 2 features"),
        (table([1, LEAF, LEAF], [2, LEAF, LEAF], [-2, 0, 0]), "outside its 2 features"),
        (table([1, LEAF, LEAF], [2, LEAF, LEAF], None, [np.nan, 0, 0]), "not a number"),
    ],
)
def test_a_table_that_is_not_a_tree_is_refused(bad, message):
    with pytest.raises(TranslationError, match=message):
        bad.check(2)


def test_the_feature_and_threshold_of_a_leaf_do_not_matter():
    table([1, LEAF, LEAF], [2, LEAF, LEAF], [0, -2, 99], [0.0, np.nan, np.inf]).check(1)


# Imports


def test_importing_and_using_proxyuse_does_not_import_other_libraries():
    code = (
        "import sys, proxyuse as pu; p = pu.Program.parse('ite(x <= 1, 0, 1)');"
        "str(pu.audit(p, {'x': [0, 2, 2], 'z': [0, 1, 1]}, 'z'));"
        "print({'sklearn', 'pandas', 'polars', 'pyarrow'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_a_large_tree_on_every_row_of_adult(kind):
    X, y = DATA["adult"]()
    predicts_the_same(kind(max_leaf_nodes=2000, random_state=0).fit(X, y), X)
