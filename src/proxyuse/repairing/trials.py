"""What could be put in place of what, to be rid of one witness, and what it would cost.

A trial is a set of positions and a constant for each. Those that are looked at for a witness (p1,
p2): p1 itself; p1 at some of its positions; each expression inside p1, alike in every copy; where
p1 is a guard, what is in its branches. Where none of them but p1 itself removes the witness, the
best of them together. For each expression the best constants are looked for:

- true and false for a guard;
- the constants of its leaves, and the mean of what rows say, for a tree;
- for a variable in tests, one of its values for each outcome of all these tests;
- for a number on one side of a threshold that differs from row to row, the best of all numbers;
- otherwise the values that occur.

The utility of a trial is exact, but for sums of many trees, of which all but one are added
up once; what is then applied is measured again as a whole.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from proxyuse.auditing import Audit
from proxyuse.detect.witnesses import Witness
from proxyuse.lang.evaluate import Array, apply, constant, first_value
from proxyuse.lang.kinds import BOOLEAN
from proxyuse.lang.nodes import (
    Associative,
    Const,
    Ite,
    Var,
    children,
    value_text,
)
from proxyuse.lang.positions import Cover, Points, Site
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.association.support import support_of
from proxyuse.measure.engine import Measurement
from proxyuse.measure.interventions import Interventions
from proxyuse.repairing.region import Region, region_at
from proxyuse.repairing.region_trials import RegionTrials
from proxyuse.repairing.utility import Utility


@dataclass(frozen=True, slots=True)
class Effort:
    """How much is looked at for one witness.

    Attributes
    ----------
    constants : constants tried for one expression, where it takes an evaluation for each.
    expressions : expressions inside a computation that are tried, where it takes an evaluation
        for each constant.
    checks : trials that are looked at, best first, for whether they remove the witness.
    costly : of these, those for which the whole changed program has to be looked at.
    variables : variables of a large program that are tried, those that tell most first.
    """

    constants: int = 16
    expressions: int = 64
    checks: int = 256
    costly: int = 32
    variables: int = 6


@dataclass(frozen=True, slots=True)
class Trial:
    """Constants in place of parts of a program.

    Attributes
    ----------
    new : the positions and the constants.
    gain : how much the utility changes, the more the better.
    removed : how many nodes they replace.
    """

    new: Mapping[Site, Const]
    gain: float
    removed: int

    @property
    def key(self) -> tuple[float, int, tuple[Site, ...], tuple[str, ...]]:
        """Better trials first: by utility, then the smaller program, then position."""
        values = {value_text(value.value) for value in self.new.values()}
        return (
            -round(self.gain, 12),
            -self.removed,
            tuple(sorted(self.new)),
            tuple(sorted(values)),
        )


class TrialContext:
    """A program on some rows, as trials see it."""

    def __init__(
        self,
        audit: Audit,
        measurement: Measurement,
        utility: Utility,
        association: Association,
        effort: Effort,
    ) -> None:
        self.audit, self.utility = audit, utility
        self.measurement, self.sample = measurement, measurement.sample
        self.interventions = Interventions(measurement)
        self.association, self.effort = association, effort
        self.program, self.points = audit.program, audit.program.points
        self.protected = {z.name: i for i, z in enumerate(audit.population.protected)}
        self._regions: dict[int, RegionTrials] = {}
        self._best: dict[tuple[Site, ...], list[Trial]] = {}
        self.small = self.sample.n_rows * self.points.terms[0].size < SMALL

    @cached_property
    def outputs(self) -> Array:
        """What the program says."""
        return self.sample.outputs()

    @cached_property
    def gains(self) -> Array:
        """What each row adds to the utility."""
        return self.utility.gains(self.outputs)

    def region(self, point: int) -> RegionTrials | None:
        """The region in which a point lies; the last one is kept."""
        found = region_at(self.points, point)
        if found is None:
            return None
        root, nodes = found
        if root not in self._regions:
            self._regions.clear()
            region = Region(self.points, root, nodes, self.sample.values, self.sample.n_rows)
            self._regions[root] = RegionTrials(region, self.measurement, self.utility)
        return self._regions[root]

    def outputs_with(self, new: Mapping[Site, Const]) -> Array:
        """What the program says with constants at some positions."""
        root = self.region(0) if isinstance(self.points.terms[0], Ite) else None
        if root is not None and root.region.root == 0 and not any(s.operands for s in new):
            codes = root.region.codes_with(new)
            words = [constant(v, self.sample.vocabulary) for v in root.region.constants]
            return np.concatenate(words)[codes]
        return self.interventions.values_with(new)

    def trial(self, new: Mapping[Site, Const]) -> Trial:
        """A trial with what it costs."""
        more = self.utility.gains(self.outputs_with(new)).sum() - self.gains.sum()
        return Trial(new, self.utility.worth(more), self._size(new))

    def _size(self, sites: Iterable[Site]) -> int:
        return sum(end - start for site in sites for start, end in self.points.covers(site))

    # The best constants for an expression at some positions

    def best_constants(self, sites: Sequence[Site], limit: int = 2) -> list[Trial]:
        """Trials that put one constant at all of some positions, best first; kept."""
        key = tuple(sites)
        if key not in self._best:
            self._best[key] = self._constants(sites)
        return self._best[key][:limit]

    def _constants(self, sites: Sequence[Site]) -> list[Trial]:
        swept = self._swept(sites[0]) if len(sites) == 1 else None
        values = self._options(sites) if swept is None else swept
        if len(sites) == 1:
            trials = [self._one_constant(sites[0], value) for value in values]
        else:
            trials = [self.trial(dict.fromkeys(sites, value)) for value in values]
        return sorted(trials, key=lambda trial: trial.key)[:3]

    def _one_constant(self, site: Site, value: Const) -> Trial:
        rows = np.flatnonzero(self.sample.reached(site.point))
        values = constant(value.value, self.sample.vocabulary)
        said = np.broadcast_to(values, (len(rows), *values.shape[1:]))
        gains = self.utility.gains(self.interventions.outcome(site, rows, said), rows)
        more = gains.sum() - self.gains[rows].sum()
        return Trial({site: value}, self.utility.worth(more), self._size([site]))

    def _options(self, sites: Sequence[Site]) -> list[Const]:
        """The constants that are tried at some positions of one expression."""
        term = self.points.term_at(sites[0])
        if self.sample.frame.check(term) == BOOLEAN:
            return [Const(True), Const(False)]
        values = self.sample.values(term)
        support = support_of(values, self.sample.n_rows)
        masses = support.masses(self.sample.weights)
        chosen = np.arange(len(support))
        if isinstance(self.points.terms[sites[0].point], Var):
            kinds = self.interventions.value_classes(sites, support)
            chosen = _middles(kinds, masses)
        most = self.effort.constants if self.small else self.effort.constants // 2
        if len(chosen) > most:
            ordered = values.dtype == np.float64 and values.ndim == 1
            chosen = _spread(chosen, masses, most, ordered)
        found = [
            Const(first_value(support.values[i : i + 1], self.sample.vocabulary)) for i in chosen
        ]
        if values.dtype == np.float64 and not isinstance(self.points.terms[sites[0].point], Var):
            mean = np.average(values, axis=0, weights=self.sample.weights)[None]
            if np.isfinite(mean).all():
                found.append(Const(first_value(mean, self.sample.vocabulary)))
        return list({value_text(c.value): c for c in found}.values())

    def _swept(self, site: Site) -> list[Const] | None:
        """The best number of all, where the output falls on one of two sides in each row.

        Sort the rows by their thresholds; what each side adds to the utility is summed up from
        both ends. Of the best interval, the point nearest the mean. O(n log n).
        """
        sides = self.interventions.sides(site)
        if sides is None:
            return None
        rows, tau, low, high = sides
        if isinstance(self.points.term_at(site), Var) and len(np.unique(tau)) <= 1:
            return None  # a value on each side of one threshold is at hand
        mean = self._mean(site)
        if len(rows) == 0 or not np.isfinite(mean):
            return None
        below, above = self.utility.gains(low, rows), self.utility.gains(high, rows)
        order = np.argsort(tau, kind="stable")
        cuts = tau[order]
        # with a constant between cuts[i - 1] and cuts[i], the rows from i on are on the low side
        score = np.concatenate([[0.0], np.cumsum(above[order])])
        score += np.concatenate([np.cumsum(below[order][::-1])[::-1], [0.0]])
        lows = np.concatenate([[-np.inf], cuts])
        highs = np.concatenate([cuts, [np.inf]])
        narrow = highs - lows <= 1e-9 * np.maximum(1.0, np.abs(cuts).max())
        score[narrow] = -np.inf  # no constant to put there that rounding does not move
        best = np.flatnonzero(score >= score.max() - 1e-12 * (1 + abs(score.max())))
        apart = MARGIN * max(1.0, float(np.abs(cuts).max()))
        inside = np.clip(mean, lows[best] + apart, highs[best] - apart)
        widths = np.isfinite(lows[best]) & np.isfinite(highs[best])
        middle = np.where(widths, (lows[best] + highs[best]) / 2, inside)
        point = np.where((mean > lows[best]) & (mean < highs[best]), mean, middle)
        picked = float(point[np.argmin(np.abs(point - mean))])
        return [Const(picked), Const(mean)]

    def _mean(self, site: Site) -> float:
        values = self.sample.values(self.points.term_at(site))
        known = np.broadcast_to(values.astype(np.float64), (self.sample.n_rows,))
        held = ~np.isnan(known)
        if not held.any():
            return float("nan")
        return float(np.average(known[held], weights=self.sample.weights[held]))

    # What is left of a witness

    def left(self, witness: Witness, trial: Trial) -> tuple[float, float]:
        """Association and influence that a trial leaves to a witness."""
        sites = witness.decomposition.sites
        covered = Cover(self.points, trial.new)
        gone = [covered.holds(site) for site in sites]
        if all(gone):
            return 0.0, 0.0
        region = self._region_of(sites)
        if region is not None:
            place = self.protected[witness.protected]
            found = region.left(sites[0], dict(trial.new), self.association, place)
            if found is not None:
                return found
        own = Cover(self.points, sites)
        if any(gone) or not all(own.holds(site) for site in trial.new):
            rest = [site for site, out in zip(sites, gone, strict=True) if not out]
            return witness.association, self.interventions.influence_after(rest, trial.new)
        values = self._values_with(sites[0], trial.new)
        each = self.measurement.joint.association_of(values, self.association)
        association = float(each[self.protected[witness.protected]])
        if association < self.audit.epsilon:
            return association, witness.influence
        return association, self.interventions.influence_of(sites, values)

    def gone(self, witness: Witness, trial: Trial) -> bool:
        """Whether a trial removes a witness."""
        association, influence = self.left(witness, trial)
        return association < self.audit.epsilon or influence <= self.audit.delta

    def _values_with(self, site: Site, new: Mapping[Site, Const]) -> Array:
        """What an expression says with constants inside it."""
        if not site.operands:
            return self.interventions.values_with(new, site.point)
        term = self.points.terms[site.point]
        below = self.points.below(site.point)
        subset = {s: v for s, v in new.items() if s.point == site.point and s.operands}
        gone = {step for s in subset for step in s.operands}
        inner = {s: v for s, v in new.items() if s not in subset}
        steps = sorted(set(site.operands) - gone, key=lambda step: term._order[step])
        parts = [self.interventions.values_with(inner, below[step]) for step in steps]
        parts += [constant(v.value, self.sample.vocabulary) for v in subset.values()]
        return parts[0] if len(parts) == 1 else apply(term, parts, {}, self.sample.vocabulary)

    # Trials for a witness

    def removing(self, witness: Witness, count: int) -> list[Trial]:
        """Trials that remove a witness, the cheapest first; `count` of them if there are as many.

        Where only few do, p1 itself is the last.
        """
        whole = self.best_constants(witness.decomposition.sites)[0]
        trials = sorted({t.key: t for t in self._trials(witness)}.values(), key=lambda t: t.key)
        better = [trial for trial in trials if trial.key < whole.key]
        found: list[Trial] = []
        failed: list[tuple[Trial, float, float]] = []
        costly = 0
        for trial in better[: self.effort.checks]:
            if len(found) == count or costly == self.effort.costly:
                break
            costly += self._is_costly(witness, trial)
            left = self.left(witness, trial)
            if left[0] < self.audit.epsilon or left[1] <= self.audit.delta:
                found.append(trial)
            else:
                failed.append((trial, *left))
        if not found and (joined := self._joined(witness, failed, whole)) is not None:
            found.append(joined)
        return [*found, whole][:count]

    def _is_costly(self, witness: Witness, trial: Trial) -> bool:
        """Whether what is left of a witness takes a look at the whole changed program."""
        sites = witness.decomposition.sites
        own = Cover(self.points, sites)
        inside = all(own.holds(site) for site in trial.new)
        return (len(sites) > 1 and len(trial.new) < len(sites)) or not (
            inside or self._region_of(sites) is not None
        )

    def _trials(self, witness: Witness) -> Iterator[Trial]:
        sites = witness.decomposition.sites
        region = self._region_of(sites)
        if region is not None:
            for new, gain in region.changes(sites[0]):
                yield Trial(new, self.utility.worth(gain), self._size(new))
            yield from self._variables(sites)
            return
        if len(sites) > 1:
            yield from self._some_positions(sites)
            yield from self._around(sites)
        yield from self._inside(sites)

    def _around(self, sites: tuple[Site, ...]) -> Iterator[Trial]:
        """In a program that is one tree, what takes some of several positions out with it."""
        region = self.region(0)
        if region is None or region.region.root > 0 or not region.small:
            return
        for new, gain in region.changes(Site(0)):
            ((place, value),) = new.items()
            gone = self.points.covers(place)
            if place.point not in region.region.below:  # a guard: one branch is never taken
                branches = region.region.below[self.points.parents[place.point]][1:]
                never = branches[1 if value.value else 0]
                gone = [*gone, (never, self.points.end(never))]
            if any(start <= site.point < end for site in sites for start, end in gone):
                yield Trial(new, self.utility.worth(gain), self._size(new))

    def _region_of(self, sites: Sequence[Site]) -> RegionTrials | None:
        """The region that one position is a node of, or the guard of a node."""
        if len(sites) > 1:
            return None
        region = self.region(sites[0].point)
        known = region is not None and region.small and region.node_of(sites[0]) is not None
        return region if known else None

    def _some_positions(self, sites: tuple[Site, ...]) -> Iterator[Trial]:
        """The most influential positions, more and more of them."""
        influences = self.measurement.influences(sites)
        order = np.argsort(influences, kind="stable")[::-1]
        ranked = [sites[i] for i in order.tolist()]
        if self.small:
            for site in ranked[: self.effort.expressions]:
                yield from self.best_constants([site], 2)
        size = 2 if self.small else len(ranked) // 4
        while 1 < size < len(ranked):
            yield from self.best_constants(sorted(ranked[:size]), 2 if self.small else 1)
            size *= 2

    def _inside(self, sites: tuple[Site, ...]) -> Iterator[Trial]:
        """Expressions inside, alike in all copies; of large programs, the variables."""
        if not self.small:
            yield from self._variables(sites)
            return
        groups: dict[bytes, list[Site]] = {}
        for site in sites:
            for start, end in self.points.covers(site):
                for point in range(start, end):
                    term = self.points.terms[point]
                    if not isinstance(term, Const) and Site(point) not in sites:
                        groups.setdefault(term.digest, []).append(Site(point))
        ranked = sorted(groups.values(), key=self._promise)
        for group in ranked[: self.effort.expressions]:
            yield from self.best_constants(_disjoint(self.points, group), 2)
        if len(sites) == 1:
            yield from self._smaller_subsets(sites[0])

    def _promise(self, group: list[Site]) -> tuple[bool, int]:
        """Variables first, then what is large."""
        term = self.points.terms[group[0].point]
        return not isinstance(term, Var), -term.size

    def _variables(self, sites: tuple[Site, ...]) -> Iterator[Trial]:
        """Variables inside, each everywhere there; of a large program those that tell most."""
        groups: dict[str, list[Site]] = {}
        for site in sites:
            for start, end in self.points.covers(site):
                for point in range(start, end):
                    term = self.points.terms[point]
                    if isinstance(term, Var):
                        groups.setdefault(term.name, []).append(Site(point))
        names = list(groups)
        if not self.small:
            told = self.measurement.associations([Var(name) for name in names], self.association)
            order = np.argsort(-told.max(axis=1), kind="stable")[: self.effort.variables]
            names = [names[i] for i in order.tolist()]
        for name in names:
            if len(groups[name]) > 1:
                yield from self.best_constants(groups[name])

    def _smaller_subsets(self, site: Site) -> Iterator[Trial]:
        """Of some operands all but one, and pairs."""
        term = self.points.terms[site.point]
        if not isinstance(term, Associative):
            return
        parts = children(term)
        steps = site.operands or tuple(
            step for step, i in enumerate(term._order) if not isinstance(parts[i], Const)
        )
        if len(steps) < 3:
            return
        some = [tuple(s for s in steps if s != left) for left in steps]
        some += [(a, b) for a in steps for b in steps if a < b] if len(steps) < 12 else []
        for subset in dict.fromkeys(some[: self.effort.expressions]):
            yield from self.best_constants([Site(site.point, subset)], 2)

    def _joined(
        self, witness: Witness, checked: list[tuple[Trial, float, float]], whole: Trial
    ) -> Trial | None:
        """Trials that do not remove a witness alone, put together until they do.

        First those that take most of its association for what they cost.
        """

        def worth(entry: tuple[Trial, float, float]) -> float:
            trial, association, influence = entry
            taken = max(
                1 - association / max(witness.association, 1e-9),
                1 - influence / max(witness.influence, 1e-9),
            )
            return taken / max(1e-6, -trial.gain + 1e-4)

        ranked = sorted(checked, key=worth, reverse=True)
        joined: dict[Site, Const] = {}
        for trial, _, _ in ranked[:8]:
            before, here = Cover(self.points, joined), Cover(self.points, trial.new)
            if any(map(before.touches, trial.new)) or any(map(here.touches, joined)):
                continue
            joined |= trial.new
            if len(joined) == len(trial.new):
                continue
            together = self.trial(joined)
            if together.key >= whole.key:
                return None
            if self.gone(witness, together):
                return together
        return None


SMALL = 1 << 26  # rows times nodes
MARGIN = 1e-6  # from a threshold to a constant beside it: float32 tells them apart


def _middles(kinds: Array, masses: Array) -> Array:
    """Of each kind of value the one in the middle by mass."""
    found = []
    for kind in np.unique(kinds):
        own = np.flatnonzero(kinds == kind)
        upto = np.cumsum(masses[own])
        found.append(own[np.searchsorted(upto, upto[-1] / 2)])
    return np.array(found, dtype=np.intp)


def _spread(chosen: Array, masses: Array, count: int, ordered: bool) -> Array:
    """Some of many values: spread evenly by mass where they have an order, else the heaviest."""
    if not ordered:
        return chosen[np.argsort(-masses[chosen], kind="stable")[:count]]
    chosen = np.sort(chosen)
    upto = np.cumsum(masses[chosen])
    places = np.searchsorted(upto, upto[-1] * (np.arange(count) + 0.5) / count)
    return np.asarray(chosen[np.unique(np.minimum(places, len(chosen) - 1))])


def _disjoint(points: Points, sites: list[Site]) -> list[Site]:
    """Those that do not lie in one before."""
    found: list[Site] = []
    end = -1
    for site in sorted(sites):
        if site.point >= end:
            found.append(site)
            end = points.end(site.point)
    return found
