"""Who gains and who loses by a computation: the direction of the decisions that it changes.

Shares are no finer than `min_cell` rows of their group, because the share of a group reveals a
number of people.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cached_property, partial

import numpy as np

from proxyuse.detect.collections import family_of
from proxyuse.detect.collective_witness import Collection
from proxyuse.detect.decompositions import Decomposition
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Var
from proxyuse.measure.direction import SwapCounts, changed_together, swap_counts
from proxyuse.report.disclosure import STEPS, share_step
from proxyuse.report.inputs import Audited
from proxyuse.report.outcome_result import Direction, GroupDirection, Outcomes
from proxyuse.report.outcomes import DECIMALS, OutcomeTables, digits
from proxyuse.report.release import release_of
from proxyuse.report.result import ProtectedValue

MOST_DIRECTIONS = 50
MOST_ESTIMATES = 10

Key = tuple[str, str]


class Directions:
    """The directions and outcomes of one audit.

    Parameters
    ----------
    audit : the audit.
    min_cell : withhold counts of rows below this; 1 withholds nothing.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"age": [20, 30, 40, 50] * 50, "sex": ["f", "m", "m", "m"] * 50}
    >>> audit = pu.audit(pu.Program.parse("ite(age > 30, 'yes', 'no')"), data, "sex")
    >>> test = next(d for d in audit.decompositions if d.term == "age > 30")
    >>> [(g.value, g.up, g.down) for g in Directions(audit, 1).direction(test, "sex").groups]
    [("'f'", 0.5, 0.0), ("'m'", 0.1667, 0.3333)]
    """

    def __init__(self, audit: Audited, min_cell: int) -> None:
        self._audit = audit
        self._min_cell = min_cell
        self._release = release_of(audit, min_cell)
        self._tables = self._release.tables
        self.known: dict[Key, Direction] = {}

    @cached_property
    def _outcomes(self) -> OutcomeTables:
        release = self._release
        return OutcomeTables(
            self._audit, self._tables, self._min_cell,
            possible=release.decisions, swapped=release.swapped,
        )  # fmt: skip

    def outcomes(self) -> Outcomes:
        """The rates or means of each group of each protected attribute."""
        return self._outcomes.all()

    def direction(self, decomposition: Decomposition, protected: str) -> Direction:
        """The changes of each group if the value comes from another person."""
        return self._shown(self._swapped(decomposition, protected), protected)

    def collective(self, collection: Collection) -> Direction | None:
        """The changes of each group if all members of a collection come from another person.

        None for numeric outputs.
        """
        measurement, protected = self._audit.measurement, collection.protected
        family = family_of(measurement, collection)
        changed = partial(family.changed, len(family))
        groups = self._tables.groups(protected)
        counts = changed_together(measurement.sample, changed, groups, self._audit.scale)
        return None if counts is None else self._shown(counts, protected)

    def _shown(self, counts: SwapCounts, protected: str) -> Direction:
        values = self._tables.values(protected)
        rooms = self._effective_rows(self._tables.groups(protected))
        groups = tuple(
            self._group(counts, index, value, rooms[index], self._release.swapped(protected, index))
            for index, value in enumerate(values)
        )
        errors = counts.moved_within
        return Direction(
            groups,
            counts.pairs,
            counts.within,
            None if errors is None else digits(float(errors.max())),
        )

    def compute(self, keys: Container[Key] | None = None) -> None:
        """Compute the directions of the first witnesses with these keys, into `known`.

        Witnesses that stand for a group come first.

        At most `MOST_DIRECTIONS`, each at the cost of one influence, and `MOST_ESTIMATES` of those
        that take seconds each.
        """
        groups = self._release.groups(self._audit.witnesses)
        witnesses = [witness for group in groups for witness in group.witnesses]
        named = [
            w for group in groups for w in (group.representative, group.leading, group.strongest)
        ]
        chosen = {w.key: w for w in (*named, *witnesses) if keys is None or w.key in keys}
        estimates = 0
        for key, witness in list(chosen.items())[:MOST_DIRECTIONS]:
            if estimates == MOST_ESTIMATES:
                break
            self.known[key] = self.direction(witness.decomposition, witness.protected)
            estimates += self.known[key].pairs is not None

    def _swapped(self, decomposition: Decomposition, protected: str) -> SwapCounts:
        audit, term = self._audit, decomposition.expression
        everywhere = False
        if isinstance(term, Var):
            measured = audit.decompositions
            total = int(measured.occurrences[measured.index_of(term)])
            everywhere = decomposition.occurrences == total
        return swap_counts(
            audit.measurement,
            decomposition.sites,
            self._tables.groups(protected),
            audit.scale,
            drawn=decomposition.error > 0,
            everywhere=everywhere,
        )

    def _group(
        self, counts: SwapCounts, index: int, value: ProtectedValue, rows: float, swapped: int
    ) -> GroupDirection:
        mass = float(counts.masses[index])
        parts = [float(part[index]) / mass for part in (counts.changed, counts.up, counts.down)]
        step = _step(parts, rows, self._min_cell, swapped)
        moved = None if counts.moved is None else float(counts.moved[index]) / mass
        if step is None:
            return GroupDirection(value.value, value.rows, None, None, None, None, 0.0)
        changed, up, down = (_rounded(part, step) for part in parts)
        directed = self._audit.scale.directed
        if directed and parts[0] - parts[1] - parts[2] < 1e-9:
            changed = round(min(1.0, up + down), DECIMALS)  # so that the parts add up
        return GroupDirection(
            value.value,
            value.rows,
            changed,
            up if directed else None,
            down if directed else None,
            None if moved is None else self._outcomes.mean(moved, rows, 2 * swapped),
            step,
        )

    def _effective_rows(self, groups: Array) -> list[float]:
        """The weight of each group over that of its heaviest row: its rows, if all are equal."""
        weights = self._audit.population.weights
        heaviest = np.zeros(int(groups.max()) + 1)
        np.maximum.at(heaviest, groups, weights)
        return list((np.bincount(groups, weights) / heaviest).tolist())


def _step(shares: Sequence[float], rows: float, min_cell: int, swapped: int) -> float | None:
    """The step of shares of some rows; None if they are withheld.

    `swapped` is the number of these rows that may be other people. All shares that they make
    possible are rounded to the same number.

    Examples
    --------
    >>> _step([0.1234], 4000, 5, 0), _step([0.1234], 4000, 5, 4)
    (0.002, 0.01)
    """
    least = share_step(rows, min_cell)
    if not least or not swapped:
        return least
    away = swapped / rows
    ends = [(max(0.0, share - away), min(1.0, share + away)) for share in shares]
    steps = (step for step in STEPS if step >= least)
    return next((s for s in steps if all(_rounded(a, s) == _rounded(b, s) for a, b in ends)), None)


def _rounded(share: float, step: float) -> float:
    """A share as a multiple of a step; below one step it is 0, above all but one it is 1.

    Examples
    --------
    >>> _rounded(0.1234, 0.002), _rounded(0.0015, 0.002), _rounded(0.999, 0.002)
    (0.124, 0.0, 1.0)
    """
    if step == 0:
        return round(share, DECIMALS) + 0.0
    if share < step:
        return 0.0
    return 1.0 if share > 1 - step else round(step * round(share / step), DECIMALS)
