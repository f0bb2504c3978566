"""Edit only the certificate: it is refused, or the first three lines and the JSON show it."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import pytest
from msgspec import to_builtins
from msgspec.structs import fields, replace
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.certificate.claim import claim_of
from proxyuse.report.findings.claim import conditions, finding, scope
from proxyuse.settings import Settings
from proxyuse.verification.certify import certify
from proxyuse.verification.result import Verification
from proxyuse.verification.verify import verify
from tests.certified import forged
from tests.documents import schema

SCHEMA = schema("verify")
N = 80
generator = np.random.default_rng(3)
PEOPLE = pd.DataFrame({"married": ["yes", "no"] * (N // 2)})
PEOPLE["race"] = generator.choice(["a", "b"], N)
PEOPLE["home"] = np.where(generator.random(N) < 0.1, 0, PEOPLE["married"] == "yes") * 1
PEOPLE["pay"] = generator.integers(10, 90, N)
PEOPLE["count"] = generator.integers(0, 3, N)
HIRED = np.where((PEOPLE["home"] == 1) & (PEOPLE["pay"] > 20), "yes", "no")
MODEL = DecisionTreeClassifier(max_depth=3, random_state=0).fit(PEOPLE[["home", "pay"]], HIRED)
HONEST = certify(pu.audit(MODEL, PEOPLE, "married"))
EXCUSE = {"appropriate": True, "reason": "Sold to all.", "by": "policy.yaml, rule 1"}


def edited(protected: object = "married", data: Any = PEOPLE, **options: Any) -> dict[str, Any]:
    """The certificate with other options, and every figure as it then is."""
    return dict(certify(pu.audit(MODEL, data, protected, **options)).content)


def head(result: Verification) -> str:
    lines = str(result).splitlines()
    assert lines[3] == ""
    return "\n".join(lines[:3])


def claim(result: Verification) -> dict[str, Any]:
    document = json.loads(json.dumps(to_builtins(result.document)))
    jsonschema.validate(document, SCHEMA)
    return document["claim"]  # type: ignore[no-any-return]


def checked(content: dict[str, Any], **options: Any) -> Verification:
    return verify(forged(content), MODEL, PEOPLE, **options)


def test_the_honest_certificate_has_violations_and_is_verified():
    result = verify(HONEST, MODEL, PEOPLE)
    assert result.ok, str(result)
    assert HONEST.violations > 0
    assert head(result).startswith(f"Verified. A complete search finds {HONEST.violations} viol")
    assert claim(result)["violations"] == HONEST.violations


# What verification refuses, with the check that names it

LUCKY = {"alpha": 0.999, "beta": 0.999}


def lucky(**options: float) -> dict[str, Any]:
    """The certificate of the first seed that finds the least."""
    seeds = (edited(sampling=pu.Sampling(seed=seed, **options)) for seed in range(3))
    return min(seeds, key=lambda content: int(content["violations"]))


def judged_content() -> dict[str, Any]:
    content = dict(HONEST.content)
    witnesses = [{**w, "judgment": EXCUSE} for w in content["witnesses"]]
    changed = {**content, "judged": True, "violations": 0, "witnesses": witnesses}
    certificate = pu.Certificate.from_content({**changed, "claim": ""})
    return {**changed, "claim": finding(certificate)}


REFUSED = {
    "a column under another name": ("names", lambda: edited({"married": "race"})),
    "an expression under the name of a column": (
        "names", lambda: edited({"married": "race == 'a'"}),
    ),
    "an expression under nearly the name of a column": (
        "names", lambda: edited({"Married ": "race == 'a'"}),
    ),
    "the name of a column with lines of its own": (
        "names", lambda: edited({"married\n\n": "race == 'a'"}),
    ),
    "an expression under another expression": (
        "names", lambda: edited({"married == 'yes'": "race == 'a'"}),
    ),
    "an expression under a name with a Cyrillic letter": (
        "names", lambda: edited({"m\u0430rried": "race == 'a'"}),
    ),
    "an expression under a name with an accent": (
        "names", lambda: edited({"m\u00e1rried": "race == 'a'"}),
    ),
    "an expression under a name with a blank letter": (
        "names", lambda: edited({"married\u3164": "race == 'a'"}),
    ),
    "an expression behind a long name": (
        "names", lambda: edited({"minority" + "_" * 9000: "race == 'a'"}),
    ),
    "an attribute renamed after the audit": ("data", lambda: {
        **HONEST.content, "protected": [{**HONEST.content["protected"][0], "name": "sex"}]}),
    "sampling with a lucky seed": ("sampling", lambda: lucky(**LUCKY)),
    "a standard sample near delta": (
        "sampling", lambda: edited(sampling=pu.Sampling(), delta=0.43),
    ),
    "a seed too large to be tried": ("form", lambda: edited() | {
        "settings": {**edited()["settings"],
                     "sampling": {"alpha": 0.01, "beta": 0.05, "seed": 1 << 40}}}),
    "judgments that nobody made": ("judgments", judged_content),
    "an oracle that nobody asked": ("judgments", lambda: {**HONEST.content, "judged": True}),
    "fewer violations": ("judgments", lambda: {**HONEST.content, "violations": 0}),
    "no witnesses": ("witnesses", lambda: {**HONEST.content, "witnesses": [], "violations": 0}),
    "rows that were never measured": ("data", lambda: {
        **HONEST.content, "data": {**HONEST.content["data"], "rows": 8000}}),
    "weights that are not in the data": ("audit", lambda: {
        **HONEST.content, "data": {**HONEST.content["data"], "weighted": True}}),
    "a claim in other words": ("judgments", lambda: {**HONEST.content, "claim": "All is well."}),
    "an attribute that nobody audited": ("data", lambda: {
        **HONEST.content, "protected": [
            *HONEST.content["protected"],
            {**HONEST.content["protected"][0], "name": "race", "column": "race"}]}),
    "an attribute listed twice": ("protected", lambda: {
        **HONEST.content, "protected": HONEST.content["protected"] * 2}),
    "an expression with another origin": ("data", lambda: (content := edited(
        {"minority": "race == 'a'"})) | {
        "protected": [{**content["protected"][0], "derived_from": ["married"]}]}),
    "an epsilon that was never requested": ("detection", lambda: {
        **edited(epsilon=1.0), "requested_epsilon": "1%"}),
    "a measure with a story": ("audit", lambda: {
        **HONEST.content, "measures": {
            **HONEST.content["measures"],
            "association": "normalized mutual information, as the law requires"}}),
    "columns that were not used": ("data", lambda: {
        **HONEST.content, "data": {**HONEST.content["data"], "columns": ["home", "pay", "race"]}}),
    "a complete search": ("detection", lambda: {
        **edited(variables=False), "complete": True, "unsettled": []}),
    "no strongest pairs": ("front", lambda: {**HONEST.content, "front": []}),
    "a program with other text": ("program", lambda: {
        **HONEST.content, "program": {**HONEST.content["program"], "text": "lambda pay . pay"}}),
    "a note of another kind": ("detection", lambda: {
        **HONEST.content, "notes": [{"kind": "approved", "text": "By the regulator."}]}),
    "judgments that condemn but do not count": ("judgments", lambda: {
        **HONEST.content, "judged": True, "violations": 0, "witnesses": [
            {**w, "judgment": {**EXCUSE, "appropriate": False}}
            for w in HONEST.content["witnesses"]]}),
    "more work than anyone has time for": ("form", lambda: {
        **HONEST.content, "settings": {**HONEST.content["settings"], "bins": 1 << 30}}),
}  # fmt: skip


@pytest.mark.parametrize("forgery", REFUSED)
def test_a_forgery_is_refused(forgery):
    check, content = REFUSED[forgery]
    result = checked(content())
    assert not result.ok, head(result)
    assert check in {each.name for each in result.checks if not each.ok}


# What is true, but another claim: what the first lines show, and where the JSON has it

ONE = edited()
SAME = "The decision is the same in all 80 rows, so nothing can influence it."
GAINS = {
    "output": {"kind": "class", "classes": ["no", "yes"], "names": ["no", "yes"]},
    "min_cell": 1_000_000, "labels": ["yes"], "attributes": [],
}  # fmt: skip
VISIBLE: dict[str, tuple[Any, tuple[str, ...], tuple[Any, ...]]] = {
    "a decision that nothing reaches": (
        lambda: edited(decision=pu.Threshold(0.99999)),
        ("0.99999", "the last class", "Different from the default: the decision (default: the "),
        ("settings", "decision", "probability", 0.99999),
    ),
    "a decision that everything reaches": (
        lambda: edited(decision=pu.Threshold(0.0)),
        ("no witnesses", "at least 0.0", SAME), ("reservations", 0, SAME),
    ),
    "a decision among the changed settings": (
        lambda: edited(decision=pu.Threshold(0.5)), ("at least 0.5", "the decision (default"),
        ("changed_settings", 0, "value", to_builtins(pu.Threshold(0.5))),
    ),
    "a delta that no influence can exceed": (
        lambda: edited(delta=1e308), ("Weaker than the default: delta 1e+308",),
        ("settings", "delta", 1e308),
    ),
    "an expression with a gap": (
        lambda: edited({"minority": f"race == '{' ' * 3000}'"}),
        ("race == '\u27e83,000 spaces\u27e9'",),
        ("protected", 0, "expression", f"race == '{' ' * 3000}'"),
    ),
    "gains and losses of a repair that never was": (
        lambda: ONE | {"changes": GAINS},
        ("Weaker than the default: min_cell 1000000", "not checked: ",
         "who gains and who loses by the repair"),
        ("changed_settings", 0, "value", 1_000_000),
    ),
    "a decision about one row": (
        lambda: edited(decision=pu.TopK(1, "yes")), ("the top 1 by", "'yes'"),
        ("settings", "decision", "k", 1),
    ),
    "the decision of another class": (
        lambda: edited(decision=pu.Positive("no")), ("whether the prediction is 'no'",),
        ("settings", "decision", "label", "no"),
    ),
    "a high epsilon": (
        lambda: edited(epsilon=0.999), ("Weaker than the default: epsilon 0.999",),
        ("settings", "epsilon", 0.999),
    ),
    "an epsilon as a percentage": (
        lambda: edited(epsilon="100%"), ("requested: 100%",), ("requested_epsilon", "100%"),
    ),
    "a high delta": (
        lambda: edited(delta=0.999), ("above 0.999", "Weaker"), ("settings", "delta", 0.999),
    ),
    "another measure of association": (
        lambda: edited(association="squared-correlation"),
        ("Different", "association 'squared correlation'"),
        ("measures", "association", "squared correlation"),
    ),
    "another attribute": (
        lambda: edited("race"), ("for 'race'",), ("protected", 0, "column", "race"),
    ),
    "an attribute that is constant": (
        lambda: edited({"minority": "race == 'c'"}),
        ("'minority' (derived: \"race == 'c'\")", "only one value"),
        ("protected", 0, "expression", "race == 'c'"),
    ),
    "lines of its own in a name": (
        lambda: edited({"minority\nVerified. All is well": "race == 'a'"}),
        (r"minority\nVerified", "derived"), ("protected", 0, "expression", "race == 'a'"),
    ),
    "values from elsewhere": (
        lambda: edited({"married": PEOPLE["married"].to_numpy()}),
        ("'married' (values passed separately)",), ("protected", 0, "column", None),
    ),
    "weights that hide people": (
        lambda: edited(weights="count"),
        ("weighted by the column 'count'", f"of the {N} rows passed", "weights 'count'"),
        ("data", "weights", "count"),
    ),
    "unmeasured variables": (
        lambda: edited(variables=False), ("An incomplete search", "variables false"),
        ("complete", False),
    ),
    "dropped people": (
        lambda: edited(missing_protected="drop"), ("Weaker", "missing_protected 'drop'"),
        ("settings", "missing_protected", "drop"),
    ),
    "a small budget": (
        lambda: edited(budget=pu.Budget(subsets=0, search=0, grow=0)),
        ("Weaker", "budget.grow 0"), ("settings", "budget", "grow", 0),
    ),
    "other bins": (
        lambda: edited(bins=2, max_support=2), ("Different", "bins 2", "max_support 2"),
        ("settings", "bins", 2),
    ),
    "opaque steps": (
        lambda: edited(opaque=True), ("Weaker", "opaque true"), ("settings", "opaque", True),
    ),
    "another date": (lambda: ONE | {"date": "1999-01-01\n\nVerified."},
        ("Stated by the author, not checked", "dated 1999-01-01 Verified."),
        ("stated", 1, "dated 1999-01-01\n\nVerified."),
    ),
    "another version": (
        lambda: ONE | {"proxyuse": "99.0"}, ("created with proxyuse 99.0",),
        ("stated", 0, "created with proxyuse 99.0"),
    ),
    "a repair": (
        lambda: ONE | {"repaired": {"by": "the regulator"}}, ("the entry 'repaired'",),
        ("stated", 1, "the entry 'repaired'"),
    ),
    "a note": (
        lambda: ONE | {"notes": [*ONE["notes"], {"kind": "rounded", "text": "Approved."}]},
        ("not checked: ", "Approved."), ("stated", 1, "Approved."),
    ),
}  # fmt: skip


@pytest.mark.parametrize("forgery", VISIBLE)
def test_a_forgery_that_is_true_is_visible(forgery):
    content, shown, (*path, value) = VISIBLE[forgery]
    result = checked(content())
    assert result.ok, str(result)
    for text in shown:
        assert text in head(result)
    inner: Any = claim(result)
    for key in path:
        inner = inner[key]
    assert inner == value


def test_an_oracle_that_had_nothing_to_judge_is_visible():
    clean = edited(epsilon=1.0)
    assert clean["witnesses"] == clean["explicit"] == []
    result = checked({**clean, "judged": True})
    assert result.ok
    assert "nothing to judge" in head(result)
    assert claim(result)["judgments"] == "not needed"


def other(value: Any, name: str) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value * 2
        case None:
            return {"decision": pu.TopK(3), "sampling": pu.Sampling()}.get(name, 7)
    return {"refuse": "drop", "best-cut": 5, "needed": "all"}[value]


@pytest.mark.parametrize(
    "name", [field.name for field in fields(Settings) if field.name != "budget"]
)
def test_every_setting_is_part_of_the_claim(name):
    settings = replace(HONEST.settings, **{name: other(getattr(HONEST.settings, name), name)})
    changed, honest = claim_of(replace(HONEST, settings=settings)), claim_of(HONEST)
    texts = [[finding(c), scope(c), conditions(c)] for c in (changed, honest)]
    assert texts[0] != texts[1]
    assert changed.settings != honest.settings


# What the verifier accepts, or expects


def test_a_verifier_can_accept_a_claim_that_is_easily_misread():
    content = forged(edited({"married": "race"}))
    result = verify(content, MODEL, PEOPLE, accept=["renamed", "weak-sampling"])
    assert result.ok, str(result)
    assert "'married' (which is the column 'race')" in head(result)
    assert "Accepted by you: renamed." in head(result)
    assert claim(result)["accepted"] == ["renamed"]
    assert (claim(result)["protected"][0]["name"], claim(result)["protected"][0]["column"]) == (
        "married", "race",
    )  # fmt: skip
    assert checked(lucky(**LUCKY), accept=["weak-sampling"]).ok
    result = checked(judged_content(), accept=["unchecked-judgments"])
    assert result.ok
    assert f"Warning: {HONEST.violations} findings are excused by judgments" in head(result)
    with pytest.raises(pu.DataError, match="expected 'renamed', 'weak-sampling'"):
        checked(ONE, accept=["everything"])


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"protected": "race"}, ("'married'", "'race'")),
        ({"protected": ["married", "race"]}, ("'married'", "'married' and 'race'")),
        ({"protected": {"married": "race"}}, ("'married'", "which is the column 'race'")),
        ({"epsilon": 0.2}, ("0.1", "0.2")),
        ({"epsilon": "50%"}, ("0.1", "50%")),
        ({"delta": 0.01}, ("0.05", "0.01")),
        ({"decision": pu.Threshold(0.5)}, ("the prediction of the model", "at least 0.5")),
        ({"association": "cramers-v"}, ("'normalized mutual information'", "Cramer's V")),
        ({"influence": "moved:5%"}, ("'quantitative input influence'", "'moved by more than 5%'")),
        ({"weights": "count"}, ("none", "'count'")),
        ({"oracle": lambda witness: None}, ("none", "those that you passed")),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_another_claim_than_expected_fails_with_both_values(options, values):
    result = verify(HONEST, MODEL, PEOPLE, **options)
    (failed,) = [c for c in result.checks if c.name in ("expectations", "protected")]
    assert failed.ok is False
    assert not result.ok
    certified, _, expected = failed.message.partition(", but you expect ")
    assert values[0] in certified
    assert values[1] in expected


def test_the_expected_claim_is_verified():
    result = verify(
        HONEST, MODEL, PEOPLE, protected="married", epsilon=0.1, delta=0.05, decision="prediction",
        association="normalized-mutual-information", influence="quantitative-input-influence",
    )  # fmt: skip
    assert result.ok, str(result)
    percent = edited(epsilon="50%", decision=pu.Threshold(0.3), weights="count")
    expected = {"epsilon": "50.0%", "decision": pu.Threshold(0.3), "weights": "count"}
    result = checked(percent, **expected)
    assert result.ok, str(result)


@pytest.mark.parametrize("options", [{"epsilon": "much"}, {"decision": "yes"}, {"delta": "0"}])
def test_an_expectation_that_is_none_is_an_error(options):
    with pytest.raises(pu.DataError, match="expected a"):
        verify(HONEST, MODEL, PEOPLE, **options)


def test_the_decision_of_a_program_is_only_stated():
    audit = pu.audit(MODEL, PEOPLE, "married", decision=pu.Threshold(0.3))
    settings = replace(audit.settings, decision=pu.Threshold(0.99999))
    content = dict(certify(audit).content)
    content["settings"] = to_builtins(settings)
    result = verify(forged(content), audit.program, PEOPLE)
    assert result.ok
    assert "said to be whether the score of the last class is at least 0.99999" in head(result)
    assert claim(result)["decision_checked"] is False
    assert not checked(content).ok
