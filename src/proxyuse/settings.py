"""Every option of an audit, stated once: name, type, default, bounds and help text.

`AuditOptions` feeds the signature and the docstring of `pu.audit`, the command line, the project
file and the certificate. To add an option, add a field to `AuditOptions`, or to `Settings` if it
changes the figures, and a line to the keywords below it. Nothing else lists the options.
"""

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypedDict, get_args

import msgspec
from msgspec import Meta

from proxyuse.errors import DataError
from proxyuse.options import Options

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

EPSILON, DELTA = 0.1, 0.05
MAX_SUPPORT, BINS = 256, 16

Share = Annotated[float, Meta(ge=0, le=1)]
OpenShare = Annotated[float, Meta(gt=0, lt=1)]
Count = Annotated[int, Meta(ge=1)]
CountOrZero = Annotated[int, Meta(ge=0)]


def about(
    text: str, group: str | None = None, title: str | None = None, off: str | None = None
) -> Meta:
    """Describe an option: help, group on the command line, type in words, help of ``--no-...``."""
    return Meta(description=text, title=title, extra={"group": group, "off": off})


# Options that are tables of their own


class Budget(Options, frozen=True):
    """How much work detection spends where the number of decompositions is exponential.

    Attributes
    ----------
    subsets : subsets of the operands of one operator that are exhausted or listed, at most. With
        many rows there are fewer; see `SumBudget`.
    search : sets of operands that are bounded to exclude their subsets, when there are more.
    grow : subsets of one operator that a search measures, when they cannot be exhausted; more if
        rows are few. 0 disables the search.
    occurrences : sets of occurrences of one repeated term that are measured to find the strongest.
    positions : the size of a forest up to which everything is measured.
    """

    subsets: CountOrZero = 16_384
    search: CountOrZero = 256
    grow: CountOrZero = 64
    occurrences: CountOrZero = 256
    positions: CountOrZero = 4096


class Sampling(Options, frozen=True):
    """Estimate influence from random pairs of rows instead of all pairs.

    The estimate for one decomposition is within `alpha` of the exact value with probability at
    least ``1 - beta`` (Hoeffding). For m decompositions at once, use ``beta / m``.

    Examples
    --------
    >>> Sampling(alpha=0.01, beta=0.05).pairs
    18445
    """

    alpha: OpenShare = 0.01
    beta: OpenShare = 0.05
    seed: CountOrZero = 0

    @property
    def pairs(self) -> int:
        """The number of pairs: the smallest m with ``m >= ln(2/beta) / (2 alpha^2)``."""
        return math.ceil(math.log(2.0 / self.beta) / (2.0 * self.alpha**2))

    def error(self, beta: float) -> float:
        """Return the error bound of an estimate that holds with probability ``1 - beta``."""
        return math.sqrt(math.log(2.0 / beta) / (2.0 * self.pairs))


class _Tagged(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True):
    """A decision; files name its kind."""


class Threshold(_Tagged, frozen=True, tag="threshold"):
    """The positive class if its probability is at least a threshold, otherwise the other class.

    With more than two classes, the decision is true or false. For a model that predicts a number,
    such as a booster that returns a probability, the number is compared with the threshold.

    Attributes
    ----------
    probability : between 0 and 1; any number for a model that predicts numbers.
    positive : the label of the class; by default the second of two classes.
    """

    probability: float
    positive: Any = None


class Positive(_Tagged, frozen=True, tag="positive"):
    """Whether the model predicts one class, regardless of the other classes.

    Attributes
    ----------
    label : the label of the class.
    """

    label: Any


class TopK(_Tagged, frozen=True, tag="top"):
    """Whether a row is among the k with the highest probability of the positive class.

    A regressor's rows are ordered by its prediction. Rows that tie with the k-th row are included.

    Attributes
    ----------
    k : the number of rows.
    positive : the label of the class; by default the second of two classes.
    """

    k: int
    positive: Any = None


Decision = Threshold | Positive | TopK


# Methods that test whether a witness is real

Correction = Literal["westfall-young", "holm", "bonferroni", "benjamini-hochberg", "none"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
Weights = Literal["sampling", "counts"]
MAX_PERMUTATIONS = 10_000_000


class _Random(Options, frozen=True, kw_only=True):
    seed: Annotated[
        CountOrZero, about("Seed for permutations, splits and resampled tables.", "validity")
    ] = 0


class _Tested(_Random, frozen=True, kw_only=True):
    alpha: Annotated[
        OpenShare, about("Maximum probability of any false confirmation.", "validity")
    ] = 0.05
    weights: Annotated[
        Weights,
        about(
            "Meaning of a weight: the number of people that a sampled row represents "
            "(sampling), or the number of identical records that it stands for (counts).",
            "validity",
        ),
    ] = msgspec.field(default="sampling", name="weights_are")


class Confirmation(_Tested, frozen=True, kw_only=True):
    """Confidence bounds for association and influence that hold for all tests at once.

    A witness is confirmed if both lower bounds pass the thresholds.

    Attributes
    ----------
    alpha : the maximum probability of any false confirmation.
    weights : the meaning of a weight. With ``"sampling"``, a row is one observation, whatever its
        weight. With ``"counts"``, a row stands for that many identical records.
    seed : the seed for association measures whose bounds come from random tables.
    """

    @property
    def name(self) -> str:
        """The name of the method."""
        return "confirm"


class Permutation(_Tested, frozen=True):
    """A permutation test: how often chance alone gives such an association.

    It tests independence, not the threshold epsilon, and covers association only.

    Attributes
    ----------
    permutations : the number of permutations.
    correction : the correction for multiple tests. Benjamini-Hochberg bounds the false discovery
        rate, the others the probability of any false discovery.
    alpha : the level of the corrected test.
    exact : whether a binary computation and a binary attribute get the p-value of all
        permutations (not with Westfall-Young).
    seed : the same seed gives the same result with any number of threads.
    weights : see `Confirmation`.
    """

    permutations: Annotated[Count, about("Number of permutations.", "validity")] = 1000
    correction: Annotated[
        Correction, about("Correction of p-values for multiple tests.", "validity")
    ] = "westfall-young"
    exact: Annotated[
        bool,
        about(
            "Compute exact p-values if the computation and the attribute are binary; not with "
            "westfall-young.",
            "validity",
        ),
    ] = msgspec.field(default=False, name="exact_p_values")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.permutations > MAX_PERMUTATIONS:
            raise DataError(
                f"permutations: expected at most {MAX_PERMUTATIONS:,}, got {self.permutations:,}; "
                "more would take days: draw fewer, or pass exact=True"
            )

    @property
    def name(self) -> str:
        """The name of the method."""
        return "permutation"


class CrossValidation(_Random, frozen=True):
    """Witnesses that are found in one part of the rows and again in the other part.

    Attributes
    ----------
    splits : the number of random splits, stratified by the protected attributes.
    at_least : in how many splits a witness must be found in both parts; None for all.
    share : the share of the rows that is held out for validation.
    seed : the same seed gives the same splits.
    """

    splits: Annotated[Count, about("Number of random splits.", "validity")] = 10
    at_least: Annotated[
        Count | None,
        about("Number of splits that must find a witness again; all by default.", "validity"),
    ] = None
    share: Annotated[OpenShare, about("Share of the rows held out for validation.", "validity")] = (
        msgspec.field(default=0.5, name="validation_share")
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.at_least is not None and self.at_least > self.splits:
            raise DataError(
                f"at_least: expected at most the number of splits, {self.splits}, "
                f"got {self.at_least}"
            )

    @property
    def name(self) -> str:
        """The name of the method."""
        return "cross-validation"

    @property
    def needed(self) -> int:
        """How many splits must find a witness again."""
        return self.splits if self.at_least is None else self.at_least


Method = Confirmation | Permutation | CrossValidation
MethodName = Literal["confirm", "permutation", "cross-validation"]
Methods = MethodName | Method | Sequence[MethodName | Method]
METHODS: dict[str, type[Method]] = {
    "confirm": Confirmation,
    "permutation": Permutation,
    "cross-validation": CrossValidation,
}


# The options of an audit

MissingProtected = Literal["refuse", "drop", "category"]
Measure = Literal["needed", "all"]
InfluenceName = Literal["quantitative-input-influence", "squared-change"]


class Influence(Protocol):
    """A loss for a change of the output, row by row."""

    @property
    def name(self) -> str:
        """The name of the measure in results."""
        ...

    @property
    def bounded(self) -> bool:
        """Whether the loss is between 0 and 1, as the error bound for sampling requires."""
        ...

    def loss(self, actual: "Array", changed: "Array") -> "Array":
        """Return the loss of the output `changed` instead of `actual` in each row."""
        ...

    def scale(self, actual: "Array", weights: "Array") -> float:
        """Return the number that divides the mean loss; if it is 0, the influence is 0."""
        ...


class Settings(Options, frozen=True, kw_only=True):
    """The options that determine the figures of an audit; a certificate records them."""

    epsilon: Annotated[
        Share, about("Minimum association of a witness with a protected attribute.", "witness")
    ] = EPSILON
    delta: Annotated[
        Annotated[float, Meta(ge=0)],
        about("Influence on the decisions that a witness must exceed.", "witness"),
    ] = DELTA
    missing_protected: Annotated[
        MissingProtected,
        about(
            "How to treat a row whose protected attribute is missing: raise an error (refuse), "
            "drop the row (drop), or treat missing as a value (category).",
            "data",
        ),
    ] = "refuse"
    sampling: Annotated[
        Sampling | None,
        about("Estimate influence from sampled pairs of rows instead of all pairs.", "search"),
    ] = None
    max_support: Annotated[
        Annotated[int, Meta(ge=2)],
        about(
            "Bin a number with more distinct values than this to measure its association.",
            "witness",
        ),
    ] = MAX_SUPPORT
    bins: Annotated[
        Count | None,
        about(
            "Number of bins, each with the same total weight; none keeps the raw values.", "witness"
        ),
    ] = BINS
    budget: Annotated[
        Budget,
        about("How much work to spend on combinations of terms, trees or occurrences.", "search"),
    ] = Budget()
    all_sets: Annotated[
        bool,
        about("List every set of occurrences of a repeated term, and every partial sum.", "search"),
    ] = False
    measure: Annotated[
        Measure,
        about(
            "What to measure in a large forest: only computations that can be witnesses "
            "(needed), because a bound excludes the others, or every computation (all).",
            "search",
        ),
    ] = "needed"
    exact: Annotated[
        bool,
        about(
            "Compute every influence over all pairs of rows. By default, if a large forest "
            "reads a variable in too many places, its influence is estimated from random pairs.",
            "search",
        ),
    ] = False
    variables: Annotated[
        bool,
        about(
            "Measure variables as well. Without them, the result is incomplete.",
            "search",
            off="Do not measure variables. The result is then incomplete.",
        ),
    ] = True
    decision: Annotated[
        Decision | None,
        about(
            "The decision to audit, if it is not the prediction of the model.",
            title="Threshold, Positive or TopK",
        ),
    ] = None
    opaque: Annotated[
        bool,
        about(
            "Treat the outputs of transformers that cannot be translated as variables.", "search"
        ),
    ] = False


class AuditOptions(Settings, frozen=True, kw_only=True):
    """Every option of `audit`."""

    weights: Annotated[
        object,
        about(
            "Weight of each row; 1 by default.",
            "data",
            title="column name or values",
        ),
    ] = None
    association: Annotated[
        str | Callable[..., Any] | None,
        about(
            "Association measure, normalized mutual information by default. Each measure needs its "
            "own thresholds.",
            "witness",
            title="name, measure, or function from a table of masses to a number from 0 to 1",
        ),
    ] = None
    influence: Annotated[
        InfluenceName | Influence | None,
        about(
            "Influence measure, quantitative input influence by default.",
            "witness",
            title="name or measure",
        ),
    ] = None
    validity: Annotated[
        Methods | None,
        about(
            "How to test whether each witness exists in the population, not only in these "
            "rows: confidence bounds (confirm), permutations of the protected attribute, or "
            "splits of the rows. See `Confirmation`, `Permutation` and `CrossValidation`.",
            title="'confirm', 'permutation', 'cross-validation', their options, or several",
        ),
    ] = None
    threads: Annotated[
        Count | None,
        about("Number of threads, one per core by default. Results do not depend on it.", "run"),
    ] = None
    time_limit: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        about(
            "Stop detection after this many seconds and report what is settled. A step that "
            "has begun, such as translating or compiling, finishes first.",
            "run",
        ),
    ] = None
    progress: Annotated[
        Callable[[Any], bool | None] | None,
        about(
            "Called with a `Progress` a few times per second; return False to cancel.",
            title="callable",
        ),
    ] = None

    @property
    def settings(self) -> Settings:
        """The options that determine the figures."""
        return Settings(**{name: getattr(self, name) for name in Settings.__struct_fields__})


class RepairKeywords(TypedDict, total=False):
    """The options of an audit that `repair` takes as keywords, for type checkers."""

    missing_protected: MissingProtected
    max_support: int
    bins: int | None
    budget: Budget
    variables: bool
    decision: Decision | None
    opaque: bool
    weights: object
    association: str | Callable[..., Any] | None
    influence: InfluenceName | Influence | None
    threads: int | None
    progress: Callable[[Any], bool | None] | None


class AuditKeywords(RepairKeywords, total=False):
    """The options that `audit` takes as keywords, for type checkers."""

    sampling: Sampling | None
    all_sets: bool
    measure: Measure
    exact: bool
    validity: Methods | None
    time_limit: float | None
