"""Markdown and CSV say what the document says, whatever the columns are called."""

from __future__ import annotations

import csv
import io
import re

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.render.csv import COLUMNS, audit_csv, harmless
from proxyuse.report.render.markdown import audit_markdown, plain
from proxyuse.words import visible

NASTY = "=cmd|'/c calc'!A1 `x` <b> @all #1 [l](http://x.y) **b**"


def audited(names=("age",), protected="z", **options):
    data = {name: [20 + index, 50 + index] * 100 for index, name in enumerate(names)}
    data[protected] = [0, 1] * 100
    guards = [f"`{name.replace('`', chr(92) + '`')}` <= {40 + i}" for i, name in enumerate(names)]
    text = "1"
    for guard in guards:
        text = f"ite({guard}, 0, {text})"
    return document(pu.audit(pu.Program.parse(text), data, protected, **options))


def cells(text):
    """The table's rows."""
    return [line for line in text.splitlines() if line.startswith("|")]


def test_the_answer_comes_first():
    text = audit_markdown(audited())
    assert text.startswith(
        "**The model uses a proxy for z (3 confirmed witnesses).**\n\n3 witnesses in 1 group. "
    )
    assert "1. **The model reads <code>age</code>.** " in text
    assert "Association ~0.8 (between 0.6 and 1; threshold 0.1; 1.000 is the highest" in text
    assert "changes 50.0% of decisions" in text
    assert "on 200 rows" in text


def test_where_nothing_is_found_the_nearest_are_shown():
    text = audit_markdown(audited(delta=0.6))
    assert text.startswith("**No proxy use of z found at these thresholds.**")
    assert "Closest to proxy use" in text
    assert "0.100 influence" in text


def test_what_is_not_settled_is_told():
    text = audit_markdown(audited(delta=0.6, variables=False))
    assert text.startswith("**Proxy use of z cannot be decided. The search is incomplete")
    assert "Not settled:" in text


def test_the_protected_attribute_itself():
    data = {"z": [0, 1] * 20}
    result = document(pu.audit(pu.Program.parse("ite(z == 0, 0, 1)"), data, "z"))
    text = audit_markdown(result)
    assert text.startswith("**The model uses z itself")
    assert "(the protected attribute itself)" in text


def test_at_most_twenty_groups_and_the_rest_counted():
    audit = audited([f"x{i}" for i in range(25)], epsilon=0, delta=0)
    text = audit_markdown(msgspec.structs.replace(audit, groups=audit.groups[:1] * 23))
    assert len(re.findall(r"^\d+\. ", text, re.MULTILINE)) == 20
    assert "... and 3 more groups." in text


def test_names_of_columns_stay_names():
    near = audit_markdown(audited([NASTY], protected=NASTY + "z", delta=0.6))
    assert {line.count("|") for line in cells(near)} == {7}
    text = near + audit_markdown(audited([NASTY], protected=NASTY + "z"))
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
    return list(csv.DictReader(io.StringIO(audit_csv(found))))


def test_a_line_a_witness_then_what_to_compare_with():
    audit = audited(["age", "wage"])
    lines = rows(audit)
    kinds = [line["kind"] for line in lines]
    assert kinds == ["witness"] * len(audit.witnesses) + ["variable", "variable", "output"]
    assert tuple(lines[0]) == COLUMNS
    assert lines[0]["id"] == audit.witnesses[0].id
    assert float(lines[0]["association"]) == audit.witnesses[0].association
    assert {line["kind"] for line in rows(audited(delta=0.6))} == {"nearest", "variable", "output"}


@pytest.mark.parametrize("start", ["=", "+", "-", "@", " =", "\xa0=", "\uff1d"])
def test_no_cell_is_a_formula(start):
    assert harmless(f"{start}1").startswith("'")
    for line in rows(audited([f"{start.strip() or '='}x"], protected="=z")):
        for cell in line.values():
            assert not cell.startswith(("=", "+", "-", "@", "\t", "\r"))


@given(st.text())
def test_any_text_is_harmless_and_kept(text):
    cell = harmless(text)
    assert cell.removeprefix("'") in (visible(text), visible(text)[1:])
    assert not cell.lstrip().startswith(("=", "+", "-", "@"))
