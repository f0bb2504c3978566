"""Trees stored as columns: what a forest of a million nodes is kept in.

A `Forest` holds the inner nodes of its trees, one column for each of their properties, numbered
tree by tree in preorder (the branch of a true test first), and the leaves in the same order. A
node of it is seen from outside as a `PackedIte`: a term that means the nested ``ite``, prints and
hashes like it, and makes its children when they are asked for. Cost: arrays are linear in the
number of nodes; an object is made only for what somebody looks at.

Tests are columns too. Most are a comparison with a number, so a test is a *shape* (what is
compared with what, in which precision) and a cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from proxyuse.lang.nodes import Compare, Const, Ite, Term, Value, variables
from proxyuse.lang.order import canonical_order

if TYPE_CHECKING:
    from proxyuse.lang.walking import Wiring

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True, eq=False)
class Tests:
    """Distinct tests as columns.

    Attributes
    ----------
    shapes : a comparison whose constant is not meant, or a whole test.
    shape : which shape each test has.
    cut : the number it compares with; missing where the shape is the whole test.
    """

    shapes: tuple[Term, ...]
    shape: Array
    cut: Array
    _terms: dict[int, Term] = field(default_factory=dict, repr=False)

    @classmethod
    def distinct(cls, shapes: Sequence[Term], shape: Array, cut: Array) -> tuple[Tests, Array]:
        """The distinct tests among many, and which one each of the many is. O(n log n)."""
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
        """A test as a term; made once."""
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
        """The same tests in other shapes; those that become equal are one."""
        numbers: dict[bytes, int] = {}
        kept: list[Term] = []
        new = np.empty(len(shapes), dtype=np.int32)
        for index, shape in enumerate(shapes):
            new[index] = numbers.setdefault(shape.digest, len(numbers))
            if new[index] == len(kept):
                kept.append(shape)
        return Tests.distinct(kept, new[self.shape], self.cut)


class Spans(NamedTuple):
    """For each inner node: the leaves below it, one past its subtree, and the node above it.

    `leaf_parent` is the node above each leaf; a root has -1 above it.
    """

    first_leaf: Array
    last_leaf: Array
    end: Array
    parent: Array
    leaf_parent: Array


class Location(NamedTuple):
    """What stands at a point inside a packed tree: a node, a leaf, or a point of a node's test."""

    node: int = -1
    leaf: int = -1
    inside: int = 0


@dataclass(frozen=True, eq=False)
class Forest:
    """Trees as columns over their inner nodes and over their leaves.

    Attributes
    ----------
    tests, test : the distinct tests, and which one each node has.
    then, otherwise : children of a node: an inner node, or -1 - leaf.
    starts : each tree's first node, or -1 - leaf.
    first_node, first_leaf : where each tree's nodes and leaves begin, and the end of the last.
    leaves : what each leaf says: numbers, rows of numbers, or indices of `labels`.
    labels : constants, if leaves are indices.
    step, trees, sources, leaf_sources : where they came from in the model: its step, and the
        model's own numbers of trees, inner nodes and leaves.
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

    # Terms, made when they are asked for

    def term(self, child: int) -> Term:
        """The subtree at an inner node, or the constant at leaf ``-1 - child``; made once."""
        if child not in self._views:
            view: Term = PackedIte(self, child) if child >= 0 else Const(self.value(-1 - child))
            canonical_order(view)
            self._views[child] = view
        return self._views[child]

    def tree(self, number: int) -> Term:
        """One of the trees."""
        return self.term(int(self.starts[number]))

    def value(self, leaf: int) -> Value:
        """What a leaf says."""
        if self.labels:
            return self.labels[int(self.leaves[leaf])]
        value: float | list[float] = self.leaves[leaf].tolist()
        return tuple(value) if isinstance(value, list) else float(value)

    def with_tests(self, shapes: Sequence[Term]) -> Forest:
        """The same trees with tests in other shapes."""
        tests, index = self.tests.with_shapes(shapes)
        return Forest(
            tests, index[self.test], self.then, self.otherwise, self.starts, self.first_node,
            self.first_leaf, self.leaves, self.labels, self.step, self.trees, self.sources,
            self.leaf_sources,
        )  # fmt: skip

    def only(self, node: int) -> Forest:
        """The subtree at a node as a forest of its own, with the tests that it has; made once."""
        if node not in self._parts:
            self._parts[node] = self._only(node)
        return self._parts[node]

    @cached_property
    def _parts(self) -> dict[int, Forest]:
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
        kept, test = np.unique(self.test[nodes], return_inverse=True)
        used = self.shapes_below(node)
        renumbered = np.zeros(len(self.tests.shapes), dtype=np.int32)
        renumbered[used] = np.arange(len(used))
        tests = Tests(
            tuple(self.tests.shapes[number] for number in used),
            renumbered[self.tests.shape[kept]],
            self.tests.cut[kept],
        )
        return Forest(
            tests, test.astype(np.int32), then, otherwise, np.zeros(1, dtype=np.int32),
            np.array([0, len(then)], dtype=np.int32),
            np.array([0, leaves.stop - leaves.start], dtype=np.int32),
            self.leaves[leaves], self.labels, self.step, self.trees[tree : tree + 1],
            self.sources[nodes], self.leaf_sources[leaves],
        )  # fmt: skip

    def mapped(self, function: Callable[[Value], Value]) -> Forest:
        """The same trees with a function of what their leaves say."""
        codes, said = self.leaves, list(self.labels)
        if not self.labels:
            bits = np.ascontiguousarray(self.leaves).view(np.int64).reshape(len(self.leaves), -1)
            first, codes = np.unique(bits, axis=0, return_index=True, return_inverse=True)[1:]
            said = [self.value(leaf) for leaf in first.tolist()]
        new = [function(value) for value in said]
        leaves, labels = codes.ravel(), tuple(new)
        if {type(value) for value in new} in ({float}, {tuple}):
            leaves, labels = np.array(new)[leaves], ()
        return self.saying(leaves, labels)

    def saying(self, leaves: Array, labels: tuple[Value, ...] = ()) -> Forest:
        """The same trees whose leaves say something else."""
        return replace(
            self, leaves=leaves, labels=labels, _views={}, _digests={}, encoded=self.encoded
        )

    # Columns that follow from the others

    @cached_property
    def spans(self) -> Spans:
        """Where each subtree begins and ends. Linear."""
        from proxyuse.lang import packed_loops  # loads numba

        nodes, leaves = len(self.test), len(self.leaves)
        first, last, end = (np.empty(nodes, dtype=np.int32) for _ in range(3))
        above = (np.full(count, -1, dtype=np.int32) for count in (nodes, leaves))
        spans = Spans(first, last, end, *above)
        packed_loops.measure_subtrees(self.then, self.otherwise, *spans)
        return spans

    @cached_property
    def lists(self) -> tuple[list[int], list[int]]:
        """The node above each node, and its first child, for walks that Python takes."""
        return self.spans.parent.tolist(), self.then.tolist()

    @cached_property
    def wiring(self) -> Wiring:
        """The trees joined to the columns that their tests look at."""
        from proxyuse.lang.walking import wired

        return wired(self)

    @cached_property
    def _before(self) -> tuple[Array, Array]:
        """How many points, and how many nodes, inner nodes and their tests have before each one."""
        counts = []
        for measure in ("points", "size"):
            own = np.array([getattr(shape, measure) for shape in self.tests.shapes], dtype=np.int64)
            each = 1 + own[self.tests.shape[self.test]]
            counts.append(np.concatenate([[0], np.cumsum(each)]))
        return counts[0], counts[1]

    @cached_property
    def offsets(self) -> Array:
        """How many points come before each inner node, over all trees."""
        return np.asarray(self._before[0][:-1] + self.spans.first_leaf)

    def leaf_offset(self, leaf: int) -> int:
        """How many points come before a leaf."""
        nodes = int(np.searchsorted(self.spans.first_leaf, leaf, side="right"))
        return int(self._before[0][nodes]) + leaf

    def extent(self, node: int, *, size: bool = False) -> int:
        """How many points (or nodes of the term) the subtree at a node has."""
        before, spans = self._before[int(size)], self.spans
        inner = before[spans.end[node]] - before[node]
        return int(inner + spans.last_leaf[node] - spans.first_leaf[node])

    def locate(self, node: int, inside: int) -> Location:
        """What stands so many points after the first one of the subtree at a node."""
        target = int(self.offsets[node]) + inside
        end = int(self.spans.end[node])
        found = node + int(np.searchsorted(self.offsets[node:end], target, side="right")) - 1
        past = target - int(self.offsets[found])
        guard = int(self._before[0][found + 1] - self._before[0][found]) - 1
        if past <= guard:
            return Location(node=found, inside=past)
        return Location(leaf=int(self.spans.first_leaf[found]) + past - 1 - guard)

    def shapes_below(self, node: int) -> list[int]:
        """The shapes of the tests of a subtree, in order of first appearance."""
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
        """The variables that any of the trees looks at, sorted."""
        return tuple(sorted({name for shape in self.tests.shapes for name in variables(shape)}))

    def names(self, node: int) -> Iterator[str]:
        """The variables of a subtree, in order of first appearance."""
        for number in self.shapes_below(node):
            yield from variables(self.tests.shapes[number])

    def digest(self, node: int) -> bytes:
        """The digest of the subtree at a node; those below it are kept as well."""
        known = self._digests
        if node in known:
            return known[node]
        then, otherwise, test = (
            column[node : self.spans.end[node]].tolist()
            for column in (self.then, self.otherwise, self.test)
        )
        head = _heading("ite")
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


def _heading(text: str) -> Any:
    hasher = blake2b(len(text).to_bytes(8, "little"), digest_size=16)
    hasher.update(text.encode("ascii"))
    return hasher


class PackedIte(Ite):
    """A node of a packed tree, seen as a term."""

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
        """What is said where the test holds."""
        return self.forest.term(int(self.forest.then[self.node]))

    @property
    def otherwise(self) -> Term:
        """What is said elsewhere."""
        return self.forest.term(int(self.forest.otherwise[self.node]))

    @property
    def digest(self) -> bytes:
        """16 bytes, the same as for the nested ites."""
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
