"""How many witnesses, and how many confirmed ones, there are at other pairs of thresholds.

An audit measures what its own thresholds need. At stricter pairs, its figures answer. At looser
pairs they answer only if nothing was left out: no bound excluded computations, no search chose
among combinations, and every influence that matters was measured. Otherwise the answer is unknown,
not 0.

Confidence bounds do not depend on the thresholds (`confirmation`), so one set of bounds answers for
every pair. A witness of the pair (e, d) is confirmed if its lower bounds are at least e and above
d. Bounds cost a few passes over the rows each. They are computed for the strongest computations
first, as far as `WORK` allows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import numpy as np
from msgspec import Meta, Struct

from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.methods import Confirmation
from proxyuse.validity.assess import Assessment
from proxyuse.validity.confirmation import confirm
from proxyuse.validity.evidence import Evidence, Key
from proxyuse.verdict import Validity, Verdict

if TYPE_CHECKING:
    import pandas as pd

EPSILONS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5)
DELTAS = (0.01, 0.02, 0.05, 0.1, 0.2)
WORK = 1 << 24
"""Rows times computations for which bounds are computed, and the largest number of computations."""
MOST = 1_000

Counts = Annotated[
    tuple[tuple[int | None, ...], ...],
    Meta(description="A row for each delta, a column for each epsilon; null if unknown."),
]


class ThresholdTable(Struct, frozen=True):
    """The number of witnesses of one protected attribute at each pair of thresholds.

    Attributes
    ----------
    protected : the protected attribute.
    epsilons, deltas : the thresholds, in ascending order.
    witnesses, confirmed : a row for each delta and a column for each epsilon. None where the audit
        did not measure what the pair needs; `confirmed` is also None without confirmation, and
        where a witness cannot be decided.
    """

    protected: str
    epsilons: tuple[float, ...]
    deltas: tuple[float, ...]
    witnesses: Counts
    confirmed: Counts

    def to_frame(self) -> pd.DataFrame:
        """Return a pandas data frame with one row per pair of thresholds."""
        try:
            import pandas as pd
        except ImportError:
            raise DataError(
                "to_frame needs pandas, which is not installed: pip install 'proxyuse[pandas]'"
            ) from None
        return pd.DataFrame(
            {
                "protected": self.protected,
                "epsilon": list(self.epsilons) * len(self.deltas),
                "delta": np.repeat(self.deltas, len(self.epsilons)),
                "witnesses": pd.array([n for row in self.witnesses for n in row], dtype="Int64"),
                "confirmed": pd.array([n for row in self.confirmed for n in row], dtype="Int64"),
            }
        )


def threshold_tables(
    evidence: Evidence | None,
    assessment: Assessment | None,
    epsilons: Sequence[float] = EPSILONS,
    deltas: Sequence[float] = DELTAS,
) -> tuple[ThresholdTable, ...]:
    """Count the witnesses of each protected attribute at each pair of thresholds.

    Parameters
    ----------
    evidence : the audit; None for a copy, which has no tables.
    assessment : the validity of its witnesses. Confirmed ones are counted if it includes
        confirmation, at the same level.
    epsilons, deltas : the thresholds; those of the audit are added.
    """
    if evidence is None:
        return ()
    grid = _Grid(
        evidence,
        tuple(sorted({*map(float, epsilons), float(evidence.epsilon)})),
        tuple(sorted({*map(float, deltas), float(evidence.delta)})),
    )
    names = evidence.decompositions.protected
    methods = () if assessment is None else assessment.methods
    options = next((m for m in methods if isinstance(m, Confirmation)), None)
    bounds, undecidable = None, set[str]()
    if assessment is not None and options is not None:
        undecidable = {*assessment.undecidable}
        candidates = [grid.candidates(z) for z in range(len(names))]
        bounds = _Bounds(evidence, options, assessment.validities, candidates)
    return tuple(
        ThresholdTable(
            name,
            grid.epsilons,
            grid.deltas,
            grid.counted(z),
            grid.confirmed(z, None if name in undecidable else bounds),
        )
        for z, name in enumerate(names)
    )


class _Grid:
    """The pairs of thresholds and the decompositions that pass each."""

    def __init__(
        self, evidence: Evidence, epsilons: tuple[float, ...], deltas: tuple[float, ...]
    ) -> None:
        self.epsilons, self.deltas = epsilons, deltas
        self._evidence = evidence
        self._associations = evidence.decompositions.associations
        self._influences = evidence.decompositions.influences

    def _is_known(self, attribute: int, epsilon: float, delta: float) -> bool:
        """Whether the audit measured everything that a pair needs."""
        evidence = self._evidence
        if epsilon >= evidence.epsilon and delta >= evidence.delta:
            return True
        close = self._associations[:, attribute] >= epsilon
        return not evidence.searched and not np.isnan(self._influences[close]).any()

    def _passing(self, attribute: int, epsilon: float, delta: float) -> Array:
        close = self._associations[:, attribute] >= epsilon
        return np.flatnonzero(close & (self._influences > delta))

    def counted(self, attribute: int) -> tuple[tuple[int | None, ...], ...]:
        """The number of witnesses at each pair."""
        return tuple(
            tuple(
                len(self._passing(attribute, e, d)) if self._is_known(attribute, e, d) else None
                for e in self.epsilons
            )
            for d in self.deltas
        )

    def candidates(self, attribute: int) -> Array:
        """The decompositions that pass a known pair, those that pass strict pairs first."""
        passing = [
            self._passing(attribute, e, d)
            for e in self.epsilons
            for d in self.deltas
            if self._is_known(attribute, e, d)
        ]
        size = len(self._influences)
        pairs = np.bincount(np.concatenate(passing), minlength=size)
        chosen = np.flatnonzero(pairs)
        return chosen[np.argsort(-pairs[chosen], kind="stable")]

    def confirmed(
        self, attribute: int, bounds: _Bounds | None
    ) -> tuple[tuple[int | None, ...], ...]:
        """The number of confirmed witnesses at each pair."""
        if bounds is None:
            return tuple((None,) * len(self.epsilons) for _ in self.deltas)
        low, done = bounds.of(attribute)

        def number(epsilon: float, delta: float) -> int | None:
            passing = self._passing(attribute, epsilon, delta)
            if not self._is_known(attribute, epsilon, delta) or not done[passing].all():
                return None
            sure = (low[passing, 0] >= epsilon) & (low[passing, 1] > delta)
            return int(np.count_nonzero(sure))

        return tuple(tuple(number(e, d) for e in self.epsilons) for d in self.deltas)


class _Bounds:
    """The lower bounds of association and influence of some decompositions."""

    def __init__(
        self,
        evidence: Evidence,
        options: Confirmation,
        known: Mapping[Key, Validity],
        candidates: Sequence[Array],
    ) -> None:
        measured = evidence.decompositions
        allowed = min(MOST, max(1, WORK // evidence.population.n_rows))
        attributes = len(measured.protected)
        self._low = np.full((attributes, len(measured), 2), -1.0)
        self._done = np.zeros((attributes, len(measured)), dtype=np.bool_)
        chosen: list[tuple[int, int, Witness]] = []
        for attribute, indexes in enumerate(candidates):
            name = measured.protected[attribute]
            chosen += [
                (attribute, index, Witness(measured[index], name, False, 0))
                for index in indexes[: allowed // attributes].tolist()
            ]
        new = [witness for _, _, witness in chosen if witness.key not in known]
        answer = confirm(replace(evidence, witnesses=new), options)
        validities = {**answer.validities, **known}
        for attribute, index, witness in chosen:
            validity = validities[witness.key]
            association, influence = validity.association_interval, validity.influence_interval
            if validity.verdict is not Verdict.UNDECIDED and association and influence:
                self._low[attribute, index] = association[0], influence[0]
                self._done[attribute, index] = True

    def of(self, attribute: int) -> tuple[Array, Array]:
        """The bounds of each decomposition with an attribute, and which of them are known."""
        return self._low[attribute], self._done[attribute]
