"""Operators with many operand subsets, the limits on searching them, and the results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import TypeVar

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Add, And, Mul, Or, Term
from proxyuse.lang.positions import Site, operand_choices
from proxyuse.measure.forests.partial_sums import TreeSums
from proxyuse.notes import OperandsSearched

Key = TypeVar("Key", bound=Hashable)

OVERHEAD = 1 << 12
"""The fixed cost of measuring one set, in rows."""


@dataclass(frozen=True, slots=True)
class SumBudget:
    """Limits on the work for one operator. Most limits count sets times rows.

    Measuring a set costs at least as much as `OVERHEAD` rows.

    Attributes
    ----------
    screened : exhausting the subsets by screening. The default allows 5,496 subsets at 48,842
        rows, so 12 operands, in about 1.5 s.
    measured : exhausting the subsets where no screen applies, and measuring those that a screen
        cannot exclude. A set takes 0.2 to 1 microseconds per row, including its influence.
    bounded : excluding sets of operands by monotone bounds.
    listed : the largest number of subsets listed if all are requested, for any number of rows.
    searched : measuring candidates in a search, per protected attribute. When it is spent, the
        search reduces the witnesses it has and starts no new path.
    combined : adding up operands in a search, in operands times rows; about a second by default.
    followed : sets that a search may always measure per protected attribute, whatever the number
        of rows. 0 turns the search off.
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
    points : the points of the operator. Equal operators are one `Operator`.
    steps : its non-constant operands, as steps in canonical order.
    unique : whether each subset of its operands has only one position. It would have more if
        another operator shared it, or if two operands were equal.
    """

    term: Add | Mul | And | Or
    points: tuple[int, ...]
    steps: tuple[int, ...]
    unique: bool

    @property
    def subsets(self) -> int:
        """The number of subsets of two or more operands, but not all."""
        return subset_count(len(self.steps))


@dataclass(frozen=True, slots=True, eq=False)
class PartialSum:
    """A subset of operands with its measures.

    Attributes
    ----------
    steps : the operands, as steps in canonical order.
    term : the operator applied to them.
    associations : the association with each protected attribute.
    positions : sets of positions: each position at the operator alone, and all positions together,
        including those of equal terms elsewhere. The positions of a set do not overlap.
    influences : the influence through each set of positions; empty if the associations are below
        epsilon.
    """

    steps: tuple[int, ...]
    term: Term
    associations: Array
    positions: tuple[tuple[Site, ...], ...]
    influences: tuple[float, ...]

    @property
    def influence(self) -> float:
        """The largest influence through any of the sets of positions; 0 if not measured."""
        return max(self.influences, default=0.0)


@dataclass(frozen=True, slots=True, eq=False)
class PartialSums:
    """The partial sums of one operator.

    Attributes
    ----------
    witnesses : the minimal witnesses if `exhausted`, otherwise irreducible ones; smaller first.
    listed : every subset, if all were requested and the budget allowed it.
    measured : the number of subsets measured or screened.
    subsets : the number of subsets.
    exhausted : whether every minimal witness is among the witnesses.
    searched : the extent of the search; None if `exhausted`.
    chosen : witnesses that half of the rows chose, to be confirmed on the others, each with its
        protected attribute.
    """

    witnesses: tuple[PartialSum, ...]
    listed: tuple[PartialSum, ...]
    measured: int
    subsets: int
    exhausted: bool
    searched: OperandsSearched | None = None
    chosen: tuple[tuple[int, PartialSum], ...] = ()


def subset_count(operands: int) -> int:
    """The number of subsets of at least two operands, but not all.

    Examples
    --------
    >>> [subset_count(m) for m in range(6)]
    [0, 0, 0, 3, 10, 25]
    """
    return max(0, (1 << operands) - operands - 2)


def operator_of_trees(sums: TreeSums) -> Operator | None:
    """The sum of the trees of a program; None if it has fewer than three trees."""
    points = sums.sample.points
    point = points.parents[int(sums.engine.plan.points[0])]
    term = points.terms[point]
    if not isinstance(term, Add):
        return None
    steps = tuple(operand_choices(points, point))
    return Operator(term, (point,), steps, False) if len(steps) > 2 else None


def disjoint_copies(
    wanted: Counter[Key], operands: Iterable[tuple[int, Key]]
) -> list[tuple[int, ...]]:
    """The disjoint sets of operands that equal a multiset of operands.

    Parameters
    ----------
    wanted : the digests of the multiset, or other keys that equal operands share.
    operands : the step and the key of each operand of an operator.

    Returns
    -------
    The steps of each set, sorted.

    Examples
    --------
    >>> operands = enumerate([b"x", b"y", b"x", b"x", b"y"])
    >>> disjoint_copies(Counter([b"x", b"y"]), operands)
    [(0, 1), (2, 4)]
    """
    copies: dict[Key, list[int]] = {digest: [] for digest in wanted}
    for step, digest in operands:
        if digest in copies:
            copies[digest].append(step)
    sets = min(len(copies[digest]) // count for digest, count in wanted.items())
    return [
        tuple(
            sorted(
                step
                for digest, count in wanted.items()
                for step in copies[digest][number * count : (number + 1) * count]
            )
        )
        for number in range(sets)
    ]
