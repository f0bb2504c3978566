"""A measure of association that the user writes as a function."""

from __future__ import annotations

import functools
import numbers
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array


@dataclass(frozen=True, slots=True)
class FunctionAssociation:
    """A user's function from a table of masses to a number from 0 to 1.

    The rows of the table are the values of a computation, or bins of them. The columns are the
    values of the protected attribute. No row is empty.

    Examples
    --------
    >>> import numpy as np
    >>> def largest_share(masses):
    ...     return masses.max() / masses.sum()
    >>> measure = FunctionAssociation(largest_share)
    >>> measure.name, measure(np.array([[3.0, 0.0], [0.0, 1.0]]))
    ('largest_share', 0.75)
    """

    function: Callable[[Array], Any]

    @property
    def name(self) -> str:
        """The name of the function."""
        inner = self.function
        while isinstance(inner, functools.partial):
            inner = inner.func
        return str(getattr(inner, "__name__", type(inner).__name__))

    @property
    def information_bound(self) -> bool:
        """False: nothing is known about the function."""
        return False

    def __call__(self, masses: Array) -> float:
        """Call the function and check that it returns a number from 0 to 1."""
        result = self.function(masses.copy())
        number = isinstance(result, numbers.Real) and not isinstance(result, bool)
        if not number or not 0 <= result <= 1:
            rows, columns = masses.shape
            raise DataError(
                f"the association {self.name!r} returned {result!r} for a table of {rows} rows and "
                f"{columns} columns; it must return a number from 0 to 1"
            )
        return float(result)
