"""SARIF says what the document says, in the shape that the standard asks for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.findings.notes import note_sentence
from proxyuse.report.render.sarif import audit_sarif, plain
from proxyuse.report.saved import as_text, read_document
from proxyuse.report.standing import exit_code
from tests.command_line import run

PROGRAM = "ite(vitamins == 1, ite(engaged == 1, 'a', 'b'), ite(engaged == 1, 'b', 'a'))"
DATA = {
    "vitamins": [1, 1, 0, 0] * 30,
    "engaged": [1, 0, 1, 0] * 30,
    "pregnant": [1, 1, 0, 0] * 30,
    "single": [0, 0, 1, 1] * 30,
}
ABOUT = {
    "model": {"file": "credit model.skops", "sha256": "ab" * 32},
    "data": {"files": [{"file": "people.csv", "sha256": "cd" * 32}]},
    "notes": ["3 of 120 rows were dropped"],
}

# What the standard (OASIS SARIF 2.1.0) says of the objects that are written, as a schema.
TEXT = {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}},
        "additionalProperties": False}  # fmt: skip
BAG = {"type": "object"}
PLACE = {
    "type": "object",
    "required": ["uri"],
    "additionalProperties": False,
    "properties": {"uri": {"type": "string"}, "index": {"type": "integer", "minimum": -1}},
}


def shape(required, **properties):
    return {
        "type": "object",
        "required": required.split(),
        "properties": properties,
        "additionalProperties": False,
    }


def listed(items):
    return {"type": "array", "items": items}


LOGICAL = shape(
    "fullyQualifiedName", fullyQualifiedName={"type": "string"}, kind={"type": "string"}
)
LOCATION = shape(
    "",
    physicalLocation=shape("artifactLocation", artifactLocation=PLACE),
    logicalLocations=listed(LOGICAL),
)
RESULT = shape(
    "message ruleId",
    ruleId={"enum": ["proxy-use", "not-settled", "cannot-be-decided"]},
    ruleIndex={"enum": [0, 1, 2]},
    kind={"enum": ["notApplicable", "pass", "fail", "review", "open", "informational"]},
    level={"enum": ["none", "note", "warning", "error"]},
    message=TEXT,
    locations=listed(LOCATION),
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
    suppressions=listed(
        shape(
            "kind",
            kind={"enum": ["inSource", "external"]},
            status={"enum": ["accepted", "underReview", "rejected"]},
            justification={"type": "string"},
            properties=BAG,
        )
    ),
    properties=BAG,
)
RULE = shape(
    "id",
    id={"type": "string"},
    name={"type": "string"},
    shortDescription=TEXT,
    fullDescription=TEXT,
    help=TEXT,
    defaultConfiguration=shape("", level={"enum": ["none", "note", "warning", "error"]}),
)
RUN = shape(
    "tool results invocations",
    tool=shape(
        "driver",
        driver=shape(
            "name", name={"type": "string"}, version={"type": "string"}, rules=listed(RULE)
        ),
    ),
    invocations=listed(
        shape(
            "executionSuccessful",
            executionSuccessful={"type": "boolean"},
            exitCode={"type": "integer"},
            exitCodeDescription={"type": "string"},
            toolExecutionNotifications=listed(
                shape("message", message=TEXT, level={"enum": ["none", "note", "warning", "error"]})
            ),
        )
    ),
    artifacts=listed(
        shape(
            "",
            location=PLACE,
            roles=listed({"enum": ["analysisTarget"]}),
            hashes={"type": "object", "additionalProperties": {"type": "string"}},
        )
    ),
    results=listed(RESULT),
    properties=BAG,
)
LOG = {
    "type": "object",
    "required": ["version", "runs", "$schema"],
    "additionalProperties": False,
    "properties": {"$schema": {"type": "string"}, "version": {"enum": ["2.1.0"]},
                   "runs": listed(RUN)},
}  # fmt: skip


def checked(found, **options):
    """The one run of a log, after a look at its shape and the rules that a schema cannot say."""
    from jsonschema import Draft202012Validator

    log = audit_sarif(document(found, **{"about": ABOUT, **options}))
    Draft202012Validator(LOG).validate(json.loads(as_text(log)))
    (only,) = log["runs"]
    rules = [rule["id"] for rule in only["tool"]["driver"]["rules"]]
    for result in only["results"]:
        assert rules[result["ruleIndex"]] == result["ruleId"]
        assert result["kind"] == "fail" or result["level"] == "none"
        assert "suppressions" in result  # of all results or of none
        for location in result["locations"]:
            if "physicalLocation" in location:
                artifact = location["physicalLocation"]["artifactLocation"]
                assert only["artifacts"][artifact["index"]]["location"]["uri"] == artifact["uri"]
    return only


def audited(protected="pregnant", **options):
    return pu.audit(pu.Program.parse(PROGRAM), DATA, protected, **options)


def test_each_witness_is_an_error_that_nobody_judged():
    audit = audited()
    results = checked(audit)["results"]
    assert len(results) == len(audit.witnesses) > 0
    assert {(r["kind"], r["level"]) for r in results} == {("fail", "error")}
    assert all(r["suppressions"] == [] for r in results)
    first = results[0]
    assert first["message"]["text"].startswith(
        "The model uses a proxy for pregnant. The model reads `vitamins`."
    )
    assert "Not judged yet." in first["message"]["text"]
    assert first["properties"]["association"] == 0.7
    assert first["properties"]["thresholds"] == {
        "epsilon": 0.1, "delta": 0.05, "requested_epsilon": None,
    }  # fmt: skip


def test_a_witness_lies_in_the_model_file_at_its_positions():
    audit = audited()
    only = checked(audit)
    for result, witness in zip(only["results"], audit.witnesses, strict=True):
        names = [at["logicalLocations"][0]["fullyQualifiedName"] for at in result["locations"]]
        assert names == [str(position) for position in witness.positions]
        where = result["locations"][0]["physicalLocation"]
        assert where == {"artifactLocation": {"uri": "credit%20model.skops", "index": 0}}
    model, data = only["artifacts"]
    assert model["roles"] == ["analysisTarget"]
    assert model["hashes"] == {"sha-256": "ab" * 32}
    assert data["location"]["uri"] == "people.csv"


@pytest.mark.parametrize("name", ["/home/me/model.skops", r"C:\work\model.skops", "../model.skops"])
def test_no_folder_outside_is_named(name):
    text = json.dumps(checked(audited(), about={"model": {"file": name}}))
    assert '"uri": "model.skops"' in text
    assert "home" not in text
    assert "work" not in text


@pytest.mark.parametrize("name", ["models/2025/model.skops", r"models\2025\model.skops"])
def test_folders_inside_are_kept(name):
    text = json.dumps(checked(audited(), about={"model": {"file": name}}))
    assert '"uri": "models/2025/model.skops"' in text


@pytest.mark.parametrize(
    "about", [{}, {"model": "x"}, {"model": {"file": 3}}, {"data": {"files": 1}}]
)
def test_without_a_file_there_are_logical_locations_only(about):
    only = checked(audited(), about=about)
    assert "artifacts" not in only
    assert all(list(at) == ["logicalLocations"] for r in only["results"] for at in r["locations"])


def test_what_was_judged_appropriate_is_suppressed_with_the_reason():
    def oracle(witness):
        if witness.term == "vitamins":
            return pu.Judgment(True, "a variable by itself is no use", "Ada")
        return pu.Judgment(False, "no") if witness.term == "vitamins == 1" else None

    results = checked(audited(), oracle=oracle)["results"]
    suppressed = [r["properties"]["term"] for r in results if r["suppressions"]]
    assert set(suppressed) == {"vitamins"}
    assert results[0]["suppressions"] == [
        {
            "kind": "external",
            "status": "accepted",
            "justification": "a variable by itself is no use",
            "properties": {"by": "Ada"},
        }
    ]
    finding = next(r for r in results if r["properties"]["term"] == "vitamins == 1")
    assert "Judged inappropriate: no" in finding["message"]["text"]


@pytest.mark.parametrize(("fail_on", "level"), [("confirmed", "note"), ("possible", "warning")])
def test_what_is_only_possible_is_a_note_or_a_warning_if_it_counts(fail_on, level):
    few = pd.DataFrame(DATA).head(16)
    audit = pu.audit(pu.Program.parse(PROGRAM), few, "pregnant", fail_on=fail_on)
    results = [r for r in checked(audit)["results"] if r["ruleId"] == "proxy-use"]
    assert {r["level"] for r in results} == {level}
    assert results[0]["message"]["text"].startswith("Possible use of a proxy for pregnant, not")
    assert results[0]["properties"]["validity"]["verdict"] == "possible"
    sure = checked(audited(fail_on=fail_on))["results"]
    assert {r["level"] for r in sure} == {"error"}


def test_an_attribute_that_cannot_be_decided_is_a_warning():
    only = checked(audited({"religion": ["a"] * 120}))
    (result,) = only["results"]
    assert (result["ruleId"], result["level"]) == ("cannot-be-decided", "warning")
    assert "religion has only one value in these 120 rows" in result["message"]["text"]
    assert list(result["properties"]["reasons"]) == [{"kind": "constant", "rows": 120}]
    assert only["invocations"][0]["exitCode"] == 3


def test_what_is_not_settled_is_open():
    audit = audited(delta=0.9, variables=False)
    only = checked(audit)
    assert audit.unsettled
    undecided, *results = only["results"]
    assert undecided["message"]["text"].startswith("Proxy use of pregnant cannot be decided.")
    assert [(r["ruleId"], r["kind"], r["message"]["text"]) for r in results] == [
        ("not-settled", "open", f"Not settled: {note_sentence(item.note)}")
        for item in audit.unsettled
    ]
    assert "not measured" in results[0]["message"]["text"]
    assert only["invocations"][0]["exitCode"] == 3


def test_what_was_searched_and_not_exhausted_is_a_notification():
    numbers = np.random.default_rng(0).normal(size=(120, 16)).round(2)
    wide = pd.DataFrame(numbers, columns=[f"x{i}" for i in range(16)])
    program = pu.Program.parse(f"ite({' + '.join(wide.columns)} > 0, 1, 0)")
    audit = pu.audit(program, wide.assign(z=[0, 1] * 60), "z", epsilon=0.3)
    only = checked(audit)
    assert only["results"] == []
    assert only["invocations"][0]["exitCode"] == 0
    (sentence,) = audit.searched
    notes = only["invocations"][0]["toolExecutionNotifications"]
    assert sum(sentence in note["message"]["text"] for note in notes) == 1


def test_nothing_found_is_no_result():
    only = checked(audited(epsilon=1, delta=0.9))
    assert only["results"] == []
    assert only["invocations"][0]["exitCode"] == 0
    assert only["properties"]["verdict"] == "not found"


def test_notes_are_told():
    audit = audited()
    notes = checked(audit)["invocations"][0]["toolExecutionNotifications"]
    assert notes[-1]["message"]["text"] == "3 of 120 rows were dropped"
    assert len(notes) > 1


def test_fingerprints_tell_witnesses_and_attributes_apart_and_stay():
    audit = audited(["pregnant", "single"])
    prints = [r["partialFingerprints"] for r in checked(audit)["results"]]
    again = [r["partialFingerprints"] for r in checked(audited(["pregnant", "single"]))["results"]]
    assert prints == again
    assert len({json.dumps(one) for one in prints}) == len(audit.witnesses)
    other = audited(["pregnant", "single"], epsilon=0.2)
    assert {json.dumps(r["partialFingerprints"]) for r in checked(other)["results"]} == {
        json.dumps(one) for one in prints
    }


@pytest.mark.parametrize(
    "name",
    [
        "[click](http://evil.example)",
        "{0} {x}",
        "a\nb\x1b[2J\x00",
        "\u202egnp.exe",
        "\ud800",
        "n" * 10**4,
    ],
    ids=["link", "placeholder", "control", "bidi", "half", "long"],
)
def test_names_of_strangers_are_only_text(name):
    values = [0, 1] * 30
    audit = pu.audit(pu.Program.parse("ite(x == 1, 'a', 'b')"), {"x": values}, {name: values})
    only = checked(audit, about={"model": {"file": f"{name}.skops"}, "notes": [name]})
    for result in only["results"]:
        text = result["message"]["text"]
        assert "](" not in text
        assert text.isprintable()
        assert len(text) < 1500
        assert "{" not in text.replace("{{", "")
    json.loads(as_text(audit_sarif(document(audit))).encode())


def test_braces_are_doubled_as_the_standard_asks():
    assert plain("x in {'a', 'b'}") == "x in {{'a', 'b'}}"


def test_the_command_line_writes_what_show_prints(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("model.txt").write_text(PROGRAM)
    pd.DataFrame(DATA).to_csv("people.csv", index=False)
    words = ("audit", "--model", "model.txt", "--data", "people.csv", "--protected", "pregnant")
    run(*words, "--output", "a.json", "--sarif", "a.sarif", "--quiet", code=1, capsys=capsys)
    written = json.loads(Path("a.sarif").read_text("utf-8"))
    out, _ = run("show", "a.json", "--sarif", code=1, capsys=capsys)
    assert json.loads(out) == written
    assert str(tmp_path) not in json.dumps(written)
    (only,) = written["runs"]
    assert only["artifacts"][0]["location"] == {"uri": "model.txt"}
    assert only["invocations"][0]["exitCode"] == exit_code(read_document("a.json"))
    _, err = run(*words, "--sarif", "model.txt", code=2, capsys=capsys)
    assert "this audit reads" in err


def test_the_project_file_names_the_file(tmp_path: Path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("model.txt").write_text(PROGRAM)
    pd.DataFrame(DATA).to_csv("people.csv", index=False)
    Path("proxyuse.toml").write_text(
        'model = "model.txt"\ndata = "people.csv"\nprotected = "pregnant"\n'
        '[output]\nsarif = "a.sarif"\njunit = "a.xml"\n'
    )
    run("audit", "--quiet", code=1, capsys=capsys)
    assert Path("a.sarif").is_file()
    assert Path("a.xml").is_file()
