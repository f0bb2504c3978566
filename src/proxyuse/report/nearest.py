"""The computations that come closest to being a witness."""

from __future__ import annotations

import numpy as np

from proxyuse.detect.decompositions import Decomposition
from proxyuse.lang.evaluate import Array
from proxyuse.report.inputs import Audited
from proxyuse.report.reading import shown_text

NEAREST = 5


def nearest_decompositions(audit: Audited, protected: str) -> list[Decomposition]:
    """The computations that are closest to the threshold they are further from.

    Of computations that read the same, such as a column and the column with missing values filled
    in where none is missing, the first is enough.
    """
    measured = audit.decompositions
    associations = measured.associations[:, measured.protected.index(protected)]
    to_go = _to_go(associations, audit.epsilon)
    influence_to_go = np.nan_to_num(_to_go(measured.influences, audit.delta))
    order = np.lexsort((-associations, to_go + influence_to_go, np.fmax(to_go, influence_to_go)))
    nearest: dict[str, Decomposition] = {}
    for index in order.tolist():
        decomposition = measured[index]
        text, _ = shown_text(decomposition.expression, audit.population.columns)
        nearest.setdefault(text, decomposition)
        if len(nearest) == NEAREST:
            break
    return list(nearest.values())


def _to_go(values: Array, threshold: float) -> Array:
    """The share of the distance to a threshold that remains; for a threshold of 0, all or none."""
    if threshold > 0:
        return np.maximum(0.0, 1 - values / threshold)
    return np.where(values > 0, 0.0, 1.0)
