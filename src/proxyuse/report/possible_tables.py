"""Other data that a reader of a report must consider possible.

A withheld count must not follow from what is printed: from the table it is in, from the
association of that table, or from the tables of other computations that contain the same people. So
for each withheld count, this module finds other data with another count. It swaps the protected
values of pairs of people. A swap changes nothing else: each person keeps what the model reads, so
all outputs, influences and totals stay the same, and each protected value stays as frequent.

A **move** is a sequence of swaps that raises or lowers one withheld count by one at a time. Each
beginning of it makes **possible data**. With m the smallest count that may be printed, moves are
added until each withheld count has m values in the possible data, the true one among them.
Reports print a figure as the range of its values in all possible data. So each of these values
agrees with everything printed, also for a reader who knows everything but the protected values.

Some possible data contradict a report: a computation that is listed as a witness would have an
association below epsilon. They do not count. If no moves are left to try, the whole table is
withheld.

The values of one count are chosen in blocks of m, counted from the smallest possible one. So the
same block is printed for all counts in it.

If the attribute has many values, the figures of the possible data follow from the cells that change
(`changed_cells`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.report.changed_cells import Block, WideTable, close_lines

ROUNDS = 4
MOST_OPTIONS = 12
MOST_RARE = 8
MOST_NEAREST = 4
TOLERANCE = 1e-12
MOST_CELLS = 1 << 22
WIDE = 128
"""Protected values from which on only the cells that change are measured."""


@dataclass(eq=False)
class CountedTable:
    """The table of one computation, or of the decisions, as the moves need it.

    Attributes
    ----------
    counts, masses : rows of data and their mass, by value and protected value.
    lines, columns : the printed line of each value, and the printed column of each protected value.
    codes : the value of all rows, or of some.
    measure : the association of many tables of masses; None if it is not printed.
    by_cut : whether protected values are guessed from the side of a cut, and not from the value.
    informative : whether the measure is normalized mutual information.
    least, below : the association is at least one and below the other, as the report says.
    """

    counts: Array
    masses: Array
    lines: Array
    columns: Array
    codes: Callable[[Array | None], Array]
    measure: Callable[[Array], Array] | None
    least: float = -np.inf
    below: float = np.inf
    by_cut: bool = False
    informative: bool = False

    @cached_property
    def wide(self) -> WideTable | None:
        """The table as one with many protected values, if it is and can be measured as such."""
        if self.counts.shape[1] < WIDE or not (self.informative or self.measure is None):
            return None
        return WideTable(self.counts, self.masses)

    @cached_property
    def by_value(self) -> Array:
        """The counts by value and printed column."""
        return np.asarray(self.merged_columns(self.counts[None])[0])

    @cached_property
    def printed(self) -> Array:
        """The counts by printed line and column."""
        return np.asarray(self.merged(self.counts[None])[0])

    def merged(self, counts: Array) -> Array:
        """Tables of counts by printed line and column."""
        across = np.eye(int(self.lines.max()) + 1, dtype=counts.dtype)[self.lines]
        return np.asarray(across.T @ self.merged_columns(counts))

    def merged_columns(self, counts: Array) -> Array:
        """Tables of counts by value and printed column."""
        down = np.eye(int(self.columns.max()) + 1, dtype=counts.dtype)[self.columns]
        return np.asarray(counts @ down)

    def measured(self, masses: Array) -> Array:
        """The associations of tables of masses."""
        assert self.measure is not None
        return np.asarray(self.measure(masses))

    @property
    def limited(self) -> bool:
        """Whether the report says on which side of epsilon the association is."""
        return self.measure is not None and (self.least > -np.inf or self.below < np.inf)

    def allowed(self, masses: Array) -> Array:
        """Whether each of many tables has an association that agrees with the report."""
        if not self.limited:
            return np.ones(len(masses), dtype=bool)
        return self.agree(self.measured(masses))

    def agree(self, values: Array) -> Array:
        """Whether associations agree with the report."""
        return np.asarray((values >= self.least - TOLERANCE) & (values < self.below))

    def hidden(self, min_cell: int) -> list[HiddenCell]:
        """The cells that must not be determined."""
        if min(self.counts.shape) < 2:
            return []
        cells = []
        if min(self.printed.shape) > 1:
            cells = [
                HiddenCell(int(line), int(column), False, min_cell)
                for line, column in np.argwhere(self.printed < min_cell)
            ]
        totals = self.counts.sum(axis=1)
        rare = np.flatnonzero(totals < min_cell)
        if 0 < len(rare) <= MOST_RARE:
            for line in rare.tolist():
                possible = min(min_cell, int(totals[line]) + 1)
                for column in range(self.printed.shape[1] if possible > 1 else 0):
                    cells.append(HiddenCell(line, column, True, possible))
        return cells


@dataclass(frozen=True, slots=True)
class HiddenCell:
    """A count that is not printed.

    Attributes
    ----------
    line, column : its printed line and column; for a rare value, the value instead of the line.
    rare : whether it is a count of a value with few rows, which is printed with others.
    needed : how many values it must have in the possible data.
    """

    line: int
    column: int
    rare: bool
    needed: int


@dataclass(eq=False)
class Move:
    """Swaps of protected values, in order; `kept` are the lengths that make possible data."""

    pairs: Array
    kept: list[int]


@dataclass(eq=False)
class Spread:
    """What the possible data say about one table; `withheld` if some count has too few values.

    Attributes
    ----------
    low, high : the range of each printed cell; if withheld, from 0 to the total of its column.
    association : the range of the association.
    guessed : the share of rows that the commonest values of the lines guess right: the smallest,
        the true and the largest one.
    guess_margin : how far that share may change because other people are in each fold.
    """

    low: Array
    high: Array
    association: tuple[float, float] | None = None
    guessed: tuple[float, float, float] = (0.0, 0.0, 0.0)
    guess_margin: float = 0.0
    withheld: bool = False
    fewest: int | None = None


@dataclass(eq=False)
class PossibleData:
    """The possible data for one protected attribute.

    Parameters
    ----------
    tables : everything printed about the attribute.
    labels : the protected value of each row.
    weights : the weight of each row.
    alike : a number per row; people with the same one are swapped first.
    order : the rows in the order in which they are tried.
    """

    tables: Sequence[CountedTable]
    labels: Array
    weights: Array
    alike: Array
    order: Array
    min_cell: int
    moves: list[Move] = field(default_factory=list)
    withheld: set[int] = field(default_factory=set)

    def spreads(self) -> list[Spread]:
        """Find the possible data, and return what they say about each table."""
        self._find()
        return [self._spread(index) for index in range(len(self.tables))]

    def most_swapped(self, groups: Array) -> Array:
        """The largest number of people that leave or enter each group in any possible data."""
        most = np.zeros(int(groups.max()) + 1, dtype=np.intp)
        for move in self.moves:
            if move.kept:
                ends = groups[move.pairs[: max(move.kept)]]
                apart = ends[ends[:, 0] != ends[:, 1]]
                most = np.maximum(most, np.bincount(apart.ravel(), minlength=len(most)))
        return most

    def _find(self) -> None:
        hidden = [table.hidden(self.min_cell) for table in self.tables]
        tried: dict[tuple[int, HiddenCell], int] = {}
        for last in [False] * ROUNDS + [True]:
            settled = True
            for index, (table, cells) in enumerate(zip(self.tables, hidden, strict=True)):
                if not cells or index in self.withheld:
                    continue
                codes = table.codes(None)
                known = self._values(table, cells, self.moves)
                for cell, values in zip(cells, known, strict=True):
                    if len(values) >= cell.needed:
                        continue
                    settled = False
                    start, before = tried.get((index, cell), 0), len(self.moves)
                    number = None if last else self._add(table, cell, codes, start)
                    if number is None:
                        self.withheld.add(index)
                        break
                    tried[index, cell] = number + 1
                    added = self._values(table, cells, self.moves[before:])
                    for all_values, more in zip(known, added, strict=True):
                        all_values |= more
            if settled:
                break
            self._prune()

    # Adding moves

    @cached_property
    def _nearest(self) -> list[CountedTable]:
        """The tables whose associations are closest to what the report says about them."""
        limited = [table for table in self.tables if table.limited]

        def distance(table: CountedTable) -> float:
            value = float(table.measured(table.masses[None])[0])
            return min(abs(value - table.least), abs(table.below - value))

        return sorted(limited, key=distance)[:MOST_NEAREST]

    def _add(self, table: CountedTable, cell: HiddenCell, codes: Array, start: int) -> int | None:
        """Add a move for a cell; the number of the option, or None if there is none."""
        lines = codes if cell.rare else table.lines[codes]
        columns = table.columns[self.labels]
        reach = 3 * cell.needed
        for number, (lower, raise_) in enumerate(self._options(lines, columns, cell, reach)):
            if number < start:
                continue
            shifts, moves = [0], {}
            for sign, pairs in ((-1, lower), (1, raise_)):
                if len(pairs):
                    every = Move(pairs, list(range(1, len(pairs) + 1)))
                    good = np.ones(len(pairs), dtype=bool)
                    for other in {id(one): one for one in (table, *self._nearest)}.values():
                        good &= self._allowed(other, [every])
                    fine = np.flatnonzero(good) + 1
                    shifts += [sign * int(length) for length in fine]
                    moves[sign] = pairs
            shifts.sort()
            if len(shifts) < cell.needed:
                continue
            first = shifts.index(0) // cell.needed * cell.needed
            first = min(first, len(shifts) - cell.needed)
            block = shifts[first : first + cell.needed]
            for sign, pairs in moves.items():
                kept = sorted(abs(shift) for shift in block if shift * sign > 0)
                if kept:
                    self.moves.append(Move(pairs[: max(kept)], kept))
            return number
        return None

    def _options(
        self, lines: Array, columns: Array, cell: HiddenCell, most: int
    ) -> Iterator[tuple[Array, Array]]:
        """Pairs whose swaps lower the count of a cell, and pairs whose swaps raise it."""
        height = max(int(lines.max()), cell.line) + 1  # a line of the table may have no rows
        width = max(int(columns.max()), cell.column) + 1
        counts = np.bincount(lines * width + columns, minlength=height * width)
        counts = counts.reshape(height, width)
        here = int(counts[cell.line, cell.column])
        down, up = counts[:, [cell.column]], counts[[cell.line], :]
        enough = np.minimum(here, counts) + np.minimum(down, up) + 1 >= cell.needed
        enough[cell.line, :] = False
        enough[:, cell.column] = False
        price = np.where(enough, counts + down + up, np.iinfo(np.int64).max)
        order = np.argsort(price, axis=None, kind="stable")[: min(MOST_OPTIONS, enough.sum())]
        rectangles = [divmod(int(index), width) for index in order]
        own_line, own_column = lines == cell.line, columns == cell.column
        for rectangle in [*rectangles, None]:
            if rectangle is None:
                other_line, other_column = ~own_line, ~own_column
            else:
                other_line, other_column = lines == rectangle[0], columns == rectangle[1]
            yield (
                self._pairs(own_line & own_column, other_line & other_column, most),
                self._pairs(own_line & other_column, other_line & own_column, most),
            )

    def _pairs(self, first: Array, second: Array, most: int) -> Array:
        """Up to `most` pairs of people, one of each set; people that are alike come first."""
        one, two = (self.order[mask[self.order]] for mask in (first, second))
        number = min(most, len(one), len(two))
        if not number:
            return np.empty((0, 2), dtype=np.intp)
        pairs: list[tuple[int, int]] = []
        groups = np.intersect1d(self.alike[one], self.alike[two])
        for group in groups[:most].tolist():
            some = (side[self.alike[side] == group][:most].tolist() for side in (one, two))
            pairs += zip(*some, strict=False)
            if len(pairs) >= number:
                break
        used = np.array(pairs[:number], dtype=np.intp).reshape(-1, 2)
        rest = number - len(used)
        if rest:
            left = [side[~np.isin(side, used)][:rest] for side in (one, two)]
            used = np.vstack([used, np.column_stack(left)])
        return used

    # Effects

    def _changes(self, table: CountedTable, moves: Sequence[Move]) -> tuple[Array, Array]:
        """The change of each cell of a table in each possible data of some moves.

        In rows, and in mass.
        """
        pairs = np.vstack([move.pairs for move in moves])
        lengths = np.array([len(move.pairs) for move in moves])
        starts = np.cumsum(lengths) - lengths
        ends = [start + np.array(move.kept) - 1 for start, move in zip(starts, moves, strict=True)]
        before = np.repeat(starts, [len(move.kept) for move in moves]) - 1
        people = pairs.ravel()
        codes = table.codes(people).reshape(-1, 2).astype(np.intp)  # they may be short integers

        def changed(amounts: Array) -> Array:
            width, labels = table.counts.shape[1], self.labels[pairs]
            steps = np.arange(1, len(pairs) + 1)
            change = np.zeros((len(pairs) + 1, table.counts.size), dtype=amounts.dtype)
            for side in (0, 1):
                own, other = (codes[:, side] * width + labels[:, k] for k in (side, 1 - side))
                np.add.at(change, (steps, own), -amounts[:, side])
                np.add.at(change, (steps, other), amounts[:, side])
            np.cumsum(change, axis=0, out=change)
            every = change[np.concatenate(ends) + 1] - change[before + 1]
            return np.asarray(every.reshape(-1, *table.counts.shape))

        rows = changed(np.ones(pairs.shape, dtype=np.int64))
        scale = float(table.masses.sum() / self.weights.sum())
        if self._alike_weights:
            return rows, rows * (scale * float(self.weights[0]))
        return rows, changed(self.weights[pairs] * scale)

    @cached_property
    def _alike_weights(self) -> bool:
        return bool(self.weights.min() == self.weights.max())

    def _data(self, table: CountedTable, moves: Sequence[Move]) -> Iterator[tuple[Array, Array]]:
        """The counts and the masses of a table in each possible data, some moves at a time."""
        some: list[Move] = []
        size = 0
        for move in [*moves, None]:
            if move is not None and (not some or size * table.counts.size < MOST_CELLS):
                some.append(move)
                size += len(move.pairs)
                continue
            if some:
                rows, mass = self._changes(table, some)
                masses = table.masses + mass
                least = 1e-9 * table.masses.sum() / len(self.labels)
                yield table.counts + rows, np.where(masses > least, masses, 0.0)
            if move is not None:
                some, size = [move], len(move.pairs)

    def _block(self, table: CountedTable, move: Move) -> Block:
        """The cells of a table with many protected values that a move changes."""
        people = move.pairs
        codes = table.codes(people.ravel()).reshape(-1, 2)
        scale = float(table.masses.sum() / self.weights.sum())
        return Block.of(
            (table.counts, table.masses), codes, self.labels[people], self.weights[people] * scale,
            np.array(move.kept),
        )  # fmt: skip

    def _allowed(self, table: CountedTable, moves: Sequence[Move]) -> Array:
        """Whether each possible data agrees with what the report says about a table."""
        if table.wide is None or not table.limited:
            parts = [table.allowed(masses) for _, masses in self._data(table, moves)]
            return np.concatenate(parts)
        answers = []
        for move in moves:
            values, error = table.wide.associations(self._block(table, move))
            allowed = table.agree(values)
            close = np.minimum(np.abs(values - table.least), np.abs(values - table.below)) <= error
            for index in np.flatnonzero(close).tolist():
                alone = Move(move.pairs, [move.kept[index]])
                allowed[index] = self._allowed_whole(table, alone)
            answers.append(allowed)
        return np.concatenate(answers)

    def _allowed_whole(self, table: CountedTable, move: Move) -> bool:
        return all(table.allowed(masses).all() for _, masses in self._data(table, [move]))

    def _values(
        self, table: CountedTable, cells: Sequence[HiddenCell], moves: Sequence[Move]
    ) -> list[set[int]]:
        """The values of each count in the data and in the possible data of some moves."""
        known: list[set[int]] = [set() for _ in cells]
        if table.wide is not None:
            for cell, values in zip(cells, known, strict=True):
                whole = table.by_value if cell.rare else table.printed
                values.add(int(whole[cell.line, cell.column]))
            for move in moves:
                block = self._block(table, move)
                change = block.counts - table.counts[np.ix_(block.rows, block.columns)]
                of_row, of_column = table.lines[block.rows], table.columns[block.columns]
                for cell, values in zip(cells, known, strict=True):
                    rows = (block.rows if cell.rare else of_row) == cell.line
                    own = change[:, rows][:, :, of_column == cell.column].sum(axis=(1, 2))
                    whole = table.by_value if cell.rare else table.printed
                    values.update((whole[cell.line, cell.column] + own).tolist())
            return known
        parts = [table.counts[None], *(counts for counts, _ in self._data(table, moves))]
        for counts in parts:
            printed, of_values = table.merged(counts), table.merged_columns(counts)
            for cell, values in zip(cells, known, strict=True):
                tables = of_values if cell.rare else printed
                values.update(np.unique(tables[:, cell.line, cell.column]).tolist())
        return known

    def _prune(self) -> None:
        """Drop possible data that contradict what the report says about any table."""
        for index, table in enumerate(self.tables):
            if index in self.withheld or not table.limited or not self.moves:
                continue
            fine = iter(self._allowed(table, self.moves).tolist())
            for move in self.moves:
                move.kept = [length for length in move.kept if next(fine)]
            self.moves = [move for move in self.moves if move.kept]

    def _followed(
        self, table: CountedTable, wide: WideTable, spread: Spread, guessed: list[Array], close: int
    ) -> tuple[int, list[Array]]:
        """Add the possible data of a table with many protected values to a spread.

        Returns the largest number of close rows, and the extreme associations, by whole tables.
        """
        across = np.eye(len(table.printed), dtype=np.int64)
        down = np.eye(table.printed.shape[1], dtype=np.int64)
        extremes: dict[bool, tuple[float, Move]] = {}
        for move in self.moves:
            block = self._block(table, move)
            change = block.counts - table.counts[np.ix_(block.rows, block.columns)]
            lines = across[table.lines[block.rows]].T
            printed = table.printed + lines @ change @ down[table.columns[block.columns]]
            spread.low, spread.high = _extended(spread.low, spread.high, printed)
            guessed.append(wide.guessed(block))
            close = max(close, wide.close_rows(block))
            if table.measure is not None:
                values, _ = wide.associations(block)
                for largest in (False, True):
                    at = int(values.argmax() if largest else values.argmin())
                    value = float(values[at])
                    known = extremes.get(largest)
                    if known is None or (value > known[0] if largest else value < known[0]):
                        extremes[largest] = value, Move(move.pairs, [move.kept[at]])
        moves = [move for _, move in extremes.values()]
        data = self._data(table, moves) if moves else ()
        return close, [table.measured(masses) for _, masses in data]

    def _spread(self, index: int) -> Spread:
        table = self.tables[index]
        low, high = table.printed.copy(), table.printed.copy()
        spread = Spread(low, high, withheld=index in self.withheld)
        own = table.masses[None]
        associations = [] if table.measure is None else [table.measured(own)]
        guessed, close = [_guessed(own)], _close_rows(table.counts[None])
        if table.wide is not None:
            close, more = self._followed(table, table.wide, spread, guessed, close)
            low, high = spread.low, spread.high
            associations += more
        for counts, masses in self._data(table, self.moves) if table.wide is None else ():
            printed = table.merged(counts)
            low, high = np.minimum(low, printed.min(axis=0)), np.maximum(high, printed.max(axis=0))
            guessed.append(_guessed(masses))
            close = max(close, _close_rows(counts))
            if table.measure is not None:
                associations.append(table.measured(masses))
        spread.low, spread.high = low, high
        if spread.withheld:  # only the totals are known, and no swap changes them
            spread.low = np.zeros_like(low)
            spread.high = np.broadcast_to(table.printed.sum(axis=0), low.shape).copy()
        if associations:
            every = np.concatenate(associations)
            spread.association = float(every.min()), float(every.max())
        shares = np.concatenate(guessed)
        spread.guessed = float(shares.min()), float(shares[0]), float(shares.max())
        rows = len(self.labels)
        spread.guess_margin = math.sqrt(rows if table.by_cut else close) / rows
        cells = table.hidden(self.min_cell)
        if cells and not spread.withheld:
            printed_cells = [cell for cell in cells if not cell.rare]
            known = self._values(table, printed_cells, self.moves)
            spread.fewest = min(map(len, known), default=None)
        return spread


def _extended(low: Array, high: Array, values: Array) -> tuple[Array, Array]:
    return np.minimum(low, values.min(axis=0)), np.maximum(high, values.max(axis=0))


def _close_rows(counts: Array) -> int:
    """The rows with values whose guess may depend on the folds, in the worst of many tables.

    A guess is the commonest protected value in the other folds. If two values are nearly as common,
    it changes with the people in each fold, which a swap reassigns. Both the lead that can turn
    over and its effect on all guesses are a few standard deviations: the root of these rows.
    """
    totals = counts.sum(axis=2)
    close = close_lines(np.sort(counts, axis=2), totals)
    return int((totals * close).sum(axis=1).max())


def _guessed(masses: Array) -> Array:
    return np.asarray(masses.max(axis=2).sum(axis=1) / masses.sum(axis=(1, 2)))
