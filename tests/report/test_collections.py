"""Collections in verdicts, results, every format, judgments, comparisons and certificates."""

from __future__ import annotations

import io
import pickle
import xml.etree.ElementTree as XML
from functools import cache
from typing import Literal

import jsonschema
import numpy as np
import pandas as pd
import pytest

import proxyuse as pu
from proxyuse.cli.main import main
from proxyuse.completed_audit import Audit
from proxyuse.detect.collective_witness import Collection
from proxyuse.judge.policy import Policy
from proxyuse.judge.records import Records
from proxyuse.report.diff import compare, diff_exit_code
from proxyuse.report.document import document
from proxyuse.report.findings.headline import headline
from proxyuse.report.render.junit import audit_junit
from proxyuse.report.render.markdown import audit_markdown
from proxyuse.report.render.notebook import audit_html
from proxyuse.report.render.sarif import audit_sarif
from proxyuse.report.render.text import audit_text, diff_text
from proxyuse.report.saved import as_text, decoded
from proxyuse.report.standing import exit_code
from proxyuse.verdict import CollectiveUse, Verdict
from tests.documents import plain, schema

TREES, N_ROWS = 21, 2000
DELTA = 0.1
BUDGET = pu.Budget(grow=0)  # partial sums have tests of their own
PROXY = tuple(f"p{i}" for i in range(TREES))
MASK = tuple(f"m{i}" for i in range(TREES))


def masked_votes(copies=PROXY):
    """A vote of trees. Each reads a weak proxy, and another column hides it in the tree's vote.

    So no tree and no sum of trees is associated with the attribute, and no single test decides.
    """
    votes = " + ".join(
        f"ite({p} <= 0.5, ite({m} <= 0.5, 1, -1), ite({m} <= 0.5, -1, 1))"
        for p, m in zip(copies, MASK, strict=True)
    )
    return pu.Program.parse(f"ite({votes} > 0, 'a', 'b')")


@cache
def people():
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, N_ROWS)
    copies = {name: np.where(rng.random(N_ROWS) < 0.13, 1 - z, z) for name in PROXY}
    return {**copies, **{name: rng.integers(0, 2, N_ROWS) for name in MASK}, "z": z}


@cache
def audited(validity: Literal["confirm"] | None = "confirm") -> Audit:
    return pu.audit(masked_votes(), people(), "z", delta=DELTA, validity=validity, budget=BUDGET)


@cache
def harmless() -> Audit:
    return pu.audit(masked_votes(MASK), people(), "z", delta=DELTA, budget=BUDGET)


def allowed(found):
    return pu.Judgment(True, "agreed", "Ada") if isinstance(found, Collection) else None


def test_a_distributed_proxy_decides_the_verdict():
    audit = audited()
    assert audit.witnesses == []
    collection = audit.collections["z"]
    assert collection.distributed
    assert {member.term for member in collection.members} == {f"{name} <= 0.5" for name in PROXY}
    assert collection.measured.low > 0.3
    assert audit.verdict is Verdict.CONFIRMED
    assert audit.verdicts["z"].reasons == (CollectiveUse(TREES, True, True),)
    assert audit.collection_violations() == [collection]
    assert harmless().verdict is Verdict.NOT_FOUND
    assert harmless().collections == {}


def test_each_variable_has_its_share():
    by_variable = audited().collections["z"].by_variable
    assert len(by_variable) == 8
    for share in by_variable:
        assert share.members == 1
        assert 0 < share.influence.low <= share.influence.high < DELTA


def test_without_statistics_it_is_possible():
    audit = audited(None)
    assert audit.verdict is Verdict.POSSIBLE
    assert headline(document(audit)).startswith(
        "The model may use a distributed proxy for z: 21 tests in 21 trees, on "
    )
    assert exit_code(document(audit)) == 1  # without statistics, possible violations count
    with pytest.raises(AssertionError, match="may use a distributed proxy"):
        pu.assert_no_proxy_use(masked_votes(), people(), "z", delta=DELTA, validity=None)


def test_the_result_has_the_collection():
    result = document(audited())
    known = result.protected[0].collection
    assert known is not None
    assert (known.members, known.trees, known.positions, known.verdict) == (
        TREES, TREES, TREES, Verdict.CONFIRMED,
    )  # fmt: skip
    assert known.influence_low < audited().collections["z"].influence < known.influence_high
    assert known.largest_single < DELTA < known.influence_low
    assert known.association_low >= 0.2
    assert exit_code(result) == 1
    jsonschema.validate(plain(result), schema("audit"))
    assert decoded(plain(result)) == result


def test_gains_and_losses_are_part_of_the_result():
    known = document(audited(), min_cell=1).protected[0].collection
    assert known is not None
    assert known.direction is not None
    collection = audited().collections["z"]
    total = sum(group.rows for group in known.direction.groups)
    changed = sum(group.rows * (group.changed or 0) for group in known.direction.groups) / total
    assert collection.measured.low - 0.01 < changed < collection.measured.high + 0.01
    for group in known.direction.groups:
        assert group.changed == pytest.approx((group.up or 0) + (group.down or 0), abs=2e-4)


def test_every_format_says_it(tmp_path):
    result = document(audited())
    sentence = "Together they change "
    for text in (audit_text(result), audit_markdown(result), audit_html(audited())):
        assert sentence in " ".join(text.split())
    page = audited().to_html(tmp_path / "page.html").read_text("utf-8")
    assert sentence in page
    assert "At other levels of association" in page
    (entry,) = audit_sarif(result)["runs"][0]["results"]
    assert (entry["ruleId"], entry["kind"], entry["level"]) == ("collection", "fail", "error")
    rules = audit_sarif(result)["runs"][0]["tool"]["driver"]["rules"]
    assert rules[entry["ruleIndex"]]["id"] == "collection"
    suites = XML.fromstring(audit_junit(result))
    (failure,) = suites.iter("failure")
    assert sentence in (failure.text or "")


def test_an_appropriate_collection_passes():
    result = document(audited(), oracle=allowed)
    assert headline(result) == (
        "The collection of computations related to z was judged appropriate."
    )
    assert exit_code(result) == 0
    (entry,) = audit_sarif(result)["runs"][0]["results"]
    assert entry["suppressions"][0]["justification"] == "agreed"
    (case,) = XML.fromstring(audit_junit(result)).iter("skipped")
    assert case.get("message") == "Judged appropriate by Ada: agreed"


def policy(when):
    return Policy.parse(
        f"{{version: 1, rules: [{{name: r, decision: allow, reason: why, when: {when}}}]}}"
    )


@pytest.mark.parametrize(
    ("when", "matches"),
    [
        ("{kind: collection}", True),
        ("{kind: [test, collection], protected: z}", True),
        ("{protected: z}", False),
        ("{kind: test}", False),
        ("{association: {below: 1}}", False),
        ("{kind: collection, protected: other}", False),
        ("{kind: collection, association: {below: 0.9}}", True),
        ("{kind: collection, association: {below: 0.26}}", False),
        ("{kind: collection, influence: {below: 0.1}}", False),
        ("{kind: collection, variables: {only: [p1, p2]}}", False),
        ("{kind: collection, variables: {any: [p1, other]}}", True),
        ("{kind: collection, term: p1 <= 0.5}", False),
        ("{kind: collection, explicit: true}", False),
        ("{id: %s}", True),
        ("{id: 0123456789abcdef}", False),
    ],
)
def test_a_rule_of_a_policy_matches_collections_only_by_name(when, matches):
    collection = audited().collections["z"]
    rules = policy(when.replace("%s", f"'{collection.id}'"))
    judgment = rules(collection)
    assert (judgment is not None) is matches
    assert (audited().collection_violations(rules) == []) is matches


def test_a_rule_without_conditions_matches_collections():
    rules = Policy.parse("{version: 1, rules: [{name: r, decision: deny, reason: why}]}")
    judgment = rules(audited().collections["z"])
    assert judgment is not None
    assert not judgment.appropriate


def test_judgments_of_collections_are_recorded(tmp_path):
    collection = audited().collections["z"]
    records = Records.open(tmp_path / "judgments.jsonl")
    records.add(collection, True, "agreed", "Ada")
    again = Records.open(tmp_path / "judgments.jsonl")
    judgment = again(collection)
    assert judgment is not None
    assert judgment.appropriate
    assert audited().collection_violations(again) == []
    fewer = pu.audit(masked_votes(), people(), "z", epsilon=0.29, delta=DELTA).collections["z"]
    assert again(fewer) is None  # other members


def test_members_that_were_judged_appropriate_are_left_out():
    program = pu.Program.parse("ite(p0 <= 0.5, ite(m0 <= 0.5, 1, 0), ite(p1 <= 0.5, 1, 0))")
    audit = pu.audit(program, people(), "z")

    def oracle(found):
        return pu.Judgment(True, "known") if found.term == "p0 <= 0.5" else None

    members = audit.collections["z"].members
    assert sorted(member.term for member in members) == ["p0 <= 0.5", "p1 <= 0.5"]
    assert audit.collections_with(oracle) == {}  # one member is no collection
    known = document(audit).protected[0].collection
    assert known is not None
    assert known.repeats_witness
    assert "act together" not in audit_text(document(audit))


def test_an_oracle_that_knows_only_witnesses_is_told_what_to_do():
    with pytest.raises(pu.DataError, match="called with witnesses and with collections"):
        audited().collection_violations(lambda witness: witness.expression and None)


def test_a_copy_of_an_audit_keeps_its_collections():
    copy = pickle.loads(pickle.dumps(audited()))
    assert copy.verdict is Verdict.CONFIRMED
    assert copy.collections["z"].id == audited().collections["z"].id
    assert document(copy).protected[0].collection == document(audited()).protected[0].collection


def test_a_comparison_names_new_and_stronger_collections():
    before, after = document(harmless()), document(audited())
    diff = compare(before, after)
    assert [known.protected for known in diff.new_collections] == ["z"]
    assert diff_exit_code(diff) == 1
    assert diff_text(diff).startswith("Computations that act together are now a proxy for z")
    assert diff_exit_code(compare(after, after)) == 0
    jsonschema.validate(plain(diff), schema("diff"))


def test_a_known_collection_passes_an_assertion(tmp_path):
    known = tmp_path / "known.json"
    known.write_text(as_text(document(audited())))
    arguments = (masked_votes(), people(), "z")
    pu.assert_no_proxy_use(*arguments, delta=DELTA, known=known)
    known.write_text(as_text(document(harmless())))
    with pytest.raises(AssertionError, match="act together"):
        pu.assert_no_proxy_use(*arguments, delta=DELTA, known=known)
    pu.assert_no_proxy_use(*arguments, delta=DELTA, known=known, oracle=allowed)


def test_a_certificate_lists_collections():
    certificate = pu.certify(audited())
    (known,) = certificate.collections
    assert (known.protected, known.members, known.kind) == ("z", TREES, "tests")
    assert certificate.claim.endswith("Computations that are a proxy together: 21 tests for 'z'.")
    assert pu.verify(certificate, masked_votes(), people()).ok
    verification = pu.verify(certificate, masked_votes(), people())
    assert "21 tests for 'z'" in str(verification)
    judged = pu.certify(audited(), allowed)
    assert "proxy together" not in judged.claim
    assert pu.verify(judged, masked_votes(), people(), oracle=allowed).ok
    unchecked = {c.name: c.ok for c in pu.verify(judged, masked_votes(), people()).checks}
    assert unchecked["judgments"] is None


def test_a_certificate_without_its_collection_is_not_verified():
    content = pu.certify(audited()).content
    content["collections"] = []
    verification = pu.verify(content, masked_votes(), people())
    assert not verification.ok
    checks = {check.name: check.ok for check in verification.checks}
    assert checks["witnesses"] is False


def test_an_influence_that_is_no_share_of_pairs_has_no_collections():
    program = pu.Program.parse("p0 + p1 + m0")
    audit = pu.audit(program, people(), "z", influence=pu.SquaredChange())
    assert audit.collections == {}
    with pytest.raises(pu.DataError, match="collections need an influence that counts pairs"):
        audit.collective_curve()


def test_a_person_judges_a_collection(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(people()).to_csv("people.csv", index=False)
    (tmp_path / "votes.txt").write_text(str(masked_votes()))
    files = ("--model", "votes.txt", "--data", "people.csv", "--protected", "z")
    words = ("judge", *files, "--delta", str(DELTA), "--judgments", "j.jsonl")
    monkeypatch.setattr("sys.stdin", io.StringIO("t\na\nthe copies may be read\n"))
    assert main([*words, "--by", "Ada"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "A collection to judge" in shown
    assert "Together they change" in shown
    assert "association places member" in shown
    assert "Recorded: appropriate, by Ada" in shown
    assert main(["audit", *words[1:], "--quiet", "--output", "audit.json"]) == 0
    assert "was judged appropriate" in capsys.readouterr().out
    collection = audited().collections["z"]
    assert main(["show", "audit.json", "--witness", collection.id[:8]]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith(f"Collection {collection.id} of z\n")
    assert "... and 1 more." in shown
