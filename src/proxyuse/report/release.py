"""Which figures of an audit are printed, and how precisely: one decision for all formats.

Some counts are withheld (`disclosure`). Figures that depend on the protected values could reveal
them, so each is printed as the range of its values in all data that a reader must consider possible
(`possible_tables`). If no count is withheld, every figure has its four decimals.

Figures that do not depend on the protected values never change: influence, reach, totals, and the
highest possible association.

The decision covers every computation that a report describes: witnesses, variables, the output, and
those closest to the thresholds. In a small program, it covers all computations. In a large one, the
chart has points for others; their associations are rounded to a step that depends only on the
number of rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from proxyuse.detect.decompositions import Decomposition
from proxyuse.detect.witnesses import Group, Strength, Witness, groups_of, strength
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term, Var
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.protocol import (
    Association,
    association_of_values,
    associations_of,
    needs_values,
)
from proxyuse.measure.row_order import content_order
from proxyuse.measure.sample import Sample
from proxyuse.report.disclosure import index_of, joined_lines
from proxyuse.report.inputs import Audited
from proxyuse.report.nearest import nearest_decompositions
from proxyuse.report.other_findings import Range
from proxyuse.report.outcomes import OutcomeTables
from proxyuse.report.possible_tables import CountedTable, PossibleData, Spread
from proxyuse.report.result import Precision, Table
from proxyuse.report.tables import RowTables
from proxyuse.validity.threshold_tables import ThresholdTable

MOST_DESCRIBED = 64
"""In programs with at most this many decompositions, every one is covered."""
MOST_ALIKE = 16
BOUND_MARGIN = 0.1
"""By how much more a confidence bound moves than the association, as a share of its range."""
DECIMALS = 4


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as it is printed: a number, and the range it stands for if it is not exact."""

    value: float
    range: Range | None = None


def figure(value: float, decimals: int = DECIMALS) -> float:
    """A measure as it is printed; 0 and 1 only if it is exactly that.

    Examples
    --------
    >>> figure(0.20751874), figure(0.9999999), figure(1e-9), figure(1.0)
    (0.2075, 0.9999, 0.0001, 1.0)
    """
    step = 10.0**-decimals
    if 0 < value < 1:
        return round(min(max(value, step), 1 - step), decimals)
    return round(value, decimals) + 0.0


def range_decimals(width: float) -> int:
    """The decimals of the ends of a range: a step is at most half of its width.

    Examples
    --------
    >>> range_decimals(0.39), range_decimals(0.02), range_decimals(0.004), range_decimals(1e-9)
    (1, 2, 3, 4)
    """
    return DECIMALS if width <= 0 else min(DECIMALS, max(1, math.ceil(-math.log10(width / 2))))


def ranged(low: float, high: float, at_least: float = 0.0) -> Figure:
    """A figure that is only known to lie in a range, which is rounded outwards.

    Examples
    --------
    >>> ranged(0.6087, 1.0), ranged(0.5123, 0.5172), ranged(0.5123, 0.5123)
    (Figure(value=0.8, range=(0.6, 1.0)), Figure(value=0.515, range=(0.512, 0.518)), \
Figure(value=0.5123, range=None))
    """
    if high - low < 1e-12:
        return Figure(figure(low))
    decimals = range_decimals(high - low)
    step = 10**decimals
    low = max(0.0, at_least, round(math.floor(round(low * step, 6)) / step, decimals))
    high = min(1.0, round(math.ceil(round(high * step, 6)) / step, decimals))
    return Figure(round((low + high) / 2, decimals + 1), (low, high))


def undescribed_step(rows: int, min_cell: int) -> float:
    """The step of the associations of computations that no report describes.

    About the association that `min_cell` people can make; 0 if all counts may be printed.

    Examples
    --------
    >>> [undescribed_step(rows, 5) for rows in (300, 1000, 5000, 50_000)]
    [0.1, 0.05, 0.01, 0.002]
    """
    if min_cell == 1:
        return 0.0
    share = min(0.5, min_cell / rows)
    least = -share * math.log2(share)
    power = 10.0 ** math.floor(math.log10(least))
    return next(round(power * n, 6) for n in (1, 2, 5, 10) if power * n >= least * (1 - 1e-9))


class Release:
    """What may be printed about one audit; see `release_of`."""

    def __init__(self, audit: Audited, min_cell: int) -> None:
        self.audit, self.min_cell = audit, min_cell
        self.tables = RowTables(audit, min_cell)
        self._measure = audit.association
        self._spreads: dict[tuple[bytes, str], Spread] = {}
        self._own: dict[str, tuple[int, list[Spread]]] = {}
        self._exact = {(w.expression.digest, w.protected): w.association for w in audit.witnesses}
        self._outcomes: dict[str, Spread] = {}
        self._swapped: dict[str, Array] = {}
        self._step = undescribed_step(audit.population.n_rows, min_cell)
        self._covered: frozenset[bytes] = frozenset()
        if min_cell > 1:
            described = self._described()
            self._covered = frozenset(described)
            for z in audit.population.protected:
                self._find(z.name, described)

    # What is described

    def _described(self) -> dict[bytes, Decomposition]:
        """The computations whose figures are printed, by digest."""
        audit, measured = self.audit, self.audit.decompositions
        described = {w.expression.digest: w.decomposition for w in audit.witnesses}
        if len(measured) <= MOST_DESCRIBED:
            chosen: Iterable[Decomposition] = measured
        else:
            root = audit.program.term
            terms = measured.terms
            indices = [i for i, term in enumerate(terms) if term is root or isinstance(term, Var)]
            one_each = {terms[i].digest: i for i in indices}
            chosen = [measured[i] for i in one_each.values()]
            chosen += [d for z in audit.population.protected
                       for d in nearest_decompositions(audit, z.name)]  # fmt: skip
            chosen += [test for use in audit.explicit for test in use.tests]
        for decomposition in chosen:
            described.setdefault(decomposition.expression.digest, decomposition)
        return described

    def _find(self, protected: str, described: dict[bytes, Decomposition]) -> None:
        audit = self.audit
        labels, columns = self.tables.labels(protected), self.tables.columns(protected)
        keys, tables = [], []
        for digest, decomposition in described.items():
            keys.append(digest)
            tables.append(self._counted(decomposition, protected, columns))
        decisions = self._decisions(protected, labels, columns)
        every = [*tables, *([decisions] if decisions is not None else [])]
        if not any(table.hidden(self.min_cell) for table in every):
            return
        sample = audit.measurement.sample
        data = PossibleData(
            every, labels, audit.population.weights, self._alike(every), content_order(sample),
            self.min_cell,
        )  # fmt: skip
        spreads = data.spreads()
        self._spreads.update(
            {(key, protected): spread for key, spread in zip(keys, spreads, strict=False)}
        )
        if decisions is not None:
            self._outcomes[protected] = spreads[-1]
        self._swapped[protected] = data.most_swapped(columns[labels])
        hidden = sum(bool(table.hidden(self.min_cell)) for table in tables)
        self._own[protected] = hidden, spreads[: len(keys)]

    def _counted(
        self, decomposition: Decomposition, protected: str, columns: Array
    ) -> CountedTable:
        audit, term = self.audit, decomposition.expression
        table = decomposition.tables[protected]
        counts = self.tables.counts(term, table)
        lines = index_of(joined_lines(counts.sum(axis=1).tolist(), self.min_cell), len(counts))
        masses, codes = table.masses, partial(self.tables.codes, term, table)
        measure = self._measure
        if measure is not None and needs_values(measure):
            if table.binned:  # it reads the values, and not the printed bins
                printed_line = lines[codes(None)]
                support = audit.measurement.sample.support(term)
                values, codes = support.middles, partial(_at, support.codes)
                shape = len(values), len(columns)
                cells = support.codes * shape[1] + self.tables.labels(protected)
                weights = audit.population.weights
                counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
                masses = np.bincount(cells, weights, minlength=shape[0] * shape[1]).reshape(shape)
                lines = np.zeros(len(values), dtype=np.intp)
                lines[support.codes] = printed_line
            else:
                values = table.support.values
            measure_tables = partial(_by_values, measure, values, self._middles(protected))
        elif measure is not None:
            measure_tables = partial(associations_of, measure)
        is_witness = (protected, decomposition.id) in self._witness_keys
        influence = decomposition.influence
        other = not is_witness and influence is not None and influence > audit.delta
        return CountedTable(
            counts,
            masses,
            lines,
            columns,
            codes,
            None if measure is None else measure_tables,
            float(audit.epsilon) if is_witness else -np.inf,
            float(audit.epsilon) if other else np.inf,
            by_cut=table.binned,
            informative=isinstance(measure, NormalizedMutualInformation),
        )

    def _middles(self, protected: str) -> Array:
        sample = self.audit.measurement.sample
        return sample.attributes[sample.protected_names.index(protected)].middles

    @cached_property
    def _witness_keys(self) -> set[tuple[str, str]]:
        return {witness.key for witness in self.audit.witnesses}

    def _decisions(self, protected: str, labels: Array, columns: Array) -> CountedTable | None:
        """The decisions by group, if the report prints selection rates."""
        known = OutcomeTables(self.audit, self.tables, self.min_cell).decision_lines()
        if known is None:
            return None
        codes, lines = known
        width = len(columns)
        counts = np.bincount(codes * width + labels, minlength=len(lines) * width)
        counts = counts.reshape(len(lines), width)

        return CountedTable(counts, counts.astype(float), lines, columns, partial(_at, codes), None)

    def _alike(self, tables: list[CountedTable]) -> Array:
        """People with the same number are alike in the tables that should not change.

        Those are tables with associations close to epsilon. If there are none, they are tables
        without small counts.
        """
        epsilon = float(self.audit.epsilon)
        whole = [
            table
            for table in tables
            if table.limited and abs(table.measured(table.masses[None])[0] - epsilon) < epsilon / 2
        ][:MOST_ALIKE]
        if not whole:
            whole = [table for table in tables if not table.hidden(self.min_cell)][-MOST_ALIKE:]
        number = np.zeros(self.audit.population.n_rows, dtype=np.intp)
        for table in whole:
            number = number * (len(table.counts) + 1) + table.codes(None)
            number = np.unique(number, return_inverse=True)[1]
        return number

    # What is printed

    def association(self, term: Term, protected: str, exact: float) -> Figure:
        """The association of a computation."""
        spread = self._spreads.get((term.digest, protected))
        epsilon = self.audit.epsilon
        if spread is None:
            if term.digest in self._covered:
                return Figure(figure(exact))
            return Figure(figure(float(self.rounded(np.array([exact]))[0])))
        least = epsilon if exact >= epsilon else 0.0
        if spread.withheld or spread.association is None:
            return ranged(least, 1.0 if exact >= epsilon else float(epsilon), least)
        return ranged(*spread.association, at_least=least)

    def groups(self, witnesses: Iterable[Witness]) -> list[Group]:
        """The groups of the witnesses, in an order that follows from the printed associations.

        The exact order would say which of two overlapping ranges has the larger association.
        """
        ordered: list[Group] = []
        numbers: dict[str, int] = {}
        for group in groups_of(witnesses, self._printed_strength):
            number = numbers.setdefault(group.protected, 0)
            numbers[group.protected] += 1
            members = (replace(witness, group=number) for witness in group.witnesses)
            ordered.append(Group(tuple(members), self._printed_strength))
        return ordered

    def _printed_strength(self, witness: Witness) -> Strength:
        exact = strength(witness)
        known = self.association(witness.expression, witness.protected, witness.association)
        return exact if known.range is None else (-known.value, *exact[1:])

    def withholds(self, protected: str) -> bool:
        """Whether any count about an attribute is withheld."""
        return protected in self._own

    def is_withheld(self, term: Term, protected: str) -> bool:
        """Whether the table of a computation is withheld as a whole."""
        spread = self._spreads.get((term.digest, protected))
        return spread is not None and spread.withheld

    def associations(self, protected: str) -> Array:
        """The associations of all decompositions, as a chart draws them."""
        measured = self.audit.decompositions
        exact = measured.associations[:, measured.protected.index(protected)]
        drawn = self.rounded(exact)
        if self._step:
            for index, term in enumerate(measured.terms):
                if term.digest in self._covered:
                    drawn[index] = self.association(term, protected, float(exact[index])).value
        return drawn

    def rounded(self, associations: Array) -> Array:
        """Associations of computations that no report describes, on the same side of epsilon."""
        if not self._step:
            return associations
        epsilon, below = self.audit.epsilon, 10.0**-DECIMALS
        rounded = np.minimum(1.0, self._step * np.round(associations / self._step))
        least = np.where(associations >= epsilon, epsilon, 0.0)
        most = np.where(associations >= epsilon, 1.0, max(0.0, epsilon - below))
        return np.asarray(np.clip(rounded, least, most))

    def table(self, decomposition: Decomposition, protected: str) -> Table:
        """The table of a computation; without lines if it is withheld."""
        term = decomposition.expression
        spread = self._spreads.get((term.digest, protected))
        if spread is not None and spread.withheld:
            return Table((), (), (), (), (), ())
        possible = None if spread is None else (spread.low, spread.high)
        return self.tables.printed(term, decomposition.tables[protected], possible)

    def guess(self, term: Term, protected: str, exact: float) -> Figure:
        """How often the protected value is guessed right with a computation."""
        spread = self._spreads.get((term.digest, protected))
        if spread is None:
            return Figure(figure(exact))
        (low, true, high), margin = spread.guessed, spread.guess_margin
        if low == high and not margin:
            return Figure(figure(exact))
        if spread.withheld:
            return Figure(0.5, (0.0, 1.0))
        away = exact - true  # guesses are learned from other rows
        low, high = low + min(0.0, away) - margin, min(high, high + away + margin)
        return ranged(max(0.0, low), min(1.0, max(high, exact)))

    def validity(self, content: dict[str, Any], witness: Witness) -> dict[str, Any]:
        """The statistics of a witness; bounds stay valid, because they are rounded outwards."""
        found = self.association(witness.expression, witness.protected, witness.association)
        if found.range is None:
            return content
        width = found.range[1] - found.range[0]
        step = 10 ** max(1, range_decimals(width) - 1)
        low, high = content["association_low"], content["association_high"]
        if low is not None:  # the bounds move with the association
            moved = low - (witness.association - found.range[0]) - BOUND_MARGIN * width
            rounded = max(0.0, math.floor(moved * step) / step)
            low = max(rounded, float(self.audit.epsilon)) if low >= self.audit.epsilon else rounded
        if high is not None:
            moved = high + (found.range[1] - witness.association) + BOUND_MARGIN * width
            high = min(1.0, math.ceil(moved * step) / step)
        rough = {name: _one_digit_up(content[name]) for name in ("p_value", "adjusted_p_value")}
        return {
            **content,
            **rough,
            "association_low": low,
            "association_high": high,
            "corrected_association": None,
        }

    def swapped(self, protected: str, group: int) -> int:
        """The largest number of people that leave or enter a group in any possible data."""
        known = self._swapped.get(protected)
        return 0 if known is None or group >= len(known) else int(known[group])

    def decisions(self, protected: str) -> tuple[Array, Array] | None:
        """The ranges of the decisions by group; None if other tables reveal nothing."""
        spread = self._outcomes.get(protected)
        return None if spread is None else (spread.low, spread.high)

    def precision(self) -> tuple[Precision, ...]:
        """What the printed figures lost, for each attribute with withheld counts."""
        result = []
        for protected, (hidden, spreads) in self._own.items():
            kept = [s for s in spreads if not s.withheld]
            printed = [ranged(*s.association).range for s in kept if s.association]
            widths = [known[1] - known[0] for known in printed if known is not None]
            fewest = [s.fewest for s in kept if s.fewest is not None]
            result.append(
                Precision(
                    protected,
                    hidden,
                    sum(s.withheld for s in spreads),
                    min(fewest, default=None),
                    round(max(widths, default=0.0), DECIMALS),
                )
            )
        return tuple(result)

    def threshold_table(
        self, table: ThresholdTable, witnesses: Iterable[Witness]
    ) -> ThresholdTable:
        """A table of other thresholds, without the columns that would narrow an association."""
        from msgspec import structs

        _, spreads = self._own.get(table.protected, (0, []))
        ranges = [spread.association for spread in spreads if spread.association is not None]
        known = [
            epsilon == self.audit.epsilon or not any(low < epsilon <= high for low, high in ranges)
            for epsilon in table.epsilons
        ]
        bounds = {
            w.expression.digest: w.validity.association_interval
            for w in witnesses
            if w.protected == table.protected
            and w.validity is not None
            and w.validity.association_interval is not None
        }
        sure = [
            keep and (epsilon == self.audit.epsilon or not self._may_change(epsilon, bounds, table))
            for keep, epsilon in zip(known, table.epsilons, strict=True)
        ]
        if all(sure):
            return table
        return structs.replace(
            table,
            witnesses=_kept(table.witnesses, known),
            confirmed=_kept(table.confirmed, sure),
        )

    def levels(self, protected: str, levels: Iterable[float]) -> set[float]:
        """The levels of association at which computations may be counted.

        Other levels would narrow the range of an association, or are finer than the rounding of
        computations that no report describes.
        """
        _, spreads = self._own.get(protected, (0, []))
        ranges = [spread.association for spread in spreads if spread.association is not None]
        return {
            level
            for level in levels
            if level == self.audit.epsilon
            or (level >= self._step and not any(low < level <= high for low, high in ranges))
        }

    def _may_change(
        self,
        epsilon: float,
        bounds: Mapping[bytes, tuple[float, float]],
        table: ThresholdTable,
    ) -> bool:
        """Whether other possible data may confirm another number of witnesses at an epsilon.

        A lower bound moves with the association. Below the epsilon of the audit, computations
        without a known bound count as well.
        """
        for (digest, protected), spread in self._spreads.items():
            if protected != table.protected or spread.association is None:
                continue
            (low, high), width = spread.association, spread.association[1] - spread.association[0]
            known = bounds.get(digest)
            if not width or high < epsilon:
                continue
            if known is None:
                if epsilon < self.audit.epsilon:
                    return True
                continue
            exact = self._exact[digest, protected]
            least, most = known[0] - (exact - low) - width, known[0] + (high - exact) + width
            if least < epsilon <= most:
                return True
        return False


def _kept(
    counts: tuple[tuple[int | None, ...], ...], known: list[bool]
) -> tuple[tuple[int | None, ...], ...]:
    return tuple(
        tuple(n if keep else None for n, keep in zip(row, known, strict=True)) for row in counts
    )


def _one_digit_up(value: float | None) -> float | None:
    if not value:
        return value
    step = 10.0 ** math.floor(math.log10(value))
    return min(1.0, float(f"{step * math.ceil(round(value / step, 6)):.1g}"))


def _by_values(measure: Association, rows: Array, columns: Array, masses: Array) -> Array:
    """The associations of many tables of masses that have the same values."""
    return np.array([association_of_values(measure, one, rows, columns) for one in masses])


def _at(codes: Array, people: Array | None) -> Array:
    return codes if people is None else codes[people]


class _Known(dict[object, Release]):
    """The releases of a sample, because every format of a report needs the same one."""

    def __init__(self, sample: Sample) -> None:
        super().__init__()


def release_of(audit: Audited, min_cell: int) -> Release:
    """What may be printed about an audit; computed once, so that all formats agree."""
    known = audit.measurement.sample.shared(_Known)
    keys = tuple(witness.key for witness in audit.witnesses)
    key = min_cell, audit.epsilon, audit.delta, len(audit.decompositions), keys
    if key not in known:
        known[key] = Release(audit, min_cell)
    return known[key]
