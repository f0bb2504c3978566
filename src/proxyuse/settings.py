"""Every option of an audit, stated once: name, type, default, bounds and help text.

`AuditOptions` feeds the signature and the docstring of `pu.audit`, the command line, the project
file and the certificate. To add an option, add a field to `AuditOptions`, or to `Settings` if it
changes the figures, and a line to the keywords below it. Nothing else lists the options.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, TypedDict

from msgspec import Meta

from proxyuse.decision import Decision
from proxyuse.errors import DataError
from proxyuse.methods import Methods
from proxyuse.options import (
    Count,
    CountOrZero,
    OpenShare,
    Options,
    Share,
    about,
    listed,
    options_of,
    percentage,
    shown,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    Array = npt.NDArray[Any]

EPSILON, DELTA = 0.1, 0.05
BEST_CUT: Literal["best-cut"] = "best-cut"
CUT_GROUPS = 256
"""The candidates for the best cut are the boundaries between this many groups of equal mass."""
PROTECTED_VALUES, PROTECTED_BINS = 256, 16
"""A numeric protected attribute with more values than this is put into this many bins."""

Bins = Annotated[int, Meta(ge=1)] | Literal["best-cut"] | None


def most_values(max_support: int | None, n_rows: int) -> int:
    """Return the largest number of distinct values that are measured as they are.

    Examples
    --------
    >>> [most_values(None, n_rows) for n_rows in (100, 1000, 48_842)], most_values(20, 100)
    ([16, 100, 256], 20)
    """
    return max(16, min(256, n_rows // 10)) if max_support is None else max_support


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


# The options of an audit

FailOn = Literal["confirmed", "possible"]
MissingProtected = Literal["refuse", "drop", "category"]
Measure = Literal["needed", "all"]

MOVED = "moved"
INFLUENCES = ("quantitative-input-influence", "squared-change", f"{MOVED}:X", f"{MOVED}:X%")
"""The built-in influence measures, the default first. X is the threshold of `Moved`."""


def check_influence_name(name: object) -> None:
    """Raise an error if a text is not the name of a built-in measure; None is the default."""
    kind, colon, threshold = str(name).partition(":")
    if kind == MOVED and colon:
        moved_by(threshold)
    elif name is not None and name not in INFLUENCES:
        names = listed([f"'{known}'" for known in INFLUENCES])
        raise DataError(f"influence: expected {names}, got {shown(name)}")


def moved_by(text: str) -> tuple[float, bool]:
    """Read the threshold of `Moved`: a number, or a percentage of the output.

    Examples
    --------
    >>> moved_by("100"), moved_by("7%")
    ((100.0, False), (0.07, True))
    """
    from decimal import Decimal, InvalidOperation  # slow to import

    relative = text.endswith("%")
    try:
        number = Decimal(text.removesuffix("%"))
        by = float(number.scaleb(-2) if relative else number)
    except (InvalidOperation, OverflowError):
        by = math.nan
    if not (math.isfinite(by) and by >= 0):
        raise DataError(
            f"influence: expected a number of at least 0 or a percentage after '{MOVED}:', "
            f"got {shown(text)}"
        )
    return by, relative


def moved_text(by: float, relative: bool) -> str:
    """Write the threshold of `Moved`, so that `moved_by` reads the same number.

    Examples
    --------
    >>> moved_text(100.0, False), moved_text(0.07, True), moved_text(1e-9, False)
    ('100', '7%', '1E-9')
    """
    from decimal import Decimal

    number = Decimal(repr(by))
    if relative:
        number = number.scaleb(2)
    number = number.normalize()
    text = f"{number:f}"
    return f"{text if len(text) <= _LONGEST_NUMBER else str(number)}{'%' * relative}"


_LONGEST_NUMBER = 10


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
        Share,
        about(
            "Minimum association of a witness with a protected attribute. A percentage such as 50% "
            "is a share of the highest association that a two-valued computation can have with the "
            "attribute.",
            "witness",
            percent=True,
        ),
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
        Annotated[int, Meta(ge=2)] | None,
        about(
            "How many distinct values a number may have before `bins` applies. By default 256 or "
            "a tenth of the rows, whichever is less, but at least 16.",
            "witness",
        ),
    ] = None
    bins: Annotated[
        Bins,
        about(
            "How to measure the association of a number with more than `max_support` distinct "
            "values: at its best cut (best-cut), in this many bins of equal weight, or by its raw "
            "values (none).",
            "witness",
        ),
    ] = BEST_CUT
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
    clusters: Annotated[
        object,
        about(
            "Cluster of each row, such as a person with several rows. Rows of one cluster count as "
            "one observation in statistical tests. By default only copied rows are a cluster.",
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
        str | Influence | None,
        about(
            "Influence measure, quantitative input influence by default. The other measures need "
            "a numeric output. moved:100 counts how often the output moves by more than 100, and "
            "moved:5% by more than 5%.",
            "witness",
            title="name or measure",
        ),
    ] = None
    validity: Annotated[
        Methods | None,
        about(
            "How to test whether each witness exists in the population, not only in these rows: "
            "confidence bounds (confirm), permutations, or splits of the rows; None for no test. "
            "See `Confirmation`, `Permutation` and `CrossValidation`.",
            title="'confirm', 'permutation', 'cross-validation', their options, or several",
        ),
    ] = "confirm"
    fail_on: Annotated[
        FailOn | None,
        about(
            "Which violations fail: confirmed ones (default), or also possible ones (default if "
            "validity is off).",
            "verdict",
        ),
    ] = None
    strict: Annotated[
        bool,
        about(
            "The search is incomplete unless every space was exhausted, not only searched.",
            "verdict",
        ),
    ] = False
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

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.validity is None and self.fail_on == "confirmed":
            raise DataError('fail_on="confirmed" needs validity; turn it on, or pass "possible"')

    @property
    def settings(self) -> Settings:
        """The options that determine the figures."""
        return Settings(**{name: getattr(self, name) for name in Settings.__struct_fields__})


FRONTIERS = ("epsilon", "delta")
"""The thresholds that the frontier of a repair can vary."""
Frontier = str | Mapping[str, Sequence[float | str]]


def frontier_values(frontier: object) -> tuple[str, tuple[float | str, ...] | None]:
    """Return the threshold that a frontier varies, and its values; None for the default values.

    Examples
    --------
    >>> frontier_values("epsilon"), frontier_values("delta:0,0.05")
    (('epsilon', None), ('delta', (0.0, 0.05)))
    >>> frontier_values({"epsilon": (0.1, 0.05)}), frontier_values("epsilon:20%,50%")
    (('epsilon', (0.1, 0.05)), ('epsilon', ('20%', '50%')))
    >>> frontier_values("epsilon:0.1,2")
    Traceback (most recent call last):
        ...
    proxyuse.errors.DataError: frontier: epsilon: expected a number between 0 and 1, or a \
percentage such as '50%', got 2.0
    """
    name: object = frontier
    values: object = None
    if isinstance(frontier, str):
        name, colon, text = frontier.partition(":")
        name = name.strip()
        values = [_threshold(part.strip()) for part in text.split(",") if part.strip()]
        values = values if colon else None
    elif isinstance(frontier, Mapping):
        name, values = next(iter(frontier.items()), ("", ()))
        if len(frontier) > 1:
            name = ""  # it can vary one threshold only
    if name not in FRONTIERS:
        raise DataError(
            "frontier: expected 'epsilon', 'delta', or one of them with its values, such as "
            f"'epsilon:0.05,0.1' or {{'epsilon': (0.05, 0.1)}}, got {shown(frontier)}"
        )
    return str(name), None if values is None else _checked_thresholds(str(name), values)


def _threshold(text: str) -> float | str:
    """A threshold of a text; what is neither a number nor a percentage stays a text."""
    try:
        return float(text)
    except ValueError:
        return text


def _checked_thresholds(name: str, values: object) -> tuple[float | str, ...]:
    """The values of a frontier: at least one, each a valid threshold, and all different."""
    if isinstance(values, str) or not hasattr(values, "__iter__"):
        raise DataError(f"frontier: {name}: expected several values, got {shown(values)}")
    (option,) = (option for option in options_of(Settings) if option.name == name)
    try:
        checked: list[float | str] = [option.checked(value) for value in values]
    except DataError as error:
        raise DataError(f"frontier: {error}") from None
    if not checked:
        raise DataError(f"frontier: {name} has no values; pass some, or only '{name}'")
    shares = [percentage(value) for value in checked]
    if len({share is None for share in shares}) > 1:
        raise DataError(f"frontier: {name}: pass numbers or percentages, not both")
    numbers = [v if s is None else s for v, s in zip(checked, shares, strict=True)]
    for value, number in zip(checked, numbers, strict=True):
        if numbers.count(number) > 1:
            raise DataError(f"frontier: {name}: {value} occurs twice; pass each value once")
    return tuple(checked)


RepairMethod = Literal["constants", "refit", "drop", "constrain", "reweigh", "coarsen"]
Select = Literal["1se", "max"]
Remove = Literal["below-threshold", "entirely"]
SECONDS = 60


class RepairOptions(AuditOptions, frozen=True, kw_only=True):
    """Every option of `repair`."""

    methods: Annotated[
        tuple[RepairMethod, ...] | None,
        about(
            "How candidates are made; all by default. constants replaces computations. refit fits "
            "the remaining numbers again. The others train the model again: without columns "
            "(drop), without combinations of columns (constrain), on reweighed rows (reweigh), or "
            "on coarser values (coarsen). Every candidate ends with constants.",
            "repair",
        ),
    ] = None
    cv: Annotated[
        Annotated[int, Meta(ge=2)],
        about("Number of folds that compare the candidates, without validation rows.", "repair"),
    ] = 5
    select: Annotated[
        Select,
        about(
            "Which candidate is returned: the most useful one (max), or among those within one "
            "standard error of it the one with the smallest log loss (1se).",
            "repair",
        ),
    ] = "1se"
    max_loss: Annotated[
        Annotated[float, Meta(ge=0)] | None,
        about("The largest loss of utility that is acceptable.", "repair"),
    ] = None
    seconds: Annotated[
        Annotated[float, Meta(gt=0)] | None,
        about(
            "Seconds for the search, after which the best repair so far is returned. None means no "
            "limit.",
            "repair",
        ),
    ] = SECONDS
    remove: Annotated[
        Remove,
        about(
            "Whether disallowed computations end below the thresholds (below-threshold), or are "
            "removed even where they have little influence (entirely).",
            "repair",
        ),
    ] = "below-threshold"
    unconfirmed: Annotated[
        bool,
        about("Also repair violations that cannot be distinguished from chance.", "repair"),
    ] = False
    collections: Annotated[
        bool,
        about(
            "Also repair collections of weakly associated computations.",
            "repair",
            off="Repair only single computations, not collections of weakly associated ones.",
        ),
    ] = True
    frontier: Annotated[
        Frontier | None,
        about(
            "Also repair at other thresholds, to see what compliance costs: epsilon or delta "
            "varies the threshold around the requested one, and epsilon:0.05,0.1,0.2 takes these "
            "values. The other thresholds together have as many `seconds` as the repair.",
            "repair",
            title="'epsilon', 'delta', or a mapping from one of them to its values",
        ),
    ] = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.frontier is not None:
            frontier_values(self.frontier)


class SharedKeywords(TypedDict, total=False):
    """The options of an audit that `repair` takes as keywords too, for type checkers."""

    missing_protected: MissingProtected
    max_support: int | None
    bins: Bins
    budget: Budget
    variables: bool
    decision: Decision | None
    opaque: bool
    weights: object
    clusters: object
    association: str | Callable[..., Any] | None
    influence: str | Influence | None
    validity: Methods | None
    threads: int | None
    progress: Callable[[Any], bool | None] | None


class RepairKeywords(SharedKeywords, total=False):
    """The options that `repair` takes as keywords, for type checkers."""

    methods: tuple[RepairMethod, ...] | None
    cv: int
    select: Select
    max_loss: float | None
    seconds: float | None
    remove: Remove
    unconfirmed: bool
    collections: bool
    frontier: Frontier | None


class AuditKeywords(SharedKeywords, total=False):
    """The options that `audit` takes as keywords, for type checkers."""

    sampling: Sampling | None
    all_sets: bool
    measure: Measure
    exact: bool
    fail_on: FailOn | None
    strict: bool
    time_limit: float | None
