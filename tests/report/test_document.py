"""A document holds what a later reader needs, fits its schema, and tells of no one."""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Literal

import jsonschema
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.errors import DataError, FileError
from proxyuse.measure.association.ceilings import ceiling
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.report.document import document
from proxyuse.report.saved import as_text, read_document
from tests.documents import plain, schema


def people(n_rows=400, seed=0):
    random = np.random.default_rng(seed)
    z = random.random(n_rows) < 0.4
    return pd.DataFrame(
        {
            "a": z + random.normal(0, 0.4, n_rows),
            "b": random.normal(0, 1, n_rows).round(1),
            "c": random.integers(0, 4, n_rows).astype(float),
            "z": z,
            "other": random.choice(["x", "y"], n_rows),
        }
    )


def fitted(model, frame):
    X = frame[["a", "b", "c"]]
    return model.fit(X, X["a"] + 0.3 * X["b"] > 0.5)


@cache
def example(kind="tree", **options):
    frame = people()
    models = {
        "tree": DecisionTreeClassifier(max_depth=3, random_state=0),
        "forest": RandomForestClassifier(n_estimators=5, max_depth=3, random_state=0),
        "linear": LogisticRegression(),
    }
    return pu.audit(fitted(models[kind], frame), frame, ["z", "other"], **options)


EXAMPLES: dict[str, dict[str, Any]] = {
    "tree": {"kind": "tree"},
    "forest": {"kind": "forest", "epsilon": 0.05, "delta": 0.01},
    "linear": {"kind": "linear"},
    "nothing": {"kind": "tree", "epsilon": 1},
    "needed only": {"kind": "tree", "epsilon": 0.9, "budget": pu.Budget(positions=0)},
    "unsettled": {"kind": "tree", "epsilon": 0.9, "variables": False},
    "squared": {"kind": "tree", "influence": pu.SquaredChange(), "epsilon": 0.05},
    "sampled": {"kind": "tree", "sampling": pu.Sampling(0.05)},
    "all": {"kind": "tree", "epsilon": 0, "delta": 0},
}


@pytest.fixture(params=EXAMPLES)
def audit(request):
    return example(**EXAMPLES[request.param])


@pytest.mark.parametrize("min_cell", [1, 60])
def test_documents_fit_the_published_schema(audit, min_cell):
    result = document(audit, about={"model": {"file": "m.skops"}}, min_cell=min_cell)
    jsonschema.Draft202012Validator.check_schema(schema("audit"))
    jsonschema.validate(plain(result), schema("audit"))


def test_the_same_audit_gives_the_same_bytes_and_reads_back(audit, tmp_path):
    text = as_text(document(audit))
    assert text == as_text(document(audit))
    file = tmp_path / "audit.json"
    file.write_text(text, encoding="utf-8")
    assert as_text(read_document(file)) == text


def test_half_a_character_can_be_written(tmp_path):
    file = tmp_path / "audit.json"
    file.write_text(as_text(document(example(), about={"file": "m\udc80é"})), encoding="utf-8")
    assert read_document(file).about == {"file": "m\udc80é"}


def test_witnesses_are_those_of_the_audit(audit):
    result = document(audit, min_cell=1)
    assert [(w.protected, w.id, w.term) for w in result.witnesses] == [
        (w.protected, w.id, w.term) for w in audit.witnesses
    ]
    for entry, witness in zip(result.witnesses, audit.witnesses, strict=True):
        assert entry.association == pytest.approx(witness.association, abs=1e-4)
        assert entry.influence == pytest.approx(witness.influence, abs=1e-4)
        assert entry.association <= (entry.ceiling or 0) + 1e-4
        assert entry.variables
    assert sum(group.witnesses for group in result.groups) == len(audit.witnesses)
    assert result.decompositions == len(audit.decompositions)


def test_a_group_names_its_innermost_and_its_strongest():
    result = document(example("forest", epsilon=0.05, delta=0.01))
    by_id = {(w.protected, w.id): w for w in result.witnesses}
    assert result.groups
    for group in result.groups:
        members = [
            w for w in result.witnesses if (w.protected, w.group) == (group.protected, group.group)
        ]
        front = by_id[group.protected, group.representative]
        strongest = by_id[group.protected, group.strongest]
        assert front.size == min(w.size for w in members)
        assert strongest.association == max(w.association for w in members)


@pytest.mark.parametrize(
    ("options", "verdict"),
    [
        ("tree", "confirmed"),
        ("nothing", "not found"),
        ("unsettled", "cannot be decided"),
    ],
)
def test_the_verdict_in_a_word(options, verdict):
    audit = example(**EXAMPLES[options])
    assert document(audit).verdict == audit.verdict == verdict


def test_what_is_not_settled_is_listed_once():
    result = document(example(**EXAMPLES["unsettled"]))
    assert not result.complete
    assert result.unsettled.count == len(result.unsettled.listed) > 0
    assert all(note.kind != "unsettled" for note in result.notes)


def test_where_nothing_is_found_the_nearest_are_told():
    result = document(example(**EXAMPLES["nothing"]), min_cell=1)
    near = [n for n in result.nearest if n.protected == "z"]
    assert len(near) == 5
    assert len({n.term for n in near}) == 5
    strongest = max(d.associations["z"] for d in example(**EXAMPLES["nothing"]).decompositions)
    assert near[0].association == pytest.approx(strongest, abs=1e-4)
    assert near[0].association_short_by == pytest.approx(1 - strongest, abs=1e-4)
    assert near[0].influence_short_by == 0


def test_of_computations_that_read_the_same_one_is_nearest():
    rng = np.random.default_rng(0)
    data = {"x": rng.integers(0, 9, 200), "y": rng.integers(0, 9, 200), "z": [0, 1] * 100}
    program = pu.Program.parse("ite(fill(x, 3.5) <= 4, ite(y <= 4, 0, 1), 1)")
    readings = [near.reading for near in document(pu.audit(program, data, "z")).nearest]
    assert "x" in readings
    assert len(readings) == len(set(readings)) == 5


def test_attributes_with_witnesses_have_no_nearest():
    result = document(example())
    assert {w.protected for w in result.witnesses} == {"z"}
    assert {n.protected for n in result.nearest} == {"other"}


def test_each_variable_and_the_output_are_there_to_compare_with():
    audit = example()
    found = document(audit, min_cell=1).references
    names = [(r.protected, r.kind, r.name) for r in found]
    one = [("variable", name) for name in audit.program.variables] + [("output", None)]
    assert names == [(z, *rest) for z in ("z", "other") for rest in one]
    root = next(d for d in audit.decompositions if str(d.positions[0]) == "root")
    output = next(r for r in found if r.kind == "output" and r.protected == "z")
    assert output.association == pytest.approx(root.associations["z"], abs=1e-4)


def test_variables_that_were_not_measured_are_said_to_be():
    found = document(example(**EXAMPLES["unsettled"])).references
    assert all(r.association is None for r in found if r.kind == "variable")


def test_where_a_computation_came_from_is_told():
    found = document(example()).witnesses
    assert "DecisionTreeClassifier, tree 0, node 0" in found[0].origins


def test_explicit_use_is_told():
    data = {"sex": ["f", "m"] * 20, "x": range(40)}
    result = document(pu.audit(pu.Program.parse("ite(sex == 'f', 0, 1)"), data, "sex"))
    assert result.protected[0].read_by_model
    assert [w.explicit for w in result.witnesses if w.term == "sex"] == [True]


def test_a_long_computation_is_cut():
    words = ", ".join(f"'{'word' * 10}{i}'" for i in range(200))
    data = {"x": ["a", f"{'word' * 10}7"] * 20, "z": [0, 1] * 20}
    result = document(pu.audit(pu.Program.parse(f"ite(x in {{{words}}}, 0, 1)"), data, "z"))
    cut = {len(w.term): w.term_cut for w in result.witnesses}
    assert cut[4000]
    assert not cut[len("x")]


def test_a_constant_program_has_a_document():
    data = {"x": [1, 2], "z": [0, 1]}
    result = document(pu.audit(pu.Program.parse("1"), data, "z", validity=None))
    jsonschema.validate(plain(result), schema("audit"))
    assert result.verdict is pu.Verdict.NOT_FOUND


# Nothing of anyone

HOW: tuple[Literal["drop", "category"], ...] = ("drop", "category")


def test_no_small_count_is_in_the_notes():
    data = {"x": [0, 1] * 20, "z": [None, None, *["a", "b"] * 19], "w": [1] * 38 + [0, 1]}
    for how in HOW:
        audit = pu.audit(pu.Program.parse("x"), data, "z", weights="w", missing_protected=how)
        notes = [note.text for note in document(audit).notes]
        assert notes[0] == "Dropped fewer than 5 rows of weight 0."
        assert not any("2 rows" in note for note in notes)
        assert any("2 rows" in n.text for n in document(audit, min_cell=1).notes)


def test_a_rare_protected_value_is_not_named():
    data = {"x": [0, 1] * 20, "z": ["rare", "rare", *["a"] * 19, *["b"] * 19]}
    result = document(pu.audit(pu.Program.parse("x"), data, "z", 0, 0))
    assert "rare" not in as_text(result)
    assert [v.rows for v in result.protected[0].values] == [19, 21]


def test_reach_tells_of_no_few_rows():
    data = {"x": [0] * 997 + [1] * 3, "y": [0, 1] * 500, "z": [0, 1] * 500}
    result = document(pu.audit(pu.Program.parse("ite(x == 1, y, 0)"), data, "z", 0, 0))
    y = next(r for r in result.references if r.name == "y")
    assert y.reach == 0.01  # three rows of a thousand


# The ceiling


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=1, max_size=5).filter(
        lambda rows: np.sum(rows) > 0
    )
)
def test_no_association_is_above_its_ceiling(rows):
    masses = np.array(rows, dtype=float)
    assert NormalizedMutualInformation()(masses) <= ceiling(masses) + 1e-9
    assert ceiling(masses) == pytest.approx(ceiling(masses.T), abs=1e-12)


@given(st.lists(st.integers(1, 50), min_size=2, max_size=6), st.integers(1, 5))
def test_a_function_of_the_attribute_reaches_it(masses, cut):
    """Where one is determined by the other, association is as high as it can be."""
    table = np.zeros((2, len(masses)))
    for index, mass in enumerate(masses):
        table[int(index >= cut), index] = mass
    assert NormalizedMutualInformation()(table) == pytest.approx(ceiling(table), abs=1e-9)


# Files


def broken(path, value):
    """A document with one part replaced, or taken out."""
    found = plain(document(example(), thresholds=True))
    inner = found
    for step in path[:-1]:
        inner = inner[step]
    if value is KeyError:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return found


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "other", "format"),
        (["version"], 2, "upgrade"),
        (["version"], "1", "version"),
        (["witnesses"], KeyError, "missing required field witnesses"),
        (["witnesses", 0, "association"], "high", r"witnesses\[0\].association: expected float"),
        (["witnesses", 0, "association"], 7, "expected float <= 1.0"),
        (["witnesses", 0, "table", "cells"], [[1]], "lines of different lengths"),
        (["outcomes", "attributes", 0, "groups", 0, "figures"], [], "do not match their labels"),
        (["threshold_table", 0, "confirmed"], [[1]], "thresholds has lines of different lengths"),
        (["threshold_table", 0, "deltas"], [], "a table of thresholds is empty"),
        (["groups", 0, "representative"], "0", "not among the witnesses"),
        (["verdict"], "fine", "verdict: invalid enum value 'fine'"),
        (["rows"], True, "rows"),
        (["thresholds"], [], "thresholds"),
        (["protected", 0, "values", 0, "rows"], -1, "expected int >= 0"),
    ],
)
def test_what_is_not_a_document_is_refused(tmp_path, path, value, message):
    file = tmp_path / "audit.json"
    file.write_text(json.dumps(broken(path, value)))
    with pytest.raises(FileError, match=message):
        read_document(file)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[1, 2]", b"\xff\xfe\x00", b'{"format": NaN}', b"[" * 100_000, b"1e999", b"null"],
)
def test_what_is_not_json_is_refused(tmp_path, content):
    file = tmp_path / "audit.json"
    file.write_bytes(content)
    with pytest.raises(FileError, match=r"not the result of an audit|json_depth"):
        read_document(file)


def test_half_a_character_in_the_place_of_a_word_is_refused(tmp_path):
    file = tmp_path / "audit.json"
    content = json.loads(as_text(document(example())))
    for changed in ({**content, "\ud800": 1}, {**content, "verdict": "\ud800"}):
        file.write_text(json.dumps(changed))
        with pytest.raises(FileError, match="not the result of an audit"):
            read_document(file)


def test_a_missing_file_is_said_to_be(tmp_path):
    with pytest.raises(FileError, match="does not exist"):
        read_document(tmp_path / "none.json")
    with pytest.raises(FileError, match="is a folder"):
        read_document(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"verdict": "not found"}, "does not match the witnesses"),
        ({"witnesses": [], "groups": []}, "does not match the witnesses"),
        ({"protected": []}, "protected: expected array of length >= 1"),
        ({"about": {"notes": "text"}}, "about.notes"),
        ({"about": {"notes": [1]}}, "about.notes"),
    ],
    ids=str,
)
def test_a_document_that_contradicts_itself_is_refused(change, message, tmp_path):
    data = {"a": [0, 1] * 20, "z": [0, 1] * 20}
    result = document(pu.audit(pu.Program.parse("ite(a == 1, 1, 0)"), data, "z"))
    path = tmp_path / "audit.json"
    path.write_text(as_text(result))
    assert read_document(path) == result
    path.write_text(json.dumps(plain(result) | change))
    with pytest.raises(FileError, match=message):
        read_document(path)


@pytest.mark.parametrize("about", [{"a": object()}, {"a": float("nan")}, {"a": {1, 2}}])
def test_about_has_to_be_json(about):
    with pytest.raises(DataError, match="about"):
        document(example(), about=about)
