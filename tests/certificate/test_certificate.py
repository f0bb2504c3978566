"""A certificate says what an audit found; a change of it, the program or the rows is found."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jsonschema
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import asdict
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.certificate import reference_check as naive_check
from proxyuse.certificate.certificate import Certificate, certify, schema
from proxyuse.certificate.pareto import pareto_front
from proxyuse.certificate.reference_check import remeasured
from proxyuse.certificate.verification import Verification, verify
from proxyuse.detect import forest_terms
from proxyuse.hashes import content_hash, program_hash
from proxyuse.io.json_schema import KEYWORDS

# The certificate

PROGRAM = pu.Program.parse(
    "ite(vitamins == 1 and town in {'A', 'B'}, ite(height + age <= 200, 'x', 'y'), 'z')"
)
generator = np.random.default_rng(5)
N = 48
DATA = pd.DataFrame({"pregnant": ["yes", "no"] * (N // 2), "seen": [1, 2, 3, 1] * (N // 4)})
DATA["vitamins"] = np.where(generator.random(N) < 0.1, 0, DATA["pregnant"] == "yes") * 1
TOWNS = np.array(["A", "B", "C", None])
DATA["town"] = generator.choice(TOWNS, N, p=[0.4, 0.3, 0.2, 0.1])
DATA["height"] = generator.choice([150.0, 160.0, 170.0, np.nan], N)
DATA["age"] = generator.integers(20, 50, N)
DATA["old"] = DATA["age"] > 35


def allowed(witness):
    if witness.size == 1:
        return pu.Judgment(True, "a variable by itself", "rule 'bare'")
    return None


def all_allowed(witness):
    return pu.Judgment(True, "sold to all", "rule 'shop'")


def audited(**options):
    options = {
        "epsilon": 0.2, "delta": 0.05, "weights": "seen", "max_support": 20, "bins": 8, **options,
    }  # fmt: skip
    return pu.audit(PROGRAM, DATA, ["pregnant", "old"], **options)


AUDIT = audited()
CERTIFICATE = certify(
    AUDIT,
    all_allowed,
    {"original_program_hash": program_hash(PROGRAM), "steps": [{"cost": 0.5}]},
    date="2030-01-02",
)


def forged(content, **changes):
    """Another content with the hash that belongs to it."""
    new = {**content, **changes}
    return {**new, "hash": content_hash(new)}


def checked(content, *, program=PROGRAM, data=DATA, oracle=all_allowed, **options) -> Verification:
    return verify(content, program, data, oracle=oracle, **options)


def test_a_certificate_is_verified():
    found = checked(CERTIFICATE)
    assert found.ok, str(found)
    assert str(found).startswith("Verified.")
    assert [check.name for check in found.checks][-1] == "definition"
    assert f"{len(AUDIT.decompositions)} of {len(AUDIT.decompositions)}" in found.checks[-1].message
    assert found.hash == CERTIFICATE.hash in str(CERTIFICATE)


def test_the_content_fits_the_published_schema():
    jsonschema.validate(CERTIFICATE.content, schema())
    jsonschema.Draft202012Validator.check_schema(schema())


def test_the_schema_uses_only_what_the_small_check_knows():
    def keywords(part):
        for name, value in part.items():
            yield name
            inner = value.values() if name in ("properties", "$defs") else [value]
            inner = value if name == "anyOf" else inner
            for one in inner:
                if isinstance(one, dict):
                    yield from keywords(one)

    assert set(keywords(schema())) <= KEYWORDS


def test_it_says_what_the_audit_found():
    content = CERTIFICATE.content
    assert content["decompositions"] == len(AUDIT.decompositions)
    assert [w["id"] for w in content["witnesses"]] == [w.id for w in AUDIT.witnesses]
    assert content["witnesses"][0]["association"] == AUDIT.witnesses[0].association
    assert content["violations"] == 0
    assert pu.Program.parse(content["program"]["text"]) == AUDIT.program
    assert certify(AUDIT).violations == len(AUDIT.witnesses) > 0
    assert certify(AUDIT, allowed).violations == len(AUDIT.violations(allowed))
    assert content["data"]["columns"] == sorted(DATA.columns)


def test_it_holds_no_values_of_the_data_but_those_of_the_program():
    data = DATA.assign(town=DATA["town"].replace({"C": "Secretville"}))
    text = certify(pu.audit(PROGRAM, data, "pregnant")).to_json()
    assert "Secretville" not in text
    assert '"yes"' not in text


def test_the_same_audit_gives_the_same_bytes_in_another_process(tmp_path):
    CERTIFICATE.save(tmp_path / "a.json")
    DATA.to_parquet(tmp_path / "d.parquet")
    script = """
import sys, pandas as pd, proxyuse as pu
from tests.certificate.test_certificate import *
print(certify(audited(), all_allowed, CERTIFICATE.content["repaired"], date="2030-01-02").hash)
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout.strip() == CERTIFICATE.hash
    assert Certificate.read(tmp_path / "a.json") == CERTIFICATE
    assert (tmp_path / "a.json").read_text(encoding="utf-8") == CERTIFICATE.to_json()
    assert checked(tmp_path / "a.json").ok
    assert checked(str(tmp_path / "a.json"), data=pd.read_parquet(tmp_path / "d.parquet")).ok


# Every change is found

STATED = ("proxyuse", "date", "repaired.")
"""Entries that nobody can find out again; their change shows in the hash only."""
STILL_TRUE = {
    "settings.missing_protected",  # none is missing
    "settings.max_support",  # nothing has a length between the two
    "settings.all_sets",  # no term is repeated
    "settings.budget.subsets",  # nothing is so large
    "settings.budget.search",
    "settings.budget.grow",
    "settings.budget.occurrences",
    "settings.budget.positions",  # the program is smaller than both
    "settings.exact",  # nothing is drawn
    "settings.opaque",  # a program has nothing to translate
}
"""Entries whose change makes another claim, which is as true."""


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


def replaced(content, path, value):
    new = copy.deepcopy(content)
    inner = new
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return new


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
    found = checked(forged(content))
    assert found.ok is (named.startswith(STATED) or named in STILL_TRUE)


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
def test_a_setting_that_matters_is_asked_for_again(name, value):
    check_setting_matters(REPEATED, name, value)


@pytest.mark.parametrize(("name", "value"), [("budget", asdict(pu.Budget())), ("measure", "all")])
def test_what_a_bound_settled_is_asked_for_again(name, value):
    check_setting_matters(REPEATED, name, value, budget=pu.Budget(positions=0))


def test_an_exact_influence_is_asked_for_again(monkeypatch):
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
    found = checked(forged(content, settings={**content["settings"], **thresholds}))
    assert not found.ok
    assert "claim" in str(found)


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
def test_what_is_left_out_or_put_in_is_found(change):
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
    found = checked(CERTIFICATE, data=data)
    assert not found.ok
    failed = {check.name for check in found.checks if not check.ok}
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
    found = checked(CERTIFICATE, program=pu.Program.parse(text.replace(old, new)))
    assert not found.ok
    assert "not the same program" in str(found)
    assert {check.ok for check in found.checks if check.name == "witnesses"} == {None}
    assert "not checked  witnesses" in str(found)
    assert "FAIL         witnesses" not in str(found)


def test_the_order_of_operands_may_be_another():
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


# Who judged


def test_judgments_are_not_believed():
    found = checked(CERTIFICATE, oracle=None)
    assert not found.ok
    assert [check.name for check in found.checks if not check.ok] == ["judgments"]
    assert "not checked  judgments" in str(found)
    assert "FAIL" not in str(found)


def test_without_judgments_nobody_needs_to_be_asked():
    assert checked(certify(AUDIT), oracle=None).ok
    clean = certify(audited(epsilon=1.0), all_allowed)
    assert clean.violations == 0 == len(clean.content["witnesses"])
    assert checked(clean, oracle=None).ok


def test_an_oracle_that_was_not_there_is_not_asked():
    found = checked(certify(AUDIT), oracle=all_allowed)
    assert found.ok
    assert "oracle: not needed" in str(found)


@pytest.mark.parametrize(
    "oracle",
    [allowed, lambda witness: pu.Judgment(True, "another reason", "rule 'shop'"),
     lambda witness: pu.Judgment(False, "sold to all", "rule 'shop'")],
)  # fmt: skip
def test_another_oracle_is_found(oracle):
    found = checked(CERTIFICATE, oracle=oracle)
    assert [check.name for check in found.checks if not check.ok] == ["judgments"]


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
def test_options_are_kept(options):
    rows = DATA.assign(fraction=DATA["seen"] / 7)
    if "missing_protected" in options:
        rows["pregnant"] = [None, None, *rows["pregnant"][2:]]
    options = {"weights": "seen", **options}
    audit = pu.audit(PROGRAM, rows, "pregnant", 0.2, 0.02, **options)
    result = verify(certify(audit), PROGRAM, rows)
    assert result.ok, str(result)
    unweighted = {**options, "weights": None if options["weights"] else "seen"}
    other = pu.audit(PROGRAM, rows, "pregnant", 0.2, 0.02, **unweighted)
    content = certify(other).content
    assert not verify(forged(certify(audit).content, data=content["data"]), PROGRAM, rows).ok


def test_what_is_sampled_or_left_out_is_said():
    printed = str(checked(certify(audited(sampling=pu.Sampling(0.05))), oracle=None))
    assert "influence is an estimate" in printed
    shuffled = DATA.sample(frac=1, random_state=0)
    found = checked(certify(audited(sampling=pu.Sampling(0.1))), data=shuffled, oracle=None)
    assert not found.ok
    assert "rows must be in the same order" in str(found)


def test_a_measure_of_ones_own_has_to_be_given():
    certificate = certify(audited(association=Halved()))
    found = checked(certificate, oracle=None)
    assert not found.ok
    assert "association: the certificate uses" in str(found)
    again = checked(certificate, oracle=None, association=Halved())
    assert again.ok
    assert "only its name was compared" in str(again)


def test_values_beside_the_data_are_given_again():
    faith = (DATA["pregnant"] == "yes").to_numpy()
    audit = pu.audit(PROGRAM, DATA, {"faith": faith}, weights=DATA["seen"])
    certificate = certify(audit)
    assert not verify(certificate, PROGRAM, DATA).ok
    assert not verify(certificate, PROGRAM, DATA, protected={"faith": faith}).ok
    both: dict[str, Any] = {"protected": {"faith": faith}, "weights": DATA["seen"]}
    assert verify(certificate, PROGRAM, DATA, **both).ok
    assert verify(certificate, PROGRAM, DATA.assign(faith=faith), weights=DATA["seen"]).ok


def test_the_program_before_a_repair_can_be_checked():
    assert checked(CERTIFICATE, original=PROGRAM).ok
    found = checked(CERTIFICATE, original=pu.Program.parse("age"))
    assert [check.name for check in found.checks if not check.ok] == ["original"]
    assert not checked(certify(AUDIT), oracle=None, original=PROGRAM).ok


# The definition


def counted(audit, **options):
    options = {"sample": 5, "seed": 1, "everything": False, **options}
    return remeasured(
        audit, [], pu.NormalizedMutualInformation(), pu.QuantitativeInputInfluence(),
        tick=lambda steps: None, **options,
    )  # fmt: skip


@pytest.mark.parametrize("what", ["influences", "associations"])
@pytest.mark.parametrize("index", range(len(AUDIT.decompositions)))
def test_a_measure_that_is_not_that_of_the_definition_is_found(index, what):
    audit = audited()
    assert not counted(audit).differences
    values = getattr(audit.decompositions, what)
    values[index] += 1e-9
    assert len(counted(audit).differences) == (1 if what == "influences" else 2)


def test_a_sample_is_drawn_where_there_is_much(monkeypatch):
    monkeypatch.setattr(naive_check, "SMALL", 10)
    assert counted(AUDIT).drawn == 5
    assert counted(AUDIT, everything=True).drawn == len(AUDIT.decompositions)
    found = checked(CERTIFICATE, sample=0)
    strongest = {pair["id"] for pair in CERTIFICATE.content["front"]}
    always = len(strongest | {w.id for w in AUDIT.witnesses})
    assert f"{always} of {len(AUDIT.decompositions)} decompositions" in found.checks[-1].message
    monkeypatch.setattr(naive_check, "MAX_COST", 20_000)
    assert 0 < counted(AUDIT, sample=100).costly < len(AUDIT.decompositions)
    assert counted(AUDIT, everything=True).costly == 0
    monkeypatch.setattr(naive_check, "MAX_VALUES", 20 * AUDIT.program.size)
    assert counted(AUDIT) == replace(counted(AUDIT), rows=20, differences=())
    assert counted(AUDIT, everything=True).rows == N


def test_it_can_be_canceled():
    with pytest.raises(pu.Canceled):
        checked(CERTIFICATE, progress=lambda progress: False)


@pytest.mark.parametrize("options", [{"sample": -1}, {"seed": 0.5}, {"sample": True}], ids=str)
def test_wrong_use_is_refused(options):
    with pytest.raises(pu.DataError, match="expected an integer of at least"):
        checked(CERTIFICATE, **options)
    with pytest.raises(pu.DataError, match="path of its file, got int"):
        checked(3)


# The front

PAIRS = st.lists(
    st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 0.5 + 1e-16, 0.75, 1.0])] * 2), max_size=12
)


@given(PAIRS)
def test_the_front_is_what_no_other_pair_reaches(pairs):
    found = pareto_front(
        np.array([a for a, _ in pairs], dtype=float), np.array([i for _, i in pairs], dtype=float)
    )
    rounded = [(round(a, 6), round(i, 6)) for a, i in pairs]
    best = {
        (a, i)
        for a, i in rounded
        if not any(a <= b and i <= j and (a, i) != (b, j) for b, j in rounded)
    }
    assert [rounded[index] for index in found] == sorted(best, reverse=True)
    assert found == [rounded.index(rounded[index]) for index in found]


# Files of strangers


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not JSON"),
        (b"\xff\xfe\x00", "not "),
        (b"[1]", "not a certificate"),
        (b'{"format": "proxyuse audit"}', "not a certificate"),
        (b'{"format": "proxyuse certificate", "version": 2}', "upgrade proxyuse"),
        (b'{"format": "proxyuse certificate", "version": 1}', "proxyuse is missing"),
        (b'{"a": 1, "a": 2}', "has an entry twice"),
        (b'{"a": NaN}', "not a finite number"),
        (b'{"a": 1e999}', "not a finite number"),
        (b"[" * 100_000, "nested too deeply"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not a certificate"),
    ],
)
def test_strange_files_are_refused(content, message, tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(pu.FileError, match=message):
        Certificate.read(path)


@pytest.mark.parametrize(
    ("path", "new", "message"),
    [
        (("settings", "budget", "subsets"), 10**12, "at most"),
        (("settings", "sampling"), {"alpha": 1e-9, "beta": 0.5, "seed": 0}, "at least"),
        (("settings", "bins"), 10**9, "at most"),
        (("settings", "decision"), {"kind": "magic", "k": 1}, "decision: Invalid value 'magic'"),
        (("settings", "epsilon"), "0.1", "epsilon: expected number"),
        (("settings", "bins"), "8", "settings: bins: expected an integer of at least 1"),
        (("witnesses", 0, "positions"), [], "1 or more"),
        (("program", "text"), None, "text: expected string"),
        (("protected"), [], "1 or more"),
        (("program", "text"), "((((", "not the same program"),
        (("settings", "decision"), {"kind": "top", "k": None}, "decision: Expected `int`"),
    ],
)
def test_strange_contents_are_told(path, new, message):
    path = (path,) if isinstance(path, str) else path
    found = checked(forged(replaced(CERTIFICATE.content, path, new)))
    if message is not None:
        assert not found.ok
        assert message in str(found)


def test_a_large_file_and_a_missing_one_are_refused(tmp_path, monkeypatch):
    with pytest.raises(pu.FileError, match="does not exist"):
        verify(tmp_path / "none.json", PROGRAM, DATA)
    monkeypatch.setattr("proxyuse.certificate.certificate.MAX_BYTES", 100)
    with pytest.raises(pu.FileError, match="too large"):
        Certificate.read(CERTIFICATE.save(tmp_path / "a.json"))


@pytest.mark.parametrize("repaired", [{"a": {1, 2}}, {"a": float("nan")}, {"a": b"x"}], ids=str)
def test_what_json_cannot_hold_is_refused(repaired):
    with pytest.raises(pu.DataError, match="cannot be written as JSON"):
        certify(AUDIT, None, repaired)


def test_a_mapping_with_what_json_cannot_hold_is_told():
    content = {**CERTIFICATE.content, "repaired": {"a": {1, 2}}}
    assert "values that JSON does not allow" in str(checked(content))


def test_half_a_character_survives(tmp_path):
    certificate = certify(AUDIT, None, {"note": "\ud800"})
    assert Certificate.read(certificate.save(tmp_path / "a.json")).hash == certificate.hash
    assert json.loads(certificate.to_json())["hash"] == certificate.hash
