"""How the values of trees become a decision, in integers that can be counted.

A program is recognized if it depends on its variables only through trees with constant leaves,
combined in one of these forms:

- a vote: ``argmax`` of a sum of vectors, optionally divided by a number (soft-voting forests);
- one sum per class: ``argmax`` of a vector of sums of numbers (multiclass boosting);
- a threshold: a sum of numbers that reaches one comparison with a constant through monotone
  functions (binary boosting), with any term around the comparison;
- a single tree with a label at each leaf;
- a number: one tree or a sum of trees, optionally divided by a number (regressors).

All but the last become scores of K classes; the largest score wins, and ties go to the first class.
The two classes of a threshold are "below" and "not below" the smallest sum for which the
comparison changes its answer. Bisection with the program's own operations finds that sum.

Scores are integers relative to the first class: the *leads*. They are the leaf values times a power
of two. Integer sums are exact in any order, so the contribution of a tree can be removed and
replaced. The program itself adds in float64 and rounds. Its scores differ from the integer ones by
at most a *slack*; if the winner leads by less, the program's own sum decides. If all leaf values
are small multiples of one power of two, float64 sums are exact and the slack is 0.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

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
    value_text,
)
from proxyuse.lang.packed import Forest
from proxyuse.lang.positions import Points, Site

MAX_CLASSES = 256
MAX_TOLERANCE = 2.0**61
_HOLE = Var("sum of trees")


class Sums(NamedTuple):
    """How the program adds up the values of the trees, as arrays for compiled loops.

    Attributes
    ----------
    operands : the trees of each sum, in the order of the sum; -1 for a constant.
    constants : the value of each operand that is a constant.
    firsts : the index of each sum's first operand, followed by the number of operands.
    columns : the entry of the trees' values that each sum adds.
    divisors : the number that divides each sum.
    threshold : the smallest sum of the second class; NaN if the largest sum wins.
    outputs : an output number for each class; classes with equal outputs share it. Empty if the
        output is the sum itself.
    values : the values of the leaves (leaves x entries).
    by, share : if the output is a number, a pair counts if it moves the output by more than `by`,
        or by more than this share of it; one of the two is 0.
    tolerance : `by` in the unit of the leads.
    """

    operands: Array
    constants: Array
    firsts: Array
    columns: Array
    divisors: Array
    threshold: float
    outputs: Array
    values: Array
    by: float = 0.0
    share: float = 0.0
    tolerance: float = 0.0


@dataclass(frozen=True, slots=True, eq=False)
class Decision:
    """How the trees' values become a decision.

    Attributes
    ----------
    sums : the program's own operations.
    scores : what each leaf adds to each class's lead over the first class, as integers. If the
        output is a number, what each leaf adds to it.
    base : the leads without any tree.
    slack : the largest difference to the program's own scores, in the same unit.
    unit : what an output of 1 adds, before it is divided.
    size : the largest sum of absolute values that the program adds, before it is divided.
    """

    sums: Sums
    scores: Array
    base: Array
    slack: int
    unit: float = 1.0
    size: float = 1.0

    def moved(self, by: float, relative: bool) -> Decision:
        """Return the decision of a number that counts only moves of more than a threshold.

        The program divides and subtracts two sums of at most 2^58 units, and compares; each step
        rounds once.
        """
        assert self.is_number
        tolerance = 0.0 if relative else by * float(self.sums.divisors[0]) * self.unit
        tolerance = min(tolerance, MAX_TOLERANCE)
        share = by if relative else 0.0
        limit = min(tolerance + share * 2.0**58, MAX_TOLERANCE)
        slack = self.slack + math.ceil((2.0**58 + limit) * 2.0**-49)
        sums = self.sums._replace(by=0.0 if relative else by, share=share, tolerance=tolerance)
        return replace(self, sums=sums, slack=slack)

    @property
    def is_number(self) -> bool:
        """Whether the output is a number rather than one of some classes."""
        return len(self.sums.outputs) == 0


@dataclass(frozen=True, slots=True)
class Form:
    """The position of the sums in a program.

    Attributes
    ----------
    core : the lowest point with all variables below it: a tree, a sum, or a vector of sums.
    above : the points above the core, starting at the root.
    sums : the divisor of each sum, and the points of its operands in written order.
    """

    core: int
    above: tuple[int, ...]
    sums: tuple[tuple[float, tuple[int, ...]], ...]


def form_of(points: Points) -> Form | None:
    """Find the sums of a program, or return None if it has none."""
    point, above = 0, list[int]()
    while True:
        term = points.terms[point]
        if isinstance(term, Vector):
            return Form(point, tuple(above), tuple(_sum(points, p) for p in points.below(point)))
        if isinstance(term, Add) or _is_tree(term):
            return Form(point, tuple(above), (_sum(points, point),))
        varying = [p for p in points.below(point) if not isinstance(points.terms[p], Const)]
        if len(varying) != 1:
            return None
        above.append(point)
        point = varying[0]


def _is_tree(term: Term) -> bool:
    """Return whether the root of a term is that of a tree: an `ite` on a test, not on a sum."""
    if not isinstance(term, Ite):
        return False
    match term.guard:
        case Compare(_, left, right):
            return not any(isinstance(side, Add | Ite | Call) for side in (left, right))
        case _:
            return True


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
    """Return whether division keeps the order of sums without underflow or overflow."""
    return 1e-100 < divisor < 1e100


def decision_of(
    points: Points, form: Form, tree_at: Mapping[int, int], forest: Forest
) -> Decision | None:
    """Return how the sums decide, or None if the program has none of the forms above."""
    if not form.above and form.core in tree_at and forest.labels:
        return _label_decision(forest)
    sums = None
    for index, point in enumerate(form.above):
        between = [points.terms[p] for p in form.above[index + 1 :]]
        match points.terms[point]:
            case Argmax(_, labels):
                sums = _largest(points, form, point, labels, between, tree_at, forest)
                break
            case Compare():
                sums = _threshold(points, form, point, between, tree_at, forest)
                break
    else:
        sums = _number(points, form, tree_at, forest)
    return None if sums is None else _fixed_point(sums, forest)


def _label_decision(forest: Forest) -> Decision | None:
    """The decision of a single tree: the label of the leaf wins."""
    numbers = _numbered(list(forest.labels))
    outputs = np.arange(int(numbers.max()) + 1)
    missing = any(isinstance(v, float) and math.isnan(v) for v in forest.labels)
    if missing or not 2 <= len(outputs) <= MAX_CLASSES:
        return None
    none = np.empty(0, dtype=np.int64)
    classes = numbers[forest.leaves]
    values = classes[:, None].astype(np.float64)
    sums = Sums(none, np.empty(0), np.zeros(1, dtype=np.int64), none, np.empty(0), math.nan,
                outputs, values)  # fmt: skip
    scores = (classes[:, None] == outputs[1:]).astype(np.int64)
    return Decision(sums, scores, np.zeros(len(outputs) - 1, dtype=np.int64), 0)


def _largest(
    points: Points, form: Form, judge: int, labels: tuple[Value, ...], between: list[Term],
    tree_at: Mapping[int, int], forest: Forest,
) -> Sums | None:  # fmt: skip
    """The largest entry of a sum of vectors, or of a vector of sums, wins."""
    sums, columns = list(form.sums), [0] * len(form.sums)
    if not isinstance(points.terms[form.core], Vector):
        if forest.leaves.ndim != 2 or not all(point in tree_at for point in sums[0][1]):
            return None
        columns = list(range(forest.leaves.shape[1]))
        sums = sums * len(columns)
    elif forest.leaves.ndim != 1:
        return None
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
    classes = list(labels) or [float(c) for c in range(len(columns))]
    if len(classes) != len(columns) or not 2 <= len(classes) <= MAX_CLASSES:
        return None
    return _sums(points, sums, columns, tree_at, _outputs(points, judge, classes), math.nan, forest)


def _threshold(
    points: Points, form: Form, judge: int, between: list[Term], tree_at: Mapping[int, int],
    forest: Forest,
) -> Sums | None:  # fmt: skip
    """A sum is compared with a threshold."""
    plain = len(form.sums) == 1 and form.sums[0][0] == 1 and forest.leaves.ndim == 1
    if not plain or not all(map(_monotone, between)):
        return None
    switch = _switch(points, judge, form.core)
    if switch is None:
        return None
    threshold, below = switch
    outputs = _outputs(points, judge, [below, not below])
    return _sums(points, list(form.sums), [0], tree_at, outputs, threshold, forest)


def _number(points: Points, form: Form, tree_at: Mapping[int, int], forest: Forest) -> Sums | None:
    """The sum itself, optionally divided by a number, is the output."""
    if len(form.sums) != 1 or forest.leaves.ndim != 1:
        return None
    divisor, operands = form.sums[0]
    match [points.terms[point] for point in form.above]:
        case []:
            pass
        case [Call(Function.DIV, (_, Const(float() as number)))] if divisor == 1 and _plain(number):
            divisor = number
        case _:
            return None
    none = np.empty(0, dtype=np.int64)
    return _sums(points, [(divisor, operands)], [0], tree_at, none, math.nan, forest)


def _sums(
    points: Points, sums: list[tuple[float, tuple[int, ...]]], columns: list[int],
    tree_at: Mapping[int, int], outputs: Array, threshold: float, forest: Forest,
) -> Sums | None:  # fmt: skip
    if forest.labels or not np.isfinite(forest.leaves).all():
        return None
    operands = [point for _, points_of_sum in sums for point in points_of_sum]
    constants = []
    for point in operands:
        term = points.terms[point]
        value = term.value if isinstance(term, Const) else 0.0
        if type(value) is not float or not math.isfinite(value):
            return None
        constants.append(value)
    return Sums(
        operands=np.array([tree_at.get(point, -1) for point in operands], dtype=np.int64),
        constants=np.array(constants),
        firsts=np.cumsum([0, *(len(points_of_sum) for _, points_of_sum in sums)]),
        columns=np.array(columns, dtype=np.int64),
        divisors=np.array([divisor for divisor, _ in sums]),
        threshold=threshold,
        outputs=outputs,
        values=np.ascontiguousarray(forest.leaves.reshape(len(forest.leaves), -1)),
    )


def _monotone(term: Term) -> bool:
    """Return whether a term is monotone in its only operand that is not constant."""
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
    """Return the smallest sum at which a comparison changes its answer, and the answer below it."""
    comparison = points.terms[judge]
    assert isinstance(comparison, Compare)
    others = [part.value for part in children(comparison) if isinstance(part, Const)]
    plain = len(others) == 1 and type(others[0]) is float and others[0] == others[0]
    if not plain or comparison.relation in (Relation.EQ, Relation.NE):
        return None
    whole = points.replace({Site(core): _HOLE})
    compare = Points(whole).terms[judge]  # points above the core keep their numbers

    def answers(numbers: Array) -> Array:
        with np.errstate(all="ignore"):
            return truth_of(evaluate(compare, {_HOLE.name: numbers}, Vocabulary()))

    last, first = last_with_first_answer(answers)
    return None if last == math.inf else (float(np.nextafter(last, math.inf)), first)


def _outputs(points: Points, judge: int, answers: Sequence[Value]) -> Array:
    """Return an output number for each answer of the deciding point."""
    vocabulary = Vocabulary()
    outputs = []
    for value in answers:
        term = points.replace({Site(judge): Const(value)})
        outputs.append(first_value(evaluate(term, {}, vocabulary), vocabulary))
    return _numbered(outputs)


def _numbered(values: list[Value]) -> Array:
    """Number values in order of appearance; equal values share a number, as do 0 and -0."""
    numbers: dict[str, int] = {}
    texts = (value_text(0.0 if type(value) is float and value == 0 else value) for value in values)
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts])


def _fixed_point(sums: Sums, forest: Forest) -> Decision | None:
    """Convert the leads of all classes over the first one to integers."""
    trees = len(forest.starts)
    values = sums.values
    largest = np.zeros(trees)
    for tree in range(trees):
        own = values[forest.first_leaf[tree] : forest.first_leaf[tree + 1]]
        largest[tree] = np.abs(own).max()
    threshold = 0.0 if math.isnan(sums.threshold) else abs(sums.threshold)
    size = float(largest.sum() + np.abs(sums.constants).sum() + threshold)
    if size == 0:
        size = 1.0
    if not 1e-100 < size < 1e100:
        return None
    digits = 50 - math.frexp(size)[1]
    exact = all(_multiples(numbers, digits) for numbers in (values, sums.constants))
    if not exact:
        digits += 8
    unit = math.ldexp(1.0, digits)
    numbers = np.rint(values * unit).astype(np.int64)
    constants = np.rint(sums.constants * unit).astype(np.int64)
    rounding = 0.0 if exact else 8.0 * (trees + len(sums.constants) + 4) * 2.0**-53 * size * unit
    slack = 0 if exact else math.ceil(rounding) + 2 * len(sums.constants) + 4
    if not math.isnan(sums.threshold):
        # From the threshold on the second class wins, and it wins if its lead is above 0.
        base = np.array([constants.sum() + 1 - math.ceil(sums.threshold * unit)])
        scores = numbers
    elif len(sums.outputs) == 0:
        base, scores = np.array([constants.sum()]), numbers
        if slack:  # both sums can be off by this much, and the quotient is rounded once more
            slack = 2 * slack + math.ceil(size * unit * 2.0**-50)
    else:
        scores, base = _leads(numbers, constants, sums, forest.first_leaf)
    base = np.asarray(base, dtype=np.int64)
    return Decision(sums, np.ascontiguousarray(scores), base, int(slack), unit, size)


def _multiples(numbers: Array, digits: int) -> bool:
    """Return whether all numbers are integer multiples of ``2 ** -digits``."""
    scaled = numbers * math.ldexp(1.0, digits)
    return bool(np.all(scaled == np.rint(scaled)))


def _leads(numbers: Array, constants: Array, sums: Sums, first_leaf: Array) -> tuple[Array, Array]:
    classes = len(sums.columns)
    totals = np.zeros((len(numbers), classes), dtype=np.int64)
    base = np.zeros(classes, dtype=np.int64)
    for c in range(classes):
        for index in range(sums.firsts[c], sums.firsts[c + 1]):
            tree = sums.operands[index]
            if tree < 0:
                base[c] += constants[index]
            else:
                leaves = slice(first_leaf[tree], first_leaf[tree + 1])
                totals[leaves, c] += numbers[leaves, sums.columns[c]]
    return totals[:, 1:] - totals[:, :1], base[1:] - base[0]
