"""How large an Arrow table becomes in pandas, computed before it is converted.

Dictionaries, run lengths, views and nulls describe many values with few bytes.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from proxyuse.input_limits import CELLS, TABLE_BYTES
from proxyuse.io.reading import require


def check_size(path: Path, table: Any) -> None:
    """Raise an error if the cells of a table, or the text in them, exceed a limit."""
    n_cells = n_bytes = 0
    for column in table.columns:
        for chunk in column.chunks:
            for array in _flat(path, chunk):
                n_cells += len(array)
                CELLS.check(n_cells, path)
                n_bytes += text_bytes(array)
                TABLE_BYTES.check(n_bytes, f"{path}, expanded,")


def _flat(path: Path, array: Any) -> list[Any]:
    """Return the arrays of numbers or text that an array consists of; lists have items."""
    arrow = require("pyarrow", "reading a table")
    compute = require("pyarrow.compute", "reading a table")
    types = arrow.types
    flat, pending = [], [array]
    while pending:
        array = pending.pop()
        flat.append(array)
        if isinstance(array, arrow.ExtensionArray):
            pending.append(array.storage)
        elif types.is_struct(array.type):
            pending += array.flatten()
        elif types.is_map(array.type):
            pending += [array.keys, array.items]
        elif types.is_nested(array.type) and hasattr(array, "flatten"):
            items = compute.sum(compute.list_value_length(array)).as_py() or 0
            CELLS.check(items, path)  # before the items of views are copied
            pending.append(array.flatten())
    return flat


def text_bytes(array: Any) -> int:
    """Return how many bytes the text in an array takes, once per row."""
    arrow = require("pyarrow", "reading a table")
    compute = require("pyarrow.compute", "reading a table")
    kind = array.type
    if arrow.types.is_run_end_encoded(kind):
        lengths = _lengths(array.values)
        ends = np.asarray(array.run_ends)
        return int((np.diff(ends, prepend=0) * lengths).sum()) if lengths is not None else 0
    if arrow.types.is_dictionary(kind):
        lengths = _lengths(array.dictionary)
        if lengths is None:
            return 0
        used = compute.value_counts(array.indices.drop_null())
        indices, counts = (np.asarray(used.field(name)) for name in ("values", "counts"))
        return int((lengths[indices] * counts).sum())
    lengths = _lengths(array)
    return 0 if lengths is None else int(lengths.sum())


def _lengths(array: Any) -> Any:
    """Return the length of each text in an array in bytes; None for other types."""
    arrow = require("pyarrow", "reading a table")
    kind = str(array.type)
    if kind in ("string_view", "binary_view"):
        views = np.frombuffer(array.buffers()[1], dtype=np.int32).reshape(-1, 4)
        lengths = views[array.offset : array.offset + len(array), 0].astype(np.int64)
        return np.where(np.asarray(array.is_valid()), lengths, 0)
    if kind not in ("string", "large_string", "binary", "large_binary"):
        return None
    compute = require("pyarrow.compute", "reading a table")
    lengths = compute.fill_null(compute.binary_length(array), 0)
    return np.asarray(lengths.cast(arrow.int64()))
