"""Checks the arrays of a tree that was read from a file.

Compiled prediction code trusts these numbers. An index out of range or a cycle would crash the
process, so every tree is checked before a library sees it.
"""

from __future__ import annotations

import numpy as np

from proxyuse.errors import CorruptFile, TranslationError
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Precision
from proxyuse.models.tree_table import TreeTable


def check_tree(
    left: Array, right: Array, feature: Array, threshold: Array, n_features: int
) -> None:
    """Raise an error if the arrays are not a tree over `n_features` features; -1 marks a leaf.

    Examples
    --------
    >>> import numpy as np
    >>> check_tree(np.array([1, -1, -1]), np.array([2, -1, -1]), np.zeros(3), np.zeros(3), 1)
    >>> check_tree(np.array([1, -1, -1]), np.array([9, -1, -1]), np.zeros(3), np.zeros(3), 1)
    Traceback (most recent call last):
    ...
    proxyuse.errors.CorruptFile: a child of the tree is not a node: there are 3 nodes
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
        raise CorruptFile(str(error)) from None
