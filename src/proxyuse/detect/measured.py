"""Measured decompositions in columns; an object for one of them is made when it is asked for.

A large model has tens of thousands of decompositions of which a handful are looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Position, Spot, decomposition_id
from proxyuse.lang.text import shortened
from proxyuse.measure.tables import JointTable
from proxyuse.program import Program


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A computation inside a program, at some of its positions, with what was measured.

    Attributes
    ----------
    expression : the computation p1, as a term.
    spots : its positions, as numbers of program points.
    associations : for each protected attribute, the association with it.
    influence : on the decisions; None if it was not needed (only witnesses were asked for).
    reach : share of rows that evaluate one of the positions.
    """

    program: Program
    expression: Term
    spots: tuple[Spot, ...]
    associations: dict[str, float]
    influence: float | None
    reach: float
    _joint: Callable[[Term], list[JointTable]] = field(repr=False)

    @cached_property
    def tables(self) -> dict[str, JointTable]:
        """For each protected attribute, the joint table with it."""
        return {table.protected: table for table in self._joint(self.expression)}

    @cached_property
    def term(self) -> str:
        """The computation as text."""
        return self.program.text_of(self.expression)

    @property
    def positions(self) -> tuple[Position, ...]:
        """Where the computation stands."""
        return tuple(self.program.points.position(spot) for spot in self.spots)

    @property
    def occurrences(self) -> int:
        """At how many positions it is replaced."""
        return len(self.spots)

    @property
    def size(self) -> int:
        """The number of nodes of the computation."""
        return self.expression.size

    @cached_property
    def id(self) -> str:
        """A hash of the computation and its positions, the same on every machine."""
        return decomposition_id(self.expression, self.positions)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}: {shortened(self.term)}>"


@dataclass(slots=True, eq=False)
class Computation:
    """What was measured of one computation: its associations, and each set of its positions.

    `influences` is NaN where influence was not needed.
    """

    term: Term
    associations: Array
    spots: list[tuple[Spot, ...]]
    influences: list[float]
    reaches: list[float]


class Decompositions(Sequence[Decomposition]):
    """Every measured decomposition, in order of the first position of the computation.

    Attributes
    ----------
    associations : by decomposition and protected attribute.
    influences : by decomposition; NaN where not needed.
    """

    def __init__(
        self,
        program: Program,
        protected: Sequence[str],
        computations: Sequence[Computation],
        joint: Callable[[Term], list[JointTable]],
    ) -> None:
        self.program = program
        self.protected = tuple(protected)
        self._computations = computations
        self._joint = joint
        sizes = [len(computation.spots) for computation in computations]
        self._of = np.repeat(np.arange(len(sizes)), sizes)
        self._first = np.concatenate([[0], np.cumsum(sizes, dtype=np.intp)])
        rows = np.array([c.associations for c in computations]).reshape(-1, len(self.protected))
        self.associations: Array = rows[self._of]
        self.influences = np.array([i for c in computations for i in c.influences], dtype=float)

    def __len__(self) -> int:
        return len(self._of)

    @overload
    def __getitem__(self, place: int) -> Decomposition: ...

    @overload
    def __getitem__(self, place: slice) -> list[Decomposition]: ...

    def __getitem__(self, place: int | slice) -> Decomposition | list[Decomposition]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        computation = self._computations[self._of[place]]
        own = place - int(self._first[self._of[place]])
        influence = computation.influences[own]
        return Decomposition(
            self.program,
            computation.term,
            computation.spots[own],
            dict(zip(self.protected, computation.associations.tolist(), strict=True)),
            None if influence != influence else influence,
            computation.reaches[own],
            self._joint,
        )

    def __repr__(self) -> str:
        return f"<{len(self)} decompositions>"
