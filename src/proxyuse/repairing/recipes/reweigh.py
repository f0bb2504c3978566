"""Weights that make what a model learns independent of a protected attribute.

Kamiran and Calders, "Data preprocessing techniques for classification without discrimination",
2012: a row weighs P(z) P(y) / P(z, y). Under these weights, y and z are independent, and both have
the same distributions as before.

A number to learn is cut into groups of equal mass first: the largest of 16, 8, 4 and 2 groups such
that each group has rows with every value of z. The groups, and not the numbers, are independent of
z under the weights.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.support import cut
from proxyuse.repairing.recipes.groups import attribute_groups, joint_masses, support
from proxyuse.repairing.recipes.training import CannotFit, Training

TARGET_GROUPS = 16, 8, 4, 2


@dataclass(frozen=True, slots=True)
class Reweigh:
    """Train with weights under which y and a protected attribute are independent.

    Attributes
    ----------
    attribute : the protected attribute.
    """

    attribute: str

    @property
    def method(self) -> str:
        """The name of the method."""
        return "reweigh"

    @property
    def columns(self) -> tuple[str, ...]:
        """No columns: it is about rows."""
        return ()

    @property
    def detail(self) -> str:
        """Nothing: method and columns say it all."""
        return ""

    def variants(self, training: Training) -> Iterator[Training]:
        """Yield the training with new weights."""
        z = training.protected.get(self.attribute)
        if z is None:
            raise CannotFit(f"the values of {self.attribute!r} are not known")
        weights = np.ones(len(training.y)) if training.weights is None else training.weights
        groups = attribute_groups(self.attribute, z, weights)
        y = target_groups(training.y, groups, weights, labels=hasattr(training.model, "classes_"))
        yield replace(training, weights=weights * independent_weights(y, groups, weights))

    def check(self, fitted: Any, training: Training) -> None:
        """Check nothing: the weights had their effect."""


def target_groups(y: Any, groups: Array, weights: Array, *, labels: bool) -> Array:
    """The group of each row by what a model learns: its label, or a range of numbers.

    Examples
    --------
    >>> z = np.array([0, 0, 0, 0, 1, 1, 1, 1])
    >>> target_groups(np.arange(8.0), z, np.ones(8), labels=False).tolist()
    Traceback (most recent call last):
    ...
    proxyuse.repairing.recipes.training.CannotFit: no range of y has rows of every group
    >>> target_groups(np.arange(8.0) % 4, z, np.ones(8), labels=False).tolist()
    [0, 1, 2, 3, 0, 1, 2, 3]
    """
    whole = support("y", y)
    if labels or whole.values.dtype != np.float64:
        return whole.codes
    for most in TARGET_GROUPS:
        codes = cut(whole, weights, most, most).codes
        if codes.max() > 0 and (joint_masses(codes, groups, weights) > 0).all():
            return codes
    raise CannotFit("no range of y has rows of every group")


def independent_weights(y: Array, groups: Array, weights: Array) -> Array:
    """The factor of each row's weight: P(z) P(y) / P(z, y).

    Examples
    --------
    >>> independent_weights(np.array([0, 0, 1]), np.array([0, 1, 1]), np.ones(3)).round(3).tolist()
    [0.667, 1.333, 0.667]
    """
    masses = joint_masses(y, groups, weights)
    expected = masses.sum(axis=1, keepdims=True) * masses.sum(axis=0) / masses.sum()
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(masses > 0, expected / masses, 0.0)
    return np.asarray(factors[y, groups])
