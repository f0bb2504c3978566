"""What a program would compute, and how it would measure, with other values at some positions.

Repair tries many constants. A `WhatIf` answers for each of them from the outside: it holds a
`Measurement` and evaluates only what a change touches, without building an engine for each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const
from proxyuse.lang.positions import Spot
from proxyuse.measure.contexts.ascent import Ascent
from proxyuse.measure.contexts.descent import Descent
from proxyuse.measure.contexts.engine import Contexts
from proxyuse.measure.contexts.shapes import sides
from proxyuse.measure.contexts.squared import SquaredShifts
from proxyuse.measure.distinct_values import DistinctValues, kinds_of_value
from proxyuse.measure.drawn_pairs import DrawnPairs
from proxyuse.measure.engine import Measurement
from proxyuse.measure.support import Support


class WhatIf:
    """Questions about changes of one program on one population.

    Examples
    --------
    >>> from proxyuse.measure.sample import Sample
    >>> from proxyuse.population import Population
    >>> from proxyuse.program import Program
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> program = Program.parse("ite(x <= 1, 0, 1)")
    >>> what_if = WhatIf(Measurement(Sample(program, people)))
    >>> what_if.values_with({Spot(1): Const(True)}).tolist()
    [0.0, 0.0, 0.0, 0.0]
    """

    def __init__(self, measurement: Measurement) -> None:
        self.measurement = measurement
        self.sample = measurement.sample

    @cached_property
    def _engines(self) -> list[DrawnPairs | Contexts | SquaredShifts | DistinctValues]:
        """The engines that measure any values at a position, not only those that stand there."""
        kinds = (DrawnPairs.of(self.sample), Contexts.of(self.sample))
        return [*(engine for engine in kinds if engine), DistinctValues(self.sample)]

    def values_with(self, new: Mapping[Spot, Const], point: int = 0) -> Array:
        """The values at a point once constants replace the terms at some positions."""
        return self.sample.values_with(new, point)

    def outcome(self, spot: Spot, rows: Array, values: Array) -> Array:
        """The output of some rows, which reach a position, with these values there."""
        return self.sample.shared(Ascent).outcome(spot, rows, values)

    def sides(self, spot: Spot) -> tuple[Array, Array, Array, Array] | None:
        """The rows whose output depends on the side of a threshold on which a number is.

        Returns
        -------
        The rows, their thresholds, and their outputs below and above; None for other positions.
        """
        if self.sample.pairs is not None:
            return None
        return sides(self.sample, spot, self.sample.shared(Descent).context(spot))

    def kinds_of_value(self, spots: Sequence[Spot], support: Support) -> Array:
        """A number for each distinct value; values with equal numbers act alike."""
        return kinds_of_value(self.sample, spots, support)

    def influence_of(self, spots: Sequence[Spot], values: Array) -> float:
        """The influence that values, one per row, would have at some disjoint positions."""
        answers = (engine.influence_of(spots, values) for engine in self._engines)
        return next(answer for answer in answers if answer is not None)

    def influence_after(self, spots: Sequence[Spot], new: Mapping[Spot, Const]) -> float:
        """The influence of a computation once constants replace the terms at other positions.

        Costs one influence of the changed program.
        """
        program = self.sample.program.replaced(new)
        program.fitting_kinds |= self.sample.program.fitting_kinds
        digest = self.sample.points.term_at(spots[0]).digest
        there = [Spot(p) for p, term in enumerate(program.points.terms) if term.digest == digest]
        return self.measurement.of(program).influence(there) if there else 0.0
