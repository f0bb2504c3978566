"""What a notebook shows is HTML that holds together, says the answer and nothing of strangers'."""

from __future__ import annotations

from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.report.render.notebook import MOST_GROUPS
from tests.constant_repairs import by_constants

PROGRAM = "ite(vitamins == 1, ite(engaged == 1, 'a', 'b'), ite(engaged == 1, 'b', 'a'))"
DATA = {
    "vitamins": [1, 1, 0, 0] * 30,
    "engaged": [1, 0, 1, 0] * 30,
    "pregnant": [1, 1, 0, 0] * 30,
    "promised": [1, 0, 1, 0] * 30,
}
TAGS = {"div", "style", "p", "table", "thead", "tbody", "tr", "th", "td", "bdi", "code", "ul", "li"}


class Reader(HTMLParser):
    """The text and the tags of a piece of HTML in which every element is closed."""

    def __init__(self):
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.rows: list[list[str]] = []
        self.text = ""

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            return
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def read(found):
    reader = Reader()
    reader.feed(found._repr_html_())
    assert reader.open == []
    assert reader.tags <= TAGS
    assert reader.attributes <= {"class", "scope"}
    return reader


def audited(protected="pregnant", **options):
    return pu.audit(pu.Program.parse(PROGRAM), DATA, protected, **options)


def test_the_answer_the_groups_and_the_thresholds():
    shown = read(audited(["pregnant", "promised"]))
    assert (
        "The model uses a proxy for pregnant (2 confirmed witnesses) and a proxy for promised "
        "(8 confirmed witnesses)." in shown.text
    )
    heads, first, second = shown.rows
    assert heads == [
        "finding",
        "protected",
        "association",
        "influence",
        "verdict",
        "related",
        "id",
    ]
    assert first[0].startswith("The model reads vitamins. Knowing this value, you can ")
    assert first[1:4] == ["pregnant", "~0.7", "0.500"]
    assert second[1] == "promised"
    assert "association of at least 0.1 and an influence above 0.05" in shown.text
    assert "Not settled" not in shown.text


def test_the_same_numbers_as_all_witnesses_give():
    audit = audited()
    shown = read(audit)
    assert f"({len(audit.witnesses)} confirmed witnesses)" in shown.text
    assert shown.rows[1][4] == "confirmed"
    assert shown.rows[1][5] == str(len(audit.witnesses) - 1)


def test_where_nothing_is_found_the_nearest_are_shown():
    shown = read(audited(delta=0.9))
    assert "No proxy use of pregnant found at these thresholds." in shown.text
    assert shown.rows[0][0] == "closest to proxy use"
    assert "0.400 influence" in shown.rows[1][-1]


def test_what_is_not_settled_is_told():
    shown = read(audited(delta=0.9, variables=False))
    assert "Proxy use of pregnant cannot be decided. The search is incomplete" in shown.text
    assert "Not settled:" in shown.text
    assert "not measured" in shown.text


def test_what_is_only_possible_is_explained():
    few = {name: values[:16] for name, values in DATA.items()}
    shown = read(pu.audit(pu.Program.parse(PROGRAM), few, "pregnant"))
    assert "The model uses" not in shown.text
    assert "--fail-on possible" in shown.text
    assert shown.rows[1][4] == "possible"


def test_what_was_searched_and_not_exhausted_is_told():
    numbers = np.random.default_rng(0).normal(size=(120, 16)).round(2)
    wide = pd.DataFrame(numbers, columns=[f"x{i}" for i in range(16)])
    program = pu.Program.parse(f"ite({' + '.join(wide.columns)} > 0, 1, 0)")
    audit = pu.audit(program, wide.assign(z=[0, 1] * 60), "z", epsilon=0.3)
    shown = read(audit)
    assert "No proxy use of z found at these thresholds." in shown.text
    (sentence,) = audit.searched
    assert sentence in shown.text
    assert "Not settled" not in shown.text


def test_of_many_groups_the_first_are_shown():
    names = [f"v{i}" for i in range(MOST_GROUPS + 2)]
    values = [0, 1] * 50
    votes = " + ".join(f"ite({name} == 1, 1, 0)" for name in names)
    program = pu.Program.parse(f"ite({votes} >= {len(names)}, 'a', 'b')")
    shown = read(pu.audit(program, dict.fromkeys([*names, "z"], values), "z"))
    assert len(shown.rows) == 1 + MOST_GROUPS
    assert "... and 2 more groups." in shown.text


def test_a_repair():
    done = by_constants(pu.Program.parse(PROGRAM), DATA, protected="pregnant")
    shown = read(done)
    assert "The repair for " in shown.text
    assert shown.rows[0][:2] == ["replacement", "reason"] or "whole program" in shown.text
    assert "agreement 1.0000 before" in shown.text
    assert "The model may still use computations below these thresholds." in shown.text


def test_nothing_to_repair():
    done = by_constants(pu.Program.parse(PROGRAM), DATA, protected="pregnant", delta=0.9)
    shown = read(done)
    assert "Nothing to repair" in shown.text
    assert shown.rows == []


@given(st.text(min_size=1, max_size=40))
def test_any_name_is_only_text(name):
    values = [0, 1] * 30
    audit = pu.audit(pu.Program.parse("ite(x == 1, 'a', 'b')"), {"x": values}, {name: values})
    assert read(audit).text


@pytest.mark.parametrize(
    "name", ["<script>alert(1)</script>", "</style><b>", "&lt;", "'\"", "\u202e\x00", "n" * 10**4]
)
def test_hostile_names(name):
    values = [0, 1] * 30
    program = pu.Program.parse("ite(x == 1, 'a', 'b')")
    html = pu.audit(program, {"x": values}, {name: values})._repr_html_()
    assert "<script" not in html
    assert "\u202e" not in html
    assert len(html) < 6_000
    done = by_constants(program, {"x": values}, protected={name: values}, unconfirmed=True)
    assert "<script" not in done._repr_html_()
    read(done)
