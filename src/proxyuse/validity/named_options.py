"""Ways and their options by name, as a command line or a project file gives them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from proxyuse.errors import DataError
from proxyuse.validity.options import METHODS, Method, methods_of

_CALLED = {
    "alpha": "alpha",
    "weights_are": "weights",
    "permutations": "permutations",
    "correction": "correction",
    "exact_p_values": "exact",
    "splits": "splits",
    "at_least": "at_least",
    "validation_share": "share",
    "seed": "seed",
}
"""What the ways call an option; it belongs to those that have such a field."""


@dataclass(frozen=True)
class Wanted:
    """What is asked for; None where nothing is said.

    Attributes
    ----------
    ways : names of the ways, as `methods_of` knows them.
    confirmed_only : whether only confirmed witnesses count for the exit code.

    The others are options of the ways; see `Confirmation`, `Permutation`, `CrossValidation`.

    Examples
    --------
    >>> [method.alpha for method in Wanted(("confirm", "permutation"), alpha=0.01).methods()]
    [0.01, 0.01]
    >>> Wanted(("confirm",), splits=5).stray()
    ['splits']
    """

    ways: tuple[str, ...] | None = None
    alpha: float | None = None
    weights_are: str | None = None
    permutations: int | None = None
    correction: str | None = None
    exact_p_values: bool | None = None
    splits: int | None = None
    at_least: int | None = None
    validation_share: float | None = None
    seed: int | None = None
    confirmed_only: bool | None = None

    def methods(self) -> tuple[Method, ...] | None:
        """The ways with those of the options that belong to each; None if none is asked for."""
        if not self.ways:
            return None
        return methods_of([self._method(way) for way in self.ways])

    def _method(self, way: str) -> Method:
        given: dict[str, Any] = {
            called: getattr(self, option)
            for option, called in _CALLED.items()
            if way in ways_of(option) and getattr(self, option) is not None
        }
        try:
            return METHODS[way](**given)
        except DataError as error:
            raise DataError(f"validity by {way}: {error}") from None

    def stray(self) -> list[str]:
        """Options that belong to none of the ways."""
        ways = self.ways or ()
        found = [
            option
            for option in _CALLED
            if getattr(self, option) is not None and not set(ways_of(option)) & set(ways)
        ]
        return [*found, *(["confirmed_only"] if self.confirmed_only and not ways else [])]

    def over(self, other: Wanted) -> Wanted:
        """What is asked for here and, where nothing is said, there."""
        said = {item.name: getattr(self, item.name) for item in fields(self)}
        return replace(other, **{name: value for name, value in said.items() if value is not None})


def ways_of(option: str) -> Sequence[str]:
    """The ways an option belongs to; all of them for one that is of no single way.

    Examples
    --------
    >>> ways_of("splits"), ways_of("confirmed_only")
    (('cross-validation',), ('confirm', 'permutation', 'cross-validation'))
    """
    called = _CALLED.get(option)
    return tuple(
        way
        for way, method in METHODS.items()
        if called is None or called in {item.name for item in fields(method)}
    )
