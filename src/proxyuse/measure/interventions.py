"""Interventions: the outputs and measures of a program with other values at some positions.

Repair tries many constants. `Interventions` holds one `Measurement` and evaluates only what a
constant changes, without building engines for every changed program.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const
from proxyuse.lang.positions import Site
from proxyuse.measure.association.support import Support
from proxyuse.measure.contexts.context_analysis import ContextAnalysis
from proxyuse.measure.contexts.engine import Contexts
from proxyuse.measure.contexts.path_evaluation import PathEvaluator
from proxyuse.measure.contexts.squared import SquaredShifts
from proxyuse.measure.contexts.unchanged_ranges import sides
from proxyuse.measure.distinct_values import DistinctValues, value_classes
from proxyuse.measure.drawn_pairs import DrawnPairs
from proxyuse.measure.engine import Measurement
from proxyuse.measure.influence import Moved


class Interventions:
    """Interventions on one program and one population.

    Examples
    --------
    >>> from proxyuse.measure.sample import Sample
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> program = Program.parse("ite(x <= 1, 0, 1)")
    >>> interventions = Interventions(Measurement(Sample(program, people)))
    >>> interventions.values_with({Site(1): Const(True)}).tolist()
    [0.0, 0.0, 0.0, 0.0]
    """

    def __init__(self, measurement: Measurement) -> None:
        self.measurement = measurement
        self.sample = measurement.sample

    @cached_property
    def _engines(self) -> list[DrawnPairs | Contexts | SquaredShifts | DistinctValues]:
        """The engines that can measure any values at a position, not only the computed ones."""
        kinds = (DrawnPairs.of(self.sample), Contexts.of(self.sample))
        return [*(engine for engine in kinds if engine), DistinctValues(self.sample)]

    def values_with(self, new: Mapping[Site, Const], point: int = 0) -> Array:
        """Return the values at a point if constants replace the terms at some positions."""
        return self.sample.values_with(new, point)

    def outcome(self, site: Site, rows: Array, values: Array) -> Array:
        """Return the output of rows that reach a position, with these values there."""
        return self.sample.shared(PathEvaluator).outcome(site, rows, values)

    def sides(self, site: Site) -> tuple[Array, Array, Array, Array] | None:
        """Return the rows whose output depends on whether a number is above a threshold.

        Returns
        -------
        The rows, their thresholds, and their outputs below and above; None for other positions.
        """
        if self.sample.pairs is not None or isinstance(self.sample.loss, Moved):
            return None  # contexts describe only the rows that move far enough
        return sides(self.sample, site, self.sample.shared(ContextAnalysis).context(site))

    def value_classes(self, sites: Sequence[Site], support: Support) -> Array:
        """Group the distinct values into classes that act alike at the sites."""
        return value_classes(self.sample, sites, support)

    def influence_of(self, sites: Sequence[Site], values: Array) -> float:
        """Return the influence of other values, one per row, at some disjoint positions."""
        answers = (engine.influence_of(sites, values) for engine in self._engines)
        return next(answer for answer in answers if answer is not None)

    def influence_after(self, sites: Sequence[Site], new: Mapping[Site, Const]) -> float:
        """Return the influence of a computation if constants replace the terms at other positions.

        Costs one influence of the changed program.
        """
        program = self.sample.program.replaced(new)
        program.checked_kinds |= self.sample.program.checked_kinds
        digest = self.sample.points.term_at(sites[0]).digest
        sites = [Site(p) for p, term in enumerate(program.points.terms) if term.digest == digest]
        return self.measurement.of(program).influence(sites) if sites else 0.0
