"""P-values of single tables, from random tables with the same margins.

Permuting the protected attribute over n rows of equal weight is the same as drawing a table with
the same margins, with the probability that permutations give it. Cells are drawn one after the
other, each from a hypergeometric distribution given those before: O(cells) for any n, and many
tables and draws at once. Tables with nearly as many cells as rows are drawn by shuffling.

Each chunk of tables has its own stream of random numbers, so results do not depend on threads.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.best_cut import BestCut
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.parallel import mapped
from proxyuse.validity.permutations.comparison import (
    Statistic,
    is_constant,
    never_varies,
    threshold,
)

CHUNK = 1 << 20  # cells drawn at once
CELLS_PER_ROW = 0.05  # with more cells per row of the data, shuffling is cheaper
MOST_ROWS = 10**9  # the limit of NumPy's hypergeometric distribution


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """Some tables of one shape, the number of draws, and the stream of random numbers."""

    indices: list[int]
    draws: int
    stream: tuple[int, ...]


def drawn_p_values(
    tables: Sequence[Array],
    measure: Association,
    permutations: int,
    stream: Sequence[int],
    threads: int = 1,
) -> Array:
    """``(1 + draws that reach its association) / (1 + draws)`` for each table of counts.

    Parameters
    ----------
    tables : integer tables, all with the same total.
    permutations : the number of draws per table.
    stream : integers that identify the stream of random numbers.

    Examples
    --------
    >>> from proxyuse.measure.association.measures.normalized_mutual_information import (
    ...     NormalizedMutualInformation,
    ... )
    >>> tables = [np.array([[9, 1], [2, 8]]), np.array([[5, 5], [6, 4]])]
    >>> drawn_p_values(tables, NormalizedMutualInformation(), 999, [0]).round(2).tolist()
    [0.0, 1.0]
    """
    if not tables:
        return np.empty(0)
    total = int(tables[0].sum())
    if total >= MOST_ROWS:
        raise DataError(
            f"cannot draw tables of {total:,} records; the limit is {MOST_ROWS - 1:,}. Request "
            "exact p-values, or scale the weights down"
        )
    statistic = Statistic(measure, total)
    whole = [np.rint(table).astype(np.int64) for table in tables]
    counts = np.zeros(len(tables), dtype=np.int64)

    def reaching(chunk: _Chunk) -> Array:
        stacked = np.stack([whole[i] for i in chunk.indices])
        least = threshold(statistic.of(stacked))
        rng = np.random.default_rng(chunk.stream)
        drawn = random_tables(stacked.sum(axis=2), stacked.sum(axis=1), chunk.draws, rng)
        return np.asarray(np.count_nonzero(statistic.of(drawn) >= least[:, None], axis=1))

    fixed = is_constant if isinstance(measure, BestCut) else never_varies
    fixed_tables = [fixed(table.sum(axis=1), table.sum(axis=0)) for table in whole]
    chunks = list(_chunks(whole, fixed_tables, permutations, tuple(stream)))
    for chunk, some in zip(chunks, mapped(reaching, chunks, threads), strict=True):
        counts[chunk.indices] += some
    counts[np.array(fixed_tables)] = permutations
    return (1 + counts) / (1 + permutations)


def _chunks(
    tables: Sequence[Array], fixed: Sequence[bool], draws: int, stream: tuple[int, ...]
) -> Iterator[_Chunk]:
    """Chunks of tables of the same shape, with at most `CHUNK` cells, without fixed tables."""
    by_shape: dict[tuple[int, int], list[int]] = defaultdict(list)
    for index, table in enumerate(tables):
        if not fixed[index]:
            by_shape[table.shape[0], table.shape[1]].append(index)
    for (rows, columns), indices in by_shape.items():
        together = max(1, CHUNK // (rows * columns * draws))
        at_once = max(1, min(draws, CHUNK // (rows * columns)))
        for first in range(0, len(indices), together):
            for done in range(0, draws, at_once):
                yield _Chunk(
                    indices[first : first + together],
                    min(at_once, draws - done),
                    (*stream, rows, columns, first, done),
                )


def random_tables(rows: Array, columns: Array, draws: int, rng: np.random.Generator) -> Array:
    """Random tables with given margins, by pair of margins, draw, row and column.

    Parameters
    ----------
    rows, columns : integer margins, one row per pair of margins.

    Examples
    --------
    >>> drawn = random_tables(np.array([[2, 3]]), np.array([[1, 4]]), 10, np.random.default_rng(0))
    >>> drawn.shape, np.unique(drawn.sum(axis=3)).tolist(), np.unique(drawn.sum(axis=2)).tolist()
    ((1, 10, 2, 2), [2, 3], [1, 4])
    """
    cells = (rows.shape[1] - 1) * (columns.shape[1] - 1)
    if cells > CELLS_PER_ROW * rows[0].sum():
        return _shuffled(rows, columns, draws, rng)
    return _filled(rows, columns, draws, rng)


def _filled(rows: Array, columns: Array, draws: int, rng: np.random.Generator) -> Array:
    """Draw the cells one after the other."""
    shape = (len(rows), draws)
    tables = np.empty((rows.shape[1], columns.shape[1], *shape), dtype=np.int64)
    remaining = [np.broadcast_to(column[:, None], shape).copy() for column in columns.T]
    for row, margin in enumerate(rows.T[:-1]):
        wanted = np.broadcast_to(margin[:, None], shape)
        beyond = np.sum(remaining, axis=0)
        for column in range(columns.shape[1] - 1):
            beyond = beyond - remaining[column]
            taken = rng.hypergeometric(remaining[column], beyond, wanted)
            tables[row, column] = taken
            remaining[column] -= taken
            wanted = wanted - taken
        tables[row, -1] = wanted
        remaining[-1] -= wanted
    for column, rest in enumerate(remaining):
        tables[-1, column] = rest
    return tables.transpose(2, 3, 0, 1)


def _shuffled(rows: Array, columns: Array, draws: int, rng: np.random.Generator) -> Array:
    """Keep the row labels and shuffle the column labels."""
    height, width = rows.shape[1], columns.shape[1]
    tables = np.empty((len(rows), draws, height * width), dtype=np.int64)
    for table, (row, column) in enumerate(zip(rows, columns, strict=True)):
        offsets = np.repeat(np.arange(height) * width, row)
        labels = np.repeat(np.arange(width), column)
        for draw in range(draws):
            rng.shuffle(labels)
            tables[table, draw] = np.bincount(offsets + labels, minlength=height * width)
    return tables.reshape(len(rows), draws, height, width)
