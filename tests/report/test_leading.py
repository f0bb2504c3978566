"""A report opens on the attribute with the finding."""

from __future__ import annotations

import json
import re

import numpy as np

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.findings.repair import repair_headline
from proxyuse.report.leading import leading_attribute
from proxyuse.report.render.html.content import page_content
from proxyuse.report.render.html.page import page_text
from proxyuse.report.repair_document import repair_document
from tests.constant_repairs import by_constants

PROGRAM = pu.Program.parse("ite(x == 1, ite(y <= 0.5, 'a', 'b'), ite(w == 1, 'a', 'b'))")


def audited(**options):
    """`coin` is unrelated, `chance` has a strong witness by chance, `sure` a confirmed one."""
    rng = np.random.default_rng(2)
    rows = 400
    x = rng.integers(0, 2, rows)
    w = (np.arange(rows) < 8).astype(int)
    data = {
        "x": x,
        "w": w,
        "y": rng.random(rows).round(1),
        "coin": rng.integers(0, 2, rows),
        "chance": w,
        "sure": np.where(rng.random(rows) < 0.9, x, 1 - x),
    }
    return pu.audit(PROGRAM, data, ["coin", "chance", "sure"], delta=0.01, **options)


def test_a_confirmed_witness_comes_before_a_stronger_one():
    assert audited().witnesses[0].protected == "chance"
    assert leading_attribute(audited(validity=None)) == "chance"
    audit = audited(validity="confirm")
    assert {w.protected for w in audit.witnesses if w.validity.confirmed} == {"sure"}
    assert leading_attribute(audit) == "sure"


def test_without_a_witness_it_is_the_first_attribute():
    assert leading_attribute(audited(epsilon=1, validity=None)) in ("coin", "chance")
    data = {
        "x": [0, 1] * 20,
        "w": [0] * 40,
        "y": [0] * 40,
        "p": [0, 0, 1, 1] * 10,
        "q": [1, 0] * 20,
    }
    audit = pu.audit(PROGRAM, data, ["p", "q"], delta=0.9)
    assert not audit.witnesses
    assert leading_attribute(audit) == "p"


def test_the_page_opens_on_the_confirmed_finding():
    audit = audited(validity="confirm")
    first = page_content(audit, document(audit), None)["first"]
    assert first[0]["protected_index"] == 2
    (points,) = re.findall(r'id="points">(.*?)</script>', page_text(audit))
    assert json.loads(points)["leading"] == 2


def test_the_table_of_thresholds_starts_with_the_finding():
    audit = audited(validity="confirm")
    section = page_content(audit, document(audit), None)["thresholds"]
    assert "sure" in section["tables"][0]["title"]
    own = [
        cell["text"] for row in section["tables"][0]["rows"] for cell in row["cells"] if cell["own"]
    ]
    confirmed = sum(w.validity.confirmed for w in audit.witnesses)
    assert own == [f"{confirmed} of {sum(w.protected == 'sure' for w in audit.witnesses)}"]


def test_a_repair_names_the_attributes_whose_violations_it_removed():
    rng = np.random.default_rng(0)
    data = {"x": [0, 1] * 60, "w": [0] * 120, "y": rng.random(120).round(1)}
    data |= {"coin": rng.integers(0, 2, 120), "z": [0, 1] * 60}
    result = repair_document(by_constants(PROGRAM, data, protected=["coin", "z"]))
    assert {step.removed.protected for step in result.steps} == {"z"}
    assert repair_headline(result).startswith("The repair for z replaced ")
