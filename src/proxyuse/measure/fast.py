"""Exact influence without evaluating the program again for every value.

The idea. Fix one position and look at how the output depends on what stands there, row by row.
Only a few forms of dependence occur between a position and the root, and each gives influence
from counts (its cost is for n rows and k distinct values of the computation p1):

``PASS``   The output is p1 itself where the row reaches it. A pair of rows changes the output
           when the values differ: count equal values. O(n).
``FLIP``   p1 is true or false; the output depends on it in the rows of a mask. A pair changes the
           output when the truth values differ and the first row is in the mask. O(n).
``SIDE``   p1 is a number; through sums, factors and monotone functions it meets one comparison,
           and in the rows of a mask the output is decided by its outcome: by the side of a
           threshold tau(row) on which p1 falls. Sort the values of p1 once, look tau up in
           them, add the mass on the other side. O(n log n); where each row counts once, values
           are put into drawers instead and tau is compared with those in its own, O(n) unless
           they crowd.
``SHIFT``  The output is a monotone function of p1 (a regressor's sum). Values that give the same
           output are neighbours in order: look at neighbours until they differ. O(n log n)
           where few values share an output.
``OTHER``  Anything else (``==``, categories, vectors): for each distinct value, what the rows of
           a mask then say. O(k n), the naive way restricted to the rows that matter; but O(n)
           where only constants stand beside p1 on the way up, for the output is then a function
           of p1 and it suffices to count equal outputs.

Going down from the root each child's form follows from its parent's and from the values of its
siblings. An ite passes its parent's form on to its branches, for the rows that take them, and
its guard becomes a FLIP in the rows where the two branches lead to different outputs. Operands
of ``and`` and ``or`` are a FLIP where the others do not decide. A comparison turns a FLIP into
a SIDE.

Rounding. tau is computed by subtracting, the program adds: they may disagree in the last bits. So
tau comes with a slack that bounds the disagreement, and wherever a value of p1 lies within it the
program's own operations decide, by bisection among the values there, for they are monotone. The
result is the naive engine's, bit for bit in what is counted.

Several positions at once: where each of them is one side of a test, values with the same
outcomes in all tests act alike and are taken together; one value of each kind is tried.

What is counted are pairs of rows, as one of the shapes of `effects`. A shape gives the influence
and, for those who ask for it, its two halves row by row.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from functools import cached_property
from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array, apply, evaluate, truth_of
from proxyuse.lang.nodes import (
    Add,
    And,
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Member,
    Mul,
    Not,
    Or,
    Precision,
    Relation,
    Term,
    Var,
    Vector,
    children,
)
from proxyuse.lang.positions import Spot
from proxyuse.measure.association import Association
from proxyuse.measure.effects import Alike, Effects, Ranges, Shape, Tries, effects_of
from proxyuse.measure.engine import Way
from proxyuse.measure.influence import differ
from proxyuse.measure.naive import NaiveEngine
from proxyuse.measure.parallel import WORTH_LOADING, is_kept, worth_compiling
from proxyuse.measure.support import Support, support_of
from proxyuse.measure.tables import JointTable
from proxyuse.measure.tally import Loops, tally_numbers

_EPS = 2.0**-52
_TINY = 2.0**-1000  # far more than what is lost where numbers become too small to be held
MOST_STRAIN = 2.0**300  # products that large or small are left to the program's own operations

MANY_OPERANDS = 8
"""From so many on, the rest of a sum is the whole minus what is left out."""

FEW_KINDS = 64
"""Kinds of values that are tried for effects, whatever that takes."""

SECONDS_A_NUMBER = 1e-7
"""What NumPy takes for one row of one computation, about."""

MOST_WORK = 2**31
"""Values that are computed for the effects of one computation, at most; some seconds."""


class Form(Enum):
    """How the output depends on a position; see the module's docstring."""

    PASS = "pass"
    FLIP = "flip"
    SIDE = "side"
    SHIFT = "shift"
    OTHER = "other"


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """How the output depends on one position.

    Attributes
    ----------
    form : see `Form`.
    rows : the rows whose output can depend on it.
    judge : for SIDE, a point whose value says which side the position is on.
    tau, slack : for SIDE, the threshold for each row and how exact it is.
    """

    form: Form
    rows: Array
    judge: int = -1
    tau: Array | None = None
    slack: Array | None = None


class FastEngine(NaiveEngine):
    """The naive engine's answers, from contexts; see the module's docstring for how.

    Influence other than QII, and sampled influence, are left to the naive engine.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._path: list[tuple[int, Context]] = []
        self._fold: tuple[Spot, list[Array]] | None = None
        self._last_lifted: tuple[int, Way, float] | None = None
        self._wide_sums: dict[int, tuple[Array, Array]] = {}
        self._row_loops = Loops()

    def __getstate__(self) -> dict[str, Any]:
        """A copy need not find numba where it is opened."""
        return super().__getstate__() | {"_row_loops": Loops()}

    def influence(self, spots: Sequence[Spot]) -> float:
        """The influence of one computation through disjoint positions at which it stands."""
        if not self._counts_changes:
            return super().influence(spots)
        if len(spots) == 1 and not spots[0].operands:
            spots = [Spot(self._lifted(spots[0].point))]
            key = spots[0].point
            if self._last_lifted is None or self._last_lifted[0] != key:
                self._last_lifted = (
                    key,
                    *self._influence(spots, self.values(self.points.terms[key])),
                )
            _, way, found = self._last_lifted
        else:
            way, found = self._influence(spots, self.values(self.points.term_at(spots[0])))
        self.ways[way] += 1
        return found

    def _lifted(self, point: int) -> int:
        """The highest point above whose value is a function of what stands at a point.

        With nothing but constants beside it on the way up, a new value there changes the output
        exactly when the function of it does.
        """
        while point:
            parent = self.points.parents[point]
            term = self.points.terms[parent]
            place = term._order[self.points.steps[point]]
            beside = (part for i, part in enumerate(children(term)) if i != place)
            if not all(isinstance(part, Const) for part in beside):
                break
            point = parent
        return point

    def influence_of(self, spots: Sequence[Spot], values: Array) -> float:
        """The influence that values, one a row, would have at some disjoint positions."""
        return self._influence(spots, values)[1]

    def _influence(self, spots: Sequence[Spot], values: Array) -> tuple[Way, float]:
        self._tick(0)
        with np.errstate(all="ignore"):
            if len(spots) == 1:
                context = self._context(spots[0])
                counted = self._counted_by_side(spots[0], context, values)
                if counted is not None:
                    return Way.CONTEXT, counted / (self.total * self.total)
                shape = self._one(spots[0], context, values)
            else:
                shape = self._tries(spots, values)
            pairs = shape.pairs(self.weights)
        way = Way.VALUES if isinstance(shape, Tries) else Way.CONTEXT
        return way, pairs / (self.total * self.total)

    def effects(self, spots: Sequence[Spot]) -> Effects | None:
        """The influence of one computation row by row; see `NaiveEngine.effects`.

        None, too, where values have to be tried that are of more than `FEW_KINDS` kinds, and that
        means to compute more than `MOST_WORK` values.
        """
        if not self._counts_changes:
            return None
        self._tick(0)
        with np.errstate(all="ignore"):
            shape = self._shape(spots, self.values(self.points.term_at(spots[0])))
            if isinstance(shape, Tries) and len(shape.masses) > FEW_KINDS:
                work = len(shape.masses) * len(shape.rows) * self._parts_above(spots)
                if work > MOST_WORK:
                    return None
            return effects_of(shape, self.weights, self.total)

    def _parts_above(self, spots: Sequence[Spot]) -> int:
        """How many values are put together for one row, from some positions up to the root."""
        seen: set[int] = set()
        for spot in spots:
            point = self.points.parents[spot.point]
            while point >= 0 and point not in seen:
                seen.add(point)
                point = self.points.parents[point]
        return sum(len(children(self.points.terms[point])) for point in seen)

    def _shape(self, spots: Sequence[Spot], values: Array) -> Shape:
        """Which pairs of rows change the output."""
        if len(spots) > 1:
            return self._tries(spots, values)
        return self._one(spots[0], self._context(spots[0]), values)

    def influences(self, spots: Sequence[Spot]) -> list[float]:
        """The influence of what stands at each position, through that position alone.

        Asked for in preorder, each finds its parent's context kept.
        """
        self._choose_loops(len(spots))
        found = {}
        for spot in sorted(spots):
            found[spot] = self.influence([spot])
            self._tick(1)
        return [found[spot] for spot in spots]

    def associations(self, terms: Sequence[Term], measure: Association) -> Array:
        """The association of each computation with each protected attribute."""
        self._choose_loops(len(terms))
        return super().associations(terms, measure)

    def tables(self, term: Term) -> list[JointTable]:
        """The joint table with each protected attribute; long numbers are cut into bins."""
        values = self.values(term)
        numbers = values.dtype == np.float64 and values.ndim == 1
        if isinstance(term, Var) or not numbers or not self._rows_count_once:
            return super().tables(term)
        support, tables = tally_numbers(
            _plain(values),
            [z for _, z in self.protected],
            self._bins,
            self._max_support,
            self._row_loops,
        )
        return self._tables_of(term, support, tables)

    # One position

    def _one(self, spot: Spot, context: Context, values: Array) -> Shape:
        """Which pairs of rows change the output through one position."""
        if not context.rows.any():
            return Alike(context.rows, context.rows)
        match context.form:
            case Form.PASS:
                return Alike(context.rows, support_of(values, self.n_rows).codes)
            case Form.FLIP:
                return Alike(context.rows, truth_of(values))
            case Form.SIDE:
                return self._by_side(spot, context, values)
            case Form.SHIFT:
                return self._by_neighbours(spot, context, values)
            case Form.OTHER if self._alone(spot):
                outputs = self._outcome(spot, np.arange(self.n_rows), values)
                return Alike(context.rows, support_of(outputs, self.n_rows).codes)
            case Form.OTHER:
                return self._grouped(spot, context, values)

    def _alone(self, spot: Spot) -> bool:
        """Whether nothing but constants stands beside a position on the way up."""
        beside = self._rest(spot) if spot.operands else []
        point = spot.point
        while point:
            parent = self.points.parents[point]
            place = self.points.terms[parent]._order[self.points.steps[point]]
            parts = children(self.points.terms[parent])
            beside += [part for i, part in enumerate(parts) if i != place]
            point = parent
        return all(isinstance(part, Const) for part in beside)

    def _grouped(self, spot: Spot, context: Context, values: Array) -> Tries:
        """Each distinct value is tried in the rows that matter."""
        rows = np.flatnonzero(context.rows)
        support = support_of(values, self.n_rows, signed_zero=True)
        actual = self._outcome(spot, rows, values[rows])

        def losses(value: int) -> Array:
            self._tick(0)
            new = np.broadcast_to(
                support.values[value : value + 1], (len(rows), *support.values.shape[1:])
            )
            return differ(actual, self._outcome(spot, rows, new))

        masses = support.masses(self.weights)
        return Tries(rows, support.codes, masses, map(losses, range(len(support))))

    def _counted_by_side(self, spot: Spot, context: Context, values: Array) -> int | None:
        """How many pairs of rows change the output, where each row counts once and has a side.

        A row below its threshold changes with every number above it, another one with every
        number below. None where a number is missing or infinite, or so near a threshold that
        rounding decides.
        """
        numbers = values.dtype == np.float64 and values.ndim == 1
        if context.form is not Form.SIDE or not numbers or not self._rows_count_once:
            return None
        assert context.tau is not None
        assert context.slack is not None
        rows = np.flatnonzero(context.rows)
        tau, slack = context.tau[rows], context.slack[rows]
        ends = values.min(), values.max()
        if not all(np.isfinite(part).all() for part in (ends, tau, slack)):
            return None
        # Rounding may leave a row on one side whatever the number is, though a threshold is there.
        near = np.flatnonzero((tau - slack <= ends[0]) | (ends[1] <= tau + slack))
        near = near[(ends[0] <= tau + slack)[near] & (tau - slack <= ends[1])[near]]
        if len(near):
            some, inside = rows[near], tau[near]
            said = [self._judged(spot, context, some, np.full(len(some), end)) for end in ends]
            if not np.array_equal(differ(*said), (ends[0] < inside) & (inside < ends[1])):
                return None
        return self._row_loops.crossed(_plain(values), tau, values[rows] < tau, slack)

    @cached_property
    def _rows_count_once(self) -> bool:
        return bool((self.weights == 1).all())

    def _choose_loops(self, computations: int) -> None:
        """Count the numbers of so many computations with compiled loops, if they are worth it."""
        wanted = self._compiled
        if wanted is None:
            seconds = SECONDS_A_NUMBER * self.n_rows * computations
            enough = seconds >= WORTH_LOADING or is_kept("tally_kernel")
            wanted = enough and worth_compiling(seconds, "tally_kernel")
        if wanted:
            from proxyuse.measure.tally_kernel import CompiledLoops  # loads numba

            self._row_loops = CompiledLoops()

    def _by_side(self, spot: Spot, context: Context, values: Array) -> Shape:
        """Each row keeps its output on one side of its threshold.

        The low side is the one on which the smallest number falls.
        """
        support = support_of(values.astype(np.float64, copy=False), self.n_rows)
        numbers = support.values[~np.isnan(support.values)]
        rows = np.flatnonzero(context.rows)
        codes = support.codes[rows]
        if len(numbers) == 0:
            return Alike(context.rows, np.zeros(self.n_rows, dtype=np.bool_))
        low = self._judged(spot, context, rows, np.full(len(rows), numbers[0]))
        below = self._low_side(spot, context, numbers, rows, low)
        own_low, lost = codes < below, None
        if len(numbers) < len(support):
            missing = self._judged(spot, context, rows, np.full(len(rows), np.nan))
            missing_low = ~differ(missing, low)
            own_low = np.where(codes == len(numbers), missing_low, own_low)
            lost = own_low != missing_low
        first, last = np.where(own_low, 0, below), np.where(own_low, below, len(numbers))
        return Ranges(rows, first, last, len(numbers), support.codes, lost)

    def _low_side(
        self, spot: Spot, context: Context, numbers: Array, rows: Array, low: Array
    ) -> Array:
        """How many of the sorted numbers are on the low side, for each row."""
        assert context.tau is not None
        assert context.slack is not None
        tau, slack = context.tau[rows], context.slack[rows]
        wild = ~np.isfinite(tau) | ~np.isfinite(slack)
        left = np.where(wild, 0, _looked_up(numbers, tau - slack))
        # Most often no number lies within the slack, and the next one is already above it.
        right = left.copy()
        near = np.flatnonzero(numbers[np.minimum(left, len(numbers) - 1)] <= tau + slack)
        right[near] = np.searchsorted(numbers, (tau + slack)[near], side="right")
        right[wild] = len(numbers)
        # Where the largest number falls on the same side as the smallest, all of them do.
        high = self._judged(spot, context, rows, np.full(len(rows), numbers[-1]))
        one_side = ~differ(low, high)
        left = np.where(one_side, len(numbers), np.maximum(left, 1))
        right = np.maximum(right, left)
        unsure = np.flatnonzero(left < right)
        while len(unsure):
            middle = (left[unsure] + right[unsure]) // 2
            outcome = self._judged(spot, context, rows[unsure], numbers[middle])
            is_low = ~differ(outcome, low[unsure])
            left[unsure] = np.where(is_low, middle + 1, left[unsure])
            right[unsure] = np.where(is_low, right[unsure], middle)
            unsure = unsure[left[unsure] < right[unsure]]
        return left

    def _by_neighbours(self, spot: Spot, context: Context, values: Array) -> Ranges:
        """Under monotone steps the values that give a row's output stand beside its own."""
        support = support_of(values.astype(np.float64, copy=False), self.n_rows)
        ends = support.codes.copy(), support.codes.copy()
        for end, direction in zip(ends, (-1, 1), strict=True):
            rows = np.flatnonzero(context.rows)
            actual = self._outcome(spot, rows, values[rows])
            place = support.codes[rows] + direction
            while len(rows):
                inside = (place >= 0) & (place < len(support))
                rows, place, actual = rows[inside], place[inside], actual[inside]
                if len(rows) == 0:
                    break
                equal = ~differ(actual, self._outcome(spot, rows, support.values[place]))
                rows, place, actual = rows[equal], place[equal], actual[equal]
                end[rows] = place
                place = place + direction
        rows = np.flatnonzero(context.rows)
        return Ranges(rows, ends[0][rows], ends[1][rows] + 1, len(support), support.codes)

    def sides(self, spot: Spot) -> tuple[Array, Array, Array, Array] | None:
        """Where the output of a row is decided by the side of a number: rows, numbers, outputs.

        The outputs are those below the number and above it. None where it is no such position.
        """
        if self._pairs is not None:
            return None
        with np.errstate(all="ignore"):
            context = self._context(spot)
            if context.form is not Form.SIDE:
                return None
            assert context.tau is not None
            assert context.slack is not None
            away = 4 * context.slack + np.abs(context.tau) * 1e-9 + 1e-9
            known = context.rows & np.isfinite(context.tau) & np.isfinite(away)
            rows = np.flatnonzero(known)
            tau, away = context.tau[rows], away[rows]
            low, high = (self.outcome(spot, rows, tau + step) for step in (-away, away))
        return rows, tau, low, high

    # From a position up to the root, with the program's own operations

    def outcome(self, spot: Spot, rows: Array, values: Array) -> Array:
        """The output of some rows with given values at a position that they reach."""
        with np.errstate(all="ignore"):
            return self._outcome(spot, rows, values)

    def _outcome(self, spot: Spot, rows: Array, values: Array) -> Array:
        """The output of some rows with given values at a position."""
        return self._upward(spot, rows, values, 0)

    def _judged(self, spot: Spot, context: Context, rows: Array, values: Array) -> Array:
        """What the deciding point says for some rows with given values at a position."""
        return self._upward(spot, rows, values, context.judge)

    def _upward(self, spot: Spot, rows: Array, values: Array, top: int) -> Array:
        point = spot.point
        if spot.operands:
            rest = self._folded(spot)
            parts = [*(part if len(part) == 1 else part[rows] for part in rest), values]
            values = apply(self.points.terms[point], parts, {}, self.vocabulary)
        while point != top:
            parent = self.points.parents[point]
            term = self.points.terms[parent]
            place = term._order[self.points.steps[point]]
            if isinstance(term, Ite) and place > 0:
                # Only rows that take this branch are ever asked about.
                pass
            else:
                parts = [
                    values if i == place else self._at(part, rows)
                    for i, part in enumerate(children(term))
                ]
                values = apply(term, parts, {}, self.vocabulary)
            point = parent
        return np.broadcast_to(values, (len(rows), *values.shape[1:]))

    def _at(self, term: Term, rows: Array) -> Array:
        values = self._value(term)
        return values if len(values) == 1 else np.asarray(values[rows])

    def _folded(self, spot: Spot) -> list[Array]:
        """What the operands that a subset leaves come to, from left to right; kept for the last.

        The subset stands behind them, so they come to the same whatever it is.
        """
        if self._fold is None or self._fold[0] != spot:
            parts = [self._value(part) for part in self._rest(spot)]
            if len(parts) > 1:
                parts = [apply(self.points.terms[spot.point], parts, {}, self.vocabulary)]
            self._fold = spot, parts
        return self._fold[1]

    def _rest(self, spot: Spot) -> list[Term]:
        """The operands that a subset leaves, as written."""
        term = self.points.terms[spot.point]
        gone = {term._order[i] for i in spot.operands}
        return [part for i, part in enumerate(children(term)) if i not in gone]

    # From the root down to a position

    def _context(self, spot: Spot) -> Context:
        """The context of a position, from that of the nearest point above it that is kept.

        Kept are the contexts on the way to the last position asked for; positions asked for in
        preorder find their parent's there.
        """
        path = self._path
        while path and not path[-1][0] <= spot.point < self.points.end(path[-1][0]):
            path.pop()
        if not path:
            path.append((0, Context(Form.PASS, np.ones(self.n_rows, dtype=np.bool_))))
        below: list[int] = []
        point = spot.point
        while point != path[-1][0]:
            below.append(point)
            point = self.points.parents[point]
        for child in reversed(below):
            above, context = path[-1]
            place = self.points.terms[above]._order[self.points.steps[child]]
            path.append((child, self._inside(above, context, (place,))))
        context = path[-1][1]
        if spot.operands:
            order = self.points.terms[spot.point]._order
            places = tuple(sorted(order[i] for i in spot.operands))
            return self._inside(spot.point, context, places)
        return context

    def _inside(self, point: int, context: Context, places: tuple[int, ...]) -> Context:
        """The context of a child (or some operands) of the term at a point."""
        term = self.points.terms[point]
        parts = children(term)
        if isinstance(term, Ite):
            return self._inside_ite(point, term, context, places[0])
        if isinstance(term, And | Or | Not | Compare | Member) and context.form is Form.PASS:
            context = replace(context, form=Form.FLIP)
        if isinstance(term, Add) and len(parts) > MANY_OPERANDS and context.form is Form.SIDE:
            wide = self._inside_wide_sum(point, context, places)
            if wide is not None:
                return wide
        others = [self._full(self._value(p)) for i, p in enumerate(parts) if i not in places]
        match term:
            case Not() if context.form is Form.FLIP:
                return context
            case And() | Or() if context.form is Form.FLIP:
                rows = context.rows
                for other in others:
                    truth = truth_of(other)
                    rows = rows & (truth if isinstance(term, And) else ~truth)
                return replace(context, rows=rows)
            case Compare() if context.form is Form.FLIP:
                return self._inside_comparison(point, term, context, places[0], others[0])
            case Vector():
                return self._inside_vector(point, context, others)
            case Add() | Mul() if all(self._value(part).ndim == 1 for part in parts):
                return self._inside_arithmetic(term, context, others)
            case Call(Function.FILL, (filled, Const())) if self._fills_nothing(filled, context):
                return context
            case Call(Function.EXP | Function.SIGMOID) if context.form is Form.SIDE:
                unknown = np.full(self.n_rows, np.inf)  # bisection decides everywhere
                return replace(context, tau=np.zeros(self.n_rows), slack=unknown)
            case Call(Function.EXP | Function.SIGMOID) if context.form in (Form.PASS, Form.SHIFT):
                return replace(context, form=Form.SHIFT)
            case _:
                return replace(context, form=Form.OTHER)

    def _fills_nothing(self, filled: Term, context: Context) -> bool:
        """Whether a position under ``fill`` acts like the fill itself.

        A number on one side of a threshold does, because missing values are tried by themselves.
        A variable does where no value of it is missing.
        """
        if context.form is Form.SIDE:
            return True
        whole = isinstance(filled, Var) and not np.isnan(self._value(filled)).any()
        return whole and context.form in (Form.PASS, Form.SHIFT)

    def _value(self, term: Term) -> Array:
        """What a term of the program says; of what is inside trees not all is kept beforehand."""
        if id(term) not in self._values:
            self._values[id(term)] = evaluate(
                term, self.frame.arrays, self.vocabulary, self._values
            )
        return self._values[id(term)]

    def _inside_ite(self, point: int, term: Ite, context: Context, place: int) -> Context:
        guard = self._full(truth_of(self._value(term.guard)))
        if place == 1:
            return replace(context, rows=context.rows & guard)
        if place == 2:
            return replace(context, rows=context.rows & ~guard)
        then, otherwise = (self._full(self._value(part)) for part in children(term)[1:])
        rows = np.zeros(self.n_rows, dtype=np.bool_)
        may_differ = context.rows
        if context.form in (Form.PASS, Form.FLIP, Form.SIDE):  # others can tell 0 from -0
            may_differ = may_differ & differ(then, otherwise)
        at = np.flatnonzero(may_differ)
        if len(at) == 0:
            return Context(Form.FLIP, rows)
        match context.form:
            case Form.PASS:
                rows[at] = True
            case Form.FLIP:
                rows[at] = truth_of(then[at]) != truth_of(otherwise[at])
            case Form.SIDE:
                spot = Spot(point)
                outcomes = [self._judged(spot, context, at, v[at]) for v in (then, otherwise)]
                rows[at] = differ(outcomes[0], outcomes[1])
            case Form.SHIFT | Form.OTHER:
                spot = Spot(point)
                outcomes = [self._outcome(spot, at, v[at]) for v in (then, otherwise)]
                rows[at] = differ(outcomes[0], outcomes[1])
        return Context(Form.FLIP, rows)

    def _inside_comparison(
        self, point: int, term: Compare, context: Context, place: int, other: Array
    ) -> Context:
        ordered = term.relation not in (Relation.EQ, Relation.NE)
        if not ordered or other.dtype == np.int32 or np.isnan(other).any():
            return replace(context, form=Form.OTHER)
        tau = other.astype(np.float64)
        slack = np.zeros(self.n_rows)
        if term.precision is Precision.FLOAT32 and place == 1:
            tau = tau.astype(np.float32).astype(np.float64)
        elif term.precision is Precision.FLOAT32:
            slack = np.abs(tau) * 2.0**-22 + 2.0**-148
            slack = np.where(np.abs(tau) < 2.0**127, slack, np.inf)  # near the end of float32
        return Context(Form.SIDE, context.rows, point, tau, slack)

    def _inside_vector(self, point: int, context: Context, others: list[Array]) -> Context:
        """An entry of a vector right below an argmax: it wins from a threshold on."""
        parent = self.points.parents[point]
        above = self.points.terms[parent] if parent >= 0 else None
        plain = not any(np.isnan(other).any() for other in others)
        if isinstance(above, Argmax) and context.form is Form.OTHER and plain and others:
            tau = np.max(others, axis=0)
            return Context(Form.SIDE, context.rows, 0, tau, np.zeros(self.n_rows))
        return replace(context, form=Form.OTHER)

    def _inside_arithmetic(self, term: Add | Mul, context: Context, others: list[Array]) -> Context:
        """An operand of a sum or product of numbers.

        A row in which another operand is missing has a missing result whatever this one is.
        """
        rows = context.rows
        rest, size = _added(others, self.n_rows)
        if not np.isfinite(size).all():  # a number is missing or infinite
            for other in others:
                rows = rows & ~np.isnan(other)
            others = [np.where(rows, other, 1.0) for other in others]
            rest, size = _added(others, self.n_rows)
        context = replace(context, rows=rows)
        if context.form not in (Form.SIDE, Form.PASS, Form.SHIFT) or not np.isfinite(size).all():
            return replace(context, form=Form.OTHER)
        factor, strain = _multiplied(others if isinstance(term, Mul) else (), self.n_rows)
        if not np.isfinite(factor).all() or (factor == 0).any():
            return replace(context, form=Form.OTHER)
        if context.form is not Form.SIDE:
            return replace(context, form=Form.SHIFT)
        assert context.tau is not None
        assert context.slack is not None
        room = 8.0 * _EPS * (len(others) + 2)
        if isinstance(term, Add):
            tau = context.tau - rest
            slack = context.slack + room * (size + np.abs(context.tau) + np.abs(tau))
        else:
            tau = context.tau / factor
            slack = (context.slack + _TINY) / np.abs(factor) + room * np.abs(tau)
            slack = np.where(strain < MOST_STRAIN, slack, np.inf)
        return replace(context, tau=tau, slack=slack + _TINY)

    def _inside_wide_sum(
        self, point: int, context: Context, places: tuple[int, ...]
    ) -> Context | None:
        """Some operands of a sum of many numbers: what the others come to, by subtracting.

        The slack is that of the whole sum. None where a number is missing or infinite.
        """
        parts = children(self.points.terms[point])
        if point not in self._wide_sums:
            values = [self._value(part) for part in parts]
            if any(value.ndim > 1 for value in values):
                return None
            self._wide_sums[point] = _added(values, self.n_rows)
        total, size = self._wide_sums[point]
        if not np.isfinite(size).all():
            return None
        own, _ = _added((self._value(parts[place]) for place in places), self.n_rows)
        assert context.tau is not None
        assert context.slack is not None
        tau = context.tau - (total - own)
        room = 8.0 * _EPS * (len(parts) + 2)
        slack = context.slack + room * (size + np.abs(context.tau) + np.abs(tau))
        return replace(context, tau=tau, slack=slack + _TINY)

    # Several positions

    def kinds_of_value(self, spots: Sequence[Spot], support: Support) -> Array:
        """A number for each distinct value; values with equal numbers act alike."""
        outcomes = []
        for spot in spots:
            parent = self.points.parents[spot.point]
            term = self.points.terms[parent] if parent >= 0 and not spot.operands else None
            if not isinstance(term, Compare | Member):
                return np.arange(len(support))
            place = self.points.steps[spot.point]
            siblings = [part for step, part in enumerate(children(term)) if step != place]
            if not all(isinstance(part, Const) for part in siblings):
                return np.arange(len(support))
            parts = [self._value(part) for part in siblings]
            parts.insert(place, support.values)
            outcomes.append(apply(term, parts, {}, self.vocabulary))
        return np.asarray(np.unique(np.array(outcomes), axis=1, return_inverse=True)[1]).ravel()


def _plain(values: Array) -> Array:
    """Numbers as compiled loops know them, so that there is one kind of each loop."""
    return np.require(values, np.float64, ["C", "W"])


def _added(numbers: Iterable[Array], n_rows: int) -> tuple[Array, Array]:
    """The sum of some numbers for each row, and that of their sizes."""
    total, size, buffer = np.zeros(n_rows), np.zeros(n_rows), np.empty(n_rows)
    for number in numbers:
        total += number
        size += np.abs(number, out=buffer)
    return total, size


def _multiplied(numbers: Iterable[Array], n_rows: int) -> tuple[Array, Array]:
    """The product of some numbers for each row, and how far products on the way may be from 1."""
    total, strain = np.ones(n_rows), np.ones(n_rows)
    for number in numbers:
        total *= number
        size = np.abs(number)
        strain *= np.maximum(size, 1 / size)
    return total, strain


def _looked_up(numbers: Array, thresholds: Array) -> Array:
    """How many of the sorted numbers are below each threshold.

    Thresholds are looked up in their own order: neighbouring look-ups then touch neighbouring
    memory, which is several times faster than looking them up as they come.
    """
    order = np.argsort(thresholds)
    found = np.empty(len(thresholds), dtype=np.intp)
    found[order] = np.searchsorted(numbers, thresholds[order], side="left")
    return found
