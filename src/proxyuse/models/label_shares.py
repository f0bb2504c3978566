"""Class shares that predict a label, changed as little as possible from the shares at hand.

A repair may give a node of a tree another label than its majority class. The node's shares are then
too informative to throw away: they still say how likely each class is. They are replaced by the
closest shares that predict the label.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.evaluate import Array

LEAD = 1e-6
"""The lead of a label over each other class. It survives rounding to float32."""


def closest_shares(own: Array, index: int, lead: float = LEAD) -> Array:
    """The closest class shares in which one class leads each other class.

    The largest other shares and that of the class move to a common level; smaller shares stay. Of
    all shares with this lead, these have the smallest total change and the smallest sum of squared
    changes. Up to the lead, they also have the largest likelihood on the training rows of the node.

    Parameters
    ----------
    own : the shares of a node; not negative, with sum 1.
    index : the class that must lead.
    lead : by how much; it must hold in both orders of the classes, so it is above 0.

    Examples
    --------
    >>> closest_shares(np.array([0.75, 0.25]), 1, lead=0.125).tolist()
    [0.4375, 0.5625]
    >>> closest_shares(np.array([0.625, 0.125, 0.25]), 1, lead=0.125).tolist()
    [0.3125, 0.4375, 0.25]
    """
    level, moved = float(own[index]) - lead, 1
    for other in sorted(np.delete(own, index).tolist(), reverse=True):
        if other <= level:
            break
        level, moved = (level * moved + other) / (moved + 1), moved + 1
    shares = np.minimum(own, level)
    shares[index] = level + lead
    return np.asarray(shares)
