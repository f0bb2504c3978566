"""The experiments of the paper: scripts that are loaded, run and written as pages."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from proxyuse.errors import FileError
from proxyuse.reproduction import (
    EXPERIMENTS,
    Compared,
    Experiment,
    Reproduced,
    Table,
    load,
    scripts,
)
from tests.command_line import run

ROOT = Path(__file__).parents[2]
PAGES = ROOT / "docs" / "paper"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# Figures side by side


@pytest.mark.parametrize(
    ("stated", "here", "measured", "same"),
    [
        ("0.0224913", 0.02249131, "0.0224913", True),
        ("0.0224913", 0.02249136, "0.0224914", False),
        ("0.118530", 0.1185299, "0.118530", True),
        ("38", 38, "38", True),
        ("38", 39, "39", False),
        ("0", 0.4, "0.4", False),
        ("0", -0.0, "0", True),
        ("1", 1.0, "1", True),
        ("relationship <= 0.5", "relationship <= 0.5", "relationship <= 0.5", True),
        (None, 0.123456, "0.1235", None),
        (None, 48842, "48,842", None),
    ],
)
def test_a_figure_is_compared_with_the_digits_that_were_stated(stated, here, measured, same):
    line = Compared("of something", stated, here)
    assert (line.measured, line.same) == (measured, same)


def test_a_page_has_the_text_the_figures_and_what_was_noticed():
    experiment = Experiment("some", "A title", "Some *prose*.", Reproduced)
    result = Reproduced(
        compared=[Compared("`a | b`", "0.5", 0.4999), Compared("c", "0.5", 0.6)],
        tables=[Table("More", ("x", "y"), (("1", "2"),))],
        remarks=["Noticed."],
    )
    assert experiment.page(result).splitlines() == [
        "# A title",
        "",
        "Some *prose*.",
        "",
        "|  | authors | here |  |",
        "|---|---|---|---|",
        "| `a \\| b` | 0.5 | 0.5 | same |",
        "| c | 0.5 | 0.6 | differs |",
        "",
        "**More**",
        "",
        "| x | y |",
        "|---|---|",
        "| 1 | 2 |",
        "",
        "- Noticed.",
        "",
        "<!-- made by: proxyuse reproduce -->",
    ]
    assert experiment.text(result).splitlines() == [
        "A title",
        "           authors  here",
        "    a | b  0.5      0.5   same",
        "    c      0.5      0.6   differs",
        "  More",
        "    x  y",
        "    1  2",
        "  Noticed.",
    ]


# The scripts


def test_every_script_is_an_experiment_and_every_experiment_a_script():
    assert {path.stem for path in scripts().glob("*.py")} == set(EXPERIMENTS)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_script_tells_what_it_does_in_its_docstring(name):
    experiment = load(name)
    assert experiment.title
    assert len(experiment.prose) > 200


def test_a_script_runs_by_itself(folder):
    script = scripts() / "contraception.py"
    done = subprocess.run(
        [sys.executable, str(script), "--out", "here"], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert re.search("0.0224913 +0.0224913 +same", done.stdout)
    assert sorted(path.name for path in (folder / "here").iterdir()) == [
        "contraception.md",
        "contraception.svg",
    ]


# The command


def test_the_command_writes_a_page_and_what_is_there(folder, capsys):
    out, _ = run("reproduce", "contraception", code=0, capsys=capsys)
    assert re.search("0.0224913 +0.0224913 +same", out)
    contents = (folder / "paper" / "README.md").read_text(encoding="utf-8")
    assert "(contraception.md)" in contents
    assert "(student.md)" not in contents
    assert "(not done here: `proxyuse reproduce student`)" in contents
    assert "(not done here: `proxyuse reproduce credit --psid FILE`)" in contents
    run("reproduce", "student", code=0, capsys=capsys)
    contents = (folder / "paper" / "README.md").read_text(encoding="utf-8")
    assert contents.index("(contraception.md)") < contents.index("(student.md)")


def test_the_list_runs_nothing(folder, capsys):
    out, _ = run("reproduce", "--list", code=0, capsys=capsys)
    assert [line.split()[0] for line in out.splitlines()] == list(EXPERIMENTS)
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing"], "there is no experiment 'nothing'; there are adult, contraception"),
        (["nothing", "--list"], "there is no experiment 'nothing'"),
        (["credit"], "name it with --psid FILE"),
        (["credit", "--psid", "none.csv"], "there is no such file"),
        (["contraception", "--out", "file/x"], "cannot be made a folder"),
    ],
)
def test_wrong_use_is_said_before_any_work(words, message, folder, capsys):
    (folder / "file").write_text("not a folder")
    out, error = run("reproduce", *words, code=2, capsys=capsys)
    assert message in error
    assert out == ""


def test_what_somebody_else_wrote_is_not_overwritten(folder, capsys):
    (folder / "README.md").write_text("# My project")
    _, error = run("reproduce", "masked", "--out", ".", code=2, capsys=capsys)
    assert "it was not made by 'proxyuse reproduce'; name another folder" in error
    assert [path.name for path in folder.iterdir()] == ["README.md"]
    assert (folder / "README.md").read_text() == "# My project"


def test_one_that_goes_wrong_leaves_the_others(folder, capsys):
    names = "credit_card,stud_loan,medical_exp,employment,income,marital_status,auto_insurance,"
    names += "children,age,gender,housing,health_status,work_hours"
    rows = [f"900,0,350,1,{20000 + n},1,700,2,41,1,1,{1 + n % 4},38" for n in range(40)]
    Path("families.csv").write_text("\n".join([names, *rows]))
    out, _ = run(
        "reproduce", "credit", "masked", "--psid", "families.csv", "--json", code=2, capsys=capsys
    )
    credit, masked = json.loads(out)
    assert "says the same of all 40 families" in credit["left_out"]
    assert masked["compared"]
    assert "(masked.md)" in (folder / "paper" / "README.md").read_text(encoding="utf-8")


def test_there_is_no_other_experiment():
    with pytest.raises(FileError, match="there is no experiment"):
        load("../x")


# The documentation


@pytest.mark.parametrize("name", [name for name in EXPERIMENTS if name != "credit"])
def test_a_page_of_the_documentation_begins_with_the_text_of_its_script(name):
    experiment = load(name)
    page = (PAGES / f"{name}.md").read_text(encoding="utf-8")
    assert page.startswith(f"# {experiment.title}\n\n{experiment.prose}\n")


@pytest.mark.parametrize("name", ["contraception", "student", "masked", "models", "similar"])
def test_a_page_of_the_documentation_says_what_the_script_says(name, tmp_path):
    experiment = load(name)
    experiment.write(experiment.reproduce(), tmp_path)
    fresh = (tmp_path / f"{name}.md").read_text(encoding="utf-8")
    assert (PAGES / f"{name}.md").read_text(encoding="utf-8") == fresh


def test_the_documentation_has_every_page_that_can_be_made_here():
    made = {path.stem for path in PAGES.glob("*.md")}
    assert made == {"README", *EXPERIMENTS} - {"credit"}


@pytest.mark.slow
def test_all_experiments_in_a_row(folder, capsys):
    out, _ = run("reproduce", "--json", code=0, capsys=capsys)
    told = {found["name"]: found for found in json.loads(out)}
    assert list(told) == list(EXPERIMENTS)
    assert "--psid" in told["credit"]["left_out"]
    done = [found for found in told.values() if "left_out" not in found]
    assert all(Path(file).stat().st_size for found in done for file in found["files"])
    differing = {
        (found["name"], line["stated"])
        for found in done
        for line in found["compared"]
        if line["same"] is False
    }
    assert differing == {("models", "0.136436")}  # its page says why
