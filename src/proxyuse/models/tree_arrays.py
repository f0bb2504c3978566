"""The rules for a tree's arrays, whatever file they come from.

Compiled code follows these numbers without looking: a child beyond the end, a cycle or a feature
that is not there crashes the process. So they are looked at here before.
"""

from __future__ import annotations

import numpy as np

from proxyuse.errors import FileError, TranslationError
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Precision
from proxyuse.models.tree_table import TreeTable


def check_tree(
    left: Array, right: Array, feature: Array, threshold: Array, n_features: int
) -> None:
    """Refuse arrays that are not a tree over `n_features` features; -1 is no child.

    Examples
    --------
    >>> import numpy as np
    >>> check_tree(np.array([1, -1, -1]), np.array([2, -1, -1]), np.zeros(3), np.zeros(3), 1)
    >>> check_tree(np.array([1, -1, -1]), np.array([9, -1, -1]), np.zeros(3), np.zeros(3), 1)
    Traceback (most recent call last):
    ...
    proxyuse.errors.FileError: a child of the tree is not a node: there are 3 nodes
    """
    table = TreeTable(
        left=left.astype(np.int64),
        right=right.astype(np.int64),
        feature=feature.astype(np.int64),
        threshold=threshold,
        missing_left=np.zeros(len(left), dtype=np.bool_),
        leaves=np.zeros(len(left)),
        precision=Precision.FLOAT64,
    )
    try:
        table.check(n_features)
    except TranslationError as error:
        raise FileError(str(error)) from None
