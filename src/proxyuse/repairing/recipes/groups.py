"""Groups of rows by the value of a protected attribute or of what a model learns."""

from __future__ import annotations

from typing import Any

import numpy as np

from proxyuse.data.columns import as_column
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.support import Support, cut, support_of
from proxyuse.repairing.recipes.training import CannotFit
from proxyuse.settings import PROTECTED_BINS, PROTECTED_VALUES


def support(name: str, values: Any) -> Support:
    """The distinct values of a column, and the index of each row's value."""
    try:
        column = as_column(name, values)
    except DataError as error:
        raise CannotFit(str(error)) from error
    return support_of(column.values, len(column))


def attribute_groups(name: str, values: Any, weights: Array) -> Array:
    """The group of each row by a protected attribute, as the measures group it.

    A number with more than 256 values is cut into 16 groups of equal mass. Missing values are a
    group.

    Examples
    --------
    >>> attribute_groups("sex", ["f", "m", "f", None], np.ones(4)).tolist()
    [1, 2, 1, 0]
    >>> int(attribute_groups("age", np.arange(1000.0), np.ones(1000)).max())
    15
    """
    return cut(support(name, values), weights, PROTECTED_BINS, PROTECTED_VALUES).codes


def joint_masses(first: Array, second: Array, weights: Array) -> Array:
    """The mass of each pair of groups."""
    width = int(second.max(initial=0)) + 1
    height = int(first.max(initial=0)) + 1
    flat = np.bincount(first * width + second, weights, minlength=height * width)
    return flat.reshape(height, width)
