"""Influence by group: whose decisions a computation changes.

Influence is one number for all rows. Here it is split by group: the share of a group's decisions
that change if the value of the computation is drawn from another row, of any group. The weighted
mean of these shares is the influence.

The shares are exact if the audit's engine has the effect on each row, or if all pairs of rows can
be counted quickly. Otherwise they are estimated from random pairs. Printed shares are rounded to at
least the smallest count that may be printed, because a share of a group reveals a number of people.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from proxyuse.detect.decompositions import Decomposition
from proxyuse.lang.evaluate import Array, evaluate
from proxyuse.lang.nodes import Var
from proxyuse.measure.association.support import support_of
from proxyuse.measure.influence import differ
from proxyuse.program import Frame
from proxyuse.report.inputs import Audited
from proxyuse.settings import Sampling

MOST_WORK = 2e8  # rows times program points; takes about a second
MOST_PAIRS = Sampling(alpha=0.01).pairs
FEWEST_PAIRS = 1_000
BETA = 0.05
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25)


@dataclass(frozen=True, slots=True, eq=False)
class Moved:
    """The share of decisions that change, by group.

    Attributes
    ----------
    shares : by group.
    pairs, within : for an estimate, the number of pairs per group and the largest error of each
        share, with probability 0.95; otherwise None.
    """

    shares: Array
    pairs: int | None = None
    within: float | None = None


def moved_by_group(audit: Audited, decomposition: Decomposition, groups: Array) -> Moved:
    """Split the influence of a computation by group; `groups` has the index of each row's group.

    Examples
    --------
    >>> import proxyuse as pu
    >>> program = pu.Program.parse("ite(age <= 30 and member == 1, 'a', 'b')")
    >>> data = {"age": [20, 20, 50, 50], "member": [1, 0, 0, 0], "z": list("ppqq")}
    >>> audit = pu.audit(program, data, protected="z", epsilon=0)
    >>> test = next(d for d in audit.decompositions if d.term == "age <= 30")
    >>> moved_by_group(audit, test, np.array([0, 0, 1, 1])).shares.tolist(), test.influence
    ([0.25, 0.0], 0.125)
    """
    population = audit.population
    known = audit.changed_by_row(decomposition)
    if known is not None:
        moved = np.bincount(groups, population.weights * known)
        return Moved(moved / np.bincount(groups, population.weights))
    context = _Context(audit, decomposition)
    support = support_of(context.values, population.n_rows, signed_zero=True)
    n_groups = int(groups.max()) + 1
    points = audit.program.term.points
    if len(support) * population.n_rows * points <= MOST_WORK:
        weights = population.weights
        actual = context.decisions(context.values)
        mass_that_moves = np.zeros(population.n_rows)
        for index, mass in enumerate(support.masses(weights)):
            other = context.decisions(support.values[index : index + 1])
            mass_that_moves += mass * differ(actual, other)
        moved = np.bincount(groups, weights * mass_that_moves, minlength=n_groups)
        return Moved(moved / np.bincount(groups, weights) / population.total)
    affordable = int(MOST_WORK / (2 * n_groups * points))
    pairs = min(max(affordable, FEWEST_PAIRS), MOST_PAIRS)
    within = math.sqrt(math.log(2 / BETA) / (2 * pairs))
    return Moved(_estimates(context, population.weights, groups, pairs), pairs, within)


class _Context:
    """The program with a hole where a computation was."""

    def __init__(self, audit: Audited, decomposition: Decomposition) -> None:
        program = audit.program
        self._n_rows = audit.population.n_rows
        self._frame = Frame(audit.population.columns[name] for name in program.variables)
        self._hole = Var("u" + "'" * (1 + max(map(len, program.inputs), default=0)))
        self._term = program.points.replace(dict.fromkeys(decomposition.sites, self._hole))
        values = evaluate(decomposition.expression, self._frame.arrays, self._frame.vocabulary)
        self.values = np.broadcast_to(values, (self._n_rows, *values.shape[1:]))

    def decisions(self, values: Array, rows: Array | None = None) -> Array:
        """The output of the program for all or some rows, with values in the hole."""
        arrays = self._frame.arrays
        if rows is not None:
            arrays = {name: column[rows] for name, column in arrays.items()}
        outputs = evaluate(self._term, {**arrays, self._hole.name: values}, self._frame.vocabulary)
        height = self._n_rows if rows is None else len(rows)
        return np.broadcast_to(outputs, (height, *outputs.shape[1:]))


def _estimates(context: _Context, weights: Array, groups: Array, pairs: int) -> Array:
    """The share of sampled pairs whose decisions differ, by group."""
    generator = np.random.default_rng(0)
    members = [np.where(groups == group, weights, 0.0) for group in range(int(groups.max()) + 1)]
    rows = np.concatenate(
        [generator.choice(len(weights), pairs, p=mass / mass.sum()) for mass in members]
    )
    others = generator.choice(len(weights), len(rows), p=weights / weights.sum())
    holes = context.values[np.concatenate([rows, others])]
    decisions = context.decisions(holes, np.concatenate([rows, rows]))
    changed = differ(decisions[: len(rows)], decisions[len(rows) :])
    return np.asarray(changed.reshape(len(members), pairs).mean(axis=1))


def coarse(share: float, rows: float, min_cell: int) -> str:
    """A share of some rows, rounded to at least `min_cell` of them.

    Parameters
    ----------
    share : from 0 to 1.
    rows : the number of rows; with weights, their total weight divided by the largest weight.
    min_cell : smaller counts of rows are withheld.

    Examples
    --------
    >>> coarse(0.1234, 4000, 5), coarse(0.0, 4000, 5), coarse(0.9999, 4000, 5)
    ('12.4%', 'under 0.2%', 'over 99.8%')
    >>> coarse(0.55, 40, 5), coarse(0.55, 12, 5), coarse(0.0, 12, 1)
    ('60%', 'withheld', '0.0%')
    """
    if min_cell == 1:
        return f"{100 * share:.1f}%"
    step = next((step for step in STEPS if step >= min_cell / rows), None)
    if step is None:
        return "withheld"
    if share < step:
        return f"under {100 * step:g}%"
    if share > 1 - step:
        return f"over {100 * (1 - step):g}%"
    return f"{100 * step * round(share / step):g}%"
