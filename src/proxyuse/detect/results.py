"""The result of detection."""

from __future__ import annotations

from dataclasses import dataclass, field

from proxyuse.detect.bounded import Bounded
from proxyuse.detect.decompositions import Decompositions
from proxyuse.lang.positions import Points, Position, Site
from proxyuse.notes import Note, NotSettled, Unmeasured

MOST_POSITIONS = 3
"""How many positions a note names."""


@dataclass(frozen=True, slots=True)
class Unsettled:
    """Decompositions that were not settled and may be witnesses.

    Attributes
    ----------
    what : ``operand subsets``, ``occurrence sets``, ``positions`` or ``variables`` that were not
        measured; ``influences`` whose estimate is too close to delta; ``computations`` if a time
        limit was reached.
    term : the text of the operator or repeated term, cut short.
    count : the number of decompositions that were not settled.
    """

    what: Unmeasured
    term: str
    count: int
    _points: Points = field(repr=False, compare=False)
    _sites: tuple[Site, ...] = field(repr=False)

    @property
    def positions(self) -> tuple[Position, ...]:
        """The positions of the term."""
        return tuple(self._points.position(site) for site in self._sites)

    @property
    def note(self) -> NotSettled:
        """The note for a report, with the first positions of the term."""
        first, rest = self._sites[:MOST_POSITIONS], self._sites[MOST_POSITIONS:]
        positions = tuple(str(self._points.position(site)) for site in first)
        return NotSettled(self.what, self.count, self.term, positions, bool(rest))


@dataclass(frozen=True, slots=True, eq=False)
class Detection:
    """Every measured decomposition, and what was not settled.

    Attributes
    ----------
    searched : the spaces that were searched but not exhausted.
    selected : whether the choice of listed partial sums depends on the rows.
    chosen : partial sums that half of the rows chose, to be confirmed on the others, as protected
        attributes and digests.
    bounded : the decompositions that a bound shows not to be witnesses; None if everything was
        measured.
    """

    decompositions: Decompositions
    unsettled: tuple[Unsettled, ...]
    notes: tuple[Note, ...]
    searched: tuple[Note, ...] = ()
    selected: bool = False
    bounded: Bounded | None = None
    chosen: frozenset[tuple[str, bytes]] = frozenset()
