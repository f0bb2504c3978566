"""The trees of a forest joined to the cells of a population's columns.

Every guard tests one variable against constants, so which way a row goes follows from the cell
its value lies in. All tests become comparisons of a code with a cut: below it to the left. Where a
test holds above a cut, the branches are exchanged. Where missing numbers go to the right, a column
of codes has them above all others. Tests that no cut can express (sets of categories) have a
column of their own with two codes. So a step of a walk is one comparison, whatever the test.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.cells import Cells
from proxyuse.measure.forest_plan import ForestPlan

_ABOVE_ALL = np.iinfo(np.int32).max


class Wiring(NamedTuple):
    """Arrays for walking through all trees.

    Attributes
    ----------
    codes : rows x columns; the first columns are the variables' cells, -1 for a missing number.
    roots : each tree's first node.
    test, variable : for each node, which test it has and which variable that reads.
    nodes : for each node, side by side: a column of codes, the cut below which a row goes to the
        left, and the children to the left and to the right, or -1 - leaf.
    held, lookup : for each node, from where on the bytes say whether a value in each cell of its
        variable goes to the left, the missing number first.
    ordered : for each node, whether its cut is one in the order of its variable's cells.
    scores, base, slack : what leaves add to the leads of the classes; see `ForestPlan`.
    values : the leaves' own values.
    outputs, operands, constants, firsts, columns, divisors, threshold : see `Vote`.
    """

    codes: Array
    roots: Array
    test: Array
    variable: Array
    nodes: Array
    held: Array
    lookup: Array
    ordered: Array
    scores: Array
    base: Array
    slack: int
    values: Array
    outputs: Array
    operands: Array
    constants: Array
    firsts: Array
    columns: Array
    divisors: Array
    threshold: float


def wired(plan: ForestPlan, columns: Sequence[Cells], categories: Sequence[bool]) -> Wiring:
    """Join a plan to columns cut into cells; `categories` says which hold no numbers."""
    codes: list[Array] = []
    for cells, words in zip(columns, categories, strict=True):
        code = cells.codes.astype(np.int32)
        if not words:
            code[code == cells.count - 1] = -1
        codes.append(code)
    tests = len(plan.tests)
    column, cut = plan.variable_of.copy(), np.ones(tests, dtype=np.intp)
    swapped, ordered = np.zeros(tests, dtype=np.bool_), np.ones(tests, dtype=np.bool_)
    held, lookup = np.empty(tests, dtype=np.intp), [np.empty(0, dtype=np.bool_)]
    filled = 0
    for variable, (cells, words) in enumerate(zip(columns, categories, strict=True)):
        lost_above = -1
        own = np.flatnonzero(plan.variable_of == variable)
        for test, row in zip(own.tolist(), cells.truth, strict=True):
            lost, holds = (False, row) if words else (bool(row[-1]), row[:-1])
            count = int(np.count_nonzero(holds))
            if holds[:count].all():
                cut[test] = count
            elif not holds[: len(holds) - count].any():
                swapped[test], cut[test] = True, len(holds) - count
                lost, holds = not lost, ~holds
            else:
                ordered[test], column[test] = False, len(codes)
                codes.append(1 - np.where(codes[variable] < 0, lost, holds[codes[variable]]))
            if ordered[test] and not lost and (codes[variable] < 0).any():
                if lost_above < 0:
                    lost_above = len(codes)
                    codes.append(np.where(codes[variable] < 0, _ABOVE_ALL, codes[variable]))
                column[test] = lost_above
            held[test] = filled
            lookup += [np.array([lost]), holds]
            filled += 1 + len(holds)
    at, exchanged = plan.test_of, swapped[plan.test_of]
    left, right = (
        np.where(exchanged, *s) for s in ((plan.right, plan.left), (plan.left, plan.right))
    )
    vote = plan.vote
    return Wiring(
        codes=np.column_stack(codes).astype(np.int32),
        roots=plan.first_node[:-1].astype(np.int32),
        test=at.astype(np.int32),
        variable=plan.variable_of[at].astype(np.int32),
        nodes=np.column_stack([column[at], cut[at], left, right]).astype(np.int32),
        held=held[at],
        lookup=np.concatenate(lookup),
        ordered=ordered[at],
        scores=plan.scores,
        base=plan.base,
        slack=plan.slack,
        values=plan.values,
        outputs=vote.outputs,
        operands=vote.operands,
        constants=vote.constants,
        firsts=vote.firsts,
        columns=vote.columns,
        divisors=vote.divisors,
        threshold=vote.threshold,
    )
