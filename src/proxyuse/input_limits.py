"""Every limit on the size of an input, stated once: name, default, unit and meaning.

A file may come from a stranger, and a small file can ask for a lot of memory or time. Each reader
checks its limits before it does the work. To add a limit, add it here, call `Limit.check` where
the size becomes known, and run `make options`, which updates the table in `docs/limits.md`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from proxyuse.errors import DataError, LimitExceeded

_ADJUSTED: ContextVar[Mapping[str, int]] = ContextVar("adjusted limits")


@dataclass(frozen=True, slots=True)
class Limit:
    """A limit on the size of an input.

    Attributes
    ----------
    name : its name on the command line, in the project file and as a keyword of `limits`.
    default : the value that applies unless it is adjusted.
    unit : what is counted, in the plural.
    meaning : what it applies to.
    """

    name: str
    default: int
    unit: str
    meaning: str

    @property
    def value(self) -> int:
        """The value that applies now.

        Examples
        --------
        >>> with limits(rows=10):
        ...     ROWS.value
        10
        """
        return _ADJUSTED.get({}).get(self.name, self.default)

    def check(self, count: int, subject: object) -> None:
        """Raise `LimitExceeded` if a subject has a larger count.

        Examples
        --------
        >>> with limits(rows=10):
        ...     ROWS.check(12, "people.csv")
        Traceback (most recent call last):
            ...
        proxyuse.errors.LimitExceeded: people.csv has 12 rows, more than the limit `rows` of 10; \
if you trust the input, raise the limit: --limit rows=12, or proxyuse.limits(rows=12) in Python
        """
        if count > self.value:
            raise self.exceeded(count, subject)

    def exceeded(self, count: int, subject: object, *, at_least: bool = False) -> LimitExceeded:
        """Return the error; with `at_least`, the true count was not determined."""
        shown = f"at least {count:,}" if at_least else f"{count:,}"
        value = "N" if at_least else str(count)
        return LimitExceeded(
            f"{subject} has {shown} {self.unit}, more than the limit `{self.name}` of "
            f"{self.value:,}; if you trust the input, raise the limit: "
            f"--limit {self.name}={value}, or proxyuse.limits({self.name}={value}) in Python",
            self.name,
            count,
            self.value,
        )


TABLE_BYTES = Limit("table_bytes", 1 << 31, "bytes", "A table file, after decompression.")
PIPE_BYTES = Limit(
    "pipe_bytes", 1 << 28, "bytes", "A table that is read from a pipe, which is held in memory."
)
PIPE_SECONDS = Limit("pipe_seconds", 600, "seconds", "How long to read from a pipe.")
COMPRESSION = Limit(
    "compression",
    100,
    "times its size",
    "How much a compressed table may grow. The first 64 MiB are always allowed.",
)
ROWS = Limit("rows", 100_000_000, "rows", "A table.")
COLUMNS = Limit("columns", 100_000, "columns", "A table.")
CELLS = Limit("cells", 250_000_000, "cells", "The rows of a table times the columns that are read.")
RECORD_BYTES = Limit("record_bytes", 1 << 24, "characters", "One row of a CSV file.")

MODEL_BYTES = Limit("model_bytes", 1 << 31, "bytes", "A model file.")
SKOPS_BYTES = Limit("skops_bytes", 1 << 30, "bytes", "A skops file, after decompression.")
SKOPS_NODES = Limit("skops_nodes", 400_000, "parts", "The description in a skops file.")
JSON_VALUES = Limit(
    "json_values",
    20_000_000,
    "values",
    "A JSON document: a model of XGBoost, the description in a skops file, a result or a "
    "certificate.",
)
JSON_DEPTH = Limit("json_depth", 200, "levels", "How deeply the values of a JSON document nest.")
RESULT_BYTES = Limit("result_bytes", 1 << 30, "bytes", "The JSON result of an audit.")
CERTIFICATE_BYTES = Limit("certificate_bytes", 1 << 28, "bytes", "A certificate.")
SIGNATURE_BYTES = Limit("signature_bytes", 1 << 16, "bytes", "A signature.")

PROGRAM_BYTES = Limit("program_bytes", 1 << 28, "characters", "A program as text.")
PROGRAM_WORDS = Limit("program_words", 10_000_000, "names, numbers and signs", "A program as text.")
POSITIONS = Limit(
    "positions",
    50_000_000,
    "positions",
    "A program. A sub-term that is used several times counts each time.",
)
AUDIT_NODES = Limit(
    "audit_nodes",
    200_000,
    "nodes outside of trees",
    "A program to audit. Trees with constant leaves are stored as columns and do not count.",
)
AUDIT_STEPS = Limit(
    "audit_steps",
    100_000_000,
    "steps from the nodes up to the root",
    "A program to audit: for each node outside of trees, the number of siblings on its way up to "
    "the root. The time for an audit grows with it.",
)

POLICY_BYTES = Limit("policy_bytes", 1_000_000, "bytes", "A policy.")
POLICY_DEPTH = Limit("policy_depth", 20, "levels", "How deeply the values of a policy nest.")
PROJECT_BYTES = Limit("project_bytes", 1_000_000, "bytes", "A project file.")
JUDGMENTS_BYTES = Limit("judgments_bytes", 1 << 28, "bytes", "A file of judgments.")

LIMITS: dict[str, Limit] = {
    value.name: value for value in list(globals().values()) if isinstance(value, Limit)
}
"""All limits by name."""


@contextmanager
def limits(**values: int) -> Iterator[None]:
    """Adjust limits on the size of inputs while a block runs.

    Raise a limit only for files that you trust; lower limits for files of strangers. The page
    "Limits" of the documentation lists all of them. Limits apply to the current thread.

    Parameters
    ----------
    **values : the new value of each limit, by its name.

    Examples
    --------
    >>> import proxyuse as pu
    >>> with pu.limits(program_bytes=10):
    ...     pu.Program.parse("ite(age <= 30, 0, 1)")
    Traceback (most recent call last):
        ...
    proxyuse.errors.LimitExceeded: the program has 20 characters, more than the limit \
`program_bytes` of 10; if you trust the input, raise the limit: --limit program_bytes=20, or \
proxyuse.limits(program_bytes=20) in Python
    """
    token = _ADJUSTED.set({**_ADJUSTED.get({}), **checked_limits(values)})
    try:
        yield
    finally:
        _ADJUSTED.reset(token)


def add_default_limits(values: Mapping[str, int]) -> None:
    """Adjust limits that are not adjusted yet, until the surrounding `limits` block ends."""
    _ADJUSTED.set({**values, **_ADJUSTED.get({})})


def checked_limits(values: Mapping[str, object]) -> dict[str, int]:
    """Return limits by name; an error names an unknown limit or a value that is not a count.

    Examples
    --------
    >>> checked_limits({"rosw": 1})
    Traceback (most recent call last):
        ...
    proxyuse.errors.DataError: unknown limit 'rosw'; did you mean 'rows'?
    """
    checked: dict[str, int] = {}
    for name, value in values.items():
        if name not in LIMITS:
            import difflib

            close = difflib.get_close_matches(name, LIMITS, n=1)
            hint = f"did you mean '{close[0]}'?" if close else f"known: {', '.join(LIMITS)}"
            raise DataError(f"unknown limit '{name}'; {hint}")
        if type(value) is not int or value < 1:
            raise DataError(f"limit {name}: expected an integer of at least 1, got {value!r:.40}")
        checked[name] = value
    return checked


def parsed_limits(texts: list[str]) -> dict[str, int]:
    """Parse limits as they are written on the command line.

    Examples
    --------
    >>> parsed_limits(["rows=1_000", "json-depth=300"])
    {'rows': 1000, 'json_depth': 300}
    """
    values: dict[str, object] = {}
    for text in texts:
        name, _, value = text.partition("=")
        is_count = re.fullmatch(r"[0-9][0-9_]{0,30}", value) is not None
        values[name.strip().replace("-", "_")] = int(value.replace("_", "")) if is_count else value
    return checked_limits(values)
