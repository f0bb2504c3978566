'''The project file: the options of this project's audits.

It is `proxyuse.toml`, or the table ``[tool.proxyuse]`` of a `pyproject.toml`. Every key is
optional. Paths are relative to the folder of the file. An example:

>>> EXAMPLE = """
... model = "models/credit.skops"
... data = "data/applicants.parquet"
... protected = ["marital_status", "religion", "over60: age > 60"]  # columns or expressions
... target = "granted"
... weights = "sampling_weight"
... clusters = "household"                      # rows of one household are not independent
... where = "age >= 18 and country == 'SE'"     # in the language of programs
... protected_data = "restricted/people.csv"    # a table with the protected attributes
... key = "person_id"                           # the column that joins both tables
... epsilon = 0.1                               # minimum association of a witness
... delta = 0.05                                # influence that a witness exceeds
... association = "cramers-v"                   # association measure
... min_cell = 5                                # smaller counts are withheld
... missing_protected = "drop"                  # or "refuse", or "category"
... threads = 2
... time_limit = 600                            # seconds after which detection stops
... budget = { subsets = 4096, occurrences = 1024 }  # see `Budget`
... policy = "policy.yaml"                      # rules for appropriate witnesses
... judgments = "judgments.jsonl"             # judgments of single witnesses
... judgments_head = "0a1b..."                  # 64 digits, of the last judgment
... fail_on = "possible"                        # or "confirmed", the default
... strict = true                               # every space must be exhausted
...
... [validity]                                  # is a witness real, or noise?
... methods = ["confirm", "permutation", "cross-validation"]
... alpha = 0.01                                # maximum probability of a false confirmation
... rows_are = "held-out"                       # or "training"
... weights_are = "counts"                      # or "sampling"
... permutations = 10_000
... correction = "holm"                         # or another, see `Permutation`
... exact_p_values = true
... splits = 20
... at_least = 18                               # splits that must find a witness again
... validation_share = 0.3
... seed = 7
...
... [output]
... json = "reports/audit.json"
... csv = "reports/audit.csv"
... markdown = "reports/audit.md"
... report = "reports/audit.html"               # HTML report
... sarif = "reports/audit.sarif"
... junit = "reports/audit.xml"
...
... [limits]
... rows = 200_000_000                         # see "Limits" in the documentation
... """

In a `pyproject.toml` the tables are called ``[tool.proxyuse]``, ``[tool.proxyuse.validity]``,
``[tool.proxyuse.output]`` and ``[tool.proxyuse.limits]``.

>>> import tempfile
>>> with tempfile.TemporaryDirectory() as folder:
...     _ = Path(folder, "proxyuse.toml").write_text(EXAMPLE)
...     project = read_project(Path(folder, "proxyuse.toml"))
>>> options = project.options
>>> options.protected, options.epsilon, options.data.name, project.output.csv.name
(('marital_status', 'religion', 'over60: age > 60'), 0.1, 'applicants.parquet', 'audit.csv')

Reads and checks the file with the declarations of `project_settings`.
'''

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from proxyuse.errors import DataError, FileError
from proxyuse.input_limits import PROJECT_BYTES, checked_limits
from proxyuse.io.reading import read_bytes
from proxyuse.measure.association.names import check_association_name
from proxyuse.options import from_table, listed, options_of, shown, unknown
from proxyuse.project_settings import (
    VALIDITY_OPTIONS,
    Output,
    ProjectOptions,
    ValidityTable,
    methods_with,
)
from proxyuse.settings import check_influence_name

_OWN, _SHARED = "proxyuse.toml", "pyproject.toml"
_TABLES = {"validity": VALIDITY_OPTIONS, "output": options_of(Output)}
_LIMITS = "limits"
_TOP = tuple(option for option in options_of(ProjectOptions) if option.group is not None)


class Project(msgspec.Struct, frozen=True):
    """The options of a project.

    Attributes
    ----------
    path : the project file.
    options : the options at the top level.
    validity : the table ``[validity]``.
    output : the table ``[output]``.
    limits : the table ``[limits]``.
    """

    path: Path
    options: ProjectOptions = ProjectOptions()
    validity: ValidityTable = ValidityTable()
    output: Output = Output()
    limits: dict[str, int] = {}


def find_project(start: str | Path) -> Project | None:
    """Read the project file of a folder, or of the nearest folder above that has one.

    In one folder, `proxyuse.toml` takes precedence over `pyproject.toml`, which counts only if it
    has a table ``[tool.proxyuse]``. Parent folders that everyone can write to, such as ``/tmp``,
    are skipped: anyone could choose there what is audited. No project file can trust a pickle;
    that takes ``--trust-pickle`` each time.

    Parameters
    ----------
    start : the folder to start with.

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
    path : a TOML file. In a `pyproject.toml`, the table ``[tool.proxyuse]`` is read.

    Raises
    ------
    FileError
        If it cannot be read, is not TOML, or has an unknown key or a wrong value.
    """
    path = Path(path)
    section = _section(path)
    if section is None:
        raise FileError(f"{path} has no table [tool.proxyuse]; add one, or pass another file")
    try:
        return _project(path, section)
    except DataError as error:
        table = "[tool.proxyuse] " * (path.name == _SHARED)
        raise FileError(f"{path}: {table}{error}") from None


def _project(path: Path, section: Mapping[str, Any]) -> Project:
    known = [option.key for option in _TOP]
    for key in section:
        if key not in known and key not in _TABLES and key != _LIMITS:
            raise DataError(unknown(key, [*known, *_TABLES, _LIMITS]))
    values = from_table(_TOP, {key: section[key] for key in section if key in known})
    check_association_name(values.get("association"))
    check_influence_name(values.get("influence"))
    tables = {name: _table(name, section.get(name, {})) for name in _TABLES}
    validity = ValidityTable(tables["validity"])
    _check_stray(validity)
    folder = Path(os.path.abspath(path)).parent
    return Project(
        path,
        ProjectOptions(**_absolute(values, folder)),
        validity,
        Output(**_absolute(tables["output"], folder)),
        _limits(section.get(_LIMITS, {})),
    )


def _limits(table: object) -> dict[str, int]:
    if not isinstance(table, dict):
        raise DataError(f"{_LIMITS}: expected a table, got {shown(table)}")
    return checked_limits(table)


def _table(name: str, table: object) -> dict[str, Any]:
    if not isinstance(table, dict):
        keys = ", ".join(option.key for option in _TABLES[name])
        raise DataError(f"{name}: expected a table, got {shown(table)}; keys: {keys}")
    try:
        return from_table(_TABLES[name], table)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None


def _absolute(values: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Make paths relative to the folder of the project file."""
    return {k: folder / value if isinstance(value, Path) else value for k, value in values.items()}


def _check_stray(validity: ValidityTable) -> None:
    """Raise an error for an option of a method that is not requested, if any method is."""
    if "methods" in validity.values and (stray := validity.stray()):
        methods = listed([f"'{name}'" for name in methods_with(stray[0])])
        raise DataError(
            f"validity: {stray[0]} is an option of {methods}; add that to methods, or remove "
            f"{stray[0]}"
        )


def _open_to_all(folder: Path) -> bool:
    try:
        return bool(folder.stat().st_mode & stat.S_IWOTH)
    except OSError:
        return True


def _section(path: Path) -> Mapping[str, Any] | None:
    """Return the table of this package in a TOML file; None if there is none."""
    text = _text(path)
    shared = path.name == _SHARED
    if shared and "proxyuse" not in text:
        return None  # even if it is not valid TOML
    try:
        content: Any = tomllib.loads(text)
    except ValueError as error:  # TOMLDecodeError, and numbers of thousands of digits
        raise FileError(f"{path} is not valid TOML: {error}") from error
    except RecursionError:
        raise FileError(f"{path} is not a project file: it is nested too deeply") from None
    if shared:
        tools = content.get("tool", {})
        content = tools.get("proxyuse") if isinstance(tools, dict) else None
        if content is not None and not isinstance(content, dict):
            raise FileError(f"{path}: tool.proxyuse is not a table; write [tool.proxyuse]")
    return content  # type: ignore[no-any-return]


def _text(path: Path) -> str:
    try:
        return read_bytes(path, PROJECT_BYTES).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FileError(
            f"{path} is not in UTF-8 (byte {error.start:,}); save it in UTF-8"
        ) from None
