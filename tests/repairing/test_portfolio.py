"""The best repaired model: it is clean, and no clean one beats it on the rows that compare them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import proxyuse as pu
from proxyuse.repairing.building import Builder
from proxyuse.repairing.portfolio import Portfolio
from proxyuse.repairing.recipes.training import CannotFit
from proxyuse.repairing.search import Search
from proxyuse.repairing.selection import NOT_TRAINED
from proxyuse.verdict import Verdict
from tests.portfolio_cases import (
    COLUMNS,
    DATA,
    MODELS,
    OPTIONS,
    OTHERS,
    QUICK,
    ROWS,
    VALIDATION,
    accuracy,
    accuracy_of_array,
    fitted,
    is_clean,
    retrained,
    validated,
)

# The best one


@pytest.mark.parametrize("name", MODELS)
def test_no_clean_candidate_is_better_on_the_validation_rows(name: str) -> None:
    repair = validated(name)
    assert repair.targets > 0
    assert len(repair.candidates) > 4
    candidates: Any = repair.candidates
    original, *others = candidates
    assert (original.methods, original.clean, original.chosen) == ((), False, False)
    assert [known.chosen for known in others].count(True) == 1
    best = max(known.quality.utility for known in others if known.clean)
    (winner,) = (known for known in others if known.chosen)
    assert winner.clean
    assert winner.quality.utility == best
    assert repair.selection is not None
    compared = repair.selection
    assert (compared.before, compared.after) == (original.quality.utility, best)
    assert compared.rows == ROWS
    assert accuracy(repair.model, OTHERS) == pytest.approx(best)
    assert accuracy(fitted(name), OTHERS) == pytest.approx(original.quality.utility)
    assert repair.folds is None


@pytest.mark.parametrize("name", MODELS)
def test_no_clean_model_without_columns_is_better_on_the_validation_rows(name: str) -> None:
    """The alternatives are trained here, without this package."""
    best, clean = accuracy(validated(name).model, OTHERS), 0
    for left in (["garden", "age", "hours"], ["age", "hours"], ["rooms", "age", "hours"]):
        other = clone(MODELS[name]).fit(DATA[left], DATA["paid"])
        if is_clean(other):
            clean += 1
            assert accuracy(other, OTHERS, left) <= best + 1e-12, left
    assert clean > 0


@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_confirmed_after_the_repair(name: str) -> None:
    for repair in (validated(name), retrained(name)):
        assert repair.before.verdict is Verdict.CONFIRMED
        assert repair.after.verdict is not Verdict.CONFIRMED
        assert is_clean(repair.model)
        assert not is_clean(fitted(name))


@pytest.mark.parametrize("name", MODELS)
def test_the_model_has_the_class_of_the_original_and_takes_the_same_rows(name: str) -> None:
    before = fitted(name).predict(DATA[COLUMNS])
    for repair in (validated(name), retrained(name)):
        assert type(repair.model) is type(fitted(name))
        for rows in (DATA[COLUMNS], OTHERS[COLUMNS]):
            assert (repair.model.predict(rows) == repair.program.predict(rows)).all()
            assert repair.model.predict_proba(rows).shape == (ROWS, 2)
    assert (fitted(name).predict(DATA[COLUMNS]) == before).all()  # the original did not change


def test_the_model_that_is_within_one_standard_error_has_the_smaller_log_loss() -> None:
    best: Any = validated("tree").chosen
    near: Any = pu.repair(
        fitted("tree"), DATA, "paid", validation=VALIDATION, select="1se", **OPTIONS
    ).chosen  # fmt: skip
    assert near.quality.log_loss <= best.quality.log_loss
    assert best.quality.utility - near.quality.utility <= best.quality.error + near.quality.error


def test_a_model_without_names_is_trained_again_on_columns_that_have_names() -> None:
    """The model was fitted on an array; the rows of the repair have names."""
    tree = clone(MODELS["tree"]).fit(DATA[COLUMNS].to_numpy(), DATA["paid"])
    repair = pu.repair(
        tree, DATA[COLUMNS], DATA["paid"], validation=VALIDATION, select="max",
        **{**OPTIONS, "protected": {"married": DATA["married"]}},
    )  # fmt: skip
    named = validated("tree")
    assert [(known.methods, known.columns) for known in repair.candidates] == [
        (known.methods, known.columns) for known in named.candidates
    ]
    assert repair.selection == named.selection
    assert accuracy_of_array(repair.model) == pytest.approx(named.used.after)


# Folds


@pytest.mark.parametrize("name", MODELS)
def test_folds_choose_the_same_method_whatever_the_order_of_the_rows(name: str) -> None:
    order = np.random.default_rng(5).permutation(ROWS)
    first, second = (
        pu.repair(fitted(name), rows, "paid", cv=3, methods=QUICK, **OPTIONS)
        for rows in (DATA, DATA.iloc[order].reset_index(drop=True))
    )
    assert first.folds == 3
    assert first.selection is not None
    assert first.selection.rows == ROWS
    assert {name for known in first.candidates for name in known.methods} == set(QUICK)
    for repair in (first, second):
        assert repair.chosen.clean
        assert is_clean(repair.model)
    assert (first.chosen.methods, first.chosen.columns) == (
        second.chosen.methods, second.chosen.columns,
    )  # fmt: skip


def test_the_folds_score_models_that_have_not_seen_them() -> None:
    """The original is trained again as well, so its score is that of a cross-validation."""
    repair = pu.repair(fitted("tree"), DATA, "paid", cv=3, methods=("drop",), **OPTIONS)
    assert repair.selection is not None
    before = accuracy(fitted("tree"), DATA)
    assert repair.used.before == pytest.approx(before)
    assert repair.selection.before < before


def test_a_model_that_cannot_be_trained_on_all_rows_is_not_chosen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    train = Builder.draft

    def only_on_folds(builder: Builder, problem: Any, recipe: Any, *rest: Any) -> Any:
        if recipe and problem.part is None:
            raise CannotFit("not on all rows")
        return train(builder, problem, recipe, *rest)

    monkeypatch.setattr(Builder, "draft", only_on_folds)
    repair = pu.repair(
        fitted("tree"), DATA, "paid", cv=3, methods=QUICK, select="max", **OPTIONS
    )  # fmt: skip
    assert set(repair.chosen.methods) <= {"constants", "refit"}
    assert is_clean(repair.model)
    assert NOT_TRAINED in [known.rejected for known in repair.candidates]


def test_a_refitted_model_that_folds_chose_is_made_of_the_same_constants() -> None:
    """The candidates on all rows are those of the folds, each once."""
    repair = pu.repair(
        fitted("tree"), DATA, "paid", cv=3, methods=("refit",), select="max", **OPTIONS
    )  # fmt: skip
    kinds = [(known.columns, "refit" in known.methods) for known in repair.candidates[1:]]
    assert sorted(kinds) == [((), False), ((), True)]
    assert repair.chosen.quality is not None
    scores = [known.quality.better for known in repair.candidates[1:] if known.quality]
    assert repair.chosen.quality.better == max(scores)
    assert NOT_TRAINED not in [known.rejected for known in repair.candidates]
    assert is_clean(repair.model)


def test_if_no_other_model_can_be_trained_the_constants_are_returned(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Folds had time for nothing but constant predictions, and neither has the model."""
    monkeypatch.setattr(Portfolio, "_gave_up", lambda *arguments: True)
    repair = pu.repair(fitted("tree"), DATA, "paid", cv=3, methods=("drop",), **OPTIONS)
    assert repair.chosen.clean
    assert is_clean(repair.model)


def test_the_folds_that_scored_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    score = Portfolio._score_fold
    scored: list[bool] = []

    def twice(portfolio: Portfolio, *arguments: Any) -> bool:
        scored.append(score(portfolio, *arguments) if len(scored) < 2 else False)
        return scored[-1]

    monkeypatch.setattr(Portfolio, "_score_fold", twice)
    repair = pu.repair(fitted("tree"), DATA, "paid", cv=3, methods=("drop",), **OPTIONS)
    assert scored == [True, True, False]
    assert repair.folds == 2
    assert repair.selection is not None
    assert repair.selection.rows == 400
    assert "on 2 folds of held-out rows" in " ".join(str(repair).split())


# What cannot be trained again, and what need not be


def test_a_program_gets_constants_only() -> None:
    program = pu.Program.parse("ite(4 * rooms + age + hours > 66, 'yes', 'no')")
    for repair in (
        pu.repair(program, DATA, "paid", validation=VALIDATION, **OPTIONS),
        pu.repair(program, DATA, "paid", **OPTIONS),
    ):
        assert [known.methods for known in repair.candidates] == [(), ("constants",)]
        assert repair.chosen is repair.candidates[1]
        assert not repair.trained_again


def test_a_booster_gets_constants_only() -> None:
    xgboost = pytest.importorskip("xgboost")
    rows = xgboost.DMatrix(DATA[COLUMNS].astype(float), (DATA["paid"] == "yes").astype(int))
    settings = {"max_depth": 2, "nthread": 1, "objective": "binary:logistic"}
    booster = xgboost.train(settings, rows, num_boost_round=4)
    y = (DATA["paid"] == "yes").astype(int)
    repair = pu.repair(booster, DATA, y, **OPTIONS)
    assert [known.methods for known in repair.candidates] == [(), ("constants",)]
    assert isinstance(repair.model, xgboost.Booster)


@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_repaired_for_coin_flips(name: str) -> None:
    options = {**OPTIONS, "protected": "coin", "epsilon": 0.001, "delta": 0.01}
    repair = pu.repair(fitted(name), DATA, "paid", validation=VALIDATION, **options)
    assert repair.candidates == ()
    assert repair.program == repair.original
    assert repair.model.predict_proba(DATA[COLUMNS]).tolist() == (
        fitted(name).predict_proba(DATA[COLUMNS]).tolist()
    )
    assert repair.refusal is None
    assert not repair.changed_rows.any()
    assert repair.chosen.methods == ()
    assert str(repair).startswith("Nothing to repair: no violation for coin")


# Refusals


def test_a_larger_loss_than_accepted_is_refused() -> None:
    options = {**OPTIONS, "validation": VALIDATION, "methods": ("constants",)}
    free = pu.repair(fitted("tree"), DATA, "paid", **options)
    assert free.refusal is None
    assert free.selection is not None
    lost = free.selection.before - free.selection.after
    assert lost > 0.02
    assert pu.repair(fitted("tree"), DATA, "paid", max_loss=lost + 0.001, **options).refusal is None
    refused = pu.repair(fitted("tree"), DATA, "paid", max_loss=lost - 0.001, **options)
    assert refused.refusal is not None
    assert (refused.refusal.kind, refused.refusal.limit) == ("loss", lost - 0.001)
    assert refused.refusal.utility == pytest.approx(lost)
    assert "more than the" in str(refused)


def test_a_model_that_became_a_constant_is_refused() -> None:
    tree = DecisionTreeClassifier(max_depth=1).fit(DATA[["rooms"]], DATA["paid"])
    repair = pu.repair(tree, DATA, "paid", **OPTIONS)
    best = DATA["paid"].value_counts(normalize=True).max()
    assert set(repair.model.predict(DATA[["rooms"]])) == {DATA["paid"].mode()[0]}
    assert repair.refusal is not None
    assert repair.refusal.kind == "constant"
    assert repair.refusal.utility == pytest.approx(best)
    assert repair.refusal.limit == pytest.approx(best)
    assert "is not better than always predicting the same" in " ".join(str(repair).split())


# Time


def test_hardly_any_time_still_gives_a_clean_model() -> None:
    options = {**OPTIONS, "seconds": 0.001}
    for validation in (VALIDATION, None):
        repair = pu.repair(fitted("logistic"), DATA, "paid", validation=validation, **options)
        assert is_clean(repair.model)
        assert repair.chosen.methods[:1] == ("constants",)


@pytest.mark.parametrize("validation", [VALIDATION, None], ids=["validation", "folds"])
def test_an_interrupt_returns_the_best_repair_so_far(
    validation: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*arguments: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Search, "best_first", interrupted)
    repair = pu.repair(fitted("logistic"), DATA, "paid", validation=validation, **OPTIONS)
    assert repair.interrupted
    methods = [known.methods for known in repair.candidates]
    assert methods[:2] == [(), ("constants",)]
    assert (("drop",) in methods) == (validation is not None)  # it was trained before the interrupt
    assert is_clean(repair.model)
    assert "The search was interrupted." in str(repair)
