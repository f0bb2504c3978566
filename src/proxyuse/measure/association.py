"""How closely a computation and a protected attribute name each other.

The measures look at a joint table of masses alone, so they know nothing of programs or rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from proxyuse.lang.evaluate import Array


class Association(Protocol):
    """A measure of association between the rows and the columns of a table of masses."""

    @property
    def name(self) -> str:
        """How results call it."""
        ...

    @property
    def information_bound(self) -> bool:
        """Whether it is at most I(X; Z) / H(Z), so that little information excludes witnesses."""
        ...

    def __call__(self, masses: Array) -> float:
        """The association, between 0 (none) and 1 (each determines the other)."""
        ...


@dataclass(frozen=True, slots=True)
class NormalizedMutualInformation:
    """``I(X; Z) / H(X, Z)``: 1 minus the share of uncertainty each leaves about the other.

    0 when both are constant; 1 exactly when each determines the other, and only then; exactly 0
    for whole-number masses that are independent. Linear in the size of the table.

    Examples
    --------
    >>> nmi = NormalizedMutualInformation()
    >>> nmi(np.array([[3.0, 0.0], [0.0, 5.0]])), nmi(np.array([[2.0, 4.0], [1.0, 2.0]]))
    (1.0, 0.0)
    >>> round(nmi(np.array([[1.0, 0.0], [1.0, 2.0]])), 4)
    0.2075
    """

    name: str = "normalized mutual information"
    information_bound: bool = True

    def __call__(self, masses: Array) -> float:
        """The association of the rows and the columns of a table of masses."""
        held = masses > 0
        masses = masses[held.any(axis=1)][:, held.any(axis=0)]
        held = masses > 0
        if min(masses.shape) < 2:
            return 0.0
        if held.sum(axis=1).max() == 1 and held.sum(axis=0).max() == 1:
            return 1.0
        total = masses.sum()
        by_row = masses.sum(axis=1)
        by_column = masses.sum(axis=0)
        cells = masses[held]
        alone = np.outer(by_row, by_column)[held]
        information = np.dot(cells, np.log(cells * total / alone))
        joint_entropy = -np.dot(cells, np.log(cells / total))
        # Only tables in which each determines the other reach 1.
        return float(np.clip(information / joint_entropy, 0.0, np.nextafter(1.0, 0.0)))


def entropy(masses: Array) -> float:
    """The entropy, in nats, of a distribution given by masses.

    Examples
    --------
    >>> round(entropy(np.array([2.0, 2.0])), 4), entropy(np.array([3.0]))
    (0.6931, 0.0)
    """
    shares = masses[masses > 0] / masses.sum()
    return max(0.0, float(-np.dot(shares, np.log(shares))))


def mutual_information(masses: Array) -> float:
    """The mutual information, in nats, of the rows and columns of a table of masses."""
    joint = entropy(masses.ravel())
    return max(0.0, entropy(masses.sum(axis=1)) + entropy(masses.sum(axis=0)) - joint)
