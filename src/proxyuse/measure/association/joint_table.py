"""The joint distribution of a computation and a protected attribute, as a table of masses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import overload

import numpy as np

from proxyuse.lang.evaluate import Array, Vocabulary, first_value
from proxyuse.lang.nodes import value_text
from proxyuse.measure.association.best_cut import Cut
from proxyuse.measure.association.support import Support


@dataclass(frozen=True, slots=True, eq=False)
class JointTable:
    """Masses by value of a computation (rows) and of a protected attribute (columns).

    Attributes
    ----------
    masses : the total weight of the rows of the population in each cell.
    protected : the name of the protected attribute.
    columns : its values as text.
    support : the values of the computation, without codes.
    vocabulary : the codes of categories.
    cut : the best cut of a number, if it is known.
    divided : whether the rows of the table are the two sides of the cut, and missing.
    """

    masses: Array
    protected: str
    columns: tuple[str, ...]
    support: Support
    vocabulary: Vocabulary
    cut: Cut | None = None
    divided: bool = False

    @property
    def binned(self) -> bool:
        """Whether the computation's values are binned."""
        return self.support.binned

    @property
    def rows(self) -> tuple[str, ...]:
        """The computation's values as text; a bin is a range."""
        return labels_of(self.support, self.vocabulary)

    @property
    def shares(self) -> Array:
        """The distribution of the protected attribute for each value of the computation."""
        shares: Array = self.masses / self.masses.sum(axis=1, keepdims=True)
        return shares


class Labels(Sequence[str]):
    """The values of a support as text, formatted on demand because few of them are shown."""

    def __init__(self, support: Support, vocabulary: Vocabulary) -> None:
        numbers = support.values.dtype == np.float64
        self._values = support.values + 0.0 if numbers else support.values  # no -0
        self._upper = None if support.upper is None else support.upper + 0.0  # no -0
        self._vocabulary = vocabulary

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[str]:
        """Iterate by length: an IndexError from the vocabulary must not look like the end."""
        return (self[index] for index in range(len(self)))

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[str, ...]: ...

    def __getitem__(self, index: int | slice) -> str | tuple[str, ...]:
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        index = range(len(self))[index]
        low = value_text(first_value(self._values[index:], self._vocabulary))
        if self._upper is None:
            return low
        high = value_text(float(self._upper[index]))
        return low if low == high else f"{low} to {high}"


def labels_of(support: Support, vocabulary: Vocabulary) -> tuple[str, ...]:
    """Return the values of a support as text."""
    return tuple(Labels(support, vocabulary))


def joint_masses(support: Support, others: Sequence[Support], weights: Array) -> list[Array]:
    """Return the joint table of masses with each other support, in O(n) each."""
    tables = []
    for other in others:
        cells = support.codes * len(other) + other.codes
        flat = np.bincount(cells, weights, minlength=len(support) * len(other))
        tables.append(flat.reshape(len(support), len(other)))
    return tables
