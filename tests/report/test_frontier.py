"""The frontier of a repair in every format: the same figures, and a sentence for each fact."""

from __future__ import annotations

import html
import json
from dataclasses import replace
from functools import cache

import jsonschema
import msgspec
import pytest

import proxyuse as pu
from proxyuse.report.findings.frontier import (
    TITLE,
    frontier_notes,
    frontier_sentences,
    frontier_table,
)
from proxyuse.report.render.html.page import page_text
from proxyuse.report.render.markdown import repair_markdown
from proxyuse.report.render.text import repair_text
from proxyuse.report.repair_document import repair_document
from proxyuse.report.repair_result import FrontierResult, RepairResult
from proxyuse.report.saved import as_text
from tests.documents import plain, schema
from tests.frontier_cases import example, frontier_of, taken_over
from tests.portfolio_cases import DATA, OPTIONS


@cache
def result() -> RepairResult:
    return repair_document(example())


def frontier(document: RepairResult) -> FrontierResult:
    """The frontier of a result that has one."""
    assert document.frontier is not None
    return document.frontier


@pytest.mark.parametrize("repair", [example, taken_over])
def test_a_result_fits_its_schema_and_survives_a_file(repair) -> None:
    document = repair_document(repair())
    jsonschema.validate(plain(document), schema("repair"))
    again = msgspec.json.decode(as_text(document), type=RepairResult)
    assert again.frontier == document.frontier
    without = msgspec.structs.replace(document, frontier=None)
    jsonschema.validate(plain(without), schema("repair"))


def test_a_point_in_a_result_has_the_figures_of_the_repair() -> None:
    known = frontier(result())
    assert (known.varies, known.compared_on, known.constant) == ("epsilon", "validation rows", 0.5)
    for point, own in zip(known.points, example().frontier or (), strict=True):
        assert point.utility == round(own.utility or 0.0, 4)
        assert own.original.utility is not None
        difference = (own.utility or 0.0) - own.original.utility
        assert point.difference == pytest.approx(difference, abs=1e-4)
        assert (point.value, point.targets, point.requested) == (
            own.value, own.targets, own.requested,
        )  # fmt: skip
        assert (point.methods, point.columns) == (own.methods, own.columns)


def test_rates_in_a_result_imply_the_truth_and_withhold_small_counts() -> None:
    exact = frontier(repair_document(example(), min_cell=1))
    widths = []
    for point, own in zip(frontier(result()).points, exact.points, strict=True):
        for shown, right in zip(point.attributes[0].groups, own.attributes[0].groups, strict=True):
            (rate,), (truth,) = shown.rates, right.rates
            assert truth.at_least == truth.at_most
            if rate.at_least is not None and rate.at_most is not None:
                assert truth.at_least is not None
                assert rate.at_least - 1e-4 <= truth.at_least <= rate.at_most + 1e-4
                widths.append(rate.at_most - rate.at_least)
    assert max(widths) > 0


def test_every_view_has_the_table_and_the_sentences() -> None:
    document = result()
    views = {
        "print": str(example()),
        "terminal": repair_text(document, color=True),
        "markdown": repair_markdown(document),
        "html": page_text(example().before, repair=example()),
        "notebook": example()._repr_html_(),
    }
    for name, view in views.items():
        groups = name not in ("print", "terminal")
        heads, lines = frontier_table(document, groups=groups)
        text = flat(view)
        for cell in (*heads, *(cell for line in lines for cell in line)):
            assert flat(cell) in text, (name, cell)
        for sentence in frontier_sentences(document) + frontier_notes(document, groups=groups):
            assert flat(sentence) in text, (name, sentence)


def flat(view: str) -> str:
    """A text without markup, on one line."""
    for tag in ("<bdi>", "</bdi>", "<code>", "</code>", "<em>", "</em>", "`"):
        view = view.replace(tag, "")
    return " ".join(html.unescape(view).split())


def test_without_a_frontier_no_view_mentions_it() -> None:
    alone = replace(example(), frontier=None)
    views = str(alone), repair_markdown(repair_document(alone)), alone._repr_html_()
    page = page_text(alone.before, repair=alone)
    assert not any(TITLE in view for view in (*views, page))
    assert 'id="frontier"' not in page


# Sentences


def test_the_requested_thresholds_come_first_then_the_ends() -> None:
    first, ends = frontier_sentences(result())
    points = frontier(result()).points
    assert first.startswith(f"At the requested epsilon of 0.1, accuracy is {points[1].utility:.4f}")
    assert "less than before the repair (the original model has " in first
    assert first.endswith("on the validation rows.")
    assert ends == (
        f"It is {points[0].utility:.4f} at 0.02, the strictest value, and {points[-1].utility:.4f} "
        "at 0.6, the laxest value here."
    )


def test_a_result_says_where_its_model_comes_from() -> None:
    document = repair_document(taken_over())
    assert any(
        text.startswith("The model of epsilon 0.02 is returned: it is clean at the requested")
        for text in frontier_sentences(document)
    )
    _, lines = frontier_table(document)
    assert lines[2][0] == "0.1 (requested)"
    assert lines[2][-1].endswith(", as at 0.02")
    assert " at epsilon 0.02" in str(taken_over())


def test_what_is_missing_or_not_measured_is_named() -> None:
    known = frontier(result())
    point = msgspec.structs.replace(
        known.points[1], utility=None, difference=None, error=None, refusal="loss", complete=False,
        interrupted=True,
    )  # fmt: skip
    cut = msgspec.structs.replace(
        known, points=(known.points[0], point), skipped=("0.3", "0.6"), constant=None
    )
    document = msgspec.structs.replace(result(), frontier=cut)
    sentences = frontier_sentences(document)
    assert sentences[0].startswith(
        "At the requested epsilon of 0.1, there was no time to measure the accuracy"
    )
    assert sentences[-1] == "The search was interrupted: epsilon 0.3 and 0.6 are missing."
    _, lines = frontier_table(document)
    assert lines[-1][1] == "not measured"
    assert lines[-1][-1].endswith(
        "; refused: it loses more than you accept; the audit is incomplete; interrupted"
    )
    assert not any("Always predicting" in note for note in frontier_notes(document))


def test_original_models_on_folds_and_on_the_rows_of_the_repair() -> None:
    folds = repair_document(frontier_of(validation=None, cv=2, frontier="epsilon:0.1,0.6"))
    assert frontier(folds).compared_on == "folds"
    assert "on folds of held-out rows" in frontier_sentences(folds)[0]
    options = {**OPTIONS, "methods": ("constants",), "frontier": "epsilon:0.1,0.6"}
    program = example().original
    alone = repair_document(pu.repair(program, DATA, **options))
    assert frontier(alone).compared_on == "repair rows"
    assert frontier(alone).original == 1
    assert "on the rows of the repair" in frontier_sentences(alone)[0]


def test_json_names_the_thresholds_as_requested() -> None:
    document = repair_document(
        frontier_of(epsilon="50%", frontier="epsilon:20%,50%", methods=("constants",))
    )
    points = json.loads(as_text(document))["frontier"]["points"]
    assert [point["value"] for point in points] == ["20%", "50%"]
    assert points[0]["epsilon"] < points[1]["epsilon"] == document.thresholds.epsilon
