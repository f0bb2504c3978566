"""Operators with many subsets of operands: what is asked about them, and what is answered."""

from __future__ import annotations

from dataclasses import dataclass

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Add, And, Mul, Or, Term
from proxyuse.lang.positions import Site

OVERHEAD = 1 << 12
"""Rows that take as long as the fixed cost of measuring one set."""


@dataclass(frozen=True, slots=True)
class SumBudget:
    """How much work one operator may take. Each figure counts sets times rows.

    A set that is measured costs as much as `OVERHEAD` rows even if there are few.

    Attributes
    ----------
    screened : to exhaust the subsets by screening. The default allows 5,496 subsets at 48,842
        rows, so 12 operands, in about 1.5 s.
    measured : to exhaust them where no screen applies, and to measure those that a screen cannot
        exclude. With its influence, a set takes between 0.2 and 1 microseconds per row.
    bounded : to exclude sets of operands by monotone bounds.
    listed : subsets that are listed at most if all of them are requested, whatever the rows.
    searched : to measure candidates in a search, for each protected attribute. A search that has
        spent it still reduces what it found, and starts no other path.
    combined : to add up operands in a search: operands times rows, about a second by default.
    followed : sets that a search may measure for each protected attribute, however many rows
        there are; 0 searches none.
    """

    screened: int = 2**28
    measured: int = 2**24
    bounded: int = 2**20
    listed: int = 2**14
    searched: int = 2**21
    combined: int = 2**31
    followed: int = 16


@dataclass(frozen=True, slots=True, eq=False)
class Operator:
    """An associative operator with at least three operands that are not constants.

    Attributes
    ----------
    points : where it stands; equal operators count as one.
    steps : its non-constant operands, as steps in canonical order.
    alone : whether each subset of its operands stands in one place only: not at another operator
        too, nor twice at this one because two operands are equal.
    """

    term: Add | Mul | And | Or
    points: tuple[int, ...]
    steps: tuple[int, ...]
    alone: bool

    @property
    def subsets(self) -> int:
        """How many subsets of two or more, but not all, operands there are."""
        return subset_count(len(self.steps))


@dataclass(frozen=True, slots=True, eq=False)
class PartialSum:
    """A subset of operands with its measures.

    Attributes
    ----------
    steps : the operands, as steps in canonical order.
    term : the operator over them.
    associations : with each protected attribute.
    positions : sets of positions: each position at the operator by itself, and all positions
        together, those of equal terms elsewhere included. No two positions of a set overlap.
    influences : through each set of positions; empty if the associations are too small to matter.
    """

    steps: tuple[int, ...]
    term: Term
    associations: Array
    positions: tuple[tuple[Site, ...], ...]
    influences: tuple[float, ...]

    @property
    def influence(self) -> float:
        """The largest influence through one of the sets of positions; 0 if not measured."""
        return max(self.influences, default=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class PartialSums:
    """What is known of the partial sums of one operator.

    Attributes
    ----------
    witnesses : minimal ones if `exhausted`, otherwise irreducible ones, smaller ones first.
    listed : every subset, if all of them were requested and the budget allowed it.
    measured : how many subsets were measured or screened.
    subsets : how many there are.
    exhausted : whether every minimal witness is among the witnesses.
    searched : one sentence that says how far the search got; empty if `exhausted`.
    """

    witnesses: tuple[PartialSum, ...]
    listed: tuple[PartialSum, ...]
    measured: int
    subsets: int
    exhausted: bool
    searched: str = ""


def subset_count(operands: int) -> int:
    """How many subsets have at least two operands and not all.

    Examples
    --------
    >>> [subset_count(m) for m in range(6)]
    [0, 0, 0, 3, 10, 25]
    """
    return max(0, (1 << operands) - operands - 2)
