"""Measuring as much as a time limit allows, in the order in which it is most useful.

Small computations (columns and tests) come before large ones, and those whose association passes
epsilon before the others, which cannot be witnesses. What was finished when time ran out is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from proxyuse.detect.candidates import Listing
from proxyuse.detect.progress import OutOfTime
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Points, Site

Columns = tuple[Array, list[tuple[Site, ...]], Array, Array]
"""Decompositions: whose they are, sites, influences, reaches."""

SMALL = 8
"""Nodes of a computation that is measured first."""

PARTS = 8
"""Parts in which computations of equal urgency are measured."""


@dataclass(eq=False)
class InTime:
    """What was measured before the time limit.

    Attributes
    ----------
    associations : of each computation with each protected attribute; NaN where not known.
    columns : the measured decompositions, by the number of the computation.
    remaining : computations whose association passes epsilon, or is not known, and whose influence
        was not measured: they may be witnesses.
    unneeded : computations whose influence was not measured, but whose association is below
        epsilon.
    stopped : whether the time limit was reached.
    """

    associations: Array
    columns: Columns
    remaining: list[int] = field(default_factory=list)
    unneeded: list[int] = field(default_factory=list)
    stopped: bool = False


def measure_in_time(
    listing: Listing,
    points: Points,
    *,
    attributes: int,
    epsilon: float,
    associations: Callable[[Sequence[Term]], Array],
    measure: Callable[[Listing, Array], Columns],
) -> InTime:
    """Measure computations until `OutOfTime` is raised.

    Parameters
    ----------
    listing : the computations.
    points : of the program.
    attributes : the number of protected attributes.
    epsilon : the threshold of association.
    associations : measures the associations of some terms.
    measure : measures the decompositions of some computations, given whether the association of
        each passes epsilon.
    """
    sizes = np.array([term.size for term in listing.terms], dtype=np.int64)
    known = np.full((len(sizes), attributes), np.nan)
    done = np.zeros(len(sizes), dtype=bool)
    found: list[Columns] = []

    def finish(places: Array) -> None:
        for part in np.array_split(places, min(PARTS, max(1, len(places)))):
            if len(part):
                some = Listing([listing.candidates[i] for i in part.tolist()], points)
                suspicious = known[part].max(axis=1) >= epsilon
                owners, sites, influences, reaches = measure(some, suspicious)
                found.append((part[owners], sites, influences, reaches))
                done[part] = True

    stopped = False
    try:
        for places in (np.flatnonzero(sizes <= SMALL), np.flatnonzero(sizes > SMALL)):
            if len(places):
                known[places] = associations([listing.terms[i] for i in places.tolist()])
                strongest = known[places].max(axis=1)
                order = np.argsort(-strongest, kind="stable")
                finish(places[order[strongest[order] >= epsilon]])
        finish(np.flatnonzero(~done))
    except OutOfTime:
        stopped = True
    below = known.max(axis=1) < epsilon  # False where not known
    return InTime(
        known,
        _joined(found),
        np.flatnonzero(~done & ~below).tolist(),
        np.flatnonzero(~done & below).tolist(),
        stopped,
    )


def _joined(parts: Sequence[Columns]) -> Columns:
    """All parts, in the order of the computations."""
    if not parts:
        return np.zeros(0, np.intp), [], np.zeros(0), np.zeros(0)
    owners, influences, reaches = (np.concatenate([part[i] for part in parts]) for i in (0, 2, 3))
    sites = [own for part in parts for own in part[1]]
    order = np.argsort(owners, kind="stable")
    return owners[order], [sites[i] for i in order.tolist()], influences[order], reaches[order]
