"""The input and the output of the validity methods."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from proxyuse.data.population import Population
from proxyuse.detect.bounded import Bounded
from proxyuse.detect.decompositions import Decompositions
from proxyuse.detect.witnesses import Witness
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.engine import Measurement
from proxyuse.settings import Influence, Sampling
from proxyuse.validity.remarks import Hypotheses, Remark
from proxyuse.verdict import Undecidable, Validity

Key = tuple[str, str]
"""A protected attribute and the id of a decomposition."""


@dataclass(frozen=True, slots=True, eq=False)
class Evidence:
    """The results of an audit, with its measurement and settings.

    Attributes
    ----------
    influence, sampling : the influence measure, and how it was sampled; None if it is exact.
    searched : whether the choice of measured computations depends on the rows.
    matches_training : whether the rows match what the model stores about its training data.
    again : runs the same audit on the rows of a mask.
    chosen : partial sums that the rows of `first_half` chose, as protected attributes and digests.
    first_half : returns which rows these are.
    bounded : what was not measured, because a bound rules it out as a witness.
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
    matches_training: bool
    threads: int
    again: Callable[[Array], Evidence]
    bounded: Bounded | None = None
    chosen: frozenset[tuple[str, bytes]] = frozenset()
    first_half: Callable[[], Array] | None = None

    @property
    def tests(self) -> Hypotheses:
        """The hypotheses: pairs of a computation and a protected attribute."""
        return Hypotheses(self.decompositions.tested, len(self.decompositions.protected))

    @property
    def tested(self) -> int:
        """The number of hypotheses."""
        return self.tests.pairs


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one validity method.

    Attributes
    ----------
    validities : the validity of each witness.
    tested : the number of hypotheses it corrects for; None without correction.
    remarks : on the method and its limits.
    undecidable : the attributes about which these rows can say nothing, by name, with the reason.
    """

    validities: Mapping[Key, Validity]
    tested: int | None
    remarks: tuple[Remark, ...] = field(default=())
    undecidable: Mapping[str, Undecidable] = field(default_factory=dict)
