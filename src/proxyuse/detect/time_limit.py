"""Measures as much as a time limit allows, the most useful first.

Small computations (columns and tests) come before large ones. Computations whose association
reaches epsilon come before the others, which cannot be witnesses. Finished measurements are kept.
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
"""Decompositions: the indices of their computations, sites, influences, reaches."""

SMALL = 8
"""Computations of at most this many nodes are measured first."""

PARTS = 8
"""Computations of equal priority are measured in this many parts."""


@dataclass(eq=False)
class InTime:
    """The measurements made before the time limit.

    Attributes
    ----------
    associations : of each computation with each protected attribute; NaN where unknown.
    columns : the measured decompositions.
    remaining : computations that may be witnesses: their influence was not measured, and their
        association reaches epsilon or is unknown.
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
    points : the points of the program.
    attributes : the number of protected attributes.
    epsilon : the association threshold.
    associations : measures the associations of some terms.
    measure : measures the decompositions of some computations; takes a listing and, for each
        computation, whether its association reaches epsilon.
    """
    sizes = np.array([term.size for term in listing.terms], dtype=np.int64)
    known = np.full((len(sizes), attributes), np.nan)
    done = np.zeros(len(sizes), dtype=bool)
    columns: list[Columns] = []

    def finish(indices: Array) -> None:
        for part in np.array_split(indices, min(PARTS, max(1, len(indices)))):
            if len(part):
                some = Listing([listing.candidates[i] for i in part.tolist()], points)
                suspicious = known[part].max(axis=1) >= epsilon
                owners, sites, influences, reaches = measure(some, suspicious)
                columns.append((part[owners], sites, influences, reaches))
                done[part] = True

    stopped = False
    try:
        for indices in (np.flatnonzero(sizes <= SMALL), np.flatnonzero(sizes > SMALL)):
            if len(indices):
                known[indices] = associations([listing.terms[i] for i in indices.tolist()])
                strongest = known[indices].max(axis=1)
                order = np.argsort(-strongest, kind="stable")
                finish(indices[order[strongest[order] >= epsilon]])
        finish(np.flatnonzero(~done))
    except OutOfTime:
        stopped = True
    below = known.max(axis=1) < epsilon  # False where unknown
    return InTime(
        known,
        _joined(columns),
        np.flatnonzero(~done & ~below).tolist(),
        np.flatnonzero(~done & below).tolist(),
        stopped,
    )


def _joined(parts: Sequence[Columns]) -> Columns:
    """All parts in one, in order of the computations."""
    if not parts:
        return np.zeros(0, np.intp), [], np.zeros(0), np.zeros(0)
    owners, influences, reaches = (np.concatenate([part[i] for part in parts]) for i in (0, 2, 3))
    sites = [own for part in parts for own in part[1]]
    order = np.argsort(owners, kind="stable")
    return owners[order], [sites[i] for i in order.tolist()], influences[order], reaches[order]
