"""Random small trees, and the best clean program by trying every replacement."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

import proxyuse as pu
from proxyuse.lang.nodes import Const, Ite, Term
from proxyuse.lang.positions import Site
from proxyuse.program import Program

LABELS = ("'a'", "'b'")


@dataclass(frozen=True)
class SmallCase:
    """A tree over a few columns, with an attribute, labels and thresholds."""

    program: Program
    data: dict[str, Any]
    y: Any
    epsilon: float
    delta: float


def small_case(seed: int, rows: int = 60) -> SmallCase:
    """A random tree of up to six nodes; the protected attribute is close to one of the columns."""
    rng = np.random.default_rng(seed)
    data: dict[str, Any] = {name: rng.integers(0, 4, rows) for name in "uvw"}
    z = (data["u"] + data["v"] * (rng.random() < 0.4) >= 2).astype(int)
    data["z"] = np.where(rng.random(rows) < rng.choice([0.0, 0.05, 0.1]), 1 - z, z)
    program = pu.Program.parse(_tree(rng, int(rng.integers(2, 7)), dict.fromkeys("uvw", (0, 3))))
    outputs = program.predict(data)
    y = None
    if rng.random() < 0.5:
        y = np.where(rng.random(rows) < 0.15, rng.choice(["a", "b"], rows), outputs)
    epsilon, delta = rng.choice([0.03, 0.05, 0.1]), rng.choice([0.0, 0.02, 0.05])
    return SmallCase(program, data, y, float(epsilon), float(delta))


def _tree(rng: np.random.Generator, nodes: int, ranges: dict[str, tuple[int, int]]) -> str:
    open_names = [name for name, (low, high) in ranges.items() if low < high]
    if nodes == 0 or not open_names:
        return str(rng.choice(LABELS))
    name = str(rng.choice(open_names))
    low, high = ranges[name]
    cut = int(rng.integers(low, high))
    left = int(rng.integers(0, nodes))
    first = _tree(rng, left, {**ranges, name: (low, cut)})
    second = _tree(rng, nodes - 1 - left, {**ranges, name: (cut + 1, high)})
    return f"ite({name} <= {cut}, {first}, {second})"


def best_by_trying_all(case: SmallCase) -> float:
    """The largest utility of a program without violations, over all constants at nodes and tests.

    Starts from the best utility, and audits each program on its own.
    """
    programs: dict[bytes, Program] = {}
    for new in _replacements(case.program, 0, _leaves(case.program.term)):
        program = case.program.replaced(new) if new else case.program
        programs.setdefault(program.term.digest, program)
    right = case.program.predict(case.data) if case.y is None else case.y
    valued = sorted(
        ((float(np.mean(_outputs(p, case.data) == right)), p) for p in programs.values()),
        key=lambda pair: -pair[0],
    )
    for value, program in valued:
        audit = pu.audit(
            program, case.data, "z", epsilon=case.epsilon, delta=case.delta, validity=None
        )
        if not audit.violations() and not audit.explicit_violations():
            return value
    raise AssertionError("a constant has no violation")


def _outputs(program: Program, data: dict[str, Any]) -> Any:
    if isinstance(program.term, Const):
        return np.full(len(data["z"]), program.term.value, dtype=object)
    return program.predict(data)


def _leaves(term: Term) -> list[Const]:
    found: dict[object, Const] = {}
    stack = [term]
    while stack:
        match stack.pop():
            case Ite(_, then, otherwise):
                stack += (then, otherwise)
            case Const() as leaf:
                found[leaf.value] = leaf
            case other:
                raise AssertionError(f"{other} is not a tree")
    return list(found.values())


def _replacements(
    program: Program, point: int, constants: list[Const]
) -> Iterator[dict[Site, Const]]:
    """All sets of constants at nodes and tests of a tree."""
    if not isinstance(program.points.terms[point], Ite):
        yield {}
        return
    for value in constants:
        yield {Site(point): value}
    guard, then, otherwise = program.points.below(point)
    first = list(_replacements(program, then, constants))
    second = list(_replacements(program, otherwise, constants))
    yield from ({**a, **b} for a in first for b in second)
    yield from ({Site(guard): Const(True), **a} for a in first)
    yield from ({Site(guard): Const(False), **b} for b in second)
