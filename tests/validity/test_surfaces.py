"""Verdicts on every surface: words, documents, tables, differences, exit codes, commands."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest

import proxyuse as pu
from proxyuse.measure.association.names import ASSOCIATIONS
from proxyuse.measure.association.registry import association_from
from proxyuse.report.diff import compare, diff_exit_code
from proxyuse.report.document import document
from proxyuse.report.findings.remarks import remark_sentence
from proxyuse.report.render.csv import audit_csv
from proxyuse.report.render.markdown import audit_markdown
from proxyuse.report.render.text import audit_text, diff_text, witness_text
from proxyuse.report.saved import as_text, read_document
from proxyuse.report.standing import exit_code
from proxyuse.validity.content import COLUMNS
from tests.command_line import run
from tests.documents import plain, schema

RNG = np.random.default_rng(0)
Z = RNG.integers(0, 2, 300)
PEOPLE = pd.DataFrame(
    {
        "strong": np.where(RNG.random(300) < 0.97, Z, 1 - Z),
        "weak": np.where(RNG.random(300) < 0.72, Z, 1 - Z),
        "x": RNG.integers(0, 5, 300),
        "z": Z,
    }
)
TEXT = "ite(strong == 1, 'a', ite(weak == 1, 'b', ite(x <= 2, 'c', 'd')))"
PROGRAM = pu.Program.parse(TEXT)
WEAK = pu.Program.parse("ite(weak == 1, 'a', 'b')")
EPSILON = 0.08
METHODS = ("confirm", "permutation", "cross-validation")
KNOWN = {
    "confirm": {*COLUMNS[3:8]} - {"corrected_association"},  # it would reveal small counts
    "permutation": {"p_value", "adjusted_p_value"},
    "cross-validation": {"confirmations", "splits"},
}


def audited(program=PROGRAM, validity=None, **options):
    return pu.audit(program, PEOPLE, "z", EPSILON, validity=validity, **options)


@pytest.fixture(scope="module")
def audit():
    """An audit with some witnesses confirmed and some possible, by all methods."""
    return audited(validity=[*METHODS])


@pytest.fixture(scope="module")
def result(audit):
    return document(audit)


def test_the_example_has_witnesses_of_both_kinds(audit):
    verdicts = {w.term: w.validity.verdict for w in audit.witnesses}
    assert verdicts["strong"] is pu.Verdict.CONFIRMED
    assert verdicts["weak"] is pu.Verdict.POSSIBLE


# Words


def test_the_first_line_states_how_many_are_confirmed(audit, result):
    confirmed, all_ = result.validity.verdicts.confirmed, len(audit.witnesses)
    assert 0 < confirmed < all_
    share = f"({confirmed} confirmed witnesses, {all_ - confirmed} possible)"
    assert share in audit_text(result).splitlines()[0]
    assert share in str(audit).splitlines()[0]
    assert share in audit_markdown(result).splitlines()[0]


def test_if_nothing_is_confirmed_no_sentence_says_that_the_model_uses_a_proxy():
    none = audited(WEAK, "confirm")
    for printed in (str(none), audit_text(document(none)), audit_markdown(document(none))):
        assert printed.strip("*").startswith("No proxy use of z was confirmed. 3 computations are")
        assert "but may be below them in the population" in " ".join(printed.split())
        assert "--fail-on possible" in printed
        assert "The model uses" not in printed
    few = document(audited(WEAK, pu.Permutation(permutations=3)))
    assert "more related witnesses, none of them confirmed (2 could not be decided)." in audit_text(
        few
    )


@pytest.mark.parametrize(
    "text", [str, lambda audit: audit_text(document(audit))], ids=["str", "cli"]
)
def test_each_shown_witness_has_its_verdict_in_words(audit, text):
    printed = text(audit)
    paragraphs = " ".join(printed.split())
    assert re.search(
        r"Confirmed: .* \(95% lower bounds, each valid for all \d+ tests\)", paragraphs
    )
    assert re.search(r"Confirmed: .* it was found again in 10 of 10 splits", paragraphs)
    assert re.search(r"Possible: it passes in this sample, but .*; threshold 0\.08\)", paragraphs)
    for remark in audit.validity.remarks:
        assert printed.count(remark_sentence(remark)) == 1


def test_one_witness_shows_its_bounds(result):
    strong = next(w for w in result.witnesses if w.term == "strong")
    printed = witness_text(result, strong)
    low, high = strong.validity.association_low, strong.validity.association_high
    assert f"bounds     {low:.4f} and {high:.4f}, each with 95% confidence for all" in printed
    assert low <= strong.association <= high
    assert "Confirmed: " in printed


def test_without_validity_no_verdict_is_printed():
    audit = audited()
    for printed in (str(audit), audit_text(document(audit)), audit_markdown(document(audit))):
        assert not re.search("confirmed|Possible:|Statistics", printed, re.IGNORECASE)
    assert document(audit).validity is None
    assert "verdict" not in audit.to_frame()


# Machine formats


@pytest.mark.parametrize("method", METHODS)
def test_a_document_matches_its_schema_and_can_be_read(method, tmp_path):
    saved = document(audited(validity=method))
    jsonschema.validate(plain(saved), schema("audit"))
    path = tmp_path / "a.json"
    path.write_text(as_text(saved))
    assert read_document(path) == saved
    validity = saved.witnesses[0].validity
    assert {name for name in COLUMNS[1:] if getattr(validity, name) is not None} == KNOWN[method]


@pytest.mark.parametrize(
    "change",
    [
        {"verdicts": {"confirmed": 99, "possible": 0, "undecided": 0}},
        {"violations": {"confirmed": 0, "possible": 0, "undecided": 1}},
        {"methods": [{"name": "cross-validation", "tested": None, "options": {}}]},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_file_that_contradicts_its_verdicts_is_refused(change, result, tmp_path):
    path = tmp_path / "a.json"
    content = plain(result)
    path.write_text(json.dumps({**content, "validity": {**content["validity"], **change}}))
    with pytest.raises(pu.FileError, match="number of confirmed witnesses"):
        read_document(path)
    path.write_text(json.dumps({**content, "validity": None}))
    with pytest.raises(pu.FileError, match="number of confirmed witnesses"):
        read_document(path)


def test_tables_have_columns_for_the_verdict(audit, result):
    rows = list(csv.DictReader(io.StringIO(audit_csv(result))))
    strong = next(row for row in rows if row["kind"] == "witness" and row["term"] == "strong")
    assert strong["verdict"] == "confirmed"
    assert {name for name in COLUMNS if not strong[name]} == {"corrected_association"}
    assert {row["verdict"] for row in rows if row["kind"] != "witness"} == {""}
    frame = audit.to_frame()
    assert tuple(frame.columns[-len(COLUMNS) :]) == COLUMNS
    assert frame.loc[frame["witness"], list(COLUMNS)].notna().all(axis=None)
    assert frame.loc[~frame["witness"], list(COLUMNS)].isna().all(axis=None)
    exact = next(w.validity for w in audit.witnesses if w.term == "weak")
    weak = frame[(frame["term"] == "weak") & frame["witness"]].iloc[0]
    assert weak["association_low"] == exact.association_interval[0]
    assert weak["p_value"] == exact.p_value


# Differences


def test_a_changed_verdict_is_reported(result):
    strict = document(audited(validity=[pu.Confirmation(alpha=1e-12), *METHODS[1:]]))
    changes = compare(result, strict)
    jsonschema.validate(plain(changes), schema("diff"))
    assert "validity by confirm: alpha was 0.05, is 1e-12" in changes.differences
    every = document(audited(validity="cross-validation"))
    once = document(audited(validity=pu.CrossValidation(at_least=1)))
    changes = compare(every, once)
    jsonschema.validate(plain(changes), schema("diff"))
    changed = {entry.shown.reading for entry in changes.verdict_changed}
    assert "weak" in changed
    assert "`weak` (possible -> confirmed" in diff_text(changes)
    assert changes.new == ()


def test_new_witnesses_may_count_only_if_they_are_confirmed():
    before = document(pu.audit(pu.Program.parse("ite(x <= 2, 0, 1)"), PEOPLE, "z", EPSILON))
    after = document(audited(WEAK, validity="confirm"))
    changes = compare(before, after)
    assert (changes.result, diff_exit_code(changes)) == ("no new witnesses", 0)
    assert diff_exit_code(compare(before, after, fail_on="possible")) == 1
    assert ", possible, id" in diff_text(changes)
    assert diff_text(changes).startswith("No new proxy use of z was confirmed. 3 computations are")
    strong = compare(before, document(audited(validity="confirm")))
    assert diff_exit_code(strong) == 1
    assert diff_exit_code(compare(before, document(audited(WEAK)))) == 1
    with pytest.raises(pu.DataError, match="was not tested"):
        compare(before, document(audited(WEAK)), fail_on="confirmed")


# What fails


@pytest.mark.parametrize(
    ("program", "code"), [(PROGRAM, 1), (WEAK, 0)], ids=["confirmed", "possible"]
)
def test_only_confirmed_violations_fail_unless_possible_ones_should(program, code):
    assert exit_code(document(audited(program, "confirm"))) == code
    assert exit_code(document(audited(program, "confirm", fail_on="possible"))) == 1
    assert exit_code(document(audited(program))) == 1  # nothing can be confirmed
    with pytest.raises(pu.DataError, match='fail_on="confirmed" needs validity'):
        audited(program, fail_on="confirmed")


def test_a_user_test_fails_for_confirmed_witnesses():
    arguments = (PEOPLE, "z", EPSILON)
    assert pu.assert_no_proxy_use(WEAK, *arguments).witnesses
    with pytest.raises(AssertionError, match="Possible: "):
        pu.assert_no_proxy_use(WEAK, *arguments, fail_on="possible")
    with pytest.raises(AssertionError, match="Confirmed: "):
        pu.assert_no_proxy_use(PROGRAM, *arguments)


def test_undecided_witnesses_fail(tmp_path):
    few = pu.Permutation(permutations=3)
    audit = audited(WEAK, few)
    assert {w.validity.verdict for w in audit.witnesses} == {pu.Verdict.UNDECIDED}
    assert audit.verdict is pu.Verdict.UNDECIDED
    assert exit_code(document(audit)) == 3
    assert "Cannot be decided: with 3 permutations" in " ".join(audit_text(document(audit)).split())
    arguments = (WEAK, PEOPLE, "z", EPSILON)
    with pytest.raises(AssertionError, match="Draw more permutations"):
        pu.assert_no_proxy_use(*arguments, validity=few)
    known = tmp_path / "known.json"
    known.write_text(as_text(document(audit)))
    pu.assert_no_proxy_use(*arguments, validity=few, known=known)


def test_a_witness_judged_appropriate_is_not_a_confirmed_violation():
    def oracle(witness):
        return pu.Judgment(True, "sold to all") if "strong" in witness.term else None

    saved = document(audited(validity="confirm"), oracle=oracle)
    assert saved.validity is not None
    assert saved.validity.verdicts.confirmed > saved.validity.violations.confirmed == 0
    assert exit_code(saved) == 0


# The command line


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("model.txt").write_text(TEXT)
    Path("weak.txt").write_text("ite(weak == 1, 'a', 'b')")
    PEOPLE.to_csv("people.csv", index=False)
    return tmp_path


ABOUT = ("--data", "people.csv", "--protected", "z", "--epsilon", EPSILON, "--quiet")


def test_the_command_line_prints_the_verdict_and_shows_it_again(folder, capsys):
    methods = ("--validity", "confirm", "--validity", "cross-validation", "--splits", 4)
    saved = ("--output", "a.json", "--csv", "a.csv", "--markdown", "a.md")
    out, _ = run("audit", "--model", "model.txt", *ABOUT, *methods, *saved, code=1, capsys=capsys)
    assert "Confirmed: the population's association is at least" in out
    assert "of 4 splits" in out
    assert "Confirmed: " in Path("a.md").read_text()
    again, _ = run("show", "a.json", code=1, capsys=capsys)
    assert again.strip() in out
    first = json.loads(Path("a.json").read_text())["witnesses"][0]["id"]
    one, _ = run("show", "a.json", "--witness", first, code=1, capsys=capsys)
    assert "Confirmed: " in one
    run("diff", "a.json", "a.json", "--fail-on", "possible", code=0, capsys=capsys)


def test_only_confirmed_witnesses_fail_a_build(folder, capsys):
    run("audit", "--model", "model.txt", *ABOUT, code=1, capsys=capsys)
    weak = ("audit", "--model", "weak.txt", *ABOUT)
    run(*weak, code=0, capsys=capsys)
    run(*weak, "--validity", "none", code=1, capsys=capsys)
    out, _ = run(*weak, "--fail-on", "possible", "--output", "a.json", code=1, capsys=capsys)
    assert "Possible violations count, as requested" in out
    run("show", "a.json", code=1, capsys=capsys)


def test_a_space_that_was_not_exhausted_is_incomplete_only_if_that_is_strict(folder, capsys):
    names = [f"x{i}" for i in range(16)]
    numbers = np.random.default_rng(0).normal(size=(240, 16)).round(2)
    pd.DataFrame(numbers, columns=names).assign(z=[0, 1] * 120).to_csv("wide.csv", index=False)
    Path("sum.txt").write_text(f"ite({' + '.join(names)} > 0, 1, 0)")
    words = ("audit", "--model", "sum.txt", "--data", "wide.csv", "--protected", "z",
             "--epsilon", 0.4, "--quiet")  # fmt: skip
    run(*words, code=0, capsys=capsys)
    out, _ = run(*words, "--strict", code=3, capsys=capsys)
    assert "searched but not exhausted, which strict mode requires" in " ".join(out.split())


@pytest.mark.parametrize("protected", ["constant", "missing"])
def test_an_attribute_that_says_nothing_cannot_be_decided(folder, protected, capsys):
    data = PEOPLE.assign(constant=1, missing=np.nan)
    data.to_csv("people.csv", index=False)
    words = ("audit", "--model", "weak.txt", "--data", "people.csv", "--quiet",
             "--missing-protected", "category")  # fmt: skip
    out, _ = run(*words, "--protected", protected, code=3, capsys=capsys)
    assert out.startswith(f"Proxy use of {protected} cannot be decided. {protected} has only one")
    audit = pu.audit(WEAK, data, protected, missing_protected="category")
    assert audit.verdict is pu.Verdict.UNDECIDED
    assert str(audit) in out


def test_a_column_without_values_cannot_be_decided(folder, capsys):
    data = PEOPLE.assign(weak=np.nan)
    data.to_csv("people.csv", index=False)
    out, _ = run("audit", "--model", "weak.txt", *ABOUT, code=3, capsys=capsys)
    assert out.startswith("Proxy use of z cannot be decided. `weak` has no value in these 300 rows")
    assert pu.audit(WEAK, data, "z").verdict is pu.Verdict.UNDECIDED


def test_options_reach_the_methods(folder, capsys):
    options = (
        "--validity", "permutation", "--validity", "cross-validation", "--permutations", 99,
        "--correction", "holm", "--exact-p-values", "--alpha", 0.2, "--weights-are", "counts",
        "--seed", 5, "--splits", 3, "--at-least", 2, "--validation-share", 0.4,
    )  # fmt: skip
    out, _ = run("audit", "--model", "weak.txt", *ABOUT, *options, "--json", code=1, capsys=capsys)
    permutation, splits = json.loads(out)["validity"]["methods"]
    assert permutation["name"] == "permutation"
    assert permutation["options"] == {
        "permutations": 99, "correction": "holm", "alpha": 0.2,
        "exact_p_values": True, "seed": 5, "weights_are": "counts",
    }  # fmt: skip
    assert splits == {
        "name": "cross-validation",
        "tested": None,
        "options": {"splits": 3, "at_least": 2, "validation_share": 0.4, "seed": 5},
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("--validity", "none", "--alpha", "0.1"),
            "--alpha is an option of --validity confirm or --validity per",
        ),
        (
            ("--validity", "confirm", "--splits", "3"),
            "--splits is an option of --validity cross-validation; add that, or remove --splits",
        ),
        (
            ("--validity", "none", "--seed", "3"),
            "--seed is an option of --validity confirm, --validity permutation or",
        ),
        (
            ("--validity", "cross-validation", "--exact-p-values"),
            "--exact-p-values is an option of",
        ),
        (
            ("--validity", "none", "--fail-on", "confirmed"),
            "--fail-on confirmed needs a test that confirms witnesses",
        ),
        (("--validity", "none", "--validity", "confirm"), "'none' turns testing off"),
        (
            ("--validity", "confirm", "--alpha", "2"),
            "--alpha: expected a number above 0 and below 1, got 2",
        ),
        (("--validity", "confirm", "--validity", "confirm"), "'confirm' occurs twice"),
        (
            ("--validity", "guess"),
            "'cross-validation' or 'none', or a list of different names, got 'guess'",
        ),
        (
            ("--validity", "cross-validation", "--at-least", "11"),
            "at most the number of splits, 10, got 11",
        ),
        (("--association", "nmi"), "'cramers-v' or 'squared-correlation', got 'nmi'"),
    ],
)
def test_invalid_options_are_refused_before_files_are_read(folder, words, message, capsys):
    Path("people.csv").unlink()
    _, err = run("audit", "--model", "weak.txt", *ABOUT, *words, code=2, capsys=capsys)
    assert message in err


def test_the_command_line_overrides_the_project_file(folder, capsys):
    Path("proxyuse.toml").write_text(
        "model = 'weak.txt'\ndata = 'people.csv'\nprotected = 'z'\n"
        f"epsilon = {EPSILON}\n[validity]\nmethods = 'cross-validation'\nsplits = 3\n"
    )
    out, _ = run("audit", "--json", "--quiet", code=0, capsys=capsys)
    (method,) = json.loads(out)["validity"]["methods"]
    assert (method["name"], method["options"]["splits"]) == ("cross-validation", 3)
    out, _ = run("audit", "--json", "--quiet", "--splits", 4, code=0, capsys=capsys)
    assert json.loads(out)["validity"]["methods"][0]["options"]["splits"] == 4
    out, _ = run("audit", "--json", "--quiet", "--validity", "confirm", code=0, capsys=capsys)
    assert [method["name"] for method in json.loads(out)["validity"]["methods"]] == ["confirm"]
    out, _ = run("audit", "--json", "--quiet", "--fail-on", "possible", code=1, capsys=capsys)
    assert json.loads(out)["fail_on"] == "possible"
    run("repair", "--output", "repaired.txt", "--quiet", code=0, capsys=capsys)
    assert Path("repaired.txt").exists()


def test_judging_shows_the_verdict(folder, capsys, monkeypatch):
    words = ("judge", "--model", "model.txt", *ABOUT, "--judgments", "j.jsonl",
             "--validity", "confirm")  # fmt: skip
    out, _ = run(*words, "--list", code=1, capsys=capsys)
    assert re.search(r"id\s+protected\s+association\s+influence\s+verdict", out)
    assert " possible " in out
    assert " Confirmed: " in out
    monkeypatch.setattr("sys.stdin", io.StringIO("q\n"))
    out, _ = run(*words, "--by", "Ada", code=1, capsys=capsys)
    assert "Confirmed: the population's association is at least" in out
    weak = ("judge", "--model", "weak.txt", *ABOUT, "--judgments", "j.jsonl", "--list")
    run(*weak, code=0, capsys=capsys)
    run(*weak, "--fail-on", "possible", code=1, capsys=capsys)


# Other measures


@pytest.mark.parametrize("name", ASSOCIATIONS)
def test_a_measure_is_selected_by_name(folder, name, capsys):
    words = ("audit", "--model", "model.txt", *ABOUT, "--association", name, "--json")
    out, _ = run(*words, code=1, capsys=capsys)
    assert json.loads(out)["measures"]["association"] == association_from(name).name


@pytest.mark.parametrize("name", ASSOCIATIONS)
def test_a_repair_uses_the_measure_and_its_certificate_is_verified(folder, name, capsys):
    words = ("repair", "--model", "model.txt", *ABOUT, "--association", name)
    made = ("--output", "repaired.txt", "--certificate", "c.json", "--json")
    out, _ = run(*words, *made, code=0, capsys=capsys)
    assert json.loads(out)["measures"]["association"] == association_from(name).name
    check = ("verify", "c.json", "--program", "repaired.txt", "--data", "people.csv", "--quiet")
    run(*check, code=0, capsys=capsys)
