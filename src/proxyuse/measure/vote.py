"""How sums of trees become decisions, and the whole numbers in which that can be counted.

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
than a slack; where the winner leads by less, the program's own sum decides. Where all leaf values
are multiples of one power of two and small enough, float64 sums are exact themselves and the
slack is 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.bisection import last_with_first_answer
from proxyuse.lang.evaluate import Array, Vocabulary, evaluate, first_value, truth_of
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
    sorted_values,
    value_text,
)
from proxyuse.lang.positions import Points, Spot
from proxyuse.measure.cells import tested_variable

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


@dataclass(frozen=True, slots=True)
class Form:
    """Where the sums of a program stand.

    Attributes
    ----------
    core : the lowest point with all variables below it: a tree, a sum, or a vector of sums.
    above : the points above it, from the root on.
    sums : for each sum what it is divided by, and the points of its operands as written.
    """

    core: int
    above: tuple[int, ...]
    sums: tuple[tuple[float, tuple[int, ...]], ...]


def form_of(points: Points) -> Form | None:
    """Find the sums that a program may be made of."""
    point, above = 0, list[int]()
    while True:
        term = points.terms[point]
        if isinstance(term, Vector):
            return Form(point, tuple(above), tuple(_sum(points, p) for p in points.below(point)))
        if isinstance(term, Add) or _is_tree_node(term):
            return Form(point, tuple(above), (_sum(points, point),))
        varying = [p for p in points.below(point) if not isinstance(points.terms[p], Const)]
        if len(varying) != 1:
            return None
        above.append(point)
        point = varying[0]


def _is_tree_node(term: Term) -> bool:
    return isinstance(term, Ite) and tested_variable(term.guard) is not None


def _sum(points: Points, point: int) -> tuple[float, tuple[int, ...]]:
    divisor = 1.0
    match points.terms[point]:
        case Call(Function.DIV, (_, Const(float() as number))) if _plain(number):
            divisor, point = number, points.below(point)[0]
    term = points.terms[point]
    if not isinstance(term, Add):
        return divisor, (point,)
    below = points.below(point)
    written = sorted(range(len(below)), key=lambda step: term._order[step])
    return divisor, tuple(below[step] for step in written)


def _plain(divisor: float) -> bool:
    """Whether quotients are in the order of what is divided, and neither vanish nor overflow."""
    return 1e-100 < divisor < 1e100


def vote_of(
    points: Points, form: Form, tree_at: Mapping[int, int], leaves: Sequence[Value]
) -> Vote | None:
    """How the sums decide, or None where it is in none of the ways above."""
    if not form.above and _is_tree_node(points.terms[form.core]):
        return _class_vote(leaves)
    for place, point in enumerate(form.above):
        between = [points.terms[p] for p in form.above[place + 1 :]]
        match points.terms[point]:
            case Argmax(_, labels):
                return _largest_vote(points, form, point, labels, between, tree_at, leaves)
            case Compare():
                return _threshold_vote(points, form, point, between, tree_at, leaves)
    return None


def _class_vote(leaves: Sequence[Value]) -> Vote | None:
    """One tree alone: the class at the leaf wins."""
    classes = _classes(leaves)
    kinds = {type(value) for value in classes}
    plain = len(kinds) == 1 and kinds <= {bool, str, float} and all(v == v for v in classes)
    if not plain or not 2 <= len(classes) <= MOST_CLASSES:
        return None
    none = np.empty(0, dtype=np.intp)
    outputs = np.arange(len(classes))
    return Vote(outputs, none, np.empty(0), np.array([0]), none, np.empty(0), math.nan)


def _largest_vote(
    points: Points,
    form: Form,
    judge: int,
    labels: tuple[Value, ...],
    between: list[Term],
    tree_at: Mapping[int, int],
    leaves: Sequence[Value],
) -> Vote | None:
    """The class with the largest score wins: of one sum of vectors, or of a vector of sums."""
    sums, columns = list(form.sums), [0] * len(form.sums)
    if not isinstance(points.terms[form.core], Vector):
        widths = {len(value) if isinstance(value, tuple) else 0 for value in leaves}
        if len(widths) != 1 or not all(point in tree_at for point in sums[0][1]):
            return None
        columns = list(range(widths.pop()))
        sums = sums * len(columns)
    match between:
        case []:
            pass
        case [Call(Function.DIV, (_, Const(float() as number)))] if _plain(number):
            if any(divisor != 1 for divisor, _ in sums):
                return None
            sums = [(number, operands) for _, operands in sums]
        case _:
            return None
    if len({divisor for divisor, _ in sums}) > 1:  # the largest sum need not win
        return None
    said = list(labels) or [float(c) for c in range(len(columns))]
    if len(said) != len(columns) or not 2 <= len(said) <= MOST_CLASSES:
        return None
    return _vote(points, sums, columns, tree_at, _outputs(points, judge, said), math.nan)


def _threshold_vote(
    points: Points,
    form: Form,
    judge: int,
    between: list[Term],
    tree_at: Mapping[int, int],
    leaves: Sequence[Value],
) -> Vote | None:
    """One side of a threshold wins."""
    numbers = [value for value in leaves if type(value) is float and math.isfinite(value)]
    plain = len(form.sums) == 1 and form.sums[0][0] == 1 and len(numbers) == len(leaves)
    if not plain or not all(map(_monotone, between)):
        return None
    switch = _switch(points, judge, form.core)
    if switch is None:
        return None
    threshold, below = switch
    outputs = _outputs(points, judge, [below, not below])
    return _vote(points, list(form.sums), [0], tree_at, outputs, threshold)


def _vote(
    points: Points,
    sums: list[tuple[float, tuple[int, ...]]],
    columns: list[int],
    tree_at: Mapping[int, int],
    outputs: Array,
    threshold: float,
) -> Vote | None:
    operands = [point for _, places in sums for point in places]
    constants = []
    for point in operands:
        term = points.terms[point]
        value = term.value if isinstance(term, Const) else 0.0
        if type(value) is not float or not math.isfinite(value):
            return None
        constants.append(value)
    return Vote(
        outputs=outputs,
        operands=np.array([tree_at.get(point, -1) for point in operands]),
        constants=np.array(constants),
        firsts=np.cumsum([0, *(len(places) for _, places in sums)]),
        columns=np.array(columns),
        divisors=np.array([divisor for divisor, _ in sums]),
        threshold=threshold,
    )


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


def _switch(points: Points, judge: int, core: int) -> tuple[float, bool] | None:
    """The smallest sum for which a comparison says something else than for small sums.

    With it, what it says below.
    """
    comparison = points.terms[judge]
    assert isinstance(comparison, Compare)
    others = [part.value for part in children(comparison) if isinstance(part, Const)]
    plain = len(others) == 1 and type(others[0]) is float and others[0] == others[0]
    if not plain or comparison.relation in (Relation.EQ, Relation.NE):
        return None
    whole = points.replace({Spot(core): _HOLE})
    compare = Points(whole).terms[judge]  # what stands above the core keeps its number

    def says(numbers: Array) -> Array:
        with np.errstate(all="ignore"):
            found = evaluate(compare, {_HOLE.name: numbers}, Vocabulary())
        return truth_of(found)

    last, first = last_with_first_answer(says)
    return None if last == math.inf else (float(np.nextafter(last, math.inf)), first)


def _outputs(points: Points, judge: int, said: list[Value]) -> Array:
    """What the program says for each answer of the point that decides."""
    vocabulary = Vocabulary()
    found = []
    for value in said:
        term = points.replace({Spot(judge): Const(value)})
        found.append(first_value(evaluate(term, {}, vocabulary), vocabulary))
    return _numbered(found)


def _numbered(values: list[Value]) -> Array:
    """Equal numbers for equal values."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(_key(value), len(numbers)) for value in values])


def _key(value: Value) -> str:
    """A text that is the same for equal outputs; 0 and -0 are one."""
    return value_text(0.0 if type(value) is float and value == 0 else value)


def _classes(leaves: Sequence[Value]) -> list[Value]:
    """The distinct values, sorted."""
    return sorted_values({_key(value): value for value in leaves}.values())


def leaf_numbers(leaves: Sequence[Value], vote: Vote) -> Array | None:
    """Leaf values as a matrix of finite numbers, or None if they are something else."""
    kinds = {type(value) for value in leaves}
    if len(vote.columns) == 0:  # one tree with a class at each leaf
        places = {_key(value): place for place, value in enumerate(_classes(leaves))}
        return np.array([[float(places[_key(value)])] for value in leaves])
    widths = {len(value) if isinstance(value, tuple) else 1 for value in leaves}
    if kinds not in ({float}, {tuple}) or len(widths) != 1:
        return None
    values = np.array(leaves, dtype=np.float64).reshape(len(leaves), -1)
    signed = np.signbit(values) & (values == 0)
    if not np.isfinite(values).all() or signed.any() or vote.columns.max() >= values.shape[1]:
        return None
    return values


def fixed_point(
    values: Array, first_leaf: Sequence[int], vote: Vote
) -> tuple[Array, Array, int] | None:
    """The leads of all classes over the first one as whole numbers: of leaves, base, and slack."""
    if len(vote.columns) == 0:
        classes = np.arange(1, len(vote.outputs))
        return (values == classes).astype(np.int64), np.zeros(len(classes), dtype=np.int64), 0
    trees = len(first_leaf) - 1
    largest = np.maximum.reduceat(np.abs(values).max(axis=1), first_leaf[:-1])
    threshold = 0.0 if math.isnan(vote.threshold) else abs(vote.threshold)
    size = float(largest.sum() + np.abs(vote.constants).sum() + threshold)
    if not 1e-100 < size < 1e100:
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
    numbers: Array, constants: Array, vote: Vote, first_leaf: Sequence[int]
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
