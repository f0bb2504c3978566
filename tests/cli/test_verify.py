"""``proxyuse verify`` and ``audit --certificate`` on the command line."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.certificate.certificate import Certificate
from proxyuse.verification.certify import certify
from tests.command_line import run

PROGRAM = "ite(vitamins == 1, 'A', ite(height <= 170, 'A', 'B'))"
PEOPLE = pd.DataFrame(
    {
        "id": [f"p{i}" for i in range(40)],
        "vitamins": [1, 0] * 20,
        "height": [160.5, 160.5, 180.5, 180.5] * 10,
        "pregnant": ["yes", "no"] * 20,
        "count": [1, 2] * 20,
        "part": [0.25, 0.3] * 20,
    }
)
POLICY = """
version: 1
rules:
  - name: shop
    decision: allow
    reason: Sold to all.
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("model.txt").write_text(PROGRAM)
    Path("policy.yaml").write_text(POLICY)
    PEOPLE.to_csv("people.csv", index=False)
    PEOPLE[::-1].to_parquet("people.parquet", index=False)
    return tmp_path


def certified(*words: object, code: int = 1, capsys: pytest.CaptureFixture[str]) -> None:
    start = ("audit", "--model", "model.txt", "--data", "people.csv", "--protected", "pregnant")
    run(*start, "--validity", "none", "--certificate", "c.json", *words, code=code, capsys=capsys)


def verified(*words: object, code: int = 0, capsys: pytest.CaptureFixture[str]) -> tuple[str, str]:
    return run("verify", "c.json", *words, code=code, capsys=capsys)


def test_a_certificate_of_audit_is_verified(folder, capsys):
    certified(capsys=capsys)
    for data in ("people.csv", "people.parquet"):
        for subject in ("--model", "--program"):
            out, err = verified(subject, "model.txt", "--data", data, capsys=capsys)
            assert out.startswith("Verified. ")
            assert Certificate.read("c.json").hash in out
            assert err == ""


@pytest.mark.parametrize("weights", ["count", "part"])
def test_weights_come_from_the_certificate(weights, folder, capsys):
    words = ("--where", "height <= 170 or vitamins == 1")
    certified("--weights", weights, *words, capsys=capsys)
    rows = ("--model", "model.txt", "--data", "people.parquet")
    verified(*rows, *words, "--everything", "--seed", "3", capsys=capsys)
    out, _ = verified(*rows, code=1, capsys=capsys)
    assert "not the same rows" in out


def test_protected_data_can_be_in_another_file(folder, capsys):
    PEOPLE[["id", "pregnant"]][::-1].to_csv("restricted.csv", index=False)
    PEOPLE.drop(columns="pregnant").to_csv("people.csv", index=False)
    words = ("--protected-data", "restricted.csv", "--key", "id")
    certified(*words, capsys=capsys)
    rows = ("--model", "model.txt", "--data", "people.csv")
    verified(*rows, *words, capsys=capsys)
    _, err = verified(*rows, "--key", "id", code=2, capsys=capsys)
    assert "belong together" in err
    _, err = verified(*rows, code=2, capsys=capsys)
    assert "'pregnant'" in err


def test_judgments_of_a_policy_need_the_policy(folder, capsys):
    certified("--policy", "policy.yaml", code=0, capsys=capsys)
    rows = ("--model", "model.txt", "--data", "people.csv")
    out, _ = verified(*rows, code=1, capsys=capsys)
    assert "open  judgments" in out
    assert "FAIL" not in out
    assert "judged appropriate by policy.yaml, rule 1 'shop': Sold to all." in out
    verified(*rows, "--policy", "policy.yaml", capsys=capsys)
    Path("policy.yaml").write_text(POLICY.replace("allow", "deny"))
    out, _ = verified(*rows, "--policy", "policy.yaml", code=1, capsys=capsys)
    assert "not the same judgments" in out


def test_recorded_judgments_need_their_file(folder, capsys):
    from proxyuse.judge.records import Records

    records = Records("judgments.jsonl")
    for witness in pu.audit(pu.Program.parse(PROGRAM), PEOPLE, "pregnant").witnesses:
        records.add(witness, True, "looked at", "Ada")
    certified("--judgments", "judgments.jsonl", code=0, capsys=capsys)
    rows = ("--model", "model.txt", "--data", "people.csv")
    verified(*rows, code=1, capsys=capsys)
    verified(*rows, "--judgments", "judgments.jsonl", capsys=capsys)


@pytest.mark.parametrize("names", [True, False], ids=["names", "no names"])
def test_the_certified_decision_is_applied_to_a_model(names, folder, capsys):
    frame = PEOPLE[["vitamins", "height"]]
    X = frame if names else frame.to_numpy()
    model = DecisionTreeClassifier(random_state=0).fit(X, np.array(list("ABAA") * 10))
    Path("m.pkl").write_bytes(pickle.dumps(model))
    PEOPLE[["vitamins", "height", "pregnant", "count"]].to_csv("people.csv", index=False)
    words = ("--model", "m.pkl", "--trust-pickle")
    weighted = ("--weights", "count")
    certified(*words, *weighted, "--decision-threshold", "0.3", capsys=capsys)
    out, _ = verified(*words, *weighted, "--data", "people.csv", capsys=capsys)
    assert "Verified" in out
    _, err = verified("--program", "m.pkl", "--data", "people.csv", code=2, capsys=capsys)
    assert "--trust-pickle" in err
    _, err = verified("--program", "m.pkl", "--trust-pickle", "--data", "people.csv", code=2,
                      capsys=capsys)  # fmt: skip
    assert "not a program" in err


def test_a_certificate_from_python_with_separate_values_is_verified(folder, capsys):
    protected = {"pregnant": PEOPLE["pregnant"].to_numpy()}
    audit = pu.audit(pu.Program.parse(PROGRAM), PEOPLE, protected, weights=PEOPLE["count"])
    certify(audit).save("c.json")
    rows = ("--program", "model.txt", "--data", "people.csv")
    out, _ = verified(*rows, code=1, capsys=capsys)
    assert "pass them as weights" in out
    verified(*rows, "--weights", "count", capsys=capsys)


def test_the_files_and_the_output_fit_the_published_schemas(folder, capsys):
    certified(capsys=capsys)
    published = Path(__file__).parents[2] / "docs" / "schema"
    rows = ("--model", "model.txt", "--data", "people.csv", "--json")
    content = json.loads(Path("c.json").read_text())
    schema = json.loads((published / "certificate.schema.json").read_text())
    jsonschema.validate(content, schema)
    for code, change in ((0, {}), (1, {"violations": 0})):
        Path("c.json").write_text(json.dumps({**content, **change}))
        out, _ = verified(*rows, code=code, capsys=capsys)
        document = json.loads(out)
        jsonschema.validate(document, json.loads((published / "verify.schema.json").read_text()))
        assert document["verified"] is (code == 0)
    assert any("violations: certified 0" in d for c in document["checks"] for d in c["differences"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--data", "people.csv"), "--model --program is required"),
        (("--model", "model.txt"), "--data"),
        (("--model", "model.txt", "--program", "model.txt", "--data", "people.csv"), "not allowed"),
        (("--model", "none.txt", "--data", "people.csv"), "none.txt"),
        (("--model", "model.txt", "--data", "none.csv"), "does not exist"),
        (("--model", "model.txt", "--data", "people.csv", "--policy", "none.yaml"), "none.yaml"),
        (("--model", "model.txt", "--data", "people.csv", "--seed", "-1"), "seed"),
        (("--model", "model.txt", "--data", "people.csv", "--threads", "0"), "threads"),
    ],
)
def test_usage_errors_exit_with_2(words, message, folder, capsys):
    certified(capsys=capsys)
    _, err = verified(*words, code=2, capsys=capsys)
    assert message in err


@pytest.mark.parametrize("subject", ["model.txt", "m.pkl"])
def test_a_missing_column_is_reported_with_the_file(subject, folder, capsys):
    tree = DecisionTreeClassifier().fit(PEOPLE[["vitamins", "height"]], PEOPLE["pregnant"])
    Path("m.pkl").write_bytes(pickle.dumps(tree))
    certified(capsys=capsys)
    PEOPLE.drop(columns="height").to_csv("few.csv", index=False)
    words = ("--model", subject, "--trust-pickle", "--data", "few.csv")
    reader = "program" if subject == "model.txt" else "DecisionTreeClassifier"
    message = f"few.csv has no column 'height' (read by the {reader})"
    for command in (("verify", "c.json"), ("audit", "--protected", "pregnant")):
        _, err = run(*command, *words, code=2, capsys=capsys)
        assert message in err


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{}",
        '{"format": "proxyuse certificate"}',
        '{"format": "proxyuse certificate", "\\u001b[31m": 1}',
        '{"format": "proxyuse certificate", "format": "proxyuse certificate"}',
        '{"format": "proxyuse certificate", "violations": NaN}',
        '{"format": "proxyuse certificate", "violations": 1' + 5000 * "0" + "}",
        "[" * 100_000,
        "\x1b[31m",
    ],
    ids=lambda content: content[-20:],
)
def test_a_file_that_is_not_a_certificate_exits_with_2(content, folder, capsys):
    Path("c.json").write_text(content)
    _, err = verified("--model", "model.txt", "--data", "people.csv", code=2, capsys=capsys)
    assert "not a certificate" in err or "more than the limit `json_depth`" in err
    assert "\x1b" not in err


def test_a_certificate_does_not_replace_an_input(folder, capsys):
    start = ("audit", "--model", "model.txt", "--data", "people.csv", "--protected", "pregnant")
    for taken in ("model.txt", "people.csv"):
        _, err = run(*start, "--certificate", taken, code=2, capsys=capsys)
        assert "would replace" in err
    assert Path("model.txt").read_text() == PROGRAM


def test_the_changes_of_a_repair_are_verified_with_the_original_model(folder, capsys):
    words = ("--model", "model.txt", "--data", "people.csv", "--protected", "pregnant")
    files = ("--output", "repaired.txt", "--certificate", "c.json")
    run("repair", *words, *files, "--unconfirmed", code=0, capsys=capsys)
    changes = json.loads(Path("c.json").read_text())["changes"]
    assert [group["changed"] for group in changes["attributes"][0]["groups"]] == ["6 to 10", "<5"]
    repaired = ("--model", "repaired.txt", "--data", "people.csv")
    out, _ = verified(*repaired, "--original", "model.txt", capsys=capsys)
    assert "the same gains and losses of each group by the repair" in out
    out, _ = verified(*repaired, capsys=capsys)
    assert "who gains and who loses by the repair; to verify it, pass the original model" in out
    Path("other.txt").write_text(PROGRAM.replace("170", "150"))
    out, _ = verified(*repaired, "--original", "other.txt", code=1, capsys=capsys)
    assert "not the same gains and losses of each group by the repair" in out
