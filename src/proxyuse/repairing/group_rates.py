"""The selection rate or the mean output of each group of a protected attribute."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from proxyuse.data.columns import Column
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.joint_table import labels_of
from proxyuse.measure.association.support import support_of
from proxyuse.measure.outcomes import ClassCounts, MeanCounts
from proxyuse.measure.output_scale import class_name
from proxyuse.program import Frame

MOST_GROUPS = 32


@dataclass(frozen=True, slots=True)
class GroupRate:
    """What a group gets from a model.

    Attributes
    ----------
    value : the value of the protected attribute.
    label : the class whose selection rate it is; None for a mean output.
    rate : the selection rate or the mean output, by weight.
    rows : the number of rows with a positive weight.
    mass : the sum of their weights.
    """

    value: str
    label: str | None
    rate: float
    rows: int
    mass: float


def selection_rates(
    protected: Column, classes: Array, labels: Sequence[str], shown: Iterable[int], weights: Array
) -> tuple[GroupRate, ...]:
    """The selection rates of some classes in each group.

    Parameters
    ----------
    protected : the protected attribute. With more than 32 values, it has no groups.
    classes : the index of each row's class in `labels`.
    shown : the classes whose rates are wanted.
    """
    counted = weights > 0
    groups, values = _groups(protected.take(counted))
    counts = ClassCounts.of(
        groups, classes[counted], weights[counted], (max(1, len(values)), len(labels))
    )
    rows, masses = counts.rows.sum(axis=1), counts.masses.sum(axis=1)
    return tuple(
        GroupRate(
            value,
            labels[label],
            float(counts.masses[group, label] / masses[group]),
            int(rows[group]),
            float(masses[group]),
        )
        for group, value in enumerate(values)
        for label in shown
    )


def mean_outputs(protected: Column, outputs: Array, weights: Array) -> tuple[GroupRate, ...]:
    """The mean output of each group. Missing and infinite outputs do not count."""
    counted = (weights > 0) & np.isfinite(outputs)
    groups, values = _groups(protected.take(counted))
    means = MeanCounts.of(groups, outputs[counted], weights[counted], len(values))
    return tuple(
        GroupRate(value, None, float(mean), int(rows), float(mass))
        for value, mean, rows, mass in zip(
            values, means.means, means.rows, means.masses, strict=True
        )
    )


def pooled_rates(parts: Iterable[Sequence[GroupRate]]) -> tuple[GroupRate, ...]:
    """The rates on the rows of all parts."""
    cells: dict[tuple[str, str | None], list[GroupRate]] = {}
    for rates in parts:
        for rate in rates:
            cells.setdefault((rate.value, rate.label), []).append(rate)
    pooled = []
    for (value, label), rates in sorted(cells.items(), key=lambda cell: str(cell[0])):
        mass = sum(rate.mass for rate in rates)
        total = sum(rate.rate * rate.mass for rate in rates)
        pooled.append(GroupRate(value, label, total / mass, sum(r.rows for r in rates), mass))
    return tuple(pooled)


def _groups(protected: Column) -> tuple[Array, tuple[str, ...]]:
    """The group of each row, and the values of the groups."""
    frame = Frame([protected])
    support = support_of(frame.arrays[protected.name], len(protected))
    if len(support) > MOST_GROUPS:
        return np.zeros(len(protected), dtype=np.intp), ()
    return support.codes, tuple(map(class_name, labels_of(support, frame.vocabulary)))
