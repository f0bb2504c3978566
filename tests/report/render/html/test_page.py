"""The report as a file: what stands in it, what cannot, and that it is always the same."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import proxyuse as pu
from proxyuse.errors import FileError
from proxyuse.lang.nodes import Compare, Const, Ite, Relation, Var
from proxyuse.lang.positions import Position
from proxyuse.report.render.html.location import conditions, operands
from proxyuse.report.render.html.model_drawing import tree_drawing
from proxyuse.report.render.html.page import page_text
from proxyuse.report.render.html.untrusted_text import words
from proxyuse.words import all_visible
from tests.command_line import run
from tests.constant_repairs import by_constants

SCRIPT = "<script>alert(1)</script>"
TURNED = "\u202eturned\u2069\u2068"
HOSTILE = (SCRIPT, '"quo\'ted" & &amp;', TURNED, "x" * 10_000, "👨‍👩‍👧 🎉", "a\x00b\x1b[2J\u2028c")
VOID = {"meta", "br", "rect", "path"}


def people(n: int = 400) -> dict[str, Any]:
    generator = np.random.default_rng(0)
    pregnant = generator.integers(0, 2, n)
    noise = generator.random(n) < 0.1
    return {
        "vitamins": np.where(noise, 1 - pregnant, pregnant),
        "age": generator.integers(18, 60, n),
        "pregnant": np.where(pregnant == 1, "yes", "no"),
        "old": generator.integers(0, 2, n),
    }


def small_audit(**options: Any) -> pu.Audit:
    program = pu.Program.parse("ite(age <= 20, 'b', ite(vitamins == 1, 'a', 'b'))")
    return pu.audit(program, people(), **{"protected": "pregnant", **options})


def hostile_audit() -> pu.Audit:
    """Markup, quotes, turned, long, invisible and joined characters wherever a name can stand."""
    generator = np.random.default_rng(0)
    z = generator.integers(0, 2, 300)
    data = {name: z + generator.integers(0, 2, 300) * 0 for name in HOSTILE}
    data[SCRIPT] = np.where(z == 1, "</script><img src=x onerror=alert(2)>", TURNED)
    term: Any = Const("<b>no</b>")
    for index, name in enumerate(HOSTILE):
        is_word = name == SCRIPT
        relation = Relation.EQ if is_word else Relation.LE
        limit = Const(TURNED if is_word else 0.5)
        test = Compare(relation, Var(name), limit)
        term = Ite(test, term, Const(f"{index}</td>"))
    protected = {SCRIPT: np.where(z == 1, SCRIPT, TURNED), "z" * 10_000: z}
    return pu.audit(pu.Program(term, list(data)), data, protected)


def hostile_page() -> str:
    about = {
        "model": {"file": f"{SCRIPT}.skops", "sha256": "a" * 64, "kind": SCRIPT},
        "data": {"files": [{"file": TURNED, "sha256": "b" * 64}]},
        "notes": [SCRIPT],
    }
    judge = pu.Judgment(False, f"{SCRIPT} {TURNED}", f"{SCRIPT}")
    return page_text(hostile_audit(), about=about, oracle=lambda witness: judge)


class Elements(HTMLParser):
    """Reads a page and refuses one whose elements are not nested properly."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.attributes: list[tuple[str, str, str | None]] = []
        self.scripts: list[str] = []
        self.text: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "script":
            self.scripts.append("")

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        self.attributes += [(tag, name, value) for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            self.scripts[-1] += data
        elif self.open and self.open[-1] != "style":
            self.text.append(data)

    def of(self, name: str) -> list[str]:
        return [value or "" for _, known, value in self.attributes if known == name]


@pytest.fixture(scope="module")
def page() -> str:
    return page_text(small_audit(validity="confirm"))


@pytest.fixture(scope="module")
def elements(page: str) -> Elements:
    return Elements(page)


def test_the_first_screen_has_the_answer(page: str, elements: Elements) -> None:
    text = " ".join(" ".join(elements.text).split())
    assert "The model uses a proxy for pregnant" in text
    assert "400 rows" in text
    assert "confirmed" in text
    assert "not judged" in text
    assert page.index("Start here") < page.index('id="picture"')


def test_every_number_that_can_be_asked_about_has_an_answer(elements: Elements) -> None:
    explained, ids = set(elements.of("popovertarget")), elements.of("id")
    assert explained <= set(ids)
    assert len(ids) == len(set(ids))
    assert {"about-association", "about-influence", "about-epsilon", "about-reach"} <= explained


def test_every_link_leads_somewhere_on_the_page(elements: Elements) -> None:
    links = elements.of("href")
    assert links
    assert {link.removeprefix("#") for link in links} <= set(elements.of("id"))


def test_nothing_is_fetched_and_only_our_scripts_run(elements: Elements, page: str) -> None:
    assert not elements.of("src")
    policy = next(value for value in elements.of("content") if "script-src" in value)
    assert policy.startswith("default-src 'none'")
    allowed = re.findall(r"'sha256-([^']+)'", policy)
    run_by_browser = [
        text for text in re.findall(r"<script>(.*?)</script>", page, re.DOTALL) if text
    ]
    hashes = [
        base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in run_by_browser
    ]
    assert hashes == allowed


def test_the_same_audit_gives_the_same_page(page: str) -> None:
    assert page_text(small_audit(validity="confirm")) == page


def test_more_rows_make_no_larger_page() -> None:
    program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
    sizes = [len(page_text(pu.audit(program, people(n), "pregnant"))) for n in (1_000, 50_000)]
    assert abs(sizes[1] - sizes[0]) < 2_000


def test_small_numbers_are_withheld() -> None:
    data = {"a": [1] * 48 + [0] * 52, "z": ["p"] * 50 + ["q"] * 50}
    audit = pu.audit(pu.Program.parse("ite(a == 1, 'x', 'y')"), data, "z")
    assert "withheld" in page_text(audit)
    assert ">2</td>" not in page_text(audit)
    assert ">2</td>" in page_text(audit, min_cell=1)


def test_names_from_data_stay_text() -> None:
    page = hostile_page()
    found = Elements(page)
    assert "<script>alert" not in page
    assert not any(tag in ("img", "b", "i") for tag, _, _ in found.attributes)
    assert not [name for _, name, _ in found.attributes if name.startswith("on")]
    shown = "".join(found.text)
    assert SCRIPT in shown
    assert "⟨U+202E⟩turned" in shown
    assert "⟨U+0000⟩" in shown or "\\u{0}" in shown
    assert not set("\u202e\u2068\u2069\x00\x1b") & set(page)
    assert "👨‍👩‍👧" in shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        ("a\n\tb", "a b"),
        ("\u202eabc", "⟨U+202E⟩abc"),
        ("\ud800", "⟨U+D800⟩"),
        ({"k": ["\x07", 1]}, {"k": ["⟨U+0007⟩", 1]}),
    ],
)
def test_what_cannot_be_seen_is_made_visible(value: object, shown: object) -> None:
    assert all_visible(value) == shown


def test_words_escape() -> None:
    assert str(words("<&\u2068x\u2069")) == "&lt;&amp;<bdi>x</bdi>"


def test_without_witnesses_it_says_what_comes_nearest() -> None:
    text = "".join(Elements(page_text(small_audit(epsilon=1, delta=0.9))).text)
    assert "No proxy use of pregnant found at these thresholds." in text
    assert "Closest to proxy use" in text
    assert "Every column, test, branch and tree was measured." in text
    assert "Witnesses in detail" not in text


def test_judgments_are_told_with_their_reason() -> None:
    judge = pu.Judgment(True, "needed for care", "the board")
    page = page_text(small_audit(), oracle=lambda witness: judge)
    text = " ".join("".join(Elements(page).text).split())
    assert "Judged appropriate by the board: needed for care" in text


def test_several_attributes_are_told_apart() -> None:
    audit = small_audit(protected=["pregnant", "old"], epsilon=0.0, delta=0.0)
    elements = Elements(page_text(audit))
    assert set(elements.of("data-protected")) == {"0", "1"}
    anchors = [one for one in elements.of("id") if one.startswith("witness-")]
    assert any(one.startswith("witness-0-") for one in anchors)


def test_beyond_the_first_witnesses_there_are_lines_and_no_sections() -> None:
    generator = np.random.default_rng(0)
    data = {name: generator.integers(0, 2, 60) for name in "abcdefgh"}
    program = pu.Program.parse("ite(a + b + c + d + e + f + g + h >= 4, 1, 0)")
    audit = pu.audit(program, {**data, "z": data["a"]}, "z", epsilon=0.0, delta=0.0, all_sets=True)
    assert len(audit.witnesses) > 220
    elements = Elements(page_text(audit))
    witnesses = [one for one in elements.of("id") if one.startswith("witness-0-")]
    assert len(witnesses) == 50
    assert sum(tag == "tr" and name == "data-id" for tag, name, _ in elements.attributes) == 200
    assert "more-lines" in elements.of("id")


def test_a_repair_is_told(tmp_path: Path) -> None:
    program = pu.Program.parse("ite(vitamins == 1, 'a', ite(age <= 30, 'a', 'b'))")
    done = by_constants(program, people(), protected="pregnant", unconfirmed=True)
    path = done.to_html(tmp_path / "report.html")
    page = path.read_text("utf-8")
    text = " ".join("".join(Elements(page).text).split())
    assert "Replacements and their reasons" in text
    assert done.certificate.hash in page
    assert f"{done.used.after:.4f}" in text
    assert "Step 1" in text
    assert "&#34;after&#34;" not in page


def test_a_page_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    with pytest.raises(FileError):
        small_audit().to_html(tmp_path / "nowhere" / "report.html")
    path = small_audit().to_html(tmp_path / "report.html")
    assert path.read_text("utf-8").endswith("</html>\n") or "</html>" in path.read_text("utf-8")
    assert [file.name for file in tmp_path.iterdir()] == ["report.html"]


@pytest.mark.parametrize(
    ("text", "position", "shown"),
    [
        ("ite(a == 1, 0, ite(b <= 2, 1, 2))", "2.0", ["a != 1 or missing"]),
        ("ite(not (a == 1), 0, ite(b <= 2, 1, 2))", "2.1", ["a == 1", "b <= 2"]),
        ("ite(a in {'x', 'y'}, 0, b)", "2", ["a is none of 'x', 'y' or missing"]),
        ("ite(a in {'x', 'y'}, b, 0)", "1", ["a in {'x', 'y'}"]),
        ("ite(a == 1, 0, 1)", "0", []),
        ("ite(a + b >= 1, c, 1)", "1", ["a + b >= 1"]),
    ],
)
def test_the_way_to_a_place_is_told_in_words(text: str, position: str, shown: list[str]) -> None:
    program = pu.Program.parse(text)
    point = program.points.site(Position.parse(position)).point
    assert conditions(program, {}, point) == shown


def test_summands_are_listed_with_those_that_are_meant_first() -> None:
    program = pu.Program.parse("ite(0.5 * a + 2 * b + c >= 1, 1, 0)")
    site = program.points.site(Position((0, 0), (1, 2)))
    found = operands(program, {}, site)
    assert found is not None
    assert [one.hit for one in found.listed] == [True, True, False]
    assert {one.weight for one in found.listed} == {"0.5", "2", ""}


def deep(depth: int) -> str:
    return "".join(f"ite(a <= {i}, {i}, " for i in range(depth)) + "b" + ")" * depth


@pytest.mark.parametrize("depth", [1, 10, 3_000])
def test_trees_of_any_depth_are_drawn_small(depth: int) -> None:
    program = pu.Program.parse(deep(depth))
    site = program.points.site(Position((2,) * depth))
    drawing = tree_drawing(program, {}, [site])
    assert drawing is not None
    assert len(drawing.boxes) < 80
    assert [box.text for box in drawing.boxes if box.hit] == ["b"]
    assert drawing.width < 1_200


def test_a_part_outside_of_any_tree_is_not_drawn() -> None:
    program = pu.Program.parse("a + b")
    assert tree_drawing(program, {}, [program.points.site(Position((0,)))]) is None


def test_the_command_line_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pd.DataFrame(people()).to_csv(tmp_path / "people.csv", index=False)
    (tmp_path / "model.program").write_text("ite(vitamins == 1, 'a', 'b')")
    inputs = ["--model", str(tmp_path / "model.program"), "--data", str(tmp_path / "people.csv"),
              "--protected", "pregnant"]  # fmt: skip
    report = tmp_path / "report.html"
    printed, _ = run("audit", *inputs, "--report", report, code=1, capsys=capsys)
    assert str(report) in printed
    page = report.read_text("utf-8")
    assert hashlib.sha256((tmp_path / "people.csv").read_bytes()).hexdigest() in page
    assert "people.csv" in page
    repaired = ["--output", tmp_path / "new.program", "--report", tmp_path / "new.html"]
    run("repair", *inputs, *repaired, code=0, capsys=capsys)
    assert "The repair" in (tmp_path / "new.html").read_text("utf-8")
