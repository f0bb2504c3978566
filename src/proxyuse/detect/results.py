"""The result of detection."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal

from proxyuse.detect.bounded import Bounded
from proxyuse.detect.decompositions import Decompositions
from proxyuse.lang.positions import Points, Position, Site
from proxyuse.notes import Note


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Decompositions that were not measured and may be witnesses.

    Attributes
    ----------
    what : ``operand subsets``, ``occurrence sets`` or ``positions``; ``computations`` if a time
        limit was reached.
    term : the text of the operator or repeated term, cut short.
    count : the number of decompositions not measured.
    """

    what: str
    term: str
    count: int
    _points: Points = field(repr=False, compare=False)
    _sites: tuple[Site, ...] = field(repr=False)

    @property
    def positions(self) -> tuple[Position, ...]:
        """The positions of the term."""
        return tuple(self._points.position(site) for site in self._sites)

    def __str__(self) -> str:
        first = ", ".join(str(self._points.position(site)) for site in self._sites[:3])
        at = first + (", ..." if len(self._sites) > 3 else "")
        count = f"{self.count:,}" if self.count < 10**15 else f"{Decimal(self.count):.2e}"
        return f"{count} {self.what} of `{self.term}` (at {at}) were not measured"


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """Every measured decomposition, and what was not settled.

    Attributes
    ----------
    searched : the spaces that were searched but not exhausted.
    selected : whether the choice of listed partial sums depends on the rows.
    bounded : the decompositions that a bound shows not to be witnesses; None if everything was
        measured.
    """

    decompositions: Decompositions
    unsettled: tuple[Unsettled, ...]
    notes: tuple[Note, ...]
    searched: tuple[Note, ...] = ()
    selected: bool = False
    bounded: Bounded | None = None
