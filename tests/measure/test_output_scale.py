"""Which way is up: the positive class or larger numbers."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import proxyuse as pu
from proxyuse.measure.output_scale import Scale

RNG = np.random.default_rng(0)
X = RNG.integers(0, 9, (200, 2)).astype(float)
Z = {"z": RNG.integers(0, 2, 200)}
TWO = np.where(X[:, 0] + X[:, 1] > 8, ">50K", "<=50K")
THREE = np.array(["low", "middle", "high"])[(X.sum(axis=1) // 6).astype(int)]


def scale(model: object, **options: object) -> Scale:
    return pu.audit(model, X, Z, **options).scale  # type: ignore[arg-type]


def test_the_second_class_of_a_model_is_positive() -> None:
    assert scale(DecisionTreeClassifier().fit(X, TWO)).names == ("<=50K", ">50K")
    assert scale(LogisticRegression().fit(X, TWO == ">50K")).names == ("false", "true")


def test_a_decision_names_the_positive_class() -> None:
    model = DecisionTreeClassifier(max_depth=3).fit(X, TWO)
    assert scale(model, decision=pu.Threshold(0.4, "<=50K")).names == (">50K", "<=50K")
    assert scale(model, decision=pu.Threshold(0.4)).names == ("<=50K", ">50K")
    several = DecisionTreeClassifier(max_depth=3).fit(X, THREE)
    assert scale(several, decision=pu.Positive("high")).names == ("not high", "high")
    assert scale(several, decision=pu.Threshold(0.3, "low")).names == ("not low", "low")
    top = scale(several, decision=pu.TopK(20, "low"))
    assert top.names == ("not in the top 20", "in the top 20")


def test_several_classes_have_no_direction() -> None:
    several = scale(DecisionTreeClassifier(max_depth=3).fit(X, THREE))
    assert several.kind == "classes"
    assert set(several.names) == {"low", "middle", "high"}
    numbered = scale(DecisionTreeClassifier(max_depth=3).fit(X, (X.sum(axis=1) // 6).astype(int)))
    assert (numbered.kind, numbered.names) == ("classes", ("0", "1", "2"))


def test_a_regressor_has_numbers_even_if_it_has_two_leaves() -> None:
    assert scale(DecisionTreeRegressor(max_depth=1).fit(X, X[:, 0])).kind == "number"


@pytest.mark.parametrize(
    ("text", "kind", "names"),
    [
        ("ite(x0 > 3, 'yes', 'no')", "class", ("no", "yes")),
        ("ite(x0 > 3, 0, 1)", "class", ("0", "1")),
        ("x0 > 3", "class", ("false", "true")),
        ("ite(x0 > 3, 'a', ite(x1 > 3, 'b', 'c'))", "classes", ("a", "b", "c")),
        ("ite(x0 > 3, 1, ite(x1 > 3, 2, 7))", "number", ()),
        ("2 * x0", "number", ()),
    ],
)
def test_a_program_is_read_from_its_constants(text: str, kind: str, names: tuple[str, ...]) -> None:
    data = {"x0": X[:, 0], "x1": X[:, 1], **Z}
    found = pu.audit(pu.Program.parse(text), data, "z").scale
    assert (found.kind, found.names) == (kind, names)
