"""Which counts of a table may be printed.

A table counts rows of data, by value of a computation (its rows) and by value of a protected
attribute (its columns). Small counts describe single people. They are not printed, and neither is
anything that reveals them. With ``m`` the smallest count that may be printed:

1. **Lines.** Values with fewer than m rows are merged into one line, "other values". If they still
   have fewer than m rows together, the next smallest value joins them. A long table keeps its
   `MOST_LINES` most frequent values and merges the others. No rare value is named.
2. **Small cells.** A count below m is printed as ``<m``. Zero is one of them: a printed 0 would
   reveal that nobody is there, and ``<m`` would mean "at least one".
3. **Cells that would reveal them.** Each small cell becomes a corner of a rectangle of four hidden
   cells. The two corners next to it are m or more; the opposite corner is m or more, or equal to
   the small cell. Of several rectangles, the one that hides the smallest counts is taken.
4. If no rectangle exists, the small cell is withheld without the promise ``<m``, and the opposite
   corner may be any cell withheld in this way. If that fails too, all cells are withheld.

Totals are always printed; all of them are m or more.

A withheld cell is printed as the **range** that the printed totals and cells imply, such as
``1,242 to 1,250``, or as ``withheld`` if that range is too wide to be useful. The range is computed
from what is printed, so a reader learns nothing new.

**Invariant.** A reader who knows all totals, all printed cells, and that ``<m`` is one of
0, ..., m - 1, is left with at least m possible values for each hidden cell. For ``<m`` these are
all of 0, ..., m - 1. *Why:* adding d to a corner and its opposite and subtracting d from the other
two keeps all totals. With v the small count, the corners next to it can lose up to m - 1 - v, the
opposite corner can lose v and gain m - 1 - v. If all cells are withheld, a cell can have any value
that its totals allow. Those are more than m values, since each line and the other lines together
hold m or more.

The invariant covers one table on its own. In an audit, the counts could also follow from
associations, rates, and the tables of other computations. There, `release` gives the ranges, which
hold for all of them together; the rules above are for tables that stand alone, such as the changes
of a repair. This module knows nothing about audits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.report.result import Cell, Commonest, Table

MOST_LINES = 20
WITHHELD = "withheld"
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25)
_SHOWN, _SMALL, _WITHHELD = range(3)


def check_min_cell(min_cell: object) -> None:
    """Raise an error unless this is an integer of at least 1."""
    whole = isinstance(min_cell, int | np.integer) and not isinstance(min_cell, bool)
    if not whole or min_cell < 1:  # type: ignore[operator]
        raise DataError(
            f"min_cell: expected an integer of at least 1, got {min_cell!r} (1 prints all counts)"
        )


def joined_lines(totals: Sequence[int], min_cell: int, most: int = MOST_LINES) -> list[list[int]]:
    """The lines of a printed table, each a list of original lines; merged lines come last.

    Examples
    --------
    >>> joined_lines([40, 2, 7, 1], min_cell=5), joined_lines([40, 20, 7, 6], min_cell=1, most=2)
    ([[0], [1, 2, 3]], [[0], [1], [2, 3]])
    >>> joined_lines([40, 9, 9], min_cell=5)
    [[0], [1], [2]]
    """
    order = sorted(range(len(totals)), key=lambda line: (-totals[line], line))
    kept = [line for line in order if totals[line] >= min_cell]
    kept = kept if len(kept) <= most + 1 else kept[:most]  # one more is as short as "other"
    rest = set(order) - set(kept)
    while rest and kept and sum(totals[line] for line in rest) < min_cell:
        rest.add(kept.pop())
    return [[line] for line in sorted(kept)] + ([sorted(rest)] if rest else [])


def joined_labels(labels: Sequence[str], lines: Sequence[Sequence[int]]) -> list[str]:
    """The labels of merged lines.

    Examples
    --------
    >>> joined_labels(["'a'", "'b'", "'c'"], [[1], [0, 2]]), joined_labels(["'a'"], [[0]])
    (["'b'", '2 other values together'], ["'a'"])
    """
    other = "other " if len(lines) > 1 else ""
    return [
        labels[line[0]] if len(line) == 1 else f"{len(line):,} {other}values together"
        for line in lines
    ]


def printed_cells(counts: Array, min_cell: int) -> list[list[Cell]]:
    """The printed cells of a table of counts whose totals are known to the reader.

    All totals have to be `min_cell` or more; see `joined_lines`.

    Examples
    --------
    >>> printed_cells(np.array([[3, 90], [60, 70], [80, 50]]), min_cell=5)
    [['<5', '89 to 93'], ['59 to 63', '67 to 71'], [80, 50]]
    >>> printed_cells(np.array([[9, 90], [60, 70]]), min_cell=5)
    [[9, 90], [60, 70]]
    """
    marks = _marks(counts, min_cell)
    return _texts(marks, *_ranges(counts, marks, min_cell), min_cell)


def _texts(marks: Array, low: Array, high: Array, min_cell: int) -> list[list[Cell]]:
    def text(mark: int, least: int, most: int) -> Cell:
        if mark == _SMALL and most < min_cell:
            return f"<{min_cell}"
        return range_cell(least, most, min_cell)

    return [
        [text(*cell) for cell in zip(*line, strict=True)]
        for line in zip(marks.tolist(), low.tolist(), high.tolist(), strict=True)
    ]


def implied_ranges(counts: Array, min_cell: int) -> tuple[Array, Array]:
    """The least and the largest value of each cell that a printed table implies.

    The columns are groups of `min_cell` rows or more, whose totals are known. A line with fewer
    rows is known to have fewer, and no more.

    Examples
    --------
    >>> low, high = implied_ranges(np.array([[3, 90], [60, 70], [80, 50]]), min_cell=5)
    >>> low.tolist(), high.tolist()
    ([[0, 89], [59, 67], [80, 50]], [[4, 93], [63, 71], [80, 50]])
    >>> low, high = implied_ranges(np.array([[2, 0], [60, 70]]), min_cell=5)
    >>> low.tolist(), high.tolist()
    ([[0, 0], [58, 66]], [[4, 4], [62, 70]])
    """
    totals = counts.sum(axis=0)
    small = counts.sum(axis=1) < min_cell
    if min_cell <= 1:
        return counts, counts
    if not small.any():
        marks = _marks(counts, min_cell)
        return _ranges(counts, marks, min_cell)
    low, high = np.zeros_like(counts), np.broadcast_to(totals, counts.shape).copy()
    high[small] = np.minimum(min_cell - 1, totals)
    if np.count_nonzero(~small) == 1:
        low[~small] = np.maximum(0, totals - np.count_nonzero(small) * (min_cell - 1))
    return low, high


def range_cell(least: int, most: int, min_cell: int) -> Cell:
    """A count that is known to lie in a range.

    Examples
    --------
    >>> range_cell(7, 7, 5), range_cell(0, 4, 5), range_cell(90, 94, 5), range_cell(2, 90, 5)
    (7, '<5', '90 to 94', 'withheld')
    """
    if least == most:
        return least
    if least == 0 and most < min_cell:
        return f"<{min_cell}"
    return f"{least:,} to {most:,}" if 2 * least >= most else WITHHELD


def share_step(rows: float, min_cell: int) -> float | None:
    """The step to which shares of some rows are rounded: no finer than `min_cell` of them.

    0 if all counts may be printed, None if the share is withheld.

    Examples
    --------
    >>> share_step(4000, 5), share_step(40, 5), share_step(12, 5), share_step(12, 1)
    (0.002, 0.2, None, 0.0)
    """
    if min_cell == 1:
        return 0.0
    return next((step for step in STEPS if step >= min_cell / rows), None)


def number_step(span: float, rows: float, min_cell: int) -> float:
    """The step to which the mean of some rows is rounded, for outputs that differ by up to `span`.

    If fewer than `min_cell` rows have another output, the mean moves by less than a step. 0 if all
    counts may be printed.

    Examples
    --------
    >>> number_step(4900, 10_000, 5), number_step(1, 400, 5), number_step(1, 400, 1)
    (5.0, 0.02, 0.0)
    """
    if min_cell == 1 or not span > 0:
        return 0.0
    least = span * min_cell / rows
    power = 10.0 ** math.floor(math.log10(least))
    return next(float(f"{power * digit:.6g}") for digit in (1, 2, 5, 10) if power * digit >= least)


def next_step(step: float) -> float:
    """The next larger one of the steps 1, 2, 5, 10, 20, ...

    Examples
    --------
    >>> next_step(0.02), next_step(0.05), next_step(1.0)
    (0.05, 0.1, 2.0)
    """
    power = 10.0 ** math.floor(math.log10(step * 1.01))
    return float(f"{next(power * n for n in (2, 5, 10) if power * n > step * 1.01):.6g}")


def least_count(cell: Cell) -> int:
    """The smallest number of rows that a printed cell allows.

    Examples
    --------
    >>> [least_count(cell) for cell in (7, "1,242 to 1,250", "<5", WITHHELD)]
    [7, 1242, 0, 0]
    """
    if isinstance(cell, int):
        return cell
    low, _, high = cell.partition(" to ")
    return int(low.replace(",", "")) if high else 0


def _ranges(counts: Array, marks: Array, min_cell: int) -> tuple[Array, Array]:
    """The least and largest value of each cell that the printed totals and cells allow.

    Hidden counts are used only through totals. Each step narrows a cell by the total of its line
    and the ranges of the other cells, so stopping early leaves a range that is true but wider.
    """
    totals = [counts.sum(axis=axis, keepdims=True) for axis in (0, 1)]
    low = np.where(marks == _SHOWN, counts, 0)
    most = np.where(marks == _SMALL, min_cell - 1, np.minimum(*totals))
    high = np.where(marks == _SHOWN, counts, most)
    for _ in range(sum(counts.shape)):
        before = low, high
        for axis, total in enumerate(totals):
            others_low = low.sum(axis=axis, keepdims=True) - low
            others_high = high.sum(axis=axis, keepdims=True) - high
            low = np.maximum(low, total - others_high)
            high = np.minimum(high, total - others_low)
        if np.array_equal(before, (low, high)):
            break
    return low, high


def _marks(counts: Array, min_cell: int) -> Array:
    marks = np.full(counts.shape, _SHOWN)
    if min_cell <= 1 or min(counts.shape) < 2:  # in one line each cell is a total
        return marks
    large = counts >= min_cell
    small = [(int(row), int(column)) for row, column in np.argwhere(~large)]
    marks[~large] = _SMALL
    without: list[tuple[int, int]] = []
    for cell in small:
        alike = large | (counts == counts[cell])
        if not _hide_rectangle(marks, counts, large, alike, cell):
            without.append(cell)
    for cell in without:
        marks[cell] = _WITHHELD
    for cell in without:
        if not _hide_rectangle(marks, counts, large, large | (marks == _WITHHELD), cell):
            marks[:] = _WITHHELD
    return marks


def _hide_rectangle(
    marks: Array, counts: Array, large: Array, opposite: Array, cell: tuple[int, int]
) -> bool:
    """Hide the other corners of the cheapest rectangle around a cell; False if there is none.

    The corners next to the cell are `large`; the opposite corner is one of `opposite`.
    """
    row, column = cell
    fits = opposite & large[row][None, :] & large[:, column][:, None]
    fits[row, :] = False
    fits[:, column] = False
    if not fits.any():
        return False
    price = np.where(marks == _SHOWN, counts, 0)
    prices = np.where(fits, price + price[row][None, :] + price[:, column][:, None], np.inf)
    across, down = np.unravel_index(int(prices.argmin()), prices.shape)
    for corner in ((row, down), (across, column), (across, down)):
        if marks[corner] == _SHOWN:
            marks[corner] = _WITHHELD
    return True


def index_of(lines: Sequence[Sequence[int]], size: int) -> Array:
    """The line of each of the original lines that were merged.

    Examples
    --------
    >>> index_of([[1], [0, 2]], 3).tolist()
    [1, 0, 1]
    """
    index = np.empty(size, dtype=np.intp)
    for number, line in enumerate(lines):
        index[list(line)] = number
    return index


def printed_table(
    counts: Array,
    rows: Sequence[str],
    columns: Sequence[str],
    min_cell: int,
    possible: tuple[Array, Array] | None = None,
) -> Table:
    """A table of counts fit to print, with its totals and the most frequent column of each row.

    `possible` has the least and the largest value of each merged cell that a reader must consider
    possible, if that is known from all tables together; see `possible_tables`.

    Examples
    --------
    >>> printed_table(np.array([[3, 90], [60, 70]]), ["false", "true"], ["'a'", "'b'"], 5).cells
    (('<5', '89 to 93'), ('59 to 63', '67 to 71'))
    """
    check_min_cell(min_cell)
    across = joined_lines(counts.sum(axis=1).tolist(), min_cell)
    down = joined_lines(counts.sum(axis=0).tolist(), min_cell)
    lines = np.array([counts[line].sum(axis=0) for line in across], dtype=np.int64)
    joined = np.array([lines[:, line].sum(axis=1) for line in down], dtype=np.int64).T
    marks = _marks(joined, min_cell)
    low, high = _ranges(joined, marks, min_cell)
    if possible is not None:
        low, high = possible
        marks = np.where(low == high, _SHOWN, np.where(joined < min_cell, _SMALL, _WITHHELD))
    labels = joined_labels(columns, down)
    totals = joined.sum(axis=1).tolist()
    return Table(
        tuple(joined_labels(rows, across)),
        tuple(labels),
        tuple(map(tuple, _texts(marks, low, high, min_cell))),
        tuple(totals),
        tuple(joined.sum(axis=0).tolist()),
        tuple(
            _commonest(least, most, labels, total)
            for least, most, total in zip(low.tolist(), high.tolist(), totals, strict=True)
        ),
    )


def _commonest(
    least: Sequence[int], most: Sequence[int], labels: Sequence[str], total: int
) -> Commonest | None:
    """The column with the most rows of a line, and their share; None if ranges leave it open."""
    for index, low in enumerate(least):
        if all(low >= high for other, high in enumerate(most) if other != index) and total:
            return Commonest(labels[index], round(low / total, 4), round(most[index] / total, 4))
    return None
