"""The cheapest trials that remove one witness.

For a witness (p1, p2), the candidates are p1 itself, p1 at some of its positions, each expression
inside p1 (with the same constant in every copy), and, if p1 is a guard, the expressions in its
branches. If only p1 itself removes the witness, the best of the others are combined.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from proxyuse.detect.witnesses import Witness
from proxyuse.lang.evaluate import Array, apply, constant
from proxyuse.lang.nodes import Associative, Const, Var, children
from proxyuse.lang.positions import Cover, Points, Site
from proxyuse.repairing.best_constants import BestConstants
from proxyuse.repairing.region_trials import RegionTrials
from proxyuse.repairing.trial_context import Trial, TrialContext

JOINED = 8  # trials that may be combined into one


class Trials:
    """Trials that remove the witnesses of one audited program."""

    def __init__(self, context: TrialContext) -> None:
        self.context, self._effort = context, context.effort
        self._points, self._interventions = context.points, context.interventions
        self.constants = BestConstants(context)
        self._epsilon = context.audit.epsilon

    def removing(self, witness: Witness, count: int, by_influence: bool = False) -> list[Trial]:
        """Up to `count` trials that remove a witness, the cheapest first.

        A constant in place of p1 always removes it. It comes last if there are not enough others.
        With `by_influence`, a lower association does not remove it: it is a column that determines
        the protected attribute, and its own association may be below epsilon.
        """
        self._epsilon = 0.0 if by_influence else self.context.audit.epsilon
        whole = self.constants.at(witness.decomposition.sites)[0]
        trials = sorted({t.key: t for t in self._trials(witness)}.values(), key=lambda t: t.key)
        cheaper = [trial for trial in trials if trial.key < whole.key]
        removing: list[Trial] = []
        failed: list[tuple[Trial, float, float]] = []
        costly = 0
        for trial in cheaper[: self._effort.checks]:
            if len(removing) == count or costly == self._effort.costly:
                break
            costly += self._is_costly(witness, trial)
            association, influence = self._remaining(witness, trial)
            if self._is_removed(association, influence):
                removing.append(trial)
            else:
                failed.append((trial, association, influence))
        if not removing and (joined := self._joined(witness, failed, whole)) is not None:
            removing.append(joined)
        return [*removing, whole][:count]

    # The rest of a witness

    def _is_removed(self, association: float, influence: float) -> bool:
        return association < self._epsilon or influence <= self.context.audit.delta

    def _remaining(self, witness: Witness, trial: Trial) -> tuple[float, float]:
        """The association and influence of a witness after a trial."""
        context, sites = self.context, witness.decomposition.sites
        covered = Cover(self._points, trial.new)
        removed = [covered.holds(site) for site in sites]
        if all(removed):
            return 0.0, 0.0
        protected = context.protected[witness.protected]
        region = self._region_of(sites)
        if region is not None:
            measures = region.remaining(sites[0], dict(trial.new), context.association, protected)
            if measures is not None:
                return measures
        own = Cover(self._points, sites)
        if any(removed) or not all(own.holds(site) for site in trial.new):
            rest = [site for site, gone in zip(sites, removed, strict=True) if not gone]
            return witness.association, self._interventions.influence_after(rest, trial.new)
        values = self._values_with(sites[0], trial.new)
        each = context.measurement.joint.association_of(values, context.association)
        association = float(each[protected])
        if association < context.audit.epsilon:
            return association, witness.influence
        return association, self._interventions.influence_of(sites, values)

    def _values_with(self, site: Site, new: Mapping[Site, Const]) -> Array:
        """The values of an expression with constants inside it."""
        if not site.operands:
            return self._interventions.values_with(new, site.point)
        term, vocabulary = self._points.terms[site.point], self.context.sample.vocabulary
        below = self._points.below(site.point)
        subsets = {s: v for s, v in new.items() if s.point == site.point and s.operands}
        replaced = {step for s in subsets for step in s.operands}
        inner = {s: v for s, v in new.items() if s not in subsets}
        steps = sorted(set(site.operands) - replaced, key=lambda step: term._order[step])
        parts = [self._interventions.values_with(inner, below[step]) for step in steps]
        parts += [constant(v.value, vocabulary) for v in subsets.values()]
        return parts[0] if len(parts) == 1 else apply(term, parts, {}, vocabulary)

    def _is_costly(self, witness: Witness, trial: Trial) -> bool:
        """Whether `_remaining` evaluates the whole changed program."""
        sites = witness.decomposition.sites
        own = Cover(self._points, sites)
        inside = all(own.holds(site) for site in trial.new)
        return (len(sites) > 1 and len(trial.new) < len(sites)) or not (
            inside or self._region_of(sites) is not None
        )

    # Candidates for a witness

    def _trials(self, witness: Witness) -> Iterator[Trial]:
        sites = witness.decomposition.sites
        region = self._region_of(sites)
        if region is not None:
            for new, gain in region.changes(sites[0]):
                yield self.context.trial_of_gain(new, gain)
            yield from self._variables(sites)
            return
        if len(sites) > 1:
            yield from self._some_positions(sites)
            yield from self._around(sites)
        yield from self._inside(sites)

    def _region_of(self, sites: Sequence[Site]) -> RegionTrials | None:
        """The region in which a single position is a node or the guard of a node."""
        if len(sites) > 1:
            return None
        region = self.context.region(sites[0].point)
        known = region is not None and region.small and region.node_of(sites[0]) is not None
        return region if known else None

    def _around(self, sites: tuple[Site, ...]) -> Iterator[Trial]:
        """In a program that is one tree, changes that remove some of the positions with them."""
        region = self.context.region(0)
        if region is None or region.region.root > 0 or not region.small:
            return
        for new, gain in region.changes(Site(0)):
            ((changed, value),) = new.items()
            removed = self._points.covers(changed)
            if changed.point not in region.region.below:  # a constant guard removes a branch
                branches = region.region.below[self._points.parents[changed.point]][1:]
                unreachable = branches[1 if value.value else 0]
                removed = [*removed, (unreachable, self._points.end(unreachable))]
            if any(start <= site.point < end for site in sites for start, end in removed):
                yield self.context.trial_of_gain(new, gain)

    def _some_positions(self, sites: tuple[Site, ...]) -> Iterator[Trial]:
        """The most influential positions, in growing sets."""
        small = self.context.small
        influences = self.context.measurement.influences(sites)
        order = np.argsort(influences, kind="stable")[::-1]
        ranked = [sites[i] for i in order.tolist()]
        if small:
            for site in ranked[: self._effort.expressions]:
                yield from self.constants.at([site], 2)
        size = 2 if small else len(ranked) // 4
        while 1 < size < len(ranked):
            yield from self.constants.at(sorted(ranked[:size]), 2 if small else 1)
            size *= 2

    def _inside(self, sites: tuple[Site, ...]) -> Iterator[Trial]:
        """Expressions inside, the same in all copies. In large programs, only variables."""
        if not self.context.small:
            yield from self._variables(sites)
            return
        groups: dict[bytes, list[Site]] = {}
        for point in self._points_in(sites):
            term = self._points.terms[point]
            if not isinstance(term, Const) and Site(point) not in sites:
                groups.setdefault(term.digest, []).append(Site(point))
        ranked = sorted(groups.values(), key=self._variables_then_largest)
        for group in ranked[: self._effort.expressions]:
            yield from self.constants.at(_disjoint(self._points, group), 2)
        if len(sites) == 1:
            yield from self._smaller_subsets(sites[0])

    def _points_in(self, sites: tuple[Site, ...]) -> Iterator[int]:
        for site in sites:
            for start, end in self._points.covers(site):
                yield from range(start, end)

    def _variables_then_largest(self, group: list[Site]) -> tuple[bool, int]:
        term = self._points.terms[group[0].point]
        return not isinstance(term, Var), -term.size

    def _variables(self, sites: tuple[Site, ...]) -> Iterator[Trial]:
        """Repeated variables inside, each at all its positions.

        In a large program, only those with the highest associations.
        """
        groups: dict[str, list[Site]] = {}
        for point in self._points_in(sites):
            term = self._points.terms[point]
            if isinstance(term, Var):
                groups.setdefault(term.name, []).append(Site(point))
        names = list(groups)
        if not self.context.small:
            associations = self.context.measurement.associations(
                [Var(name) for name in names], self.context.association
            )
            strongest = np.argsort(-associations.max(axis=1), kind="stable")
            names = [names[i] for i in strongest[: self._effort.variables].tolist()]
        for name in names:
            if len(groups[name]) > 1:
                yield from self.constants.at(groups[name])

    def _smaller_subsets(self, site: Site) -> Iterator[Trial]:
        """All operands but one, and pairs of operands."""
        term = self._points.terms[site.point]
        if not isinstance(term, Associative):
            return
        parts = children(term)
        steps = site.operands or tuple(
            step for step, i in enumerate(term._order) if not isinstance(parts[i], Const)
        )
        if len(steps) < 3:
            return
        subsets = [tuple(step for step in steps if step != omitted) for omitted in steps]
        subsets += [(a, b) for a in steps for b in steps if a < b] if len(steps) < 12 else []
        for subset in dict.fromkeys(subsets[: self._effort.expressions]):
            yield from self.constants.at([Site(site.point, subset)], 2)

    def _joined(
        self, witness: Witness, failed: list[tuple[Trial, float, float]], whole: Trial
    ) -> Trial | None:
        """Trials that fail alone, combined until they remove the witness.

        Takes first what reduces its association or influence most for its cost.
        """

        def worth(entry: tuple[Trial, float, float]) -> float:
            trial, association, influence = entry
            reduction = max(
                1 - association / max(witness.association, 1e-9),
                1 - influence / max(witness.influence, 1e-9),
            )
            return reduction / max(1e-6, -trial.gain + 1e-4)

        ranked = sorted(failed, key=worth, reverse=True)
        joined: dict[Site, Const] = {}
        for trial, _, _ in ranked[:JOINED]:
            before, here = Cover(self._points, joined), Cover(self._points, trial.new)
            if any(map(before.touches, trial.new)) or any(map(here.touches, joined)):
                continue
            joined |= trial.new
            if len(joined) == len(trial.new):
                continue
            together = self.context.trial(joined)
            if together.key >= whole.key:
                return None
            if self._is_removed(*self._remaining(witness, together)):
                return together
        return None


def _disjoint(points: Points, sites: list[Site]) -> list[Site]:
    """The sites that do not lie inside an earlier one."""
    disjoint: list[Site] = []
    end = -1
    for site in sorted(sites):
        if site.point >= end:
            disjoint.append(site)
            end = points.end(site.point)
    return disjoint
