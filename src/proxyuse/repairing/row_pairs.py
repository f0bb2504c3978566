"""The pairs of rows on which a repair measures collective influence."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.pair_sampling import Pairs
from proxyuse.measure.sample import Sample

SEARCH_PAIRS = 1 << 15
"""The pairs on which the search measures influence."""

ALL_PAIRS = 1 << 18
"""The pairs on which its result is checked. If there are fewer pairs of rows, all are used."""


@dataclass(frozen=True, slots=True, eq=False)
class RowPairs:
    """Pairs of rows, each with a mass.

    Attributes
    ----------
    rows, others : the two rows of each pair.
    masses : the mass of each pair; the sum is 1.
    drawn : whether the pairs were drawn; otherwise they are all pairs that there are.
    """

    rows: Array
    others: Array
    masses: Array
    drawn: bool

    @classmethod
    def of(cls, sample: Sample) -> RowPairs:
        """Return all pairs of rows of a sample, or many random ones."""
        count = sample.n_rows
        if count * count <= ALL_PAIRS:
            shares = sample.weights / sample.total
            rows, others = (side.ravel() for side in np.indices((count, count)))
            return cls(rows, others, shares[rows] * shares[others], False)
        rows, others = Pairs(sample).draw(ALL_PAIRS)
        return cls(rows, others, np.full(ALL_PAIRS, 1.0 / ALL_PAIRS), True)

    @classmethod
    def same(cls, count: int) -> RowPairs:
        """Return the pairs of each row with itself."""
        rows = np.arange(count)
        return cls(rows, rows, np.full(count, 1.0 / max(1, count)), False)

    def __len__(self) -> int:
        return len(self.rows)

    def first(self, count: int) -> RowPairs:
        """Return the first of the pairs; all of them if they were not drawn."""
        if not self.drawn or len(self) <= count:
            return self
        return RowPairs(self.rows[:count], self.others[:count], np.full(count, 1.0 / count), True)

    @property
    def searched(self) -> RowPairs:
        """The pairs for the search."""
        return self.first(SEARCH_PAIRS)
