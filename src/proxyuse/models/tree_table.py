"""Decision trees as tables of nodes, their validation, and their packed terms.

The trees of every library pass through here, so all of them are validated in the same way.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.build import member
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const, Precision, Term, Value
from proxyuse.lang.packed import Forest, Tests
from proxyuse.models.feature_tests import Test, TestColumns
from proxyuse.models.features import Coded, Feature, Fixed, Raw
from proxyuse.models.translation import Origins
from proxyuse.program import Origin

LEAF = -1


@dataclass(frozen=True, slots=True, eq=False)
class TreeTable:
    """Node i goes to `left[i]` if its feature is at most its threshold, else to `right[i]`.

    Attributes
    ----------
    left, right : children; LEAF in both for a leaf.
    feature, threshold : what an inner node compares.
    missing_left : whether a missing value goes left.
    leaves : the value of each node if it is a leaf: a number, or a row of numbers.
    precision : the float type to which features are rounded before a comparison.
    strict : whether a feature equal to its threshold goes right.
    members : the categories that go left, for each categorical split.
    unreachable : leaves that were cut off by pruning.
    """

    left: Array
    right: Array
    feature: Array
    threshold: Array
    missing_left: Array
    leaves: Array
    precision: Precision
    strict: bool = False
    members: Mapping[int, tuple[Value, ...]] = field(default_factory=dict)
    unreachable: frozenset[int] = frozenset()

    def check(self, n_features: int) -> None:
        """Raise an error if the table is not a tree over `n_features` features."""
        n = len(self.left)
        lengths = {
            len(column)
            for column in (self.right, self.feature, self.threshold, self.missing_left, self.leaves)
        }
        if lengths != {n} or n == 0:
            raise TranslationError("the tree's arrays are empty or of different lengths")
        inner = self.left != LEAF
        if np.any(inner != (self.right != LEAF)):
            raise TranslationError("a node of the tree has only one child")
        children = np.concatenate([self.left[inner], self.right[inner]])
        if np.any((children < 1) | (children >= n)):
            raise TranslationError(f"a child of the tree is not a node: there are {n} nodes")
        linked = n - len(self.unreachable)
        if len(children) != linked - 1 or np.bincount(children, minlength=n).max() > 1:
            raise TranslationError("the tree's nodes are shared or not all reachable")
        features = self.feature[inner]
        if np.any((features < 0) | (features >= n_features)):
            raise TranslationError(f"the tree uses a feature outside its {n_features} features")
        missing = np.flatnonzero(np.isnan(self.threshold) & inner)
        if not self.members.keys() >= set(missing.tolist()):  # XGBoost 2 wrote NaN at categories
            raise TranslationError("a threshold of the tree is not a number")
        if not all(0 <= node < n and inner[node] for node in self.members):
            raise TranslationError("the tree has categories at a node that is not a split")
        if not all(self.members.values()):
            raise TranslationError("a categorical split of the tree has no categories")
        self._preorder()

    def _preorder(self) -> Sequence[int]:
        """The nodes, each before its children.

        Every node is the child of at most one other, so only nodes on a cycle are not reached.
        """
        inner = np.flatnonzero(self.left != LEAF)
        in_order = np.all(inner < np.minimum(self.left[inner], self.right[inner]))
        if in_order and not self.unreachable:
            return range(len(self.left))
        lefts, rights = self.left.tolist(), self.right.tolist()
        order = [0]
        for node in order:
            if lefts[node] != LEAF:
                order += (lefts[node], rights[node])
        if len(order) != len(lefts) - len(self.unreachable):
            raise TranslationError("the tree has a cycle")
        return order


def packed_trees(
    tables: Sequence[TreeTable], features: Sequence[Feature], step: str, numbers: Sequence[int]
) -> tuple[list[Term], Origins]:
    """The trees of one model as terms, packed in one forest; a tree of one leaf is a constant.

    `step` and `numbers` are the origins of the trees. Equal tests are stored once for all trees.
    A node that sends every row to the same side is omitted. The forest stores the origins of its
    parts; those of constants are returned. Takes O(n log n) time for n nodes.
    """
    from proxyuse.lang import packed_loops  # loads numba

    sizes = [len(table.left) for table in tables]
    begins = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    left, right = (
        np.concatenate([np.where(side != LEAF, side + begin, LEAF) for side, begin in pairs])
        for pairs in (
            zip([table.left for table in tables], begins, strict=False),
            zip([table.right for table in tables], begins, strict=False),
        )
    )
    inner = np.flatnonzero(left != LEAF)
    node_tests = _node_tests(tables, features, begins, inner)
    test, opposite = np.full(len(left), -1, dtype=np.int32), np.zeros(len(left), dtype=np.bool_)
    real = node_tests.shape >= 0
    tests, index = Tests.distinct(node_tests.shapes, node_tests.shape[real], node_tests.cut[real])
    test[inner] = node_tests.shape
    test[inner[real]] = index
    opposite[inner] = node_tests.opposite
    nodes, leaves = len(inner), len(left) - len(inner)
    columns = [np.empty(size, dtype=np.int32) for size in (nodes, nodes, nodes, nodes, leaves)]
    ends = [np.empty(len(tables) + extra, dtype=np.int32) for extra in (0, 1, 1)]
    packed_loops.lay_out(
        left.astype(np.int32), right.astype(np.int32), test, opposite, begins[:-1], *columns, *ends
    )
    starts, first_node, first_leaf = ends
    new_test, then, otherwise, source, leaf_source = (
        column[: first[-1]].copy()
        for column, first in zip(columns, (*[first_node] * 4, first_leaf), strict=True)
    )
    values = np.concatenate([table.leaves for table in tables])[leaf_source]
    forest = Forest(
        tests=tests,
        test=new_test,
        then=then,
        otherwise=otherwise,
        starts=starts,
        first_node=first_node,
        first_leaf=first_leaf,
        leaves=values.astype(np.float64),
        step=step,
        trees=np.array(numbers, dtype=np.int32),
        sources=_numbers_in_tree(source, begins),
        leaf_sources=_numbers_in_tree(leaf_source, begins),
    )
    terms = [forest.tree(number) for number in range(len(tables))]
    origins = {
        id(term): Origin(step, number, int(forest.leaf_sources[-1 - start]))
        for term, number, start in zip(terms, numbers, starts.tolist(), strict=True)
        if start < 0
    }
    return terms, origins


def _numbers_in_tree(nodes: Array, begins: Array) -> Array:
    """The numbers of nodes within their trees."""
    tree = np.searchsorted(begins, nodes, side="right") - 1
    return (nodes - begins[tree]).astype(np.int32)


def _node_tests(
    tables: Sequence[TreeTable], features: Sequence[Feature], begins: Array, inner: Array
) -> TestColumns:
    """The test of each inner node; all features share one list of shapes."""
    feature = np.concatenate([table.feature for table in tables])[inner]
    threshold = np.concatenate([table.threshold for table in tables])[inner].astype(np.float64)
    missing = np.concatenate([table.missing_left for table in tables])[inner].astype(np.bool_)
    tests_by_node = TestColumns.empty(len(inner))
    listed = {
        int(begin) + node: values
        for table, begin in zip(tables, begins, strict=False)
        for node, values in table.members.items()
    }
    rows = np.searchsorted(inner, np.array(list(listed), dtype=np.int64))
    category_tests: dict[tuple[int, tuple[Value, ...], bool], Test] = {}
    for row, values in zip(rows.tolist(), listed.values(), strict=True):
        key = (int(feature[row]), values, bool(missing[row]))
        if key not in category_tests:
            category_tests[key] = among(features[key[0]], values, key[2])
        tests_by_node.put(row, category_tests[key])
    compared = np.ones(len(inner), dtype=np.bool_)
    compared[rows] = False
    compared_rows = np.flatnonzero(compared)
    order = compared_rows[np.argsort(feature[compared_rows], kind="stable")]
    numbers, begin = np.unique(feature[order], return_index=True)
    for number, rows_of_feature in zip(numbers.tolist(), np.split(order, begin)[1:], strict=True):
        first, index = _distinct(threshold[rows_of_feature], missing[rows_of_feature])
        tests = features[number].each_at_most(
            threshold[rows_of_feature[first]],
            tables[0].precision,
            missing[rows_of_feature[first]],
            strict=tables[0].strict,
        )
        shapes = np.array(
            [tests_by_node.shape_of(shape) for shape in tests.shapes] or [0], dtype=np.int32
        )
        shape = np.where(tests.shape >= 0, shapes[np.maximum(tests.shape, 0)], tests.shape)
        tests_by_node.shape[rows_of_feature], tests_by_node.cut[rows_of_feature] = (
            shape[index],
            tests.cut[index],
        )
        tests_by_node.opposite[rows_of_feature] = tests.opposite[index]
    return tests_by_node


def _distinct(thresholds: Array, missing: Array) -> tuple[Array, Array]:
    """The first row of each distinct pair, and the index of each row's pair."""
    bits = np.ascontiguousarray(thresholds).view(np.int64)
    order = np.lexsort((missing, bits)) if missing.any() else np.argsort(bits)
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = np.diff(bits[order]) != 0
    new[1:] |= np.diff(missing[order])
    index = np.empty(len(order), dtype=np.int64)
    index[order] = np.cumsum(new) - 1
    return order[new], index


def among(feature: Feature, values: Sequence[Value], missing: bool) -> Test:
    """Whether a feature has one of some values; `missing` is the answer for a missing value."""
    match feature:
        case Raw(name):
            answers = Coded(name, dict.fromkeys(values, 0.0), 1.0, 0.0 if missing else 1.0)
            return answers.at_most(0.5, Precision.FLOAT64, missing)
        case Coded(name, numbers, default, missing_code):

            def answer(number: float) -> float:
                if number != number:
                    return 0.0 if missing else 1.0
                return 0.0 if number in values else 1.0

            coded = {value: answer(number) for value, number in numbers.items()}
            answers = Coded(name, coded, answer(default), answer(missing_code))
            return answers.at_most(0.5, Precision.FLOAT64, missing)
        case Fixed(number):
            holds = missing if number != number else number in values
            return Test(Const(holds))
        case _:
            return Test(member(feature.term(), values, missing))
