"""The Pareto front of association and influence."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.verification.pareto import pareto_front

PAIRS = st.lists(
    st.tuples(*[st.sampled_from([0.0, 0.25, 0.5, 0.5 + 1e-16, 0.75, 1.0])] * 2), max_size=12
)


@given(PAIRS)
def test_no_other_pair_dominates_a_pair_of_the_front(pairs):
    indices = pareto_front(
        np.array([a for a, _ in pairs], dtype=float), np.array([i for _, i in pairs], dtype=float)
    )
    rounded = [(round(a, 6), round(i, 6)) for a, i in pairs]
    best = {
        (a, i)
        for a, i in rounded
        if not any(a <= b and i <= j and (a, i) != (b, j) for b, j in rounded)
    }
    assert [rounded[index] for index in indices] == sorted(best, reverse=True)
    assert indices == [rounded.index(rounded[index]) for index in indices]
