"""The columns that the picture is drawn from: what they say, and that they may stand in a page."""

from __future__ import annotations

import json
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.lang.build import rebuild
from proxyuse.lang.nodes import Associative, Const, Var, variables
from proxyuse.lang.parse import parse_term
from proxyuse.lang.positions import Points, Site, operand_choices
from proxyuse.report.document import document
from proxyuse.report.render.html.nesting import parents
from proxyuse.report.render.html.points import KINDS, MOST_TERM, as_script_text, points
from tests.constant_repairs import by_constants
from tests.strategies import terms

ROWS = 400


def people(seed: int = 0) -> dict[str, Any]:
    drawn = np.random.default_rng(seed)
    married = drawn.random(ROWS) < 0.5
    return {
        "husband": np.where(drawn.random(ROWS) < 0.9, married, ~married).astype(int),
        "age": drawn.integers(20, 60, ROWS),
        "pay": drawn.random(ROWS),
        "married": np.where(married, "yes", "no"),
        "city": drawn.choice(["north", "south"], ROWS),
    }


PROGRAM = "ite(husband == 1 and age > 30, ite(age + 9 * pay + husband > 40, 'a', 'b'), 'b')"


def audited(**options: Any) -> pu.Audit:
    program = pu.Program.parse(PROGRAM)
    return pu.audit(program, people(), ["married", "city"], epsilon=0.1, delta=0.01, **options)


def columns_of(audit: pu.Audit, **options: Any) -> dict[str, Any]:
    return points(audit, document(audit, **options))


def test_columns_have_a_value_for_every_decomposition_and_attribute():
    audit = audited()
    content = columns_of(audit)
    columns, many = content["columns"], len(audit.decompositions)
    assert content["protected"] == ["married", "city"]
    assert (content["epsilon"], content["delta"], content["after"]) == (0.1, 0.01, None)
    by_point = {"id", "term", "influence", "reach", "size", "occurrences", "kind", "variables",
                "parent"}  # fmt: skip
    for name in by_point:
        assert len(columns[name]) == many, name
    for column in (columns["association"], columns["witness"], columns["low"]["association"]):
        assert [len(part) for part in column] == [many, many]
    assert columns["id"] == [d.id for d in audit.decompositions]
    assert len(set(columns["id"])) == many


def test_figures_are_those_of_the_document():
    audit = audited(validity="confirm")
    result = document(audit)
    content = points(audit, result)
    columns = content["columns"]
    assert result.witnesses
    for witness in result.witnesses:
        assert witness.validity is not None
        z = content["protected"].index(witness.protected)
        index = columns["id"].index(witness.id)
        assert columns["witness"][z][index] == 1
        assert columns["association"][z][index] == witness.association
        assert columns["influence"][index] == witness.influence
        assert columns["reach"][index] == witness.reach
        assert columns["size"][index] == witness.size
        for end in ("low", "high"):
            bound = getattr(witness.validity, f"association_{end}")
            assert bound is not None
            assert columns[end]["association"][z][index] == bound
        assert columns["low"]["influence"][index] <= witness.validity.influence_low
        assert columns["high"]["influence"][index] >= witness.validity.influence_high
    assert sum(map(sum, columns["witness"])) == len(result.witnesses)


@pytest.mark.parametrize(("min_cell", "decimals"), [(1, 4), (5, 1), (100, 1)])
def test_reach_is_no_finer_than_in_the_document(min_cell: int, decimals: int):
    reach = columns_of(audited(), min_cell=min_cell)["columns"]["reach"]
    assert all(round(share, decimals) == share for share in reach)


def test_kinds_and_variables_say_what_a_computation_is():
    columns = columns_of(audited(all_sets=True))["columns"]
    kinds = dict(zip(columns["term"], (KINDS[kind] for kind in columns["kind"]), strict=True))
    assert kinds["age"] == "variable"
    assert kinds["husband == 1"] == kinds["husband == 1 and age > 30"] == "test"
    assert kinds["ite(age + 9 * pay + husband > 40, 'a', 'b')"] == "branch"
    assert kinds["age + 9 * pay"] == kinds["age + 9 * pay + husband"] == "sum"
    assert kinds[PROGRAM] == "whole program"
    assert kinds["9 * pay"] == "other"


def test_variables_are_those_that_are_read():
    audit = audited()
    content = columns_of(audit)
    for d, read in zip(audit.decompositions, content["columns"]["variables"], strict=True):
        assert {content["variables"][v] for v in read} == set(variables(d.expression))


def test_influence_that_was_not_needed_is_null():
    program = pu.Program.parse("ite(husband == 1, ite(age > 30, 'a', 'b'), 'b')")
    first = pu.Budget(positions=0)  # bounds first, as in a large model
    audit = pu.audit(program, people(), "married", epsilon=0.1, delta=0.01, budget=first)
    columns = columns_of(audit)["columns"]
    influences = dict(zip(columns["term"], columns["influence"], strict=True))
    assert influences["age"] is None  # its association is too small to matter
    assert influences["husband"] is not None
    assert "NaN" not in as_script_text(columns)


def test_explicit_use_is_told():
    content = columns_of(pu.audit(pu.Program.parse("ite(z == 1, 1, 0)"), {"z": [0, 1] * 9}, "z"))
    columns = content["columns"]
    assert columns["explicit"] == [[int(term == "z") for term in columns["term"]]]


def test_a_repaired_program_stands_beside_the_one_before():
    program = pu.Program.parse(
        "ite(husband == 1, ite(age > 30, 'a', 'b'), ite(age > 50, 'a', 'b'))"
    )
    repair = by_constants(
        program, people(), protected="married", epsilon=0.1, delta=0.01, unconfirmed=True
    )
    content = points(repair.before, document(repair.before), repair.after)
    before, after = content["columns"], content["after"]
    assert len(after["id"]) == len(repair.after.decompositions)
    assert sum(before["witness"][0]) > sum(after["witness"][0]) == 0
    was = dict(zip(after["term"], after["previous"], strict=True))
    root = str(repair.after.program.term)
    assert before["term"][was[root]] == str(program.term)
    kept = [(before["term"][b], term) for term, b in was.items() if b >= 0 and term != root]
    assert kept
    assert all(then == now for then, now in kept)


HOSTILE = "</script><script>alert(1)</script>\u2028\u202e&amp;<!--\x00\ud800" + "x" * 10_000 + "🦊"


def test_hostile_names_neither_end_the_script_nor_swell_the_page():
    data = {HOSTILE: [1, 1, 0, 0] * 9, "z": [1, 1, 0, 0] * 9}
    quoted = json.dumps(HOSTILE)
    program = pu.Program(rebuild(parse_term("a == 1"), (Var(HOSTILE), Const(1.0))))
    content = columns_of(pu.audit(program, data, "z"))
    text = as_script_text(content)
    assert len(text) < 4000 < len(quoted)
    assert all(len(term) <= MOST_TERM for term in content["columns"]["term"])
    assert not set(text) & set("<>&\u2028\u2029\u202e")
    text.encode("utf-8")
    assert json.loads(text) == content


# What is part of what


def listed(program: Points, draw: Any = None) -> list[tuple[Site, ...]]:
    """Every sub-term, every set of operands of an operator with few, some sets of places."""
    sites: list[tuple[Site, ...]] = []
    for point, term in enumerate(program.terms):
        if isinstance(term, Const):
            continue
        sites.append((Site(point),))
        if isinstance(term, Associative):
            choices = operand_choices(program, point)[:5]
            for many in range(2, len(choices)):
                sites += [(Site(point, some),) for some in combinations(choices, many)]
    alone = [some[0].point for some in sites if not some[0].operands]
    if draw is not None and len(alone) > 1:
        pair = draw(st.lists(st.sampled_from(alone), min_size=2, max_size=3, unique=True))
        chosen = tuple(Site(point) for point in sorted(pair))
        if all(program.disjoint(a, b) for a, b in combinations(chosen, 2)):
            sites.append(chosen)
    return sites


def covered(program: Points, sites: tuple[Site, ...]) -> set[int]:
    found: set[int] = set()
    for site in sites:
        for start, end in program.covers(site):
            found.update(range(start, end))
    return found


@given(st.data())
def test_a_parent_is_the_nearest_computation_around(data: st.DataObject):
    program = Points(data.draw(terms()))
    sites = listed(program, data.draw)
    sets = [covered(program, some) for some in sites]
    for index, parent in enumerate(parents(program, sites)):
        around = [
            other
            for other, some in enumerate(sets)
            if len(sites[other]) == 1 and sets[index] < some and other != index
        ]
        if not around:
            assert parent == -1
            continue
        assert parent in around
        below = [other for other in around if sets[other] < sets[parent]]
        if len(sites[index]) == 1 and not isinstance(
            program.terms[sites[parent][0].point], Associative
        ):
            assert not below


def test_operands_are_part_of_listed_sets_with_one_more():
    program = Points(parse_term("a + b + c + d"))
    sites = listed(program)
    for index, parent in enumerate(parents(program, sites)):
        size = [len(sites[i][0].operands) or (4 if sites[i][0].point == 0 else 1)
                for i in (index, parent)]  # fmt: skip
        assert (parent == -1) if index == 0 else size[1] == size[0] + 1


def test_a_hundred_times_the_rows_make_no_larger_a_page(tmp_path: Path):
    """Nothing on the page is by row: not a table, not a column, not a point."""
    rows = 200
    program = pu.Program.parse(PROGRAM)
    sizes = {}
    for times in (1, 100):
        drawn = np.random.default_rng(1)
        data = {
            name: np.tile(np.asarray(values)[:rows], times) for name, values in people().items()
        }
        data["pay"] = data["pay"] + drawn.random(rows * times) / 1000  # as many values as rows
        data["age"] = data["age"] + drawn.integers(0, 2, rows * times)
        audit = pu.audit(program, data, ["married", "city"], epsilon=0.1, delta=0.01)
        columns = as_script_text(columns_of(audit, min_cell=1)["columns"])
        size = audit.to_html(tmp_path / f"{times}.html", min_cell=1).stat().st_size
        sizes[times] = len(columns), size
    assert sizes[100][0] < 1.02 * sizes[1][0]
    assert sizes[100][1] < 1.02 * sizes[1][1]


def test_a_deep_program_is_no_trouble():
    term = parse_term("x")
    around = parse_term("exp(x)")
    for _ in range(20_000):
        term = rebuild(around, (term,))
    program = Points(term)
    sites = [(Site(point),) for point in range(len(program))]
    assert parents(program, sites) == program.parents
