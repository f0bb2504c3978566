"""The reference implementation: every measure computed directly from its definition.

This module is short enough to verify by reading. It imports nothing else from `proxyuse.measure`,
so it shares no mistakes with the engines. Tests compare every engine with it, and certificates are
checked against it. An influence costs O(k n m) for k distinct values of a computation, n rows and m
nodes above the positions. The values of all nodes are kept, O(n) each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from proxyuse.data.columns import Column
from proxyuse.data.population import Population
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array, Evaluator, evaluate, evaluate_all, truth_of, unified
from proxyuse.lang.nodes import Ite, Term, Var
from proxyuse.lang.packing import unpack_trees
from proxyuse.lang.positions import Site
from proxyuse.program import Frame, Program


class MovedBy(NamedTuple):
    """Whether a number moves by more than `by`, or with `relative`, by more than this share."""

    by: float
    relative: bool


Loss = Literal["change", "squared change"] | MovedBy


class Reference:
    """The measures of one program on one population, by definition.

    Parameters
    ----------
    program, population
        The population must hold the program's variables.
    loss : "change" (quantitative input influence), "squared change", `MovedBy`, or an object with
        methods ``loss(actual, changed)`` and ``scale(actual, weights)``.
    pairs : rows X and X' to average over; None averages over all pairs, by weight.
    association : a function of a table of masses; None is normalized mutual information. If it
        has a true attribute ``values``, it is also called with the values of rows and columns.
    max_support, bins : numbers with more than `max_support` distinct values are put in `bins`, or
        measured by their best cut. By default, `max_support` is a tenth of the rows, but at least
        16 and at most 256.
    tick : called before each evaluation; may raise to stop.

    Examples
    --------
    >>> program = Program.parse("ite(x <= 1, 0, 1)")
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> reference = Reference(program, people)
    >>> reference.influence([Site(1)]), reference.reach([Site(1)])
    (0.375, 1.0)
    >>> reference.associations(program.term).round(4).tolist()
    [0.2075]
    """

    def __init__(
        self,
        program: Program,
        population: Population,
        *,
        loss: Loss | Any = "change",
        pairs: tuple[Array, Array] | None = None,
        association: Callable[..., float] | None = None,
        max_support: int | None = None,
        bins: int | Literal["best-cut"] | None = "best-cut",
        tick: Callable[[int], None] = lambda steps: None,
    ) -> None:
        # Trees become nested ites, evaluated branch by branch, without the engines' tree walks.
        program = Program(unpack_trees(program.term), program.inputs)
        self.program, self.population = program, population
        self.points, self.weights = program.points, population.weights
        self.loss, self.pairs = loss, pairs
        self.association: Callable[..., float] = association or normalized_mutual_information
        rule = min(256, max(16, population.n_rows // 10))
        self.max_support = rule if max_support is None else max_support
        self.bins, self.tick = bins, tick
        self.frame = Frame(population.columns[name] for name in program.variables)
        self.hole = Var("hole" + "'" * (1 + max(map(len, program.inputs), default=0)))
        self._known = evaluate_all(program.term, self.frame.arrays, self.frame.vocabulary)

    # Values

    def values(self, term: Term) -> Array:
        """Return the value of a term in each row."""
        return self._evaluated(
            unpack_trees(term), self.frame.arrays, self._known, len(self.weights)
        )

    def _evaluated(self, term: Term, columns: Any, known: Any, rows: int) -> Array:
        self.tick(0)
        values = evaluate(term, columns, self.frame.vocabulary, known)
        return np.broadcast_to(values, (rows, *values.shape[1:]))

    # Influence

    def influence(self, sites: Sequence[Site]) -> float:
        """Return the mean loss if the values at disjoint positions come from another row."""
        scale = self._scale(self.values(self.program.term))
        if scale == 0:
            return 0.0
        context = self.points.replace(dict.fromkeys(sites, self.hole))
        own = self.values(self.points.term_at(sites[0]))
        if self.pairs is not None:
            return self._over_pairs(context, own, *self.pairs) / scale
        output = self._output(context, [self.hole])
        actual, total = output(own), 0.0
        for value, mass in zip(*self._distinct(own), strict=True):
            losses = self._losses(actual, output(value[None]))
            total += float(mass) * float(np.dot(losses, self.weights))
        return total / float(self.weights.sum()) ** 2 / scale

    def collective_influence(self, collection: Sequence[Sequence[Site]]) -> float:
        """Return the mean loss if several computations take their values from one other row.

        `collection` holds the positions of each computation; all positions are disjoint. Costs one
        evaluation of the program per row.
        """
        scale = self._scale(self.values(self.program.term))
        if scale == 0:
            return 0.0
        holes = [Var(f"{self.hole.name}{number}") for number in range(len(collection))]
        context = self.points.replace(
            {site: hole for sites, hole in zip(collection, holes, strict=True) for site in sites}
        )
        own = [self.values(self.points.term_at(sites[0])) for sites in collection]

        output = self._output(context, holes)
        actual, total = output(*own), 0.0
        for row, mass in enumerate(self.weights.tolist()):
            losses = self._losses(actual, output(*(values[row : row + 1] for values in own)))
            total += mass * float(np.dot(losses, self.weights))
        return total / float(self.weights.sum()) ** 2 / scale

    def _output(self, context: Term, holes: Sequence[Var]) -> Callable[..., Array]:
        """Return a function from the values of each hole to the output of each row."""
        evaluator = Evaluator(context, self._known)

        def output(*values: Array) -> Array:
            self.tick(0)
            filled = {hole.name: value for hole, value in zip(holes, values, strict=True)}
            outputs = evaluator({**self.frame.arrays, **filled}, self.frame.vocabulary)
            return np.broadcast_to(outputs, (len(self.weights), *outputs.shape[1:]))

        return output

    def _over_pairs(self, context: Term, own: Array, rows: Array, others: Array) -> float:
        columns = {name: column[rows] for name, column in self.frame.arrays.items()}
        outputs = [
            self._evaluated(context, {**columns, self.hole.name: own[drawn]}, {}, len(rows))
            for drawn in (rows, others)
        ]
        return float(np.mean(self._losses(*outputs)))

    def _distinct(self, values: Array) -> tuple[Array, Array]:
        """Return the distinct values and the mass of each.

        Numbers are compared by their bits, because a division distinguishes 0 from -0. All missing
        numbers are one value.
        """
        bits = values
        if values.dtype == np.float64:
            bits = np.where(np.isnan(values), np.nan, values).view(np.int64)
        _, first, codes = np.unique(bits, axis=0, return_index=True, return_inverse=True)
        return values[first], np.bincount(codes.ravel(), self.weights)

    def _losses(self, actual: Array, changed: Array) -> Array:
        with np.errstate(all="ignore"):
            if self.loss == "change":
                return ~_same(actual, changed)
            if isinstance(self.loss, MovedBy):
                return _moved(actual.astype(np.float64), changed.astype(np.float64), *self.loss)
            if self.loss != "squared change":
                return np.asarray(self.loss.loss(actual, changed))
            difference = changed.astype(np.float64) - actual.astype(np.float64)
            squares: Array = np.where(_same(actual, changed), 0.0, difference**2)
        if not np.isfinite(squares).all():
            raise DataError("squared change needs outputs that are finite and never missing")
        return squares

    def _scale(self, outputs: Array) -> float:
        if self.loss == "change":
            return 1.0
        with np.errstate(all="ignore"):
            built_in = self.loss == "squared change" or isinstance(self.loss, MovedBy)
            if not built_in:
                return float(self.loss.scale(outputs, self.weights))  # type: ignore[union-attr]
            if outputs.dtype == np.int32 or outputs.ndim == 2:
                raise DataError(
                    f"{self.loss} needs a program whose output is a number; "
                    "use QuantitativeInputInfluence"
                )
            if isinstance(self.loss, MovedBy):
                return 1.0
            if _same(outputs, outputs[:1]).all():
                raise DataError(
                    "squared change is undefined if all outputs are equal; "
                    "use QuantitativeInputInfluence"
                )
            numbers = outputs.astype(np.float64)
            mean = np.average(numbers, weights=self.weights)
            return 2.0 * float(np.average((numbers - mean) ** 2, weights=self.weights))

    # Reach

    def reach(self, sites: Sequence[Site]) -> float:
        """Return the share of rows that evaluate at least one of the positions."""
        reached = np.zeros(len(self.weights), dtype=np.bool_)
        for site in sites:
            rows, point = np.ones(len(self.weights), dtype=np.bool_), site.point
            while point > 0:
                parent, step = self.points.parents[point], self.points.steps[point]
                above = self.points.terms[parent]
                if isinstance(above, Ite) and step > 0:
                    guard = truth_of(self.values(above.guard))
                    rows = rows & (guard if step == 1 else ~guard)
                point = parent
            reached = reached | rows
        return float(self.weights[reached].sum() / self.weights.sum())

    # Association

    def associations(self, term: Term) -> Array:
        """Return the association of a computation with each protected attribute."""
        values = self.values(term)
        return np.array([self._association(values, z.column) for z in self.population.protected])

    def _association(self, values: Array, column: Column) -> float:
        (protected,) = Frame([column]).arrays.values()
        columns, column_ends = self._binned(protected, 16, 256)
        if getattr(self.association, "values", False):
            codes, ends = _codes(values)
            table = self._table(codes, len(ends), columns, len(column_ends))
            sides = {"rows": _middles(ends), "columns": _middles(column_ends)}
            return float(self.association(table, **sides))
        if self.bins == "best-cut":
            if values.ndim == 2 and len(_codes(values)[1]) > self.max_support:
                return max(self._best_cut(number, columns) for number in values.T)
            present = np.unique(values[~np.isnan(values)]) if _is_number(values) else ()
            if len(present) > self.max_support:
                return self._best_cut(values, columns)
        bins = self.bins if isinstance(self.bins, int) else None
        codes, ends = self._binned(values, bins, self.max_support)
        return float(self.association(self._table(codes, len(ends), columns, len(column_ends))))

    def _best_cut(self, numbers: Array, columns: Array) -> float:
        """Return the largest association of a test ``number <= t``; missing is a third outcome.

        The cuts lie between 256 groups of equal mass. A cut has numbers on both sides.
        """
        groups, missing = self._groups(numbers, 256), np.isnan(numbers)
        best = 0.0
        for boundary in range(1, 256):
            above = groups >= boundary
            if above[~missing].all() or not above[~missing].any():
                continue
            outcome = np.where(missing, 2, above)
            held, codes = np.unique(outcome, return_inverse=True)
            table = self._table(codes, len(held), columns, int(columns.max()) + 1)
            best = max(best, float(self.association(table)))
        return best

    def _table(self, codes: Array, rows: int, others: Array, columns: int) -> Array:
        table = np.zeros((rows, columns))
        np.add.at(table, (codes, others), self.weights)
        return table

    def _groups(self, numbers: Array, count: int) -> Array:
        """Return the group of each row among `count` groups of equal mass; missing numbers get it.

        The group is ``floor(count * (mass below + half the mass at it) / total + 1e-9)``: a number
        that is this close to a boundary lies on it, however weights are rounded. Missing numbers
        are not part of the total.
        """
        missing = np.isnan(numbers)
        distinct, codes = np.unique(numbers[~missing], return_inverse=True)
        masses = np.bincount(codes, self.weights[~missing], minlength=len(distinct))
        middle = np.cumsum(masses) - masses / 2
        group = np.minimum(np.floor(count * middle / masses.sum() + 1e-9), count - 1)
        groups = np.full(len(numbers), float(count))
        groups[~missing] = group[codes]
        return groups

    def _binned(
        self, values: Array, bins: int | None, max_support: int
    ) -> tuple[Array, list[tuple[Any, Any]]]:
        """Return the group of each row, and the smallest and largest value of each group.

        Missing numbers are a group of their own.
        """
        codes, ends = _codes(values)
        present = [low == low for low, _ in ends] if _is_number(values) else []
        if bins is None or sum(present) <= max_support:
            return codes, ends
        held, group = np.unique(self._groups(values, bins), return_inverse=True)
        members = [values[group == number] for number in range(len(held))]
        return group, [(own.min(), own.max()) for own in members]


def normalized_mutual_information(table: Array) -> float:
    """``I(X; Z) / H(X, Z)`` of a table of masses; 1 if each determines the other, 0 if constant.

    Examples
    --------
    >>> round(normalized_mutual_information(np.array([[1.0, 0.0], [1.0, 2.0]])), 4)
    0.2075
    """
    held = table > 0
    if (held.any(axis=1).sum() < 2) or (held.any(axis=0).sum() < 2):
        return 0.0
    if held.sum(axis=0).max() == 1 and held.sum(axis=1).max() == 1:
        return 1.0
    total = table.sum()
    independent = np.outer(table.sum(axis=1), table.sum(axis=0)) / total
    information = np.sum(table[held] * np.log(table[held] / independent[held]))
    entropy = -np.sum(table[held] * np.log(table[held] / total))
    return float(max(0.0, information / entropy))


def _is_number(values: Array) -> bool:
    """Return whether there is one number per row."""
    return values.dtype == np.float64 and values.ndim == 1


def _same(first: Array, second: Array) -> Array:
    """Return whether two values are equal in each row; missing equals missing."""
    first, second = unified(first, second)
    same: Array = first == second
    if first.dtype == np.float64:
        same = same | (np.isnan(first) & np.isnan(second))
    return np.asarray(same.all(axis=1)) if same.ndim == 2 else same


def _moved(old: Array, new: Array, by: float, relative: bool) -> Array:
    """Return whether numbers move by more than a threshold; any change to or from no number."""
    same, distance = _same(old, new), np.abs(old - new)
    limit = np.abs(old) * by if relative else np.full(len(old), by)
    numbers = np.isfinite(old + 0 * new) & np.isfinite(new + 0 * old)
    return np.where(numbers, distance > limit, ~same)


def _codes(values: Array) -> tuple[Array, list[tuple[Any, Any]]]:
    """Return the index of each row's value in sorted order, and each value as a range."""
    plain = values + 0.0 if values.dtype == np.float64 else values  # -0.0 + 0.0 is 0.0
    # With an axis, NumPy 2.0 does not take missing values for equal.
    axis = 0 if plain.ndim == 2 else None
    distinct, codes = np.unique(plain, axis=axis, return_inverse=True, equal_nan=True)
    if plain.ndim == 2 and np.isnan(plain).any():
        bits = np.where(np.isnan(plain), np.nan, plain).view(np.int64)
        _, first, codes = np.unique(bits, axis=0, return_index=True, return_inverse=True)
        distinct = plain[first]
    return codes.ravel(), [(value, value) for value in distinct]


def _middles(ends: list[tuple[Any, Any]]) -> Array:
    return np.array([low if low is high else low / 2 + high / 2 for low, high in ends])
