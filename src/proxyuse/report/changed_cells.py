"""Figures of possible data from the few cells that a move changes.

A move swaps the protected values of some pairs of people (`possible_tables`). If the attribute has
thousands of values, a table has a hundred thousand cells, and a move changes a few dozen of them.
So the figures of the possible data follow from those of the true data and from these cells. Counts
and guesses are the same numbers as those from whole tables. Associations are rounded differently,
by less than the error that comes with them. Whoever compares them with a threshold measures the
whole table if they are that close to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from proxyuse.lang.evaluate import Array

ROUNDING = 1e-9
"""A bound on the rounding error of an entropy."""
CLOSE = 2.0
"""Two values are nearly as common if their counts differ by this many roots of their total."""


@dataclass(frozen=True, slots=True)
class Block:
    """The cells of a table that a move may change: some rows and some columns of it.

    Attributes
    ----------
    rows, columns : their indices.
    counts, masses : the cells in each possible data of the move, by data, row and column.
    """

    rows: Array
    columns: Array
    counts: Array
    masses: Array

    @classmethod
    def of(
        cls,
        table: tuple[Array, Array],
        codes: Array,
        labels: Array,
        amounts: Array,
        kept: Array,
    ) -> Block:
        """Make the block of a move.

        Parameters
        ----------
        table : its counts and masses.
        codes, labels, amounts : the row, the column and the mass of both people of each swap.
        kept : after how many swaps there are possible data.
        """
        rows, row = np.unique(codes, return_inverse=True)
        columns, column = np.unique(labels, return_inverse=True)
        row, column = row.reshape(-1, 2), column.reshape(-1, 2)
        shape = len(rows), len(columns)

        def changed(own: Array, amounts: Array) -> Array:
            change = np.zeros((len(codes) + 1, shape[0] * shape[1]), dtype=own.dtype)
            steps = np.arange(1, len(codes) + 1)
            for side in (0, 1):
                for other, sign in ((side, -1), (1 - side, 1)):
                    cells = row[:, side] * shape[1] + column[:, other]
                    np.add.at(change, (steps, cells), sign * amounts[:, side])
            every = np.cumsum(change, axis=0)[kept].reshape(-1, *shape)
            return np.asarray(own[np.ix_(rows, columns)] + every)

        counts, masses = table
        ones = np.ones(codes.shape, dtype=counts.dtype)
        return cls(rows, columns, changed(counts, ones), changed(masses, amounts))


@dataclass(eq=False)
class WideTable:
    """A table with many protected values, and its figures in the true data.

    Attributes
    ----------
    counts, masses : rows of data and their mass, by value and protected value.
    """

    counts: Array
    masses: Array

    # Association

    @cached_property
    def _total(self) -> float:
        return float(self.masses.sum())

    @cached_property
    def _columns(self) -> Array:
        return np.asarray(self.masses.sum(axis=0)) / self._total

    @cached_property
    def _sums(self) -> tuple[float, float, float]:
        """The sums of p log p by row, by column and by cell."""
        rows = self.masses.sum(axis=1) / self._total
        return tuple(  # type: ignore[return-value]
            float(_terms(part).sum()) for part in (rows, self._columns, self.masses / self._total)
        )

    def associations(self, block: Block) -> tuple[Array, Array]:
        """Return the normalized mutual information in each possible data, and its error."""
        rows, columns, cells = self._sums
        own = self.masses[np.ix_(block.rows, block.columns)]
        before, after = own / self._total, np.maximum(block.masses, 0.0) / self._total
        joint = cells + (_terms(after).sum(axis=(1, 2)) - _terms(before).sum())
        known = self._columns[block.columns]
        now = np.maximum(known + (after.sum(axis=1) - before.sum(axis=0)), 0.0)
        protected = columns + (_terms(now).sum(axis=1) - _terms(known).sum())
        entropy = np.maximum(-joint, ROUNDING)
        values = np.clip((joint - rows - protected) / entropy, 0.0, 1.0)
        return values, ROUNDING / entropy

    # Guesses

    @cached_property
    def _commonest(self) -> Array:
        return np.asarray(self.masses.max(axis=1))

    @cached_property
    def _totals(self) -> Array:
        return np.asarray(self.counts.sum(axis=1))

    @cached_property
    def _close(self) -> Array:
        return close_lines(np.sort(self.counts, axis=1)[:, -2:], self._totals)

    def guessed(self, block: Block) -> Array:
        """Return the share of mass with the commonest protected value, in each possible data."""
        others = self.masses[block.rows]
        others[:, block.columns] = 0.0
        commonest = np.tile(self._commonest, (len(block.masses), 1))
        commonest[:, block.rows] = np.maximum(block.masses.max(axis=2), others.max(axis=1))
        return np.asarray(commonest.sum(axis=1) / self._total)

    def close_rows(self, block: Block) -> int:
        """Return the most rows of data with values whose guess may depend on the folds."""
        others = self.counts[block.rows]
        others[:, block.columns] = 0
        two = np.sort(others, axis=1)[:, -2:]
        every = np.concatenate(
            [block.counts, np.broadcast_to(two, (len(block.counts), *two.shape))], axis=2
        )
        close = np.tile(self._close, (len(block.counts), 1))
        close[:, block.rows] = close_lines(
            np.sort(every, axis=2)[..., -2:], self._totals[block.rows]
        )
        return int((self._totals * close).sum(axis=1).max(initial=0))


def close_lines(two: Array, totals: Array) -> Array:
    """Return whether the two largest counts of each line, in order, are nearly equal."""
    return np.asarray(two[..., -1] - two[..., -2] <= CLOSE * np.sqrt(totals))


def _terms(shares: Array) -> Array:
    """Return p log p for each share."""
    return np.asarray(shares * np.log(np.where(shares > 0, shares, 1.0)))
