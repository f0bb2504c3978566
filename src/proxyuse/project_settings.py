"""The options of the command line and the project file: those of an audit, and some more.

An option without a group is for Python only: `decision` (``--decision-threshold`` covers the usual
case), `validity` (see `ValidityTable`) and `progress`.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from proxyuse.errors import DataError
from proxyuse.methods import METHODS, Method
from proxyuse.options import Count, Option, Options, about, options_of
from proxyuse.settings import RepairOptions

MIN_CELL = 5
DEFAULT = "confirm"
Acceptable = Literal["renamed", "weak-sampling", "unchecked-judgments"]
"""What `verify` refuses unless the verifier accepts it."""
MethodNameOrNone = Literal["confirm", "permutation", "cross-validation", "none"]


class ProjectOptions(RepairOptions, frozen=True, kw_only=True):
    """The options at the top level of a project file."""

    model: Annotated[
        Path | None,
        about(
            "The trained model: skops, XGBoost JSON or UBJ, LightGBM text, or a program as text. "
            "Pickle and joblib files need --trust-pickle.",
            "data",
        ),
    ] = None
    data: Annotated[
        Path | None, about("The rows to audit: CSV, Parquet, Arrow or Feather.", "data")
    ] = None
    protected: Annotated[
        tuple[str, ...] | None,
        about(
            "Column of a protected attribute, or a name and an expression that derives it from "
            'columns, such as "over60: age > 60".',
            "data",
        ),
    ] = None
    target: Annotated[
        str | None, about("Column that the model predicts, if it is in the data.", "data")
    ] = None
    where: Annotated[
        str | None,
        about(
            'Keep only rows that satisfy a condition, such as "age >= 18 and job in '
            "{'clerk', 'cook'}\".",
            "data",
        ),
    ] = None
    protected_data: Annotated[
        Path | None, about("A separate table with the protected attributes.", "data")
    ] = None
    key: Annotated[str | None, about("Column on which to join the two tables.", "data")] = None
    decision_threshold: Annotated[
        float | None,
        about(
            "Audit the decision whether the probability of the last class is at least this "
            "number, instead of the predicted class.",
            "data",
        ),
    ] = None
    policy: Annotated[
        Path | None,
        about(
            "Rules that decide which witnesses are appropriate. Only the others are violations.",
            "witness",
        ),
    ] = None
    judgments: Annotated[
        Path | None,
        about(
            "Recorded judgments of single witnesses. They take precedence over the policy.",
            "witness",
        ),
    ] = None
    judgments_head: Annotated[
        str | None,
        about(
            "Head of the file of judgments, as an earlier result printed it. If the file has "
            "another one, nothing is audited.",
            "witness",
        ),
    ] = None
    min_cell: Annotated[Count, about("Withhold counts of people below this number.", "result")] = (
        MIN_CELL
    )

    @property
    def weights_column(self) -> str | None:
        """The column of the weights."""
        return None if self.weights is None else str(self.weights)

    @property
    def clusters_column(self) -> str | None:
        """The column of the clusters."""
        return None if self.clusters is None else str(self.clusters)


class Output(Options, frozen=True, kw_only=True):
    """The files that an audit writes."""

    json: Annotated[Path | None, about("Write the result as JSON.")] = None
    csv: Annotated[Path | None, about("Write the witnesses as CSV.")] = None
    markdown: Annotated[Path | None, about("Write a Markdown summary for a pull request.")] = None
    report: Annotated[Path | None, about("Write an HTML report.")] = None
    sarif: Annotated[Path | None, about("Write the witnesses as SARIF for code scanning.")] = None
    junit: Annotated[Path | None, about("Write the witnesses as JUnit XML for CI servers.")] = None


class ValidityOptions(Options, frozen=True, kw_only=True):
    """The options of the table ``[validity]`` that do not belong to a method."""

    methods: Annotated[
        tuple[MethodNameOrNone, ...] | None,
        about(
            "Test whether each witness is real or noise: by confidence bounds (confirm, the "
            "default), by permuting the protected attribute, by splitting the rows, or not at all "
            "(none). A witness is confirmed only if all methods confirm it.",
            "validity",
        ),
    ] = None


METHOD_OPTIONS: dict[str, Option] = {
    option.key: option for method in METHODS.values() for option in options_of(method)
}
"""The options of all methods, by key."""
VALIDITY_OPTIONS: tuple[Option, ...] = (*options_of(ValidityOptions), *METHOD_OPTIONS.values())


class ValidityTable(msgspec.Struct, frozen=True):
    """The table ``[validity]``, or the options of the command line for it.

    Attributes
    ----------
    values : the values by key; what is missing has its default.

    Examples
    --------
    >>> table = ValidityTable({"methods": ("confirm", "permutation"), "alpha": 0.01})
    >>> [method.alpha for method in table.methods]
    [0.01, 0.01]
    >>> ValidityTable({"methods": ("confirm",), "splits": 5}).stray()
    ['splits']
    >>> ValidityTable().names, ValidityTable({"methods": ("none",)}).names
    (('confirm',), ())
    """

    values: dict[str, Any] = {}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the requested methods: confirm by default, none if it is turned off."""
        names = tuple(self.values.get("methods") or (DEFAULT,))
        if "none" in names and len(names) > 1:
            raise DataError("validity: 'none' turns testing off; name it alone, or omit it")
        return () if names == ("none",) else names

    @property
    def methods(self) -> tuple[Method, ...]:
        """The requested methods with their options."""
        return tuple(
            METHODS[name](**self._options(options_of(METHODS[name]))) for name in self.names
        )

    def _options(self, options: Iterable[Option]) -> dict[str, Any]:
        return {o.name: self.values[o.key] for o in options if o.key in self.values}

    def stray(self) -> list[str]:
        """Return the options that belong to none of the requested methods."""
        requested = set(self.names)
        return [
            key
            for key, value in self.values.items()
            if key != "methods" and value is not False and not requested & {*methods_with(key)}
        ]

    def over(self, other: "ValidityTable") -> "ValidityTable":
        """Return these values, and those of another table where there is none."""
        return ValidityTable({**other.values, **self.values})


def methods_with(key: str) -> tuple[str, ...]:
    """Return the names of the methods that have an option; all if it belongs to none of them.

    Examples
    --------
    >>> methods_with("splits"), methods_with("alpha")
    (('cross-validation',), ('confirm', 'permutation'))
    """
    return tuple(
        name
        for name, method in METHODS.items()
        if key not in METHOD_OPTIONS or key in (option.key for option in options_of(method))
    )
