"""The subtrees of a forest: which are equal, and their association with the attributes.

The joint table of a subtree with a protected attribute counts all rows by the value they get when
they start at its root. Nested subtrees share their walks: if a row enters an inner subtree, its
leaf there is already known. The tables of many nested subtrees therefore cost little more than
those of the innermost ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.protocol import Association, associations_below
from proxyuse.measure.association.support import Support, bins_of
from proxyuse.measure.forests.counting import Block
from proxyuse.measure.forests.plan import ForestPlan

AT_ONCE = 256
"""The number of subtrees whose leaves are kept for one block."""

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
    offsets, cells : the table row of each leaf of each subtree; see `subtree_loops`.
    values : the value of each table row, one or more numbers.
    starts : the first table row of each subtree.
    columns, width : the first table column of each attribute, and the number of columns.
    """

    roots: Array
    offsets: Array
    cells: Array
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
            values[keys % kinds],
            np.searchsorted(keys, np.arange(len(roots)) * kinds),
            np.concatenate([[0], np.cumsum(widths[:-1])]).astype(np.int64),
            int(sum(widths)),
        )


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
    """Yield batches of subtrees within the memory limits, inner subtrees first."""
    spans = plan.forest.spans
    remaining = np.sort(roots)[::-1]
    while len(remaining):
        entries = (spans.last_leaf - spans.first_leaf)[remaining].cumsum() * sum(widths)
        count = int(np.searchsorted(entries, MAX_CELLS, side="right"))
        count = max(1, min(count, AT_ONCE))
        yield SubtreeBatch.of(plan, remaining[:count], widths)
        remaining = remaining[count:]


def count_subtrees(plan: ForestPlan, block: Block, batch: SubtreeBatch) -> Array:
    """Count the tables of a batch on the rows of a block."""
    from proxyuse.measure.forests import subtree_loops  # loads numba

    slot = np.full(len(plan.forest.test), -1, dtype=np.int32)
    slot[batch.roots] = np.arange(len(batch.roots))
    counts = np.zeros((len(batch.values), batch.width), dtype=np.int64)
    subtree_loops.count_subtree_tables(
        plan.code_ranges.nodes, block.codes, batch.roots, slot, plan.forest.spans.first_leaf,
        batch.offsets, batch.cells, block.attributes, batch.columns, block.masses, counts,
    )  # fmt: skip
    return counts


def batch_associations(
    batch: SubtreeBatch,
    tables: Array,
    measure: Association,
    attributes: Sequence[Support],
    *,
    bins: int | None,
    max_support: int,
    epsilon: float,
) -> Array:
    """Return the association of each subtree of a batch with each attribute.

    Associations clearly below epsilon are computed in bulk and can be off in the last digits.
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
            if values.shape[1] == 1:
                bin_of = bins_of(values[:, 0], table.sum(axis=1), bins, max_support)
                if bin_of is not None:
                    table = np.add.reduceat(table, np.flatnonzero(np.diff(bin_of, prepend=-1)))
            associations[number] = measure(table)
        result[:, index] = associations
    return result


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
