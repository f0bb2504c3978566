"""Influence: how much a computation changes the decisions of the program.

Influence is the mean of a loss over a row X and an independent row X'. The loss compares the
program's output for X with its output if the computation takes its value from X'. This module
defines the losses and the sampling of pairs; engines compute the means.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array, unified
from proxyuse.options import shown
from proxyuse.settings import Influence, Sampling


@dataclass(frozen=True, slots=True)
class QuantitativeInputInfluence:
    """The probability that the output changes: ``Pr[p2(X, p1(X)) != p2(X, p1(X'))]``.

    A missing output equals a missing output; vectors are compared whole.

    Examples
    --------
    >>> qii = QuantitativeInputInfluence()
    >>> qii.loss(np.array([1.0, np.nan, 2.0]), np.array([1.0, np.nan, 3.0])).tolist()
    [False, False, True]
    """

    name: str = "quantitative input influence"
    bounded: bool = True

    def loss(self, actual: Array, changed: Array) -> Array:
        """Return whether the outputs differ, for each row."""
        return differ(actual, changed)

    def scale(self, actual: Array, weights: Array) -> float:
        """Return 1."""
        return 1.0


@dataclass(frozen=True, slots=True)
class SquaredChange:
    """For numeric outputs: ``E (p(X) - p2(X, p1(X')))^2 / (2 Var p)``; it can exceed 1.

    It is undefined, and raises an error, if all outputs in the sample are equal.
    """

    name: str = "squared change"
    bounded: bool = False

    def loss(self, actual: Array, changed: Array) -> Array:
        """Return the squared difference; raise an error if an output is missing or infinite."""
        _need_numbers(actual)
        _need_numbers(changed)
        missing = np.isnan(actual) & np.isnan(changed)
        squares: Array = np.where(missing, 0.0, (changed - actual.astype(np.float64)) ** 2)
        if not np.isfinite(squares).all():
            raise DataError(
                "squared change needs outputs that are finite and never missing; "
                "use QuantitativeInputInfluence for this program"
            )
        return squares

    def scale(self, actual: Array, weights: Array) -> float:
        """Return twice the variance of the output; raise an error if all outputs are equal."""
        _need_numbers(actual)
        numbers = actual.astype(np.float64)
        if not differ(numbers, numbers[:1]).any():
            raise DataError(
                "squared change is undefined for this program: its output is the same in every "
                "row; use QuantitativeInputInfluence"
            )
        mean = np.average(numbers, weights=weights)
        return float(2.0 * np.average((numbers - mean) ** 2, weights=weights))


def _need_numbers(output: Array) -> None:
    if output.dtype == np.int32 or output.ndim == 2:
        raise DataError("squared change needs a program whose output is a number")


def differ(first: Array, second: Array) -> Array:
    """Return whether two values differ in each row; missing equals missing."""
    first, second = unified(first, second)
    different: Array = first != second
    if first.dtype == np.float64:
        different = different & ~(np.isnan(first) & np.isnan(second))
    return np.asarray(different.any(axis=1)) if different.ndim == 2 else different


INFLUENCES: tuple[Influence, ...] = (QuantitativeInputInfluence(), SquaredChange())
"""The built-in measures, the default first."""


def influence_from(option: object) -> Influence:
    """Return the measure for an option: a name, a measure, or None for the default.

    Examples
    --------
    >>> influence_from("squared-change").name
    'squared change'
    """
    if option is None:
        return INFLUENCES[0]
    measures = {measure.name.replace(" ", "-"): measure for measure in INFLUENCES}
    if isinstance(option, str) and option in measures:
        return measures[option]
    attributes = ("name", "bounded", "loss", "scale")
    if isinstance(option, type) or not all(hasattr(option, name) for name in attributes):
        names = ", ".join(f"'{name}'" for name in measures)
        raise DataError(
            f"influence: expected {names} or a measure, got {shown(option)}; "
            "pass for example SquaredChange()"
        )
    return option  # type: ignore[return-value]


def draw_pairs(sampling: Sampling, weights: Array) -> tuple[Array, Array]:
    """Draw the rows X and X' independently by weight."""
    generator = np.random.default_rng(sampling.seed)
    share = np.cumsum(weights)
    draws = generator.random((2, sampling.pairs)) * share[-1]
    rows = np.minimum(np.searchsorted(share, draws, side="right"), len(weights) - 1)
    return rows[0], rows[1]
