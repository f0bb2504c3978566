"""The influence of a computation, split by group: who is affected.

Influence is one number for all rows. Here it is split: the share of a group's rows whose decision
changes if the computation takes its value from another row, of any group. The mean of these shares,
weighted by group, is the influence.

The split is exact if the audit's engine knows the effect on each row, or if all pairs of rows can
be counted quickly. Otherwise it is estimated from sampled pairs. Shares are printed no finer than
`min_cell` rows, because the share of a group reveals a number of people.
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
from proxyuse.words import fixed

MOST_WORK = 2e8  # rows times program points: a second or so
MOST_PAIRS = Sampling(alpha=0.01).pairs
FEWEST_PAIRS = 1_000
BETA = 0.05
STEPS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.25)


@dataclass(frozen=True, slots=True, eq=False)
class GroupInfluence:
    """The share of each group whose decisions change.

    Attributes
    ----------
    shares : one share per group.
    pairs, within : for an estimate, the number of sampled pairs per group, and the largest error
        of a share with probability 0.95; None if the shares are exact.
    """

    shares: Array
    pairs: int | None = None
    within: float | None = None


def influence_by_group(
    audit: Audited, decomposition: Decomposition, groups: Array
) -> GroupInfluence:
    """Split the influence of a computation by group; `groups` has one number from 0 per row.

    Examples
    --------
    >>> import proxyuse as pu
    >>> program = pu.Program.parse("ite(age <= 30 and member == 1, 'a', 'b')")
    >>> data = {"age": [20, 20, 50, 50], "member": [1, 0, 0, 0], "z": list("ppqq")}
    >>> audit = pu.audit(program, data, protected="z", epsilon=0)
    >>> test = next(d for d in audit.decompositions if d.term == "age <= 30")
    >>> influence_by_group(audit, test, np.array([0, 0, 1, 1])).shares.tolist(), test.influence
    ([0.25, 0.0], 0.125)
    """
    population = audit.population
    changed = audit.changed_by_row(decomposition)
    if changed is not None:
        masses = np.bincount(groups, population.weights * changed)
        return GroupInfluence(masses / np.bincount(groups, population.weights))
    context = _Context(audit, decomposition)
    support = support_of(context.values, population.n_rows, signed_zero=True)
    n_groups = int(groups.max()) + 1
    points = audit.program.term.points
    if len(support) * population.n_rows * points <= MOST_WORK:
        weights = population.weights
        actual = context.decisions(context.values)
        changing_mass = np.zeros(population.n_rows)
        for index, mass in enumerate(support.masses(weights)):
            other = context.decisions(support.values[index : index + 1])
            changing_mass += mass * differ(actual, other)
        masses = np.bincount(groups, weights * changing_mass, minlength=n_groups)
        return GroupInfluence(masses / np.bincount(groups, weights) / population.total)
    affordable = int(MOST_WORK / (2 * n_groups * points))
    pairs = min(max(affordable, FEWEST_PAIRS), MOST_PAIRS)
    within = math.sqrt(math.log(2 / BETA) / (2 * pairs))
    return GroupInfluence(_estimates(context, population.weights, groups, pairs), pairs, within)


class _Context:
    """The program with a hole in place of a computation."""

    def __init__(self, audit: Audited, decomposition: Decomposition) -> None:
        program = audit.program
        self._n_rows = audit.population.n_rows
        self._frame = Frame(audit.population.columns[name] for name in program.variables)
        self._hole = Var("u" + "'" * (1 + max(map(len, program.inputs), default=0)))
        self._term = program.points.replace(dict.fromkeys(decomposition.sites, self._hole))
        values = evaluate(decomposition.expression, self._frame.arrays, self._frame.vocabulary)
        self.values = np.broadcast_to(values, (self._n_rows, *values.shape[1:]))

    def decisions(self, values: Array, rows: Array | None = None) -> Array:
        """The outputs of all rows, or of some, with these values in the hole."""
        arrays = self._frame.arrays
        if rows is not None:
            arrays = {name: column[rows] for name, column in arrays.items()}
        outputs = evaluate(self._term, {**arrays, self._hole.name: values}, self._frame.vocabulary)
        height = self._n_rows if rows is None else len(rows)
        return np.broadcast_to(outputs, (height, *outputs.shape[1:]))


def _estimates(context: _Context, weights: Array, groups: Array, pairs: int) -> Array:
    """The share of sampled pairs whose decisions differ, per group."""
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
    """A share of some rows, no finer than `min_cell` of them.

    Parameters
    ----------
    share : from 0 to 1.
    rows : the number of rows; if weights differ, their sum divided by the largest.
    min_cell : numbers of rows below this are withheld.

    Examples
    --------
    >>> coarse(0.1234, 4000, 5), coarse(0.0, 4000, 5), coarse(0.9999, 4000, 5)
    ('12.4%', 'under 0.2%', 'over 99.8%')
    >>> coarse(0.55, 40, 5), coarse(0.55, 12, 5), coarse(0.0, 12, 1)
    ('60%', 'withheld', '0.0%')
    """
    if min_cell == 1:
        return f"{fixed(100 * share, 1)}%"
    step = next((step for step in STEPS if step >= min_cell / rows), None)
    if step is None:
        return "withheld"
    if share < step:
        return f"under {100 * step:g}%"
    if share > 1 - step:
        return f"over {100 * (1 - step):g}%"
    return f"{100 * step * round(share / step):g}%"
