"""The table of benchmarks: what it says of measurements, and where it is written."""

from __future__ import annotations

import pytest

import benchmarks.deployed
from benchmarks.entries import ENTRIES, Base, chosen
from benchmarks.others import largest
from benchmarks.outcome import HEADER, Outcome
from benchmarks.run import rows_of
from benchmarks.table import END, START, markdown, replaced

BY_NAME = {entry.name: entry for entry in ENTRIES}
FINISHED = {
    "E": 0.5,
    "P": 1.0,
    "rows": 48_842,
    "first": 3.5,
    "again": 2.0,
    "memory": 1.5,
    "complete": True,
    "witnesses": 3,
}


def cells(name, **facts):
    row = Outcome(BY_NAME[name], facts).cells()
    return dict(zip(HEADER, row, strict=True))


def test_every_entry_has_a_name_of_its_own_and_a_model():
    assert len(BY_NAME) == len(ENTRIES)
    for entry in ENTRIES:
        assert callable(getattr(benchmarks.deployed, entry.case))
        assert entry.goal <= entry.limit


def test_names_and_parts_of_names_pick_entries():
    assert [entry.name for entry in chosen(["forest", "rows"])] == [
        "forest", "rows-tree", "rows-xgb", "rows-logistic",
    ]  # fmt: skip
    assert [entry.name for entry in chosen(["wide"])] == ["logistic-wide"]
    assert chosen([]) == list(ENTRIES)
    assert chosen(["nothing"]) == []


def test_a_time_is_given_in_units_of_predict():
    row = cells("forest", cold=FINISHED | {"first": 9.0}, warm=FINISHED)
    assert row["audit"] == "4 E"
    assert row["first"] == "7 E"
    assert row["cold"] == "9.00 s"
    assert row["limit (goal)"] == "10 E (5 E), 3 GB"
    assert row[""] == "goal"
    assert row["complete"] == "yes"
    assert cells("logistic", warm=FINISHED)["audit"] == "2 P"
    assert cells("logistic", warm=FINISHED)[""] == "goal"
    assert cells("logistic-wide", warm=FINISHED)["audit"] == "2 s"


def test_limits_are_for_an_audit_in_a_process_that_has_audited_before():
    assert cells("forest", warm=FINISHED | {"first": 25.0})[""] == "goal"
    assert cells("forest", warm=FINISHED | {"again": 4.0})[""] == "ok"
    assert cells("forest", warm=FINISHED | {"again": 25.0})[""] == "over"


def test_confirmation_is_compared_with_an_audit_without():
    assert cells("forest", warm=FINISHED | {"confirmed": 3.0})["confirmed"] == "1.50 x"
    assert cells("forest", warm=FINISHED)["confirmed"] == ""


def test_too_much_memory_is_over():
    assert cells("forest", warm=FINISHED | {"memory": 3.5})[""] == "over (memory)"
    assert cells("xgb", warm=FINISHED | {"memory": 3.5})[""] == "goal"


def test_a_model_that_did_not_finish_says_so():
    ended = {"E": 0.1, "P": 0.2, "rows": 48_842, "problem": "over 300 s"}
    row = cells("forest", cold=ended, warm=ended)
    assert row["audit"] == "over 300 s"
    assert row["E"] == "100 ms"
    assert row[""] == "over"
    assert cells("forest", prepare={"problem": "failed: ImportError"})["audit"].startswith("failed")


def test_other_tools_say_on_how_many_rows_if_not_on_all():
    others = {
        "shap": {"seconds": 8.0, "rows": 1000},
        "permutation": {"seconds": 12.0, "rows": 48_842},
    }
    row = cells("tree", warm=FINISHED, **others)
    assert row["SHAP"] == "8.00 s (1,000 rows)"
    assert row["permutation"] == "12.0 s"


def test_growth_is_an_exponent():
    facts: dict[str, dict[str, object]] = {
        f"rows-{n}": {"seconds": n / 1e5, "memory": 2.0} for n in BY_NAME["rows-tree"].rows
    }
    row = cells("rows-tree", **facts)
    assert row["audit"] == "n^1.00"
    assert row[""] != "over"
    facts["rows-5000000"] = {"problem": "over 900 s"}
    row = cells("rows-tree", **facts)
    assert row["audit"] == "n^1.00, over 900 s (5,000,000 rows)"
    assert row[""] == "over"


def test_a_variant_is_compared_with_the_plain_audit():
    row = cells("weights-tree", variant={"plain": 2.0, "again": 5.0, "memory": 1.0})
    assert row["audit"] == "2.5 x"
    assert row[""] == "ok"


def test_a_table_has_what_was_measured_in_the_order_of_the_entries():
    rows = rows_of({"tree": {"warm": FINISHED}, "forest": {"warm": FINISHED}})
    assert [row[0] for row in rows] == [
        "model", "RandomForestClassifier()", "DecisionTreeClassifier()",
    ]  # fmt: skip
    assert BY_NAME["tree"].base is Base.ESTIMATOR
    text = markdown([("a", "b"), ("1 | 2", "")])
    assert text.splitlines() == ["| a | b |", "|---|---|", "| 1 \\| 2 |  |"]


def test_a_page_keeps_all_but_what_stands_between_the_markers():
    page = f"before\n{START}\nold\n{END}\nafter"
    assert replaced(page, "new") == f"before\n{START}\n\nnew\n\n{END}\nafter"
    assert replaced(replaced(page, "x"), "new") == replaced(page, "new")
    with pytest.raises(SystemExit, match="no lines"):
        replaced("no table here", "new")


def test_other_tools_take_all_rows_or_as_many_as_are_affordable():
    assert largest(lambda rows: rows / 10_000, 48_842) == {"seconds": 4.8842, "rows": 48_842}
    assert largest(lambda rows: rows / 20, 48_842) == {"seconds": 50.0, "rows": 1_000}
    assert largest(lambda rows: 100.0, 48_842) == {"seconds": 100.0, "rows": 10}
