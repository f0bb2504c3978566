"""The strongest pairs of association and influence: those that no other one reaches in both."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

TIE = 1e-13  # what another order of summation may make of equal measures


def pareto_front(
    associations: npt.NDArray[np.float64], influences: npt.NDArray[np.float64]
) -> list[int]:
    """The places of the pairs that no other pair is at least as high as, by association.

    Of pairs that are equal, up to rounding, the first. Pairs without an influence are left out.

    Examples
    --------
    >>> found = np.array([0.9, 0.2, 0.5, 0.5, 1.0]), np.array([0.1, 0.3, 0.3, 0.3, np.nan])
    >>> pareto_front(*found)
    [0, 2]
    """
    measured = np.flatnonzero(~np.isnan(influences))
    order = measured[np.lexsort((-influences[measured], -associations[measured]))]
    front: list[int] = []
    for place in order.tolist():  # from the closest association down
        if front and influences[place] <= influences[front[-1]] + TIE:
            continue
        if front and associations[place] >= associations[front[-1]] - TIE:
            front.pop()  # as closely associated, up to rounding, and less influential
        front.append(place)
    return [_first_like(place, associations, influences) for place in front]


def _first_like(
    place: int, associations: npt.NDArray[np.float64], influences: npt.NDArray[np.float64]
) -> int:
    near = np.abs(associations - associations[place]) <= TIE
    near &= np.abs(influences - influences[place]) <= TIE
    return int(np.flatnonzero(near)[0])
