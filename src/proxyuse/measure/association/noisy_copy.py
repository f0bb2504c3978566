"""What an association means for one attribute: a copy of it with just enough noise.

The copy equals the attribute with probability s and is an independent draw from the same
distribution otherwise, so it has the values and the distribution of the attribute. Its association
rises with s, from 0 to 1. For an attribute with two values, these are all the tables with the
distribution of the attribute on both sides and a positive correlation.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from msgspec import Meta, Struct

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)

MOST_VALUES = 256
STEPS = 50


Share = Annotated[float, Meta(ge=0, le=1)]


class NoisyCopy(Struct, frozen=True):
    """What epsilon means: a copy of the attribute with noise that has this association."""

    copied: Annotated[
        Share, Meta(description="It equals the attribute for this share and is random otherwise.")
    ]
    informed: Annotated[Share, Meta(description="How often the best guess is right with it.")]
    blind: Annotated[Share, Meta(description="How often the best guess is right without it.")]


def noisy_copy(masses: Array, association: float) -> NoisyCopy | None:
    """Return the noisy copy of an attribute that has a normalized mutual information.

    None if the association is 0, or the attribute is constant or has more than 256 values.

    Parameters
    ----------
    masses : the mass of each value of the attribute.
    association : above 0, at most 1.

    Examples
    --------
    >>> copy = noisy_copy(np.array([50.0, 50.0]), 0.1)
    >>> round(copy.copied, 3), round(copy.informed, 3), copy.blind
    (0.491, 0.746, 0.5)
    """
    shares = masses[masses > 0] / masses.sum()
    if association <= 0 or not 1 < len(shares) <= MOST_VALUES:
        return None
    measure = NormalizedMutualInformation()
    low, high = 0.0, 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        if measure(_table(shares, middle)) < association:
            low = middle
        else:
            high = middle
    return NoisyCopy(high, float(_table(shares, high).max(axis=1).sum()), float(shares.max()))


def _table(shares: Array, copied: float) -> Array:
    return copied * np.diag(shares) + (1 - copied) * np.outer(shares, shares)
