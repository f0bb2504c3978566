"""Every option is declared once and reaches Python, the command line, files and certificates."""

from __future__ import annotations

import argparse
import inspect
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import pytest

import proxyuse as pu
from proxyuse.cli.audit_command import settings as project_settings
from proxyuse.cli.commands import add_commands
from proxyuse.cli.declared_options import OPTIONS, add_options, values_in
from proxyuse.errors import DataError, FileError
from proxyuse.options import Count, Options, about, documented, from_table, options_of
from proxyuse.project import read_project
from proxyuse.project_settings import VALIDITY_OPTIONS, Output, ProjectOptions
from proxyuse.settings import (
    AuditKeywords,
    AuditOptions,
    RepairKeywords,
    RepairOptions,
    Settings,
)
from proxyuse.verification.certify import certify
from tests.command_line import run

PROGRAM = pu.Program.parse("ite(x <= 1, 0, 1)")
DATA = {"x": [1, 2], "z": [0, 1]}
THRESHOLDS = {"epsilon", "delta"}
PYTHON_ONLY = {"decision", "validity", "progress"}
"""Options that the command line and files have in another form, or not at all."""


def names(kind: type[Options]) -> set[str]:
    return {option.name for option in options_of(kind)}


def arguments_of(command: str) -> dict[str, argparse.Action]:
    parser = argparse.ArgumentParser()
    add_commands(parser)
    (commands,) = (a.choices for a in parser._actions if isinstance(a.choices, dict))
    return {action.dest: action for action in commands[command]._actions}


# The declarations agree


def test_the_keywords_of_audit_are_its_options() -> None:
    assert {*AuditKeywords.__annotations__} == names(AuditOptions) - THRESHOLDS


@pytest.mark.parametrize("keywords", [AuditKeywords, RepairKeywords])
def test_a_keyword_has_the_type_of_its_option(keywords: Any) -> None:
    options = {option.name: option for option in options_of(RepairOptions)}
    for name, kind in get_type_hints(keywords).items():
        assert kind == options[name].annotation, name


def test_every_option_has_a_help_text_that_is_a_sentence() -> None:
    for option in (*options_of(ProjectOptions), *options_of(Output), *VALIDITY_OPTIONS):
        assert option.help[0].isupper(), option.name
        assert option.help.endswith("."), option.name


# Where they arrive


def test_every_option_is_in_the_signature_and_the_docstring_of_audit() -> None:
    parameters = inspect.signature(pu.audit).parameters
    for option in options_of(AuditOptions):
        assert parameters[option.name].default == option.default
        assert f"\n{option.name} : " in (pu.audit.__doc__ or "")
    assert {*parameters} == {"model", "X", "protected"} | names(AuditOptions)


def test_every_own_option_of_repair_is_a_keyword() -> None:
    assert names(RepairOptions) - names(AuditOptions) < {*RepairKeywords.__annotations__}


def test_repair_documents_the_options_it_takes() -> None:
    parameters = inspect.signature(pu.repair).parameters
    assert {*RepairKeywords.__annotations__} | THRESHOLDS < {*parameters}
    assert "time_limit" not in parameters
    for name in RepairKeywords.__annotations__:
        assert f"\n{name} : " in (pu.repair.__doc__ or "")


@pytest.mark.parametrize("command", ["audit", "judge", "repair"])
def test_every_option_is_an_argument(command: str) -> None:
    arguments = arguments_of(command)
    offered = {option.key for option in options_of(ProjectOptions) if option.group}
    assert offered == names(ProjectOptions) - PYTHON_ONLY
    keywords = {*RepairKeywords.__annotations__} if command == "repair" else names(AuditOptions)
    offered -= names(RepairOptions) - keywords - THRESHOLDS
    assert {f"options.{key}" for key in offered} == {
        name for name in arguments if name.startswith("options.")
    }
    assert {f"validity.{option.key}" for option in VALIDITY_OPTIONS} < {*arguments}
    assert "Default: 0.1." in str(arguments["options.epsilon"].help)


def test_every_option_is_a_key_of_the_project_file(tmp_path: Path) -> None:
    values = {"int": "3", "float": "0.5", "bool": "true", "str": "'a'", "Path": "'a'"}
    special = {
        "missing_protected": "'drop'", "measure": "'all'", "association": "'cramers-v'",
        "influence": "'squared-change'", "budget": "{}", "sampling": "{}", "weights": "'a'",
        "protected": "'a'", "clusters": "'a'", "fail_on": "'possible'", "bins": "'best-cut'",
        "methods": "'drop'", "select": "'max'", "remove": "'entirely'",
        "frontier": "'epsilon'",
    }  # fmt: skip
    path = tmp_path / "proxyuse.toml"
    for option in options_of(ProjectOptions):
        value = special.get(option.key) or values.get(getattr(option.kind, "__name__", ""), "''")
        path.write_text(f"{option.key} = {value}")
        if option.name in PYTHON_ONLY:
            with pytest.raises(FileError):
                read_project(path)
        else:
            assert getattr(read_project(path).options, option.name) is not None


@pytest.mark.parametrize(("key", "value"), [("seconds", "5"), ("bins", "7")])
def test_none_on_the_command_line_replaces_a_number_of_the_project_file(
    key: str, value: str, tmp_path: Path
) -> None:
    path = tmp_path / "proxyuse.toml"
    path.write_text(f"model = 'm'\ndata = 'd'\nprotected = 'z'\n{key} = {value}\n")
    parser = argparse.ArgumentParser()
    add_commands(parser)
    words = ["repair", "--output", "r.txt", "--project", str(path)]
    written = project_settings(parser.parse_args(words)).options
    assert getattr(written, key) == int(value)
    none = project_settings(parser.parse_args([*words, f"--{key}", "none"])).options
    assert getattr(none, key) is None


def test_a_certificate_records_the_settings() -> None:
    audit = pu.audit(PROGRAM, DATA, "z", 0.5, bins=7)
    assert {*certify(audit).content["settings"]} == names(Settings)
    assert certify(audit).content["settings"]["bins"] == 7


def test_a_new_option_needs_no_other_line() -> None:
    class Wider(ProjectOptions, frozen=True, kw_only=True):
        rounds: Annotated[Count, about("Number of rounds.", "search")] = 3

    @documented(Wider, ["rounds"])
    def audit(model: object, **options: Any) -> None:
        """Audit.

        {options}
        """

    assert inspect.signature(audit).parameters["rounds"].default == 3
    assert "rounds : an integer of at least 1, default 3\n    Number of rounds." in str(
        audit.__doc__
    )
    parser = argparse.ArgumentParser()
    add_options(parser, OPTIONS, options_of(Wider))
    assert values_in(parser.parse_args(["--rounds", "5"]), OPTIONS) == {"rounds": 5}
    assert "Number of rounds. Default: 3." in parser.format_help()
    assert from_table(options_of(Wider), {"rounds": 4}) == {"rounds": 4}


# One style of errors


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("epsilon", 2, "expected a number between 0 and 1, or a percentage such as '50%', got 2"),
        ("threads", 0, "expected an integer of at least 1"),
        ("measure", "some", "expected 'needed' or 'all', got 'some'"),
        ("association", "nmi", "'squared-correlation'"),
        ("max_support", 1.5, "expected an integer of at least 2"),
        ("bins", 0, "expected 'best-cut' or an integer of at least 1"),
    ],
)
def test_a_wrong_value_gets_the_same_words_everywhere(
    name: str, value: Any, expected: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options: Any = {name: value}
    with pytest.raises(DataError) as caught:
        pu.audit(PROGRAM, DATA, "z", **options)
    assert str(caught.value).startswith(f"{name}: ")
    assert expected in str(caught.value)
    path = tmp_path / "proxyuse.toml"
    path.write_text(f"{name} = {value!r}")
    with pytest.raises(FileError) as refused:
        read_project(path)
    assert str(refused.value).startswith(f"{path}: {name}: ")
    assert expected in str(refused.value)
    flag = f"--{name.replace('_', '-')}"
    _, err = run("audit", flag, value, code=2, capsys=capsys)
    assert f"argument {flag}: " in err
    assert expected in err


def test_an_unknown_option_gets_a_suggestion_everywhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options: Any = {"epsilom": 1}
    message = r"unknown option 'epsilom'; did you mean 'epsilon'\?"
    with pytest.raises(DataError, match=message):
        pu.audit(PROGRAM, DATA, "z", **options)
    path = tmp_path / "proxyuse.toml"
    path.write_text("epsilom = 1")
    with pytest.raises(FileError, match=message):
        read_project(path)
    _, err = run("audit", "--epsilom", 1, code=2, capsys=capsys)
    assert "unknown option '--epsilom'; did you mean '--epsilon'?" in err


def test_repair_refuses_an_option_of_audit_that_it_does_not_take() -> None:
    options: Any = {"time_limit": 3}
    with pytest.raises(DataError, match="unknown option 'time_limit'"):
        pu.repair(PROGRAM, DATA, protected="z", **options)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("subset=3", "unknown option 'subset'; did you mean 'subsets'?"),
        ("subsets", "expected KEY=VALUE, got 'subsets'; keys: subsets, search, grow"),
        ("", "expected KEY=VALUE, got ''"),
        ("subsets=4,", "expected KEY=VALUE, got ''"),
        ("subsets=-1", "subsets: expected an integer of at least 0, got -1"),
        ("grow=many", "grow: expected an integer of at least 0, got 'many'"),
        ("grow=1.5", "got 1.5"),
        ("grow=1,grow=2", "grow: occurs twice"),
    ],
)
def test_a_table_on_the_command_line_is_checked(
    text: str, expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _, err = run("audit", "--budget", text, code=2, capsys=capsys)
    assert expected in err


def test_a_path_is_answered_with_load_model() -> None:
    for path in ("model.skops", Path("model.skops")):
        with pytest.raises(pu.TranslationError, match=r"pu\.load_model"):
            pu.audit(path, DATA, "z")


def test_numpy_values_become_plain() -> None:
    import numpy as np

    settings = Settings(epsilon=np.float32(0.5), bins=np.int64(4), exact=np.True_)  # type: ignore[arg-type]
    assert settings == Settings(epsilon=0.5, bins=4, exact=True)
    assert [type(value) for value in (settings.epsilon, settings.bins, settings.exact)] == [
        float,
        int,
        bool,
    ]
