"""A decision tree as a table of nodes, checked, and as a term.

Every library's trees pass through here, so that a malformed one is refused in one place.
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
    leaves : for each node what it says if it is a leaf: a number or a row of numbers.
    precision : the float type to which features are rounded before they are compared.
    strict : whether a feature equal to its threshold goes right.
    members : for each node that asks for categories those that go left.
    cut_off : leaves that no node leads to any more.
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
    cut_off: frozenset[int] = frozenset()

    def check(self, n_features: int) -> None:
        """Refuse a table that is not a tree over `n_features` features."""
        n = len(self.left)
        lengths = {
            len(column)
            for column in (self.right, self.feature, self.threshold, self.missing_left, self.leaves)
        }
        if lengths != {n} or n == 0:
            raise TranslationError("the tree's arrays are empty or of different lengths")
        inner = self.left != LEAF
        if np.any(inner != (self.right != LEAF)):
            raise TranslationError("a node of the tree has one child only")
        children = np.concatenate([self.left[inner], self.right[inner]])
        if np.any((children < 1) | (children >= n)):
            raise TranslationError(f"a child of the tree is not a node: there are {n} nodes")
        linked = n - len(self.cut_off)
        if len(children) != linked - 1 or np.bincount(children, minlength=n).max() > 1:
            raise TranslationError("the tree's nodes are shared or not all reachable")
        features = self.feature[inner]
        if np.any((features < 0) | (features >= n_features)):
            raise TranslationError(f"the tree uses a feature outside its {n_features} features")
        if np.any(np.isnan(self.threshold[inner])):
            raise TranslationError("a threshold of the tree is not a number")
        if not all(0 <= node < n and inner[node] for node in self.members):
            raise TranslationError("the tree has categories where there is no test")
        if not all(self.members.values()):
            raise TranslationError("a node of the tree asks for categories and names none")
        self._from_the_root()

    def _from_the_root(self) -> Sequence[int]:
        """The nodes, each before its children.

        With every node a child once, one is not met just if it lies on a cycle.
        """
        inner = np.flatnonzero(self.left != LEAF)
        in_order = np.all(inner < np.minimum(self.left[inner], self.right[inner]))
        if in_order and not self.cut_off:
            return range(len(self.left))
        lefts, rights = self.left.tolist(), self.right.tolist()
        order = [0]
        for node in order:
            if lefts[node] != LEAF:
                order += (lefts[node], rights[node])
        if len(order) != len(lefts) - len(self.cut_off):
            raise TranslationError("the tree has a cycle")
        return order


def packed_trees(
    tables: Sequence[TreeTable], features: Sequence[Feature], step: str, numbers: Sequence[int]
) -> tuple[list[Term], Origins]:
    """The trees of one model as terms, packed in one forest; a tree of one leaf is a constant.

    `step` and `numbers` say where the trees come from. Equal tests are one, in whichever trees
    they stand. A node that every row leaves to the same side is left out. The forest knows the
    origins of its parts; those of constants are returned. O(n log n) for n nodes.
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
    questions = _questions(tables, features, begins, inner)
    test, opposite = np.full(len(left), -1, dtype=np.int32), np.zeros(len(left), dtype=np.bool_)
    real = questions.shape >= 0
    tests, index = Tests.distinct(questions.shapes, questions.shape[real], questions.cut[real])
    test[inner] = questions.shape
    test[inner[real]] = index
    opposite[inner] = questions.opposite
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
    said = np.concatenate([table.leaves for table in tables])[leaf_source]
    forest = Forest(
        tests=tests,
        test=new_test,
        then=then,
        otherwise=otherwise,
        starts=starts,
        first_node=first_node,
        first_leaf=first_leaf,
        leaves=said.astype(np.float64),
        step=step,
        trees=np.array(numbers, dtype=np.int32),
        sources=_own_numbers(source, begins),
        leaf_sources=_own_numbers(leaf_source, begins),
    )
    terms = [forest.tree(number) for number in range(len(tables))]
    origins = {
        id(term): Origin(step, number, int(forest.leaf_sources[-1 - start]))
        for term, number, start in zip(terms, numbers, starts.tolist(), strict=True)
        if start < 0
    }
    return terms, origins


def _own_numbers(nodes: Array, begins: Array) -> Array:
    """The numbers that nodes have in their trees."""
    tree = np.searchsorted(begins, nodes, side="right") - 1
    return (nodes - begins[tree]).astype(np.int32)


def _questions(
    tables: Sequence[TreeTable], features: Sequence[Feature], begins: Array, inner: Array
) -> TestColumns:
    """What each inner node asks, with the same shapes for all features."""
    feature = np.concatenate([table.feature for table in tables])[inner]
    threshold = np.concatenate([table.threshold for table in tables])[inner].astype(np.float64)
    missing = np.concatenate([table.missing_left for table in tables])[inner].astype(np.bool_)
    found = TestColumns.empty(len(inner))
    listed = {
        int(begin) + node: values
        for table, begin in zip(tables, begins, strict=False)
        for node, values in table.members.items()
    }
    rows = np.searchsorted(inner, np.array(list(listed), dtype=np.int64))
    asked: dict[tuple[int, tuple[Value, ...], bool], Test] = {}
    for row, values in zip(rows.tolist(), listed.values(), strict=True):
        key = (int(feature[row]), values, bool(missing[row]))
        if key not in asked:
            asked[key] = among(features[key[0]], values, key[2])
        found.put(row, asked[key])
    compared = np.ones(len(inner), dtype=np.bool_)
    compared[rows] = False
    compared_rows = np.flatnonzero(compared)
    order = compared_rows[np.argsort(feature[compared_rows], kind="stable")]
    numbers, begin = np.unique(feature[order], return_index=True)
    for number, own in zip(numbers.tolist(), np.split(order, begin)[1:], strict=True):
        first, index = _distinct(threshold[own], missing[own])
        tests = features[number].each_at_most(
            threshold[own[first]],
            tables[0].precision,
            missing[own[first]],
            strict=tables[0].strict,
        )
        shapes = np.array([found.shape_of(shape) for shape in tests.shapes] or [0], dtype=np.int32)
        shape = np.where(tests.shape >= 0, shapes[np.maximum(tests.shape, 0)], tests.shape)
        found.shape[own], found.cut[own] = shape[index], tests.cut[index]
        found.opposite[own] = tests.opposite[index]
    return found


def _distinct(thresholds: Array, missing: Array) -> tuple[Array, Array]:
    """The first row of each distinct pair, and which pair each row has."""
    bits = np.ascontiguousarray(thresholds).view(np.int64)
    order = np.lexsort((missing, bits)) if missing.any() else np.argsort(bits)
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = np.diff(bits[order]) != 0
    new[1:] |= np.diff(missing[order])
    index = np.empty(len(order), dtype=np.int64)
    index[order] = np.cumsum(new) - 1
    return order[new], index


def among(feature: Feature, values: Sequence[Value], missing: bool) -> Test:
    """Whether a feature has one of some values; `missing` is the answer where it is missing."""
    match feature:
        case Raw(name):
            answers = Coded(name, dict.fromkeys(values, 0.0), 1.0, 0.0 if missing else 1.0)
            return answers.at_most(0.5, Precision.FLOAT64, missing)
        case Coded(name, numbers, default, lost):

            def answer(number: float) -> float:
                if number != number:
                    return 0.0 if missing else 1.0
                return 0.0 if number in values else 1.0

            coded = {value: answer(number) for value, number in numbers.items()}
            answers = Coded(name, coded, answer(default), answer(lost))
            return answers.at_most(0.5, Precision.FLOAT64, missing)
        case Fixed(number):
            found = missing if number != number else number in values
            return Test(Const(found))
        case _:
            return Test(member(feature.term(), values, missing))
