"""A certificate file is written from its types and read by them."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.certificate.certificate import FORMAT, Certificate
from proxyuse.verification.certify import certify
from proxyuse.verification.verify import verify
from scripts.make_schemas import FOLDER
from tests.certified import AUDIT, CERTIFICATE, DATA, PROGRAM, checked, forged, replaced

TREE = DecisionTreeClassifier(max_depth=2).fit(DATA[["age", "vitamins"]], DATA["pregnant"])
CONTENT = CERTIFICATE.content
SCHEMA = json.loads(FOLDER.joinpath("certificate.schema.json").read_text("utf-8"))
MARKED = b'{"format": "proxyuse certificate", "version": 1, '


def mismatch(path, value) -> str:
    """The error for a certificate with another value at one path."""
    with pytest.raises(pu.DataError) as error:
        Certificate.from_content(forged(replaced(CONTENT, path, value)))
    message = str(error.value)
    start, end = "not a certificate: ", "; ask the author for a new copy"
    assert message.startswith(start)
    assert message.endswith(end)
    return message.removeprefix(start).removesuffix(end)


# Writing


def test_a_certificate_is_read_as_it_was_written(tmp_path):
    assert Certificate.read(CERTIFICATE.save(tmp_path / "a.json")) == CERTIFICATE
    assert Certificate.from_content(CONTENT) == CERTIFICATE
    assert json.loads(CERTIFICATE.to_json()) == CONTENT


@pytest.mark.parametrize("decision", [None, pu.Threshold(1, "yes"), pu.Positive(2), pu.TopK(3)])
@pytest.mark.parametrize("sampling", [None, pu.Sampling(0.1)])
def test_a_certificate_fits_the_published_schema(decision, sampling):
    settings = replace(CERTIFICATE.settings, decision=decision, sampling=sampling)
    certificate = replace(CERTIFICATE, settings=settings)
    jsonschema.validate(certificate.content, SCHEMA)
    assert Certificate.from_content(certificate.content) == certificate


def test_a_lone_surrogate_survives(tmp_path):
    certificate = certify(AUDIT, None, {"note": "\ud800"})
    assert Certificate.read(certificate.save(tmp_path / "a.json")).hash == certificate.hash
    assert json.loads(certificate.to_json())["hash"] == certificate.hash


# Files of strangers


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"not JSON \("),
        (b"\xff\xfe\x00", "not "),
        (b"[1]", 'no "format": "proxyuse certificate"'),
        (b'{"format": "proxyuse audit"}', 'no "format": "proxyuse certificate"'),
        (b'{"format": "proxyuse certificate", "version": 2}', "up to version 1; upgrade proxyuse"),
        (MARKED + b'"a": 1}', "a: unknown key"),
        (MARKED + b'"date": null}', "missing key 'proxyuse'"),
        (MARKED + b'"date": "1", "date": "2"}', 'duplicate key "date"'),
        (MARKED + b'"violations": NaN}', "NaN is not a finite number"),
        (MARKED + b'"violations": -Infinity}', "-Infinity is not a finite number"),
        (MARKED + b'"violations": 1e999}', "1e999 is not a finite number"),
        (MARKED + b'"violations": ' + b"9" * 5000 + b"}", "not a certificate: .*digits"),
        (b"[" * 100_000, "levels, more than the limit `json_depth`"),
        (MARKED + b'"repaired": ' + b'{"a":' * 300 + b"1" + b"}" * 301, "levels, more than"),
    ],
)
def test_a_file_that_is_not_a_certificate_is_refused(content, message, tmp_path):
    path = tmp_path / "a.json"
    path.write_bytes(content)
    with pytest.raises(pu.FileError, match=rf"a\.json: .*{message}"):
        Certificate.read(path)


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("version",), 0, "version: expected 1, got 0"),
        (("violations",), 1.5, "violations: expected an integer of 0 or more, got 1.5"),
        (("judged",), 1, "judged: expected true or false, got 1"),
        (("date",), 2030, "date: expected text or nothing, got 2030; put it in quotes"),
        (("program", "text"), None, "program.text: expected text, got nothing"),
        (("program", "hash"), "ABC", 'program.hash: expected 64 hexadecimal digits, got "ABC"'),
        (("program",), [], "program: expected a mapping with the keys hash, size, text, got an "
         "empty list"),
        (("data", "total_weight"), 10**400, "data.total_weight: expected a number of 0 or more, "
         f"got 1{56 * '0'}..."),
        (("protected",), [], "protected: expected a list with at least one item, got an empty "
         "list"),
        (("witnesses", 0, "positions"), [], "witnesses[0].positions: expected a list with at least "
         "one item, got an empty list"),
        (("witnesses", 1, "judgment", "reason"), 3, "witnesses[1].judgment.reason: expected text, "
         "got 3; put it in quotes"),
        (("witnesses", 0, "judgment", "why"), "", "witnesses[0].judgment.why: unknown key; use one "
         "of appropriate, reason, by"),
        (("witness",), [], "witness: unknown key; did you mean 'witnesses'?"),
        (("settings", "epsilon"), "0.1", 'settings.epsilon: expected a number from 0 to 1, got '
         '"0.1"; remove the quotes'),
        (("settings", "bin"), 8, "settings.bin: unknown key; did you mean 'bins'?"),
        (("settings", "bins"), 10**9, "settings.bins: expected at most 1,048,576, got "
         "1,000,000,000"),
        (("settings", "budget"), {"subsets": 1}, "settings.budget: missing key 'search'"),
        (("settings", "budget", "subsets"), 10**12, "settings.budget.subsets: expected at most "
         "16,777,216, got 1,000,000,000,000"),
        (("settings", "sampling"), {"alpha": 1.5, "beta": 0.5, "seed": 0},
         "settings.sampling.alpha: expected a number above 0 and below 1, got 1.5"),
        (("settings", "sampling"), {"alpha": 1e-9, "beta": 0.5, "seed": 0},
         "settings.sampling.alpha: expected at least 0.0002, got 1e-09"),
        (("settings", "measure"), "need", 'settings.measure: expected all or needed, got "need"; '
         "did you mean 'needed'?"),
        (("settings", "decision"), 3, "settings.decision: expected a mapping with the key kind or "
         "nothing, got 3"),
        (("settings", "decision"), {"k": 1}, "settings.decision: missing key 'kind'"),
        (("settings", "decision"), {"kind": "magic", "k": 1}, "settings.decision.kind: expected "
         'threshold or positive or top, got "magic"'),
        (("settings", "decision"), {"kind": "top", "k": None, "positive": 1},
         "settings.decision.k: expected an integer, got nothing"),
        (("settings", "decision"), {"kind": "top", "k": 1}, "settings.decision: missing key "
         "'positive'"),
        (("settings", "decision"), {"kind": "top", "k": 1, "label": 2}, "settings.decision.label: "
         "unknown key; use one of kind, k, positive"),
    ],
    ids=str,
)  # fmt: skip
def test_an_error_names_the_path_and_what_was_expected(path, value, message):
    assert mismatch(path, value) == message


SETTINGS = [("settings", name) for name in CONTENT["settings"]]


@pytest.mark.parametrize("path", [*((name,) for name in CONTENT), *SETTINGS], ids=".".join)
def test_every_key_is_required(path):
    content = replaced(CONTENT, path, None)
    inner = content
    for name in path[:-1]:
        inner = inner[name]
    del inner[path[-1]]
    missing = f"missing key '{path[-1]}'" if path != ("format",) else 'no "format"'
    with pytest.raises(pu.DataError, match=missing):
        Certificate.from_content(content)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(content, SCHEMA)


def paths(value, path=()):
    yield path
    items = value.items() if isinstance(value, dict) else ()
    for key, inner in enumerate(value) if isinstance(value, list) else items:
        yield from paths(inner, (*path, key))


JUNK: tuple[Any, ...] = (
    None, True, -1, 0, 1, 2.5, -0.0, 1e308, 10**30, 10**400, "", "x", "0" * 64, "\ud800",
    "\x1b[31m", [], [1], {}, {"a": 1}, {"kind": "top"},
    {"kind": "threshold", "probability": 10**400},
    {"kind": "top", "k": 10**30, "positive": [1]}, {"kind": "positive", "label": {"a": [10**400]}},
    [[[[]]]], {1: 2}, {None: 0},
)  # fmt: skip


@given(st.sampled_from([path for path in paths(CONTENT) if path]), st.sampled_from(JUNK))
@example(("settings", "decision"), {"kind": "positive", "label": {"a": [10**400]}})
@example(("settings", "decision"), {"kind": "top", "k": 10**30, "positive": [1]})
@example(("settings", "sampling"), {"alpha": 0.01, "beta": 0.5, "seed": 10**400})
@example(("data", "rows"), 10**400)
@example(("settings", "max_support"), 10**400)
def test_junk_is_refused_or_contradicted_but_never_a_crash(path, junk):
    content = forged(replaced(CONTENT, path, junk))
    str(checked(content))
    str(verify(content, TREE, DATA))


def test_large_and_missing_files_are_refused(tmp_path):
    with pytest.raises(pu.FileError, match="does not exist"):
        verify(tmp_path / "none.json", PROGRAM, DATA)
    path = CERTIFICATE.save(tmp_path / "a.json")
    with pu.limits(certificate_bytes=100), pytest.raises(pu.LimitExceeded) as error:
        FORMAT.read(path)
    assert error.value.limit == "certificate_bytes"


@pytest.mark.parametrize("repaired", [{"a": {1, 2}}, {"a": float("nan")}, {"a": b"x"}], ids=str)
def test_values_that_json_cannot_hold_are_refused(repaired):
    with pytest.raises(pu.DataError, match="cannot be written as JSON"):
        certify(AUDIT, None, repaired)


def test_a_mapping_with_values_that_json_cannot_hold_is_refused():
    content = {**CONTENT, "repaired": {"a": {1, 2}}}
    assert "values that JSON does not allow" in str(checked(content))
