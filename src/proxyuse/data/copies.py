"""Copied rows: rows that are equal because one was copied, not by coincidence.

Tables often hold the same person several times: from a join, from oversampling, or from panel data.
Copies add no information, so a set of copies counts as one observation.

Rows are only compared if they are equal in every variable of the program and in every protected
attribute. In discrete data such rows are common, and independent. Four facts tell copies apart:

*The whole table was repeated.* If there are at least 9 distinct rows and the multiplicity of each
is a multiple of g > 1, then every row was repeated g times. By chance, this happens with a
probability of about ``2^-9`` at most, and it only makes the bounds wider.

*A column with many values.* Suppose almost any two rows differ in some column. Rows that agree in
everything else then agree in this column only seldom, unless they are copies. The two are copies if
most such pairs agree.

*The protected attribute.* Rows that agree in all variables differ in the protected attribute now
and then, unless the variables determine it. Copies never do. Without this fact nothing counts as
a copy, because discrete data explain it. If the protected attribute is noise, this alone excludes
that coincidences count as copies.

*An attribute that only copying explains.* Suppose rows that agree in all variables agree in the
protected attribute too, much more often than any two rows do. Then the variables determine it, or
the rows are copies. If the variables determine it, some column is related to it among the distinct
rows as well. If none is, and independent columns would hardly ever give so many equal rows, the
rows are copies. This recognizes people with whole numbers who appear several times.

Copies of rows with few distinct values cannot be told from coincidences, nor can copies of whole
numbers if a column is related to the attribute. Name the clusters for
such data (option `clusters`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from proxyuse.data.columns import Column, Kind
from proxyuse.data.population import Population

Array = npt.NDArray[Any]


LEAST_DISTINCT = 9
"""Fewer distinct rows can have a common divisor of their multiplicities by chance."""
LEAST_VALUES = 5
"""A column with fewer values does not have many values, whatever the rows."""
MANY_CATEGORIES = 20
"""A column of categories has many values only if it has this many."""
MOST_COLLISIONS = 1 / 20
"""A column has many values if at most this share of pairs of distinct rows agree in it."""
AGREEING = 0.9
"""Copies agree in the protected attributes in at least this share of pairs."""
MORE_THAN_INDEPENDENT = 10
"""Independent columns explain up to this many times the equal rows that they lead to expect."""
BY_CHANCE = 0.01
"""A column is related to an attribute if chance does this to any column with this probability."""


def copied_rows(population: Population) -> Array | None:
    """Return the number of each row's set of copies, from 0; None if no row is a copy.

    Sorts the rows by a hash, and once more per column if some rows are equal.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> once = {"x": rng.normal(size=30), "y": rng.normal(size=30), "z": rng.integers(0, 2, 30)}
    >>> copied_rows(Population.build(once, protected="z")) is None
    True
    >>> twice = {name: np.concatenate([values, values[:3]]) for name, values in once.items()}
    >>> clusters = copied_rows(Population.build(twice, protected="z"))
    >>> int(clusters.max()) + 1, bool(clusters[0] == clusters[30])
    (30, True)
    """
    inputs = [_codes(column) for column in population.columns.values()]
    protected = [_codes(z.column) for z in population.protected]
    hashes = [_hashed(codes, number) for number, codes in enumerate([*inputs, *protected])]
    whole = _sum(hashes, population.n_rows)
    _, first, sets, multiplicities = np.unique(
        whole, return_index=True, return_inverse=True, return_counts=True
    )
    if len(first) == len(whole):
        return None
    divisor = int(np.gcd.reduce(multiplicities))
    if len(first) >= LEAST_DISTINCT and divisor > 1:
        return _split(sets, divisor)
    if multiplicities.max() == 1 or not inputs:
        return None
    of_inputs = _sum(hashes[: len(inputs)], len(whole))
    if _pairs(multiplicities) < AGREEING * _pairs(np.unique(of_inputs, return_counts=True)[1]):
        return None
    varied = [
        index
        for index, column in enumerate(population.columns.values())
        if _has_many_values(column, inputs[index][first], first)
    ]
    for index in varied:
        others = np.unique(whole - hashes[index], return_counts=True)[1]
        if 2 * _pairs(multiplicities) >= _pairs(others):
            return sets
    repeated = np.count_nonzero(multiplicities > 1)
    if varied and 2 * repeated >= len(first):
        return sets
    if _pairs(multiplicities) < MORE_THAN_INDEPENDENT * _independent_pairs(inputs, first):
        return None
    columns = list(population.columns.values())
    unexplained = any(
        _agrees(codes, of_inputs) and not _related(columns, inputs, codes, first)
        for codes in protected
    )
    return sets if unexplained else None


def _codes(column: Column) -> Array:
    """The values as bit patterns, so that missing values are equal."""
    if column.kind is Kind.CATEGORY:
        return column.values.astype(np.uint64)
    values = column.values.astype(np.float64) + 0.0  # no -0
    values[np.isnan(values)] = np.nan
    return values.view(np.uint64)


def _hashed(codes: Array, number: int) -> Array:
    """Scramble codes (SplitMix64), differently for each column."""
    state = codes + np.uint64(((number + 1) * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF)
    state = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    state = (state ^ (state >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    scrambled: Array = state ^ (state >> np.uint64(31))
    return scrambled


def _sum(hashes: list[Array], rows: int) -> Array:
    total = np.zeros(rows, dtype=np.uint64)
    for hashed in hashes:
        total += hashed
    return total


def _pairs(multiplicities: Array) -> int:
    """The number of pairs of rows in sets of these sizes."""
    counts = multiplicities.astype(np.int64)
    return int((counts * (counts - 1) // 2).sum())


def _split(sets: Array, size: int) -> Array:
    """Divide each set into clusters of an equal size."""
    order = np.argsort(sets, kind="stable")
    clusters = np.empty(len(sets), dtype=np.intp)
    clusters[order] = np.arange(len(sets)) // size
    return clusters


def _has_many_values(column: Column, codes: Array, first: Array) -> bool:
    """Whether two distinct rows seldom agree in a column, and it is not a grid that they fill.

    `first` is one row of each set of equal rows, and `codes` are their values.
    """
    if column.values.dtype == np.bool_:
        return False
    counts = np.unique(codes, return_counts=True)[1]
    if len(counts) < LEAST_VALUES:
        return False
    if _pairs(counts) > MOST_COLLISIONS * len(first) * (len(first) - 1) / 2:
        return False
    if column.kind is Kind.CATEGORY:
        return len(counts) >= MANY_CATEGORIES
    values = np.unique(column.values[first])
    values = values[np.isfinite(values)]
    if len(values) < LEAST_VALUES:
        return False
    steps = np.diff(values) / np.diff(values).min()
    on_grid = bool(np.all(np.abs(steps - np.rint(steps)) < 1e-3 * np.maximum(1, steps)))
    return not on_grid or float(steps.sum()) > 2 * len(first)


def _independent_pairs(inputs: list[Array], first: Array) -> float:
    """How many pairs of rows would be equal if the columns were independent.

    Of columns that are renamings of each other among the distinct rows, `first`, one counts.
    """
    seen: set[bytes] = set()
    rows = len(inputs[0])
    expected = rows * (rows - 1) / 2
    for codes in inputs:
        counts = np.unique(codes, return_counts=True)[1]
        _, index, values = np.unique(codes[first], return_index=True, return_inverse=True)
        renamed = np.argsort(np.argsort(index))[values].tobytes()
        if renamed not in seen:
            seen.add(renamed)
            expected *= _pairs(counts) / (rows * (rows - 1) / 2)
    return expected


def _agrees(codes: Array, of_inputs: Array) -> bool:
    """Whether rows with equal inputs agree in an attribute, more often than chance explains."""
    rows = len(codes)
    by_chance = _pairs(np.unique(codes, return_counts=True)[1]) / (rows * (rows - 1) / 2)
    sizes = np.unique(of_inputs, return_counts=True)[1]
    both = np.unique(_hashed(codes, 0) + of_inputs, return_counts=True)[1]
    differing = 1 - _pairs(both) / _pairs(sizes)
    if by_chance == 1 or differing > (1 - AGREEING) * (1 - by_chance):
        return False
    chance = (rows - len(sizes)) * np.log(max(by_chance, 1e-300))
    return bool(chance < np.log(BY_CHANCE / 10))


def _related(columns: list[Column], inputs: list[Array], attribute: Array, first: Array) -> bool:
    """Whether some column is related to an attribute among the distinct rows, beyond chance."""
    from scipy.stats import chi2_contingency, kruskal

    groups = np.unique(attribute[first], return_inverse=True)[1]
    level = BY_CHANCE / (2 * len(columns))
    for column, codes in zip(columns, inputs, strict=True):
        values = np.unique(codes[first], return_inverse=True)[1]
        table = np.zeros((values.max() + 1, groups.max() + 1))
        np.add.at(table, (values, groups), 1)
        if min(table.shape) < 2:
            continue
        few = len(table) ** 2 <= len(first)
        if (few or column.kind is Kind.CATEGORY) and chi2_contingency(table).pvalue < level:
            return True
        if column.kind is not Kind.CATEGORY:
            numbers = np.nan_to_num(column.values[first].astype(np.float64), nan=-np.inf)
            parts = [numbers[groups == group] for group in range(table.shape[1])]
            if kruskal(*parts).pvalue < level:
                return True
    return False
