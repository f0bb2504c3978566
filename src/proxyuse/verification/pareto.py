"""The Pareto front of association and influence."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

TIE = 1e-13  # equal measures can differ by this much, by the order of summation


def pareto_front(
    associations: npt.NDArray[np.float64], influences: npt.NDArray[np.float64]
) -> list[int]:
    """Return the indices of the pairs that no other pair dominates, by falling association.

    Of pairs that are equal up to rounding, the first is taken. Pairs without an influence are
    skipped.

    Examples
    --------
    >>> measures = np.array([0.9, 0.2, 0.5, 0.5, 1.0]), np.array([0.1, 0.3, 0.3, 0.3, np.nan])
    >>> pareto_front(*measures)
    [0, 2]
    """
    measured = np.flatnonzero(~np.isnan(influences))
    order = measured[np.lexsort((-influences[measured], -associations[measured]))]
    front: list[int] = []
    for index in order.tolist():
        if front and influences[index] <= influences[front[-1]] + TIE:
            continue
        if front and associations[index] >= associations[front[-1]] - TIE:
            front.pop()  # the same association up to rounding, and less influence
        front.append(index)
    return [_first_like(index, associations, influences) for index in front]


def _first_like(
    index: int, associations: npt.NDArray[np.float64], influences: npt.NDArray[np.float64]
) -> int:
    near = np.abs(associations - associations[index]) <= TIE
    near &= np.abs(influences - influences[index]) <= TIE
    return int(np.flatnonzero(near)[0])
