"""Withheld counts cannot be computed from what is printed (`attack`)."""

from __future__ import annotations

import html
import json
import re
from datetime import UTC, datetime

import numpy as np
import pytest

from proxyuse.judge.record import Record
from proxyuse.report.document import document
from proxyuse.report.render.html.page import page_text
from proxyuse.report.render.text import witness_text
from proxyuse.report.saved import as_text
from proxyuse.report.witness_page import Pages
from proxyuse.words import fixed
from tests.report.attack import Attack, association
from tests.report.hidden_tables import MIN_CELL, audited, cases


def attacked(counts):
    """How many values each withheld count can have: the fewest, and what is printed."""
    audit, computations, decisions = audited(counts)
    result = json.loads(as_text(document(audit, thresholds=True)))
    attack = Attack(result, computations, decisions)
    assert attack.witnesses
    fewest = np.inf
    values = attack.values(counts)
    for witness in attack.witnesses:
        if not witness["table"]["rows"]:
            continue  # withheld with its totals, which this attack takes as known
        labels, merged = attack.lines(witness["term"], counts)
        for place in np.argwhere(merged < MIN_CELL):
            fewest = min(fewest, int(values[witness["term"]][tuple(place)]))
        printed = witness["table"]
        for label, cells in zip(printed["rows"], printed["cells"], strict=True):
            for column, cell in enumerate(cells):
                if not isinstance(cell, int):
                    number = values[witness["term"]][labels.index(label), column]
                    fewest = min(fewest, int(number))
    return fewest, result, audit


def check(number, sizes, seed=0):
    tables = list(cases(number, sizes, seed))
    assert len(tables) == number
    assert {int(counts.sum()) for counts in tables} == {*sizes}
    for counts in tables:
        fewest, result, _ = attacked(counts)
        assert fewest >= MIN_CELL, (counts.tolist(), fewest)
        if fewest < np.inf:
            (lost,) = result["precision"]
            assert lost["values"] >= MIN_CELL or lost["withheld"]


def test_an_attack_leaves_enough_values_for_each_withheld_count():
    check(16, [300])


@pytest.mark.slow
def test_the_attack_fails_on_tables_of_many_shapes_and_sizes():
    check(224, [300, 300, 1_000, 1_000, 5_000, 5_000, 20_000], seed=1)
    check(16, [50_000], seed=2)


def test_the_attack_succeeds_on_exact_figures():
    """Totals and four decimals identify the table, so the attack can tell a leak."""
    counts = np.array([[3, 197], [96, 4]])
    audit, computations, decisions = audited(counts)
    result = json.loads(as_text(document(audit)))
    for entry in [*result["witnesses"], *result["references"], *result["nearest"]]:
        entry["association_range"] = None
        entry["association"] = round(association(counts), 4)
    values = Attack(result, computations, decisions).values(counts)
    assert all(number == 1 for cells in values.values() for number in cells.ravel())


def test_without_small_counts_every_figure_has_four_decimals():
    audit, _, _ = audited(np.array([[30, 170], [90, 20]]))
    result = document(audit)
    assert not result.precision
    for witness in result.witnesses:
        exact = next(w for w in audit.witnesses if w.key == witness.key)
        assert witness.association_range is None
        assert witness.association == round(exact.association, 4)
        assert all(isinstance(cell, int) for line in witness.table.cells for cell in line)


def test_tables_that_differ_only_in_a_withheld_count_print_the_same():
    """Not only figures that agree: a reader who knows how they are rounded learns nothing."""
    printed = []
    for small in range(MIN_CELL):
        counts = np.array([[small, 200 - small], [150 - small, 50 + small]])
        result = document(audited(counts)[0])
        figures = {
            w.id: (w.association_range, w.table, w.guess.informed_range) for w in result.witnesses
        }
        printed.append((figures, result.outcomes))
    assert all(other == printed[0] for other in printed)


def test_every_format_prints_the_same_ranges():
    audit, _, _ = audited(np.array([[3, 197], [96, 4]]))
    result = document(audit)
    page = page_text(audit)
    script = re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    assert script is not None
    points = json.loads(script[1])
    drawn = dict(zip(points["columns"]["id"], points["columns"]["association"][0], strict=True))
    for witness in result.witnesses:
        assert witness.association_range is not None
        low, high = witness.association_range
        assert drawn[witness.id] == witness.association == pytest.approx((low + high) / 2)
        assert f"between {low:g} and {high:g}" in html.unescape(page)
        assert f"{fixed(witness.association, 4)}, between {low:g} and {high:g}" in witness_text(
            result, witness
        )
    exact = [w.association for w in audit.witnesses]
    assert not any(fixed(value, 4) in page for value in exact)


def exact_result(counts):
    return document(audited(counts)[0], min_cell=1, thresholds=True)


def test_guesses_that_depend_on_the_folds_are_ranges():
    """In the line of `x > 0`, 87 and 86 people are nearly tied, so each swap changes the guess."""
    counts = np.array([[125, 2], [0, 85], [87, 1]])
    printed = document(audited(counts)[0])
    for step in (0, 1, -1):
        others = exact_result(counts + step * np.array([[1, -1], [0, 0], [-1, 1]]))
        for witness, other in both(printed, others):
            low, high = witness.guess.informed_range or [witness.guess.informed] * 2
            assert low <= other.guess.informed <= high


def both(printed, others):
    known = others.by_key()
    return [(witness, known[witness.key]) for witness in printed.witnesses]


@pytest.mark.parametrize("counts", [[[98, 1], [3, 9], [186, 3]], [[136, 1], [1, 19], [143, 0]]])
def test_the_order_of_witnesses_follows_from_the_printed_figures(counts):
    """The exact order would tell which of two overlapping ranges has the larger association."""
    result = document(audited(np.array(counts))[0])
    for _, *others in result.members().values():  # the representative comes first
        order = [(-w.association, -w.influence, w.size, w.id) for w in others]
        assert order == sorted(order)


@pytest.mark.parametrize("counts", [[[120, 2], [0, 52], [125, 1]], [[159, 4], [0, 137]]])
def test_confirmed_counts_at_other_thresholds_do_not_tell_possible_tables_apart(counts):
    true = np.array(counts)
    printed = document(audited(true)[0], thresholds=True)
    (table,) = printed.threshold_table
    move = np.zeros_like(true)
    move[0], move[-1] = (1, -1), (-1, 1)
    for step in (-2, -1, 1, 2):
        other = true + step * move
        if (other < 0).any() or not possible_associations(printed, exact_result(other)):
            continue
        (exact,) = exact_result(other).threshold_table
        for line, known in zip(table.confirmed, exact.confirmed, strict=True):
            for epsilon, shown, number in zip(table.epsilons, line, known, strict=True):
                assert shown is None or shown == number or epsilon == printed.thresholds.epsilon


def possible_associations(printed, others):
    for witness, other in both(printed, others):
        low, high = witness.association_range or [witness.association] * 2
        if not low - 1e-4 <= other.association <= high + 1e-4:
            return False
    return True


def test_how_well_a_rule_predicts_an_attribute_does_not_narrow_a_withheld_count():
    counts = np.array([[701, 3], [21, 4275]])
    (printed,) = document(audited(counts)[0]).protected[0].explicit
    for step in range(-3, 2):
        other = counts + step * np.array([[1, -1], [-1, 1]])
        (exact,) = exact_result(other).protected[0].explicit
        assert printed.accuracy <= exact.accuracy
        assert printed.others <= exact.others


def test_a_page_for_a_judge_shows_an_earlier_association_only_as_a_range():
    audit, _, _ = audited(np.array([[3, 197], [96, 4]]))
    witness = audit.witnesses[0]
    record = Record(
        witness.protected, witness.term, "", ("x",), witness.association, 0.9, witness.id,
        True, "Needed.", "Ada", datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    page = Pages(audit, document(audit)).page(witness, "1 of 1", [record])
    assert "then and now" in page
    assert f"{witness.association:.3f}" not in page
