"""The input and the output of the validity methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from proxyuse.data.population import Population
from proxyuse.detect.decompositions import Decompositions
from proxyuse.detect.witnesses import Witness
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.engine import Measurement
from proxyuse.settings import Influence, Sampling
from proxyuse.verdict import Validity
from proxyuse.words import count

Key = tuple[str, str]
"""A protected attribute and the id of a decomposition."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The results of an audit, with its measurement and settings.

    Attributes
    ----------
    influence, sampling : the influence measure, and how it was sampled; None if it is exact.
    searched : whether the choice of measured computations depends on the rows.
    again : runs the same audit on the rows of a mask.
    """

    engine: Measurement
    population: Population
    decompositions: Decompositions
    witnesses: Sequence[Witness]
    epsilon: float
    delta: float
    association: Association
    influence: Influence
    sampling: Sampling | None
    searched: bool
    threads: int
    again: Callable[[Array], Evidence]

    @property
    def tested(self) -> int:
        """The number of pairs of a computation and a protected attribute."""
        return self.decompositions.tested * len(self.decompositions.protected)


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one validity method.

    Attributes
    ----------
    validities : the validity of each witness.
    tested : the number of hypotheses it corrects for; None without correction.
    remarks : sentences for the reader on the method and its limits.
    """

    validities: Mapping[Key, Validity]
    tested: int | None
    remarks: tuple[str, ...] = field(default=())


def counted_tests(evidence: Evidence) -> str:
    """The number of tests, in words."""
    names = evidence.decompositions.protected
    counted = count(evidence.decompositions.tested, "computation")
    if len(names) == 1:
        return counted
    return f"{count(evidence.tested, 'pair')} of {counted} and {len(names)} protected attributes"
