"""A trial is a set of constants with its cost. A context evaluates trials of one program.

The utility of a trial is exact, except in sums of many trees: there the sum of all other trees is
computed once and reused. The search measures the trial it applies again, in full.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from proxyuse.completed_audit import Audit
from proxyuse.lang.evaluate import Array, constant, evaluate
from proxyuse.lang.nodes import Const, Ite, value_text
from proxyuse.lang.positions import Site
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.engine import Measurement
from proxyuse.measure.interventions import Interventions
from proxyuse.repairing.region import Region, region_at
from proxyuse.repairing.region_trials import RegionTrials
from proxyuse.repairing.utility import Utility

SMALL = 1 << 26  # rows times nodes


@dataclass(frozen=True, slots=True)
class Effort:
    """Limits on the trials for one witness.

    Attributes
    ----------
    constants : constants tried per expression, where each takes one evaluation.
    expressions : expressions tried inside a computation, where each constant takes one evaluation.
    checks : trials checked, best first, until enough remove the witness.
    costly : checks that evaluate the whole changed program.
    variables : variables tried in a large program, those with the highest association first.
    """

    constants: int = 16
    expressions: int = 64
    checks: int = 256
    costly: int = 32
    variables: int = 6


@dataclass(frozen=True, slots=True)
class Trial:
    """Constants that replace parts of a program.

    Attributes
    ----------
    new : the constant at each position.
    gain : the change in utility; larger is better.
    removed : the number of nodes replaced.
    """

    new: Mapping[Site, Const]
    gain: float
    removed: int

    @property
    def key(self) -> tuple[float, int, tuple[Site, ...], tuple[str, ...]]:
        """Sorts better trials first: by utility, then by program size, then by position."""
        values = {value_text(value.value) for value in self.new.values()}
        return (
            -round(self.gain, 12),
            -self.removed,
            tuple(sorted(self.new)),
            tuple(sorted(values)),
        )


class TrialContext:
    """One audited program, with its outputs and their utility on every row."""

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
        self.points = audit.program.points
        self.protected = {z.name: i for i, z in enumerate(audit.population.protected)}
        self._regions: dict[int, RegionTrials] = {}
        self.small = self.sample.n_rows * self.points.terms[0].size < SMALL

    @cached_property
    def gains(self) -> Array:
        """The contribution of each row to the utility."""
        return self.utility.gains(self.sample.outputs())

    def region(self, point: int) -> RegionTrials | None:
        """The region around a point. Only the last region is cached."""
        bounds = region_at(self.points, point)
        if bounds is None:
            return None
        root, nodes = bounds
        if root not in self._regions:
            self._regions.clear()
            region = Region(self.points, root, nodes, self.sample.values, self.sample.n_rows)
            self._regions[root] = RegionTrials(region, self.measurement, self.utility)
        return self._regions[root]

    def trial(self, new: Mapping[Site, Const]) -> Trial:
        """A trial of some constants, with its cost."""
        self.sample.tick(0)
        more = self.utility.gains(self._outputs_with(new)).sum() - self.gains.sum()
        return self.trial_of_gain(new, more)

    def trial_of_column(self, name: str, sites: Sequence[Site], value: Const) -> Trial:
        """A trial of one constant at all positions of a variable, with its cost."""
        self.sample.tick(0)
        known = constant(value.value, self.sample.vocabulary)
        columns = dict(self.utility.frame.arrays)
        columns[name] = np.broadcast_to(known, columns[name].shape)
        outputs = evaluate(self.audit.program.term, columns, self.sample.vocabulary)
        outputs = np.broadcast_to(outputs, (self.sample.n_rows, *outputs.shape[1:]))
        more = self.utility.gains(outputs).sum() - self.gains.sum()
        return self.trial_of_gain(dict.fromkeys(sites, value), more)

    def trial_of_gain(self, new: Mapping[Site, Const], gain: float) -> Trial:
        """A trial whose sum of gains is already known."""
        return Trial(new, self.utility.worth(gain), self._size(new))

    def _outputs_with(self, new: Mapping[Site, Const]) -> Array:
        """The outputs of the program with constants at some positions."""
        root = self.region(0) if isinstance(self.points.terms[0], Ite) else None
        if root is not None and root.region.root == 0 and not any(s.operands for s in new):
            codes = root.region.codes_with(new)
            outputs = [constant(v, self.sample.vocabulary) for v in root.region.constants]
            return np.concatenate(outputs)[codes]
        return self.interventions.values_with(new)

    def _size(self, sites: Iterable[Site]) -> int:
        return sum(end - start for site in sites for start, end in self.points.covers(site))
