"""Every command that relies on a file of judgments stops if the file was changed."""

from __future__ import annotations

import io
import json
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

import proxyuse as pu
from proxyuse.judge.record import GENESIS
from proxyuse.judge.records import Records
from tests.command_line import run

MARRIED = np.array(["yes", "no"] * 100)
PEOPLE = pd.DataFrame({"score": np.where(MARRIED == "yes", 60, 30), "married": MARRIED})
FILES = ("--model", "rule.txt", "--data", "people.csv")
JUDGED = ("--judgments", "judgments.jsonl")
COMMANDS = {
    "audit": ("audit", *FILES, "--protected", "married", *JUDGED),
    "judge": ("judge", *FILES, "--protected", "married", "--by", "Ada", *JUDGED),
    "list": ("judge", "--list", *FILES, "--protected", "married", *JUDGED),
    "repair": ("repair", *FILES, "--protected", "married", "--output", "repaired.txt", *JUDGED),
    "verify": ("verify", "certificate.json", *FILES, *JUDGED),
    "judgments": ("judgments", "judgments.jsonl"),
}


@pytest.fixture
def records(tmp_path, monkeypatch):
    """A file in which every witness was first approved and then denied."""
    monkeypatch.chdir(tmp_path)
    PEOPLE.to_csv("people.csv", index=False)
    Path("rule.txt").write_text("ite(score > 45, 1, 0)\n")
    audit = pu.audit(pu.Program.parse("ite(score > 45, 1, 0)"), PEOPLE, "married")
    pu.certify(audit).save("certificate.json")
    records = Records("judgments.jsonl")
    for appropriate in (True, False):
        for witness in audit.witnesses:
            records.add(witness, appropriate, f"said {appropriate}", "Ada")
    return records


@pytest.fixture(params=COMMANDS)
def command(request, records, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    return COMMANDS[request.param]


def test_a_flipped_byte_in_the_last_line_does_not_revive_an_approval(records, command, capsys):
    raw = records.path.read_bytes()
    index = raw.rindex(b"false")
    changed = raw[:index] + b"g" + raw[index + 1 :]
    records.path.write_bytes(changed)
    before = sorted(Path().iterdir())
    out, err = run(*command, code=2, capsys=capsys)
    assert out == ""
    assert f"judgments.jsonl, line {records.lines}: " in err
    assert "proxyuse judgments judgments.jsonl --recover --by NAME" in err
    assert records.path.read_bytes() == changed
    assert sorted(Path().iterdir()) == before


def test_an_unfinished_last_line_is_not_passed_over(records, command, capsys):
    records.path.write_bytes(records.path.read_bytes()[:-100])
    _, err = run(*command, code=2, capsys=capsys)
    assert f"line {records.lines}: unfinished, as a crash leaves it" in err
    assert f"keep the {records.lines - 1} records before it" in err


def test_missing_records_at_the_end_are_noticed_with_the_head(records, command, capsys):
    flag = "--head" if command[0] == "judgments" else "--judgments-head"
    head, raw = records.head, records.path.read_bytes()
    records.path.write_bytes(b"".join(raw.splitlines(keepends=True)[:-1]))
    _, err = run(*command, flag, head, code=2, capsys=capsys)
    assert f"no record with the expected head {head}" in err


def test_the_head_can_be_in_the_project_file(records, capsys):
    Path("proxyuse.toml").write_text(f'judgments = "judgments.jsonl"\njudgments_head = "{GENESIS}"')
    _, err = run("audit", *FILES, "--protected", "married", code=2, capsys=capsys)
    assert f"{records.lines} records after the expected head" in err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--judgments-head", GENESIS), "--judgments-head needs --judgments"),
        ((*JUDGED, "--judgments-head", "3f"), "expected 64 hexadecimal digits, got '3f'"),
    ],
)
def test_a_wrong_head_is_a_usage_error(records, words, message, capsys):
    _, err = run("audit", *FILES, "--protected", "married", *words, code=2, capsys=capsys)
    assert message in err


def test_results_state_the_number_of_records_and_the_head(records, capsys):
    stated = f"judgments.jsonl, {records.lines} records, head {records.head}"
    for name in ("audit", "list", "judgments"):
        code = 0 if name == "judgments" else 1
        out, _ = run(*COMMANDS[name], code=code, capsys=capsys)
        assert stated in out
    run(*COMMANDS["audit"], "--output", "audit.json", code=1, capsys=capsys)
    expected = {"file": "judgments.jsonl", "records": records.lines, "head": records.head}
    assert json.loads(Path("audit.json").read_text())["about"]["judgments"] == expected
    words = (*COMMANDS["repair"], "--json", "--certificate", "c.json")
    out, _ = run(*words, code=0, capsys=capsys)
    assert json.loads(out)["about"]["judgments"] == expected
    words = ("verify", "c.json", "--model", "repaired.txt", "--data", "people.csv", *JUDGED)
    out, _ = run(*words, code=0, capsys=capsys)
    assert stated in out


def test_the_head_is_stated_after_judging(records, capsys, monkeypatch):
    records.path.unlink()
    monkeypatch.setattr("sys.stdin", io.StringIO("a\nfor pay\n"))
    out, _ = run(*COMMANDS["judge"], code=1, capsys=capsys)
    assert f"judgments.jsonl, 1 record, head {Records.open('judgments.jsonl').head}" in out


# The command


def test_a_file_is_described_as_json(records, capsys):
    out, _ = run("judgments", "judgments.jsonl", "--json", code=0, capsys=capsys)
    content = json.loads(out)
    schema = Path(__file__).parents[2] / "docs" / "schema" / "judgments.schema.json"
    jsonschema.validate(content, json.loads(schema.read_text()))
    assert (content["records"], content["head"]) == (records.lines, records.head)


def test_a_recovery_keeps_the_file_and_shows_what_was_set_aside(records, capsys):
    lines = records.path.read_bytes().splitlines(keepends=True)
    raw = lines[0] + b"noise\n" + b"".join(lines[1:])
    records.path.write_bytes(raw)
    words = ("judgments", "judgments.jsonl", "--recover")
    _, err = run(*words, code=2, capsys=capsys)
    assert "--by" in err
    out, _ = run(*words, "--by", "Ada", code=0, capsys=capsys)
    assert "Damaged: line 2: not JSON." in out
    assert out.count("- inappropriate: ") == len(lines) // 2
    assert "approvals before them do not apply until someone confirms them" in out
    (copy,) = Path().glob("judgments.jsonl.damaged-*")
    assert copy.read_bytes() == raw
    assert f"kept as {copy.name}" in out
    out, _ = run(*COMMANDS["audit"], code=1, capsys=capsys)
    assert "judgments.jsonl was recovered on" in out
    out, _ = run(*words, "--by", "Ada", code=0, capsys=capsys)
    assert "nothing to recover" in out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("none.jsonl",), "none.jsonl does not exist"),
        (("none.jsonl", "--recover", "--by", "Ada"), "none.jsonl does not exist"),
        (("people.csv",), "not a file of judgments"),
        (("people.csv", "--recover", "--by", "Ada"), "not a file of judgments"),
        (("judgments.jsonl", "--by", "Ada"), "add --recover"),
        (("judgments.jsonl", "--recover", "--by", " "), "needs the name"),
    ],
)
def test_wrong_use_changes_nothing(records, words, message, capsys):
    before = {path: path.read_bytes() for path in Path().iterdir()}
    _, err = run("judgments", *words, code=2, capsys=capsys)
    assert message in err
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
