"""Confirmation of partial sums that one half of the rows chose, on the other half.

A search looks at many partial sums, and those that it finds on some rows look better there than
they are. So it also chooses one set per operator and attribute on one half of the rows only (see
`detect.partial_sums`). The other half did not choose the set, so its bounds need no correction for
the search, whatever the number of operands. Rows of one cluster are in the same half.

The set must pass on all rows as well, or it is not listed. That only removes tests.
"""

from __future__ import annotations

from proxyuse.data.population import Population
from proxyuse.detect.witnesses import Witness
from proxyuse.measure.engine import Measurement
from proxyuse.measure.pair_sampling import drawn_error
from proxyuse.methods import Confirmation, Weights
from proxyuse.validity.association_bounds import Bounds
from proxyuse.validity.evidence import Evidence
from proxyuse.validity.influence_bounds import influence_bounds
from proxyuse.validity.sample import Observed
from proxyuse.validity.table_bounds import table_bounds
from proxyuse.verdict import Interval


class ChosenSums:
    """Bounds on the rows that did not choose.

    Parameters
    ----------
    level : of each association and each influence.
    """

    def __init__(
        self, evidence: Evidence, observed: Observed, level: float, options: Confirmation
    ) -> None:
        self.evidence, self.level, self.seed = evidence, level, options.seed
        self._observed = observed
        self._can_split = can_split(evidence.population, options.weights)
        self._other: tuple[Measurement, Observed] | None = None

    def includes(self, witness: Witness) -> bool:
        """Return whether half of the rows chose a witness, and the others can test it."""
        evidence = self.evidence
        return (
            self._can_split
            and evidence.first_half is not None
            and evidence.sampling is None
            and (witness.protected, witness.expression.digest) in evidence.chosen
        )

    def bounds(self, witness: Witness) -> tuple[Bounds, Interval]:
        """Return bounds for the association and the influence of a chosen witness."""
        evidence, (engine, observed) = self.evidence, self._half()
        term, sites = witness.expression, witness.decomposition.sites
        attribute = engine.protected_names.index(witness.protected)
        table = engine.tables(term, evidence.association)[attribute]
        association = table_bounds(
            engine, evidence.association, term, table, observed, self.level, self.seed
        )
        influence = engine.influence(sites)
        drawn = engine.drawn.get(tuple(sites))
        if drawn is None:
            effects = engine.effects(sites)
            return association, influence_bounds(influence, effects, observed, self.level)
        # With random pairs, half of the level is for the draw and half for the rows.
        low, high = influence_bounds(influence, None, observed, self.level / 2)
        error = drawn_error(drawn.error, self.level / 2)
        return association, (max(0.0, low - error), min(1.0, high + error))

    def _half(self) -> tuple[Measurement, Observed]:
        if self._other is None:
            evidence = self.evidence
            assert evidence.first_half is not None
            rows = ~evidence.first_half()
            engine = evidence.engine.on(evidence.population.taking(rows))
            self._other = engine, self._observed.taking(rows)
        return self._other


def can_split(population: Population, meaning: Weights) -> bool:
    """Return whether rows can be split in halves that are both samples.

    If a row stands for several records, all of them would be in the same half.
    """
    return meaning != "counts" or bool((population.weights == 1).all())
