"""Upper bounds on influence from the rows whose output can change at all.

Suppose some positions of a program can each take any of several values, independently. If interval
analysis shows that a row has a single possible output, no choice of values at these positions, or
at any subset of them, changes that row. The mass of the remaining rows bounds the influence of
every subset of the positions, without trying combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array, Values, Vocabulary
from proxyuse.lang.nodes import Add, And, Mul, Or, Term, Var
from proxyuse.lang.positions import Points, Site
from proxyuse.measure.bounds.interval_analysis import (
    Interval,
    Truth,
    ValueSet,
    possible_values,
    reordered,
    singleton,
    union,
)
from proxyuse.measure.influence import Moved
from proxyuse.measure.sample import Sample

ROUNDING = 1e-12
"""More than the relative rounding error of a sum."""


@dataclass(frozen=True, slots=True, eq=False)
class ChangeableRows:
    """Finds the rows whose output can change if some positions take other values.

    Attributes
    ----------
    points : the points of the program.
    columns, vocabulary : the values of its variables, and the codes of categories.
    known : returns the known values of unchanged parts of a term.
    weights : the weight of each row.
    hole : a variable that the program does not use, and whose name starts no other name.
    keeps : whether each row's loss is 0 for all outputs in a set.
    """

    points: Points
    columns: Mapping[str, Array]
    vocabulary: Vocabulary
    known: Callable[[Term], Values]
    weights: Array
    hole: Var
    keeps: Callable[[ValueSet], Array]

    def pairs(
        self,
        sites: Sequence[Site],
        values: Array,
        new: Array,
        masses: Array,
        tick: Callable[[int], None],
    ) -> float:
        """Return the mass of pairs of a row and a new value that can change the output.

        Each position takes the old or the new value, independently of the others. Costs one
        interval analysis per new value.
        """
        holes = [Var(f"{self.hole.name}{i}") for i in range(len(sites))]
        context = self.points.replace(dict(zip(sites, holes, strict=True)))
        known = self._known_sets(context)
        old = singleton(values)
        total = 0.0
        for index, mass in enumerate(masses.tolist()):
            tick(0)
            choice = union(old, singleton(new[index : index + 1]))
            total += mass * self._moved(context, known, {hole.name: choice for hole in holes})
        return total

    @classmethod
    def of(cls, sample: Sample) -> ChangeableRows:
        """Return the changeable rows of the program of a sample."""
        return cls(
            sample.points, sample.frame.arrays, sample.vocabulary, sample.inside, sample.weights,
            sample.hole,
            _unchanged if not isinstance(sample.loss, Moved) else _within(sample.loss, sample),
        )  # fmt: skip

    def rows_at(self, sites: Sequence[Site], values: Array) -> float:
        """Return the mass of rows that other values at some positions can change.

        Each position independently takes any observed value.
        """
        return self.rows_at_each(sites, [values] * len(sites))

    def rows_at_each(self, sites: Sequence[Site], values: Sequence[Array]) -> float:
        """Return the mass of rows that other values at some positions can change.

        Each position independently takes any of its own observed values, one array per position.
        """
        holes = [Var(f"{self.hole.name}{i}") for i in range(len(sites))]
        context = self.points.replace(dict(zip(sites, holes, strict=True)))
        choices = {h.name: _observed(v) for h, v in zip(holes, values, strict=True)}
        return self._moved(context, self._known_sets(context), choices)

    def rows(self, operator: int, operands: Collection[int], values: Sequence[Array]) -> float:
        """Return the mass of rows that other values of some operands can change.

        Each of these operands independently takes any value observed for it. `values` holds the
        values of all operands, in written order.
        """
        term = self.points.terms[operator]
        assert isinstance(term, Add | Mul | And | Or)
        free = {term._order[step] for step in operands}
        parts = [
            _observed(part) if index in free else singleton(part)
            for index, part in enumerate(values)
        ]
        with np.errstate(all="ignore"):
            outcome = reordered(term, parts)
        context = self.points.replace({Site(operator): self.hole})
        return self._moved(context, self._known_sets(context), {self.hole.name: outcome})

    def _known_sets(self, context: Term) -> dict[int, ValueSet]:
        return {node: singleton(values) for node, values in self.known(context).items()}

    def _moved(
        self, context: Term, known: dict[int, ValueSet], holes: dict[str, ValueSet]
    ) -> float:
        """Return the mass of rows with a possible output whose loss is not 0."""
        outputs = possible_values(context, self.columns, self.vocabulary, holes, known)
        fixed = np.broadcast_to(self.keeps(outputs), (len(self.weights),))
        return float(np.dot(~fixed, self.weights))


def _unchanged(outputs: ValueSet) -> Array:
    """Return whether each row has one possible output, which is its own."""
    return outputs.fixed


def _within(moved: Moved, sample: Sample) -> Callable[[ValueSet], Array]:
    """Return a function that marks the rows that all outputs of a set move too little to count.

    A sum without some of its operands is added up in another order, so the limits are a little
    closer than those of the measure.
    """
    low, high = moved.kept(sample.outputs())
    with np.errstate(all="ignore"):
        slack = ROUNDING * (np.abs(low) + np.abs(high))
        low, high = low + slack, high - slack

    def keeps(outputs: ValueSet) -> Array:
        if not isinstance(outputs, Interval):
            return outputs.fixed
        near = (outputs.low >= low) & (outputs.high <= high) & ~outputs.missing
        return outputs.fixed | near

    return keeps


def _observed(values: Array) -> ValueSet:
    """Return the set of all values of a column, as a possible value of each row."""
    if values.dtype == np.bool_:
        return Truth(np.array([values.any()]), np.array([not values.all()]))
    missing = np.isnan(values)
    low = np.where(missing, np.inf, values).min(axis=0, keepdims=True)
    high = np.where(missing, -np.inf, values).max(axis=0, keepdims=True)
    return Interval(low, high, np.asarray(missing.any(axis=0, keepdims=True)))
