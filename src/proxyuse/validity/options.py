"""The ways of asking whether a witness is real, and what can be chosen in each."""

from __future__ import annotations

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from proxyuse.errors import DataError

Correction = Literal["westfall-young", "holm", "bonferroni", "benjamini-hochberg", "none"]
CORRECTIONS: tuple[Correction, ...] = (
    "westfall-young",
    "holm",
    "bonferroni",
    "benjamini-hochberg",
    "none",
)
Weights = Literal["sampling", "counts"]
MOST_PERMUTATIONS = 10_000_000


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Confidence bounds for association and influence that hold for all tests at once.

    A witness is confirmed when both lower bounds pass the thresholds.

    Attributes
    ----------
    alpha : the chance, at most, that any witness is confirmed that is none in the population.
    weights : whether a weight says how many such records there are in the population that each
        row was drawn from (``sampling``: a row is one observation whatever its weight), or how
        many equal records a row stands for (``counts``).
    seed : for measures of association whose bounds come from random tables.
    """

    alpha: float = 0.05
    weights: Weights = "sampling"
    seed: int = 0

    def __post_init__(self) -> None:
        _check_alpha(self.alpha)
        _check_weights(self.weights)
        _check_whole("seed", self.seed, 0)

    @property
    def name(self) -> str:
        """As it is asked for."""
        return "confirm"


@dataclass(frozen=True, slots=True)
class Permutation:
    """How often chance alone gives such an association: the protected attribute is permuted.

    The test is about independence, not about epsilon, and about association alone.

    Attributes
    ----------
    permutations : how many are drawn.
    correction : for the number of tests. Benjamini-Hochberg bounds the share of false
        discoveries, the others the chance of any.
    alpha : the level of the corrected test.
    exact : whether two-valued computations of two-valued attributes get the p-value of all
        permutations instead of drawn ones (not with Westfall-Young).
    seed : the same seed gives the same result, whatever the number of threads.
    weights : see `Confirmation`.
    """

    permutations: int = 1000
    correction: Correction = "westfall-young"
    alpha: float = 0.05
    exact: bool = False
    seed: int = 0
    weights: Weights = "sampling"

    def __post_init__(self) -> None:
        _check_alpha(self.alpha)
        _check_weights(self.weights)
        _check_whole("permutations", self.permutations, 1)
        if self.permutations > MOST_PERMUTATIONS:
            raise DataError(
                f"permutations is {self.permutations:,}; more than {MOST_PERMUTATIONS:,} take "
                "days: draw fewer, or pass exact=True"
            )
        _check_whole("seed", self.seed, 0)
        if self.correction not in CORRECTIONS:
            raise DataError(
                f"correction is {self.correction!r}; pass one of {', '.join(CORRECTIONS)}"
            )
        if not isinstance(self.exact, bool):
            raise DataError(f"exact is {self.exact!r}; pass True or False")

    @property
    def name(self) -> str:
        """As it is asked for."""
        return "permutation"


@dataclass(frozen=True, slots=True)
class CrossValidation:
    """Witnesses that are found in one part of the rows and again in the other.

    Attributes
    ----------
    splits : how often the rows are split at random, each protected value in proportion.
    at_least : in how many splits a witness must be found in both parts; None for all.
    share : of the rows that is kept for validation.
    seed : the same seed gives the same splits.
    """

    splits: int = 10
    at_least: int | None = None
    share: float = 0.5
    seed: int = 0

    def __post_init__(self) -> None:
        _check_whole("splits", self.splits, 1)
        _check_whole("seed", self.seed, 0)
        if self.at_least is not None:
            _check_whole("at_least", self.at_least, 1)
            if self.at_least > self.splits:
                raise DataError(f"at_least is {self.at_least}, more than the {self.splits} splits")
        if not _is_number(self.share) or not 0 < self.share < 1:
            raise DataError(f"share is {self.share!r}; pass a number between 0 and 1")

    @property
    def name(self) -> str:
        """As it is asked for."""
        return "cross-validation"

    @property
    def needed(self) -> int:
        """How many splits must confirm a witness."""
        return self.splits if self.at_least is None else self.at_least


Method = Confirmation | Permutation | CrossValidation
Methods = str | Method | Sequence[str | Method]
METHODS: dict[str, type[Method]] = {
    "confirm": Confirmation,
    "permutation": Permutation,
    "cross-validation": CrossValidation,
}


def methods_of(given: object) -> tuple[Method, ...]:
    """The ways that are asked for: a name, options, or several of either.

    Examples
    --------
    >>> [method.name for method in methods_of(["confirm", Permutation(permutations=99)])]
    ['confirm', 'permutation']
    """
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        given = (given,)
    found = tuple(_method_of(one) for one in given)
    names = [method.name for method in found]
    if not found:
        raise DataError(f"validity is empty; pass one of {_listed()}, or None")
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"validity asks for {name!r} twice; pass each way once")
    return found


def _method_of(given: object) -> Method:
    if isinstance(given, Confirmation | Permutation | CrossValidation):
        return given
    if isinstance(given, str) and given in METHODS:
        return METHODS[given]()
    raise DataError(
        f"validity is {given!r}; pass one of {_listed()}, or an instance of "
        "Confirmation, Permutation or CrossValidation"
    )


def _listed() -> str:
    return ", ".join(f'"{name}"' for name in METHODS)


def _is_number(value: object) -> bool:
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and math.isfinite(value)  # type: ignore[arg-type]


def _check_alpha(alpha: object) -> None:
    if not _is_number(alpha) or not 0 < alpha < 1:  # type: ignore[operator]
        raise DataError(f"alpha is {alpha!r}; pass a number between 0 and 1, such as 0.05")


def _check_weights(weights: object) -> None:
    if not isinstance(weights, str) or weights not in ("sampling", "counts"):
        raise DataError(f'weights is {weights!r}; pass "sampling" or "counts"')


def _check_whole(name: str, value: object, least: int) -> None:
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least:  # type: ignore[operator]
        raise DataError(f"{name} is {value!r}; pass a whole number of {least} or more")
