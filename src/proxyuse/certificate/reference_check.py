"""Some decompositions, measured again by the definition.

`measure/reference.py` is short enough to be checked by reading it, and shares no code with the
engines that made the claim. It evaluates the nodes above a computation once for each distinct
value, so only a sample of the decompositions is checked, unless there are few of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from proxyuse.auditing import Audit
from proxyuse.certificate.compare import Difference, close
from proxyuse.data.population import Population, Protected
from proxyuse.detect.decompositions import Decomposition
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.protocol import Association, for_weights
from proxyuse.measure.engine import Measurement
from proxyuse.measure.influence import (
    QuantitativeInputInfluence,
    SquaredChange,
    draw_pairs,
)
from proxyuse.measure.reference import Reference
from proxyuse.measure.sample import Sample
from proxyuse.settings import Influence

SMALL = 2_000_000  # rows times decompositions up to which all are measured
MOST_COST = 1_000_000_000  # values computed for the influences of a sample, about
MOST_VALUES = 200_000_000  # that are held at a time: one a row and node
_COUNTABLE = 2**53


@dataclass(frozen=True, slots=True)
class Remeasured:
    """What the definition says.

    Attributes
    ----------
    drawn : how many decompositions were looked at.
    costly : of how many of them the influence was left out.
    rows : on how many rows.
    differences : where it says something else.
    """

    drawn: int
    costly: int
    rows: int
    differences: tuple[Difference, ...]


def remeasured(
    audit: Audit,
    always: Sequence[Decomposition],
    association: Association,
    influence: Influence,
    *,
    sample: int,
    seed: int,
    everything: bool,
    tick: Callable[[int], None],
) -> Remeasured:
    """Measure decompositions again and compare.

    All of them where they are few or `everything` is asked for; else `always`, and a sample.
    Where the values of all parts of the program do not fit into memory, a sample of the rows, on
    which the definition and the engines are compared.
    """
    measured, n_rows = audit.decompositions, audit.population.n_rows
    every = everything or n_rows * len(measured) <= SMALL
    generator = np.random.default_rng(seed)
    places = np.arange(len(measured))
    if not every and sample < len(measured):
        places = np.sort(generator.choice(len(measured), size=sample, replace=False))
    population = audit.population
    fits = max(MOST_VALUES // audit.program.size, 2)
    if not everything and fits < n_rows:
        rows = np.sort(generator.choice(n_rows, size=fits, replace=False))
        population = _taken(population, rows)
    chosen = {} if every else {found.id: found for found in always}
    for place in places.tolist():
        found = measured[place]
        chosen.setdefault(found.id, found)
    check = _Check(audit, population, association, influence, tick)
    return check.run(list(chosen.values()), None if everything else MOST_COST)


def _taken(population: Population, rows: np.ndarray) -> Population:
    return replace(
        population,
        columns={name: column.take(rows) for name, column in population.columns.items()},
        weights=population.weights[rows],
        protected=tuple(
            Protected(z.name, z.column.take(rows), z.source) for z in population.protected
        ),
        kept=None,
    )


class _Check:
    def __init__(
        self,
        audit: Audit,
        population: Population,
        association: Association,
        influence: Influence,
        tick: Callable[[int], None],
    ) -> None:
        self.audit, self.population = audit, population
        self.association = for_weights(association, audit.population.weights)
        asked = audit.settings
        options: dict[str, Any] = {
            "max_support": asked.max_support, "bins": asked.bins, "tick": tick,
        }  # fmt: skip
        self.reference = Reference(
            audit.program,
            population,
            loss=_loss(influence),
            pairs=draw_pairs(asked.sampling, population.weights) if asked.sampling else None,
            association=_formula(self.association),
            **options,
        )
        self.engines = None
        if population is not audit.population:
            sample = Sample(
                audit.program, population, influence=influence, sampling=asked.sampling, **options
            )
            self.engines = Measurement(sample)
        self.tick = tick
        whole = population.whole_weights and population.total**2 < _COUNTABLE
        exact = asked.sampling is None and isinstance(influence, QuantitativeInputInfluence)
        self.pairs = population.total**2 if whole and exact else None

    def run(self, chosen: Sequence[Decomposition], most_cost: int | None) -> Remeasured:
        """Associations of all, and influences from the cheapest on, up to a cost."""
        wrong: list[Difference] = []
        for found in chosen:
            self.tick(1)
            wrong += self._associations(found)
        costs = [(self._cost(found), found) for found in chosen if found.influence is not None]
        spent, left_out = 0, 0
        for cost, found in sorted(costs, key=lambda pair: pair[0]):
            spent += cost
            if most_cost is not None and spent > most_cost:
                left_out += 1
            else:
                self.tick(1)
                wrong += self._influence(found)
        return Remeasured(len(chosen), left_out, self.population.n_rows, tuple(wrong))

    def _cost(self, found: Decomposition) -> int:
        """How many values are computed for an influence, about."""
        points = self.audit.program.points
        above = 0
        for site in found.sites:
            point = site.point
            while point > 0:
                point = points.parents[point]
                above += 2
        if self.audit.settings.sampling is not None:
            return self.audit.settings.sampling.pairs * self.audit.program.size
        values = self.reference.values(found.expression)
        distinct = len(np.unique(values, axis=0))
        return distinct * self.population.n_rows * (4 + above)

    def _associations(self, found: Decomposition) -> list[Difference]:
        names = [attribute.name for attribute in self.population.protected]
        expected = [found.associations[name] for name in names]
        if self.engines is not None:
            expected = self.engines.associations([found.expression], self.association)[0].tolist()
        again = self.reference.associations(found.expression).tolist()
        return [
            Difference(f"association of {found.id} with {name}", stated, defined)
            for name, stated, defined in zip(names, expected, again, strict=True)
            if not close(stated, defined)
        ]

    def _influence(self, found: Decomposition) -> list[Difference]:
        expected = found.influence
        if self.engines is not None:
            expected = self.engines.influence(found.sites)
        assert expected is not None
        again = self.reference.influence(found.sites)
        if self.engines is None and found.error > 0:  # drawn, so it is as good as it says
            if abs(expected - again) <= found.error:
                return []
        elif close(expected, again) and self._counted(expected) == self._counted(again):
            return []
        return [Difference(f"influence of {found.id}", expected, again)]

    def _counted(self, influence: float) -> int | None:
        """The number of pairs of rows that an influence stands for, where it is one."""
        return None if self.pairs is None else round(influence * self.pairs)


def _loss(influence: Influence) -> Any:
    """The loss as the definition states it; a loss of the user's is used as it is."""
    if isinstance(influence, QuantitativeInputInfluence):
        return "change"
    return "squared change" if isinstance(influence, SquaredChange) else influence


def _formula(association: Association) -> Association | None:
    """None for the association that the definition states itself."""
    return None if isinstance(association, NormalizedMutualInformation) else association
