"""What a report claims: recomputed by other means, and never more than was measured."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.findings.direction import share_text
from proxyuse.report.findings.style import MOST_NAME
from proxyuse.report.render.html.content import page_content
from proxyuse.report.render.html.page import page_text
from proxyuse.report.render.html.untrusted_text import MOST_WORDS, figure
from proxyuse.report.render.text import audit_text
from proxyuse.report.witness_page import Pages
from proxyuse.words import percent
from tests.constant_repairs import by_constants
from tests.report.render.html.test_page import Elements, people, small_audit

LATE = "ite(vitamins == 1, 2.5, ite(age <= 30, 1.5, 0.5))"


def text_of(page: str) -> str:
    return " ".join("".join(Elements(page).text).split())


def content(audit: pu.Audit, **options: Any) -> dict[str, Any]:
    return page_content(audit, document(audit, **options), None)


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_its_figures_are_those_that_data_frames_give(kind: str) -> None:
    frame = pd.DataFrame(people(3_000))
    outcomes: dict[str, Any] = {"classes": ("a", "b", "c"), "numbers": (2.5, 1.5, 0.5)}
    outcome = outcomes[kind]
    first, second, third = (repr(value) for value in outcome)
    program = pu.Program.parse(f"ite(vitamins == 1, {first}, ite(age <= 30, {second}, {third}))")
    audit = pu.audit(program, frame, "pregnant")

    def decided(vitamins: Any) -> Any:
        other = np.where(frame["age"] <= 30, outcome[1], outcome[2])
        return np.where(vitamins == 1, outcome[0], other)

    shares = frame["vitamins"].value_counts(normalize=True)
    moved = sum(
        share * (decided(frame["vitamins"]) != decided(np.full(len(frame), value)))
        for value, share in shares.items()
    )
    counts = pd.crosstab(frame["vitamins"], frame["pregnant"])
    section = next(s for s in content(audit)["sections"] if s["term"] == "vitamins")
    assert section["influence"] == pytest.approx(moved.mean(), abs=1e-4)
    guess = next(w for w in document(audit).witnesses if w.term == "vitamins").guess
    assert guess.informed == pytest.approx(counts.max(axis=1).sum() / 3_000, abs=1e-4)
    assert guess.blind == pytest.approx(counts.sum().max() / 3_000, abs=1e-4)
    assert figure(percent(guess.informed), "guess") in section["evidence"]
    assert figure(percent(guess.blind), "guess") in section["evidence"]
    assert [list(line["cells"]) for line in section["joint"]["lines"]] == counts.to_numpy().tolist()
    widths = [[part["width"] for part in line["bar"]] for line in section["joint"]["lines"]]
    shown = 100 * counts.div(counts.sum(axis=1), axis=0)
    assert np.allclose(widths, shown.to_numpy(), atol=0.001)
    witness = next(w for w in document(audit).witnesses if w.term == "vitamins")
    assert witness.direction is not None
    for group, line in zip(witness.direction.groups, section["affected"]["lines"], strict=True):
        own = moved[frame["pregnant"] == group.value.strip("'")].mean()
        assert group.changed == pytest.approx(own, abs=0.0041)
        assert line[2] == share_text(group.changed, group.step)


def test_what_is_estimated_is_not_called_exact() -> None:
    estimated = small_audit(sampling=pu.Sampling(alpha=0.05), validity=None)
    text = text_of(page_text(estimated))
    assert "These figures are exact" not in text
    assert "Influence is estimated from pairs of these rows" in text
    assert "Every column, test, branch and tree was measured." in text
    assert "These figures are exact" in text_of(page_text(small_audit(validity=None)))


def test_a_change_of_numbers_is_no_share_of_decisions() -> None:
    audit = pu.audit(pu.Program.parse(LATE), people(), "pregnant", influence=pu.SquaredChange())
    pages = Pages(audit, document(audit))
    terminal = pages.page(audit.witnesses[0], "Witness")
    assert "(its influence)" not in terminal
    printed = str(audit).replace("its influence", "Its influence")
    for page in (text_of(page_text(audit)), audit_text(document(audit)), terminal, printed):
        text = " ".join(page.split())
        assert "of decisions change." not in text
        assert "of the typical difference between two people (squared change" in text
    assert "Influence cannot be larger" not in page_text(audit)


def of_size_one(witness: pu.Witness) -> pu.Judgment | None:
    return pu.Judgment(True, "needed", "the board") if witness.size == 1 else None


def test_violations_come_before_what_was_judged_appropriate() -> None:
    first = content(small_audit(), oracle=of_size_one)["first"][0]
    assert first["judged"]["word"] == "not judged"
    assert first["size"] > 1
    assert not first["settled"]
    assert "1 judged appropriate" in first["others"]
    assert "3 violations (not judged" in text_of(page_text(small_audit(), oracle=of_size_one))
    calm = content(small_audit(), oracle=lambda w: pu.Judgment(True, "needed", "the board"))
    assert all(group["settled"] for group in calm["first"])


def test_a_group_with_violations_goes_before_one_without() -> None:
    data = people()
    program = pu.Program.parse("ite(vitamins == 1, 'a', ite(old == 1, 'a', 'b'))")
    audit = pu.audit(program, {**data, "gray": data["old"]}, ["pregnant", "gray"])

    def judge(witness: pu.Witness) -> pu.Judgment | None:
        return pu.Judgment(True, "needed", "") if witness.protected == "gray" else None

    shown = content(audit, oracle=judge)["first"]
    settled = [one["settled"] for one in shown]
    assert settled == sorted(settled)
    assert {one["protected_index"] for one in shown} == {0, 1}


def test_witnesses_of_several_attributes_are_counted_for_each() -> None:
    text = text_of(page_text(small_audit(protected=["pregnant", "old"], epsilon=0.0, delta=0.0)))
    assert "counted once for each attribute" in text
    assert "counted once for each attribute" not in text_of(page_text(small_audit()))


def test_a_repair_is_headed_by_what_it_did() -> None:
    done = by_constants(
        pu.Program.parse("ite(vitamins == 1, 'a', 'b')"),
        people(),
        protected="pregnant",
        unconfirmed=True,
    )
    text = text_of(page_text(done.before, repair=done))
    headline = "The repair for pregnant replaced 1 computation; agreement went from "
    before = text.index("Before the repair: ")
    assert text.index(headline) < before < text.index("Start here")
    assert "no witness is left on these rows." in text[:before]
    assert "pregnant" in text[before : text.index("Start here")]


def test_the_command_has_all_that_decided_which_rows_and_measures() -> None:
    about = {
        "model": {"file": "m.skops", "sha256": "0" * 64, "decision_threshold": 0.3},
        "data": {
            "files": [{"file": "d.csv", "sha256": "1" * 64}, {"file": "p.csv", "sha256": "2" * 64}],
            "where": "age >= 18",
            "weights": "w",
        },
    }
    audit = small_audit(association="cramers-v")
    command = content(audit, about=about)["check"]["command"]
    for part in ("--where 'age >= 18'", "--weights w", "--decision-threshold 0.3",
                 "--association cramers-v", "--protected-data p.csv"):  # fmt: skip
        assert part in command
    assert "--association" not in content(small_audit())["check"]["command"]


def test_nested_witnesses_that_are_not_listed_are_counted() -> None:
    generator = np.random.default_rng(0)
    data = {name: generator.integers(0, 2, 80) for name in "abcdef"}
    program = pu.Program.parse("ite(a + b + c + d + e + f >= 3, 1, 0)")
    audit = pu.audit(program, {**data, "z": data["a"]}, "z", epsilon=0.0, delta=0.0, all_sets=True)
    sections = content(audit)["sections"]
    assert any(len(s["around"]) == 12 and s["more_around"] > 0 for s in sections)
    assert "more with a section in this report" in page_text(audit)


def test_what_was_searched_and_not_exhausted_is_told() -> None:
    generator = np.random.default_rng(0)
    data = {f"x{i}": generator.normal(size=120).round(2) for i in range(16)}
    program = pu.Program.parse(f"ite({' + '.join(data)} > 0, 1, 0)")
    audit = pu.audit(program, {**data, "z": [0, 1] * 60}, "z", epsilon=0.3)
    page = page_text(audit)
    assert "Every column, test, branch and tree was measured." in page
    assert "Combinations of terms were searched, but not exhaustively." in page
    (sentence,) = audit.searched
    assert sentence in page


def test_a_long_reason_is_cut_with_the_whole_a_click_away() -> None:
    judge = pu.Judgment(False, "why " * 2_000, "n" * 500)
    page = page_text(small_audit(), oracle=lambda witness: judge)
    start = page[: page.index('id="picture-section"')]
    assert "why " * 100 not in start
    assert "n" * 100 not in start
    assert "full reason" in page
    shown = content(small_audit(), oracle=lambda witness: judge)["first"][0]["judgment"]
    assert len(shown) <= MOST_WORDS + MOST_NAME + len("Judged inappropriate by : ") + 4


def test_numbers_in_tables_are_short() -> None:
    program = pu.Program.parse(
        "ite(0.123456789012 * vitamins + -9.87654321098765 >= -9.8, 'a', 'b')"
    )
    page = page_text(pu.audit(program, people(), "pregnant"))
    assert ">0.123457</bdi>" in page
    assert "-9.877</bdi>" in page


def test_what_statistics_say_has_its_meaning_one_click_away() -> None:
    ways = ["confirm", "permutation", "cross-validation"]
    page = page_text(small_audit(validity=ways))
    explained = set(Elements(page).of("popovertarget"))
    assert {"about-bounds", "about-p-value", "about-splits"} <= explained
    assert "about-p-value" not in Elements(page_text(small_audit())).of("popovertarget")
