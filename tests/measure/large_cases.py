"""Random models with hundreds or thousands of rows: trees, sums of trees, and linear scores.

They contain edge cases that random rows rarely have: values equal to a split threshold, values that
float32 rounds to one, repeated subtrees and tests, trees with one leaf, leaves of 0 and -0, equal
leaves, and sums that differ only by rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
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
    Precision,
    Relation,
    Term,
    Var,
)
from proxyuse.lang.packing import pack_trees
from proxyuse.lang.parse import parse_term
from proxyuse.program import Program
from tests.measure.by_rows import ByRows

FORMS = (
    "label", "number", "threshold", "sigmoid", "vote", "class sums", "sum", "mean", "boosted",
    "boosted classes", "linear",
)  # fmt: skip

LINEAR = (
    "ite(0.5 * fill(x, 0.25) - 1.25 * y + 0.1 * fill(s, 1) > 0.3, 'yes', 'no')",
    "sigmoid(div(fill(x, 1) - 0.2, 1.7) * 0.3 + div(y - 0.1, -2.5) * 1.1 + 0.05) > 0.5",
    "fill(x, 0.5) * 2 + fill(s, 3) - y",
    "argmax([fill(x, 0) + y, 0.5 * y, ite(c == 'a', 0.2, fill(x, 1))], 'p', 'q', 'r')",
    "ite(0.3 * fill(x, -1) + ite(c in {'a', 'b'}, 0.7, 0) - 0.2 * y <= 0, 1, 0)",
)


@dataclass(frozen=True)
class LargeCase:
    """A program with the columns, weights and protected attributes to measure it on."""

    form: str
    program: Program
    columns: dict[str, Any]
    weights: Any
    protected: dict[str, Any]

    @cached_property
    def population(self) -> Population:
        return Population.build(
            self.columns,
            protected=self.protected,
            weights=self.weights,
            variables=self.program.variables,
        )

    @cached_property
    def by_rows(self) -> ByRows:
        return ByRows(self.program, self.columns, self.weights, self.protected)

    @cached_property
    def data(self) -> dict[str, Any]:
        """All columns, as an audit takes them."""
        return self.columns | self.protected


def large_case(seed: int, rows: int, form: str | None = None, compound: bool = False) -> LargeCase:
    """A random case; `compound` adds tests on something else than a variable."""
    rng = np.random.default_rng([seed, rows])
    form = form or FORMS[seed % len(FORMS)]
    columns = _columns(rng, rows)
    drawer = _Drawer(rng, columns, compound)
    term = parse_term(str(rng.choice(LINEAR))) if form == "linear" else drawer.program(form)
    weights = None
    if rng.random() < 0.4:  # in quarters, so that sums of them are exact
        weights = rng.integers(1, 5, rows) / (1 if rng.random() < 0.5 else 4)
    near = np.nan_to_num(columns["x"]) + 0.5 * rng.normal(size=rows)
    protected = {
        "z": (near > 1).astype(int),
        "w": rng.choice(["f", "m", "n"], rows),
        "c2": np.where(rng.random(rows) < 0.1, "a", columns["c"].astype(str)),
    }
    return LargeCase(form, Program(term, ("x", "y", "s", "c", "k")), columns, weights, protected)


def _columns(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    x = rng.integers(-2, 5, rows).astype(float)
    x[rng.random(rows) < 0.1 * rng.integers(0, 3)] = np.nan
    few = rng.random() < 0.5
    c = rng.choice(np.array(["a", "b", "d"], dtype=object), rows)
    if rng.random() < 0.4:
        c[rng.random(rows) < 0.1] = None
        c[0] = "a"
    return {
        "x": x,
        "y": rng.normal(size=rows).round(1 if few else 6),
        "s": rng.choice([0.1, 0.2, 0.3, 0.30000001192092896, 0.3000000001, -0.0, 0.0], rows),
        "c": c,
        "k": np.ones(rows),
    }


class _Drawer:
    def __init__(self, rng: np.random.Generator, columns: dict[str, Any], compound: bool) -> None:
        self.rng, self.columns, self.compound = rng, columns, compound
        self.tests = [self._test() for _ in range(int(rng.integers(2, 30)))]
        self.kept: list[Term] = []
        self.leaf: Callable[[], Term]

    def some(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def program(self, form: str) -> Term:
        rng = self.rng
        classes = self.some(3, 5) if rng.random() < 0.7 else 2
        grid = [
            [0.0, -0.0, 0.25, 0.5, 1.0, -0.75],
            [0.1, 0.2, 0.3, 0.7, -0.6, 0.0],
            [0.1, 0.1 + 1e-16, 0.30000000000000004, 0.3, -0.3],
        ][self.some(0, 2)]
        labels = [const(word).value for word in ("p", "q", "r", "p", "t")][:classes]
        self.leaf = lambda: Const(float(rng.choice(grid)))
        match form:
            case "label":
                self.leaf = lambda: const(str(rng.choice(["n", "o", "m"][: max(2, classes - 2)])))
                return self.trees(1, 1)[0]
            case "number":
                return self.trees(1, 1)[0]
            case "sum" | "mean":
                total = add(*self.trees(2, 6))
                return total if form == "sum" else Call(Function.DIV, (total, Const(3.0)))
            case "threshold":
                trees = self.trees(2, 12)
                limit = sum(float(rng.choice(grid)) for _ in trees)
                relation = [Relation.LT, Relation.LE, Relation.GT, Relation.GE][self.some(0, 3)]
                test = Compare(relation, add(*trees), Const(limit))
                return Ite(test, const("yes"), const("no")) if rng.random() < 0.7 else test
            case "sigmoid" | "boosted":
                if form == "boosted":
                    self._boosted_leaves()
                total = add(*self.trees(2, 12), Const(float(np.float32(rng.normal() / 10))))
                return Compare(Relation.GT, Call(Function.SIGMOID, (total,)), Const(0.5))
            case "vote":
                width = classes
                self.leaf = lambda: Const(tuple(self._votes(width)))
                total = add(*self.trees(2, 12))
                if rng.random() < 0.5:
                    total = Call(Function.DIV, (total, Const(7.0)))
                return Argmax(total, tuple(labels) if rng.random() < 0.7 else ())
        if form == "boosted classes":
            self._boosted_leaves()
        sums = [add(*self.trees(2, 4), Const(0.1)) for _ in range(classes)]
        return Argmax(vector(*sums), tuple(labels))

    def _boosted_leaves(self) -> None:
        self.leaf = lambda: Const(float(np.float32(0.1) * np.float32(self.rng.normal())))

    def _votes(self, width: int) -> list[float]:
        if self.rng.random() < 0.3:
            chosen = self.some(0, width - 1)
            return [float(index == chosen) for index in range(width)]
        counts = self.rng.integers(0, 4, width) + (np.arange(width) == 0)
        return [float(share) for share in counts / counts.sum()]

    def trees(self, fewest: int, most: int) -> list[Term]:
        """Some trees, packed or not."""
        count, trees = self.some(fewest, most), []
        for _ in range(count):
            if self.kept and self.rng.random() < 0.1:
                trees.append(self.kept[self.some(0, len(self.kept) - 1)])
            elif trees and self.rng.random() < 0.08:
                trees.append(self.leaf())
            else:
                depth = self.some(1, 12) if self.rng.random() < 0.5 else self.some(1, 4)
                trees.append(self.tree(depth))
        if all(isinstance(tree, Const) for tree in trees):
            trees[0] = self.tree(2)
        packed = pack_trees(trees) if self.rng.random() < 0.5 else None
        return trees if packed is None else [packed.tree(i) for i in range(count)]

    def tree(self, depth: int, root: bool = True) -> Term:
        rng = self.rng
        if not root and self.kept and rng.random() < 0.08:
            return self.kept[self.some(0, len(self.kept) - 1)]
        if depth == 0 or (not root and rng.random() < 0.35):
            return self.leaf()
        test = self.tests[self.some(0, len(self.tests) - 1)]
        made = Ite(test, self.tree(depth - 1, False), self.tree(depth - 1, False))
        if made.size < 30:
            self.kept.append(made)
        return made

    def _test(self) -> Term:
        rng = self.rng
        kind = rng.random()
        if kind < 0.15:
            chosen = [w for w in ("a", "b", "d") if rng.random() < 0.5] or ["b"]
            return member(Var("c"), chosen, bool(rng.random() < 0.3))
        if kind < 0.25:
            relation = Relation.EQ if rng.random() < 0.5 else Relation.NE
            return Compare(relation, Var("c"), const("a"), missing=bool(rng.random() < 0.3))
        if self.compound and kind < 0.45:
            texts = ["fill(x, 1) <= 2", "x + y > 0.5", "x <= 2 and y > 0", "not (c == 'a')",
                     "y <= s", "fill(x, 0) > 0.5", "s <= y"]  # fmt: skip
            return parse_term(str(rng.choice(texts)))
        name = str(rng.choice(["x", "y", "s", "k"], p=[0.35, 0.35, 0.25, 0.05]))
        relations = [Relation.LT, Relation.LE, Relation.GT, Relation.GE, Relation.EQ]
        values = self.columns[name]
        cut = float(rng.choice(values[~np.isnan(values)]))  # a tie, unless it is moved
        if rng.random() < 0.3:
            cut += 0.05
        precision = Precision.FLOAT32 if rng.random() < 0.5 else Precision.FLOAT64
        relation = relations[int(rng.choice(5, p=[0.15, 0.5, 0.2, 0.1, 0.05]))]
        return Compare(relation, Var(name), Const(cut), precision, bool(rng.random() < 0.3))
