"""On small trees, the constants that a repair finds are the best there are."""

from __future__ import annotations

import pytest

from proxyuse.repairing.effort import SearchBudget
from tests.constant_repairs import by_constants
from tests.repairing.exhaustive import best_by_trying_all, small_case


def loss_of_search(seed: int) -> float | None:
    """How much better the best clean program is than the repair; None if nothing is repaired."""
    case = small_case(seed)
    repair = by_constants(
        case.program, case.data, case.y, protected="z", epsilon=case.epsilon, delta=case.delta,
        unconfirmed=True, collections=False, effort=SearchBudget(),
    )  # fmt: skip
    if not repair.before.violations() and not repair.before.explicit_violations():
        return None
    assert not repair.after.violations()
    return best_by_trying_all(case) - repair.used.after


def test_small_trees_are_repaired_at_the_least_loss():
    losses = [loss for seed in range(40) if (loss := loss_of_search(seed)) is not None]
    assert len(losses) > 20
    assert max(losses) <= 1e-12


@pytest.mark.slow
def test_many_small_trees_are_repaired_at_the_least_loss():
    losses = [loss for seed in range(500) if (loss := loss_of_search(seed)) is not None]
    optimal = sum(loss <= 1e-12 for loss in losses)
    assert len(losses) > 250
    assert optimal >= 0.98 * len(losses)
