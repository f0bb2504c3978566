"""P-values of single tables, from tables drawn with the same margins.

Permuting the protected attribute over n rows of equal weight and counting again is the same as
drawing a table with the same margins, each with the chance that permutations give it. A table is
drawn cell after cell, each from a hypergeometric distribution given those before: O(cells),
whatever n is, for many tables and draws at a time. A table with nearly as many cells as rows is
drawn by shuffling.

Random numbers come in streams of their own for each chunk of tables, so that results do not
depend on who draws them when.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.parallel import mapped
from proxyuse.validity.permutations.comparison import Statistic, never_varies, threshold

CHUNK = 1 << 20  # cells that are drawn at a time
CELLS_A_ROW = 0.05  # of a table for each row of the data, from which on shuffling is cheaper
MOST_ROWS = 10**9  # that hypergeometric draws are made for


@dataclass(frozen=True, slots=True, eq=False)
class _Chunk:
    """Some tables of one shape, how many draws to make, and with which random numbers."""

    places: list[int]
    draws: int
    stream: tuple[int, ...]


def drawn_p_values(
    tables: Sequence[Array],
    measure: Association,
    permutations: int,
    stream: Sequence[int],
    threads: int = 1,
) -> Array:
    """For each table of counts ``(1 + draws that reach its association) / (1 + draws)``.

    Parameters
    ----------
    tables : of whole numbers, all with the same total.
    permutations : how many tables are drawn for each.
    stream : whole numbers that name the random numbers.

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
            f"{total:,} records are too many to draw tables of; there may be {MOST_ROWS - 1:,}. "
            "Ask for exact p-values, or scale the weights down"
        )
    statistic = Statistic(measure, total)
    whole = [np.rint(table).astype(np.int64) for table in tables]
    counts = np.zeros(len(tables), dtype=np.int64)

    def reaching(chunk: _Chunk) -> Array:
        stacked = np.stack([whole[i] for i in chunk.places])
        least = threshold(statistic.of(stacked))
        rng = np.random.default_rng(chunk.stream)
        drawn = random_tables(stacked.sum(axis=2), stacked.sum(axis=1), chunk.draws, rng)
        return np.asarray(np.count_nonzero(statistic.of(drawn) >= least[:, None], axis=1))

    chunks = list(_chunks(whole, permutations, tuple(stream)))
    for chunk, some in zip(chunks, mapped(reaching, chunks, threads), strict=True):
        counts[chunk.places] += some
    for place, table in enumerate(whole):
        if never_varies(table.sum(axis=1), table.sum(axis=0)):
            counts[place] = permutations
    return (1 + counts) / (1 + permutations)


def _chunks(tables: Sequence[Array], draws: int, stream: tuple[int, ...]) -> Iterator[_Chunk]:
    """Tables of one shape together, and few enough cells at a time."""
    by_shape: dict[tuple[int, int], list[int]] = defaultdict(list)
    for place, table in enumerate(tables):
        if not never_varies(table.sum(axis=1), table.sum(axis=0)):
            by_shape[table.shape[0], table.shape[1]].append(place)
    for (rows, columns), places in by_shape.items():
        together = max(1, CHUNK // (rows * columns * draws))
        at_once = max(1, min(draws, CHUNK // (rows * columns)))
        for first in range(0, len(places), together):
            for done in range(0, draws, at_once):
                yield _Chunk(
                    places[first : first + together],
                    min(at_once, draws - done),
                    (*stream, rows, columns, first, done),
                )


def random_tables(rows: Array, columns: Array, draws: int, rng: np.random.Generator) -> Array:
    """Tables with given margins: by given pair of margins, draw, row and column.

    Parameters
    ----------
    rows, columns : margins, a row for each pair of them; whole numbers.

    Examples
    --------
    >>> drawn = random_tables(np.array([[2, 3]]), np.array([[1, 4]]), 10, np.random.default_rng(0))
    >>> drawn.shape, np.unique(drawn.sum(axis=3)).tolist(), np.unique(drawn.sum(axis=2)).tolist()
    ((1, 10, 2, 2), [2, 3], [1, 4])
    """
    cells = (rows.shape[1] - 1) * (columns.shape[1] - 1)
    if cells > CELLS_A_ROW * rows[0].sum():
        return _shuffled(rows, columns, draws, rng)
    return _filled(rows, columns, draws, rng)


def _filled(rows: Array, columns: Array, draws: int, rng: np.random.Generator) -> Array:
    """Cell after cell."""
    shape = (len(rows), draws)
    found = np.empty((rows.shape[1], columns.shape[1], *shape), dtype=np.int64)
    left_in = [np.broadcast_to(column[:, None], shape).copy() for column in columns.T]
    for row, margin in enumerate(rows.T[:-1]):
        wanted = np.broadcast_to(margin[:, None], shape)
        beyond = np.sum(left_in, axis=0)
        for column in range(columns.shape[1] - 1):
            beyond = beyond - left_in[column]
            taken = rng.hypergeometric(left_in[column], beyond, wanted)
            found[row, column] = taken
            left_in[column] -= taken
            wanted = wanted - taken
        found[row, -1] = wanted
        left_in[-1] -= wanted
    for column, left in enumerate(left_in):
        found[-1, column] = left
    return found.transpose(2, 3, 0, 1)


def _shuffled(rows: Array, columns: Array, draws: int, rng: np.random.Generator) -> Array:
    """Row labels that stay, column labels that are shuffled."""
    height, width = rows.shape[1], columns.shape[1]
    found = np.empty((len(rows), draws, height * width), dtype=np.int64)
    for table, (row, column) in enumerate(zip(rows, columns, strict=True)):
        at, labels = np.repeat(np.arange(height) * width, row), np.repeat(np.arange(width), column)
        for draw in range(draws):
            rng.shuffle(labels)
            found[table, draw] = np.bincount(at + labels, minlength=height * width)
    return found.reshape(len(rows), draws, height, width)
