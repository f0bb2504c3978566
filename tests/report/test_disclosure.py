"""No small number of rows is printed, nor anything it could be computed from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import linprog
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.errors import DataError
from proxyuse.report.disclosure import joined_lines, printed_cells, printed_table
from proxyuse.report.document import document
from proxyuse.report.tables import RowTables

mixed = st.integers(0, 12) | st.integers(0, 400) | st.just(0)


@st.composite
def tables(draw, largest=6):
    height, width = draw(st.integers(1, largest)), draw(st.integers(1, largest))
    row = st.lists(mixed, min_size=width, max_size=width)
    return np.array(draw(st.lists(row, min_size=height, max_size=height)), dtype=np.int64)


def promised(entry, min_cell):
    """The range of values that one printed cell states."""
    if isinstance(entry, int):
        return entry, entry
    if entry == f"<{min_cell}":
        return 0, min_cell - 1
    if entry == "withheld":
        return 0, None
    low, high = entry.replace(",", "").split(" to ")
    return int(low), int(high)


def possible_values(printed, cell, min_cell):
    """What a reader of the printed table knows of a cell: its least and its largest value.

    A table with given totals and bounds has whole corners, so linear programming is exact.
    """
    cells = printed.cells
    height, width = len(cells), len(cells[0])
    bounds = [promised(entry, min_cell) for line in cells for entry in line]
    across = np.kron(np.eye(height), np.ones(width))
    down = np.kron(np.ones(height), np.eye(width))
    totals = [*printed.row_totals, *printed.column_totals]
    aim = np.zeros(height * width)
    aim[cell[0] * width + cell[1]] = 1
    ends: list[int] = []
    for sign in (1, -1):
        solved = linprog(sign * aim, A_eq=np.vstack([across, down]), b_eq=totals, bounds=bounds)
        assert solved.status == 0, solved.message
        assert solved.fun is not None
        ends.append(round(sign * float(solved.fun)))
    return ends


def check(counts, min_cell):
    height, width = counts.shape
    printed = printed_table(
        counts, [f"r{i}" for i in range(height)], [f"c{i}" for i in range(width)], min_cell
    )
    assert sum(printed.row_totals) == sum(printed.column_totals) == counts.sum()
    for i, line in enumerate(printed.cells):
        for j, entry in enumerate(line):
            if isinstance(entry, int):
                assert entry >= min_cell or len(printed.cells) == 1 or len(line) == 1
                continue
            low, high = possible_values(printed, (i, j), min_cell)
            if entry == f"<{min_cell}":
                assert (low, high) == (0, min_cell - 1)
            else:
                assert entry == "withheld" or " to " in entry
                assert high - low + 1 >= min_cell
    if printed.cells and len(printed.rows) == height and len(printed.columns) == width:
        check_ranges(printed.cells, counts, min_cell)
    return printed


def check_ranges(cells, counts, min_cell):
    """Every printed cell is true of the count behind it."""
    for line, true in zip(cells, counts.tolist(), strict=True):
        for entry, count in zip(line, true, strict=True):
            low, high = promised(entry, min_cell)
            assert low <= count
            assert high is None or count <= high


@given(tables(), st.integers(2, 9))
def test_every_hidden_count_could_be_any_small_one(counts, min_cell):
    if counts.sum() >= min_cell:
        check(counts, min_cell)


@pytest.mark.parametrize("seed", range(3))
def test_in_large_tables_too(seed):
    random = np.random.default_rng(seed)
    scale = random.choice([0.5, 3, 40], size=(9, 12))
    check(random.poisson(scale), 5)


@pytest.mark.parametrize(
    ("counts", "cells"),
    [
        ([[3, 90], [60, 70]], [["<5", "89 to 93"], ["59 to 63", "67 to 71"]]),
        ([[0, 500], [600, 0]], [["<5", "496 to 500"], ["596 to 600", "<5"]]),
        ([[3, 500], [600, 1]], [["withheld", "withheld"], ["withheld", "withheld"]]),
        ([[5, 90], [60, 70]], [[5, 90], [60, 70]]),
        ([[3, 90, 80], [60, 70, 50]], [["<5", 90, "79 to 83"], ["59 to 63", 70, "47 to 51"]]),
        ([[4, 4], [4, 4]], [["withheld", "withheld"], ["withheld", "withheld"]]),
    ],
)
def test_what_is_printed(counts, cells):
    assert printed_cells(np.array(counts), 5) == cells
    check(np.array(counts), 5)


def test_the_rectangle_that_hides_least_is_taken():
    counts = np.array([[3, 90, 80], [60, 70, 50], [7, 300, 9]])
    assert printed_cells(counts, 5) == [
        ["<5", 90, "79 to 83"],
        [60, 70, 50],
        ["6 to 10", 300, "6 to 10"],
    ]


@given(tables())
def test_with_1_all_is_printed(counts):
    printed = printed_table(counts, ["r"] * len(counts), ["c"] * counts.shape[1], 1)
    assert all(isinstance(entry, int) for line in printed.cells for entry in line)


@given(st.lists(mixed, min_size=1, max_size=60), st.integers(1, 9), st.integers(1, 20))
def test_lines_put_together_hold_enough_rows_and_every_line_is_there(totals, min_cell, most):
    lines = joined_lines(totals, min_cell, most)
    assert sorted(line for some in lines for line in some) == list(range(len(totals)))
    assert len(lines) <= most + 1
    if sum(totals) >= min_cell:
        assert all(sum(totals[line] for line in some) >= min_cell for some in lines)


def test_ranges_follow_from_what_is_printed():
    """Other counts behind the same printed table give the same ranges."""
    counts = np.array([[3, 19_713], [12_230, 353], [1_250, 256], [7_376, 205]])
    shifted = counts + np.array([[-2, 2], [0, 0], [2, -2], [0, 0]])
    assert printed_cells(counts, 5) == printed_cells(shifted, 5)
    assert printed_cells(counts, 5)[2] == ["1,249 to 1,253", "253 to 257"]


def test_a_rare_value_is_not_named():
    counts = np.array([[20, 30], [2, 1], [30, 20], [1, 1]])
    printed = printed_table(counts, ["'a'", "'Ann'", "'b'", "'Bob'"], ["false", "true"], 5)
    assert printed.rows == ("'a'", "'b'", "2 other values together")
    assert printed.row_totals == (50, 50, 5)


def test_a_long_table_is_cut():
    printed = printed_table(np.full((300, 2), 9), [str(i) for i in range(300)], ["a", "b"], 5)
    assert len(printed.rows) == 21
    assert printed.rows[-1] == "280 other values together"
    assert printed.cells[-1] == (280 * 9, 280 * 9)


@given(tables())
def test_what_is_said_of_the_commonest_value_is_true(counts):
    if counts.sum() < 5:
        return
    labels = [str(i) for i in range(counts.shape[1])]
    printed = printed_table(counts, [str(i) for i in range(len(counts))], labels, 5)
    exact = printed_table(counts, [str(i) for i in range(len(counts))], labels, 1)
    if printed.columns != exact.columns or printed.rows != exact.rows:
        return
    for commonest, line, total in zip(
        printed.commonest, exact.cells, exact.row_totals, strict=True
    ):
        if commonest is not None:
            most: Any = line[printed.columns.index(commonest.column)]
            assert most == max(line)
            assert commonest.at_least - 1e-4 <= most / total <= commonest.at_most + 1e-4


@pytest.mark.parametrize("wrong", [0, -1, 2.5, True, "5", None])
def test_min_cell_is_a_whole_number(wrong):
    with pytest.raises(DataError, match="min_cell"):
        printed_table(np.array([[1]]), ["r"], ["c"], wrong)


# Rows are counted, not weights


def people(n_rows=600):
    random = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "age": random.integers(17, 80, n_rows).astype(float),
            "wage": random.lognormal(3, 1, n_rows),
            "job": random.choice(["a", "b", "c"], n_rows),
        }
    )
    frame.loc[::50, "wage"] = np.nan
    frame["z"] = np.where(frame["age"] + random.normal(0, 9, n_rows) > 45, "old", "young")
    frame["pay"] = frame["wage"].fillna(20) + random.normal(0, 2, n_rows)
    frame["weight"] = random.uniform(0.5, 900, n_rows)
    return frame


def forest(frame):
    X = frame[["age", "wage"]]
    model = RandomForestClassifier(n_estimators=4, max_depth=3, random_state=0)
    return model.fit(X, frame["age"] + frame["wage"].fillna(0) > 60)


def tree(frame):
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(
        frame[["age", "wage"]], frame["age"] > 40
    )


def program(frame):
    return pu.Program.parse("ite(age + 2 * wage <= 60 and job in {'a', 'b'}, job, 'none')")


@pytest.mark.parametrize("model", [forest, tree, program])
def test_weights_do_not_change_what_is_counted(model):
    frame = people()
    protected = ["z", "pay"]
    audit = pu.audit(model(frame), frame, protected, 0, 0, weights="weight", max_support=64)
    tables = RowTables(audit, 5)
    seen = 0
    for decomposition in audit.decompositions:
        for name, table in decomposition.tables.items():
            counts = tables.counts(decomposition.expression, table)
            assert counts.sum() == len(frame)
            assert counts.shape == table.masses.shape
            assert np.array_equal(counts > 0, table.masses > 0)
            assert (table.masses <= counts * frame["weight"].max() + 1e-6).all()
            assert (table.masses >= counts * frame["weight"].min() - 1e-6).all()
            seen += table.binned or name == "pay"
    assert seen


def test_equal_weights_count_rows():
    frame = people().assign(weight=0.1)
    audit = pu.audit(tree(frame), frame, "z", weights="weight")
    plain = pu.audit(tree(frame), frame, "z")
    tables = RowTables(audit, 5)
    for first, second in zip(audit.decompositions, plain.decompositions, strict=True):
        counts = tables.counts(first.expression, first.tables["z"])
        assert np.array_equal(counts, second.tables["z"].masses)


def test_a_heavy_row_stays_hidden():
    data = {
        "x": [0] * 40 + [1] * 40,
        "z": ["a"] * 39 + ["b"] + ["a"] * 20 + ["b"] * 20,
        "w": [1.0] * 39 + [500.0] + [1.0] * 40,
    }
    audit = pu.audit(pu.Program.parse("ite(x == 0, 0, 1)"), data, "z", 0, 0, weights="w")
    table = document(audit).witnesses[0].table
    assert "<5" in [entry for line in table.cells for entry in line]


def test_bins_are_named_by_cuts_and_not_by_someones_value():
    frame = people()
    audit = pu.audit(tree(frame), frame, {"pay": frame["pay"]}, 0, 0, max_support=64)
    text = str(document(audit))
    for column in ("wage", "pay"):
        for extreme in (frame[column].min(), frame[column].max()):
            assert repr(float(extreme)) not in text
