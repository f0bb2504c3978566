'''The project file: what is audited here, so that nobody has to type it again.

`proxyuse.toml`, or the table ``[tool.proxyuse]`` of a `pyproject.toml`. Everything in it may be
left out. Paths are relative to the folder of the file. A complete one:

>>> EXAMPLE = """
... model = "models/credit.skops"
... data = "data/applicants.parquet"
... protected = ["marital_status", "religion"]  # or one: protected = "religion"
... target = "granted"
... weights = "sampling_weight"
... where = "age >= 18 and country == 'SE'"     # in proxyuse's own language
... protected_data = "restricted/people.csv"    # the protected attributes are in this table,
... key = "person_id"                           # whose rows are found by this column
... epsilon = 0.1                               # association of a witness, at least
... delta = 0.05                                # influence of a witness, more than
... association = "cramers-v"                   # the measure, if it is another than the default
... min_cell = 5                                # smaller counts are not shown
... missing_protected = "drop"                  # or "refuse", or "category"
... threads = 2
... time_limit = 600                            # seconds, after which detection stops
... budget = { subsets = 4096, occurrences = 1024 }  # work for combinations, see `Budget`
... policy = "policy.yaml"                      # rules that say which witnesses are appropriate
... judgments = "judgments.jsonl"             # what people decided on single ones
...
... [validity]                                  # whether witnesses are real
... ways = ["confirm", "permutation", "cross-validation"]
... alpha = 0.01                                # chance of any false confirmation, at most
... weights_are = "counts"                      # or "sampling"
... permutations = 10_000
... correction = "holm"                         # or another, see `Permutation`
... exact_p_values = true
... splits = 20
... at_least = 18                               # splits in which a witness is found again
... validation_share = 0.3
... seed = 7
... confirmed_only = true                       # only these count for the exit code
...
... [output]
... json = "reports/audit.json"
... csv = "reports/audit.csv"
... markdown = "reports/audit.md"
... report = "reports/audit.html"               # a page for people
... sarif = "reports/audit.sarif"
... junit = "reports/audit.xml"
... """

In a `pyproject.toml` the tables are called ``[tool.proxyuse]``, ``[tool.proxyuse.validity]`` and
``[tool.proxyuse.output]``.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     _ = Path(folder, "proxyuse.toml").write_text(EXAMPLE)
...     project = read_project(Path(folder, "proxyuse.toml"))
>>> project.protected, project.epsilon, project.data.name, project.output.csv.name
(('marital_status', 'religion'), 0.1, 'applicants.parquet', 'audit.csv')

This module reads the file and checks it; what is left out is for the command line to fill in.
'''

from __future__ import annotations

import difflib
import math
import os
import stat
import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from proxyuse.detect.budget import BUDGET_KEYS, Budget
from proxyuse.errors import FileError
from proxyuse.io.reading import open_binary, unreadable
from proxyuse.measure.association.names import ASSOCIATIONS
from proxyuse.validity.named_options import Wanted, ways_of
from proxyuse.validity.options import CORRECTIONS, METHODS

_OWN, _SHARED = "proxyuse.toml", "pyproject.toml"


@dataclass(frozen=True)
class Output:
    """Where reports go; None for those that nobody asked for."""

    json: Path | None = None
    csv: Path | None = None
    markdown: Path | None = None
    report: Path | None = None
    sarif: Path | None = None
    junit: Path | None = None


@dataclass(frozen=True)
class Project:
    """What a project file says; None where it says nothing.

    Attributes
    ----------
    path : the file that was read.
    model, data, protected_data : files, with the folder of `path` in front of them.
    protected : names of columns.
    target, weights, key : names of columns.
    where : condition in proxyuse's own language.
    epsilon, delta : thresholds of a witness.
    association : the name of a measure.
    min_cell : smaller counts are not shown.
    missing_protected : what happens to rows whose protected attribute is missing.
    threads : how many threads may count at the same time; one per core if not given.
    time_limit : seconds after which detection stops.
    budget : how much work detection may spend on combinations.
    policy, judgments : files that say which witnesses are appropriate.
    validity : how it is asked whether witnesses are real.
    output : where reports go.
    """

    path: Path
    model: Path | None = None
    data: Path | None = None
    protected: tuple[str, ...] | None = None
    target: str | None = None
    weights: str | None = None
    where: str | None = None
    protected_data: Path | None = None
    key: str | None = None
    epsilon: float | None = None
    delta: float | None = None
    association: str | None = None
    min_cell: int | None = None
    missing_protected: Literal["refuse", "drop", "category"] | None = None
    threads: int | None = None
    time_limit: float | None = None
    budget: Budget | None = None
    policy: Path | None = None
    judgments: Path | None = None
    validity: Wanted = field(default_factory=Wanted)
    output: Output = Output()


def find_project(start: str | Path) -> Project | None:
    """Read the project file of a folder, or of the nearest folder above that has one.

    In one folder `proxyuse.toml` goes before `pyproject.toml`, which counts only if it has a
    table ``[tool.proxyuse]``. Folders above that anyone may write to, such as ``/tmp``, are passed
    over: whoever writes there would say what is audited. No file can say that a pickle is to be
    trusted; that takes ``--trust-pickle`` each time.

    Parameters
    ----------
    start : the folder to begin with.

    Returns
    -------
    Project or None
        None if there is no project file.
    """
    start = Path(os.path.abspath(start))
    for folder in (start, *start.parents):
        if folder != start and _open_to_all(folder):
            continue
        if os.path.isfile(folder / _OWN):
            return read_project(folder / _OWN)
        shared = folder / _SHARED
        if os.path.isfile(shared) and _section(shared) is not None:
            return read_project(shared)
    return None


def read_project(path: str | Path) -> Project:
    """Read a project file and check it.

    Parameters
    ----------
    path : a TOML file; of one called `pyproject.toml` the table ``[tool.proxyuse]`` is read.

    Raises
    ------
    FileError
        If it cannot be read, is not TOML, or has a key or value that does not fit.
    """
    path = Path(path)
    section = _section(path)
    if section is None:
        raise FileError(f"{path} has no table [tool.proxyuse]; add one, or name another file")
    found = _checked(path, section, _KEYS)
    output = Output(**_checked(path, found.pop("output", {}), _OUTPUTS, "output."))
    validity = Wanted(**_checked(path, found.pop("validity", {}), _VALIDITY, "validity."))
    _check_belongs(path, validity)
    if "budget" in found:
        found["budget"] = Budget(**_checked(path, found["budget"], _BUDGET, "budget."))
    return Project(path=path, output=output, validity=validity, **found)


def _check_belongs(path: Path, validity: Wanted) -> None:
    """Refuse options of ways that are not asked for, if it is said which are."""
    stray = validity.stray() if validity.ways else []
    if stray:
        table = f"{'tool.proxyuse.' * (path.name == _SHARED)}validity"
        belongs = " or ".join(f'"{way}"' for way in ways_of(stray[0]))
        raise FileError(
            f"{path}: {table}.{stray[0]} is an option of {belongs}, which {table}.ways does not "
            f"ask for; add that there, or leave {stray[0]} out"
        )


def _open_to_all(folder: Path) -> bool:
    try:
        return bool(folder.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return True


def _section(path: Path) -> Mapping[str, Any] | None:
    """The part of a TOML file that is ours; None if there is none."""
    text = _text(path)
    shared = path.name == _SHARED
    if shared and "proxyuse" not in text:
        return None  # whatever else may be wrong with it
    try:
        content: Any = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, and numbers of thousands of digits
        raise FileError(f"{path} is not valid TOML: {error}; mend it there") from error
    except RecursionError:
        raise FileError(f"{path} is not a project file: it is nested too deeply") from None
    if shared:
        tools = content.get("tool", {})
        content = tools.get("proxyuse") if isinstance(tools, dict) else None
        if content is not None and not isinstance(content, dict):
            raise FileError(f"{path}: tool.proxyuse is not a table; write [tool.proxyuse]")
    return content  # type: ignore[no-any-return]


def _text(path: Path) -> str:
    with open_binary(path) as file:
        try:
            return file.read().decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise FileError(
                f"{path} is not in UTF-8 (byte {error.start:,}); save it in UTF-8"
            ) from None
        except OSError as error:
            raise unreadable(path, error) from error


class _Unfit(Exception):
    """A value that does not fit; says what would."""


def _checked(
    path: Path, section: Mapping[str, Any], keys: Mapping[str, _Check], table: str = ""
) -> dict[str, Any]:
    """The values of a table of the file, each of which was asked whether it fits its key."""
    folder = Path(os.path.abspath(path)).parent
    found: dict[str, Any] = {}
    for name, value in section.items():
        called = f"{path}: {'tool.proxyuse.' * (path.name == _SHARED)}{table}{name}"
        if name not in keys:
            raise FileError(f"{called} is not a key that is known here; {_near(name, keys)}")
        try:
            fit = keys[name](value)
        except _Unfit as error:
            raise FileError(f"{called} is {_brief(value)}; give {error}") from None
        found[name] = folder / fit if isinstance(fit, Path) else fit
    return found


def _near(name: str, keys: Mapping[str, _Check]) -> str:
    close = difflib.get_close_matches(name.casefold().replace("-", "_"), keys)
    if close:
        return f"did you mean {' or '.join(close)}?"
    return f"keys: {', '.join(keys)}"


def _brief(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _file(value: object) -> Path:
    if not isinstance(value, str) or not value or "\0" in value:
        raise _Unfit("the path of a file as a string")
    return Path(value)


def _column(value: object) -> str:
    if not isinstance(value, str) or not value:
        raise _Unfit("the name of a column as a string")
    return value


def _columns(value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    if (
        not isinstance(names, list)
        or not names
        or any(not isinstance(name, str) or not name for name in names)
    ):
        raise _Unfit("the name of a column as a string, or a list of names")
    if len(set(names)) < len(names):
        raise _Unfit("each name once")
    return tuple(names)


def _condition(value: object) -> str:
    if not isinstance(value, str) or not value.strip():
        raise _Unfit("a condition as a string, such as \"age >= 18 and sex == 'F'\"")
    return value


def _share(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
        raise _Unfit("a number from 0 to 1")
    return float(value)


def _whole(least: int) -> _Check:
    def whole(value: object) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise _Unfit(f"a whole number of {least} or more")
        return value

    return whole


def _table(what: str) -> _Check:
    def table(value: object) -> Mapping[str, Any]:
        if not isinstance(value, dict):
            raise _Unfit(f"a table with {what}")
        return value

    return table


def _seconds(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise _Unfit("a number of seconds above 0")
    return float(value)


def _chance(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 1:
        raise _Unfit("a number between 0 and 1")
    return float(value)


def _switch(value: object) -> bool:
    if not isinstance(value, bool):
        raise _Unfit("true or false")
    return value


def _one_of(known: Iterable[str]) -> _Check:
    names = tuple(known)

    def one(value: object) -> str:
        if not isinstance(value, str) or value not in names:
            raise _Unfit(_listed(names))
        return value

    return one


def _listed(names: Sequence[str], quote: str = '"') -> str:
    *first, last = (f"{quote}{name}{quote}" for name in names)
    return f"{', '.join(first)} or {last}"


def _ways(value: object) -> tuple[str, ...]:
    names = [value] if isinstance(value, str) else value
    known = tuple(METHODS)
    if not isinstance(names, list) or not names or any(name not in known for name in names):
        raise _Unfit(f"{_listed(known)}, or a list of these")
    if len(set(names)) < len(names):
        raise _Unfit("each way once")
    return tuple(names)


_Check = Callable[[object], Any]
_KEYS: dict[str, _Check] = {
    "model": _file,
    "data": _file,
    "protected": _columns,
    "target": _column,
    "weights": _column,
    "where": _condition,
    "protected_data": _file,
    "key": _column,
    "epsilon": _share,
    "delta": _share,
    "association": _one_of(ASSOCIATIONS),
    "min_cell": _whole(1),
    "missing_protected": _one_of(("refuse", "drop", "category")),
    "threads": _whole(1),
    "time_limit": _seconds,
    "budget": _table(f"whole numbers for {_listed(BUDGET_KEYS, quote='')}"),
    "policy": _file,
    "judgments": _file,
    "validity": _table('ways, such as "confirm", and their options'),
    "output": _table("json, csv, markdown, report, sarif and junit, each the path of a file"),
}
_BUDGET: dict[str, _Check] = dict.fromkeys(BUDGET_KEYS, _whole(0))
_VALIDITY: dict[str, _Check] = {
    "ways": _ways,
    "alpha": _chance,
    "weights_are": _one_of(("sampling", "counts")),
    "permutations": _whole(1),
    "correction": _one_of(CORRECTIONS),
    "exact_p_values": _switch,
    "splits": _whole(1),
    "at_least": _whole(1),
    "validation_share": _chance,
    "seed": _whole(0),
    "confirmed_only": _switch,
}
_OUTPUTS: dict[str, _Check] = dict.fromkeys(
    ("json", "csv", "markdown", "report", "sarif", "junit"), _file
)
