"""Every measured decomposition as a data frame.

Columns are built from the arrays of `Decompositions`, without one object per row. Positions are
converted to text only if they appear in the frame, and each computation is printed once.
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
"""The number of positions listed per row; the others are counted."""


def frame_of(
    decompositions: Decompositions,
    witnesses: Mapping[tuple[str, str], Validity | None],
    *,
    full_terms: bool,
    validity: bool,
) -> pd.DataFrame:
    """Build a frame with one row per decomposition and protected attribute.

    Parameters
    ----------
    decompositions : the decompositions.
    witnesses : the test results of each witness, by protected attribute and id.
    full_terms : whether to print computations in full.
    validity : whether to add columns for the test results.
    """
    try:
        import pandas as pd
    except ImportError:
        raise DataError(
            "to_frame needs pandas, which is not installed: pip install 'proxyuse[pandas]'"
        ) from None
    attributes = len(decompositions.protected)
    texts = _Paths(decompositions.program.points)
    terms, program = decompositions.computations, decompositions.program
    written = _objects(
        [program.text_of(term) for term in terms] if full_terms else program.briefs(terms)
    )
    sizes = np.array([term.size for term in terms], dtype=np.int64)
    ids = _ids(decompositions, texts)
    names = list(decompositions.protected) * len(decompositions)
    witness = np.zeros(len(names), dtype=bool)
    chosen = {id for _, id in witnesses}
    for index, id in enumerate(ids):
        if id in chosen:
            for number, name in enumerate(decompositions.protected):
                witness[index * attributes + number] = (name, id) in witnesses
    columns: dict[str, Any] = {
        "protected": names,
        "id": np.repeat(_objects(ids), attributes),
        "term": np.repeat(written[decompositions.owners], attributes),
        "positions": np.repeat(
            _objects([_listed(own, texts) for own in decompositions.sites]), attributes
        ),
        "occurrences": np.repeat([len(own) for own in decompositions.sites], attributes),
        "association": decompositions.associations.ravel(),
        "influence": np.repeat(decompositions.influences, attributes),
        "reach": np.repeat(decompositions.reaches, attributes),
        "size": np.repeat(sizes[decompositions.owners], attributes),
        "witness": witness,
    }
    frame = pd.DataFrame(columns)
    if validity:
        rows = np.flatnonzero(witness).tolist()
        known = [columns_of(witnesses[names[row], ids[row // attributes]]) for row in rows]
        frame = frame.join(pd.DataFrame(known, index=rows, columns=list(COLUMNS)))
    return frame


class _Paths(dict[int, str]):
    """The printed paths of points, computed on first use.

    The path of a point extends the path of its parent, which is cached too.
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
    """The first positions, and the number of others."""
    if len(sites) == 1:
        return _text(sites[0], texts)
    listed = "; ".join(_text(site, texts) for site in sites[:MOST_POSITIONS])
    more = len(sites) - MOST_POSITIONS
    return f"{listed}; ... ({more:,} more)" if more > 0 else listed


def _ids(decompositions: Decompositions, texts: Mapping[int, str]) -> list[str]:
    """The id of each decomposition; see `sites_id`."""
    digests = [term.digest for term in decompositions.computations]
    ids = []
    for owner, sites in zip(decompositions.owners.tolist(), decompositions.sites, strict=True):
        if len(sites) == 1:
            hasher = blake2b(digests[owner], digest_size=8)
            hasher.update(_text(sites[0], texts).encode() + b";")
            ids.append(hasher.hexdigest())
        else:
            term = decompositions.computations[owner]
            ids.append(sites_id(term, decompositions.program.points, sites))
    return ids


def _objects(values: Sequence[str]) -> Any:
    """Return strings as an object array, which pandas uses without conversion."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array
