"""Every format shows the same figures, with the same rounding, for the same finding."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.render.html.page import page_text
from proxyuse.report.render.junit import audit_junit
from proxyuse.report.render.markdown import audit_markdown
from proxyuse.report.render.sarif import audit_sarif
from proxyuse.report.render.text import audit_text, witness_text
from proxyuse.report.result import Coverage
from proxyuse.words import fixed, percent


@pytest.fixture(scope="module")
def audit():
    rng = np.random.default_rng(0)
    married = rng.random(997) < 0.53
    data = {
        "relationship": np.where(rng.random(997) < 0.93, married, ~married).astype(int),
        "hours": rng.integers(20, 60, 997),
        "married": married,
    }
    program = pu.Program.parse("ite(relationship == 1, ite(hours <= 31, 'no', 'yes'), 'no')")
    return pu.audit(program, data, "married")


def read(text):
    """A text on one line, without markup."""
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def inline(text):
    """The same, where the markup inside a sentence leaves no spaces."""
    return read(re.sub(r"</?(code|bdi|em|button)\b[^>]*>", "", text))


def surfaces(audit):
    result = document(audit)
    sarif = audit_sarif(result)["runs"][0]["results"]
    first = next(r for r in sarif if r["properties"]["id"] == result.groups[0].representative)
    return {
        "print": str(audit),
        "terminal": audit_text(result),
        "one witness": witness_text(result, result.witnesses[0]),
        "markdown": audit_markdown(result),
        "html": page_text(audit),
        "notebook": audit._repr_html_(),
        "sarif": first["message"]["text"],
        "junit": audit_junit(result),
    }


def test_print_is_what_the_terminal_shows(audit):
    shown = surfaces(audit)
    assert shown["print"] == shown["terminal"]


def test_shares_are_the_same_everywhere(audit):
    witness = document(audit).witnesses[0]
    shares = [percent(share) for share in (witness.guess.informed, witness.guess.blind)]
    for name, text in surfaces(audit).items():
        for share in [*shares, percent(witness.influence)]:
            assert share in read(text), (name, share)
            assert re.fullmatch(r"\d+\.\d%", share)


def test_measures_have_three_decimals_everywhere(audit):
    witness = document(audit).witnesses[0]
    for name, text in surfaces(audit).items():
        decimals = 4 if name == "one witness" else 3
        for value in (witness.association, witness.influence):
            assert fixed(value, decimals) in read(text), (name, value)


def test_the_sentences_are_the_same_everywhere(audit):
    shown = surfaces(audit)
    witness = document(audit).witnesses[0]
    informed, blind = percent(witness.guess.informed), percent(witness.guess.blind)
    sentences = [
        f"Knowing this value, you can tell who is married {informed} of the time; without it, "
        f"{blind}.",
        f"Swapping in another person's value changes {percent(witness.influence)} of decisions.",
    ]
    for name, text in shown.items():
        for sentence in sentences:
            assert sentence in inline(text), name


def test_how_far_the_search_went_is_the_same_everywhere(audit):
    shown = surfaces(audit)
    for name in ("print", "terminal", "markdown", "html", "notebook"):
        assert "Every column, test, branch and tree was measured." in inline(shown[name]), name


def test_combinations_that_were_searched_are_named_everywhere():
    rng = np.random.default_rng(0)
    data = {f"x{i}": rng.normal(size=120).round(2) for i in range(16)}
    program = pu.Program.parse(f"ite({' + '.join(data)} > 0, 1, 0)")
    audit = pu.audit(program, {**data, "z": [0, 1] * 60}, "z", epsilon=0.3)
    result = document(audit)
    assert result.coverage == Coverage(bounded=False, searched=("terms",), not_searched=())
    sentence = "Combinations of terms were searched, but not exhaustively."
    for text in (str(audit), audit_markdown(result), page_text(audit), audit._repr_html_()):
        assert sentence in inline(text)
