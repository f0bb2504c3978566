"""Every measured decomposition as a data frame.

Columns are made from the arrays of `Decompositions`, without an object for each row. Only positions
that appear in the frame are written out, and each computation is written once, however many
positions it has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from proxyuse.detect.decompositions import Decompositions
from proxyuse.errors import DataError
from proxyuse.lang.positions import Points, Site, sites_id
from proxyuse.validity.content import COLUMNS, columns_of
from proxyuse.verdict import Validity

if TYPE_CHECKING:
    import pandas as pd

MOST_POSITIONS = 5
"""Positions that are written out; of more, only the number."""


def frame_of(
    found: Decompositions,
    witnesses: Mapping[tuple[str, str], Validity | None],
    *,
    full_terms: bool,
    validity: bool,
) -> pd.DataFrame:
    """A row for each decomposition and protected attribute.

    Parameters
    ----------
    found : the decompositions.
    witnesses : by protected attribute and id, with what statistics say.
    full_terms : whether computations are written in full.
    validity : whether there are columns for what statistics say.
    """
    try:
        import pandas as pd
    except ImportError:
        raise DataError(
            "to_frame needs pandas, which is not installed: pip install 'proxyuse[pandas]'"
        ) from None
    attributes = len(found.protected)
    texts = _Paths(found.program.points)
    terms, program = found.computations, found.program
    written = _objects(
        [program.text_of(term) for term in terms] if full_terms else program.briefs(terms)
    )
    sizes = np.array([term.size for term in terms], dtype=np.int64)
    ids = _ids(found, texts)
    names = list(found.protected) * len(found)
    witness = np.zeros(len(names), dtype=bool)
    chosen = {id for _, id in witnesses}
    for place, id in enumerate(ids):
        if id in chosen:
            for number, name in enumerate(found.protected):
                witness[place * attributes + number] = (name, id) in witnesses
    columns: dict[str, Any] = {
        "protected": names,
        "id": np.repeat(_objects(ids), attributes),
        "term": np.repeat(written[found.owners], attributes),
        "positions": np.repeat(_objects([_listed(own, texts) for own in found.sites]), attributes),
        "occurrences": np.repeat([len(own) for own in found.sites], attributes),
        "association": found.associations.ravel(),
        "influence": np.repeat(found.influences, attributes),
        "reach": np.repeat(found.reaches, attributes),
        "size": np.repeat(sizes[found.owners], attributes),
        "witness": witness,
    }
    frame = pd.DataFrame(columns)
    if validity:
        rows = np.flatnonzero(witness).tolist()
        known = [columns_of(witnesses[names[row], ids[row // attributes]]) for row in rows]
        frame = frame.join(pd.DataFrame(known, index=rows, columns=list(COLUMNS)))
    return frame


class _Paths(dict[int, str]):
    """The paths of points as they are printed, made when they are asked for.

    The path of a point continues that of the point above it, which is kept, too.
    """

    def __init__(self, points: Points) -> None:
        super().__init__({0: "root"})
        self._points = points

    def __missing__(self, point: int) -> str:
        parents, steps = self._points.parents, self._points.steps
        below = [point]
        while (above := parents[below[-1]]) not in self:
            below.append(above)
        for child in reversed(below):
            self[child] = f"{self[above]}.{steps[child]}" if above else str(steps[child])
            above = child
        return self[point]


def _text(site: Site, texts: Mapping[int, str]) -> str:
    text = texts[site[0]]
    return f"{text}{{{','.join(map(str, site[1]))}}}" if site[1] else text


def _listed(sites: Sequence[Site], texts: Mapping[int, str]) -> str:
    """The first positions, and how many more there are."""
    if len(sites) == 1:
        return _text(sites[0], texts)
    listed = "; ".join(_text(site, texts) for site in sites[:MOST_POSITIONS])
    more = len(sites) - MOST_POSITIONS
    return f"{listed}; ... ({more:,} more)" if more > 0 else listed


def _ids(found: Decompositions, texts: Mapping[int, str]) -> list[str]:
    """The id of each decomposition; see `sites_id`."""
    digests = [term.digest for term in found.computations]
    ids = []
    for owner, sites in zip(found.owners.tolist(), found.sites, strict=True):
        if len(sites) == 1:
            hasher = blake2b(digests[owner], digest_size=8)
            hasher.update(_text(sites[0], texts).encode() + b";")
            ids.append(hasher.hexdigest())
        else:
            term = found.computations[owner]
            ids.append(sites_id(term, found.program.points, sites))
    return ids


def _objects(values: Sequence[str]) -> Any:
    """Strings as an array of objects, which pandas takes as it is."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
