"""The engine for sampled influence: the mean loss over random pairs of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from proxyuse.lang.evaluate import Array, evaluate
from proxyuse.lang.positions import Site
from proxyuse.measure.row_effects import RowEffects
from proxyuse.measure.sample import Sample


class DrawnPairs:
    """Influence from the pairs that a `Sampling` drew; two evaluations per question."""

    method: ClassVar[str] = "from sampled pairs of rows"
    compiled: ClassVar[bool] = False

    def __init__(self, sample: Sample) -> None:
        assert sample.pairs is not None
        self.sample = sample
        self._rows, self._others = sample.pairs
        arrays = sample.frame.arrays.items()
        self._columns = {name: column[self._rows] for name, column in arrays}

    @classmethod
    def of(cls, sample: Sample) -> DrawnPairs | None:
        """Return the engine, or None if influence is computed over all pairs."""
        return None if sample.pairs is None else cls(sample)

    def influence(self, sites: Sequence[Site]) -> float:
        """Return the influence of one computation through disjoint positions."""
        return self.influence_of(sites, self.sample.values(self.sample.points.term_at(sites[0])))

    def influence_of(self, sites: Sequence[Site], values: Array) -> float:
        """Return the influence of other values, one per row, at some disjoint positions."""
        sample = self.sample
        scale = sample.scale
        sample.tick(0)
        if scale == 0:
            return 0.0
        context = sample.points.replace(dict.fromkeys(sites, sample.hole))

        def output(hole: Array) -> Array:
            columns = {**self._columns, sample.hole.name: hole}
            result = evaluate(context, columns, sample.vocabulary)
            return np.broadcast_to(result, (len(self._rows), *result.shape[1:]))

        with np.errstate(all="ignore"):
            losses = sample.loss.loss(output(values[self._rows]), output(values[self._others]))
        return float(np.mean(losses)) / scale

    def influences(self, sites: Sequence[Site]) -> list[float | None]:
        """Return the influence through each position alone."""
        result: list[float | None] = []
        for site in sites:
            result.append(self.influence([site]))
            self.sample.tick(1)
        return result

    def effects(self, sites: Sequence[Site]) -> RowEffects | None:
        """Decline: a sample of pairs says little about each row."""
        return None

    def reach(self, sites: Sequence[Site]) -> float | None:
        """Decline."""
        return None

    def reaches(self, sites: Sequence[Site]) -> list[float | None]:
        """Decline."""
        return [None] * len(sites)

    def occurrence_bound(self, sites: Sequence[Site]) -> float | None:
        """Decline."""
        return None

    def operands_bound(self, operator: int, operands: Sequence[int]) -> float | None:
        """Decline."""
        return None
