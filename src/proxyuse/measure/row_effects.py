"""Influence row by row: how often a row changes, and how often its value changes others.

Influence is the mean of ``h(x, x')`` over all pairs of rows, where h is 1 if the value of row x'
changes the output of row x. Confidence bounds need its means over one of the two rows: `changed`
is the mean over all x' for a row x, and `changing` is the mean over all x for a row x'. The mean of
either over the rows is the influence.

The set of pairs that change the output has one of three shapes. Each shape gives the mass of its
pairs, which is the influence, and the effects, for a few more passes over the rows.

``Alike``   Rows and values have codes; a pair changes the output if the codes differ.
``Ranges``  Values are ordered; each row keeps its output for a range of values.
``Tries``   Values fall into classes that act alike; one value of each class is tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array


class RowEffects(NamedTuple):
    """The influence broken down by row, as numbers from 0 to 1.

    Attributes
    ----------
    changed : the share of values, by mass, that change the row's output.
    changing : the share of rows, by mass, whose output the row's value changes.
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
        """Return the mass of pairs of rows that change the output."""
        return float(np.dot(self.changed(weights), weights))

    def changed(self, weights: Array) -> Array:
        """Return, for each row, the mass of the values that change its output."""
        return np.where(self.rows, self._of_others(weights), 0.0)

    def changing(self, weights: Array) -> Array:
        """Return, for each row, the mass of the rows whose output its value changes."""
        return self._of_others(np.where(self.rows, weights, 0.0))

    def _of_others(self, weights: Array) -> Array:
        """Return the mass of the rows with another code; exactly 0 if there are none."""
        if self.codes.dtype == np.bool_:
            true, false = (float(np.dot(codes, weights)) for codes in (self.codes, ~self.codes))
            return np.where(self.codes, false, true)
        masses = np.bincount(self.codes, weights)
        rest = masses.sum() - masses if len(masses) > 1 else np.zeros(1)
        return np.asarray(rest[self.codes])


@dataclass(frozen=True, slots=True, eq=False)
class Ranges:
    """Each row keeps its output for the values from `first` up to, but not including, `last`.

    Attributes
    ----------
    rows : the rows whose output can change.
    first, last : for each of them, indices into the sorted values.
    size : the number of values that have an order.
    codes : the index of every row's value; `size` for a value without an order.
    lost : for each of `rows`, whether a value without an order changes its output.
    beside : rows, each with the rows whose values change its output although they are in range.
    """

    rows: Array
    first: Array
    last: Array
    size: int
    codes: Array
    lost: Array | None = None
    beside: Sequence[tuple[int, Array]] = ()

    def pairs(self, weights: Array) -> float:
        """Return the mass of pairs of rows that change the output."""
        result = float(np.dot(self._changed(weights), weights[self.rows]))
        return result + sum(float(weights[row] * weights[at].sum()) for row, at in self.beside)

    def changed(self, weights: Array) -> Array:
        """Return, for each row, the mass of the values that change its output."""
        result = np.zeros(len(weights))
        result[self.rows] = self._changed(weights)
        for row, others in self.beside:
            result[row] += weights[others].sum()
        return result

    def _changed(self, weights: Array) -> Array:
        masses = np.bincount(self.codes, weights, minlength=self.size + 1)
        upto = np.concatenate([[0.0], np.cumsum(masses[: self.size])])
        result: Array = upto[self.first] + (upto[-1] - upto[self.last])
        return result if self.lost is None else result + np.where(self.lost, masses[-1], 0.0)

    def changing(self, weights: Array) -> Array:
        """Return, for each row, the mass of the rows whose output its value changes."""
        own = weights[self.rows]
        begin, end = (np.bincount(at, own, self.size + 1) for at in (self.first, self.last))
        # A value changes the rows whose range begins after it, and those whose range has ended.
        masses = np.cumsum(end)
        masses[:-1] += np.cumsum(begin[::-1])[::-1][1:]
        masses[-1] = 0.0 if self.lost is None else np.dot(self.lost, own)
        result = np.asarray(masses[self.codes])
        for row, others in self.beside:
            result[others] += weights[row]
        return result


@dataclass(frozen=True, slots=True, eq=False)
class Tries:
    """One value of each class is tried. `losses` is an iterator, so it can be used once.

    Attributes
    ----------
    rows : the rows whose output can change.
    kinds : the class of every row's value.
    masses : the mass of each class.
    losses : for each class, the loss in each of `rows`.
    """

    rows: Array
    kinds: Array
    masses: Array
    losses: Iterator[Array]

    def pairs(self, weights: Array) -> float:
        """Return the mass of pairs of rows that change the output."""
        own = weights[self.rows]
        pairs = zip(self.masses.tolist(), self.losses, strict=True)
        return float(sum(mass * float(np.dot(losses, own)) for mass, losses in pairs))

    def both(self, weights: Array) -> tuple[Array, Array]:
        """Return the masses of both directions for each row; see `RowEffects`."""
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
    """Return the effects of a computation from the pairs that change the output."""
    if isinstance(shape, Tries):
        changed, changing = shape.both(weights)
    else:
        changed, changing = shape.changed(weights), shape.changing(weights)
    return RowEffects(changed / total, changing / total)
