"""Which computations of a large model are drawn as points, and how the others are counted.

The size of the page must not grow with the size of the model. Most computations lie far below the
thresholds, where a reader needs no single points. They are counted in the cells of a grid instead.

A cell holds the associations in ``[step * i, step * (i + 1))`` and the influences in
``(step * j, step * (j + 1)]``. These are open and closed like the two thresholds, so the number of
computations above both thresholds is exact wherever the thresholds are multiples of the step. Where
small counts are withheld, associations are rounded first, and stay on their side of epsilon.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from proxyuse.detect.decompositions import Decompositions
from proxyuse.lang.evaluate import Array
from proxyuse.report.release import DECIMALS

MOST_POINTS = 4_000
MOST_CELLS = 6_000  # in all protected attributes together; a finer grid would have more
NEAR = 0.5  # of both thresholds, from which on a computation is always a point

_UNIT = 10**DECIMALS  # measures are rounded, so they are whole multiples of 1 / _UNIT
_STEPS = tuple(_UNIT * step // 1000 for step in (5, 10, 20, 50))


def single_points(
    decompositions: Decompositions, epsilon: float, delta: float, most: int = MOST_POINTS
) -> list[int]:
    """The indices of the decompositions that are drawn as points, in order.

    All of them if there are at most `most`. Otherwise those nearest to both thresholds; witnesses
    and whatever reaches `NEAR` of both thresholds are always among them, even if that makes more.

    Parameters
    ----------
    decompositions : what the audit measured.
    epsilon, delta : its thresholds.
    most : how many points a page may have.
    """
    if len(decompositions) <= most:
        return list(range(len(decompositions)))
    association = decompositions.associations.max(axis=1)
    influence = decompositions.influences
    known = np.flatnonzero(~np.isnan(influence))
    nearness = np.minimum(_ratio(association, epsilon), _ratio(influence, delta))[known]
    order = known[np.lexsort((-association[known], -nearness))]
    always = int((nearness >= NEAR).sum())
    return [int(index) for index in np.sort(order[: max(most, always)])]


def _ratio(values: Array, threshold: float) -> Array:
    return values / threshold if threshold > 0 else np.full(len(values), np.inf)


def counted_cells(
    decompositions: Decompositions,
    singles: Sequence[int],
    kinds: Sequence[int],
    rounded: Callable[[Array], Array] = lambda values: values,
) -> dict[str, Any] | None:
    """The decompositions that are not points, counted in cells; None if all are points.

    Parameters
    ----------
    decompositions : what the audit measured.
    singles : the indices of those that are points.
    kinds : the kind of each decomposition, as a number.
    rounded : rounds associations as far as they may be printed.

    Returns
    -------
    dict
        ``step`` is the width of a cell. ``counts`` has, for each protected attribute, lists of
        column, row, kind and number of computations. ``unmeasured`` is how many decompositions
        have no measured influence; they are neither points nor in a cell.
    """
    if len(singles) == len(decompositions):
        return None
    rest = np.setdiff1d(np.arange(len(decompositions)), singles)
    measured = rest[~np.isnan(decompositions.influences[rest])]
    across = _units(rounded(decompositions.associations[measured]))
    up = _units(decompositions.influences[measured])
    kind = np.asarray(kinds, dtype=np.int64)[measured]
    for step in _STEPS:
        columns, rows = across // step, -(-up // step) - 1
        counts = [
            Counter(zip(column.tolist(), rows.tolist(), kind.tolist(), strict=True))
            for column in columns.T
        ]
        if sum(map(len, counts)) <= MOST_CELLS:
            break
    return {
        "step": step / _UNIT,
        "counts": [[[*cell, n] for cell, n in sorted(count.items())] for count in counts],
        "unmeasured": len(rest) - len(measured),
    }


def _units(values: Array) -> Array:
    """Measures as `report.document.figure` rounds them, in whole units: 0 or 1 only if they are."""
    units: Array = np.rint(values * _UNIT).astype(np.int64)
    units[(values > 0) & (units == 0)] = 1
    units[(values < 1) & (units == _UNIT)] = _UNIT - 1
    return units
