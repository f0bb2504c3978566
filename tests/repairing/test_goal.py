"""What a repair removes, and what it leaves alone."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.detect.progress import Clock
from proxyuse.lang.nodes import Const, variables
from proxyuse.lang.positions import Site
from proxyuse.repairing import best_constants, constants
from proxyuse.repairing.constants import Removal
from proxyuse.repairing.goal import Goal
from proxyuse.repairing.requested_utility import utility_on_rows
from proxyuse.repairing.search import Search
from proxyuse.request import request_for
from proxyuse.settings import AuditOptions
from proxyuse.verdict import Verdict
from tests.constant_repairs import QUICK, by_constants

ROWS = 900
OPTIONS: dict[str, Any] = {"protected": "z", "epsilon": 0.1, "delta": 0.05}


def people(rows: int = ROWS, seed: int = 0) -> pd.DataFrame:
    """A column close to the attribute, a weaker one, others, and labels that need them all."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, rows)
    data = {"close": np.where(rng.random(rows) < 0.02, 1 - z, z) * 15 + rng.integers(0, 10, rows)}
    data["weak"] = np.where(rng.random(rows) < 0.4, 1 - z, z) * 10 + rng.integers(0, 10, rows)
    data |= {name: rng.integers(0, 50, rows) for name in ("age", "hours")}
    score = 3 * data["close"] + data["age"] + 0.8 * data["hours"] + rng.normal(0, 8, rows)
    return pd.DataFrame(data).assign(paid=(score > np.median(score)).astype(int), z=z)


COLUMNS = ["close", "weak", "age", "hours"]
MODELS = {
    "tree": DecisionTreeClassifier(max_depth=5, random_state=0),
    "forest": RandomForestClassifier(6, max_depth=3, random_state=0),
    "boosting": GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0),
    "linear": LogisticRegression(max_iter=500),
}


@pytest.fixture(scope="module")
def unseen() -> pd.DataFrame:
    """Rows that trained nothing."""
    return people(seed=1)


@pytest.fixture(scope="module", params=MODELS)
def model(request: pytest.FixtureRequest) -> Any:
    """A fitted model."""
    data = people()
    return MODELS[request.param].fit(data[COLUMNS], data["paid"])


def majority(data: pd.DataFrame) -> float:
    """The accuracy of the best constant."""
    return max(data["paid"].mean(), 1 - data["paid"].mean())


# Targets


def test_coin_flips_change_nothing(model: Any, unseen: pd.DataFrame) -> None:
    rng = np.random.default_rng(5)
    for _ in range(3):
        data = unseen.assign(z=rng.integers(0, 2, ROWS))
        repair = by_constants(model, data, "paid", protected="z", epsilon=0.001, delta=0.01)
        assert repair.targets == 0
        assert repair.program == repair.original
        assert repair.steps == ()
        assert repair.collections == ()
        assert repair.indistinct == len(repair.before.violations()) + len(
            repair.before.collection_violations()
        )


def test_what_is_confirmed_is_removed_and_nothing_clear_is_left(
    model: Any, unseen: pd.DataFrame
) -> None:
    repair = by_constants(model, unseen, "paid", **OPTIONS)
    assert repair.targets > 0
    audit = pu.audit(repair.model, unseen, "z", epsilon=0.1, delta=0.05)
    assert audit.verdict in (Verdict.POSSIBLE, Verdict.NOT_FOUND)
    for witness in audit.witnesses:
        assert witness.validity is not None
        corrected = witness.validity.corrected_association
        assert corrected is not None
        assert corrected < 0.1
    assert repair.used.after >= majority(unseen)
    assert not repair.interrupted


def test_without_tests_every_violation_is_a_target() -> None:
    data = {"x": [1, 1, 0, 0], "y": [1, 2, 1, 2], "z": [1, 1, 0, 0]}
    program = pu.Program.parse("ite(x == 1, 'a', ite(y == 1, 'a', 'b'))")
    kept = by_constants(program, data, **OPTIONS)
    assert kept.program == program
    assert kept.indistinct == len(kept.before.violations()) > 0
    assert "cannot be distinguished from chance" in " ".join(str(kept).split())
    for options in ({"validity": None}, {"unconfirmed": True}):
        assert by_constants(program, data, **OPTIONS, **options).after.violations() == []


def test_clusters_count_as_one_observation() -> None:
    data = {"x": [1, 1, 0, 0] * 50, "z": [1, 1, 0, 0] * 50, "one": [*range(200)]}
    program = pu.Program.parse("ite(x == 1, 'a', 'b')")
    assert by_constants(program, data, clusters="one", **OPTIONS).targets > 0
    few = data | {"one": [0, 1, 2, 3] * 50}
    assert by_constants(program, few, clusters="one", **OPTIONS).targets == 0


# Explicit use


def ages(rows: int = 1500) -> dict[str, Any]:
    """Ages that determine who is over 60, far from being determined by it."""
    rng = np.random.default_rng(0)
    return {"age": rng.integers(18, 90, rows), "hours": rng.integers(0, 60, rows)}


def test_a_column_that_determines_the_attribute_loses_its_influence() -> None:
    program = pu.Program.parse("ite(age <= 25, 'a', ite(hours <= 30, 'a', 'b'))")
    options: Any = {"protected": {"over60": "age > 60"}, "epsilon": 0.3, "delta": 0.02}
    repair = by_constants(program, ages(), **options)
    assert repair.before.violations() == []
    assert [use.column for use in repair.before.explicit_violations()] == ["age"]
    assert repair.targets == 1
    assert repair.after.explicit_violations() == []
    assert "hours <= 30" in str(repair.program)


def test_a_column_that_was_judged_appropriate_stays() -> None:
    program = pu.Program.parse("ite(age <= 25, 'a', ite(hours <= 30, 'a', 'b'))")
    repair = by_constants(
        program, ages(), protected={"over60": "age > 60"}, epsilon=0.3, delta=0.02,
        oracle=lambda found: pu.Judgment(found.term == "age", "the law asks for it"),
    )  # fmt: skip
    assert repair.targets == 0
    assert repair.program == program


# Entirely


def test_a_denied_column_is_not_read_any_more(unseen: pd.DataFrame) -> None:
    data = people()
    model = MODELS["tree"].fit(data[COLUMNS], data["paid"])

    def denied(found: Any) -> pu.Judgment:
        return pu.Judgment(found.term != "close", "close is not to be used")

    below = by_constants(model, unseen, "paid", oracle=denied, **OPTIONS)
    entirely = by_constants(model, unseen, "paid", oracle=denied, remove="entirely", **OPTIONS)
    assert "close" in variables(below.original.term)
    assert "close" not in variables(entirely.program.term)
    assert majority(unseen) <= entirely.used.after <= below.used.after


def test_a_denied_computation_is_gone_at_all_its_positions() -> None:
    rng = np.random.default_rng(0)
    z = rng.integers(0, 2, 800)
    data = {"x": z, "y": rng.integers(0, 4, 800), "z": z}
    program = pu.Program.parse(
        "ite(y <= 0, ite(x <= 0, 'a', 'b'), ite(y <= 1, 'a', ite(x <= 0, 'b', 'a')))"
    )
    repair = by_constants(program, data, remove="entirely", **OPTIONS)
    assert "x" not in variables(repair.program.term)
    assert "y" in variables(repair.program.term)
    with pytest.raises(pu.DataError, match="remove: expected"):
        by_constants(program, data, remove="all", **OPTIONS)


# The end of the search


def repaired_until(deadline: float | None, goal: Goal | None = None) -> Any:
    data = people()
    model = MODELS["forest"].fit(data[COLUMNS], data["paid"])
    request = request_for(model, data, "z", AuditOptions(epsilon=0.05, delta=0.02))
    goal, clock = goal or Goal(unconfirmed=True), Clock(None)
    before = goal.examine(request, clock=clock)
    used = utility_on_rows(request, before.program, data, "paid", None, clock)
    program = before.program
    removal = Removal(request, program, goal, used, before=before, effort=QUICK, clock=clock)
    return goal, removal.improve(deadline)


def test_the_floor_is_there_when_no_time_is_left() -> None:
    goal, done = repaired_until(time.monotonic() - 1)
    assert done.stopped == "deadline"
    assert isinstance(done.program.term, Const)
    assert done.value == pytest.approx(majority(people()))
    assert not goal.remaining(done.after)


def test_an_interrupt_keeps_the_best_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    _, whole = repaired_until(None)
    assert whole.stopped is None

    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "best_first", interrupted)
    goal, done = repaired_until(None)
    assert done.stopped == "interrupt"
    assert not goal.remaining(done.after)
    assert majority(people()) <= done.value <= whole.value
    monkeypatch.setattr(constants, "replace_columns", interrupted)
    _, floor = repaired_until(None)
    assert floor.stopped == "interrupt"
    assert isinstance(floor.program.term, Const)


def removal(model: str) -> Removal:
    data = people()
    fitted = MODELS[model].fit(data[COLUMNS], data["paid"])
    request = request_for(fitted, data, "z", AuditOptions(epsilon=0.05, delta=0.02))
    goal, clock = Goal(unconfirmed=True), Clock(None)
    before = goal.examine(request, clock=clock)
    used = utility_on_rows(request, before.program, data, "paid", None, clock)
    return Removal(request, before.program, goal, used, before=before, effort=QUICK, clock=clock)


def test_a_search_that_was_paused_ends_like_one_that_was_not() -> None:
    whole = removal("forest").improve()
    paused = removal("forest")
    floor = paused.improve(time.monotonic() - 1)
    assert isinstance(floor.program.term, Const)
    assert floor.stopped == "deadline"
    quick = paused.improve(quick=True)
    assert floor.value <= quick.value <= whole.value
    states = [paused.finished]
    done = paused.improve()
    assert [*states, paused.finished] == [False, True]
    assert done.stopped is None
    assert (done.program, done.value) == (whole.program, whole.value)
    assert paused.improve().program == done.program


@pytest.mark.parametrize("model", MODELS)
def test_a_constant_column_is_worth_what_the_changed_program_is_worth(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The trial runs the program on rows with that value; here, constants replace the variable."""
    monkeypatch.setattr(best_constants, "MANY", 0)  # as for a large program
    bench, start = removal(model)._search.bench, removal(model)._start
    trials = bench.trials(start.audit)
    for name in ("close", "age"):
        points = start.program.points.of_variables([name])[name]
        assert len(points)
        trial = trials.constants.of_column(name, [Site(point) for point in points.tolist()])
        changed = start.program.replaced(dict(trial.new))
        assert name not in variables(changed.term)
        gain = bench.value(changed) - bench.value(start.program)
        assert trial.gain == pytest.approx(gain, abs=1e-12)


def test_the_result_is_what_a_fresh_audit_finds_clean() -> None:
    goal, done = repaired_until(None)
    assert not goal.remaining(done.after)
    assert done.after.violations() == []


def test_a_denied_computation_does_not_go_on_under_another_name() -> None:
    """A small change inside it would make it another term, which this oracle accepts."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 400)
    data = {"x": x, "y": (rng.random(400) < 0.05).astype(int), "w": rng.integers(0, 2, 400), "z": x}
    denied = "ite(x <= 0, ite(y <= 0, 0, 1), 1) + 0 * x"
    program = pu.Program.parse(f"ite({denied} > 0, ite(w <= 0, 'b', 'a'), 'c')")
    (term,) = (t for t in program.points.terms if program.text_of(t) == denied)

    def only(found: pu.Witness | pu.Collection) -> pu.Judgment:
        wrong = isinstance(found, pu.Witness) and found.expression == term
        return pu.Judgment(not wrong, "the experiment")

    repair = by_constants(
        program, data, protected="z", epsilon=0.3, delta=0.02, oracle=only, unconfirmed=True
    )
    assert [v.witness.expression for v in repair.before.violations(only)] == [term]
    guard = repair.program.points.below(0)[0]
    left = [
        w for w in repair.after.witnesses if any(s.point == guard for s in w.decomposition.sites)
    ]
    assert left == []
