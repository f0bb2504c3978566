"""Constants at positions of a partly repaired program are the same constants in the original."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import proxyuse as pu
from proxyuse.detect.progress import Clock
from proxyuse.lang.nodes import Const
from proxyuse.lang.positions import Site
from proxyuse.repairing.effort import SearchBudget
from proxyuse.repairing.goal import Goal
from proxyuse.repairing.requested_utility import utility_on_rows
from proxyuse.repairing.steps import RemovedCollections, SearchStep
from proxyuse.repairing.workbench import Workbench
from proxyuse.request import request_for
from proxyuse.settings import AuditOptions

SUMS = (
    "ite(x <= 1, ite(y <= 1, 1, 2), 3) + ite(w <= 1, 5, 9) + ite(v <= 1, 20, 40)",
    "ite(x <= 1, ite(y <= 1, 1, 2) + w, 3) + ite(w <= 1, 5, 9) + ite(v <= 1, 20, 40)",
    "ite(x <= 1, ite(y <= 1, 1, 2) * w, 3) * ite(w <= 1, 5, 9) * ite(v <= 1, 20, 40)",
)


@pytest.mark.parametrize("text", SUMS)
def test_operands_of_a_changed_sum_are_found_in_the_original(text: str) -> None:
    rng = np.random.default_rng(0)
    data: dict[str, Any] = {name: rng.integers(0, 4, 50) for name in "xywvz"}
    request = request_for(pu.Program.parse(text), data, "z", AuditOptions())
    program, clock = request.subject.program, Clock(None)
    used = utility_on_rows(request, program, data, None, None, clock)
    bench = Workbench(request, program, Goal(), used, SearchBudget(), clock)
    original = bench.original.points
    guard = next(p for p, t in enumerate(original.terms) if str(t).startswith("x <="))
    step = SearchStep(RemovedCollections(("z",)), {Site(guard): Const(True)}, 0.0)
    partial, original_points = bench.applied((step,))
    operands = len(partial.points.below(0))
    pairs = [(a, b) for a in range(operands) for b in range(a + 1, operands)]
    assert len(pairs) >= 3
    for pair in pairs:
        new = {Site(0, pair): Const(7.0)}
        translated = bench.in_original(partial, original_points, new)
        whole = bench.original.replaced({**dict(step.new), **translated})
        assert whole.predict(data).tolist() == partial.replaced(new).predict(data).tolist()
