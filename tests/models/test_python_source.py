"""The Python source of a program predicts what the program predicts, row by row."""

from __future__ import annotations

import ast
import json
import math
import subprocess
import sys
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from proxyuse.datasets import load_adult
from proxyuse.errors import LanguageError
from proxyuse.lang.build import lookup, member, vector
from proxyuse.lang.nodes import (
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Precision,
    Relation,
    Term,
    Var,
)
from proxyuse.models.python_source import python_source
from proxyuse.models.registry import translate
from proxyuse.program import Program
from tests.faithful import near_thresholds, sample
from tests.lang.test_depth import DATA as DEEP_DATA
from tests.lang.test_depth import DEEP
from tests.strategies import columns, terms


def run(program, rows, name="predict"):
    """The prediction of the source for each row."""
    module: dict[str, Any] = {}
    exec(compile(python_source(program, name), "<source>", "exec"), module)
    return [module[name](row) for row in rows]


def rows_of(data):
    """The rows of columns."""
    return [dict(zip(data, row, strict=True)) for row in zip(*data.values(), strict=True)]


def missing(value):
    return value is None or (isinstance(value, float) and math.isnan(value))


def same(value, expected, *, exactly):
    """Whether two outputs are one; numbers behind exponentials to the last bits."""
    if isinstance(expected, list):
        return len(value) == len(expected) and all(
            same(a, b, exactly=exactly) for a, b in zip(value, expected, strict=True)
        )
    if missing(value) or missing(expected):
        return missing(value) and missing(expected)
    if isinstance(expected, float) and not exactly:
        return math.isclose(value, expected, rel_tol=1e-12, abs_tol=1e-300)
    return value == expected


INEXACT = {Function.EXP, Function.LOG, Function.SIGMOID, Function.SOFTMAX}


def agrees(program, data, rows=None):
    """Check the source on every row of some columns."""
    exactly = not any(
        isinstance(term, Call) and term.function in INEXACT for term in program.points.terms
    )
    outputs = run(program, rows_of(data) if rows is None else rows)
    expected = program.predict(data).tolist()
    assert len(outputs) == len(expected)
    wrong = [
        (number, a, b)
        for number, (a, b) in enumerate(zip(outputs, expected, strict=True))
        if not same(a, b, exactly=exactly)
    ]
    assert not wrong, wrong[:5]


@given(terms(), columns(5))
def test_random_programs(term, data):
    agrees(Program(term), data)


EDGES = {
    "x": [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.1, 3e38, 3.5e38, -1e300, 800.0],
    "y": [1.0, math.inf, 0.0, 0.0, 2.0, -0.0, math.nan, 0.1, -3e38, 1e39, 1e300, -800.0],
    "word": [None, "a", "b", "a", "c", None, "a", "b", "c", "a", "b", ""],
    "flag": [True, False, None, True, True, False, None, True, False, True, False, None],
}


@pytest.mark.parametrize(
    "text",
    [
        "div(x, y)",
        "exp(x)",
        "log(x)",
        "sqrt(x)",
        "abs(x) * -1",
        "sigmoid(x)",
        "fill(x, y)",
        "softmax([x, y, 1])",
        "median([x, y, 1, 2, 0.5], [1, 2, 0, 1, 1])",
        "median([x, y], [0, 0])",
        "argmax([x, y, 0])",
        "argmax([x, y, 0], 'one', missing, 'three')",
        "argmax([x, y], [1, 2], missing)",
        "[x, 1] * y + [0, y]",
        "2 * 3 * [x, y]",
        "div([x, y], x)",
        "ite(flag, [x, y], missing)",
        "ite(flag, word, missing)",
        "ite(flag, ite(x <= 0, missing, missing), [x, y]) + [1, 2]",
        "flag",
        "not flag",
        "flag and x <= 1 or not (flag or x > y)",
        "(flag and x <= 1) + flag * -0.5",
        "word",
        "word == 'a'",
        "word != 'a'",
        "word ==? 'a'",
        "word !=? 'a'",
        "word == missing",
        "word in {'a', 'b'}",
        "word in? {'a', 'b'}",
        "x in {0, 1, 0.1}",
        "x in? {0, 1, 0.1}",
        "flag in {true}",
        "table(word, {'a': 1, missing: 2}, 3)",
        "table(word, {'a': 'b', 'b': missing}, 'c')",
        "table(word, {'a': [1, 2]}, missing)",
        "table(x, {0: true, missing: false}, missing)",
        "ite(table(word, {'a': true}, missing), 1, 0)",
        "(x <= 1) == flag",
        "(x <= y) <= (y <= x)",
        "x * y * (x + y + -2)",
        *(f"x {relation}{mark} y" for relation in Relation for mark in ("", "?")),
        *(f"float32: x {relation}{mark} y" for relation in Relation for mark in ("", "?")),
        *(f"float32: x {relation} 0.1" for relation in Relation),
    ],
)
def test_edge_cases_of_every_operator(text):
    agrees(Program.parse(text), EDGES)


def test_missing_strings_can_be_compared_in_float32():
    term = Compare(Relation.EQ, Var("word"), Var("word"), precision=Precision.FLOAT32)
    agrees(Program(term), EDGES)


@pytest.mark.parametrize("size", [2, 9, 2000])
def test_long_operators_are_computed_from_left_to_right(size):
    rng = np.random.default_rng(size)
    data = {"x": rng.normal(size=20).tolist(), "y": (rng.normal(size=20) * 1e8).tolist()}
    terms = [f"{rng.normal()!r} * {rng.choice(['x', 'y'])}" for _ in range(size)]
    agrees(Program.parse(" + ".join(terms)), data)
    agrees(Program.parse(" * ".join(["x", "1.1"] * (size // 2 + 1))), data)
    agrees(Program.parse(" and ".join(f"x <= {i + 1}" for i in range(size))), data)


# Models


MODELS = {
    "forest": lambda: RandomForestClassifier(12, max_depth=7, random_state=0),
    "forest of numbers": lambda: RandomForestRegressor(5, max_depth=6, random_state=0),
    "tree": lambda: DecisionTreeClassifier(random_state=0),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=8, random_state=0),
    "histogram boosting": lambda: HistGradientBoostingClassifier(max_iter=2, max_leaf_nodes=8),
    "median": lambda: AdaBoostRegressor(n_estimators=6, random_state=0),
    "naive Bayes": lambda: GaussianNB(),
    "logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
}


@pytest.mark.parametrize("classes", ["adult", "contraceptive"])
@pytest.mark.parametrize("name", MODELS)
def test_models(name, classes):
    X, y = sample(classes, 600)
    model = MODELS[name]().fit(X, y)
    program = translate(model)
    rows = np.vstack([X.to_numpy()[:200], *near_thresholds(program, X)[:600]])
    if name not in ("histogram boosting", "tree", "forest"):
        rows = rows[~np.isnan(rows).any(axis=1)]
    data = {name: rows[:, column] for column, name in enumerate(program.inputs)}
    agrees(program, data)


def test_models_of_xgboost_and_lightgbm_with_missing_values():
    import lightgbm
    import xgboost

    X, y = sample("contraceptive", 600)
    X = X.mask(np.random.default_rng(0).random(X.shape) < 0.1)
    for model in (
        xgboost.XGBClassifier(n_estimators=5, max_depth=4),
        lightgbm.LGBMClassifier(n_estimators=5, verbose=-1),
    ):
        program = translate(model.fit(X, y))
        agrees(program, X.to_dict("list"))
        assert run(program, X.to_dict("records")) == np.asarray(model.predict(X)).tolist()


def pipeline():
    data = load_adult().iloc[:1500]
    X, y = data.drop(columns="income"), data["income"]
    numbers = X.select_dtypes("number").columns
    words = X.columns.difference(numbers)
    X = X.astype(dict.fromkeys(words, object))
    X[words] = X[words].where(X[words].notna(), np.nan)
    columns = make_column_transformer(
        (make_pipeline(SimpleImputer(strategy="median"), StandardScaler()), list(numbers)),
        (OneHotEncoder(handle_unknown="ignore"), list(words)),
    )
    return columns, X, y


@pytest.mark.parametrize(
    "last", [DecisionTreeClassifier(max_depth=8), LogisticRegression(max_iter=2000)]
)
def test_a_pipeline_with_categories(last):
    columns, X, y = pipeline()
    model = make_pipeline(columns, last).fit(X, y)
    rows = X.to_dict("records")
    rows += [{**rows[0], "age": None, "workclass": None, "occupation": "of another kind"}]
    X = pd.DataFrame(rows)
    agrees(translate(model), X, rows)


# Depth


@pytest.mark.parametrize("shape", DEEP)
def test_deep_programs(shape):
    program = Program.parse(DEEP[shape](2000))
    agrees(program, {name: DEEP_DATA[name] for name in ("x", "y")})


def test_the_indentation_of_a_deep_tree_is_limited():
    rng = np.random.default_rng(0)
    X = np.exp(rng.normal(size=(3000, 2)) * 5)
    model = DecisionTreeClassifier(random_state=0, splitter="random").fit(
        X, rng.integers(0, 2, 3000)
    )
    assert model.get_depth() > 20
    program = translate(model)
    deepest = max(len(line) - len(line.lstrip()) for line in python_source(program).splitlines())
    assert deepest <= 4 * 30
    agrees(program, {"x0": X[:, 0], "x1": X[:, 1]})


# Text from elsewhere

HOSTILE = [
    "a\nimport os",
    "quote'",
    "both'\"",
    "'''",
    '"""',
    "back\\slash",
    "ends\\",
    "\\N{BULLET}",
    "{braces} %s {}",
    " {} ",
    "nul\0",
    "\u202eturned",
    "\u2028line",
    "\r",
    "'] or exit() or row['",
    "für",
    "",
    "\ud800",
    "__class__",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_names_and_categories_are_quoted(text):
    table = lookup(Var("other"), [(text, text)], "no")
    tests: list[Term] = [
        Compare(Relation.EQ, Var("other"), Const(text)),
        member(Var("other"), [text]),
        member(Var("other"), [text, *map(str, range(10))], missing=True),
        Compare(Relation.LE, Var(text), Const(1.0)),
    ]
    data = {text: [0.0, 2.0, math.nan], "other": [text, "b", None]}
    rows = rows_of(data)
    for term in [table, *tests, Argmax(vector(Var(text), Const(1.0)), (text, "no"))]:
        program = Program(term)
        outputs = run(program, rows)
        tree = ast.parse(python_source(program))
        called = {
            n.func.id
            for n in ast.walk(tree)
            if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)
        }
        assert not called & {"exit", "exec", "eval", "open"}
        assert [n.names[0].name for n in ast.walk(tree) if isinstance(n, ast.Import)] == ["math"]
        if text != "\ud800" or term in tests:
            expected = program.predict({k: data[k] for k in program.variables}).tolist()
            assert outputs == expected


@given(st.text(max_size=8), st.text(max_size=8))
def test_any_name_and_category_can_be_quoted(name, word):
    term = Compare(Relation.NE, Var(name), Const(word))
    (output,) = run(Program(term), [{name: word + "!"}])
    assert output is True


@pytest.mark.parametrize("name", ["", "a b", "class", "_row", "float", "math", "x\n", "1x", "f()"])
def test_the_name_of_the_function_is_checked(name):
    with pytest.raises(LanguageError, match="cannot be called"):
        python_source(Program.parse("x"), name)


def test_the_function_can_have_another_name():
    assert run(Program.parse("x + 1"), [{"x": 1}], name="score") == [2.0]


# The module


def test_a_module_needs_only_the_standard_library(tmp_path):
    X, y = sample("contraceptive", 300)
    program = translate(RandomForestClassifier(5, random_state=0).fit(X, y))
    (tmp_path / "model.py").write_text(python_source(program), encoding="utf-8")
    code = (
        "import json, sys; from model import predict;"
        "rows = json.loads(sys.stdin.read()); print(json.dumps([predict(r) for r in rows]));"
        "assert not {'proxyuse', 'numpy', 'sklearn'} & set(sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-c", f"import sys; sys.path.insert(0, {str(tmp_path)!r}); {code}"],
        input=X.to_json(orient="records"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(done.stdout) == program.predict(X).tolist()


def test_the_source_is_deterministic_and_describes_its_program():
    program = Program.parse("ite(age <= 30, 0, 1)")
    text = python_source(program)
    assert text == python_source(Program.parse(str(program)))
    assert f"{program.size} nodes" in text
    assert program.term.digest.hex() in text
    assert python_source(Program.parse("ite(age <= 31, 0, 1)")) != text


def test_a_program_without_columns():
    assert run(Program.parse("lambda age . 1"), [{}]) == [1.0]
    assert run(Program.parse("missing"), [{}]) == [None]


def test_a_forest_has_a_function_for_each_tree():
    X, y = sample("adult", 300)
    program = translate(RandomForestClassifier(7, max_depth=5, random_state=0).fit(X, y))
    functions = [line for line in python_source(program).splitlines() if "def _part" in line]
    assert len(functions) == 7


@pytest.mark.parametrize("absent", [None, math.nan, pd.NA, np.float32("nan")])
def test_all_missing_values_are_the_same(absent):
    program = Program.parse("ite(x <=? 1, 'yes', 'no')")
    assert run(program, [{"x": absent}, {"x": np.float32(2)}, {"x": 1}]) == ["yes", "no", "yes"]


def test_booleans_of_numpy_are_accepted():
    program = Program.parse("ite(flag, 'yes', 'no')")
    assert run(program, [{"flag": np.True_}, {"flag": np.False_}]) == ["yes", "no"]


def test_a_missing_column_is_a_key_error():
    with pytest.raises(KeyError, match="x"):
        run(Program.parse("x + 1"), [{"y": 1}])
