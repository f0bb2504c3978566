"""Markdown and CSV say what the document says, whatever the columns are called."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.markdown import markdown, plain
from proxyuse.report.spreadsheet import COLUMNS, csv_text, harmless

NASTY = "=cmd|'/c calc'!A1 `x` <b> @all #1 [l](http://x.y) **b**"


def audited(names=("age",), protected="z", **options):
    data = {name: [20 + place, 50 + place] * 20 for place, name in enumerate(names)}
    data[protected] = [0, 1] * 20
    guards = [f"`{name.replace('`', chr(92) + '`')}` <= {40 + i}" for i, name in enumerate(names)]
    text = "1"
    for guard in guards:
        text = f"ite({guard}, 0, {text})"
    return document(pu.audit(pu.Program.parse(text), data, protected, **options))


def cells(text):
    """The table's rows."""
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_answer_comes_first():
    text = markdown(audited())
    assert text.startswith("**The model uses a proxy for z: 3 computations in 1 group.**\n")
    assert "| the value of age | z | 1.000 of at most 1.000 | 0.500 | 2 |" in text
    assert "on 40 rows" in text


def test_where_nothing_is_found_the_nearest_are_shown():
    text = markdown(audited(delta=0.6))
    assert text.startswith("**No proxy use of z was found at these thresholds.**")
    assert "Nearest to proxy use" in text
    assert "0.100 influence" in text


def test_what_is_not_settled_is_told():
    text = markdown(audited(delta=0.6, variables=False))
    assert "but not everything could be settled" in text
    assert "Not settled:" in text


def test_the_protected_attribute_itself():
    data = {"z": [0, 1] * 20}
    found = document(pu.audit(pu.Program.parse("ite(z == 0, 0, 1)"), data, "z"))
    text = markdown(found)
    assert text.startswith("**The model uses z itself")
    assert "(the protected attribute itself)" in text


def test_at_most_twenty_groups_and_the_rest_counted():
    found = audited([f"x{i}" for i in range(25)], epsilon=0, delta=0)
    found["groups"] = found["groups"][:1] * 23
    text = markdown(found)
    assert len(cells(text)) == 2 + 20
    assert "... and 3 more groups." in text


def test_names_of_columns_stay_names():
    text = markdown(audited([NASTY], protected=NASTY + "z"))
    widths = {line.replace("\\|", "").count("|") for line in cells(text)}
    assert widths == {7}
    assert "<b>" not in text
    assert "`x`" not in text
    assert "@all" not in text
    assert "http://" not in text
    assert "**b" not in text


@given(st.text(max_size=400))
def test_plain_text_has_nothing_that_markdown_reads(text):
    shown = plain(text)
    assert "\n" not in shown
    assert not set("\\`*_[]|~$") & set(shown)
    assert "<" not in shown.replace("<!-- -->", "")


# Spreadsheets


def rows(found):
    return list(csv.DictReader(io.StringIO(csv_text(found))))


def test_a_line_a_witness_then_what_to_compare_with():
    found = audited(["age", "wage"])
    lines = rows(found)
    kinds = [line["kind"] for line in lines]
    assert kinds == ["witness"] * len(found["witnesses"]) + ["variable", "variable", "output"]
    assert tuple(lines[0]) == COLUMNS
    assert lines[0]["id"] == found["witnesses"][0]["id"]
    assert float(lines[0]["association"]) == found["witnesses"][0]["association"]
    assert {line["kind"] for line in rows(audited(delta=0.6))} == {"nearest", "variable", "output"}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t=", " =", "\r", "\uff1d"])
def test_no_cell_is_a_formula(start):
    assert harmless(f"{start}1").startswith("'")
    for line in rows(audited([f"{start.strip() or '='}x"], protected="=z")):
        for cell in line.values():
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.text())
def test_any_text_is_harmless_and_kept(text):
    cell = harmless(text)
    assert cell.removeprefix("'") in (text.replace("\0", ""), text.replace("\0", "")[1:])
    assert not cell.lstrip().startswith(("=", "+", "-", "@"))
