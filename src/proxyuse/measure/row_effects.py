"""Influence row by row: what a row undergoes, and what its value does to the others.

Influence is the mean of ``h(x, x')`` over all pairs of rows, where h says whether the output of
row x is another one with the value of row x'. Its means over one of the two rows tell how far it
could be off in a sample: `changed`, of a row x over all x', and `changing`, of a row x' over all
x. The mean of either over the rows is the influence.

Which pairs change the output takes one of three shapes. Each knows the mass of its pairs, which
is the influence, and its effects, at the same cost but for a few passes over the rows.

``Alike``   Rows and values have a code; a pair changes the output where the codes differ.
``Ranges``  Values have an order; a row keeps its output for values from a first to a last one.
``Tries``   Values of one kind act alike; one of each kind is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array


class RowEffects(NamedTuple):
    """The two halves of an influence, a number between 0 and 1 for each row.

    Attributes
    ----------
    changed : the share of values, by mass, with which the row's output would be another one.
    changing : the share of rows, by mass, whose output would be another one with this row's value.
    """

    changed: Array
    changing: Array


@dataclass(frozen=True, slots=True, eq=False)
class Alike:
    """A value changes the output of some rows unless it has the row's own code.

    Examples
    --------
    >>> shape = Alike(np.array([True, True, False]), np.array([False, True, True]))
    >>> shape.pairs(np.ones(3))
    3.0
    >>> shape.changed(np.ones(3)).tolist(), shape.changing(np.ones(3)).tolist()
    ([2.0, 1.0, 0.0], [1.0, 1.0, 1.0])
    """

    rows: Array
    codes: Array

    def pairs(self, weights: Array) -> float:
        """The mass of pairs of rows that change the output."""
        return float(np.dot(self.changed(weights), weights))

    def changed(self, weights: Array) -> Array:
        """For each row the mass of the values that change its output."""
        return np.where(self.rows, self._of_others(weights), 0.0)

    def changing(self, weights: Array) -> Array:
        """For each row the mass of the rows whose output its value changes."""
        return self._of_others(np.where(self.rows, weights, 0.0))

    def _of_others(self, weights: Array) -> Array:
        """For each row the mass of all rows with another code; exactly 0 where there are none."""
        if self.codes.dtype == np.bool_:
            true, false = (float(np.dot(codes, weights)) for codes in (self.codes, ~self.codes))
            return np.where(self.codes, false, true)
        masses = np.bincount(self.codes, weights)
        rest = masses.sum() - masses if len(masses) > 1 else np.zeros(1)
        return np.asarray(rest[self.codes])


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Some rows keep their output for the values from a first one up to before a last one.

    Attributes
    ----------
    rows : the rows whose output can change.
    first, last : for each of them, places among the values in order.
    size : how many values have an order.
    codes : of every row, its value's place; `size` for one that has no order.
    lost : for each of `rows`, whether a value without an order changes its output.
    beside : rows, each with the rows whose values change its output although in its range.
    """

    rows: Array
    first: Array
    last: Array
    size: int
    codes: Array
    lost: Array | None = None
    beside: Sequence[tuple[int, Array]] = ()

    def pairs(self, weights: Array) -> float:
        """The mass of pairs of rows that change the output."""
        found = float(np.dot(self._changed(weights), weights[self.rows]))
        return found + sum(float(weights[row] * weights[at].sum()) for row, at in self.beside)

    def changed(self, weights: Array) -> Array:
        """For each row the mass of the values that change its output."""
        found = np.zeros(len(weights))
        found[self.rows] = self._changed(weights)
        for row, others in self.beside:
            found[row] += weights[others].sum()
        return found

    def _changed(self, weights: Array) -> Array:
        masses = np.bincount(self.codes, weights, minlength=self.size + 1)
        upto = np.concatenate([[0.0], np.cumsum(masses[: self.size])])
        found: Array = upto[self.first] + (upto[-1] - upto[self.last])
        return found if self.lost is None else found + np.where(self.lost, masses[-1], 0.0)

    def changing(self, weights: Array) -> Array:
        """For each row the mass of the rows whose output its value changes."""
        own = weights[self.rows]
        begin, end = (np.bincount(at, own, self.size + 1) for at in (self.first, self.last))
        # A value changes the rows whose range begins behind it, and those whose range is over.
        masses = np.cumsum(end)
        masses[:-1] += np.cumsum(begin[::-1])[::-1][1:]
        masses[-1] = 0.0 if self.lost is None else np.dot(self.lost, own)
        found = np.asarray(masses[self.codes])
        for row, others in self.beside:
            found[others] += weights[row]
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Tries:
    """One value of each kind is put in place; used up by the first question.

    Attributes
    ----------
    rows : the rows whose output can change.
    kinds : of every row, which kind its value is of.
    masses : of each kind.
    losses : for each kind, whether the output of each of `rows` is another one, or at what cost.
    """

    rows: Array
    kinds: Array
    masses: Array
    losses: Iterator[Array]

    def pairs(self, weights: Array) -> float:
        """The mass of pairs of rows that change the output."""
        own = weights[self.rows]
        pairs = zip(self.masses.tolist(), self.losses, strict=True)
        return float(sum(mass * float(np.dot(losses, own)) for mass, losses in pairs))

    def both(self, weights: Array) -> tuple[Array, Array]:
        """For each row the mass of the values, and that of the rows; see `RowEffects`."""
        own = weights[self.rows]
        changed, by_kind = np.zeros(len(own)), []
        for mass, losses in zip(self.masses.tolist(), self.losses, strict=True):
            changed += mass * losses
            by_kind.append(float(np.dot(losses, own)))
        everywhere = np.zeros(len(weights))
        everywhere[self.rows] = changed
        return everywhere, np.array(by_kind)[self.kinds]


Shape = Alike | Ranges | Tries


def effects_of(shape: Shape, weights: Array, total: float) -> RowEffects:
    """The effects of a computation, from the shape of the pairs that change the output."""
    if isinstance(shape, Tries):
        changed, changing = shape.both(weights)
    else:
        changed, changing = shape.changed(weights), shape.changing(weights)
    return RowEffects(changed / total, changing / total)
