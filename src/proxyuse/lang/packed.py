"""Packed trees: a forest stored as columns, so that a million nodes are not a million objects.

A `Forest` has one array per property of its inner nodes, which are numbered tree by tree in
preorder (the branch of a true test first), and its leaves in the same order. A node can be viewed
as a `PackedIte`: a term that means the nested ``ite``, prints and hashes like it, and creates its
children on demand. Memory is linear in the number of nodes; objects exist only for the nodes that
are used as terms.

Tests are columns, too. Most of them compare something with a number, so a test consists of a
*shape* (left side, relation, precision) and a *cut* (the number).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from proxyuse.lang.digests import label_hasher
from proxyuse.lang.nodes import Compare, Const, Ite, Term, Value, variables
from proxyuse.lang.order import canonical_order

if TYPE_CHECKING:
    from proxyuse.lang.walking import CodeRanges

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Tests:
    """Distinct tests as columns.

    Attributes
    ----------
    shapes : comparisons with a placeholder instead of the cut, or whole tests.
    shape : the index of each test's shape.
    cut : the number each test compares with; NaN if the shape is the whole test.
    points : a cache of the points of each test; see `positions`.
    """

    shapes: tuple[Term, ...]
    shape: Array
    cut: Array
    points: dict[int, Any] = field(default_factory=dict, repr=False)
    _terms: dict[int, Term] = field(default_factory=dict, repr=False)

    @classmethod
    def distinct(cls, shapes: Sequence[Term], shape: Array, cut: Array) -> tuple[Tests, Array]:
        """Return the distinct tests, and the index of each test among them. O(n log n)."""
        bits = np.ascontiguousarray(cut, dtype=np.float64).view(np.int64)
        order = np.lexsort((bits, shape))
        new = np.ones(len(order), dtype=np.bool_)
        ordered_shape, ordered_bits = shape[order], bits[order]
        new[1:] = (ordered_shape[1:] != ordered_shape[:-1]) | (
            ordered_bits[1:] != ordered_bits[:-1]
        )
        index = np.empty(len(order), dtype=np.int32)
        index[order] = np.cumsum(new, dtype=np.int32) - 1
        return cls(tuple(shapes), ordered_shape[new].astype(np.int32), cut[order[new]]), index

    def __len__(self) -> int:
        return len(self.shape)

    def __reduce__(self) -> tuple[type[Tests], tuple[object, ...]]:
        return Tests, (self.shapes, self.shape, self.cut)

    def term(self, test: int) -> Term:
        """Return a test as a term; cached."""
        if test not in self._terms:
            shape, cut = self.shapes[self.shape[test]], float(self.cut[test])
            if cut == cut:
                assert isinstance(shape, Compare)
                shape = Compare(
                    shape.relation, shape.left, Const(cut), shape.precision, shape.missing
                )
            canonical_order(shape)
            self._terms[test] = shape
        return self._terms[test]

    def with_shapes(self, shapes: Sequence[Term]) -> tuple[Tests, Array]:
        """Return the same tests with new shapes; tests that become equal are merged."""
        index_of: dict[bytes, int] = {}
        distinct: list[Term] = []
        new = np.empty(len(shapes), dtype=np.int32)
        for index, shape in enumerate(shapes):
            new[index] = index_of.setdefault(shape.digest, len(index_of))
            if new[index] == len(distinct):
                distinct.append(shape)
        return Tests.distinct(distinct, new[self.shape], self.cut)


class Spans(NamedTuple):
    """The extent of the subtree at each inner node, and the parents of nodes and leaves.

    A subtree has the leaves from `first_leaf` to `last_leaf` (exclusive) and the inner nodes up to
    `end` (exclusive). The parent of a root is -1.
    """

    first_leaf: Array
    last_leaf: Array
    end: Array
    parent: Array
    leaf_parent: Array


class Location(NamedTuple):
    """A point in a packed tree: an inner node, a leaf, or a point in the test of a node."""

    node: int = -1
    leaf: int = -1
    inside: int = 0


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as columns over their inner nodes and over their leaves.

    Attributes
    ----------
    tests, test : the distinct tests, and the index of each node's test.
    then, otherwise : the children of each node: an inner node, or -1 - leaf.
    starts : the root of each tree: an inner node, or -1 - leaf.
    first_node, first_leaf : the first node and leaf of each tree, followed by the total number.
    leaves : the value of each leaf: a number, a row of numbers, or an index into `labels`.
    labels : constants, if leaves are indices.
    step, trees, sources, leaf_sources : the origin in the model: the name of its step, and the
        model's numbers of the trees, inner nodes and leaves.
    """

    tests: Tests
    test: Array
    then: Array
    otherwise: Array
    starts: Array
    first_node: Array
    first_leaf: Array
    leaves: Array
    labels: tuple[Value, ...] = ()
    step: str = ""
    trees: Array = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    sources: Array = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    leaf_sources: Array = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    _views: dict[int, Term] = field(default_factory=dict, repr=False)
    _digests: dict[int, bytes] = field(default_factory=dict, repr=False)
    encoded: list[Any] = field(default_factory=list, repr=False)  # see `walking.codes_of`

    def __reduce__(self) -> tuple[type[Forest], tuple[object, ...]]:
        return Forest, (
            self.tests, self.test, self.then, self.otherwise, self.starts, self.first_node,
            self.first_leaf, self.leaves, self.labels, self.step, self.trees, self.sources,
            self.leaf_sources,
        )  # fmt: skip

    # Terms, created on demand

    def term(self, child: int) -> Term:
        """Return the subtree at an inner node, or the constant at leaf ``-1 - child``; cached."""
        if child not in self._views:
            view: Term = PackedIte(self, child) if child >= 0 else Const(self.value(-1 - child))
            canonical_order(view)
            self._views[child] = view
        return self._views[child]

    def tree(self, number: int) -> Term:
        """Return one of the trees as a term."""
        return self.term(int(self.starts[number]))

    def value(self, leaf: int) -> Value:
        """Return the value of a leaf."""
        if self.labels:
            return self.labels[int(self.leaves[leaf])]
        value: float | list[float] = self.leaves[leaf].tolist()
        return tuple(value) if isinstance(value, list) else float(value)

    def with_tests(self, shapes: Sequence[Term]) -> Forest:
        """Return the same trees with new shapes of tests."""
        tests, index = self.tests.with_shapes(shapes)
        return Forest(
            tests, index[self.test], self.then, self.otherwise, self.starts, self.first_node,
            self.first_leaf, self.leaves, self.labels, self.step, self.trees, self.sources,
            self.leaf_sources,
        )  # fmt: skip

    def only(self, node: int) -> Forest:
        """Return the subtree at a node as a forest with only its own tests; cached."""
        if node not in self._subtrees:
            self._subtrees[node] = self._only(node)
        return self._subtrees[node]

    @cached_property
    def _subtrees(self) -> dict[int, Forest]:
        return {}

    def _only(self, node: int) -> Forest:
        spans = self.spans
        nodes = slice(node, int(spans.end[node]))
        leaves = slice(int(spans.first_leaf[node]), int(spans.last_leaf[node]))
        then, otherwise = (
            np.where(side >= 0, side - node, side + leaves.start).astype(np.int32)
            for side in (self.then[nodes], self.otherwise[nodes])
        )
        tree = int(np.searchsorted(self.first_node, node, side="right")) - 1
        used_tests, test = np.unique(self.test[nodes], return_inverse=True)
        used = self.shapes_below(node)
        renumbered = np.zeros(len(self.tests.shapes), dtype=np.int32)
        renumbered[used] = np.arange(len(used))
        tests = Tests(
            tuple(self.tests.shapes[index] for index in used),
            renumbered[self.tests.shape[used_tests]],
            self.tests.cut[used_tests],
        )
        return Forest(
            tests, test.astype(np.int32), then, otherwise, np.zeros(1, dtype=np.int32),
            np.array([0, len(then)], dtype=np.int32),
            np.array([0, leaves.stop - leaves.start], dtype=np.int32),
            self.leaves[leaves], self.labels, self.step, self.trees[tree : tree + 1],
            self.sources[nodes], self.leaf_sources[leaves],
        )  # fmt: skip

    def mapped(self, function: Callable[[Value], Value]) -> Forest:
        """Return the same trees with a function applied to the value of each leaf."""
        codes, values = self.leaves, list(self.labels)
        if not self.labels:
            bits = np.ascontiguousarray(self.leaves).view(np.int64).reshape(len(self.leaves), -1)
            first, codes = np.unique(bits, axis=0, return_index=True, return_inverse=True)[1:]
            values = [self.value(leaf) for leaf in first.tolist()]
        new = [function(value) for value in values]
        leaves, labels = codes.ravel(), tuple(new)
        if {type(value) for value in new} in ({float}, {tuple}):
            leaves, labels = np.array(new)[leaves], ()
        return self.with_leaves(leaves, labels)

    def with_leaves(self, leaves: Array, labels: tuple[Value, ...] = ()) -> Forest:
        """Return the same trees with new values at their leaves."""
        return replace(
            self, leaves=leaves, labels=labels, _views={}, _digests={}, encoded=self.encoded
        )

    # Derived columns

    @cached_property
    def spans(self) -> Spans:
        """The extent of each subtree. Linear in the number of nodes."""
        from proxyuse.lang import packed_loops  # loads numba

        nodes, leaves = len(self.test), len(self.leaves)
        first, last, end = (np.empty(nodes, dtype=np.int32) for _ in range(3))
        above = (np.full(count, -1, dtype=np.int32) for count in (nodes, leaves))
        spans = Spans(first, last, end, *above)
        packed_loops.measure_subtrees(self.then, self.otherwise, *spans)
        return spans

    @cached_property
    def lists(self) -> tuple[list[int], list[int]]:
        """The parent and the first child of each node as lists, for loops in Python."""
        return self.spans.parent.tolist(), self.then.tolist()

    @cached_property
    def code_ranges(self) -> CodeRanges:
        """The test of each node as a range of integer codes."""
        from proxyuse.lang.walking import code_ranges

        return code_ranges(self)

    @cached_property
    def _before(self) -> tuple[Array, Array]:
        """The cumulative points and sizes of the inner nodes with their tests, without leaves."""
        counts = []
        for measure in ("points", "size"):
            of_shape = np.array(
                [getattr(shape, measure) for shape in self.tests.shapes], dtype=np.int64
            )
            each = 1 + of_shape[self.tests.shape[self.test]]
            counts.append(np.concatenate([[0], np.cumsum(each)]))
        return counts[0], counts[1]

    @cached_property
    def offsets(self) -> Array:
        """The number of points before each inner node, over all trees."""
        return np.asarray(self._before[0][:-1] + self.spans.first_leaf)

    def leaf_offset(self, leaf: int) -> int:
        """Return the number of points before a leaf."""
        nodes = int(np.searchsorted(self.spans.first_leaf, leaf, side="right"))
        return int(self._before[0][nodes]) + leaf

    def extent(self, node: int, *, size: bool = False) -> int:
        """Return the number of points (or, with `size`, of nodes) in the subtree at a node."""
        before, spans = self._before[int(size)], self.spans
        inner = before[spans.end[node]] - before[node]
        return int(inner + spans.last_leaf[node] - spans.first_leaf[node])

    def locate(self, node: int, inside: int) -> Location:
        """Find the point with an offset of `inside` in the subtree at a node. O(log n)."""
        target = int(self.offsets[node]) + inside
        end = int(self.spans.end[node])
        last = node + int(np.searchsorted(self.offsets[node:end], target, side="right")) - 1
        past = target - int(self.offsets[last])
        test_points = int(self._before[0][last + 1] - self._before[0][last]) - 1
        if past <= test_points:
            return Location(node=last, inside=past)
        return Location(leaf=int(self.spans.first_leaf[last]) + past - 1 - test_points)

    def shapes_below(self, node: int) -> list[int]:
        """Return the indices of the shapes in a subtree, in order of first appearance; cached."""
        if node not in self._shapes:
            shape = self.tests.shape[self.test[node : self.spans.end[node]]]
            first = np.full(len(self.tests.shapes), len(shape))
            first[shape[::-1]] = np.arange(len(shape))[::-1]
            count = int(np.sum(first < len(shape)))
            self._shapes[node] = np.argsort(first, kind="stable")[:count].tolist()
        return self._shapes[node]

    @cached_property
    def _shapes(self) -> dict[int, list[int]]:
        return {}

    @cached_property
    def variables(self) -> tuple[str, ...]:
        """The variables that any of the trees tests, sorted."""
        return tuple(sorted({name for shape in self.tests.shapes for name in variables(shape)}))

    def names(self, node: int) -> Iterator[str]:
        """Yield the variables of a subtree in order of first appearance; some may repeat."""
        for index in self.shapes_below(node):
            yield from variables(self.tests.shapes[index])

    def digest(self, node: int) -> bytes:
        """Return the digest of the subtree at a node; the digests below it are cached."""
        known = self._digests
        if node in known:
            return known[node]
        then, otherwise, test = (
            column[node : self.spans.end[node]].tolist()
            for column in (self.then, self.otherwise, self.test)
        )
        head = label_hasher("ite")
        for inner in range(len(test) - 1, -1, -1):
            hasher = head.copy()
            hasher.update(self.tests.term(test[inner]).digest)
            for child in (then[inner], otherwise[inner]):
                hasher.update(known[child] if child >= 0 else self._leaf_digest(-1 - child))
            known[node + inner] = hasher.digest()
        return known[node]

    def _leaf_digest(self, leaf: int) -> bytes:
        value = self.leaves[leaf]
        key = value.tobytes()
        if key not in self._leaf_digests:
            self._leaf_digests[key] = Const(self.value(leaf)).digest
        return self._leaf_digests[key]

    @cached_property
    def _leaf_digests(self) -> dict[bytes, bytes]:
        return {}


class PackedIte(Ite):
    """A node of a packed tree, viewed as a term."""

    __slots__ = ("forest", "node")
    forest: Forest
    node: int
    packed: ClassVar[bool] = True

    def __init__(self, forest: Forest, node: int) -> None:
        object.__setattr__(self, "forest", forest)
        object.__setattr__(self, "node", node)
        object.__setattr__(self, "_order", (0, 1, 2))

    @property
    def guard(self) -> Term:
        """The test."""
        return self.forest.tests.term(int(self.forest.test[self.node]))

    @property
    def then(self) -> Term:
        """The branch for rows that pass the test."""
        return self.forest.term(int(self.forest.then[self.node]))

    @property
    def otherwise(self) -> Term:
        """The branch for all other rows."""
        return self.forest.term(int(self.forest.otherwise[self.node]))

    @property
    def digest(self) -> bytes:
        """The digest of the nested ``ite``."""
        return self.forest.digest(self.node)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.forest.extent(self.node, size=True)

    @property
    def points(self) -> int:
        """The number of positions."""
        return self.forest.extent(self.node)

    @property
    def tests(self) -> int:
        """The number of inner nodes."""
        return int(self.forest.spans.end[self.node]) - self.node

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return Forest.term, (self.forest, self.node)
