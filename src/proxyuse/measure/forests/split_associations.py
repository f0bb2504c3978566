"""The association of every split of a forest with the protected attributes, in one pass.

A split's test holds for a range of codes. Its joint table with an attribute is therefore the
difference of two entries of cumulative counts by code. Tests that hold for the same rows share a
table.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.protocol import (
    Association,
    association_of_values,
    associations_of,
    needs_values,
)
from proxyuse.measure.association.support import Support
from proxyuse.measure.forests.plan import ForestPlan

CHUNK = 1 << 14


def split_associations(
    plan: ForestPlan,
    codes: Array,
    weights: Array,
    attributes: Sequence[Support],
    measure: Association,
) -> Array:
    """Return the association of each distinct test with each protected attribute.

    Costs O(n) per column of codes, plus one small table per distinct split of the rows.
    """
    nodes, forest = plan.code_ranges.nodes, plan.forest
    first_node = np.empty(len(forest.tests), dtype=np.int64)
    first_node[forest.test[::-1]] = np.arange(len(forest.test))[::-1]
    column, first, count = nodes[first_node, :3].astype(np.int64).T
    turned = plan.code_ranges.swapped[first_node]
    result = np.zeros((len(forest.tests), len(attributes)))
    for index, attribute in enumerate(attributes):
        for number, kind in enumerate(plan.code_ranges.columns):
            own = np.flatnonzero(column == number)
            if len(own) == 0:
                continue
            by_code = _by_code(codes[:, number], kind.count, attribute, weights)
            cumulative = np.vstack([np.zeros(len(attribute)), np.cumsum(by_code, axis=0)])
            last = len(cumulative) - 1
            low, high = first[own] + 1, np.minimum(first[own] + 1 + count[own], last)
            high = np.maximum(high, low)
            # Ranges with the same rows have the same table.
            rows_before = np.cumsum(np.concatenate([[0], by_code.sum(axis=1) > 0]))
            keys = rows_before[low] * (rows_before[-1] + 1) + rows_before[high]
            _, chosen, which = np.unique(keys, return_index=True, return_inverse=True)
            inside = cumulative[high[chosen]] - cumulative[low[chosen]]
            tables = np.stack([cumulative[-1] - inside, inside], axis=1)
            swap = turned[own][chosen]
            tables[swap] = tables[swap][:, ::-1]
            result[own, index] = _measured(measure, tables, attribute)[which]
    return result


def _by_code(codes: Array, count: int, attribute: Support, weights: Array) -> Array:
    """Return the masses by code (from -1 on) and value of an attribute."""
    width = len(attribute)
    cells = (codes.astype(np.int64) + 1) * width + attribute.codes
    flat = np.bincount(cells, weights, minlength=(count + 1) * width)
    return flat.reshape(-1, width)


def _measured(measure: Association, tables: Array, attribute: Support) -> Array:
    if needs_values(measure):
        both = np.array([False, True])
        rows = []
        for table in tables:
            held = table.sum(axis=1) > 0
            rows.append(association_of_values(measure, table[held], both[held], attribute.middles))
        return np.array(rows)
    parts = [tables[i : i + CHUNK] for i in range(0, len(tables), CHUNK)]
    return np.concatenate([associations_of(measure, part) for part in parts])
