"""The engine that counts from contexts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.positions import Spot
from proxyuse.measure.contexts.descent import Descent
from proxyuse.measure.contexts.shapes import pairs_across, shape_of
from proxyuse.measure.effects import Effects, effects_of
from proxyuse.measure.sample import Sample


class Contexts:
    """Influence through one position, from the form in which the output depends on it.

    Declines several positions at once, positions of the form OTHER, and every loss but
    quantitative input influence over all pairs.

    Examples
    --------
    >>> from proxyuse.population import Population
    >>> from proxyuse.program import Program
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> Contexts(Sample(Program.parse("ite(x <= 1, 0, 1)"), people)).influence([Spot(1)])
    0.375
    """

    method: ClassVar[str] = "from thresholds and branches"
    compiled: ClassVar[bool] = False

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self._descent = sample.shared(Descent)

    @classmethod
    def of(cls, sample: Sample) -> Contexts | None:
        """The engine, or None for sampled influence and other losses."""
        return cls(sample) if sample.counts_changes else None

    def influence(self, spots: Sequence[Spot]) -> float | None:
        """The influence through one position. O(n log n) for n rows."""
        if len(spots) > 1:
            return None
        return self.influence_of(spots, self.sample.values(self.sample.points.term_at(spots[0])))

    def influence_of(self, spots: Sequence[Spot], values: Array) -> float | None:
        """The influence that other values, one per row, would have at a position."""
        if len(spots) > 1:
            return None
        sample, spot = self.sample, spots[0]
        sample.tick(0)
        context = self._descent.context(spot)
        values = context.acting(values)
        with np.errstate(all="ignore"):
            pairs: float | None = pairs_across(sample, spot, context, values)
            if pairs is None:
                shape = shape_of(sample, spot, context, values)
                pairs = None if shape is None else shape.pairs(sample.weights)
        return None if pairs is None else pairs / (sample.total * sample.total)

    def influences(self, spots: Sequence[Spot]) -> list[float | None]:
        """The influence through each position alone.

        Positions are measured in preorder, so that each one's parent has its context kept.
        """
        result: dict[Spot, float | None] = {}
        for spot in sorted(set(spots)):
            result[spot] = self.influence([spot])
            self.sample.tick(int(result[spot] is not None))
        return [result[spot] for spot in spots]

    def effects(self, spots: Sequence[Spot]) -> Effects | None:
        """The influence through one position, row by row; it costs what influence does."""
        if len(spots) > 1:
            return None
        sample, spot = self.sample, spots[0]
        sample.tick(0)
        context = self._descent.context(spot)
        with np.errstate(all="ignore"):
            values = context.acting(sample.values(sample.points.term_at(spot)))
            shape = shape_of(sample, spot, context, values)
            return None if shape is None else effects_of(shape, sample.weights, sample.total)

    def reach(self, spots: Sequence[Spot]) -> float | None:
        """Decline: contexts know nothing about reach."""
        return None

    def reaches(self, spots: Sequence[Spot]) -> list[float | None]:
        """Decline."""
        return [None] * len(spots)

    def occurrence_bound(self, spots: Sequence[Spot]) -> float | None:
        """Decline: contexts are about single positions."""
        return None

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float | None:
        """Decline."""
        return None
