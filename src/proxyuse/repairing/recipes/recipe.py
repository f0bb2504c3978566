"""What a recipe is: how to train another model of the same kind, on any rows.

A recipe is a sequence of parts, such as "without these columns" and "with these weights". Each
part changes the estimator or the rows before the estimator is fitted. A recipe promises nothing
about the model that it trains; an audit decides.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from proxyuse.lang.evaluate import Array
from proxyuse.repairing.recipes.fitting import fitted, training_of
from proxyuse.repairing.recipes.training import CannotFit, Training


class Part(Protocol):
    """One change to a training."""

    @property
    def method(self) -> str:
        """The name of the method."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """The raw columns that it is about."""
        ...

    @property
    def detail(self) -> str:
        """What distinguishes it from other parts with the same method and columns; often empty."""
        ...

    def variants(self, training: Training) -> Iterator[Training]:
        """Yield the training with this change, in one or several ways, or raise `CannotFit`."""
        ...

    def check(self, fitted: Any, training: Training) -> None:
        """Raise `CannotFit` if the change had no effect on the fitted model.

        `training` is the training before any change.
        """
        ...


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to train another model of the same kind.

    Attributes
    ----------
    parts : the changes, applied in order before the clone is fitted.
    """

    parts: tuple[Part, ...]

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of the methods."""
        return tuple(dict.fromkeys(part.method for part in self.parts))

    @property
    def method(self) -> str:
        """The names of the methods, joined."""
        return " + ".join(self.methods)

    @property
    def columns(self) -> tuple[str, ...]:
        """The raw columns that it is about."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    @property
    def detail(self) -> str:
        """What distinguishes it from other recipes with the same methods and columns."""
        return ", ".join(part.detail for part in self.parts if part.detail)

    def fitted(
        self,
        model: Any,
        X: Any,
        y: Any,
        weights: Array | None = None,
        protected: Mapping[str, Any] | None = None,
    ) -> Any:
        """Train a clone of a model on some rows.

        Parameters
        ----------
        model : a fitted model, which is not changed.
        X : a data frame with the columns of the model, or a 2-D array.
        y : the labels or numbers to learn, one per row.
        weights : one per row; None for equal weights.
        protected : the values of the protected attributes, by name.

        Raises
        ------
        CannotFit
            If the recipe does not apply to this model and these rows.
        """
        training = training_of(model, X, y, weights, protected or {})
        reason = CannotFit("there is no way to train it")
        for variant in _variants(self.parts, training):
            try:
                new = fitted(variant)
                for part in self.parts:
                    part.check(new, training)
            except CannotFit as error:
                reason = error
            else:
                return new
        raise reason


def _variants(parts: Sequence[Part], training: Training) -> Iterator[Training]:
    """The training with the changes of all parts, in each combination of their ways."""
    if not parts:
        yield training
        return
    for changed in parts[0].variants(training):
        yield from _variants(parts[1:], changed)
