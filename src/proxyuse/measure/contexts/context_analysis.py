"""Find how the output depends on a position, going down from the root."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from proxyuse.lang.evaluate import Array, truth_of
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
    Vector,
    children,
)
from proxyuse.lang.positions import Site
from proxyuse.measure.contexts.context import Context, Form
from proxyuse.measure.contexts.path_evaluation import PathEvaluator
from proxyuse.measure.counting import Rows
from proxyuse.measure.influence import Moved, differ

_EPS = 2.0**-52
_TINY = 2.0**-1000  # more than any error from underflow
_THRESHOLDS = (Form.SIDE, Form.BAND)
_MONOTONE = (*_THRESHOLDS, Form.PASS, Form.SHIFT)
WIDE = 8  # the total of a sum with more operands is cached
MAX_STRAIN = 2.0**300  # for larger or smaller products the program's own operations decide


class ContextAnalysis:
    """Finds the context of each position.

    The contexts on the path to the last position are cached. In preorder, a position therefore
    costs one step from its parent: O(n) per sibling for n rows. A wide sum is added up once for
    all its operands, O(n) per operand.

    Only rows that depend on a position determine its form: it is OTHER if any of them requires it.
    The form on all rows therefore follows from the forms on blocks of rows.
    """

    def __init__(self, sample: Rows) -> None:
        self.sample = sample
        self._path_evaluator = sample.shared(PathEvaluator)
        self._path: list[tuple[int, Context]] = []
        self._total: tuple[int, Array, Array] | None = None  # of the last wide sum
        self._deciding: tuple[int, Array] | None = None  # of the last wide `and` or `or`
        self._moved = sample.loss if isinstance(sample.loss, Moved) else None

    def context(self, site: Site) -> Context:
        """Return the context of a position."""
        points, path = self.sample.points, self._path
        while path and not path[-1][0] <= site.point < points.end(path[-1][0]):
            path.pop()
        if not path:
            path.append((0, self._root()))
        below: list[int] = []
        point = site.point
        while point != path[-1][0]:
            below.append(point)
            point = points.parents[point]
        with np.errstate(all="ignore"):
            for child in reversed(below):
                above, context = path[-1]
                index = points.terms[above]._order[points.steps[child]]
                path.append((child, self._inside(above, context, (index,))))
            context = path[-1][1]
            if site.operands:
                order = points.terms[site.point]._order
                chosen = tuple(sorted(order[i] for i in site.operands))
                return self._inside(site.point, context, chosen)
        return context

    def _root(self) -> Context:
        """Return the context of the whole program."""
        every = np.ones(self.sample.n_rows, dtype=np.bool_)
        if self._moved is None:
            return Context(Form.PASS, every)
        outputs = self.sample.values(self.sample.points.terms[0])
        if outputs.dtype == np.bool_:
            return Context(Form.FLIP, self._moved.loss(outputs, ~outputs))
        tau = np.array(self._moved.kept(outputs))
        with np.errstate(all="ignore"):
            slack = 8.0 * _EPS * (np.abs(tau) + np.abs(outputs)) + _TINY
        return Context(Form.BAND, every, 0, tau, slack)

    def _inside(self, point: int, context: Context, chosen: tuple[int, ...]) -> Context:
        """Return the context of a child, or of some operands, of the term at a point."""
        sample, term = self.sample, self.sample.points.terms[point]
        parts = children(term)
        if isinstance(term, Ite):
            return self._inside_ite(point, term, context, chosen[0])
        if isinstance(term, And | Or | Not | Compare | Member) and context.form is Form.PASS:
            context = Context(Form.FLIP, context.rows)
        if isinstance(term, Add) and len(parts) > max(WIDE, len(chosen)):
            inside = self._inside_wide_sum(point, parts, context, chosen)
            if inside is not None:
                return inside
        if isinstance(term, And | Or) and len(parts) > WIDE and context.form is Form.FLIP:
            return replace(context, rows=context.rows & self._undecided(point, term, chosen))
        others = [sample.values(part) for i, part in enumerate(parts) if i not in chosen]
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
                return self._inside_comparison(point, term, context, chosen[0], others[0])
            case Vector():
                return self._inside_vector(point, context, others)
            case Add() | Mul() if all(sample.value(part).ndim == 1 for part in parts):
                return self._inside_arithmetic(term, context, others)
            case Call(Function.DIV) if chosen == (0,) and sample.value(parts[0]).ndim == 1:
                return self._inside_arithmetic(term, context, others)
            case Call(Function.FILL, (_, Const(value))) if chosen == (0,):
                return _inside_fill(context, value)
            case Call(Function.EXP | Function.SIGMOID) if context.form in (Form.SIDE, Form.BAND):
                assert context.tau is not None
                unknown = np.full_like(context.tau, np.inf)  # bisection decides everywhere
                tau = np.zeros_like(context.tau)
                return replace(context, tau=tau, slack=unknown, missing=None)
            case Call(Function.EXP | Function.SIGMOID) if context.form in (Form.PASS, Form.SHIFT):
                return replace(context, form=Form.SHIFT, missing=None)
            case _:
                return replace(context, form=Form.OTHER, missing=None)

    def _inside_ite(self, point: int, term: Ite, context: Context, index: int) -> Context:
        sample = self.sample
        guard = truth_of(sample.values(term.guard))
        if index == 1:
            return replace(context, rows=context.rows & guard)
        if index == 2:
            return replace(context, rows=context.rows & ~guard)
        then, otherwise = (context.acting(sample.values(p)) for p in children(term)[1:])
        rows = np.zeros(sample.n_rows, dtype=np.bool_)
        may_differ = context.rows
        if context.form in (Form.PASS, Form.FLIP, Form.SIDE):  # the others distinguish 0 from -0
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
                rows[at] = differ(*self._outcomes(context.judge, point, at, then, otherwise))
            case Form.BAND:
                rows[self._leaving_band(point, context, at, guard, then, otherwise)] = True
            case Form.SHIFT | Form.OTHER:
                own, other = (_chosen(guard, *ends) for ends in _both_ways(then, otherwise))
                outcomes = self._outcomes(0, point, at, own, other)
                rows[at] = self._changes(*outcomes)
        return Context(Form.FLIP, rows)

    def _changes(self, actual: Array, changed: Array) -> Array:
        return (differ if self._moved is None else self._moved.loss)(actual, changed)

    def _outcomes(self, top: int, point: int, rows: Array, *values: Array) -> list[Array]:
        """Return the values at a point above, for several columns of values at a point."""
        evaluator, site = self._path_evaluator, Site(point)
        return [evaluator.up_to(top, site, rows, column[rows]) for column in values]

    def _leaving_band(
        self, point: int, context: Context, rows: Array, guard: Array, then: Array, other: Array
    ) -> Array:
        """Return the rows that the other branch moves out of their band.

        The program's own operations decide only where rounding matters.
        """
        own, new = (_chosen(guard, *ends) for ends in _both_ways(then, other))
        value = new[rows]
        low, low_slack, high, high_slack = context.band(rows)
        outside = (value < low - low_slack) | (value > high + high_slack)
        inside = (value > low + low_slack) & (value < high - high_slack)
        unsure = rows[~(outside | inside)]
        moved = self._changes(*self._outcomes(0, point, unsure, own, new))
        return np.concatenate([rows[outside], unsure[moved]])

    def _inside_comparison(
        self, point: int, term: Compare, context: Context, index: int, other: Array
    ) -> Context:
        ordered = term.relation not in (Relation.EQ, Relation.NE)
        if not ordered or other.dtype == np.int32 or _any_in(context.rows, np.isnan(other)):
            return replace(context, form=Form.OTHER)
        tau = other.astype(np.float64)
        slack = np.zeros(self.sample.n_rows)
        if term.precision is Precision.FLOAT32 and index == 1:
            tau = tau.astype(np.float32).astype(np.float64)
        elif term.precision is Precision.FLOAT32:
            slack = np.abs(tau) * 2.0**-22 + 2.0**-148
            slack = np.where(np.abs(tau) < 2.0**127, slack, np.inf)  # near the end of float32
        return Context(Form.SIDE, context.rows, point, tau, slack)

    def _inside_vector(self, point: int, context: Context, others: list[Array]) -> Context:
        """Handle an entry of a vector below an argmax: it wins above a threshold."""
        points = self.sample.points
        parent = points.parents[point]
        above = points.terms[parent] if parent >= 0 else None
        present = not any(_any_in(context.rows, np.isnan(other)) for other in others)
        decides = isinstance(above, Argmax) and context.form is Form.OTHER and self._moved is None
        if decides and present and others:
            tau = np.max(others, axis=0)
            return Context(Form.SIDE, context.rows, 0, tau, np.zeros(self.sample.n_rows))
        return replace(context, form=Form.OTHER)

    def _inside_wide_sum(
        self, point: int, parts: Sequence[Term], context: Context, chosen: tuple[int, ...]
    ) -> Context | None:
        """Handle operands of a sum of many finite numbers; None for any other sum.

        The sum of the other operands is the total minus the chosen ones. The slack covers the
        rounding error of the subtraction, because it is proportional to the size of all operands.
        """
        sample = self.sample
        if self._total is None or self._total[0] != point:
            numbers = [sample.values(part) for part in parts]
            if any(number.ndim != 1 for number in numbers):
                return None
            self._total = point, *_sum(numbers, sample.n_rows)
        _, total, size = self._total
        if not np.isfinite(size).all():
            return None
        if context.form not in _MONOTONE:
            return replace(context, form=Form.OTHER, missing=None)
        context = replace(context, missing=None)
        if context.form not in _THRESHOLDS:
            return replace(context, form=Form.SHIFT)
        own, _ = _sum((sample.values(parts[i]) for i in chosen), sample.n_rows)
        return _below_sum(context, total - own, size, len(parts))

    def _undecided(self, point: int, term: And | Or, chosen: tuple[int, ...]) -> Array:
        """Return the rows that no other operand of an ``and`` or an ``or`` decides.

        Counts the operands that decide a row once, so each operand costs O(n) and not O(n k).
        """

        def decides(part: Term) -> Array:
            truth = truth_of(self.sample.values(part))
            return ~truth if isinstance(term, And) else truth

        parts = term.operands
        if self._deciding is None or self._deciding[0] != point:
            count = np.zeros(self.sample.n_rows, dtype=np.int32)
            for part in parts:
                count += decides(part)
            self._deciding = point, count
        others = self._deciding[1].copy()
        for index in chosen:
            others -= decides(parts[index])
        return np.asarray(others == 0)

    def _inside_arithmetic(
        self, term: Add | Mul | Call, context: Context, others: list[Array]
    ) -> Context:
        """Handle an operand of a sum or product of numbers, or a dividend.

        If another operand is missing in a row, the result is missing for any value of this operand.
        """
        n_rows, rows = self.sample.n_rows, context.rows
        other_form = replace(context, form=Form.OTHER, missing=None)
        rest, size = _sum(others, n_rows)
        if not np.isfinite(size).all():  # a number is missing or infinite
            for other in others:
                rows = rows & ~np.isnan(other)
            others = [np.where(rows, other, 1.0) for other in others]
            rest, size = _sum(others, n_rows)
            other_form = replace(other_form, rows=rows)
        if context.form not in _MONOTONE or not np.isfinite(size).all():
            return other_form
        factor, strain = _product(() if isinstance(term, Add) else others, n_rows)
        if _any_in(rows, ~np.isfinite(factor) | (factor == 0)):
            return other_form
        context = replace(context, rows=rows, missing=None)
        if context.form not in _THRESHOLDS:
            return replace(context, form=Form.SHIFT)
        assert context.tau is not None
        assert context.slack is not None
        if isinstance(term, Add):
            return _below_sum(context, rest, size, len(others))
        rounding = 8.0 * _EPS * (len(others) + 2)
        if isinstance(term, Mul):
            tau = context.tau / factor
            slack = (context.slack + _TINY) / np.abs(factor) + rounding * np.abs(tau)
        else:
            tau = context.tau * factor
            slack = (context.slack + _TINY) * np.abs(factor) + rounding * np.abs(tau)
        slack = np.where(strain < MAX_STRAIN, slack, np.inf)
        return replace(context, tau=tau, slack=slack + _TINY)


def _inside_fill(context: Context, value: object) -> Context:
    """Handle the first argument of ``fill(x, c)``: a missing x acts like the number c."""
    if context.form is Form.OTHER or not isinstance(value, float | bool) or value != value:
        return context if value != value else replace(context, form=Form.OTHER, missing=None)
    return replace(context, missing=float(value), filled=True)


def _below_sum(context: Context, rest: Array, size: Array, count: int) -> Context:
    """Handle a SIDE or a BAND below a sum.

    `rest` is the sum of the other operands, `size` the sum of all magnitudes, and `count` the
    number of operands that are added.
    """
    assert context.tau is not None
    assert context.slack is not None
    rounding = 8.0 * _EPS * (count + 2)
    tau = context.tau - rest
    slack = context.slack + rounding * (size + np.abs(context.tau) + np.abs(tau))
    return replace(context, tau=tau, slack=slack + _TINY)


def _both_ways(first: Array, second: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
    return (first, second), (second, first)


def _chosen(guard: Array, then: Array, otherwise: Array) -> Array:
    return (
        np.where(guard, then, otherwise)
        if then.ndim == 1
        else np.where(guard[:, None], then, otherwise)
    )


def _any_in(rows: Array, marked: Array) -> bool:
    """Return whether any of some rows is marked."""
    return bool(marked.any() and (marked & rows).any())


def _sum(numbers: Iterable[Array], n_rows: int) -> tuple[Array, Array]:
    """Return the sum of some numbers in each row, and the sum of their absolute values."""
    total, size, buffer = np.zeros(n_rows), np.zeros(n_rows), np.empty(n_rows)
    for number in numbers:
        total += number
        size += np.abs(number, out=buffer)
    return total, size


def _product(numbers: Iterable[Array], n_rows: int) -> tuple[Array, Array]:
    """Return the product of some numbers in each row, and a bound on partial products."""
    total, strain = np.ones(n_rows), np.ones(n_rows)
    for number in numbers:
        total *= number
        size = np.abs(number)
        strain *= np.maximum(size, 1 / size)
    return total, strain
