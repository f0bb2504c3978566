"""Rule out partial sums whose association cannot reach epsilon.

Measuring the association of a number exactly requires sorting it. A screen answers a cheaper
question with certainty: can the association reach epsilon? It counts rows in a histogram and
computes an upper bound on normalized mutual information. A sum that fails the screen is not a
witness; only the others are measured. A pass costs about 3 ns per row and protected attribute.

Only normalized mutual information has a screen.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from types import ModuleType

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Add, And, Mul, Or
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.association.support import ON_BOUNDARY, Support

SLACK = 1e-9
"""An upper bound on the rounding error of an association."""

MAX_OPERANDS = 62
"""The largest number of operands whose subsets fit in an integer mask."""


def _kernel() -> ModuleType:
    """Return the compiled loops; loads numba."""
    from proxyuse.measure.bounds import screen_kernel

    return screen_kernel


@dataclass(frozen=True, slots=True, eq=False)
class Screen:
    """Upper bounds on normalized mutual information with each protected attribute.

    Attributes
    ----------
    codes : for each protected attribute, the code of each row's value.
    widths : the number of values of each protected attribute.
    weights : the weight of each row; empty if all weights are 1.
    method : how association treats numbers with many values: the kind of grouping, the number of
        groups, the largest support that is not grouped, and the rounding error of masses.

    Examples
    --------
    >>> z = Support(np.array([0, 0, 1, 1]), np.array([0.0, 1.0]))
    >>> screen = Screen.of([z], np.ones(4), groups=16, max_support=256)
    >>> screen.bounds(np.array([1.0, 1.0, 2.0, 2.0])).tolist()
    [1.0]
    """

    codes: Array
    widths: Array
    weights: Array
    method: tuple[int, int, int, float]

    @classmethod
    def of(
        cls,
        protected: Sequence[Support],
        weights: Array,
        *,
        groups: int | None,
        max_support: int,
        best_cut: bool = False,
    ) -> Screen:
        """Return a screen for numbers in groups of equal mass, or for the best cut between them."""
        unit, total = bool((weights == 1).all()), float(weights.sum())
        whole = unit or bool((weights == np.floor(weights)).all())
        # A small whole mass is on a boundary, or further than `ON_BOUNDARY` away from it.
        exact = whole and 4 * ON_BOUNDARY * total < 1
        kind = (
            _kernel().RAW
            if groups is None
            else _kernel().BEST_CUT
            if best_cut
            else _kernel().GROUPS
        )
        return cls(
            np.array([z.codes for z in protected], dtype=np.uint16),
            np.array([len(z) for z in protected], dtype=np.int64),
            np.empty(0) if unit else np.asarray(weights, dtype=np.float64),
            (kind, groups or 0, max_support, 0.0 if exact else SLACK * total),
        )

    def bounds(self, values: Array, epsilon: float = 0.0) -> Array:
        """Return a bound on the association of a number with each protected attribute.

        A bound of `epsilon` or more is the association itself, up to rounding, unless numbers are
        not grouped.
        """
        plain = np.require(values, np.float64, ["C"])
        pairs = zip(self.codes, self.widths, strict=True)
        return np.array(
            [
                _kernel().bound_of(plain, codes, width, self.weights, self.method, epsilon - SLACK)
                for codes, width in pairs
            ]
        )

    def subsets(
        self,
        operator: Add | Mul | And | Or,
        operands: Array,
        blocked: Sequence[int],
        epsilon: float,
    ) -> Iterator[list[tuple[int, int]]]:
        """Yield the subsets of two or more operands that may reach `epsilon`, in several parts.

        Costs one pass per subset. A subset with a `blocked` operand is left out for the protected
        attribute that blocks it.

        Parameters
        ----------
        operands : values, one row per operand, in the order in which the program combines them.
        blocked : per protected attribute, a mask of operands.

        Yields
        ------
        Pairs of a mask of operands and a mask of protected attributes.
        """
        match operator:
            case Add():
                kind = _kernel().ADD
            case Mul():
                kind = _kernel().MULTIPLY
            case And():
                kind = _kernel().AND
            case _:
                kind = _kernel().OR
        masks = np.array(blocked, dtype=np.int64)
        for first, second in combinations(range(len(operands)), 2):
            passing = np.empty((1 << (len(operands) - 1 - second), 2), dtype=np.int64)
            start = np.array([first, second])
            count = _kernel().screen_subsets(
                kind, operands, start, self.codes, self.widths, self.weights, masks,
                self.method, epsilon - SLACK, passing,
            )  # fmt: skip
            yield [(int(mask), int(attributes)) for mask, attributes in passing[:count]]


def screen_for(
    protected: Sequence[Support],
    weights: Array,
    measure: Association,
    *,
    groups: int | None,
    max_support: int,
    best_cut: bool = False,
) -> Screen | None:
    """Return the screen for a measure of association, or None if it has none."""
    if not isinstance(measure, NormalizedMutualInformation) or max_support > _kernel().MAX_DISTINCT:
        return None
    if not protected or max(len(z) for z in protected) > np.iinfo(np.uint16).max:
        return None
    return Screen.of(protected, weights, groups=groups, max_support=max_support, best_cut=best_cut)
