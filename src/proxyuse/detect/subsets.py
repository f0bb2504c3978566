"""Operators with too many subsets of operands to list: settle them, or search.

First from above: a set of operands of which no subset can be a witness, for what its operands
tell about the protected attribute or for how many rows they can move, takes all its subsets out
of the question. If few sets are left they are measured and nothing is open. Otherwise the most
promising sets are grown operand by operand, and the rest is named as not settled.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable
from dataclasses import dataclass

from proxyuse.detect.candidates import LargeOperator
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association import entropy, mutual_information
from proxyuse.measure.engine import Measurement

SLACK = 1e-9  # more than rounding can make of a mutual information


@dataclass(frozen=True, slots=True)
class Settled:
    """What became of the subsets of one operator."""

    measured: int
    excluded: int
    open: int


def settle_operator(
    engine: Measurement,
    operator: LargeOperator,
    measure: Callable[[tuple[int, ...]], float],
    *,
    epsilon: float | None,
    delta: float,
    budget: int,
    grow: int,
) -> Settled:
    """Exclude the subsets of an operator's operands, as far as `budget` sets go, or measure some.

    `measure` measures one subset and says how close it is to being a witness (1 and more: it
    is). A single operand may be asked for too. Without `epsilon`, what operands tell about the
    protected attributes excludes nothing.
    """
    remaining = _remaining(engine, operator, epsilon, delta, budget)
    if remaining is not None:
        for subset in remaining:
            measure(subset)
        return Settled(len(remaining), operator.subsets - len(remaining), 0)
    measured = _grow(operator, measure, grow) if grow else 0
    return Settled(measured, 0, operator.subsets - measured)


def _remaining(
    engine: Measurement, operator: LargeOperator, epsilon: float | None, delta: float, budget: int
) -> list[tuple[int, ...]] | None:
    """The subsets that cannot be excluded, or None if there are more than `budget`.

    Each set is visited once: from a set, operands before the last one taken out stay. Sets that
    wait count as visited: they will be.
    """
    everything = operator.operands
    left: list[tuple[int, ...]] = []
    visited = 0
    stack: list[tuple[tuple[int, ...], int]] = [(everything, 0)]
    while stack:
        if visited + len(stack) > budget:
            return None
        subset, first = stack.pop()
        visited += 1
        if len(subset) < 2 or _excluded(engine, operator, subset, epsilon, delta):
            continue
        if subset != everything:
            left.append(subset)
        smaller = [(subset[:i] + subset[i + 1 :], i) for i in range(first, len(subset))]
        stack += reversed(smaller)  # those with most subsets next, to know soon how many there are
    return left


def _excluded(
    engine: Measurement,
    operator: LargeOperator,
    subset: tuple[int, ...],
    epsilon: float | None,
    delta: float,
) -> bool:
    """Whether neither the set nor any subset of it can be a witness."""
    point = operator.points[0]
    if operator.alone and engine.operands_bound(point, subset) <= delta:
        return True
    return epsilon is not None and all(
        _tells_too_little(masses, epsilon) for masses in engine.operands_tables(point, subset)
    )


def _tells_too_little(masses: Array, epsilon: float) -> bool:
    """Whether what is known of the protected attribute is less than epsilon of all there is."""
    whole = entropy(masses.sum(axis=0))
    return epsilon > 0 and (whole == 0 or mutual_information(masses) + SLACK < epsilon * whole)


def _grow(operator: LargeOperator, measure: Callable[[tuple[int, ...]], float], budget: int) -> int:
    """Best-first: take the most promising set so far and try it with one operand more."""
    everything = operator.operands
    seen: set[tuple[int, ...]] = set()
    queue: list[tuple[float, tuple[int, ...]]] = [
        (-measure((step,)), (step,)) for step in everything
    ]
    heapq.heapify(queue)
    while queue and len(seen) < budget:
        _, subset = heapq.heappop(queue)
        for step in everything:
            grown = tuple(sorted({*subset, step}))
            if step in subset or grown in seen or len(grown) == len(everything):
                continue
            if len(seen) == budget:
                break
            seen.add(grown)
            heapq.heappush(queue, (-measure(grown), grown))
    return len(seen)
