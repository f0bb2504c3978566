"""The subtrees of a forest: which are equal, and their association with the attributes.

The joint table of a subtree with a protected attribute counts all rows by the value they get when
they start at its root. Nested subtrees share their walks: if a row enters an inner subtree, its
leaf there is already known. The tables of many nested subtrees therefore cost little more than
those of the innermost ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from proxyuse.input_limits import AUDIT_STEPS
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.best_cut import BestCut
from proxyuse.measure.association.protocol import Association, associations_below
from proxyuse.measure.association.support import Support, bins_of
from proxyuse.measure.forests.counting import Block
from proxyuse.measure.forests.plan import ForestPlan

AT_ONCE = 256
"""The number of subtrees whose leaves are kept for one block."""

DEEP = 64
"""In a tree with more subtrees around an average leaf than this, tables are laid out by value."""

FEW_VALUES = 16
"""Tables can be laid out by value if there are at most this many values."""

MAX_CELLS = 1 << 23
"""The largest number of table entries in one batch."""

CLOSE = 1e-9
"""Associations this close to the threshold, or above it, are computed one by one."""


@dataclass(frozen=True, slots=True, eq=False)
class SubtreeBatch:
    """Some subtrees and the layout of their tables, as plain arrays.

    Attributes
    ----------
    roots : the root of each subtree in descending order, so that inner subtrees come first.
    offsets, cells, bases : the table row of each leaf of each subtree; see `subtree_loops`.
    values : the value of each table row, one or more numbers.
    starts : the first table row of each subtree.
    columns, width : the first table column of each attribute, and the number of columns.
    """

    roots: Array
    offsets: Array
    cells: Array
    bases: Array
    values: Array
    starts: Array
    columns: Array
    width: int

    @classmethod
    def of(cls, plan: ForestPlan, roots: Array, widths: Sequence[int]) -> SubtreeBatch:
        """Lay out the tables for attributes with `widths` values. O(l log l) for l leaves."""
        spans = plan.forest.spans
        begins, sizes = spans.first_leaf[roots], (spans.last_leaf - spans.first_leaf)[roots]
        offsets = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        owner = np.repeat(np.arange(len(roots)), sizes)
        leaves = np.arange(offsets[-1]) - offsets[owner] + begins[owner]
        values, kind = _distinct_rows(plan.decision.sums.values[leaves] + 0.0)  # no -0
        kinds = len(values)
        keys, cells = np.unique(owner * kinds + kind, return_inverse=True)
        return cls(
            roots.astype(np.int64),
            offsets[:-1],
            cells.astype(np.int64),
            np.zeros(len(roots), dtype=np.int64),
            values[keys % kinds],
            np.searchsorted(keys, np.arange(len(roots)) * kinds),
            *_columns(widths),
        )

    @classmethod
    def by_value(
        cls, plan: ForestPlan, roots: Array, widths: Sequence[int], leaves: LeafValues
    ) -> SubtreeBatch:
        """Lay out the same tables with a row for each value of the forest, in O(subtrees)."""
        starts = np.arange(len(roots)) * len(leaves.values)
        return cls(
            roots.astype(np.int64),
            plan.forest.spans.first_leaf[roots].astype(np.int64),
            leaves.kinds,
            starts,
            np.tile(leaves.values, (len(roots), 1)),
            starts,
            *_columns(widths),
        )


class LeafValues(NamedTuple):
    """The distinct values of the leaves of a forest, and the value of each leaf, as its index."""

    values: Array
    kinds: Array


def _columns(widths: Sequence[int]) -> tuple[Array, int]:
    """Return the first table column of each attribute, and the number of columns."""
    return np.concatenate([[0], np.cumsum(widths[:-1])]).astype(np.int64), int(sum(widths))


def _distinct_rows(rows: Array) -> tuple[Array, Array]:
    """Return the distinct rows in sorted order, and the index of each row among them."""
    if rows.shape[1] == 1:
        values, kind = np.unique(rows[:, 0], return_inverse=True)
        return values[:, None], kind
    order = np.lexsort(rows.T[::-1])
    new = np.append(True, (np.diff(rows[order], axis=0) != 0).any(axis=1))
    kind = np.empty(len(rows), dtype=np.int64)
    kind[order] = np.cumsum(new) - 1
    return rows[order[new]], kind


def batches(plan: ForestPlan, roots: Array, widths: Sequence[int]) -> Iterator[SubtreeBatch]:
    """Yield batches of subtrees within the memory limits, inner subtrees first.

    In a tree that is a chain, all subtrees together have a number of leaves that grows with the
    square of its depth. Then the tables are laid out by value, or, with many values, refused.
    """
    spans = plan.forest.spans
    remaining = np.sort(roots)[::-1]
    sizes = (spans.last_leaf - spans.first_leaf)[remaining]
    total, leaves = int(sizes.sum()), None
    if total > DEEP * len(plan.decision.sums.values):
        values, kinds = _distinct_rows(plan.decision.sums.values + 0.0)
        if len(values) <= FEW_VALUES:
            leaves = LeafValues(values, kinds.astype(np.int64))
            sizes = np.full(len(remaining), len(values))
        else:
            AUDIT_STEPS.check(total, "the program")
    while len(remaining):
        entries = sizes.cumsum() * sum(widths)
        count = int(np.searchsorted(entries, MAX_CELLS, side="right"))
        count = max(1, min(count, AT_ONCE))
        if leaves is None:
            yield SubtreeBatch.of(plan, remaining[:count], widths)
        else:
            yield SubtreeBatch.by_value(plan, remaining[:count], widths, leaves)
        remaining, sizes = remaining[count:], sizes[count:]


def count_subtrees(plan: ForestPlan, block: Block, batch: SubtreeBatch) -> Array:
    """Count the tables of a batch on the rows of a block."""
    from proxyuse.measure.forests import subtree_loops  # loads numba

    slot = np.full(len(plan.forest.test), -1, dtype=np.int32)
    slot[batch.roots] = np.arange(len(batch.roots))
    counts = np.zeros((len(batch.values), batch.width), dtype=np.int64)
    subtree_loops.count_subtree_tables(
        plan.code_ranges.nodes, block.codes, batch.roots, slot, plan.forest.spans.first_leaf,
        batch.offsets, batch.cells, batch.bases, block.attributes, batch.columns, block.masses,
        counts,
    )  # fmt: skip
    return counts


def batch_associations(
    batch: SubtreeBatch,
    tables: Array,
    measure: Association,
    attributes: Sequence[Support],
    *,
    groups: int | None,
    max_support: int,
    best_cut: bool,
    epsilon: float,
) -> Array:
    """Return the association of each subtree of a batch with each attribute.

    Associations clearly below epsilon are computed in bulk and can be off in the last digits.

    Parameters
    ----------
    groups, max_support : more than `max_support` values are put into `groups` of equal mass.
    best_cut : whether grouped values are measured by their best cut.
    """
    result = np.zeros((len(batch.roots), len(attributes)))
    ends = np.append(batch.starts[1:], len(tables))
    for index, attribute in enumerate(attributes):
        own = tables[:, batch.columns[index] : batch.columns[index] + len(attribute)]
        associations = associations_below(measure, own, batch.starts)
        long = ends - batch.starts > max_support
        for number in np.flatnonzero(long | (associations >= epsilon - CLOSE)).tolist():
            part = slice(batch.starts[number], ends[number])
            held = own[part].sum(axis=1) > 0
            table, values = own[part][held], batch.values[part][held]
            if best_cut and values.shape[1] > 1 and len(values) > max_support:
                associations[number] = max(
                    _association(column, table, measure, groups, 0, True) for column in values.T
                )
            else:
                associations[number] = _association(
                    values[:, 0] if values.shape[1] == 1 else values,
                    table, measure, groups, max_support, best_cut,
                )  # fmt: skip
        result[:, index] = associations
    return result


def _association(
    values: Array,
    table: Array,
    measure: Association,
    groups: int | None,
    max_support: int,
    best_cut: bool,
) -> float:
    """Return the association of the values of a subtree, given the masses of each value."""
    distinct, code = (values, None) if values.ndim == 2 else np.unique(values, return_inverse=True)
    if code is not None:
        table = _summed(table, code, len(distinct))
    group_of = bins_of(distinct, table.sum(axis=1), groups, max_support)
    if group_of is None:
        return measure(table)
    table = np.add.reduceat(table, np.flatnonzero(np.diff(group_of, prepend=-1)))
    return BestCut(measure, bool(np.isnan(distinct[-1])))(table) if best_cut else measure(table)


def _summed(table: Array, code: Array, count: int) -> Array:
    """Sum the rows of a table that have the same code."""
    return np.stack([np.bincount(code, column, minlength=count) for column in table.T], axis=1)


def subtree_groups(plan: ForestPlan) -> Array:
    """Return a group number for each node; equal subtrees have the same number.

    Groups come from a 64-bit hash of tests and leaf values, so different subtrees can share a
    number, with negligible probability. `equal_subtrees` compares exactly.
    """
    from proxyuse.measure.forests import subtree_loops  # loads numba

    forest = plan.forest
    values = np.ascontiguousarray(plan.decision.sums.values + 0.0)  # no -0
    bits = values.view(np.uint64)
    hashes = np.empty(len(forest.test), dtype=np.uint64)
    subtree_loops.hash_subtrees(forest.test, forest.then, forest.otherwise, bits, hashes)
    groups = np.empty(len(hashes), dtype=np.int32)
    subtree_loops.number_groups(hashes, groups)
    return groups


def equal_subtrees(plan: ForestPlan, nodes: Array) -> list[Array]:
    """Group nodes by equal subtrees, compared exactly."""
    groups: list[list[int]] = []
    for node in nodes.tolist():
        for group in groups:
            if _are_equal(plan, group[0], node):
                group.append(node)
                break
        else:
            groups.append([node])
    return [np.array(group) for group in groups]


def _are_equal(plan: ForestPlan, first: int, second: int) -> bool:
    forest, spans = plan.forest, plan.forest.spans
    sizes = [int(spans.end[node]) - node for node in (first, second)]
    if sizes[0] != sizes[1]:
        return False
    shift, leaf_shift = second - first, spans.first_leaf[second] - spans.first_leaf[first]
    one, other = (slice(node, node + sizes[0]) for node in (first, second))
    if not np.array_equal(forest.test[one], forest.test[other]):
        return False
    for side in (forest.then, forest.otherwise):
        moved = np.where(side[one] >= 0, side[one] + shift, side[one] - leaf_shift)
        if not np.array_equal(moved, side[other]):
            return False
    leaves = (forest.leaves[spans.first_leaf[n] : spans.last_leaf[n]] for n in (first, second))
    return len({values.tobytes() for values in leaves}) == 1
