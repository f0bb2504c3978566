"""Cramer's V as a measure of association."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.ragged_tables import BELOW_ONE, RaggedTables, measure_stacked


@dataclass(frozen=True, slots=True)
class CramersV:
    """Cramer's V: the square root of chi-squared over its maximum for a table of this shape.

    It is 0 when both sides are independent or one is constant. It is 1 when the side with more
    values determines the other, even if the reverse does not hold. It is not corrected for chance.
    The cost is linear in the size of the table.

    Examples
    --------
    >>> cramer = CramersV()
    >>> cramer(np.array([[3.0, 0.0], [0.0, 5.0]])), cramer(np.array([[2.0, 4.0], [1.0, 2.0]]))
    (1.0, 0.0)
    >>> round(cramer(np.array([[1.0, 0.0], [1.0, 2.0]])), 4)
    0.5774
    """

    @property
    def name(self) -> str:
        """The name of the measure in results."""
        return "Cramer's V"

    @property
    def information_bound(self) -> bool:
        """False: Cramer's V can exceed I(X; Z) / H(Z)."""
        return False

    def __call__(self, masses: Array) -> float:
        """Measure one table of masses."""
        return float(self.ragged(masses, np.zeros(1, dtype=np.intp))[0])

    def many(self, masses: Array) -> Array:
        """Measure many tables of one shape, stacked along the first axis."""
        return measure_stacked(self.ragged, masses)

    def ragged(self, masses: Array, starts: Array) -> Array:
        """Measure many tables with the same columns, concatenated along the rows."""
        tables = RaggedTables.of(masses, starts)
        expected = tables.independent()
        deviation = (masses - expected) / np.where(expected > 0, expected, 1.0)
        squared = tables.sum_rows((deviation * deviation * expected).sum(axis=1)) / tables.totals
        freedom = np.maximum(np.minimum(tables.rows, tables.columns) - 1, 1)
        result = np.clip(np.sqrt(squared / freedom), 0.0, BELOW_ONE)
        result[tables.rows_determine & (tables.rows >= tables.columns)] = 1.0
        result[tables.columns_determine & (tables.columns >= tables.rows)] = 1.0
        result[tables.constant] = 0.0
        return np.asarray(result)


MEASURES = (CramersV(),)
