"""``proxyuse judge``, answered as a person or a script would: what is shown, asked and kept."""

from __future__ import annotations

import io
import json
import os
import pty
import re
import select
import signal
import subprocess
import sys
from pathlib import Path

import jsonschema
import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.cli.main import main
from proxyuse.judge.records import Records
from proxyuse.measure import direction
from proxyuse.models.files import load_model
from proxyuse.report.document import document
from proxyuse.report.witness_page import Pages

N = 400
RNG = np.random.default_rng(0)
MARRIED = RNG.random(N) < 0.5
PEOPLE = pd.DataFrame(
    {
        "score": np.where(MARRIED, 60, 30) + RNG.integers(-20, 21, N),
        "hours": RNG.integers(20, 50, N),
        "married": np.where(MARRIED, "yes", "no"),
    }
)
BY = ("--by", "Ada")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a trained tree, its data and a project file."""
    monkeypatch.chdir(tmp_path)
    fitted(30).to_csv("people.csv", index=False)
    Path("proxyuse.toml").write_text(
        'model = "model.skops"\ndata = "people.csv"\nprotected = "married"\n'
        'judgments = "j.jsonl"\nepsilon = 0.2\n'
    )
    return tmp_path


def fitted(hours: int) -> pd.DataFrame:
    """Train and save a tree that asks for the score, then for these hours; the data."""
    from skops.io import dump

    X = PEOPLE[["score", "hours"]]
    y = (X["score"] > 45) & (X["hours"] > hours) | (X["score"] > 62)
    dump(DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, y), "model.skops")
    return PEOPLE


@pytest.fixture
def judge(folder, capsys, monkeypatch):
    """Run the command in this process with answers on a pipe; what it prints."""

    def run(*words: object, answers: str = "", code: int) -> str:
        monkeypatch.setattr("sys.stdin", io.StringIO(answers))
        found = main(["judge", *map(str, words)])
        captured = capsys.readouterr()
        assert found == code, captured
        assert "Traceback" not in captured.err
        return str(captured.err if code == 2 else captured.out)

    return run


def audit() -> pu.Audit:
    model = load_model("model.skops").model
    return pu.audit(model, pd.read_csv("people.csv"), "married", epsilon=0.2)


def questions(out: str) -> int:
    return out.count("to judge\n")


# Judging


def test_all_are_judged_from_a_pipe(judge):
    witnesses = len(audit().witnesses)
    assert witnesses >= 3
    out = judge(*BY, answers="a\nfor pay\n" * 20, code=0)
    assert questions(out) == out.count("Recorded: appropriate") == witnesses
    assert f"Judged: {witnesses} ({witnesses} appropriate, 0 inappropriate)" in out
    assert "Not judged yet: 0. Remaining violations" in out
    kept = list(Records.open("j.jsonl"))
    assert {r.term for r in kept} == {w.term for w in audit().witnesses}
    assert {(r.appropriate, r.reason, r.by) for r in kept} == {(True, "for pay", "Ada")}
    assert main(["audit"]) == 0


def test_witnesses_come_in_the_order_of_the_result_and_each_decision_counts(judge):
    out = judge(*BY, answers="i\nnot for pay\ns\nskip\nA\nfine\nquit\n", code=1)
    shown = [float(x) for x in re.findall(r"^association  ([\d.]+)", out, re.MULTILINE)]
    known = document(audit()).witnesses
    assert shown == [w.association for w in known][: len(shown)]
    assert {w.id for w in known} == {w.id for w in audit().witnesses}
    first, second = Records.open("j.jsonl")
    assert (first.appropriate, second.appropriate) == (False, True)
    assert "Judged: 2 (1 appropriate, 1 inappropriate)" in out
    violations = audit().violations(Records.open("j.jsonl"))
    confirmed = sum(violation.witness.confirmed for violation in violations)
    assert f"judged inappropriate): {len(violations)}, {confirmed} of them confirmed." in out


def test_judged_inappropriate_is_settled_and_stays_a_violation(judge):
    judge(*BY, answers="i\nno\n" * 20, code=1)
    out = judge(*BY, code=1)
    assert questions(out) == 0
    assert "not judged yet: 0" in out


def test_an_empty_reason_and_a_strange_answer_are_asked_again(judge):
    out = judge(*BY, answers="x\n\na\n\n   \nat last\nq\n", code=1)
    assert out.count("Please answer a, i, s, t or q") == 2
    assert out.count("a judgment needs a reason") == 2
    (kept,) = Records.open("j.jsonl")
    assert kept.reason == "at last"


def test_the_reason_can_be_left_and_the_answer_changed(judge):
    judge(*BY, answers="a\n.\ni\nnot for pay\nq\n", code=1)
    (kept,) = Records.open("j.jsonl")
    assert not kept.appropriate


def test_the_name_is_asked_for_once(judge):
    out = judge(answers="a\n\nGrace\none\na\ntwo\nq\n", code=1)
    assert out.count("Your name") == 2  # an empty one is no name
    assert [(r.by, r.reason) for r in Records.open("j.jsonl")] == [
        ("Grace", "one"),
        ("Grace", "two"),
    ]


@pytest.mark.parametrize("answers", ["", "a\n", "a\n\n", "s\na\nwhy", "q\n", "t\nq\nq\n"])
def test_the_end_of_input_is_a_way_to_quit(answers, judge):
    out = judge(*BY, answers=answers, code=1)
    records = Records.open("j.jsonl")
    assert len(records) == out.count("Recorded:") == answers.count("why")
    left = [w for w in audit().witnesses if records(w) is None]
    assert f"Not judged yet: {len(left)}." in out


def test_going_on_asks_only_what_is_left(judge):
    judge(*BY, answers="a\none\n", code=1)
    first = judge("--list", code=1)
    out = judge(*BY, answers="a\nmore\n" * 20, code=0)
    assert questions(out) == len(Records.open("j.jsonl")) - 1
    assert "not judged yet: 0" in judge("--list", code=0)
    assert "not judged yet: 0" not in first


def test_bytes_that_are_not_utf8_do_not_stop_it(folder):
    found = process(*BY, input=b"a\ncaf\xe9\nq\n")
    assert found.returncode == 1, found.stderr
    (kept,) = Records.open("j.jsonl")
    assert kept.reason == "caf\\xe9"


# What is shown


def test_a_page_tells_what_it_takes_to_decide(judge):
    out = judge(*BY, answers="q\n", code=1)
    witness = audit().witnesses[0]
    for text in (
        f"Witness {witness.id} of married",
        f"association  {document(audit()).witnesses[0].association}",
        f"influence    {witness.influence:.4f}",
        "Knowing whether it is above ",
        "of decisions.",
        "in the model",
        "rows by married",
        "Who is affected",
        "decisions that change",
    ):
        assert text in out


def test_smaller_computations_inside_are_listed_with_what_was_said_of_them(judge):
    out = judge(*BY, answers="a\nfor pay\n" + "s\n" * 20, code=1)
    matches = re.findall(r"^Inside this computation\n(.*?)\n\n", out, re.MULTILINE | re.DOTALL)
    assert any("yes, appropriate" in text and "score" in text for text in matches)
    assert any("yes, not judged" in text for text in matches)


def test_near_misses_are_told_apart_from_witnesses(folder, judge):
    Path("near.txt").write_text("ite(score > 45, 1, ite(score > 35, 1, ite(hours > 30, 0, 1)))")
    program = pu.Program.parse(Path("near.txt").read_text())
    audit = pu.audit(program, PEOPLE, "married", epsilon=0.2)
    strength = {d.term: d.associations["married"] for d in audit.decompositions}
    epsilon = (strength["score > 45"] + strength["score > 35"]) / 2
    assert 0.8 * epsilon < strength["score > 35"] < epsilon
    words = ("--model", "near.txt", "--epsilon", epsilon, "--validity", "none")
    out = judge(*words, *BY, answers="s\n" * 20, code=1)
    near = re.findall(r"within 20% of the thresholds\n(.*?)\n\n", out, re.DOTALL)
    assert near
    assert all("score > 35" in text for text in near)
    assert not any("score > 45" in text for text in near)
    (lacking,) = re.findall(r"up to ([\d.]+) association", near[0])
    assert epsilon - strength["score > 35"] < float(lacking) < epsilon


def test_a_long_term_is_cut_and_shown_in_full_on_demand(folder, judge):
    numbers = ", ".join(map(str, range(100)))
    Path("long.txt").write_text(f"ite(score in {{{numbers[:-4]}}} and score > 45, 1, 0)")
    words = ("--model", "long.txt", "--epsilon", "0.1")
    out = judge(*words, *BY, answers="s\n" * 20, code=1)
    assert "t shows all" in out
    assert "96, 97" not in out
    out = judge(*words, *BY, answers="t\ns\n" * 20, code=1)
    assert re.search(r"96,\s+97", out)


def test_an_attribute_that_the_model_reads_itself_is_called_so(folder, judge):
    Path("open.txt").write_text("ite(married == 'yes', 1, 0)")
    out = judge("--model", "open.txt", *BY, answers="s\n" * 9, code=1)
    assert "the protected attribute itself" in out


def test_small_counts_are_not_shown(folder, judge):
    rare = PEOPLE.assign(married=["once"] * 2 + ["few"] * 9 + ["no"] * 180 + ["yes"] * (N - 191))
    rare.to_csv("people.csv", index=False)
    words = ("--epsilon", "0", "--delta", "0", "--validity", "none", *BY)
    out = judge(*words, answers="s\n" * 99, code=1)
    assert "once" not in out
    assert "withheld" in out
    share = r"(withheld|(?:under |over )?[\d.]+%)"
    line = rf"^  \S.*? +(\d+) +{share} +{share} +{share}$"
    groups = re.findall(line, out, re.MULTILINE)
    assert groups
    for rows, *shares in groups:
        assert int(rows) >= 5
        assert int(rows) >= 20 or set(shares) == {"withheld"}
    shown = judge(*words, "--min-cell", "1", answers="s\n" * 99, code=1)
    assert "once" in shown
    assert "withheld" not in shown


# Groups


def test_the_page_says_who_gains_and_who_loses():
    audit = pu.audit(pu.Program.parse("ite(score > 45, 'yes', 'no')"), PEOPLE, "married")
    page = " ".join(Pages(audit, document(audit)).page(audit.witnesses[0], "1 of 1").split())
    assert "from `no` to `yes` from `yes` to `no`" in page
    assert "What a swap takes away is what the computation gives at present." in page


def test_an_estimate_is_called_one(monkeypatch):
    monkeypatch.setattr(direction, "MOST_WORK", 0)
    monkeypatch.setattr(direction, "ALL_PAIRS", 0)
    audit = pu.audit(pu.Program.parse("2 * score"), PEOPLE, "married", epsilon=0)
    page = Pages(audit, document(audit)).page(audit.witnesses[0], "1 of 1")
    assert "Estimated from 1,000 random pairs" in page
    assert "4.3 percentage points" in " ".join(page.split())


# What was decided before


def test_what_was_decided_on_something_similar_is_shown_and_not_applied(judge):
    judge(*BY, answers="a\nagreed in May\n" * 20, code=0)
    before = len(Records.open("j.jsonl"))
    fitted(37)
    listed = judge("--list", code=1)
    assert "similar" in listed
    out = judge("--by", "Grace", answers="s\n" * 20, code=1)
    assert len(Records.open("j.jsonl")) == before
    assert "Earlier judgments on similar computations" in out
    assert "appropriate, by Ada on" in out
    assert "agreed in May" in out
    assert re.search(r"association .+ now; influence [\d.]+ then, [\d.]+ now", out)
    assert re.search(r"numbers in it: [\d.]+ then, [\d.]+ now", out)


def test_what_the_policy_settles_is_not_asked(folder, judge):
    rule = "name: tests\n    decision: {}\n    reason: by itself\n    when: {{kind: compare}}\n"
    witnesses = document(audit()).witnesses
    for decision in ("allow", "deny"):
        Path("policy.yaml").write_text("version: 1\nrules:\n  - " + rule.format(decision))
        words = ("--policy", "policy.yaml", "--validity", "none")
        out = judge(*words, *BY, answers="s\n" * 20, code=1)
        ids = re.findall(r"^Witness (\w+) of", out, re.MULTILINE)
        assert ids == [w.id for w in witnesses if w.operator != "compare"]
        assert "yes, appropriate" in out or decision == "deny"
        assert "yes, inappropriate" in out or decision == "allow"


def test_a_judgment_holds_for_the_same_computation_at_other_places(folder, judge):
    Path("twice.txt").write_text("ite(hours > 30, ite(score > 45, 1, 0), ite(score > 45, 2, 0))")
    program = pu.Program.parse(Path("twice.txt").read_text())
    witnesses = pu.audit(program, PEOPLE, "married", epsilon=0.2).witnesses
    assert [w.term for w in witnesses].count("score > 45") > 1
    out = judge("--model", "twice.txt", *BY, answers="a\nfor pay\n" * 20, code=0)
    records = Records.open("j.jsonl")
    assert questions(out) == out.count("Recorded") == len(records)
    assert len(records) <= len(witnesses)
    assert [w for w in witnesses if records(w) is None] == []


# Listing


def test_the_list_asks_nothing_and_writes_nothing(folder, judge):
    out = judge("--list", answers="a\nwhy\n", code=1)
    assert not Path("j.jsonl").exists()
    assert "[a]ppropriate" not in out
    for witness in audit().witnesses:
        assert witness.id in out


def test_the_list_as_json_is_the_audit(folder, judge):
    content = json.loads(judge("--list", "--json", code=1))
    schema = Path(__file__).parents[2] / "docs" / "schema" / "audit.schema.json"
    jsonschema.validate(content, json.loads(schema.read_text()))
    assert all(w["judgment"] is None for w in content["witnesses"])


def test_what_could_not_be_settled_ends_with_3(folder, judge):
    wide = pd.DataFrame(RNG.normal(size=(120, 16)).round(2), columns=[f"x{i}" for i in range(16)])
    wide.assign(married=["yes", "no"] * 60).to_csv("people.csv", index=False)
    Path("sum.txt").write_text(f"ite({' + '.join(wide.columns)} > 0, 1, 0)")
    words = ("--model", "sum.txt", "--epsilon", "0.3")
    out = judge(*words, "--time-limit", "0.000001", code=3)
    assert "The search is incomplete" in out
    assert "The search is incomplete" not in judge(*words, code=0)


# Wrong use


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--judgments", "no/folder/j.jsonl"), "folder"),
        (("--judgments", "."), "folder"),
        (("--judgments", "people.csv"), "not a file of judgments"),
        (("--json",), "--list"),
        (("--by", " "), "--by is empty"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_wrong_use_is_told_before_anyone_types(words, message, judge):
    assert message in judge(*words, answers="a\nwhy\n", code=2)


def test_a_file_of_judgments_has_to_be_named(folder, judge):
    text = Path("proxyuse.toml").read_text().replace('judgments = "j.jsonl"\n', "")
    Path("proxyuse.toml").write_text(text)
    assert "--judgments judgments.jsonl" in judge(answers="a\nwhy\n", code=2)


# Being stopped


def command(*words: str) -> list[str]:
    Path("small.txt").write_text("ite(score > 45, 1, 0)")  # needs no library of models
    return [sys.executable, "-m", "proxyuse", "judge", "--model", "small.txt", *words]


def process(*words: str, input: bytes) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(command(*words), input=input, capture_output=True, timeout=60)


def read_until(shown: int, word: bytes) -> bytes:
    found = b""
    while word not in found:
        assert select.select([shown], [], [], 60)[0], found
        part = os.read(shown, 65536)
        assert part, found
        found += part
    return found


def test_nothing_that_was_confirmed_is_lost_when_it_is_killed(folder):
    pipe = subprocess.PIPE
    with subprocess.Popen(command(*BY), stdin=pipe, stdout=pipe, stderr=pipe) as it:
        assert it.stdin is not None
        assert it.stdout is not None
        it.stdin.write(b"a\nfor pay\n")
        it.stdin.flush()
        read_until(it.stdout.fileno(), b"Recorded")
        it.send_signal(signal.SIGKILL)
        it.wait(timeout=30)
    records = Records.open("j.jsonl")
    assert [(r.reason, r.by) for r in records] == [("for pay", "Ada")]


def test_ctrl_c_on_a_terminal_keeps_what_was_confirmed_and_says_what_is_left(folder):
    ours, its = pty.openpty()
    with subprocess.Popen(
        command(*BY), stdin=its, stdout=its, stderr=its, start_new_session=True
    ) as it:
        os.close(its)
        read_until(ours, b"[q]uit: ")
        os.write(ours, b"a\n")
        read_until(ours, b"goes back) ")
        os.write(ours, "für die Löhne\n".encode())
        read_until(ours, b"[q]uit: ")
        while True:  # one that comes between prompt and reading is seen at the next
            it.send_signal(signal.SIGINT)
            if select.select([ours], [], [], 1)[0]:
                break
        shown = read_until(ours, b"interrupted")
        assert it.wait(timeout=30) == 130
    os.close(ours)
    assert b"Not judged yet: " in shown
    assert b"Traceback" not in shown
    (kept,) = Records.open("j.jsonl")
    assert kept.reason == "für die Löhne"
