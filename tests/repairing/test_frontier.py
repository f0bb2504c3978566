"""The frontier of a repair: never worse at laxer thresholds, and never worse than without it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import proxyuse as pu
from proxyuse.errors import DataError
from proxyuse.repairing.frontier import NOT_STRICTER, _Frontier
from proxyuse.repairing.frontier_grid import frontier_grid
from proxyuse.repairing.selection import LESS_USEFUL
from proxyuse.settings import RepairOptions
from proxyuse.verdict import Verdict
from tests.frontier_cases import (
    EPSILONS,
    QUICK,
    change_runs,
    example,
    frontier_of,
    points_of,
    taken_over,
)
from tests.portfolio_cases import COLUMNS, DATA, OPTIONS, OTHERS, accuracy, fitted

PROGRAM = pu.Program.parse("ite(x <= 1, 0, 1)")
TINY = {"x": [1, 2], "z": [0, 1]}
ROWS = 160


def random_people(seed: int) -> pd.DataFrame:
    """Columns that are more or less associated with an attribute."""
    rng = np.random.default_rng(seed)
    z = rng.integers(0, 2, ROWS)
    noise = rng.uniform(0, 0.5, 3)
    data: dict[str, Any] = {
        name: np.where(rng.random(ROWS) < share, rng.integers(0, 2, ROWS), z)
        + rng.integers(0, 2, ROWS)
        for name, share in zip("abc", noise, strict=True)
    }
    score = data["a"] + data["b"] + rng.normal(0, 1, ROWS)
    return pd.DataFrame(data).assign(z=z, y=np.where(score > 2, "yes", "no"), number=score)


def utilities(repair: pu.Repair) -> list[float]:
    """The utility of each point."""
    return [float(point.utility or 0.0) for point in points_of(repair)]


def unchanged(model: Any) -> bool:
    """Whether a model says the same as the original."""
    rows = DATA[COLUMNS]
    return bool((model.predict_proba(rows) == fitted("tree").predict_proba(rows)).all())


# Thresholds


@pytest.mark.parametrize(
    ("options", "values"),
    [
        ({"frontier": "epsilon"}, (0.02, 0.05, 0.1, 0.2, 0.5)),
        ({"frontier": "delta"}, (0.01, 0.02, 0.05, 0.1, 0.2)),
        ({"frontier": "epsilon", "epsilon": 0.3}, (0.1, 0.2, 0.3, 0.5, 1.0)),
        ({"frontier": "epsilon", "epsilon": 0}, (0.0, 0.001, 0.002, 0.005, 0.01)),
        ({"frontier": "epsilon", "epsilon": 1}, (0.05, 0.1, 0.2, 0.5, 1.0)),
        ({"frontier": "epsilon", "epsilon": "40%"}, ("10%", "20%", "40%", "50%", "100%")),
        ({"frontier": "delta", "delta": 0}, (0.0, 0.001, 0.002, 0.005, 0.01)),
        ({"frontier": "delta:0.2,0.05"}, (0.05, 0.2)),
        ({"frontier": {"epsilon": np.array([0.1, 0.05])}}, (0.05, 0.1)),
        ({"frontier": "epsilon:50%,20%", "epsilon": "50%"}, ("20%", "50%")),
    ],
)
def test_the_grid_has_the_requested_value_and_stricter_ones_first(
    options: dict[str, Any], values: tuple[Any, ...]
) -> None:
    given = RepairOptions(**options)
    grid = frontier_grid(given)
    assert grid is not None
    assert grid.values == values
    assert grid.values[grid.requested] == getattr(given, grid.name)


@pytest.mark.parametrize(
    ("frontier", "message"),
    [
        ("alpha", "frontier: expected 'epsilon', 'delta', or one of them with its values"),
        ({}, "frontier: expected 'epsilon', 'delta', or one of them with its values"),
        ({"epsilon": (0.1,), "delta": (0.05,)}, "frontier: expected 'epsilon', 'delta'"),
        (3, "frontier: expected 'epsilon', 'delta', or one of them"),
        ({"epsilon": ()}, "frontier: epsilon has no values; pass some, or only 'epsilon'"),
        ("delta:", "frontier: delta has no values"),
        ({"epsilon": 0.1}, "frontier: epsilon: expected several values, got 0.1"),
        ({"epsilon": (0.1, 2)}, "frontier: epsilon: expected a number between 0 and 1"),
        ({"delta": (0.05, -1)}, "frontier: delta: expected a number of at least 0, got -1"),
        ("delta:0.05,50%", "frontier: delta: expected a number of at least 0, got '50%'"),
        ("epsilon:0.1,many", "frontier: epsilon: expected a number between 0 and 1"),
        ({"epsilon": (0.1, float("nan"))}, "frontier: epsilon: expected a number"),
        ({"epsilon": (0.1, 0.2, 0.1)}, "frontier: epsilon: 0.1 occurs twice"),
        ("epsilon:10%,0.1", "frontier: epsilon: pass numbers or percentages, not both"),
        ("epsilon:20%,10%", "frontier: epsilon is 0.1, so pass its values as numbers"),
        (
            {"epsilon": (0.2, 0.05)},
            "frontier: the values 0.2, 0.05 do not include the requested epsilon, 0.1; add it",
        ),
    ],
)
def test_a_wrong_frontier_is_refused_before_any_work(frontier: Any, message: str) -> None:
    with pytest.raises(DataError) as caught:
        pu.repair(PROGRAM, TINY, protected="z", frontier=frontier)
    assert str(caught.value).startswith(message)


# Each point


def test_without_the_option_there_is_no_frontier() -> None:
    repair = pu.repair(PROGRAM, TINY, protected="z")
    assert repair.frontier is None
    with pytest.raises(DataError, match="the repair has no frontier; pass frontier="):
        repair.plot_frontier()


def test_a_point_is_a_repair_at_its_thresholds_or_better() -> None:
    repair = example()
    assert [point.epsilon for point in points_of(repair)] == list(EPSILONS)
    assert [point.requested for point in points_of(repair)] == [False, True, False, False]
    for point in points_of(repair):
        assert point.delta == OPTIONS["delta"]
        own = pu.repair(fitted("tree"), DATA, "paid", **{**QUICK, "epsilon": point.epsilon})
        assert own.selection is not None
        assert point.targets == own.targets
        assert point.utility is not None
        assert point.utility >= own.selection.after
        assert point.utility == pytest.approx(accuracy(point.model, OTHERS))
        if point.taken_over is None:
            assert point.utility == own.selection.after
            assert (point.model.predict(DATA[COLUMNS]) == own.model.predict(DATA[COLUMNS])).all()
            assert (point.methods, point.columns) == (own.chosen.methods, own.chosen.columns)
            assert point.changed == own.chosen.changed
        audit = pu.audit(point.model, DATA, "married", epsilon=point.epsilon, delta=point.delta)
        assert audit.verdict is not Verdict.CONFIRMED


def test_a_point_without_targets_is_the_original_model() -> None:
    *_, last = points_of(example())
    assert (last.targets, last.methods, last.changed, last.taken_over) == (0, (), 0.0, None)
    assert last.figures == last.original
    assert last.utility == accuracy(fitted("tree"), OTHERS)
    assert unchanged(last.model)


def test_a_point_has_the_rates_of_each_group_on_the_rows_of_the_repair() -> None:
    for point in points_of(example()):
        chosen = point.model.predict(DATA[COLUMNS]) == "yes"
        rates = {
            f"'{value}'": round(float(chosen[DATA["married"] == value].mean()), 4)
            for value in ("married", "single")
        }
        assert point.rates == {"married": rates}


def test_the_frontier_changes_nothing_if_no_model_is_taken_over() -> None:
    repair, alone = example(), pu.repair(fitted("tree"), DATA, "paid", **QUICK)
    assert points_of(repair)[1].taken_over is None
    assert repair.program == alone.program
    assert repair.selection == alone.selection
    assert repair.certificate.content == alone.certificate.content


# Utility never falls


@pytest.mark.parametrize("seed", range(4))
def test_utility_never_falls_on_random_models(seed: int) -> None:
    people = random_people(seed)
    options: dict[str, Any] = {"protected": "z", "delta": 0.01, "seconds": None}
    options |= {"unconfirmed": True, "methods": ("constants",), "epsilon": 0.05}
    tree = DecisionTreeClassifier(max_depth=3, random_state=seed).fit(people[[*"abc"]], people["y"])
    repair = pu.repair(
        tree, people, "y", frontier={"epsilon": (0.01, 0.05, 0.15, 0.4)}, **options
    )  # fmt: skip
    known = utilities(repair)
    assert known == sorted(known)
    for point in points_of(repair):
        own = pu.repair(tree, people, "y", **{**options, "epsilon": point.epsilon})
        assert point.utility is not None
        assert point.utility >= own.used.after - 1e-12
        assert not pu.audit(point.model, people, "z", point.epsilon, 0.01).violations()
        assert point.error is not None
        right = point.model.predict(people[[*"abc"]]) == people["y"]
        assert point.utility == pytest.approx(right.mean())
        assert point.error == pytest.approx(right.std(ddof=1) / np.sqrt(ROWS))


@pytest.mark.parametrize("seed", range(3))
def test_the_error_of_numbers_never_rises(seed: int) -> None:
    people = random_people(seed)
    tree = DecisionTreeRegressor(max_depth=2, random_state=0).fit(
        people[[*"abc"]], people["number"]
    )
    repair = pu.repair(
        tree, people, protected="z", epsilon=0.05, delta=0.01, unconfirmed=True, seconds=None,
        influence="moved:10%", validity=None, frontier="delta:0.01,0.1,0.5",
    )  # fmt: skip
    assert repair.utility == "mean squared error"
    known = utilities(repair)
    assert known == sorted(known, reverse=True)
    assert points_of(repair)[0].original.utility == 0


def test_agreement_of_a_program_has_an_error_and_a_constant() -> None:
    data = {"x": [1, 2] * 20, "n": [1, 2, 2, 1] * 10, "z": [0, 1] * 20}
    program = pu.Program.parse("ite(x <= 1, 'a', ite(n <= 1, 'a', 'b'))")
    repair = pu.repair(
        program, data, protected="z", epsilon=0.5, delta=0, unconfirmed=True,
        frontier="epsilon:0.1,0.5",
    )  # fmt: skip
    for point in points_of(repair):
        assert point.original.utility == 1
        assert point.constant == 0.75
        assert point.utility == 0.75
        assert point.error == pytest.approx(np.sqrt(0.75 * 0.25 / 39))
        assert point.rows == 40


# Models of stricter points


def test_the_requested_thresholds_take_over_a_more_useful_model() -> None:
    repair = taken_over()
    strict, requested, *_ = points_of(repair)
    assert (strict.value, requested.taken_over) == ("0.02", "0.02")
    assert requested.figures == strict.figures
    assert utilities(repair) == sorted(utilities(repair))
    rows = DATA[COLUMNS]
    assert (repair.model.predict(rows) == strict.model.predict(rows)).all()
    assert (repair.before.epsilon, repair.after.epsilon) == (0.1, 0.1)
    assert repair.is_clean(repair.after)
    assert repair.targets == requested.targets > 0
    original, *others = repair.candidates
    assert (original.methods, original.chosen) == ((), False)
    assert [known.chosen for known in others].count(True) == 1
    assert repair.chosen.quality is strict.repair.chosen.quality
    assert {known.rejected for known in others} <= {"", LESS_USEFUL, NOT_STRICTER}
    assert repair.selection == strict.repair.selection


def test_a_model_that_was_taken_over_is_certified_at_the_requested_thresholds() -> None:
    repair = taken_over()
    assert repair.certificate.content["settings"]["epsilon"] == 0.1
    verified = pu.verify(
        repair.certificate, repair.model, DATA, protected="married", original=fitted("tree")
    )
    assert verified.ok, str(verified)


def test_a_model_that_is_not_clean_at_the_laxer_threshold_is_not_taken_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_Frontier, "_clean", lambda *arguments: None)
    change_runs(
        monkeypatch,
        lambda order: {"seconds": 1e-9 if order.options.epsilon == 0.1 else None},
    )
    repair = frontier_of(methods=("constants", "drop"), frontier="epsilon:0.02,0.1")
    assert [point.taken_over for point in points_of(repair)] == [None, None]
    assert utilities(repair)[0] > utilities(repair)[1]


def test_nothing_to_repair_returns_the_original_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Frontier, "_better", lambda self, point: -point.epsilon)
    repair = frontier_of(epsilon=0.6)
    assert repair.targets == 0
    assert repair.candidates == ()
    assert unchanged(repair.model)
    *_, requested = points_of(repair)
    assert (requested.requested, requested.taken_over) == (True, "0.02")
    assert not unchanged(requested.model)
    assert requested.repair.candidates[0].rejected == LESS_USEFUL


# Rows, time and interrupts


def test_points_on_other_folds_are_compared_through_the_original_model(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    change_runs(monkeypatch, lambda order: {"cv": 3 if order.options.epsilon == 0.1 else 2})
    repair = frontier_of(validation=None, frontier="epsilon:0.1,0.3")
    first, second = points_of(repair)
    assert (first.repair.folds, repair.folds) == (3, 3)
    assert first.original == second.original
    assert first.utility == first.repair.chosen.quality.utility
    if second.taken_over is None:
        original, chosen = second.repair.candidates[0], second.repair.chosen
        gain = chosen.quality.utility - original.quality.utility
        assert second.utility == pytest.approx(first.original.utility + gain)
    assert utilities(repair) == sorted(utilities(repair))


def test_the_other_thresholds_share_as_much_time_as_the_repair(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def quick(order: Any) -> dict[str, Any]:
        return {"methods": ("constants",), "seconds": 1e-9}

    orders = change_runs(monkeypatch, quick)
    frontier_of(seconds=30, frontier="epsilon")
    assert [order.options.epsilon for order in orders] == [0.1, 0.05, 0.2, 0.02, 0.5]
    own, *others = (float(order.options.seconds or 0) for order in orders)
    assert own == 30
    assert others[0] == pytest.approx(30 / 4, rel=0.01)
    assert all(30 / 4 <= seconds <= 30 for seconds in others)
    assert all(order.options.frontier is None for order in orders[1:])
    orders.clear()
    frontier_of(seconds=None, frontier="epsilon:0.1,0.2")
    assert [order.options.seconds for order in orders] == [None, None]


def test_an_interrupt_keeps_the_points_that_are_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(order: Any) -> dict[str, Any]:
        if order.options.epsilon == 0.6:
            raise KeyboardInterrupt
        return {"methods": ("constants",)}

    change_runs(monkeypatch, interrupted)
    repair = frontier_of()
    assert [point.value for point in points_of(repair)] == ["0.02", "0.1", "0.3"]
    assert repair.frontier_skipped == ("0.6",)
    assert not repair.interrupted


def test_an_interrupt_while_models_are_taken_over_keeps_the_requested_point(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(_Frontier, "_clean", interrupted)
    change_runs(
        monkeypatch,
        lambda order: {"seconds": 1e-9 if order.options.epsilon == 0.1 else None},
    )
    repair = frontier_of(frontier="epsilon:0.02,0.1,0.6")
    assert [point.value for point in points_of(repair)] == ["0.02", "0.1"]
    assert repair.frontier_skipped == ("0.6",)
    assert repair.is_clean(repair.after)


def test_a_percentage_varies_like_a_number() -> None:
    repair = frontier_of(epsilon="50%", frontier="epsilon:20%,50%,90%", methods=("constants",))
    points = points_of(repair)
    assert [point.value for point in points] == ["20%", "50%", "90%"]
    epsilons = [point.epsilon for point in points]
    assert epsilons[0] == pytest.approx(epsilons[1] * 0.4)
    assert epsilons == sorted(epsilons)
