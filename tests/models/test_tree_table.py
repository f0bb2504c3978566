"""Tables of trees: strict comparisons, categories, and numbers that stand for missing ones."""

from __future__ import annotations

import math

import numpy as np
import pytest

from proxyuse.errors import TranslationError
from proxyuse.lang.nodes import Const, Precision, Var
from proxyuse.models.boosted import TreatedAsMissing, above_one_half
from proxyuse.models.features import Coded, Computed, Fixed, Raw
from proxyuse.models.tree_table import LEAF, TreeTable, among, packed_trees
from proxyuse.program import Origin, Program

WORDS = Coded("job", {"clerk": 0.0, "cook": 1.0, "judge": 2.0}, default=9.0, missing=math.nan)


def stump(**options):
    return TreeTable(
        left=np.array([1, LEAF, LEAF]),
        right=np.array([2, LEAF, LEAF]),
        feature=np.zeros(3, dtype=int),
        threshold=np.zeros(3),
        missing_left=np.zeros(3, dtype=bool),
        leaves=np.array([0.0, 1.0, 2.0], dtype=np.float32),
        precision=Precision.FLOAT64,
        **options,
    )


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({}, "ite(x <= 0, 1, 2)"),
        ({"strict": True}, "ite(x < 0, 1, 2)"),
        ({"members": {0: (3.0, 5.0)}}, "ite(x in {3, 5}, 1, 2)"),
        ({"members": {0: ("a",)}}, "ite(x == 'a', 1, 2)"),
    ],
)
def test_the_test_of_each_node(options, text):
    table = stump(**options)
    table.check(1)
    (term,), _ = packed_trees([table], [Raw("x")], "t", [4])
    assert str(term) == text
    assert set(Program(term).origins.values()) == {Origin("t", 4, node) for node in range(3)}


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ({1: ("a",)}, "at a node that is not a split"),
        ({7: ("a",)}, "at a node that is not a split"),
        ({0: ()}, "has no categories"),
    ],
)
def test_categories_at_the_wrong_node_are_refused(members, message):
    with pytest.raises(TranslationError, match=message):
        stump(members=members).check(1)


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize(
    ("feature", "codes", "true_for"),
    [
        (WORDS, (0.0, 2.0), {"clerk", "judge"}),
        (WORDS, (1.0,), {"cook"}),
        (WORDS, (1.0, 9.0), {"cook", "unseen"}),
        (WORDS, (5.0,), set()),
        (Raw("job"), ("cook", "unseen"), {"cook", "unseen"}),
        (Computed(Var("job")), ("cook",), {"cook"}),
    ],
)
def test_categories_of_any_feature(feature, codes, true_for, missing):
    test = among(feature, codes, missing)
    jobs = ["clerk", "cook", "judge", "unseen", None]
    answers = Program(test.term, ["job"]).predict({"job": jobs}) != test.opposite
    assert answers.tolist() == [job in true_for if job else missing for job in jobs]


def test_membership_of_a_constant_is_a_constant():
    assert among(Fixed(2.0), (1.0, 2.0), False).term == Const(True)
    assert among(Fixed(3.0), (1.0, 2.0), True).term == Const(False)
    assert among(Fixed(math.nan), (1.0, 2.0), True).term == Const(True)


@pytest.mark.parametrize("missing", [True, False])
@pytest.mark.parametrize("threshold", [-2.0, -1.0, -0.5, 0.0, 1.0, 3.0])
@pytest.mark.parametrize("strict", [True, False])
def test_markers_of_missing_values_follow_their_direction(missing, threshold, strict):
    feature = TreatedAsMissing(Raw("x"), -1.0, 1.0)
    test = feature.at_most(threshold, Precision.FLOAT64, missing, strict=strict)
    numbers = np.array([-9.0, -2.0, -1.0, -0.5, 0.0, 1.0, 1.5, 3.0, 9.0, np.nan])
    marked = np.isnan(numbers) | (np.abs(numbers) <= 1)
    below = numbers < threshold if strict else numbers <= threshold
    answers = Program(test.term, ["x"]).predict({"x": numbers}) != test.opposite
    assert answers.tolist() == np.where(marked, missing, below).tolist()


def test_a_probability_above_one_half_is_a_comparison_of_the_score():
    def probability(scores):
        with np.errstate(over="ignore"):
            return 1 / (1 + np.exp(-scores))

    test = above_one_half(Var("x"), probability)
    scores = np.array([-1.0, -1e-17, 0.0, 1e-17, 1e-16, 1e-15, 1.0])
    answers = Program(test, ["x"]).predict({"x": scores})
    assert answers.tolist() == (probability(scores) > 0.5).tolist()
    assert not answers[3]
