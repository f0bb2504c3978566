"""What each group gets from a model: selection rates or mean outputs, with confidence bounds.

A rate is known as far as the printed table of decisions by group implies it (`disclosure`). A mean
is no finer than `min_cell` rows with another output.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np

from proxyuse.lang.evaluate import Array, Vocabulary
from proxyuse.measure.outcomes import ClassCounts, MeanCounts, effective_sizes
from proxyuse.measure.output_scale import Scale, class_name
from proxyuse.report.disclosure import implied_ranges, joined_lines, next_step, number_step
from proxyuse.report.inputs import Audited
from proxyuse.report.outcome_result import (
    AttributeOutcomes,
    GroupOutcome,
    OutcomeFigure,
    Outcomes,
    Output,
)
from proxyuse.report.tables import RowTables
from proxyuse.validity.outcome_bounds import mean_bounds, rate_bounds

ALPHA = 0.05
MOST_CLASSES = 4
MEAN = "mean output"
DECIMALS = 4
DIGITS = 6
MOST_STEPS = 8


class OutcomeTables:
    """The outcomes of one output on the rows of an audit.

    Parameters
    ----------
    audit : the audit.
    tables : its tables, which define the groups.
    min_cell : withhold counts of rows below this; 1 withholds nothing.
    scale : which way is up; that of the audit by default.
    outputs : the output of each row and its vocabulary; those of the audit by default.
    listed : the classes whose rates are listed, as indices; the most frequent ones by default.
    possible : for a protected attribute, the least and the largest number of decisions in each
        cell that a reader must consider possible; None if other tables reveal nothing.
    swapped : the number of people by which a group may differ in the same sense.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"age": [20, 30, 40, 50] * 50, "sex": ["f", "m", "m", "m"] * 50}
    >>> audit = pu.audit(pu.Program.parse("ite(age > 30, 'yes', 'no')"), data, "sex")
    >>> outcomes = OutcomeTables(audit, RowTables(audit, 5), 5)
    >>> [(g.value, g.figures[0].at_most) for g in outcomes.groups("sex")]
    [("'f'", 0.08), ("'m'", 0.6667)]
    """

    def __init__(
        self,
        audit: Audited,
        tables: RowTables,
        min_cell: int,
        *,
        scale: Scale | None = None,
        outputs: tuple[Array, Vocabulary] | None = None,
        listed: tuple[int, ...] | None = None,
        possible: Callable[[str], tuple[Array, Array] | None] = lambda _: None,
        swapped: Callable[[str, int], int] = lambda *_: 0,
    ) -> None:
        self._population = audit.population
        self._tables = tables
        self._min_cell = min_cell
        self.scale = scale or audit.scale
        if outputs is None:
            sample = audit.measurement.sample
            outputs = sample.outputs(), sample.vocabulary
        self.outputs, self._vocabulary = outputs
        self._audit, self._listed = audit, listed
        self._possible, self._swapped = possible, swapped

    def like(self, outputs: Array) -> OutcomeTables:
        """The outcomes of another output on the same rows, with the same classes."""
        if self.scale.kind in ("number", "none"):
            scale, listed = self.scale, None
        else:
            _, labels, names, listed = self._classes
            scale = Scale(self.scale.kind, labels, names)
        return OutcomeTables(
            self._audit, self._tables, self._min_cell,
            scale=scale, outputs=(outputs, self._vocabulary), listed=listed,
            swapped=self._swapped,
        )  # fmt: skip

    @cached_property
    def _classes(self) -> tuple[Array, tuple[str, ...], tuple[str, ...], tuple[int, ...]]:
        """The class of each row, the labels and names of the classes, and those that are listed."""
        scale = self.scale
        codes, labels = scale.classes(self.outputs, self._vocabulary)
        names = (*scale.names, *map(class_name, labels[len(scale.names) :]))
        if scale.kind == "class" or self._listed is not None:
            return codes, labels, names, self._listed or (1,)
        rows = np.bincount(codes, minlength=len(labels)).tolist()
        lines = joined_lines(rows, self._min_cell, MOST_CLASSES)
        return codes, labels, names, tuple(line[0] for line in lines if len(line) == 1)

    @cached_property
    def _span(self) -> float:
        """The difference between the largest and the smallest numeric output."""
        known = self.outputs[np.isfinite(self.outputs)]
        return float(np.ptp(known)) if len(known) else 0.0

    @property
    def labels(self) -> tuple[str, ...]:
        """What the figures of a group are: the shares of these classes, or the mean."""
        if self.scale.kind in ("number", "none"):
            return (MEAN,) if self.scale.kind == "number" else ()
        _, _, names, listed = self._classes
        return tuple(names[index] for index in listed)

    @property
    def output(self) -> Output:
        """What the model decides."""
        negative, positive = self.scale.names if self.scale.kind == "class" else (None, None)
        return Output(self.scale.kind, positive, negative)

    def all(self) -> Outcomes:
        """The rates or means of each group of each protected attribute."""
        if self.scale.kind == "none":
            return Outcomes(self.output, (), 1 - ALPHA, ())
        attributes = tuple(
            AttributeOutcomes(z.name, self.groups(z.name)) for z in self._population.protected
        )
        return Outcomes(self.output, self.labels, 1 - ALPHA, attributes)

    def groups(self, protected: str) -> tuple[GroupOutcome, ...]:
        """The rates or means of each group of a protected attribute, with their bounds."""
        values, groups = self._tables.values(protected), self._tables.groups(protected)
        names = [z.name for z in self._population.protected]
        number = sum(len(self._tables.values(name)) for name in names)
        weights = self._population.weights
        if self.scale.kind == "none":
            return tuple(GroupOutcome(value.value, value.rows, ()) for value in values)
        if self.scale.kind == "number":
            means = MeanCounts.of(groups, self.outputs.astype(np.float64), weights, len(values))
            level = ALPHA / 2 / number
            figures: list[tuple[OutcomeFigure, ...]] = [
                (self._mean_figure(means, index, level, self._swapped(protected, index)),)
                for index in range(len(values))
            ]
        else:
            codes, labels, _, listed = self._classes
            counts = ClassCounts.of(groups, codes, weights, (len(values), len(labels)))
            level = ALPHA / 2 / max(1, number * len(listed))
            figures = self._rates(counts, listed, level, self._possible(protected))
        return tuple(
            GroupOutcome(value.value, value.rows, own)
            for value, own in zip(values, figures, strict=True)
        )

    def decision_lines(self) -> tuple[Array, Array] | None:
        """The class of each row, and the line of each class in the table of rates.

        None without classes.
        """
        if self.scale.kind in ("number", "none"):
            return None
        codes, labels, _, listed = self._classes
        lines = np.full(len(labels), len(listed), dtype=np.intp)
        lines[list(listed)] = np.arange(len(listed))
        return codes, lines

    def _rates(
        self,
        counts: ClassCounts,
        listed: tuple[int, ...],
        level: float,
        possible: tuple[Array, Array] | None,
    ) -> list[tuple[OutcomeFigure, ...]]:
        """The rate of each listed class in each group."""
        own = counts.rows[:, list(listed)]
        rest = counts.rows.sum(axis=1, keepdims=True) - own.sum(axis=1, keepdims=True)
        table = np.hstack([own, rest] if rest.any() or len(listed) == 1 else [own]).T
        low, high = implied_ranges(table, self._min_cell)
        if possible is not None and possible[0].shape == low.shape:
            rare = table.sum(axis=1, keepdims=True) < self._min_cell  # only known to be rare
            low = np.where(rare, np.minimum(low, possible[0]), possible[0])
            high = np.where(rare, np.maximum(high, possible[1]), possible[1])
        weights = self._population.weights
        equal = bool(weights.min() == weights.max())
        rates, variances = counts.rates(), counts.variances()
        masses, squares = counts.masses.sum(axis=1), counts.squares.sum(axis=1)
        sizes = effective_sizes(masses, squares)

        def figure(line: int, group: int) -> OutcomeFigure:
            least, most = int(low[line, group]), int(high[line, group])
            total = int(table[:, group].sum())
            if least == most:
                heaviest = 1.0 if equal else float(weights.max() * masses[group] / squares[group])
                rate = float(rates[group, listed[line]])
                bounds = rate_bounds(
                    rate, float(variances[group, listed[line]]), float(sizes[group]), level,
                    heaviest=heaviest,
                )  # fmt: skip
                return _figure(rate, rate, bounds)
            if not equal:
                return OutcomeFigure(None, None, None, None)
            ends = [
                rate_bounds(count / total, _binomial(count, total), total, level)
                for count in (least, most)
            ]
            return _figure(least / total, most / total, (ends[0][0], ends[1][1]))

        return [
            tuple(figure(line, group) for line in range(len(listed)))
            for group in range(len(counts.rows))
        ]

    def _mean_figure(
        self, means: MeanCounts, index: int, level: float, swapped: int
    ) -> OutcomeFigure:
        if int(means.rows[index]) < self._min_cell:
            return OutcomeFigure(None, None, None, None)
        rows = float(means.masses[index] / self._population.weights.max())  # as if all were heavy
        size = float(effective_sizes(means.masses, means.squares)[index])
        mean = float(means.means[index])
        value = self.mean(mean, rows, swapped)
        bounds = mean_bounds(mean, float(means.variances()[index]), size, level)
        low, high = (
            (None, None) if bounds is None else (self.mean(b, rows, swapped) for b in bounds)
        )
        return OutcomeFigure(value, value, low, high)

    def mean(self, value: float, rows: float, swapped: int = 0) -> float | None:
        """A mean of numeric outputs over some rows, rounded.

        `swapped` is the number of these rows that may have any other output. All means that they
        make possible are rounded to the same number; None if no step does that.
        """
        step = number_step(self._span, rows, self._min_cell)
        if not step:
            return digits(value)
        away = swapped * self._span / rows
        for _ in range(MOST_STEPS if swapped else 1):
            if round((value - away) / step) == round((value + away) / step):
                return digits(step * round(value / step))
            step = next_step(step)
        return None


def _binomial(count: int, total: int) -> float:
    share = count / total
    return share * (1 - share) / total


def _figure(least: float, most: float, bounds: tuple[float, float]) -> OutcomeFigure:
    return OutcomeFigure(*(round(value, DECIMALS) + 0.0 for value in (least, most, *bounds)))


def digits(value: float) -> float:
    """A number with six significant digits.

    Examples
    --------
    >>> digits(1234.56789), digits(0.1 + 0.2)
    (1234.57, 0.3)
    """
    return float(f"{value:.{DIGITS}g}") + 0.0
