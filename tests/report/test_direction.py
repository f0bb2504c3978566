"""Who gains and who loses, and what each group gets: recomputed, and never too precise."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from scipy.stats import binomtest
from sklearn.linear_model import LinearRegression
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.report.document import document
from proxyuse.report.findings import direction as findings
from proxyuse.report.outcome_result import (
    AttributeOutcomes,
    GroupOutcome,
    OutcomeFigure,
    Outcomes,
    Output,
)
from proxyuse.report.render.html.page import page_text
from proxyuse.report.render.markdown import audit_markdown
from proxyuse.report.render.text import audit_text, witness_text
from proxyuse.validity.outcome_bounds import mean_bounds, rate_bounds
from tests.report.test_same_figures import inline, surfaces

RNG = np.random.default_rng(0)
N = 2_000
MARRIED = RNG.random(N) < 0.5
FRAME = pd.DataFrame(
    {
        "husband": np.where(RNG.random(N) < 0.9, MARRIED, ~MARRIED),
        "hours": RNG.integers(20, 60, N),
        "married": MARRIED,
    }
)
PROGRAM = pu.Program.parse("ite(husband and hours > 30, 'yes', 'no')")
AUDIT = pu.audit(PROGRAM, FRAME, "married")


def groups_of(outcomes: Outcomes) -> Any:
    """The groups of the first attribute."""
    return outcomes.attributes[0].groups


def decided(husband):
    return np.asarray(husband) & (FRAME["hours"].to_numpy() > 30)


# One witness


def test_a_swap_takes_away_what_the_computation_gives():
    witness = next(w for w in AUDIT.witnesses if w.term == "husband")
    known = {group.value: group for group in AUDIT.direction(witness).groups}
    share = FRAME["husband"].mean()
    now, given_true, given_false = (decided(v) for v in (FRAME["husband"], True, False))
    for value, own in (("true", MARRIED), ("false", ~MARRIED)):
        up = (share * (given_true & ~now) + (1 - share) * (given_false & ~now))[own].mean()
        down = (share * (now & ~given_true) + (1 - share) * (now & ~given_false))[own].mean()
        assert known[value].up == pytest.approx(up, abs=1e-4)
        assert known[value].down == pytest.approx(down, abs=1e-4)
    sentence = findings.at_present("married", AUDIT.direction(witness), AUDIT.outcomes.output)[0]
    assert "raises the share of `yes`" in sentence
    assert sentence.index("people who are married") < sentence.index("lowers it")
    assert sentence.endswith("for people who are not married.")


def test_the_sentences_are_the_same_everywhere():
    result = document(AUDIT)
    first = result.by_key()[result.groups[0].protected, result.groups[0].representative]
    sentences = findings.direction(result, first)
    assert len(sentences) == 3
    for name, text in surfaces(AUDIT).items():
        shown = inline(text).replace("`", "")
        for sentence in sentences:
            assert sentence.replace("`", "") in shown, name
    shown = witness_text(result, first)
    heads, lines = findings.direction_table(result, first)
    for cell in (*heads, *(cell for line in lines for cell in line)):
        assert cell in shown


def test_outcomes_are_the_same_everywhere():
    sentences = findings.outcomes(document(AUDIT))
    assert sentences[-1].endswith(findings.CONTEXT)
    shown = surfaces(AUDIT)
    for name in ("print", "terminal", "markdown", "html", "notebook"):
        for sentence in sentences:
            assert sentence.replace("`", "") in inline(shown[name]).replace("`", ""), name


def test_several_classes_have_changes_but_no_direction():
    text = "ite(husband, 'a', ite(hours > 30, 'b', 'c'))"
    audit = pu.audit(pu.Program.parse(text), FRAME, "married")
    result = document(audit)
    known = result.witnesses[0].direction
    assert known is not None
    assert all(group.changed and group.up is None for group in known.groups)
    assert findings.NO_DIRECTION in findings.direction_remarks(result, result.witnesses[0])
    assert findings.NO_DIRECTION.replace("`", "") in inline(page_text(audit)).replace("`", "")
    assert result.outcomes.labels == ("a", "b", "c")
    rates = [sum(f.at_least for f in g.figures) for g in groups_of(result.outcomes)]
    assert rates == pytest.approx([1, 1], abs=2e-4)


def test_numbers_go_up_and_down_and_have_a_mean_change():
    audit = pu.audit(pu.Program.parse("ite(husband, 30, 0) + hours"), FRAME, "married")
    witness = next(w for w in audit.witnesses if w.term == "husband")
    known = {group.value: group for group in audit.direction(witness).groups}
    husband = FRAME["husband"]
    for value, own in (("true", MARRIED), ("false", ~MARRIED)):
        moved = 30 * (husband.mean() - husband[own].mean())
        assert known[value].mean_change == pytest.approx(moved, rel=1e-5)
        assert known[value].up == pytest.approx((~husband[own]).mean() * husband.mean(), abs=1e-4)
    text = " ".join(str(audit).split())
    assert "At present, this value raises the mean output by" in text
    assert "to a larger number" in text
    assert "The mean output is" in text


def test_a_move_is_called_a_move():
    program = pu.Program.parse("ite(husband, 30, 0) + hours")
    audit = pu.audit(program, FRAME, "married", influence=pu.Moved(5))
    text = " ".join(str(audit).split())
    assert "the output would move by more than 5 for" in text
    result = document(audit)
    heads, _ = findings.direction_table(result, result.witnesses[0])
    assert heads[2] == "moved by more than 5"


def test_directions_beyond_the_first_witnesses_are_not_computed(monkeypatch):
    monkeypatch.setattr("proxyuse.report.direction.MOST_DIRECTIONS", 1)
    result = document(AUDIT)
    assert sum(w.direction is not None for w in result.witnesses) == 1
    assert "Not computed here because it takes too long." in inline(page_text(AUDIT))


def test_a_copy_of_an_audit_knows_its_directions():
    import pickle

    copy = pickle.loads(pickle.dumps(AUDIT))
    assert copy.direction(copy.witnesses[0]) == AUDIT.direction(AUDIT.witnesses[0])
    assert copy.outcomes == AUDIT.outcomes


# The model as a whole


def compas_like(n=6_000, seed=3):
    """Defendants: the score follows priors and age, which differ a little between the groups."""
    rng = np.random.default_rng(seed)
    black = rng.random(n) < 0.6
    priors = rng.poisson(np.where(black, 4.2, 2.6))
    return pd.DataFrame(
        {
            "priors": priors,
            "age": rng.integers(18, 70, n),
            "race": np.where(black, "African-American", "Caucasian"),
        }
    )


def test_rates_that_differ_are_stated_although_no_proxy_is_found():
    people = compas_like()
    rng = np.random.default_rng(4)
    risk = 0.35 * people["priors"] - 0.03 * people["age"] + rng.logistic(size=len(people)) > 0
    model = DecisionTreeClassifier(max_leaf_nodes=8, random_state=0)
    model.fit(people[["priors", "age"]], risk.astype(int))
    audit = pu.audit(model, people, "race")
    assert not audit.witnesses
    flagged = model.predict(people[["priors", "age"]])
    (attribute,) = audit.outcomes.attributes
    for group in attribute.groups:
        own = flagged[people["race"] == group.value.strip("'")]
        assert group.figures[0].at_least == pytest.approx(own.mean(), abs=1e-4)
        bounds = binomtest(int(own.sum()), len(own)).proportion_ci(1 - 0.05 / 2)
        assert group.figures[0].low == pytest.approx(bounds.low, abs=1e-4)
        assert group.figures[0].high == pytest.approx(bounds.high, abs=1e-4)
    high, low = (flagged[people["race"] == race].mean() for race in sorted(set(people["race"])))
    text = " ".join(str(audit).split())
    assert f"The share of `1` is {100 * high:.1f}%" in text
    assert "for people with race 'African-American'" in text
    assert f"a difference of {100 * (high - low):.1f} percentage points" in text
    assert findings.CONTEXT in text
    for rendered in (audit_markdown(document(audit)), page_text(audit), audit._repr_html_()):
        assert findings.CONTEXT in inline(rendered)


def test_tiny_groups_do_not_hide_a_clear_difference():
    """The sizes of the groups of COMPAS: the extremes are eleven people and thirty-one."""
    sizes = {"African-American": 3175, "Caucasian": 2103, "Hispanic": 509, "Other": 343}
    sizes |= {"Asian": 31, "Native American": 11}
    rates = {"African-American": 0.45, "Caucasian": 0.26, "Hispanic": 0.27, "Other": 0.26}
    race = np.repeat(list(sizes), list(sizes.values()))
    rate = np.array([rates.get(group, 0.35) for group in sizes]).repeat(list(sizes.values()))
    flagged = np.random.default_rng(0).random(len(race)) < rate
    flagged[race == "Asian"] = np.arange(31) < 6
    flagged[race == "Native American"] = np.arange(11) < 6
    audit = pu.audit(pu.Program.parse("ite(x, 1, 0)"), {"x": flagged}, {"race": race})
    text = " ".join(str(audit).split())
    assert text.startswith("No proxy use of race found")
    assert "for people with race 'African-American' and" in text
    assert "the clearest difference among 6 groups" in text
    assert "for people with race 'Native American'" not in text
    assert "bounds overlap" not in text
    assert text.index(findings.OUTCOMES) < text.index("Closest to proxy use")


def test_withheld_groups_are_not_called_the_highest_or_the_lowest():
    known = OutcomeFigure(0.5, 0.5, 0.45, 0.55)
    figures = {"a": OutcomeFigure(0.7, 0.7, 0.65, 0.75), "b": known, "c": known, "d": known}
    figures["e"] = OutcomeFigure(None, None, None, None)
    groups = [GroupOutcome(value, 400, (figure,)) for value, figure in figures.items()]
    attribute = AttributeOutcomes("z", tuple(groups))
    outcomes = Outcomes(Output("class", "1", "0"), ("1",), 0.95, (attribute,))
    text = findings.attribute_outcome(outcomes, attribute)
    assert " 4 groups; 1 more is withheld)" in text


def test_an_attribute_whose_values_are_one_group_has_no_sentence_about_groups():
    ids = [f"p{number}" for number in range(300)]
    data = {"x": np.random.default_rng(0).normal(size=300), "id": ids}
    audit = pu.audit(pu.Program.parse("ite(x > 0, 1, 0)"), data, "id")
    known = document(audit).witnesses[0].direction
    assert known is not None
    assert len(known.groups) == 1
    assert "Swapping in another person's value changes" in " ".join(str(audit).split())
    assert "one of 300 values" not in str(audit)


def test_groups_with_equal_changes_share_a_clause():
    audit = pu.audit(
        pu.Program.parse("ite(x == 'a', 1, 0)"),
        {"x": ["a", "a", "b", "b"] * 100},
        {"z": ["p", "q", "r", "s"] * 100},
    )
    text = " ".join(str(audit).split())
    assert "by 50 percentage points for people with z 'p' and people with z 'q'" in text


def test_mean_outputs_by_group_have_t_intervals():
    model = LinearRegression().fit(FRAME[["husband", "hours"]], FRAME["hours"] + 20 * MARRIED)
    audit = pu.audit(model, FRAME, "married")
    outputs = model.predict(FRAME[["husband", "hours"]])
    for group, own in zip(groups_of(audit.outcomes), (~MARRIED, MARRIED), strict=True):
        some = outputs[own]
        (figure,) = group.figures
        assert figure.at_least == pytest.approx(some.mean(), rel=1e-5)
        assert figure.low < some.mean() < figure.high
        assert figure.high - figure.low == pytest.approx(
            2 * 2.2434 * some.std(ddof=1) / np.sqrt(len(some)), rel=1e-2
        )


def test_the_bounds_of_all_groups_hold_at_once():
    """Six groups with the same rate: all intervals hold it in at least 95% of the samples."""
    rng = np.random.default_rng(1)
    held = 0
    program = pu.Program.parse("ite(x > 0, 1, 0)")
    for _ in range(120):
        data = {"x": (rng.random(400) < 0.2) * 1.0, "z": rng.integers(0, 6, 400)}
        groups = groups_of(pu.audit(program, data, "z").outcomes)
        held += all(g.figures[0].low <= 0.2 <= g.figures[0].high for g in groups)
    assert held >= 0.9 * 120


def test_bounds_for_weights_are_wider_than_for_equal_rows():
    equal = rate_bounds(0.3, 0.3 * 0.7 / 200, 200, 0.025)
    heavy = rate_bounds(0.3, 0.3 * 0.7 / 90, 90, 0.025, heaviest=4.0)
    assert heavy[0] < equal[0] < 0.3 < equal[1] < heavy[1]
    assert mean_bounds(1.0, 0.1, 1.5, 0.025) is None


def test_weighted_rates_are_by_weight():
    weights = RNG.integers(1, 6, N)
    audit = pu.audit(PROGRAM, FRAME, "married", weights=weights)
    positive = decided(FRAME["husband"])
    for group, own in zip(groups_of(audit.outcomes), (~MARRIED, MARRIED), strict=True):
        rate = np.average(positive[own], weights=weights[own])
        assert group.figures[0].at_least == pytest.approx(rate, abs=1e-4)
        assert group.figures[0].low < rate < group.figures[0].high


def test_a_numeric_attribute_has_sixteen_groups():
    data = {"x": RNG.normal(size=3_000), "income": RNG.normal(size=3_000)}
    audit = pu.audit(pu.Program.parse("ite(x > 0, 1, 0)"), data, "income", epsilon=0.5)
    assert len(groups_of(audit.outcomes)) == 16
    assert "the highest and the lowest of 16 groups" in " ".join(str(audit).split())


# Small counts


@example(3, 4, 5, 5)  # too few rows for other data: nothing but the totals is known
@example(2, 5, 5, 5)
@given(st.integers(0, 30), st.integers(0, 30), st.integers(5, 60), st.integers(5, 60))
def test_a_small_count_does_not_follow_from_a_rate(first, second, rows, other_rows):
    """At least five numbers of positive decisions fit what is printed of each group."""
    positive = [min(first, rows), min(second, other_rows)]
    data = {
        "x": np.repeat([1, 0, 1, 0], [positive[0], rows - positive[0], positive[1],
                                      other_rows - positive[1]]),
        "z": np.repeat(["a", "b"], [rows, other_rows]),
    }  # fmt: skip
    audit = pu.audit(pu.Program.parse("ite(x == 1, 1, 0)"), data, "z", epsilon=1)
    groups = groups_of(document(audit).outcomes)
    for group, count, total in zip(groups, positive, (rows, other_rows), strict=True):
        figure = group.figures[0]
        if 0 < min(count, total - count) < 5 or count in (0, total):
            least, most = round(figure.at_least * total), round(figure.at_most * total)
            assert least <= count <= most
            assert most - least >= 4


def test_shares_are_no_finer_than_min_cell_rows():
    data = {**FRAME, "group": np.where(np.arange(N) < 120, "rare", "common")}
    audit = pu.audit(PROGRAM, data, "group", epsilon=0)
    shown = [w.direction for w in document(audit).witnesses if w.direction]
    groups = [g for known in shown for g in known.groups if g.value == "'rare'"]
    printed = [g for g in groups if g.up is not None]
    assert printed
    for rare in printed:
        assert rare.step >= 5 / 120
        for share in (rare.up, rare.down):
            assert share is not None
            assert round(share / rare.step, 6) == round(share / rare.step)


def test_the_mean_of_few_outputs_does_not_reveal_them():
    """One row in fifty has another output: the mean is rounded to more than that moves it."""
    data = {"x": np.arange(100) % 50 == 0, "z": np.repeat(["a", "b"], 50)}
    audit = pu.audit(pu.Program.parse("ite(x, 100, 0) + 0 * ite(x, 1, 2)"), data, "z", epsilon=1)
    figures = [g.figures[0] for g in groups_of(document(audit).outcomes)]
    assert [f.at_least for f in figures] == [0, 0]
    assert [g.figures[0].at_least for g in groups_of(audit.outcomes)] == [2, 2]


def test_text_without_outcomes_for_vectors():
    program = pu.Program.parse("[2 * hours, hours]")
    audit = pu.audit(program, FRAME, "married", epsilon=0.9)
    assert audit.outcomes.attributes == ()
    assert findings.OUTCOMES not in audit_text(document(audit))
