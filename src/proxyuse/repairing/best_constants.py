"""The constants that cost the least in place of one expression.

The constants tried depend on the expression:

- a guard: true and false;
- a number compared with a threshold that differs between rows: the best of all numbers;
- a variable read by tests: one value for each combination of test outcomes;
- anything else: the values that occur and, for numbers, their mean.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from proxyuse.lang.evaluate import Array, constant, first_value
from proxyuse.lang.kinds import BOOLEAN
from proxyuse.lang.nodes import Const, Var, value_text
from proxyuse.lang.positions import Site
from proxyuse.measure.association.support import support_of
from proxyuse.repairing.trial_context import Trial, TrialContext

MARGIN = 1e-6  # distance of a constant from a threshold; wide enough for float32
KEPT = 3  # trials kept per expression
MANY = 64  # positions from which few constants are tried, because each evaluates most of a program
FEW = 3


class BestConstants:
    """The best constants for expressions of one program, cached."""

    def __init__(self, context: TrialContext) -> None:
        self._context = context
        self._sample, self._points = context.sample, context.points
        self._utility, self._interventions = context.utility, context.interventions
        self._cache: dict[tuple[Site, ...], list[Trial]] = {}

    def at(self, sites: Sequence[Site], limit: int = 2) -> list[Trial]:
        """Trials that put the same constant at all of some positions, best first."""
        key = tuple(sites)
        if key not in self._cache:
            self._cache[key] = self._ranked(sites)
        return self._cache[key][:limit]

    def of_column(self, name: str, sites: Sequence[Site]) -> Trial:
        """The best trial that puts the same constant at all positions of a variable.

        If there are many, runs the program once per constant on rows that all have this value, so
        the cost does not depend on the number of positions.
        """
        if len(sites) <= MANY:
            return self.at(sites)[0]
        values = self._values_to_try(sites)
        trials = [self._context.trial_of_column(name, sites, value) for value in values]
        return min(trials, key=lambda trial: trial.key)

    def _ranked(self, sites: Sequence[Site]) -> list[Trial]:
        best_number = self._best_number(sites[0]) if len(sites) == 1 else None
        values = self._values_to_try(sites) if best_number is None else best_number
        if len(sites) == 1:
            trials = [self._at_one_site(sites[0], value) for value in values]
        else:
            trials = [self._context.trial(dict.fromkeys(sites, value)) for value in values]
        return sorted(trials, key=lambda trial: trial.key)[:KEPT]

    def _at_one_site(self, site: Site, value: Const) -> Trial:
        rows = np.flatnonzero(self._sample.reached(site.point))
        values = constant(value.value, self._sample.vocabulary)
        repeated = np.broadcast_to(values, (len(rows), *values.shape[1:]))
        gains = self._utility.gains(self._interventions.outcome(site, rows, repeated), rows)
        more = gains.sum() - self._context.gains[rows].sum()
        return self._context.trial_of_gain({site: value}, more)

    def _values_to_try(self, sites: Sequence[Site]) -> list[Const]:
        term = self._points.term_at(sites[0])
        if self._sample.frame.check(term) == BOOLEAN:
            return [Const(True), Const(False)]
        values = self._sample.values(term)
        support = support_of(values, self._sample.n_rows)
        masses = support.masses(self._sample.weights)
        chosen = np.arange(len(support))
        is_variable = isinstance(self._points.terms[sites[0].point], Var)
        if is_variable:
            chosen = _medians(self._interventions.value_classes(sites, support), masses)
        effort = self._context.effort.constants
        limit = effort if self._context.small else effort // 2
        limit = min(limit, FEW) if len(sites) > MANY else limit
        if len(chosen) > limit:
            ordered = values.dtype == np.float64 and values.ndim == 1
            chosen = _spread(chosen, masses, limit, ordered)
        constants = [
            Const(first_value(support.values[i : i + 1], self._sample.vocabulary)) for i in chosen
        ]
        if values.dtype == np.float64 and not is_variable:
            mean = np.average(values, axis=0, weights=self._sample.weights)[None]
            if np.isfinite(mean).all():
                constants.append(Const(first_value(mean, self._sample.vocabulary)))
        return list({value_text(c.value): c for c in constants}.values())

    def _best_number(self, site: Site) -> list[Const] | None:
        """The best of all numbers, where each row compares the number with one threshold.

        Sorts the rows by threshold and accumulates the gains of both sides. Within the best
        interval, takes the point nearest the mean. O(n log n).
        """
        sides = self._interventions.sides(site)
        if sides is None:
            return None
        rows, thresholds, low, high = sides
        if isinstance(self._points.term_at(site), Var) and len(np.unique(thresholds)) <= 1:
            return None  # the variable's own values cover both sides of one threshold
        mean = self._mean(site)
        if len(rows) == 0 or not np.isfinite(mean):
            return None
        below, above = self._utility.gains(low, rows), self._utility.gains(high, rows)
        order = np.argsort(thresholds, kind="stable")
        cuts = thresholds[order]
        # A constant between cuts[i - 1] and cuts[i] is on the low side of the rows from i on.
        score = np.concatenate([[0.0], np.cumsum(above[order])])
        score += np.concatenate([np.cumsum(below[order][::-1])[::-1], [0.0]])
        lows = np.concatenate([[-np.inf], cuts])
        highs = np.concatenate([cuts, [np.inf]])
        narrow = highs - lows <= 1e-9 * np.maximum(1.0, np.abs(cuts).max())
        score[narrow] = -np.inf  # rounding could move a constant out of a narrow interval
        best = np.flatnonzero(score >= score.max() - 1e-12 * (1 + abs(score.max())))
        margin = MARGIN * max(1.0, float(np.abs(cuts).max()))
        inside = np.clip(mean, lows[best] + margin, highs[best] - margin)
        finite = np.isfinite(lows[best]) & np.isfinite(highs[best])
        middle = np.where(finite, (lows[best] + highs[best]) / 2, inside)
        numbers = np.where((mean > lows[best]) & (mean < highs[best]), mean, middle)
        nearest = float(numbers[np.argmin(np.abs(numbers - mean))])
        return [Const(nearest), Const(mean)]

    def _mean(self, site: Site) -> float:
        values = self._sample.values(self._points.term_at(site))
        numbers = np.broadcast_to(values.astype(np.float64), (self._sample.n_rows,))
        known = ~np.isnan(numbers)
        if not known.any():
            return float("nan")
        return float(np.average(numbers[known], weights=self._sample.weights[known]))


def _medians(classes: Array, masses: Array) -> Array:
    """The weighted median value of each class."""
    medians = []
    for number in np.unique(classes):
        members = np.flatnonzero(classes == number)
        cumulative = np.cumsum(masses[members])
        medians.append(members[np.searchsorted(cumulative, cumulative[-1] / 2)])
    return np.array(medians, dtype=np.intp)


def _spread(chosen: Array, masses: Array, count: int, ordered: bool) -> Array:
    """A few of many values: quantiles if the values are ordered, else the most frequent."""
    if not ordered:
        return chosen[np.argsort(-masses[chosen], kind="stable")[:count]]
    chosen = np.sort(chosen)
    cumulative = np.cumsum(masses[chosen])
    quantiles = cumulative[-1] * (np.arange(count) + 0.5) / count
    indices = np.searchsorted(cumulative, quantiles)
    return np.asarray(chosen[np.unique(np.minimum(indices, len(chosen) - 1))])
