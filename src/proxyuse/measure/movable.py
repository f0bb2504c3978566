"""How much can be moved at all, without trying combinations.

Where some places of a program are left open, each taking any of several values by itself, a row
whose output is one value only (`possible`) is not moved by any choice for them, nor for some of
them. The mass of the other rows bounds the influence of every set of those places from above.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array, Values, Vocabulary
from proxyuse.lang.nodes import Add, And, Mul, Or, Term, Var
from proxyuse.lang.positions import Points, Spot
from proxyuse.measure.possible import (
    Interval,
    Possible,
    Truth,
    either,
    exactly,
    possible_values,
    reordered,
)
from proxyuse.measure.sample import Sample


@dataclass(frozen=True, slots=True, eq=False)
class Movable:
    """What can be moved in a program on some rows.

    Attributes
    ----------
    points : of the program.
    columns, vocabulary : its variables on the rows, and numbers for their categories.
    known : the values of the parts of a changed term that the program has, too.
    weights : of the rows.
    hole : a variable that the program does not have, nor any whose name begins like it.
    """

    points: Points
    columns: Mapping[str, Array]
    vocabulary: Vocabulary
    known: Callable[[Term], Values]
    weights: Array
    hole: Var

    def pairs(
        self,
        spots: Sequence[Spot],
        values: Array,
        new: Array,
        masses: Array,
        tick: Callable[[int], None],
    ) -> float:
        """The mass of pairs of row and new value with which some choice changes the output.

        At each of some positions stands the old or the new value, independently of the others.
        Costs one evaluation on sets of values for each new value.
        """
        holes = [Var(f"{self.hole.name}{i}") for i in range(len(spots))]
        context = self.points.replace(dict(zip(spots, holes, strict=True)))
        known = self.known(context)
        old = exactly(values)
        moved = 0.0
        for index, mass in enumerate(masses.tolist()):
            tick(0)
            choice = either(old, exactly(new[index : index + 1]))
            moved += mass * self._moved(context, known, {hole.name: choice for hole in holes})
        return moved

    @classmethod
    def of(cls, sample: Sample) -> Movable:
        """What can be moved in the program of a sample."""
        return cls(
            sample.points, sample.frame.arrays, sample.vocabulary, sample.inside, sample.weights,
            sample.hole,
        )  # fmt: skip

    def rows_at(self, spots: Sequence[Spot], values: Array) -> float:
        """The mass of rows whose output some choice of values at some positions changes.

        At each position any of the observed values may stand, independently of the others.
        """
        holes = [Var(f"{self.hole.name}{i}") for i in range(len(spots))]
        context = self.points.replace(dict(zip(spots, holes, strict=True)))
        choice = _observed(values)
        return self._moved(context, self.known(context), {hole.name: choice for hole in holes})

    def rows(self, operator: int, operands: Collection[int], values: Sequence[Array]) -> float:
        """The mass of rows whose output some choice for some operands of an operator changes.

        Each of them takes, by itself, any value observed for it; `values` has those of all
        operands, as they are written.
        """
        term = self.points.terms[operator]
        assert isinstance(term, Add | Mul | And | Or)
        free = {term._order[step] for step in operands}
        parts = [
            _observed(part) if place in free else exactly(part) for place, part in enumerate(values)
        ]
        with np.errstate(all="ignore"):
            outcome = reordered(term, parts)
        context = self.points.replace({Spot(operator): self.hole})
        return self._moved(context, self.known(context), {self.hole.name: outcome})

    def _moved(self, context: Term, known: Values, holes: dict[str, Possible]) -> float:
        """The mass of rows of which a program with holes may say more than one thing."""
        found = possible_values(context, self.columns, self.vocabulary, holes, known)
        fixed = np.broadcast_to(found.fixed, (len(self.weights),))
        return float(np.dot(~fixed, self.weights))


def _observed(values: Array) -> Possible:
    """All values of a column, for each row."""
    if values.dtype == np.bool_:
        return Truth(np.array([values.any()]), np.array([not values.all()]))
    lost = np.isnan(values)
    low = np.where(lost, np.inf, values).min(axis=0, keepdims=True)
    high = np.where(lost, -np.inf, values).max(axis=0, keepdims=True)
    return Interval(low, high, np.asarray(lost.any(axis=0, keepdims=True)))
