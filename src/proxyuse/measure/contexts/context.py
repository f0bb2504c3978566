"""The context of a position: how the output depends on it (see the package docstring)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from proxyuse.lang.evaluate import Array


class Form(Enum):
    """The forms in which the output can depend on a position."""

    PASS = "pass"
    FLIP = "flip"
    SIDE = "side"
    SHIFT = "shift"
    BAND = "band"
    OTHER = "other"


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """How the output depends on one position.

    Attributes
    ----------
    form : see `Form`.
    rows : the rows whose output can depend on it.
    judge : for SIDE, a point whose value shows which side of the threshold the position is on.
    tau, slack : for SIDE, the threshold of each row and a bound on its rounding error. For BAND,
        the two thresholds between which the output is kept, in any order (2 x rows).
    missing : the number that a missing value at this position acts like, if any.
    filled : whether there is a `fill` between the position and the deciding point.
    """

    form: Form
    rows: Array
    judge: int = -1
    tau: Array | None = None
    slack: Array | None = None
    missing: float | None = None
    filled: bool = False

    def band(self, rows: Array) -> tuple[Array, Array, Array, Array]:
        """For BAND, the lower threshold of some rows, its slack, and the upper ones."""
        assert self.tau is not None
        assert self.slack is not None
        (tau, other), (slack, other_slack) = self.tau[:, rows], self.slack[:, rows]
        swap = tau > other
        return (
            np.where(swap, other, tau),
            np.where(swap, other_slack, slack),
            np.where(swap, tau, other),
            np.where(swap, slack, other_slack),
        )

    def acting(self, values: Array) -> Array:
        """Replace missing values with the number they act like."""
        return filled_in(values, self.missing)


def filled_in(values: Array, missing: float | None) -> Array:
    """Replace missing numbers with `missing`, unless it is None."""
    if missing is None or values.dtype != np.float64 or values.ndim != 1:
        return values
    return np.where(np.isnan(values), missing, values)
