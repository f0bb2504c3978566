"""Random sums of trees under a vote or a threshold, with data for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from proxyuse.data.population import Population
from proxyuse.lang.build import add, const, member, vector
from proxyuse.lang.nodes import (
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Mul,
    Precision,
    Relation,
    Term,
    Var,
)
from proxyuse.program import Program

FORMS = ("vote", "class sums", "threshold", "classes")


@dataclass(frozen=True, slots=True)
class ForestCase:
    """A program and a population to measure it on."""

    form: str
    program: Program
    population: Population


def forest_case(seed: int, most_rows: int = 14) -> ForestCase:
    """A random case: rows equal and missing, weights, several classes, repeated terms."""
    rng = np.random.default_rng(seed)
    form = FORMS[seed % len(FORMS)]
    grid = [0.0, 0.25, 0.5, 1.0, -0.75] if rng.random() < 0.5 else [0.1, 0.2, 0.3, 0.7, -0.6]
    rows = int(rng.choice([1, 2, 5, most_rows, 65]) if rng.random() < 0.5 else most_rows)
    data: dict[str, Any] = {
        "x": rng.integers(0, 5, rows).astype(float),
        "y": rng.choice([0.1, 0.25, 0.5, 2.0], rows),
        "c": rng.choice(["a", "b", "d"], rows),
        "k": np.ones(rows),
    }
    if rng.random() < 0.4:
        data["x"][rng.random(rows) < 0.3] = np.nan
    draw = _Drawer(rng, grid)
    width = int(rng.integers(2, 4))
    if form == "vote":
        draw.leaf = lambda: Const(tuple(rng.choice(grid, width).tolist()))
        trees = [draw.tree(2) for _ in range(int(rng.integers(1, 5)))]
        term: Term = add(*trees) if len(trees) > 1 else trees[0]
        if rng.random() < 0.6:
            term = Call(Function.DIV, (term, Const(float(max(2, len(trees))))))
        labels = [const(v).value for v in ("p", "q", "p" if rng.random() < 0.2 else "r")][:width]
        term = Argmax(term, tuple(labels) if rng.random() < 0.8 else ())
    elif form == "class sums":
        term = Argmax(vector(*(draw.sum_of_trees(2) for _ in range(width))))
    elif form == "threshold":
        term = draw.sum_of_trees(3)
        if rng.random() < 0.3:
            term = Call(Function.SIGMOID, (term,))
        elif rng.random() < 0.3:
            term = Mul((Const(float(rng.choice([-2.0, 0.5]))), term))
        relation = [Relation.LT, Relation.LE, Relation.GT, Relation.GE][int(rng.integers(4))]
        precision = Precision.FLOAT32 if rng.random() < 0.3 else Precision.FLOAT64
        limit = Const(float(rng.choice([0.5, 0.0, 0.6, 0.25])))
        term = Compare(relation, term, limit, precision)
        if rng.random() < 0.7:
            term = Ite(term, const("yes"), const("no"))
    else:
        draw.leaf = lambda: const(["n", "o", "m"][int(rng.integers(3))])
        term = draw.tree(3, root=True)
    program = Program(term, ("x", "y", "c", "k"))
    weights = None
    if rng.random() < 0.3:
        weights = rng.integers(1, 4, rows)
    elif rng.random() < 0.2:
        weights = rng.choice([0.5, 1.25, 2.0], rows)
    protected = {
        "z": rng.integers(0, 2, rows),
        "s": rng.choice(["u", "v", "w"], rows),
    }
    population = Population.build(
        data, protected=protected, weights=weights, variables=program.variables
    )
    return ForestCase(form, program, population)


class _Drawer:
    def __init__(self, rng: np.random.Generator, grid: list[float]) -> None:
        self.rng = rng
        self.grid = grid
        self.leaf: Any = lambda: Const(float(rng.choice(grid)))
        self.tests = [self._test() for _ in range(5)]  # few, so that they repeat
        self.kept: list[Term] = []

    def sum_of_trees(self, most: int) -> Term:
        """Trees, and perhaps a constant, added up."""
        parts = [self.tree(2, root=True) for _ in range(int(self.rng.integers(1, most + 1)))]
        if self.rng.random() < 0.3:
            parts.insert(int(self.rng.integers(len(parts) + 1)), Const(0.2))
        return add(*parts) if len(parts) > 1 else parts[0]

    def tree(self, depth: int, root: bool = False) -> Term:
        """A tree; now and then one, or a part of one, that was there before."""
        if self.kept and self.rng.random() < 0.15:
            return self.kept[int(self.rng.integers(len(self.kept)))]
        if depth == 0 or (not root and self.rng.random() < 0.2 and depth < 2):
            return self.leaf()  # type: ignore[no-any-return]
        guard = self.tests[int(self.rng.integers(len(self.tests)))]
        made = Ite(guard, self.tree(depth - 1), self.tree(depth - 1))
        self.kept.append(made)
        return made

    def _test(self) -> Term:
        kind = self.rng.random()
        if kind < 0.2:
            chosen = [w for w in ("a", "b", "d") if self.rng.random() < 0.5] or ["b"]
            return member(Var("c"), chosen)
        if kind < 0.3:
            return Compare(Relation.EQ, Var("c"), const("a"))
        if kind < 0.4:
            return Compare(Relation.EQ, Var("x"), Const(2.0))
        name = str(self.rng.choice(["x", "y", "k"], p=[0.5, 0.4, 0.1]))
        relation = [Relation.LT, Relation.LE, Relation.GT, Relation.GE][int(self.rng.integers(4))]
        limit = float(self.rng.choice([0.1, 0.25, 1.0, 2.0, 3.0]))
        precision = Precision.FLOAT32 if self.rng.random() < 0.4 else Precision.FLOAT64
        return Compare(relation, Var(name), Const(limit), precision, bool(self.rng.random() < 0.3))
