"""How the output depends on a position; see the package's docstring."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from proxyuse.lang.evaluate import Array


class Form(Enum):
    """The forms of dependence."""

    PASS = "pass"
    FLIP = "flip"
    SIDE = "side"
    SHIFT = "shift"
    OTHER = "other"


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """How the output depends on one position.

    Attributes
    ----------
    form : see `Form`.
    rows : the rows whose output can depend on it.
    judge : for SIDE, a point whose value says which side the position is on.
    tau, slack : for SIDE, the threshold of each row and its precision.
    missing : the number that a missing value at this position acts like, if there is one.
    filled : whether there is a `fill` between the position and the point that decides.
    """

    form: Form
    rows: Array
    judge: int = -1
    tau: Array | None = None
    slack: Array | None = None
    missing: float | None = None
    filled: bool = False

    def acting(self, values: Array) -> Array:
        """The values with missing ones replaced by the number they act like."""
        return filled_in(values, self.missing)


def filled_in(values: Array, missing: float | None) -> Array:
    """Values with missing numbers replaced by one, if there is one."""
    if missing is None or values.dtype != np.float64 or values.ndim != 1:
        return values
    return np.where(np.isnan(values), missing, values)
