"""A change of the certificate, the program or the rows is found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from msgspec.structs import asdict
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.detect import forest_terms
from proxyuse.verification.certify import certify
from proxyuse.verification.verify import verify
from tests.certified import (
    AUDIT,
    CERTIFICATE,
    DATA,
    PROGRAM,
    N,
    all_allowed,
    allowed,
    audited,
    checked,
    forged,
    replaced,
)


def test_a_certificate_is_verified():
    result = checked(CERTIFICATE)
    assert result.ok, str(result)
    assert str(result).startswith("Verified.")
    assert [check.name for check in result.checks][-1] == "definition"
    count = len(AUDIT.decompositions)
    assert f"{count} of {count} decompositions" in result.checks[-1].message
    assert result.hash == CERTIFICATE.hash in str(CERTIFICATE)


# Every change is found

STATED = ("proxyuse", "date", "repaired.")
"""Entries that cannot be verified. Only the hash shows that they changed."""
STILL_TRUE = {
    "settings.missing_protected",  # none is missing
    "settings.max_support",  # no number of distinct values lies between the two
    "settings.all_sets",  # no term is repeated
    "settings.budget.subsets",  # no operator has that many operands
    "settings.budget.search",
    "settings.budget.grow",
    "settings.budget.occurrences",
    "settings.budget.positions",  # the program is smaller than both
    "settings.exact",  # no pairs are drawn
    "settings.opaque",  # a program has nothing to translate
}
"""Entries whose change makes another claim that is also true."""


def leaves(value, path=()):
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from leaves(inner, (*path, name))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path, value


def other(path, value):
    """A value of the same type that the schema allows there."""
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value + 1e-9 if value < 0.5 else value - 1e-9
        case None:
            return 3 if path[-1] == "bins" else "seen" if path[-1] == "weights" else None
    if path[-1] == "missing_protected":
        return "drop"
    return value + "0"


LEAVES = [
    (path, new)
    for path, value in leaves(dict(CERTIFICATE.content))
    if path != ("hash",) and (new := other(path, value)) != value
]


@pytest.mark.parametrize(
    ("path", "new"), LEAVES, ids=[".".join(map(str, path)) for path, _ in LEAVES]
)
def test_a_change_of_any_entry_is_found(path, new):
    content = replaced(CERTIFICATE.content, path, new)
    assert not checked(content).ok
    named = ".".join(map(str, path))
    result = checked(forged(content))
    assert result.ok is (named.startswith(STATED) or named in STILL_TRUE)
    if result.ok and not named.startswith("repaired."):
        assert str(result).splitlines()[:3] != HONEST[:3]
        assert result.document.claim != VERIFIED.document.claim
    if result.ok:
        assert "the entry 'repaired'" in str(result).splitlines()[2]


VERIFIED = checked(CERTIFICATE)
HONEST = str(VERIFIED).splitlines()


REPEATED = pu.Program.parse(
    "ite(age <= 25, 'x', ite(age <= 30, 'y', "
    "ite(age <= 40, 'x', ite(height + age + vitamins <= 200, 'x', 'y'))))"
)

STEPS = pu.Program.parse("ite(age <= 25, 'x', ite(age <= 30, 'y', ite(age <= 40, 'x', 'y')))")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("missing_protected", "refuse"),
        ("sampling", {"alpha": 0.1, "beta": 0.1, "seed": 0}),
        ("max_support", 300),
        ("bins", 9),
        ("budget", {"subsets": 1, "search": 0, "grow": 0, "occurrences": 0, "positions": 4096}),
        ("budget", {**asdict(pu.Budget()), "positions": 0}),
        ("all_sets", True),
        ("variables", False),
    ],
)
def test_the_audit_is_repeated_with_the_certified_settings(name, value):
    check_setting_matters(REPEATED, name, value)


@pytest.mark.parametrize(("name", "value"), [("budget", asdict(pu.Budget())), ("measure", "all")])
def test_the_audit_is_repeated_with_the_settings_that_bounds_depend_on(name, value):
    check_setting_matters(REPEATED, name, value, budget=pu.Budget(positions=0))


def test_the_audit_is_repeated_with_exact_influences(monkeypatch):
    monkeypatch.setattr(forest_terms, "EXACT_WORK", 0)  # variables are drawn in any forest
    check_setting_matters(STEPS, "exact", True, epsilon=0.005, budget=pu.Budget(positions=0))


def check_setting_matters(program: pu.Program, name: str, value: Any, **options: Any) -> None:
    rows = DATA.assign(pregnant=DATA["pregnant"].where(DATA.index > 0))
    defaults = {"epsilon": 0.01, "missing_protected": "drop", "max_support": 20, "bins": 8}
    audit = pu.audit(program, rows, "pregnant", delta=0.01, **{**defaults, **options})
    assert audit.witnesses
    content = certify(audit).content
    result = verify(content, program, rows)
    assert result.ok, str(result)
    settings = {**content["settings"], name: value}
    assert not verify(forged(content, settings=settings), program, rows).ok


@pytest.mark.parametrize(
    "thresholds", [{"epsilon": 0.9}, {"delta": 0.3}, {"epsilon": 0.0}], ids=str
)
def test_other_thresholds_are_another_claim(thresholds):
    content = CERTIFICATE.content
    result = checked(forged(content, settings={**content["settings"], **thresholds}))
    assert not result.ok
    assert "claim" in str(result)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: {**c, "witnesses": c["witnesses"][1:]},
        lambda c: {**c, "witnesses": [*c["witnesses"], c["witnesses"][0]]},
        lambda c: {**c, "front": c["front"][1:]},
        lambda c: {**c, "notes": []},
        lambda c: {**c, "unsettled": ["something"]},
        lambda c: {**c, "protected": c["protected"][:1]},
        lambda c: {**c, "protected": c["protected"][1:]},
        lambda c: {**c, "more": "of it"},
        lambda c: {**c, "data": {**c["data"], "more": "of it"}},
        lambda c: {**c, "program": {**c["program"], "text": c["program"]["text"] + "\n"}},
        lambda c: {**c, "judged": False},
    ],
)
def test_a_removed_or_added_item_is_found(change):
    assert not checked(forged(change(dict(CERTIFICATE.content)))).ok


def other_rows():
    new = {"pregnant": "perhaps", "seen": 4, "vitamins": 7, "town": "D", "height": 155.0, "age": 51}
    for name, value in new.items():
        for row in (0, 1, 17):
            column = DATA[name].to_list()
            yield DATA.assign(**{name: [*column[:row], value, *column[row + 1 :]]})
    yield DATA.assign(old=[not DATA["old"][0], *DATA["old"][1:]])
    yield DATA.head(N - 1)
    yield pd.concat([DATA, DATA.tail(1)])
    yield pd.concat([DATA.head(N - 1), DATA.head(1)])


@pytest.mark.parametrize("data", list(other_rows()))
def test_other_rows_are_found(data):
    result = checked(CERTIFICATE, data=data)
    assert not result.ok
    failed = {check.name for check in result.checks if not check.ok}
    assert "data" in failed or "audit" in failed


@pytest.mark.parametrize("data", [DATA[::-1], pl.from_pandas(DATA), pa.Table.from_pandas(DATA)],
                         ids=["reversed", "polars", "arrow"])  # fmt: skip
def test_the_same_rows_pass(data):
    assert checked(CERTIFICATE, data=data).ok


@pytest.mark.parametrize(
    ("old", "new"),
    [("200", "201"), ("'x'", "'w'"), ("== 1", "== 0"), ("'B'", "'C'"), ("<=", "<"), ("and", "or")],
)
def test_another_program_is_found(old, new):
    text = str(PROGRAM)
    result = checked(CERTIFICATE, program=pu.Program.parse(text.replace(old, new)))
    assert not result.ok
    assert "not the same program" in str(result)
    assert {check.ok for check in result.checks if check.name == "witnesses"} == {None}
    assert "open  witnesses" in str(result)
    assert "FAIL  witnesses" not in str(result)


def test_the_order_of_operands_is_ignored():
    text = str(PROGRAM).replace("height + age", "age + height")
    program = pu.Program(pu.Program.parse(text).term, PROGRAM.inputs)
    assert str(program) != str(PROGRAM)
    assert checked(CERTIFICATE, program=program).ok


def test_a_difference_is_named():
    content = replaced(CERTIFICATE.content, ("witnesses", 0, "influence"), 0.25)
    (wrong,) = [check for check in checked(content).checks if check.name == "witnesses"]
    (difference,) = wrong.differences
    witness = AUDIT.witnesses[0]
    assert difference.where == f"witnesses.{witness.protected}/{witness.id}.influence"
    assert (difference.expected, difference.actual) == (0.25, witness.influence)
    assert str(difference) in str(wrong)


# Judgments


def test_judgments_are_not_trusted():
    result = checked(CERTIFICATE, oracle=None)
    assert not result.ok
    assert [check.name for check in result.checks if not check.ok] == ["judgments"]
    assert "open  judgments" in str(result)
    assert "FAIL" not in str(result)


def test_without_judgments_no_oracle_is_needed():
    assert checked(certify(AUDIT), oracle=None).ok
    clean = certify(audited(epsilon=1.0), all_allowed)
    assert clean.violations == 0 == len(clean.content["witnesses"])
    assert checked(clean, oracle=None).ok


def test_an_oracle_is_expected_of_the_certificate_too():
    result = checked(certify(AUDIT), oracle=all_allowed)
    assert [check.name for check in result.checks if not check.ok] == ["expectations"]
    assert "judgments: the certificate says none" in str(result)
    assert checked(certify(audited(epsilon=1.0)), oracle=all_allowed).ok  # nothing to judge


@pytest.mark.parametrize(
    "oracle",
    [allowed, lambda witness: pu.Judgment(True, "another reason", "rule 'shop'"),
     lambda witness: pu.Judgment(False, "sold to all", "rule 'shop'")],
)  # fmt: skip
def test_another_oracle_is_found(oracle):
    result = checked(CERTIFICATE, oracle=oracle)
    assert [check.name for check in result.checks if not check.ok] == ["judgments"]


def test_a_forged_judgment_is_found():
    honest = certify(AUDIT, allowed)
    assert honest.violations > 0
    judgment = {"appropriate": True, "reason": "fine", "by": "rule 'bare'"}
    witnesses = [{**w, "judgment": w["judgment"] or judgment} for w in honest.content["witnesses"]]
    claim = CERTIFICATE.content["claim"]
    content = forged(honest.content, witnesses=witnesses, violations=0, claim=claim)
    assert not checked(content, oracle=None).ok
    assert not checked(content, oracle=allowed).ok


# Models, options, measures


FEATURES = DATA[["vitamins", "age"]]


@pytest.mark.parametrize(
    ("model", "decision"),
    [
        (DecisionTreeClassifier(max_depth=3, random_state=0), None),
        (DecisionTreeClassifier(max_depth=3, random_state=0), pu.Threshold(0.3)),
        (DecisionTreeClassifier(max_depth=3, random_state=0), pu.Positive("yes")),
        (LogisticRegression(), pu.TopK(7, "yes")),
        (LogisticRegression(), pu.Threshold(0.7, "no")),
        (RandomForestClassifier(5, max_depth=3, random_state=0), None),
    ],
    ids=str,
)
def test_a_model_and_its_program_are_verified(model, decision):
    model.fit(FEATURES, DATA["pregnant"])
    audit = pu.audit(model, DATA, "old", 0.01, 0.01, decision=decision)
    certificate = certify(audit)
    assert checked(certificate, program=model, oracle=None).ok
    assert checked(certificate, program=audit.program, oracle=None).ok
    text = pu.Program.parse(certificate.content["program"]["text"])
    assert checked(certificate, program=text, oracle=None).ok
    other = DecisionTreeClassifier(max_depth=1).fit(FEATURES, DATA["pregnant"])
    assert not checked(certificate, program=other, oracle=None).ok


@dataclass(frozen=True)
class Halved:
    name: str = "half of it"
    information_bound: bool = True

    def __call__(self, masses):
        return pu.NormalizedMutualInformation()(masses) / 2


@pytest.mark.parametrize(
    "options",
    [
        {"sampling": pu.Sampling(0.05)},
        {"budget": pu.Budget(positions=0)},
        {"all_sets": True},
        {"variables": False},
        {"max_support": 4, "bins": 3},
        {"bins": None, "max_support": 2},
        {"budget": pu.Budget(subsets=0, search=0, grow=0, occurrences=0)},
        {"weights": None},
        {"weights": "fraction"},
        {"missing_protected": "drop"},
        {"missing_protected": "category"},
    ],
    ids=str,
)
def test_the_audit_is_repeated_with_its_options(options):
    rows = DATA.assign(fraction=DATA["seen"] / 7)
    if "missing_protected" in options:
        rows["pregnant"] = [None, None, *rows["pregnant"][2:]]
    options = {"weights": "seen", **options}
    audit = pu.audit(PROGRAM, rows, "pregnant", 0.2, 0.02, **options)
    result = verify(certify(audit), PROGRAM, rows, accept=["weak-sampling"])
    assert result.ok, str(result)
    unweighted = {**options, "weights": None if options["weights"] else "seen"}
    other = pu.audit(PROGRAM, rows, "pregnant", 0.2, 0.02, **unweighted)
    content = certify(other).content
    assert not verify(forged(certify(audit).content, data=content["data"]), PROGRAM, rows).ok


def test_sampling_is_stated():
    text = str(checked(certify(audited(sampling=pu.Sampling(0.05))), oracle=None))
    assert "influence is an estimate" in text
    shuffled = DATA.sample(frac=1, random_state=0)
    result = checked(certify(audited(sampling=pu.Sampling(0.1))), data=shuffled, oracle=None)
    assert not result.ok
    assert "rows must be in the same order" in str(result)


def test_a_custom_measure_must_be_passed():
    certificate = certify(audited(association=Halved()))
    result = checked(certificate, oracle=None)
    assert not result.ok
    assert "association: the certificate uses" in str(result)
    again = checked(certificate, oracle=None, association=Halved())
    assert again.ok
    assert "only its name was compared" in str(again)


def test_values_that_are_not_columns_must_be_passed():
    faith = (DATA["pregnant"] == "yes").to_numpy()
    audit = pu.audit(PROGRAM, DATA, {"faith": faith}, weights=DATA["seen"])
    certificate = certify(audit)
    assert not verify(certificate, PROGRAM, DATA).ok
    assert not verify(certificate, PROGRAM, DATA, protected={"faith": faith}).ok
    both: dict[str, Any] = {"protected": {"faith": faith}, "weights": DATA["seen"]}
    assert verify(certificate, PROGRAM, DATA, **both).ok
    assert verify(certificate, PROGRAM, DATA.assign(faith=faith), weights=DATA["seen"]).ok


def test_the_program_before_a_repair_can_be_verified():
    assert checked(CERTIFICATE, original=PROGRAM).ok
    result = checked(CERTIFICATE, original=pu.Program.parse("age"))
    assert [check.name for check in result.checks if not check.ok] == ["original"]
    assert not checked(certify(AUDIT), oracle=None, original=PROGRAM).ok


def test_verification_can_be_canceled():
    with pytest.raises(pu.Canceled):
        checked(CERTIFICATE, progress=lambda progress: False)


@pytest.mark.parametrize("options", [{"sample": -1}, {"seed": 0.5}, {"sample": True}], ids=str)
def test_wrong_arguments_are_refused(options):
    with pytest.raises(pu.DataError, match="expected an integer of at least"):
        checked(CERTIFICATE, **options)
    with pytest.raises(pu.DataError, match="path of its file, got int"):
        checked(3)
