"""Which of several repaired models is returned, and what is said about the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.repairing.candidate import Candidate
from proxyuse.repairing.quality import Quality
from proxyuse.repairing.scoring import deviations, standard_error
from proxyuse.repairing.selection import (
    LESS_USEFUL,
    MORE_CHANGES,
    NOT_CLEAN,
    NOT_MEASURED,
    NOT_TRAINED,
    WORSE_PROBABILITIES,
    chosen,
    explained,
)
from proxyuse.repairing.utility import Measure

ROWS = 400


def quality(
    wrong: Any, log_loss: float | None = None, measure: Measure = Measure.ACCURACY
) -> Quality:
    """The quality of a model that is wrong in some rows."""
    losses = np.zeros(ROWS)
    losses[list(wrong)] = 1
    weights = np.ones(ROWS)
    moves = deviations(losses, weights)
    if measure is Measure.ACCURACY:
        utility, moves = 1 - losses.mean(), -moves
    else:
        utility = losses.mean()
    return Quality(
        measure=measure,
        utility=float(utility),
        error=standard_error(moves),
        auc=None,
        log_loss=log_loss,
        calibration=None,
        rates={},
        losses=losses,
        log_losses=None,
        moves=moves,
        log_loss_moves=None,
        weights=weights,
        outputs=losses,
    )


def candidate(
    wrong: Any = None,
    log_loss: float | None = None,
    changed: float = 0.0,
    remaining: int = 0,
    measure: Measure = Measure.ACCURACY,
) -> Candidate:
    """A candidate that is wrong in some rows; not measured if these are not known."""
    measured = None if wrong is None else quality(wrong, log_loss, measure)
    return Candidate(("constants",), (), 1, changed, remaining, measured, 1.0)


def reasons(candidates: list[Candidate], index: int) -> list[str]:
    """Why each candidate was not chosen."""
    return [known.rejected for known in explained(candidates, index, {})]


# The most useful one


def test_the_most_useful_candidate_is_chosen() -> None:
    candidates = [candidate(range(number)) for number in (60, 40, 41, 90)]
    assert chosen(candidates, "max") == 1
    assert reasons(candidates, 1) == [LESS_USEFUL, "", LESS_USEFUL, LESS_USEFUL]


def test_a_smaller_squared_error_is_more_useful() -> None:
    kind = Measure.SQUARED_ERROR
    candidates = [candidate(range(number), measure=kind) for number in (60, 40, 90)]
    assert chosen(candidates, "max") == 1
    assert reasons(candidates, 1) == [LESS_USEFUL, "", LESS_USEFUL]


def test_of_equally_useful_ones_the_log_loss_decides_and_then_the_changed_decisions() -> None:
    wrong = range(40)
    candidates = [
        candidate(wrong),
        candidate(wrong, log_loss=0.5, changed=0.1),
        candidate(wrong, log_loss=0.4, changed=0.3),
        candidate(wrong, log_loss=0.4, changed=0.2),
    ]
    for select in ("max", "1se"):
        assert chosen(candidates, select) == 3
    assert reasons(candidates, 3) == [WORSE_PROBABILITIES, WORSE_PROBABILITIES, MORE_CHANGES, ""]


def test_of_candidates_that_are_equal_in_everything_the_first_is_chosen() -> None:
    candidates = [candidate(range(40), 0.4, 0.1) for _ in range(3)]
    for select in ("max", "1se"):
        assert chosen(candidates, select) == 0


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 2)), min_size=1, max_size=8))
def test_no_clean_candidate_is_more_useful_than_the_chosen_one(drawn: list[Any]) -> None:
    candidates = [candidate(range(number), remaining=left) for number, left in drawn]
    clean = [number for number, left in drawn if left == 0]
    if clean:
        assert drawn[chosen(candidates, "max")] == (min(clean), 0)


# Within one standard error


def test_within_one_standard_error_the_smallest_log_loss_is_chosen() -> None:
    # The two differ in 5 + 4 rows: the difference is 1/400, its standard error 3/400.
    best, near = range(40), [*range(5, 40), *range(100, 106)]
    candidates = [candidate(best, log_loss=0.5), candidate(near, log_loss=0.3)]
    assert chosen(candidates, "max") == 0
    assert chosen(candidates, "1se") == 1
    assert reasons(candidates, 1) == [WORSE_PROBABILITIES, ""]


def test_beyond_one_standard_error_the_log_loss_does_not_matter() -> None:
    # Rows that only the second gets wrong: the difference of 4 rows has a standard error of 2 rows.
    best, worse = range(40), range(44)
    candidates = [candidate(best, log_loss=0.5), candidate(worse, log_loss=0.3)]
    assert chosen(candidates, "1se") == 0
    assert reasons(candidates, 0) == ["", LESS_USEFUL]


def test_the_standard_error_is_that_of_the_difference_row_by_row() -> None:
    """Two models that are wrong in about the same rows are told apart more easily."""
    best = range(100)
    same, other = range(104), range(200, 304)
    first = [candidate(best, log_loss=0.5), candidate(same, log_loss=0.3)]
    second = [candidate(best, log_loss=0.5), candidate(other, log_loss=0.3)]
    assert chosen(first, "1se") == 0
    assert chosen(second, "1se") == 1


def test_without_probabilities_fewer_changed_decisions_are_chosen() -> None:
    best, near = range(40), [*range(5, 40), *range(100, 106)]
    candidates = [candidate(best, changed=0.2), candidate(near, changed=0.1)]
    assert chosen(candidates, "1se") == 1
    assert reasons(candidates, 1) == [MORE_CHANGES, ""]


def test_without_a_standard_error_only_the_best_counts() -> None:
    """The utility is a function: nothing says how far two values are apart by chance."""

    def own(known: Candidate) -> Candidate:
        assert known.quality is not None
        bare = replace(known.quality, error=np.nan, moves=None, losses=None)
        return replace(known, quality=bare)

    near = [*range(5, 40), *range(100, 106)]
    candidates = [own(candidate(range(40), log_loss=0.5)), own(candidate(near, log_loss=0.3))]
    assert chosen(candidates, "1se") == 0


# What cannot be chosen


@pytest.mark.parametrize("select", ["max", "1se"])
def test_a_candidate_with_violations_is_never_chosen(select: Any) -> None:
    candidates = [candidate(range(1), 0.1, remaining=1), candidate(range(200), 0.7)]
    assert chosen(candidates, select) == 1
    assert reasons(candidates, 1) == [NOT_CLEAN, ""]


@pytest.mark.parametrize("select", ["max", "1se"])
def test_a_candidate_that_was_not_measured_is_chosen_only_if_none_was(select: Any) -> None:
    candidates = [candidate(), candidate(range(200))]
    assert chosen(candidates, select) == 1
    assert reasons(candidates, 1) == [NOT_MEASURED, ""]
    unmeasured = [candidate(remaining=2), candidate(), candidate()]
    assert chosen(unmeasured, select) == 1
    assert reasons(unmeasured, 1) == [NOT_CLEAN, "", NOT_MEASURED]


@pytest.mark.parametrize("select", ["max", "1se"])
def test_a_utility_that_is_not_a_number_is_the_worst(select: Any) -> None:
    bad = candidate(range(1), 0.1)
    assert bad.quality is not None
    bad = replace(bad, quality=replace(bad.quality, utility=np.nan))
    assert chosen([bad, candidate(range(200), 0.7)], select) == 1


@pytest.mark.parametrize("select", ["max", "1se"])
def test_an_excluded_candidate_is_not_chosen(select: Any) -> None:
    candidates = [candidate(range(number)) for number in (60, 40, 200)]
    assert chosen(candidates, select, {1}) == 0
    assert chosen(candidates, select, {0, 1}) == 2


# What is said


def test_a_candidate_that_cannot_be_trained_on_all_rows_has_that_reason() -> None:
    candidates = [candidate(range(number)) for number in (60, 40, 90)]
    index = chosen(candidates, "max", {1})
    assert index == 0
    known = explained(candidates, index, {1: NOT_TRAINED})
    assert [one.rejected for one in known] == ["", NOT_TRAINED, LESS_USEFUL]


@pytest.mark.parametrize("select", ["max", "1se"])
def test_exactly_one_candidate_is_chosen_and_every_other_has_a_reason(select: Any) -> None:
    build: Callable[..., Candidate] = candidate
    candidates = [build(), build(range(9), 0.4), build(range(8), 0.5), build(range(2), remaining=3)]
    index = chosen(candidates, select)
    known = explained(candidates, index, {})
    assert [one.chosen for one in known].count(True) == 1
    assert known[index].chosen
    assert [bool(one.rejected) for one in known] == [not one.chosen for one in known]
    assert [one.quality for one in known] == [one.quality for one in candidates]
