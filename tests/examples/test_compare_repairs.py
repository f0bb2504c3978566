"""The comparison of repairs: its arithmetic, its stores, and the page that states its results."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from msgspec import to_builtins

from examples import compared_cases, compared_page
from examples.compare_repairs import people
from examples.compared_cases import CASES, ROWS, SECONDS, SEEDS, TEST_ROWS, Measured, keys, read
from examples.compared_page import BLOCK, blocks, gains, replaced, summary_table
from tests.docs.pages import ROOT

DOCS = ROOT / "docs"
PAGE = (DOCS / compared_page.PAGE).read_text("utf-8")


def made_up(case, seed, accuracy, auc, log_loss, chosen="drop (age)"):
    return Measured(CASES[case], seed, 2, accuracy, auc, log_loss, chosen, (5.0, 60.0))


BETTER = made_up(0, 0, (0.85, 0.80, 0.83), (0.90, 0.80, 0.82), (0.40, 0.60, 0.45))
EQUAL = made_up(0, 1, (0.85, 0.80, 0.80), (0.90, 0.80, 0.80), (0.40, 0.50, 0.50), "constants")
WORSE = made_up(12, 0, (0.75, 0.72, 0.70), (0.80, 0.78, 0.76), (0.50, 0.55, 0.53))


def known_results():
    names = iter(keys())
    return {next(names): BETTER, next(names): EQUAL, next(names): None, "other": WORSE}


def rows_of(table):
    """The cells of a Markdown table, by the text of the first one."""
    lines = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("|")]
    return {cells[0]: cells[1:] for cells in lines}


def plain(text):
    return " ".join(text.split())


def test_a_gain_is_positive_if_all_methods_are_better():
    results = [BETTER, EQUAL, WORSE]
    assert gains(results, "accuracy") == pytest.approx([0.03, 0, -0.02])
    assert gains(results, "auc") == pytest.approx([0.02, 0, -0.02])
    assert gains(results, "log_loss") == pytest.approx([0.15, 0, 0.02])
    rounded = replace(EQUAL, log_loss=(0.4, 0.5, 0.5 + 1e-15))
    assert gains([rounded], "log_loss") == [0]


def test_the_summary_has_means_and_counts():
    rows = rows_of(summary_table([BETTER, EQUAL, WORSE]))
    assert rows["mean, original"] == ["0.817", "0.867", "0.433"]
    assert rows["mean gain over constants alone"] == ["+0.003", "0.000", "+0.057"]
    assert rows["median gain"] == ["0.000", "0.000", "+0.020"]
    assert rows["smallest and largest gain"][0] == "-0.020 to +0.030"
    assert rows["runs that are better / equal / worse"] == ["1 / 1 / 1", "1 / 1 / 1", "2 / 1 / 0"]
    assert rows["share of runs that are not worse"] == ["67%", "67%", "100%"]


def test_a_case_is_the_mean_of_its_seeds():
    rows = rows_of(blocks(known_results())["cases"])
    (tree, forest) = (cells for name, cells in rows.items() if "tree" in name or "forest" in name)
    assert tree[:3] == ["2", "0.850 / 0.800 / 0.815 (+0.015)", "0.900 / 0.800 / 0.810 (+0.010)"]
    assert forest[:3] == ["1", "0.750 / 0.720 / 0.700 (-0.020)", "0.800 / 0.780 / 0.760 (-0.020)"]


def test_sentences_say_what_the_tables_say():
    parts = {name: plain(part) for name, part in blocks(known_results()).items()}
    assert "0.3 percentage points more accurate than with constants alone" in parts["answer"]
    assert "between -2.0 and +3.0 points" in parts["answer"]
    assert (
        "Of 3 runs, all methods are at least as accurate as constants alone in 2 (67%)."
        in (parts["answer"])
    )
    assert "constants alone lose 4.3 percentage points" in parts["answer"]
    assert "Nothing was confirmed in 1 of the others" in parts["coverage"]
    assert "in 1 of 3 runs, by 2.0 percentage points at most" in parts["not better"]
    assert "the log loss is smaller in 1 of 1 runs." in parts["not better"]
    assert "chooses constants in 1 of 3 runs" in parts["no gain"]
    assert "| -6 of 295 |" in parts["worse"]


def test_a_loss_on_average_is_called_a_loss():
    names = iter(keys())
    parts = blocks({next(names): WORSE})
    assert "2.0 percentage points less accurate" in plain(parts["answer"])
    assert "0.020 lower" in plain(parts["answer"])
    only_better = plain(blocks({next(names): BETTER})["not better"])
    assert "less accurate than constants alone in 0 of 1 runs." in only_better


def test_stores_are_merged_in_the_order_of_the_cases(tmp_path):
    first, second, missing = (tmp_path / name for name in ("a.json", "b.json", "c.json"))
    one, two, three = list(keys())[:3]
    first.write_text(json.dumps({two: to_builtins(EQUAL), "another case": None}))
    second.write_text(json.dumps({three: None, one: to_builtins(BETTER), two: None}))
    known = read([first, missing, second])
    assert list(known.items()) == [(one, BETTER), (two, EQUAL), (three, None)]
    assert compared_cases.counting(known) == [BETTER, EQUAL]


def test_tables_are_written_between_markers():
    page = "# Title\n" + "".join(
        f"\nbefore {name}\n\n<!-- results: {name} -->\nold\n<!-- end of results -->\n"
        for name in blocks(known_results())
    )
    written = replaced(page, known_results())
    assert "old" not in written
    assert written.count("before ") == len(blocks(known_results()))
    assert blocks(known_results())["summary"] in written
    assert replaced(written, known_results()) == written
    with pytest.raises(SystemExit, match="results: answer"):
        replaced(page.replace("results: answer", "results: other"), known_results())


def test_the_figure_shows_every_run(tmp_path):
    compared_page.draw([BETTER, EQUAL, WORSE], tmp_path / "figure.svg")
    drawn = (tmp_path / "figure.svg").read_text()
    assert "AUC on test rows" in drawn
    assert "#d55e00" in drawn


# The page


def test_the_page_states_what_was_measured():
    known = read([DOCS / compared_page.DATA])
    assert replaced(PAGE, known) == PAGE
    assert (DOCS / compared_page.FIGURE).exists()
    assert len(compared_cases.counting(known)) >= 20


def test_the_text_around_the_results_states_the_setup():
    text = plain(BLOCK.sub("", PAGE))
    assert f"{ROWS:,} rows drawn at random" in text
    assert f"Each has {SECONDS:.0f} seconds" in text
    assert f"{len(SEEDS)} seeds" in text
    assert (
        "{:,} of Adult, {} of Contraception and {} of Student".format(*TEST_ROWS.values()) in text
    )
    one = [f"{100 / TEST_ROWS[data]:.1f}" for data in ("Contraception", "Student")]
    assert (
        f"{one[0]} percentage points of accuracy in Contraception and {one[1]} in Student" in text
    )
    stated = set(re.findall(r"\d+\.\d+", text))
    assert stated == set(one)  # every other figure with decimals is generated


@pytest.mark.parametrize("data", TEST_ROWS)
def test_the_test_rows_are_a_fifth(data):
    rows = np.arange(len(people(data, "sex")[0]))[:ROWS]
    assert len(rows[len(rows) * 8 // 10 :]) == TEST_ROWS[data]
