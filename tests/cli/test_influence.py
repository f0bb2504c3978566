"""The influence of a price on the command line, in a project file, in results and certificates."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.command_line import run

SENTENCE = "Swapping in another person's value moves the output by more than"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a price and 400 customers."""
    rng = np.random.default_rng(0)
    member = rng.integers(0, 2, 400)
    rows = {"member": member, "power": rng.integers(40, 200, 400), "z": member}
    pd.DataFrame(rows).to_csv(tmp_path / "rows.csv", index=False)
    text = "lambda member, power .\nite(member == 1, 300, 450) + power"
    (tmp_path / "price.program").write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


FILES = ("--model", "price.program", "--data", "rows.csv", "--protected", "z", "--quiet")


@pytest.mark.parametrize(
    ("name", "stated"), [("moved:100", "100"), ("moved:5%", "5%"), ("moved:0.5", "0.5")]
)
def test_a_threshold_is_stated_in_every_result(
    folder: Path, name: str, stated: str, capsys: pytest.CaptureFixture[str]
) -> None:
    files = (*FILES, "--output", "result.json", "--certificate", "certificate.json")
    out, _ = run("audit", *files, "--influence", name, code=1, capsys=capsys)
    assert f"{SENTENCE} {stated} for" in " ".join(out.split())
    for file in ("result.json", "certificate.json"):
        measures = json.loads((folder / file).read_text())["measures"]
        assert measures["influence"] == f"moved by more than {stated}"
    out, _ = run("show", "result.json", code=1, capsys=capsys)
    assert f"{SENTENCE} {stated} for" in " ".join(out.split())
    words = ("certificate.json", "--program", "price.program", "--data", "rows.csv", "--quiet")
    run("verify", *words, code=0, capsys=capsys)


def test_a_project_file_names_a_threshold(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "proxyuse.toml").write_text('influence = "moved:5%"\n')
    out, _ = run("audit", *FILES, code=1, capsys=capsys)
    assert f"{SENTENCE} 5% for" in " ".join(out.split())


@pytest.mark.parametrize("name", ["moved", "moved:", "moved:x", "moved:-1", "qii"])
def test_a_wrong_name_is_a_usage_error(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    _, err = run("audit", *FILES, "--influence", name, code=2, capsys=capsys)
    assert "argument --influence: expected" in err
