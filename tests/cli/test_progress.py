"""Progress on standard error where that is no terminal, and the budget on the command line."""

from __future__ import annotations

import io
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from proxyuse.cli.progress import Bar, Lines
from proxyuse.detect.progress import Progress
from tests.command_line import run


class Log(io.StringIO):
    """A stream that says when a line with a text was written."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen = threading.Event()
        self._text = text

    def flush(self) -> None:
        if self._text in self.getvalue():
            self.seen.set()


def test_a_log_gets_a_line_for_the_stage_and_one_for_what_was_measured():
    log = Log("27%")
    lines = Lines(log, interval=0.005)
    lines.stage("auditing the model")
    while "auditing" not in log.getvalue():
        pass
    lines(Progress(12_000, 45_000))
    assert log.seen.wait(60)
    lines.close()
    text = log.getvalue()
    assert "proxyuse: auditing the model, 0 s\n" in text
    assert "proxyuse: 12,000 of 45,000 measurements done (27%), 0 s\n" in text
    assert "\r" not in text
    assert "\x1b" not in text


def test_work_that_is_not_counted_is_shown_as_its_stage():
    """A search measures more than was listed, and so does the result."""
    log, terminal = Log("preparing"), io.StringIO()
    lines, drawn = Lines(log, interval=0.005), Bar(terminal)
    for each in (lines, drawn):
        each.stage("preparing the result")
        each._start -= 60
        each(Progress(19, 6))
    assert log.seen.wait(60)
    lines.close()
    assert "measurements" not in log.getvalue()
    assert terminal.getvalue().endswith("preparing the result, 1 min 0 s ...")


def test_nothing_is_written_after_the_end():
    log = Log("")
    lines = Lines(log, interval=0.001)
    lines.close()
    written = log.getvalue()
    lines.stage("more")
    assert log.getvalue() == written


def test_a_stream_that_was_closed_stops_nothing():
    log = Log("")
    log.close()
    lines = Lines(log, interval=0.001)
    lines.stage("reading")
    lines.close()


# The budget


@pytest.fixture
def sum_of_many(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A sum whose partial sums are more than a small budget lists."""
    monkeypatch.chdir(tmp_path)
    numbers = np.random.default_rng(0).normal(size=(120, 6)).round(2)
    wide = pd.DataFrame(numbers, columns=[f"x{i}" for i in range(6)])
    wide.assign(z=[0, 1] * 60).to_csv("wide.csv", index=False)
    Path("sum.txt").write_text(f"ite({' + '.join(wide.columns)} > 0, 1, 0)")
    return ["--model", "sum.txt", "--data", "wide.csv", "--protected", "z", "--epsilon", "0.3"]


SEARCHED = "Partial sums of the 6 terms of the score were searched, but not exhaustively: 0 of 56"


def test_with_a_smaller_budget_sums_are_searched_and_not_exhausted(sum_of_many, capsys):
    out, _ = run("audit", *sum_of_many, code=0, capsys=capsys)
    assert "searched" not in out
    small = ("--budget", "subsets=4,search=0", "--budget", "grow=0")
    out, _ = run("audit", *sum_of_many, *small, code=0, capsys=capsys)
    assert SEARCHED in out
    out, _ = run("judge", *sum_of_many, *small, "--list", "--json", "--judgments", "j.jsonl",
                 code=0, capsys=capsys)  # fmt: skip
    assert SEARCHED in out


def test_the_project_file_can_set_a_budget(sum_of_many, capsys):
    Path("proxyuse.toml").write_text("budget = { subsets = 4, search = 0, grow = 0 }\n")
    out, _ = run("audit", *sum_of_many, code=0, capsys=capsys)
    assert SEARCHED in out
    out, _ = run("audit", *sum_of_many, "--budget", "subsets=64", code=0, capsys=capsys)
    assert "searched" not in out
    Path("proxyuse.toml").write_text("budget = { subset = 4 }\n")
    _, err = run("audit", *sum_of_many, code=2, capsys=capsys)
    assert "budget: unknown option 'subset'; did you mean 'subsets'?" in err
    Path("proxyuse.toml").write_text("budget = 5\n")
    _, err = run("audit", *sum_of_many, code=2, capsys=capsys)
    assert "budget: expected a table, got 5" in err


def test_repair_takes_a_budget(sum_of_many, capsys):
    output = ("--output", "repaired.txt")
    out, _ = run("repair", *sum_of_many, *output, code=0, capsys=capsys)
    assert "searched" not in out
    small = ("--budget", "subsets=4,search=0,grow=0", "--force")
    out, _ = run("repair", *sum_of_many, *output, *small, code=0, capsys=capsys)
    assert SEARCHED in out


def test_a_wrong_budget_ends_with_2(sum_of_many, capsys):
    _, err = run("audit", *sum_of_many, "--budget", "speed=3", code=2, capsys=capsys)
    assert "known options: subsets, search, grow, occurrences, positions" in err
