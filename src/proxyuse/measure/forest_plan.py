"""A program that is a sum of decision trees under a vote or a threshold, laid out as arrays.

Recognised is a program that depends on its variables through trees alone, whose leaves are
constants and whose guards test one variable each, put together in one of these ways:

- a vote: ``argmax`` of a sum of vectors, divided by a number or not (soft-voting forests);
- one sum a class: ``argmax`` of a vector of sums of numbers (boosting with several classes);
- a threshold: a sum of numbers that meets one comparison with a constant through monotone steps
  (boosting with two classes), with anything above the comparison;
- one tree alone with a class at each leaf.

Each becomes scores of K classes of which the first largest wins. Two classes of a threshold are
"below" and "not below" the smallest sum for which the comparison says something else; it is
found by bisection with the program's own operations.

Scores are kept as whole numbers, relative to the first class: the leaf values times a power of
two. Sums of whole numbers are exact in any order, so parts can be taken out and put in. The
program adds in float64 and rounds on its way. Its scores differ from the whole numbers by no more
than `slack`; where the winner leads by less, the program's own sum decides (`exact_winner`). Where
all leaf values are multiples of one power of two and small enough, float64 sums are exact
themselves and the slack is 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from proxyuse.lang.evaluate import Array, Vocabulary, evaluate, first_value
from proxyuse.lang.nodes import (
    Add,
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Mul,
    Relation,
    Term,
    Value,
    Var,
    Vector,
    children,
    value_text,
)
from proxyuse.lang.positions import Points, Spot
from proxyuse.measure.cells import Test, by_variable, tested_variable
from proxyuse.measure.places import Places
from proxyuse.program import Program

MOST_CLASSES = 64
_HOLE = Var("sum of trees")


@dataclass(frozen=True, slots=True, eq=False)
class Vote:
    """How the trees' values become a decision.

    Attributes
    ----------
    outputs : for each class the number of what the program then says; equal for equal outputs.
    operands : for each sum the trees, in the order of the sum; -1 for a constant.
    constants : for each operand its value if it is a constant.
    firsts : where each sum's operands begin, and the end of the last.
    columns : which entry of the trees' values each sum adds.
    divisors : what each sum is divided by.
    threshold : the smallest sum of the second class; missing where the largest sum wins.
    """

    outputs: Array
    operands: Array
    constants: Array
    firsts: Array
    columns: Array
    divisors: Array
    threshold: float


@dataclass(frozen=True, slots=True, eq=False)
class Pairs:
    """Each leaf with each node above it, from the root down, leaf by leaf.

    Attributes
    ----------
    first : where each leaf's pairs begin, and the end of the last.
    node, leaf : of each pair.
    order : the pairs sorted by node, then by value.
    groups : in that order, where each distinct value of a node begins.
    starts : which group is each node's first.
    """

    first: Array
    node: Array
    leaf: Array
    order: Array
    groups: Array
    starts: Array


@dataclass(frozen=True, slots=True, eq=False)
class ForestPlan:
    """Trees as arrays; inner nodes and leaves are numbered tree by tree, each in preorder.

    Attributes
    ----------
    roots : the program point of each tree.
    points : the program point of each inner node; its test and the tested variable follow.
    tree_of, depth : of each inner node.
    tests, test_of : the distinct tests, and which one each node has.
    variables, variable_of : the variables, and which one each test reads.
    tests_of : the tests of each variable.
    places : which terms are tests and subtrees.
    left, right : children of a node: an inner node, or -1 - leaf.
    first_node, first_leaf : where each tree's nodes and leaves begin, and the end of the last.
    leaf_from, leaf_to : the leaves below each node.
    leaves : the constant at each leaf.
    values : the same as numbers (leaves x entries).
    value_of : equal for leaves of one tree that hold the same value.
    pairs : each leaf with the nodes above it.
    parent, leaf_parent : the node above each node (-1 for a root) and each leaf.
    vote : how the values become a decision.
    scores : what each leaf adds to each class's lead over the first class, as whole numbers.
    base : the leads without any tree.
    slack : by how much the program's own scores may differ, in the same unit.
    """

    roots: Array
    points: Array
    tree_of: Array
    depth: Array
    tests: tuple[Test, ...]
    test_of: Array
    variables: tuple[str, ...]
    variable_of: Array
    tests_of: tuple[tuple[Test, ...], ...]
    places: Places
    left: Array
    right: Array
    first_node: Array
    first_leaf: Array
    leaf_from: Array
    leaf_to: Array
    leaves: tuple[Value, ...]
    values: Array
    value_of: Array
    pairs: Pairs
    parent: Array
    leaf_parent: Array
    vote: Vote
    scores: Array
    base: Array
    slack: int

    @property
    def trees(self) -> int:
        """How many trees there are."""
        return len(self.roots)


@lru_cache(maxsize=8)
def forest_plan(program: Program) -> ForestPlan | None:
    """The plan of a program that is a sum of trees as above, else None; linear in its size."""
    points = program.points
    found = _core(points)
    if found is None:
        return None
    core, chain = found
    sums = _sums(points, core)
    layout = _Layout(points)
    for point in (operand for _, operands in sums for operand in operands):
        if not isinstance(points.terms[point], Const) and not layout.add(point):
            return None
    vote = _vote(program, chain, core, sums, layout)
    if vote is None:
        return None
    return layout.plan(vote)


def _core(points: Points) -> tuple[int, list[int]] | None:
    """The lowest point with all variables below it that is a tree, a sum or a vector.

    With it, the points above it from the root on.
    """
    point, chain = 0, list[int]()
    while True:
        term = points.terms[point]
        if isinstance(term, Add | Vector) or _is_tree_node(term):
            return point, chain
        open_ = [p for p in points.below(point) if not isinstance(points.terms[p], Const)]
        if len(open_) != 1:
            return None
        chain.append(point)
        point = open_[0]


def _is_tree_node(term: Term) -> bool:
    return isinstance(term, Ite) and tested_variable(term.guard) is not None


def _sums(points: Points, core: int) -> list[tuple[float, list[int]]]:
    """For each sum its divisor and the points of its operands, in written order."""
    if not isinstance(points.terms[core], Vector):
        return [_sum(points, core)]
    return [_sum(points, point) for point in points.below(core)]


def _sum(points: Points, point: int) -> tuple[float, list[int]]:
    divisor = 1.0
    match points.terms[point]:
        case Call(Function.DIV, (_, Const(float() as number))) if number > 0:
            divisor, point = number, points.below(point)[0]
    term = points.terms[point]
    if not isinstance(term, Add):
        return divisor, [point]
    below = points.below(point)
    written = sorted(range(len(below)), key=lambda step: term._order[step])
    return divisor, [below[step] for step in written]


class _Layout:
    """Collects trees; `add` says whether a point is one."""

    def __init__(self, points: Points) -> None:
        self.points = points
        self.tree_at: dict[int, int] = {}
        self.nodes: list[int] = []
        self.tree_of: list[int] = []
        self.depth: list[int] = []
        self.test_of: list[int] = []
        self.tests: dict[bytes, tuple[int, Test]] = {}
        self.sides: tuple[list[int], list[int]] = [], []
        self.spans: tuple[list[int], list[int]] = [], []
        self.first_node = [0]
        self.first_leaf = [0]
        self.leaves: list[Value] = []

    def add(self, root: int) -> bool:
        points, tree = self.points, len(self.tree_at)
        self.tree_at[root] = tree
        stack: list[tuple[int, int, int, int]] = [(root, -1, 0, 0)]
        open_nodes: list[int] = []
        while stack:
            point, parent, side, depth = stack.pop()
            while open_nodes and self.nodes[open_nodes[-1]] != points.parents[point]:
                self.spans[1][open_nodes.pop()] = len(self.leaves)
            term = points.terms[point]
            if isinstance(term, Const):
                if parent < 0:
                    return False
                self.sides[side][parent] = -1 - len(self.leaves)
                self.leaves.append(term.value)
                continue
            if not isinstance(term, Ite):
                return False
            guard, then, otherwise = points.below(point)
            test = points.terms[guard]
            if tested_variable(test) is None:
                return False
            node = len(self.nodes)
            if parent >= 0:
                self.sides[side][parent] = node
            self.nodes.append(point)
            self.tree_of.append(tree)
            self.depth.append(depth)
            number, _ = self.tests.setdefault(test.digest, (len(self.tests), test))  # type: ignore[arg-type]
            self.test_of.append(number)
            for ends in (*self.sides, self.spans[1]):
                ends.append(0)
            self.spans[0].append(len(self.leaves))
            open_nodes.append(node)
            stack += [(otherwise, node, 1, depth + 1), (then, node, 0, depth + 1)]
        for node in open_nodes:
            self.spans[1][node] = len(self.leaves)
        self.first_node.append(len(self.nodes))
        self.first_leaf.append(len(self.leaves))
        return True

    def plan(self, vote: Vote) -> ForestPlan | None:
        values = _numbers(self.leaves, vote)
        if values is None or not self.nodes:
            return None
        fixed = _fixed_point(values, self.first_leaf, vote)
        if fixed is None:
            return None
        scores, base, slack = fixed
        tests = tuple(test for _, test in self.tests.values())
        names, variable_of, tests_of = by_variable(tests)
        value_of = _same_values(values, self.first_leaf)
        parent, leaf_parent = _parents(*self.sides, len(self.leaves))
        return ForestPlan(
            roots=np.array(list(self.tree_at)),
            points=np.array(self.nodes),
            tree_of=np.array(self.tree_of),
            depth=np.array(self.depth),
            tests=tests,
            test_of=np.array(self.test_of),
            variables=names,
            variable_of=variable_of,
            tests_of=tests_of,
            places=Places(
                tests={test.digest: i for i, test in enumerate(tests)},
                nodes={self.points.terms[p].digest: node for node, p in enumerate(self.nodes)},
            ),
            left=np.array(self.sides[0]),
            right=np.array(self.sides[1]),
            first_node=np.array(self.first_node),
            first_leaf=np.array(self.first_leaf),
            leaf_from=np.array(self.spans[0]),
            leaf_to=np.array(self.spans[1]),
            leaves=tuple(self.leaves),
            values=values,
            value_of=value_of,
            pairs=_pairs(np.array(self.depth), parent, leaf_parent, value_of),
            parent=parent,
            leaf_parent=leaf_parent,
            vote=vote,
            scores=scores,
            base=base,
            slack=slack,
        )


def _numbers(leaves: list[Value], vote: Vote) -> Array | None:
    """Leaf values as a matrix of finite numbers, or None if they are something else."""
    kinds = {type(value) for value in leaves}
    if len(vote.columns) == 0:  # one tree with a class at each leaf
        classes = {value_text(value): place for place, value in enumerate(_classes(leaves))}
        return np.array([[float(classes[value_text(value)])] for value in leaves])
    widths = {len(value) if isinstance(value, tuple) else 1 for value in leaves}
    if kinds not in ({float}, {tuple}) or len(widths) != 1:
        return None
    values = np.array(leaves, dtype=np.float64).reshape(len(leaves), -1)
    signed = np.signbit(values) & (values == 0)
    if not np.isfinite(values).all() or signed.any() or vote.columns.max() >= values.shape[1]:
        return None
    return values


def _classes(leaves: Iterable[Value]) -> list[Value]:
    return list({value_text(value): value for value in leaves}.values())


def _same_values(values: Array, first_leaf: list[int]) -> Array:
    numbers = np.empty(len(values), dtype=np.intp)
    for start, end in zip(first_leaf[:-1], first_leaf[1:], strict=True):
        found = np.unique(values[start:end], axis=0, return_inverse=True)[1]
        numbers[start:end] = found.ravel()
    return numbers


def _parents(left: list[int], right: list[int], leaves: int) -> tuple[Array, Array]:
    parent = np.full(len(left), -1)
    leaf_parent = np.empty(leaves, dtype=np.intp)
    for children_ in (np.array(left), np.array(right)):
        nodes = np.arange(len(children_))
        inner = children_ >= 0
        parent[children_[inner]] = nodes[inner]
        leaf_parent[-1 - children_[~inner]] = nodes[~inner]
    return parent, leaf_parent


def _pairs(depth: Array, parent: Array, leaf_parent: Array, value_of: Array) -> Pairs:
    heights = depth[leaf_parent] + 1
    first = np.concatenate([[0], np.cumsum(heights)])
    leaf = np.repeat(np.arange(len(leaf_parent)), heights)
    node = np.empty(len(leaf), dtype=np.intp)
    at, place = leaf_parent.copy(), first[1:] - 1
    while len(at):
        node[place] = at
        up = parent[at] >= 0
        at, place = parent[at][up], place[up] - 1
    order = np.lexsort((value_of[leaf], node))
    nodes, values = node[order], value_of[leaf[order]]
    new = np.ones(len(order), dtype=np.bool_)
    new[1:] = (np.diff(nodes) != 0) | (np.diff(values) != 0)
    groups = np.flatnonzero(new)
    starts = np.searchsorted(nodes[groups], np.arange(len(parent)))
    return Pairs(first, node, leaf, order, groups, starts)


def _vote(
    program: Program,
    chain: list[int],
    core: int,
    sums: list[tuple[float, list[int]]],
    layout: _Layout,
) -> Vote | None:
    points = program.points
    above = [points.terms[point] for point in chain]
    operands, constants, firsts = [], [], [0]
    for _, places in sums:
        for point in places:
            term = points.terms[point]
            operands.append(layout.tree_at.get(point, -1))
            if isinstance(term, Const) and type(term.value) is not float:
                return None
            constants.append(term.value if isinstance(term, Const) else 0.0)
        firsts.append(len(operands))
    if not above and _is_tree_node(points.terms[core]):
        return _class_vote(layout)
    divisors = [divisor for divisor, _ in sums]
    judge = next((i for i, t in enumerate(above) if isinstance(t, Argmax | Compare)), None)
    if judge is None:
        return None
    between = above[judge + 1 :]
    threshold = math.nan
    if isinstance(above[judge], Argmax):
        columns = [0] * len(sums)
        if not isinstance(points.terms[core], Vector):
            widths = {len(v) for v in layout.leaves if isinstance(v, tuple)}
            if len(widths) != 1 or -1 in operands:
                return None
            columns = list(range(widths.pop()))
            operands, constants = operands * len(columns), constants * len(columns)
            firsts = [firsts[1] * i for i in range(len(columns) + 1)]
            divisors = divisors * len(columns)
        match between:
            case []:
                pass
            case [Call(Function.DIV, (_, Const(float() as number)))] if number > 0:
                if any(divisor != 1 for divisor in divisors):
                    return None
                divisors = [number] * len(columns)
            case _:
                return None
        said: list[Value] = list(above[judge].labels) or [float(c) for c in range(len(columns))]
        if len(said) != len(columns):
            return None
    else:
        columns = [0]
        if divisors != [1.0] or not all(map(_monotone, between)):
            return None
        switch = _switch(points, chain[judge], core, layout)
        if switch is None:
            return None
        threshold, said = switch
    if not 2 <= len(said) <= MOST_CLASSES:
        return None
    outputs = _outputs(points, chain[judge], said)
    return Vote(
        outputs=outputs,
        operands=np.array(operands),
        constants=np.array(constants, dtype=np.float64),
        firsts=np.array(firsts),
        columns=np.array(columns),
        divisors=np.array(divisors),
        threshold=threshold,
    )


def _class_vote(layout: _Layout) -> Vote | None:
    """One tree alone: the class at the leaf wins."""
    classes = _classes(layout.leaves)
    kinds = {type(value) for value in classes}
    plain = len(kinds) == 1 and kinds <= {bool, str, float} and all(v == v for v in classes)
    if not plain or not 2 <= len(classes) <= MOST_CLASSES:
        return None
    empty = np.empty(0, dtype=np.intp)
    outputs = _numbered([0.0 if value == 0 and kinds == {float} else value for value in classes])
    return Vote(outputs, empty, np.empty(0), np.array([0]), empty, np.empty(0), math.nan)


def _monotone(term: Term) -> bool:
    """Whether a number of which all else is constant passes in order, or in opposite order."""
    others = [part.value for part in children(term) if isinstance(part, Const)]
    finite = all(type(value) is float and math.isfinite(value) for value in others)
    match term:
        case Add():
            return finite
        case Mul():
            return finite and 0.0 not in others
        case Call(Function.DIV, (_, Const())):
            return finite and 0.0 not in others
        case Call(Function.EXP | Function.SIGMOID):
            return True
        case _:
            return False


def _switch(
    points: Points, judge: int, core: int, layout: _Layout
) -> tuple[float, list[Value]] | None:
    """The smallest sum for which a comparison says something else than for small sums.

    With it, what it says below and from there on. Bisection over the float64 numbers.
    """
    comparison = points.terms[judge]
    assert isinstance(comparison, Compare)
    numbers = [value for value in layout.leaves if type(value) is float]
    if comparison.relation in (Relation.EQ, Relation.NE) or len(numbers) != len(layout.leaves):
        return None
    others = [p for p in children(comparison) if isinstance(p, Const) and type(p.value) is float]
    if (
        len(others) != 1
        or others[0].value != others[0].value
        or not all(map(math.isfinite, numbers))
    ):
        return None
    whole = points.replace({Spot(core): _HOLE})
    compare = Points(whole).terms[judge]  # what stands above the core keeps its number

    def says(number: float) -> bool:
        with np.errstate(all="ignore"):
            values = {_HOLE.name: np.array([number])}
            return bool(evaluate(compare, values, Vocabulary())[0])

    low, high = (float(np.nextafter(end, 0.0)) for end in (-np.inf, np.inf))
    first = says(low)
    if says(high) == first:
        return None
    below, above = _ordinal(low), _ordinal(high)
    while above - below > 1:
        middle = (below + above) // 2
        if says(_from_ordinal(middle)) == first:
            below = middle
        else:
            above = middle
    return _from_ordinal(above), [first, not first]


def _ordinal(number: float) -> int:
    """The place of a float64 number among all of them."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _from_ordinal(place: int) -> float:
    number = float(np.int64(abs(place)).view(np.float64))
    return number if place >= 0 else -number


def _outputs(points: Points, judge: int, said: list[Value]) -> Array:
    """What the program says for each answer of the point that decides."""
    vocabulary = Vocabulary()
    found = []
    for value in said:
        term = points.replace({Spot(judge): Const(value)})
        found.append(first_value(evaluate(term, {}, vocabulary), vocabulary))
    return _numbered([0.0 if value == 0 and type(value) is float else value for value in found])


def _numbered(values: list[Value]) -> Array:
    """Equal numbers for equal values."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(value_text(v), len(numbers)) for v in values])


def _fixed_point(
    values: Array, first_leaf: list[int], vote: Vote
) -> tuple[Array, Array, int] | None:
    """The leads of all classes over the first one as whole numbers: of leaves, base, and slack."""
    if len(vote.columns) == 0:
        classes = np.arange(1, len(vote.outputs))
        return (values == classes).astype(np.int64), np.zeros(len(classes), dtype=np.int64), 0
    trees = len(first_leaf) - 1
    largest = np.maximum.reduceat(np.abs(values).max(axis=1), first_leaf[:-1])
    threshold = 0.0 if math.isnan(vote.threshold) else abs(vote.threshold)
    size = float(largest.sum() + np.abs(vote.constants).sum() + threshold)
    if not 1e-200 < size < 1e200:
        return None
    digits = 50 - math.frexp(size)[1]
    exact = all(_multiples(numbers, digits) for numbers in (values, vote.constants))
    if not exact:
        digits += 8
    unit = math.ldexp(1.0, digits)
    numbers = np.rint(values * unit).astype(np.int64)
    constants = np.rint(vote.constants * unit).astype(np.int64)
    if not math.isnan(vote.threshold):
        # From the threshold on the second class wins, and it wins if its lead is above 0.
        base = np.array([constants.sum() + 1 - math.ceil(vote.threshold * unit)])
        scores = numbers
    else:
        scores, base = _leads(numbers, constants, vote, first_leaf)
    rounding = 0.0 if exact else 8.0 * (trees + len(vote.constants) + 4) * 2.0**-53 * size * unit
    slack = 0 if exact else math.ceil(rounding) + 2 * len(vote.constants) + 4
    return np.ascontiguousarray(scores), np.asarray(base, dtype=np.int64), slack


def _multiples(numbers: Array, digits: int) -> bool:
    """Whether all are whole multiples of ``2 ** -digits``."""
    scaled = numbers * math.ldexp(1.0, digits)
    return bool(np.all(scaled == np.rint(scaled)))


def _leads(
    numbers: Array, constants: Array, vote: Vote, first_leaf: list[int]
) -> tuple[Array, Array]:
    classes = len(vote.columns)
    totals = np.zeros((len(numbers), classes), dtype=np.int64)
    base = np.zeros(classes, dtype=np.int64)
    for c in range(classes):
        for place in range(vote.firsts[c], vote.firsts[c + 1]):
            tree = vote.operands[place]
            if tree < 0:
                base[c] += constants[place]
            else:
                leaves = slice(first_leaf[tree], first_leaf[tree + 1])
                totals[leaves, c] += numbers[leaves, vote.columns[c]]
    return totals[:, 1:] - totals[:, :1], base[1:] - base[0]
