"""No format lets a control or formatting character of a name, a value or a reason through."""

from __future__ import annotations

import csv
import io
import json
import re
import unicodedata
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.figure import Figure

import proxyuse as pu
from proxyuse.cli.printing import harmless, print_json, print_text
from proxyuse.lang.nodes import Compare, Const, Ite, Relation, Term, Var
from proxyuse.models.python_source import python_source
from proxyuse.report.diff import compare
from proxyuse.report.document import document
from proxyuse.report.render.csv import audit_csv
from proxyuse.report.render.html.page import page_text
from proxyuse.report.render.junit import audit_junit
from proxyuse.report.render.markdown import audit_markdown, repair_markdown
from proxyuse.report.render.sarif import audit_sarif
from proxyuse.report.render.text import audit_text, diff_text, repair_text, witness_text
from proxyuse.report.render.threshold_figure import draw_thresholds
from proxyuse.report.repair_document import repair_document
from proxyuse.report.result import AuditResult
from proxyuse.report.saved import as_text, read_document
from proxyuse.report.witness_page import Pages
from tests.constant_repairs import by_constants

CONTROLS = "".join(map(chr, [*range(0x20), *range(0x7F, 0xA0)]))
BIDIRECTIONAL = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
BLANKS = "\u2800\u3164\uffa0"
INVISIBLE = f"\xad\u180e\u200b\u200c\u200d\u2028\u2029\u2060\u206f\ufeff\ufff9\U000e0041{BLANKS}"
HOSTILE = {
    "features": f"F{BIDIRECTIONAL}x{BLANKS}\x1b[2J",
    "categories": f"C{CONTROLS}x{BIDIRECTIONAL}{BLANKS}",
    "classes": f"L{INVISIBLE}x{BIDIRECTIONAL}\x9b31m",
    "names": f"P{BIDIRECTIONAL}x{INVISIBLE}\x1b]0;title\x07",
    "values": f"V{CONTROLS}x{BIDIRECTIONAL}{INVISIBLE}",
    "reasons": f"R{CONTROLS}x{BIDIRECTIONAL}{INVISIBLE}\ud800",
    "people": f"B{BIDIRECTIONAL}x\x1b[1m",
    "files": f"M{BIDIRECTIONAL}x{INVISIBLE}\x1b.skops",
}


@cache
def inputs() -> tuple[pu.Program, dict[str, Any], dict[str, Any]]:
    """A program, its data and a protected attribute."""
    generator = np.random.default_rng(0)
    z = generator.integers(0, 2, 300)
    data: dict[str, Any] = {}
    term: Term = Const("else")
    for number in range(3):
        name = f"{number}{HOSTILE['features']}"
        turned = generator.random(300) < 0.05
        data[name] = np.where(z ^ turned, HOSTILE["categories"], "D")
        test = Compare(Relation.EQ, Var(name), Const(HOSTILE["categories"]))
        term = Ite(test, Const(f"{number}{HOSTILE['classes']}"), term)
    protected = {HOSTILE["names"]: np.where(z == 1, HOSTILE["values"], "U")}
    return pu.Program(term, list(data)), data, protected


@cache
def audit() -> pu.Audit:
    return pu.audit(*inputs(), epsilon=0.01, delta=0.01)


def judge(witness: pu.Witness) -> pu.Judgment:
    return pu.Judgment(len(witness.term) % 2 == 0, HOSTILE["reasons"], HOSTILE["people"])


@cache
def result() -> AuditResult:
    about = {
        "model": {"file": HOSTILE["files"], "kind": "skops", "sha256": "0" * 64},
        "data": {"files": [{"file": HOSTILE["files"], "sha256": "0" * 64}]},
        "notes": [HOSTILE["reasons"]],
    }
    return document(audit(), oracle=judge, about=about, thresholds=True)


@cache
def repaired() -> pu.Repair:
    program, data, protected = inputs()
    return by_constants(
        program, data, protected=protected, epsilon=0.01, delta=0.01, unconfirmed=True
    )


def svg(draw: Callable[[Any], Any]) -> str:
    figure = Figure()
    draw(figure.subplots())
    file = io.StringIO()
    figure.savefig(file, format="svg")
    return file.getvalue()


def printed(write: Callable[[], None], capsys: pytest.CaptureFixture[str]) -> str:
    write()
    return capsys.readouterr().out


def hidden(text: str, allowed: str = "\n") -> set[str]:
    """The characters of a text that nobody sees."""
    return {
        c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") or c in BLANKS
    } - set(allowed)  # fmt: skip


def strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield key
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


FORMATS: dict[str, Callable[[], str]] = {
    "text": lambda: audit_text(result()),
    "witness": lambda: witness_text(result(), result().witnesses[0]),
    "markdown": lambda: audit_markdown(result()),
    "csv": lambda: audit_csv(result()),
    "sarif": lambda: as_text(audit_sarif(result())),
    "junit": lambda: audit_junit(result()),
    "html": lambda: page_text(audit(), document=result()),
    "notebook": lambda: audit()._repr_html_(),
    "json": lambda: as_text(result()),
    "figure": lambda: svg(lambda ax: audit().plot(HOSTILE["names"], ax=ax)),
    "threshold figure": lambda: svg(
        lambda ax: draw_thresholds(audit(), audit().threshold_table(), ax=ax)
    ),
    "diff": lambda: diff_text(compare(result(), document(audit(), oracle=None))),
    "repair": lambda: repair_text(repair_document(repaired())),
    "repair as Markdown": lambda: repair_markdown(repair_document(repaired())),
    "repair as HTML": lambda: page_text(repaired().before, repair=repaired()),
    "repair in a notebook": lambda: repaired()._repr_html_(),
    "page of a witness": lambda: Pages(audit(), result()).page(audit().witnesses[0], "1 of 1"),
    "program": lambda: str(audit().program),
    "Python": lambda: python_source(audit().program),
    "certificate": lambda: pu.certify(audit(), judge).to_json(),
    "certificate as text": lambda: harmless(str(pu.certify(audit(), judge))),
}


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_has_no_hidden_characters(name):
    text = FORMATS[name]()
    assert len(text) > 100
    assert hidden(text) == set()


def test_the_audit_shows_every_kind_of_name():
    """Otherwise the test above would show little."""
    text = as_text(result())
    for letter in "FCLPVRBM":
        assert f"{letter}\\" in text, letter


def test_values_of_sarif_are_clean_and_show_what_was_there():
    found = list(strings(audit_sarif(result())))
    assert all(hidden(text, "") == set() for text in found)
    assert any("⟨U+202E⟩" in text for text in found)


def test_cells_of_csv_are_clean_and_on_one_line():
    lines = list(csv.reader(io.StringIO(audit_csv(result()))))
    assert len(lines) == audit_csv(result()).count("\n")
    assert all(hidden(cell, "") == set() for line in lines for cell in line)
    assert any("⟨U+001B⟩" in cell for line in lines for cell in line)


def test_json_loses_nothing(tmp_path):
    path = tmp_path / "audit.json"
    path.write_text(as_text(result()))
    assert read_document(path) == result()
    assert any("\u202e" in text for text in strings(json.loads(path.read_text())))


def test_what_a_terminal_gets_is_clean(capsys):
    for write in (
        lambda: print_text("\n".join(HOSTILE.values())),
        lambda: print_text(audit_text(result()), audit_text(result(), color=True)),
        lambda: print_text(str(audit())),
        lambda: print_json(HOSTILE),
    ):
        out = printed(write, capsys)
        assert hidden(out) == set()
    assert json.loads(out) == HOSTILE
    colored = harmless(audit_text(result(), color=True), bold=True)
    assert hidden(colored) == {"\x1b"}
    assert hidden(re.sub(r"\x1b\[[01]m", "", colored)) == set()


def test_an_error_message_is_clean(tmp_path, monkeypatch, capsys):
    from proxyuse.cli.main import main

    monkeypatch.chdir(tmp_path)
    Path("rule.txt").write_text("ite(x > 1, 1, 0)")
    Path("people.csv").write_text("x\n1\n")
    words = ["--model", "rule.txt", "--data", "people.csv", "--protected"]
    assert main(["audit", *words, HOSTILE["features"]]) == 2
    err = capsys.readouterr().err
    assert "⟨U+202E⟩" in err or "\\u202e" in err
    assert hidden(err) == set()
