"""Folds of the rows that follow from their content."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from proxyuse.data.columns import Column
from proxyuse.data.copies import copied_rows
from proxyuse.lang.evaluate import Array
from proxyuse.measure.row_order import cluster_keys, content_keys
from proxyuse.measure.sample import Sample


def folds(sample: Sample, number: int, ranks: Array | None = None) -> Iterator[Array]:
    """Yield a mask of the rows of each fold.

    The folds have equally many rows, or clusters: rows of one cluster are in the same fold, and so
    are copies of a row. The order of the rows does not matter.

    `ranks` is a number for each row that depends on the columns that the program does not read, and
    on the correct answer; see `content_ranks`. Without it, rows that the program does not
    distinguish may exchange their folds if the rows are shuffled.
    """
    population = sample.population
    clusters = population.clusters
    if clusters is None:
        clusters = copied_rows(population)
    if clusters is None:
        keys = content_keys(sample, ranks)
    else:
        keys = cluster_keys(sample, clusters, ranks)
    fold = np.empty(len(keys), np.int64)
    fold[np.argsort(keys, kind="stable")] = np.arange(len(keys)) % number
    if clusters is not None:
        fold = fold[clusters]
    for each in range(number):
        yield fold == each


def content_ranks(columns: Iterable[Column]) -> Array:
    """A number for each row that depends on its values; equal rows have equal numbers.

    Examples
    --------
    >>> from proxyuse.data.columns import as_column
    >>> content_ranks([as_column("x", [2, 1, 2]), as_column("job", ["a", "b", "a"])]).tolist()
    [1, 0, 1]
    """
    codes = [_codes(column) for column in columns]
    return np.unique(np.column_stack(codes), axis=0, return_inverse=True)[1].ravel()


def _codes(column: Column) -> Array:
    """A number for each row; equal values have equal numbers, in the order of the values."""
    values = np.array([str(value) for value in column.decode()])
    return np.unique(values, return_inverse=True)[1]
