"""What the ways of validating look at, and what each of them answers."""

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
    """An audit's findings and what they were measured with.

    Attributes
    ----------
    influence, sampling : what influence is the mean of, and how it was sampled, if it was.
    searched : whether it depended on the rows which computations were measured.
    again : the same audit on some of the rows, given by a mask.
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
        """How many pairs there are of a computation and a protected attribute."""
        return self.decompositions.tested * len(self.decompositions.protected)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one way says.

    Attributes
    ----------
    validities : what it says of each witness.
    tested : how many hypotheses its correction is for; None where it makes none.
    remarks : sentences for the reader: what was done, what it cannot say.
    """

    validities: Mapping[Key, Validity]
    tested: int | None
    remarks: tuple[str, ...] = field(default=())


def counted_tests(evidence: Evidence) -> str:
    """How many tests there are, and of what."""
    names = evidence.decompositions.protected
    counted = count(evidence.decompositions.tested, "computation")
    if len(names) == 1:
        return counted
    return f"{count(evidence.tested, 'pair')} of {counted} and {len(names)} protected attributes"
