"""Recomputes decompositions from the definition.

`measure/reference.py` is short enough to verify by reading, and shares no code with the engines. It
evaluates the nodes above a computation once per distinct value, so only a sample of the
decompositions is checked unless there are few.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from proxyuse.completed_audit import Audit
from proxyuse.data.population import Population
from proxyuse.detect.decompositions import Decomposition
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.protocol import Association, for_weights
from proxyuse.measure.engine import Measurement
from proxyuse.measure.influence import (
    Moved,
    QuantitativeInputInfluence,
    SquaredChange,
    counts_pairs,
    draw_pairs,
)
from proxyuse.measure.reference import MovedBy, Reference
from proxyuse.measure.sample import Sample
from proxyuse.settings import Influence, most_values
from proxyuse.verification.compare import Difference, close

SMALL = 2_000_000  # rows times decompositions up to which all are recomputed
MAX_COST = 1_000_000_000  # about how many values the influences of a sample take
MAX_VALUES = 200_000_000  # values in memory: one per row and node
_COUNTABLE = 2**53


@dataclass(frozen=True, slots=True)
class Remeasured:
    """The measures by the definition.

    Attributes
    ----------
    drawn : the number of decompositions.
    costly : the number of those whose influence was skipped.
    rows : the number of rows.
    differences : the measures that differ from the audit.
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
    """Recompute decompositions and compare them with the audit.

    Takes all of them if they are few or `everything` is set, otherwise `always` and a sample. If
    the values of all nodes do not fit into memory, it compares the definition with the engines on
    a sample of the rows.
    """
    measured, n_rows = audit.decompositions, audit.population.n_rows
    every = everything or n_rows * len(measured) <= SMALL
    generator = np.random.default_rng(seed)
    indices = np.arange(len(measured))
    if not every and sample < len(measured):
        indices = np.sort(generator.choice(len(measured), size=sample, replace=False))
    population = audit.population
    fits = max(MAX_VALUES // audit.program.size, 2)
    if not everything and fits < n_rows:
        rows = np.sort(generator.choice(n_rows, size=fits, replace=False))
        population = _taken(population, rows)
    chosen = {} if every else {decomposition.id: decomposition for decomposition in always}
    for index in indices.tolist():
        chosen.setdefault(measured[index].id, measured[index])
    check = _Check(audit, population, association, influence, tick)
    return check.run(list(chosen.values()), None if everything else MAX_COST)


def _taken(population: Population, rows: np.ndarray) -> Population:
    return replace(
        population,
        columns={name: column.take(rows) for name, column in population.columns.items()},
        weights=population.weights[rows],
        protected=tuple(z.take(rows) for z in population.protected),
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
        settings = audit.settings
        options: dict[str, Any] = {
            "max_support": most_values(settings.max_support, audit.population.n_rows),
            "bins": settings.bins, "tick": tick,
        }  # fmt: skip
        self.reference = Reference(
            audit.program,
            population,
            loss=_loss(influence),
            pairs=draw_pairs(settings.sampling, population.weights) if settings.sampling else None,
            association=_formula(self.association),
            **options,
        )
        self.engines = None
        if population is not audit.population:
            sample = Sample(
                audit.program,
                population,
                influence=influence,
                sampling=settings.sampling,
                **options,
            )
            self.engines = Measurement(sample)
        self.tick = tick
        whole = population.whole_weights and population.total**2 < _COUNTABLE
        exact = settings.sampling is None and counts_pairs(influence)
        self.pairs = population.total**2 if whole and exact else None

    def run(self, chosen: Sequence[Decomposition], most_cost: int | None) -> Remeasured:
        """Recompute all associations, and influences from the cheapest up to a total cost."""
        wrong: list[Difference] = []
        for decomposition in chosen:
            self.tick(1)
            wrong += self._associations(decomposition)
        costs = [(self._cost(d), d) for d in chosen if d.influence is not None]
        spent, skipped = 0, 0
        for cost, decomposition in sorted(costs, key=lambda pair: pair[0]):
            spent += cost
            if most_cost is not None and spent > most_cost:
                skipped += 1
            else:
                self.tick(1)
                wrong += self._influence(decomposition)
        wrong += self._collections(most_cost)
        return Remeasured(len(chosen), skipped, self.population.n_rows, tuple(wrong))

    def _collections(self, most_cost: int | None) -> list[Difference]:
        """Recompute the influence of collections, if the audit and its rows are small enough."""
        cost = self.population.n_rows**2 * self.audit.program.size
        if self.engines is not None or (most_cost is not None and cost > most_cost):
            return []
        wrong = []
        for known in self.audit.collections.values():
            self.tick(1)
            defined = self.reference.collective_influence([m.sites for m in known.members])
            low, high = known.measured.low, known.measured.high
            if not (low <= defined <= high or close(low, defined) or close(high, defined)):
                wrong.append(Difference(f"influence of collection {known.id}", low, defined))
        return wrong

    def _cost(self, decomposition: Decomposition) -> int:
        """Estimate how many values an influence takes."""
        points = self.audit.program.points
        above = 0
        for site in decomposition.sites:
            point = site.point
            while point > 0:
                point = points.parents[point]
                above += 2
        if self.audit.settings.sampling is not None:
            return self.audit.settings.sampling.pairs * self.audit.program.size
        values = self.reference.values(decomposition.expression)
        distinct = len(np.unique(values, axis=0))
        return distinct * self.population.n_rows * (4 + above)

    def _associations(self, decomposition: Decomposition) -> list[Difference]:
        names = [attribute.name for attribute in self.population.protected]
        expected = [decomposition.associations[name] for name in names]
        if self.engines is not None:
            expected = self.engines.associations([decomposition.expression], self.association)[
                0
            ].tolist()
        defined = self.reference.associations(decomposition.expression).tolist()
        return [
            Difference(f"association of {decomposition.id} with {name}", stated, value)
            for name, stated, value in zip(names, expected, defined, strict=True)
            if not close(stated, value)
        ]

    def _influence(self, decomposition: Decomposition) -> list[Difference]:
        expected = decomposition.influence
        if self.engines is not None:
            expected = self.engines.influence(decomposition.sites)
        assert expected is not None
        defined = self.reference.influence(decomposition.sites)
        if self.engines is None and decomposition.error > 0:  # an estimate with an error bound
            if abs(expected - defined) <= decomposition.error:
                return []
        elif close(expected, defined) and self._counted(expected) == self._counted(defined):
            return []
        return [Difference(f"influence of {decomposition.id}", expected, defined)]

    def _counted(self, influence: float) -> int | None:
        """Return the number of pairs of rows that change, if an influence is such a number."""
        return None if self.pairs is None else round(influence * self.pairs)


def _loss(influence: Influence) -> Any:
    """Return the name of a loss that the definition includes, otherwise the loss itself."""
    if isinstance(influence, QuantitativeInputInfluence):
        return "change"
    if isinstance(influence, Moved):
        return MovedBy(influence.by, influence.relative)
    return "squared change" if isinstance(influence, SquaredChange) else influence


def _formula(association: Association) -> Association | None:
    """Return None for the association that the definition includes."""
    return None if isinstance(association, NormalizedMutualInformation) else association
