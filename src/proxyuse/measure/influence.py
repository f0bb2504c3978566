"""Influence: how much a computation changes the decisions of the program.

Influence is the mean of a loss over a row X and an independent row X'. The loss compares the
program's output for X with its output if the computation takes its value from X'. This module
defines the losses and the sampling of pairs; engines compute the means.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array, unified
from proxyuse.options import shown
from proxyuse.settings import INFLUENCES as NAMES
from proxyuse.settings import MOVED, Influence, Sampling, moved_by, moved_text


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
        _need_numbers(actual, self.name)
        _need_numbers(changed, self.name)
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
        _need_numbers(actual, self.name)
        numbers = actual.astype(np.float64)
        if not differ(numbers, numbers[:1]).any():
            raise DataError(
                "squared change is undefined for this program: its output is the same in every "
                "row; use QuantitativeInputInfluence"
            )
        mean = np.average(numbers, weights=weights)
        return float(2.0 * np.average((numbers - mean) ** 2, weights=weights))


@dataclass(frozen=True, slots=True)
class Moved:
    """For numeric outputs: the share of pairs that move the output by more than a threshold.

    A pair moves the output from `old` to `new` if ``|new - old| > by``. With `relative`, it does if
    ``|new - old| > by * |old|``, so any change of an output of 0 counts. If either output is
    missing or infinite, every change counts; missing equals missing.

    Attributes
    ----------
    by : the threshold: a finite number of at least 0. With `relative`, a share: 0.05 is 5%.
    relative : whether the threshold is a share of the present output.

    Examples
    --------
    >>> Moved(100).name, Moved(0.05, relative=True).name
    ('moved by more than 100', 'moved by more than 5%')
    >>> Moved(1).loss(np.array([1.0, 1.0, np.nan]), np.array([2.0, 2.5, np.nan])).tolist()
    [False, True, False]
    """

    by: float
    relative: bool = False

    def __post_init__(self) -> None:
        by: object = self.by
        number = isinstance(by, int | float | np.number) and not isinstance(by, bool)
        if not number or not math.isfinite(self.by) or self.by < 0:
            raise DataError(f"by: expected a number of at least 0, got {shown(self.by)}")
        object.__setattr__(self, "by", float(self.by) + 0.0)  # 0 instead of -0
        object.__setattr__(self, "relative", bool(self.relative))

    @property
    def name(self) -> str:
        """The name in results, which states the threshold."""
        return f"{MOVED} by more than {self.threshold}"

    @property
    def threshold(self) -> str:
        """The threshold as text, such as 100 or 5%."""
        return moved_text(self.by, self.relative)

    @property
    def bounded(self) -> bool:
        """True: the loss is 0 or 1."""
        return True

    def loss(self, actual: Array, changed: Array) -> Array:
        """Return whether each output moves by more than the threshold."""
        _need_numbers(actual, self.name)
        _need_numbers(changed, self.name)
        old, new = actual.astype(np.float64), changed.astype(np.float64)
        with np.errstate(all="ignore"):
            limit = self.by * np.abs(old) if self.relative else self.by
            far = np.abs(new - old) > limit
        finite = np.isfinite(old) & np.isfinite(new)
        return np.asarray(np.where(finite, far, differ(old, new)))

    def scale(self, actual: Array, weights: Array) -> float:
        """Return 1; raise an error if the output is not a number."""
        _need_numbers(actual, self.name)
        return 1.0

    def kept(self, actual: Array) -> tuple[Array, Array]:
        """Return the lowest and the highest output that do not count, up to rounding."""
        old = actual.astype(np.float64)
        with np.errstate(all="ignore"):
            limit = self.by * np.abs(old) if self.relative else self.by
            return old - limit, old + limit

    @classmethod
    def named(cls, name: str) -> Moved | None:
        """Return the measure with a name as in results; None if it is the name of another.

        Examples
        --------
        >>> Moved.named("moved by more than 5%")
        Moved(by=0.05, relative=True)
        """
        prefix = f"{MOVED} by more than "
        if not name.startswith(prefix):
            return None
        try:
            measure = cls(*moved_by(name.removeprefix(prefix)))
        except DataError:
            return None
        return measure if measure.name == name else None


def _need_numbers(output: Array, name: str) -> None:
    if output.dtype == np.int32 or output.ndim == 2:
        raise DataError(
            f"{name} needs a program whose output is a number; use QuantitativeInputInfluence"
        )


def differ(first: Array, second: Array) -> Array:
    """Return whether two values differ in each row; missing equals missing."""
    first, second = unified(first, second)
    different: Array = first != second
    if first.dtype == np.float64:
        different = different & ~(np.isnan(first) & np.isnan(second))
    return np.asarray(different.any(axis=1)) if different.ndim == 2 else different


def counts_pairs(influence: Influence) -> bool:
    """Return whether influence is the share of pairs of rows with some property.

    Such a loss is 0 or 1, and 0 if the output does not change.
    """
    return isinstance(influence, QuantitativeInputInfluence | Moved)


def influence_named(name: str) -> Influence | None:
    """Return the built-in measure with a name as in results, or None."""
    built_in: tuple[Influence, ...] = (QuantitativeInputInfluence(), SquaredChange())
    return next((measure for measure in built_in if measure.name == name), Moved.named(name))


def influence_from(option: object) -> Influence:
    """Return the measure for an option: a name, a measure, or None for the default.

    Examples
    --------
    >>> influence_from("squared-change").name
    'squared change'
    >>> influence_from("moved:5%")
    Moved(by=0.05, relative=True)
    """
    if option is None:
        return QuantitativeInputInfluence()
    if isinstance(option, str):
        name, colon, threshold = option.partition(":")
        if name == MOVED and colon:
            return Moved(*moved_by(threshold))
        named = influence_named(option.replace("-", " "))
        if named is not None:
            return named
    attributes = ("name", "bounded", "loss", "scale")
    if isinstance(option, type) or not all(hasattr(option, name) for name in attributes):
        names = ", ".join(f"'{name}'" for name in NAMES)
        raise DataError(
            f"influence: expected {names} or a measure, got {shown(option)}; "
            "pass for example SquaredChange() or Moved(by=100)"
        )
    return option  # type: ignore[return-value]


def draw_pairs(sampling: Sampling, weights: Array) -> tuple[Array, Array]:
    """Draw the rows X and X' independently by weight."""
    generator = np.random.default_rng(sampling.seed)
    share = np.cumsum(weights)
    draws = generator.random((2, sampling.pairs)) * share[-1]
    rows = np.minimum(np.searchsorted(share, draws, side="right"), len(weights) - 1)
    return rows[0], rows[1]
