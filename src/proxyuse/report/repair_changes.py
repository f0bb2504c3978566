"""Who gains and who loses by a repair: changed predictions by group and direction.

Gains and losses add up to the changed rows. What is printed about a group comes from two tables,
each with the protection of `disclosure`: changed and unchanged rows by group; and, for the groups
whose number of changed rows is printed, those that went up and down. A rate after the repair
follows from the rate before it and these counts, as a range if they are ranges, so it reveals
nothing else. With unequal weights it is printed only if the counts are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array, Vocabulary, evaluate
from proxyuse.measure.influence import differ
from proxyuse.measure.output_scale import Scale
from proxyuse.program import Frame
from proxyuse.report.disclosure import WITHHELD, implied_ranges, range_cell
from proxyuse.report.inputs import Audited, Repaired
from proxyuse.report.outcome_result import GroupOutcome, OutcomeFigure
from proxyuse.report.outcomes import DECIMALS, OutcomeTables
from proxyuse.report.repair_result import (
    AttributeChanges,
    FigureRange,
    GroupChange,
    OutcomeChanges,
)
from proxyuse.report.result import Cell
from proxyuse.report.tables import RowTables

_WITHHELD = FigureRange(None, None)


class TwoOutputs(NamedTuple):
    """The outputs of two programs on the same rows, with the codes of their categories."""

    before: Array
    after: Array
    vocabulary: Vocabulary

    @property
    def changed(self) -> Array:
        """Whether each row changed."""
        return np.broadcast_to(differ(self.before, self.after), (len(self.before),))


def two_outputs(before: Audited, after: Audited) -> TwoOutputs:
    """The outputs of two audited programs on the same rows; one pass over the rows each."""
    sample = before.measurement.sample
    columns = (after.population.columns[name] for name in after.program.variables)
    frame = Frame(columns, sample.vocabulary)
    values = evaluate(after.program.term, frame.arrays, frame.vocabulary)
    return TwoOutputs(sample.outputs(), sample.full(values), frame.vocabulary)


def repair_changes(repair: Repaired, min_cell: int) -> OutcomeChanges:
    """The changes of a repair on the rows of its first audit."""
    audit = repair.before
    return outcome_changes(audit, two_outputs(audit, repair.after), audit.scale, min_cell)


def outcome_changes(
    audit: Audited, outputs: TwoOutputs, scale: Scale, min_cell: int
) -> OutcomeChanges:
    """How the outputs for each group of each protected attribute changed.

    Parameters
    ----------
    audit : an audit of either program, which defines the rows and the groups.
    outputs : the outputs before and after.
    scale : which way is up.
    min_cell : withhold counts of rows below this; 1 withholds nothing.
    """
    tables = RowTables(audit, min_cell)
    first = outputs.before, outputs.vocabulary
    before = OutcomeTables(audit, tables, min_cell, scale=scale, outputs=first)
    after = before.like(outputs.after)
    moves = _moves(outputs, scale)
    weights = audit.population.weights
    equal = bool(weights.min() == weights.max())
    attributes = []
    for attribute in audit.population.protected:
        groups = tables.groups(attribute.name)
        counts = np.array([np.bincount(groups[flags], minlength=len(tables.values(attribute.name)))
                           for flags in moves])  # fmt: skip
        rows = np.bincount(groups)
        figures = (before.groups(attribute.name), after.groups(attribute.name))
        writer = _Writer(counts, rows, scale, min_cell, equal)
        attributes.append(AttributeChanges(attribute.name, writer.groups(*figures)))
    return OutcomeChanges(before.output, before.labels, tuple(attributes))


def _moves(outputs: TwoOutputs, scale: Scale) -> Array:
    """Whether each row changed, went up, and went down."""
    before, after, vocabulary = outputs
    changed = outputs.changed
    if not scale.directed:
        return np.array([changed, changed & False, changed & False])
    low, high = (scale.ranks(side, vocabulary) for side in (before, after))
    with np.errstate(invalid="ignore"):
        return np.array([changed, changed & (high > low), changed & (high < low)])


class _Writer:
    """The changes of the groups of one attribute, in counts that may be printed."""

    def __init__(
        self, counts: Array, rows: Array, scale: Scale, min_cell: int, equal: bool
    ) -> None:
        changed, up, down = counts
        self._rows, self._min_cell, self._scale, self._equal = rows, min_cell, scale, equal
        self._nothing = not changed.any()  # as public as the number of all changed rows
        self._changed = _ranges(np.array([changed, rows - changed]), rows >= min_cell, min_cell)
        shown = (self._changed[0][0] == self._changed[1][0]) & (changed >= min_cell)
        other = changed - up - down  # to or from a missing number
        ways = np.array([up, down, other] if other.any() else [up, down])
        self._ways = _ranges(ways, shown, min_cell)
        self._exact_changed = changed

    def groups(
        self, before: Sequence[GroupOutcome], after: Sequence[GroupOutcome]
    ) -> tuple[GroupChange, ...]:
        """The changes of each group."""
        return tuple(
            self._group(index, *pair) for index, pair in enumerate(zip(before, after, strict=True))
        )

    def _group(self, index: int, before: GroupOutcome, after: GroupOutcome) -> GroupChange:
        directed = self._scale.directed
        return GroupChange(
            before.value,
            before.rows,
            self._cell(self._changed, 0, index),
            self._cell(self._ways, 0, index) if directed else None,
            self._cell(self._ways, 1, index) if directed else None,
            tuple(FigureRange(f.at_least, f.at_most) for f in before.figures),
            tuple(
                self._after(index, *pair)
                for pair in zip(before.figures, after.figures, strict=True)
            ),
        )

    def _cell(self, ranges: tuple[Array, Array], line: int, index: int) -> Cell:
        if self._nothing:
            return 0
        least, most = int(ranges[0][line, index]), int(ranges[1][line, index])
        return WITHHELD if least < 0 else range_cell(least, most, self._min_cell)

    def _after(self, index: int, before: OutcomeFigure, after: OutcomeFigure) -> FigureRange:
        """The rate or the mean after the repair, as far as the printed counts imply it."""
        if self._nothing:
            return FigureRange(before.at_least, before.at_most)
        if self._scale.kind == "number" or self._min_cell == 1:
            return FigureRange(after.at_least, after.at_most)
        exact = self._cell(self._changed, 0, index) == int(self._exact_changed[index])
        if self._scale.kind != "class":
            return FigureRange(after.at_least, after.at_most) if exact else _WITHHELD
        low, high = (side[:, index] for side in self._ways)
        if before.at_least is None or before.at_most is None or low[0] < 0:
            return _WITHHELD
        known = before.at_least == before.at_most and bool((low == high).all())
        if known or not self._equal:
            return FigureRange(after.at_least, after.at_most) if known else _WITHHELD
        total = int(self._rows[index])
        half = 0.5 * 10.0**-DECIMALS  # the rates before are rounded
        ends = (
            before.at_least - half + int(low[0] - high[1]) / total,
            before.at_most + half + int(high[0] - low[1]) / total,
        )
        return FigureRange(*(round(min(1.0, max(0.0, end)), DECIMALS) for end in ends))


def _ranges(counts: Array, columns: Array, min_cell: int) -> tuple[Array, Array]:
    """The ranges of cells in some columns, each a group with a known total; -1 in the others."""
    low, high = np.full(counts.shape, -1), np.full(counts.shape, -1)
    if min_cell == 1:
        return counts, counts
    if columns.any():
        low[:, columns], high[:, columns] = implied_ranges(counts[:, columns], min_cell)
    return low, high
