"""Which counts of a table may be printed.

A table counts rows of data: by value of a computation (lines across) and of a protected attribute
(lines down). Small counts speak of single people, so they are not printed, nor anything they
could be computed from. With ``m`` the smallest count that may be printed:

1. **Lines.** Values that fewer than m rows have are put together as "other values", with the next
   smallest value if they are still fewer than m together; so are all but the `MOST_LINES` most
   frequent values of a long table. No value that hardly anyone has is named.
2. **Small cells.** A count below m is printed as ``<m``. Zero is such a count: a printed 0 would
   say that nobody is there, and would make ``<m`` mean "at least one".
3. **Cells that would give them away.** For each small cell a rectangle of four hidden cells is
   made, of which it is one corner: the two corners next to it are m or more, the opposite one is
   m or more, or just as small. Cells that have to be hidden for it are printed as ``withheld``;
   of several rectangles the one that hides least is taken.
4. Where there is no such rectangle, the small cell is printed as ``withheld`` too, which promises
   less, and its opposite corner may be any cell printed so. Where there is none even then, all
   cells of the table are withheld.

Totals are always printed; all are m or more.

**Invariant.** Whoever knows all totals, all printed cells, and that ``<m`` is one of 0, ..., m - 1,
is left with at least m possible values for each hidden cell; for one printed ``<m`` these are
all of 0, ..., m - 1. *Why:* adding d to a corner and its opposite and taking d from the other two
leaves all totals as they are. With v the small count, the corners next to it can spare up to
m - 1 - v, the opposite one can spare v and has room for m - 1 - v. Where all cells are withheld, a
cell can be anything its totals allow, which is more than m values since each line and the others
together hold m or more.

The rule speaks of one table. It does not stop anyone from comparing the tables of two computations
that differ for a few rows, nor from solving for a count with the measures, which are taken from
all rows; on a few hundred rows either may succeed. This module knows nothing of audits.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.report.result import Cell, Commonest, Table

MOST_LINES = 20
WITHHELD = "withheld"
_SHOWN, _SMALL, _WITHHELD = range(3)


def check_min_cell(min_cell: object) -> None:
    """Refuse what is not a whole number of 1 or more."""
    whole = isinstance(min_cell, int | np.integer) and not isinstance(min_cell, bool)
    if not whole or min_cell < 1:  # type: ignore[operator]
        raise DataError(
            f"min_cell is {min_cell!r}; pass a whole number of 1 or more (1 prints all counts)"
        )


def joined_lines(totals: Sequence[int], min_cell: int, most: int = MOST_LINES) -> list[list[int]]:
    """Which lines of a table are printed together; those put together come last.

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
    """What to call lines that were put together.

    Examples
    --------
    >>> joined_labels(["'a'", "'b'", "'c'"], [[1], [0, 2]]), joined_labels(["'a'"], [[0]])
    (["'b'", '2 other values taken together'], ["'a'"])
    """
    other = "other " if len(lines) > 1 else ""
    return [
        labels[line[0]] if len(line) == 1 else f"{len(line)} {other}values taken together"
        for line in lines
    ]


def printed_cells(counts: Array, min_cell: int) -> list[list[Cell]]:
    """What is printed of a table of counts whose totals are known to the reader.

    All totals have to be `min_cell` or more; see `joined_lines`.

    Examples
    --------
    >>> printed_cells(np.array([[3, 90], [60, 70], [80, 50]]), min_cell=5)
    [['<5', 'withheld'], ['withheld', 'withheld'], [80, 50]]
    >>> printed_cells(np.array([[9, 90], [60, 70]]), min_cell=5)
    [[9, 90], [60, 70]]
    """
    marks = _marks(counts, min_cell)
    texts = {_SMALL: f"<{min_cell}", _WITHHELD: WITHHELD}
    return [
        [texts.get(mark, count) for count, mark in zip(row, line, strict=True)]
        for row, line in zip(counts.tolist(), marks.tolist(), strict=True)
    ]


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
    """Hide the other corners of the cheapest rectangle with a cell; False if there is none.

    The corners next to the cell are `large`, the opposite one is one of `opposite`.
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


def printed_table(
    counts: Array, rows: Sequence[str], columns: Sequence[str], min_cell: int
) -> Table:
    """A table of counts as it may be printed, with its totals and the commonest column per row.

    Examples
    --------
    >>> printed_table(np.array([[3, 90], [60, 70]]), ["false", "true"], ["'a'", "'b'"], 5).cells
    (('<5', 'withheld'), ('withheld', 'withheld'))
    """
    check_min_cell(min_cell)
    across = joined_lines(counts.sum(axis=1).tolist(), min_cell)
    down = joined_lines(counts.sum(axis=0).tolist(), min_cell)
    lines = np.array([counts[line].sum(axis=0) for line in across], dtype=np.int64)
    joined = np.array([lines[:, line].sum(axis=1) for line in down], dtype=np.int64).T
    cells = printed_cells(joined, min_cell)
    labels = joined_labels(columns, down)
    totals = joined.sum(axis=1).tolist()
    return Table(
        tuple(joined_labels(rows, across)),
        tuple(labels),
        tuple(map(tuple, cells)),
        tuple(totals),
        tuple(joined.sum(axis=0).tolist()),
        tuple(
            _commonest(line, labels, total, min_cell)
            for line, total in zip(cells, totals, strict=True)
        ),
    )


def _commonest(
    cells: Sequence[Cell], labels: Sequence[str], total: int, min_cell: int
) -> Commonest | None:
    """The column that holds most rows of a line, and their share, from the printed cells alone."""
    hidden = total - sum(cell for cell in cells if isinstance(cell, int))
    most = [
        cell if isinstance(cell, int) else hidden if cell == WITHHELD else min(hidden, min_cell - 1)
        for cell in cells
    ]
    least = [
        cell if isinstance(cell, int) else max(0, total - (sum(most) - top))
        for cell, top in zip(cells, most, strict=True)
    ]
    for index, low in enumerate(least):
        if all(low >= top for other, top in enumerate(most) if other != index) and total:
            return Commonest(labels[index], round(low / total, 4), round(most[index] / total, 4))
    return None
