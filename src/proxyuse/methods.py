"""Methods that test whether a witness is real, with their options; part of `settings`."""

from collections.abc import Sequence
from typing import Annotated, Literal, get_args

import msgspec

from proxyuse.errors import DataError
from proxyuse.options import Count, CountOrZero, OpenShare, Options, about

Correction = Literal["westfall-young", "holm", "bonferroni", "benjamini-hochberg", "none"]
CORRECTIONS: tuple[Correction, ...] = get_args(Correction)
Weights = Literal["sampling", "counts"]
Rows = Literal["held-out", "training"]
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
    rows : whether the model was trained on these rows. With ``"training"``, the level of a
        computation accounts for everything that training could have chosen instead. By default the
        rows are held out, unless what the model stores about its training data matches them.
    seed : the seed for association measures whose bounds come from random tables.
    """

    rows: Annotated[
        Rows | None,
        about(
            "Whether the model was trained on these rows (training) or not (held-out). By default "
            "held-out, unless the training data that the model describes matches them.",
            "validity",
        ),
    ] = msgspec.field(default=None, name="rows_are")

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
