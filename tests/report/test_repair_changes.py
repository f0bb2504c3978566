"""Who gains and who loses by a repair: checked against the model before and after."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import proxyuse as pu
from proxyuse.measure.output_scale import Scale
from proxyuse.report.findings import repair_changes as findings
from proxyuse.report.render.html.page import page_text
from proxyuse.report.render.markdown import repair_markdown
from proxyuse.report.render.text import repair_text
from proxyuse.report.repair_changes import TwoOutputs, outcome_changes
from proxyuse.report.repair_document import repair_document
from proxyuse.verification.certify import certify
from proxyuse.verification.verify import verify
from tests.certified import forged
from tests.constant_repairs import by_constants
from tests.report.test_same_figures import inline

RNG = np.random.default_rng(0)
N = 1_500
MARRIED = RNG.random(N) < 0.5
FRAME = pd.DataFrame(
    {
        "husband": np.where(RNG.random(N) < 0.95, MARRIED, ~MARRIED).astype(int),
        "hours": RNG.integers(20, 60, N),
        "age": RNG.integers(18, 70, N),
        "married": MARRIED,
        "race": RNG.choice(["a", "b", "c"], N),
    }
)
X = FRAME[["husband", "hours", "age"]]
SCORE = 20 * MARRIED + FRAME["hours"] + FRAME["age"] / 4 + RNG.normal(scale=5, size=N)
TWO = np.where(SCORE > 62, "yes", "no")
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "forest": RandomForestClassifier(5, max_depth=4, random_state=0),
    "logistic": LogisticRegression(max_iter=500),
}


@pytest.fixture(scope="module")
def repaired():
    """A repair of each kind of model."""
    protected = {"married": MARRIED, "race": FRAME["race"]}
    return {
        name: by_constants(model.fit(X, TWO), X, TWO, protected=protected, epsilon=0.2, delta=0.05)
        for name, model in MODELS.items()
    }


@pytest.mark.parametrize("name", MODELS)
def test_gains_and_losses_add_up_to_the_changed_rows(repaired, name):
    repair = repaired[name]
    before, after = MODELS[name].predict(X), repair.model.predict(X)
    assert repair.changes_by_group.output.positive == "yes"
    total = int((before != after).sum())
    assert total == repair.changed_rows.sum() > 0
    for attribute in repair.changes_by_group.attributes:
        groups = attribute.groups
        assert sum(group.changed for group in groups) == total
        assert sum(group.up + group.down for group in groups) == total
        column = FRAME[attribute.protected].astype(str).str.lower()
        for group in groups:
            own = (column == group.value.strip("'")).to_numpy()
            assert group.up == ((before == "no") & (after == "yes"))[own].sum()
            assert group.down == ((before == "yes") & (after == "no"))[own].sum()
            for figures, side in ((group.before, before), (group.after, after)):
                assert figures[0].at_least == pytest.approx((side == "yes")[own].mean(), abs=1e-4)
                assert figures[0].at_most == figures[0].at_least


@pytest.mark.parametrize("name", MODELS)
def test_what_is_printed_implies_the_truth_and_no_small_count(repaired, name):
    exact = repaired[name].changes_by_group
    printed = repair_document(repaired[name]).changes
    pairs = zip(exact.attributes, printed.attributes, strict=True)
    for own, shown in (
        (a, b) for one, two in pairs for a, b in zip(one.groups, two.groups, strict=True)
    ):
        for part in ("changed", "up", "down"):
            count, cell = getattr(own, part), getattr(shown, part)
            assert allowed(cell, count), (part, count, cell)
            assert not isinstance(cell, int) or cell >= 5
        for side in ("before", "after"):
            (right,), (figure,) = getattr(own, side), getattr(shown, side)
            if figure.at_least is not None:
                assert figure.at_least - 1e-4 <= right.at_least <= figure.at_most + 1e-4


def first(figures: Any) -> Any:
    """The only figure of a group."""
    (figure,) = figures
    return figure


def allowed(cell, count):
    """Whether a printed cell allows a count."""
    if isinstance(cell, int):
        return cell == count
    if cell == "withheld":
        return True
    if cell.startswith("<"):
        return count < int(cell[1:])
    low, high = (int(part.replace(",", "")) for part in cell.split(" to "))
    return low <= count <= high


@given(st.lists(st.integers(0, 60), min_size=8, max_size=8))
def test_small_gains_do_not_follow_from_what_is_printed(counts):
    """Every hidden count has at least five values that fit the printed cells and rates."""
    groups = np.repeat(["a", "b"], [sum(counts[:4]) + 20, sum(counts[4:]) + 20])
    before, after = [], []
    for some in (counts[:4], counts[4:]):
        sizes = [some[0] + 10, some[1], some[2], some[3] + 10]  # stays 0, up, down, stays 1
        before += np.repeat([0.0, 0.0, 1.0, 1.0], sizes).tolist()
        after += np.repeat([0.0, 1.0, 0.0, 1.0], sizes).tolist()
    audit = pu.audit(pu.Program.parse("x"), {"x": before, "z": groups}, "z", epsilon=1)
    outputs = TwoOutputs(np.array(before), np.array(after), audit.measurement.sample.vocabulary)
    scale = Scale("class", ("0", "1"))
    exact, printed = (
        outcome_changes(audit, outputs, scale, m).attributes[0].groups for m in (1, 5)
    )
    nothing = all(group.changed == 0 for group in exact)
    for own, shown in zip(exact, printed, strict=True):
        for part in ("changed", "up", "down"):
            count, cell = getattr(own, part), getattr(shown, part)
            assert allowed(cell, count)
            assert nothing or not isinstance(cell, int) or cell >= 5
            if not isinstance(cell, int) and " to " in cell:
                low, high = (int(end.replace(",", "")) for end in cell.split(" to "))
                assert high - low >= 4
        known = [cell for cell in (shown.up, shown.down) if isinstance(cell, int)]
        rows, rate = own.rows, first(shown.after)
        if rate.at_least is not None and len(known) < 2 and not nothing:
            assert (rate.at_most - rate.at_least) * rows >= 3.9


def test_the_sentences_are_the_same_everywhere(repaired):
    repair = repaired["tree"]
    result = repair_document(repair)
    sentences = findings.changes(result)
    assert len(sentences) == 5
    shown = {
        "print": str(repair),
        "terminal": repair_text(result),
        "markdown": repair_markdown(result),
        "html": page_text(repair.before, repair=repair),
        "notebook": repair._repr_html_(),
    }
    for name, text in shown.items():
        plain = inline(text).replace("`", "")
        for sentence in sentences:
            assert sentence.replace("`", "") in plain, name


def test_numbers_have_a_mean_before_and_after():
    model = DecisionTreeRegressor(max_depth=3, random_state=0).fit(X, SCORE)
    repair = by_constants(model, X, SCORE, protected={"married": MARRIED}, epsilon=0.2, delta=0.05)
    before, after = model.predict(X), repair.model.predict(X)
    for group, own in zip(
        repair.changes_by_group.attributes[0].groups, (~MARRIED, MARRIED), strict=True
    ):
        assert group.up == (after > before)[own].sum()
        assert group.down == (after < before)[own].sum()
        assert group.changed == (after != before)[own].sum()
        assert group.before[0].at_least == pytest.approx(before[own].mean(), rel=1e-5)
        assert group.after[0].at_least == pytest.approx(after[own].mean(), rel=1e-5)
    assert "mean output was" in str(repair)


def test_several_classes_are_counted_without_a_direction():
    three = np.array(["low", "middle", "high"])[np.digitize(SCORE, [50, 68])]
    model = DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, three)
    repair = by_constants(model, X, three, protected={"married": MARRIED}, epsilon=0.2, delta=0.05)
    known = repair.changes_by_group
    assert set(known.labels) == {"low", "middle", "high"}
    after = repair.model.predict(X)
    for group, own in zip(known.attributes[0].groups, (~MARRIED, MARRIED), strict=True):
        assert group.up is None
        assert group.changed == (model.predict(X) != after)[own].sum()
        for label, figure in zip(known.labels, group.after, strict=True):
            assert figure.at_least == pytest.approx((after == label)[own].mean(), abs=1e-4)


# The certificate


@pytest.mark.parametrize("name", MODELS)
def test_a_certificate_states_the_changes_and_they_are_verified(repaired, name):
    repair = repaired[name]
    certificate = repair.certificate
    people = FRAME[["husband", "hours", "age", "married", "race"]]
    assert certificate.changes is not None
    assert certificate.changes.min_cell == 5
    result = verify(certificate, repair.model, people, original=MODELS[name])
    assert result.ok, str(result)
    assert "changes" in [check.name for check in result.checks]
    unverified = verify(certificate, repair.model, people)
    assert unverified.ok
    assert any("who gains and who loses" in text for text in unverified.stated)


def test_other_changes_are_not_verified(repaired):
    repair = repaired["tree"]
    content = repair.certificate.content
    group = next(g for g in content["changes"]["attributes"][0]["groups"])
    group["changed"] = 7 if group["changed"] != 7 else 8
    result = verify(content, repair.model, FRAME, original=MODELS["tree"])
    assert not result.ok
    wrong = next(check for check in result.checks if check.name == "changes")
    assert wrong.ok is False


@pytest.mark.parametrize("entry", ["names", "classes"])
def test_other_names_of_the_decisions_are_not_verified(entry, repaired):
    repair = repaired["tree"]
    content = repair.certificate.content
    output = content["changes"]["output"]
    changes = {**content["changes"], "output": {**output, entry: output[entry][::-1]}}
    result = verify(forged(content, changes=changes), repair.model, FRAME, original=MODELS["tree"])
    assert [check.name for check in result.checks if not check.ok] == ["changes"]


def test_withheld_changes_are_part_of_the_claim(repaired):
    repair = repaired["tree"]
    changes = repair.certified_changes(repair.after, 10_000)
    content = certify(repair.after, changes=changes, repaired=repair.story()).content
    result = verify(content, repair.program, FRAME, original=MODELS["tree"])
    assert "min_cell 10000 (default 5)" in str(result).splitlines()[2]


def test_an_audit_that_repairs_nothing_has_no_changes():
    audit = pu.audit(pu.Program.parse("ite(hours > 30, 1, 0)"), FRAME, "married")
    assert pu.certify(audit).changes is None
