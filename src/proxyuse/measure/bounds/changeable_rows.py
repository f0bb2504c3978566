"""How much can be moved at all, without trying combinations.

Where some places of a program are left open, each taking any of several values by itself, a row
whose output is one value only (`value_set`) is not moved by any choice for them, nor for some of
them. The mass of the other rows bounds the influence of every set of those places from above.
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


@dataclass(frozen=True, slots=True, eq=False)
class ChangeableRows:
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
        sites: Sequence[Site],
        values: Array,
        new: Array,
        masses: Array,
        tick: Callable[[int], None],
    ) -> float:
        """The mass of pairs of row and new value with which some choice changes the output.

        At each of some positions stands the old or the new value, independently of the others.
        Costs one evaluation on sets of values for each new value.
        """
        holes = [Var(f"{self.hole.name}{i}") for i in range(len(sites))]
        context = self.points.replace(dict(zip(sites, holes, strict=True)))
        known = self.known(context)
        old = singleton(values)
        moved = 0.0
        for index, mass in enumerate(masses.tolist()):
            tick(0)
            choice = union(old, singleton(new[index : index + 1]))
            moved += mass * self._moved(context, known, {hole.name: choice for hole in holes})
        return moved

    def rows(self, operator: int, operands: Collection[int], values: Sequence[Array]) -> float:
        """The mass of rows whose output some choice for some operands of an operator changes.

        Each of them takes, by itself, any value observed for it; `values` has those of all
        operands, as they are written.
        """
        term = self.points.terms[operator]
        assert isinstance(term, Add | Mul | And | Or)
        free = {term._order[step] for step in operands}
        parts = [
            _observed(part) if place in free else singleton(part)
            for place, part in enumerate(values)
        ]
        with np.errstate(all="ignore"):
            outcome = reordered(term, parts)
        context = self.points.replace({Site(operator): self.hole})
        return self._moved(context, self.known(context), {self.hole.name: outcome})

    def _moved(self, context: Term, known: Values, holes: dict[str, ValueSet]) -> float:
        """The mass of rows of which a program with holes may say more than one thing."""
        found = possible_values(context, self.columns, self.vocabulary, holes, known)
        fixed = np.broadcast_to(found.fixed, (len(self.weights),))
        return float(np.dot(~fixed, self.weights))


def _observed(values: Array) -> ValueSet:
    """All values of a column, for each row."""
    if values.dtype == np.bool_:
        return Truth(np.array([values.any()]), np.array([not values.all()]))
    lost = np.isnan(values)
    low = np.where(lost, np.inf, values).min(axis=0, keepdims=True)
    high = np.where(lost, -np.inf, values).max(axis=0, keepdims=True)
    return Interval(low, high, np.asarray(lost.any(axis=0, keepdims=True)))
