"""`proxyuse audit --thresholds` counts the witnesses at other thresholds, in every format."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pytest

from tests.command_line import run

AUDIT = ("audit", "--model", "model.txt", "--data", "people.csv", "--protected", "pregnant")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("model.txt").write_text("ite(vitamins == 1, 'A', ite(height <= 170, 'A', 'B'))")
    columns = {"vitamins": [1, 0] * 100, "height": [160, 160, 180, 180] * 50}
    pd.DataFrame({**columns, "pregnant": ["yes", "no"] * 100}).to_csv("people.csv", index=False)


def test_the_table_is_printed_only_on_request(capsys):
    out, _ = run(*AUDIT, "--validity", "confirm", code=1, capsys=capsys)
    assert "at other thresholds" not in out
    files = ("--output", "a.json", "--markdown", "a.md")
    out, _ = run(*AUDIT, "--validity", "confirm", "--thresholds", *files, code=1, capsys=capsys)
    assert "Witnesses of pregnant at other thresholds\n" in out
    assert "* marks the thresholds of this audit." in " ".join(out.split())
    (table,) = json.loads(Path("a.json").read_text())["threshold_table"]
    own = table["deltas"].index(0.05), table["epsilons"].index(0.1)
    witnesses, confirmed = (table[name][own[0]][own[1]] for name in ("witnesses", "confirmed"))
    assert f" {confirmed} of {witnesses} * " in out
    assert f"| {confirmed} of {witnesses} * |" in Path("a.md").read_text()


def test_a_saved_table_is_shown_again(capsys):
    run(*AUDIT, "--thresholds", "--output", "a.json", code=1, capsys=capsys)
    out, _ = run("show", "a.json", code=1, capsys=capsys)
    assert "Witnesses of pregnant at other thresholds\n" in out


def test_the_report_has_the_table_and_the_json_result_does_not_change(capsys):
    run(*AUDIT, "--output", "plain.json", code=1, capsys=capsys)
    run(*AUDIT, "--output", "other.json", "--report", "r.html", code=1, capsys=capsys)
    assert Path("plain.json").read_bytes() == Path("other.json").read_bytes()
    assert '<table class="thresholds">' in Path("r.html").read_text()
