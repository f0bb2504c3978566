"""What detection asks of an engine.

An engine is made for one program and one population. Engines differ in speed, never in what
they answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Points, Spot
from proxyuse.measure.association import Association
from proxyuse.measure.tables import JointTable


class Way(StrEnum):
    """How an influence was found: from a few passes over the rows down to the definition."""

    TREE = "from counts of the whole tree"
    FOREST = "from counts of the sum of trees"
    CONTEXT = "from thresholds and branches"
    VALUES = "by trying each distinct value"
    PROGRAM = "by evaluating the program for each distinct value"
    PAIRS = "from sampled pairs of rows"


class Engine(Protocol):
    """Measures of one program on one population."""

    @property
    def points(self) -> Points:
        """The program's points."""
        ...

    @property
    def protected_names(self) -> tuple[str, ...]:
        """The protected attributes."""
        ...

    def expect(self, terms: Sequence[Term]) -> None:
        """Influence will be asked for these computations only, as far as is known."""
        ...

    def associations(self, terms: Sequence[Term], measure: Association) -> Array:
        """The association of each computation with each protected attribute."""
        ...

    def influences(self, spots: Sequence[Spot]) -> list[float]:
        """The influence of what stands at each position, through that position alone."""
        ...

    def reaches(self, spots: Sequence[Spot]) -> list[float]:
        """The share of rows that evaluate each position."""
        ...

    def tables(self, term: Term) -> list[JointTable]:
        """The joint table of a computation with each protected attribute."""
        ...

    def influence(self, spots: Sequence[Spot]) -> float:
        """The influence of one computation through disjoint positions at which it stands."""
        ...

    def reach(self, spots: Sequence[Spot]) -> float:
        """The share of rows that evaluate at least one of the positions."""
        ...

    def occurrence_bound(self, spots: Sequence[Spot]) -> float:
        """An upper bound on the influence through any set of these disjoint positions."""
        ...

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float:
        """An upper bound on the influence of any subset of some operands of one operator."""
        ...

    def operands_tables(self, operator: int, operands: Sequence[int]) -> list[Array]:
        """The masses of all operands' values, taken together, with each protected attribute."""
        ...
