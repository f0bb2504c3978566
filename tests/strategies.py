"""Random programs and populations, small enough for brute force.

Numbers are multiples of 1/8, so that sums and products are exact in any order. Only `share`
and `ratio` are not; they are never summed, but compared directly, in float32 or float64.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from proxyuse.lang.build import add, conj, disj, lookup, member, mul, vector
from proxyuse.lang.nodes import (
    Add,
    And,
    Argmax,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Mul,
    Not,
    Or,
    Precision,
    Relation,
    Term,
    Value,
    Var,
)
from proxyuse.program import Program
from tests.brute import Row, Sample, Tree, lost, without_idle_marks

NUMBERS = ("a", "b", "capital-gain")
ROUNDED = ("share", "ratio")
CATEGORIES = ("job", "town")
BOOLEANS = ("member", "owner")
WORDS = ("x", "y", "it's")

eighths = st.sampled_from([-2.0, -1.0, -0.5, 0.0, 0.125, 0.5, 1.0, 1.375, 2.0, 3.0])
not_exact = st.sampled_from([0.1, 0.3, 1 / 3, 0.5, 0.30000001192092896])
words = st.sampled_from(WORDS)
relations = st.sampled_from(list(Relation))
precisions = st.sampled_from(list(Precision))
KINDS: tuple[str, ...] = ("number", "boolean", "category", "vector")

Draw = Callable[[st.SearchStrategy[Any]], Any]


class Maker:
    """Draws terms of a given kind; sometimes repeats a term it drew before."""

    def __init__(self, draw: Draw) -> None:
        self.draw = draw
        self.made: dict[str, list[Term]] = {kind: [] for kind in KINDS}
        self.width = draw(st.integers(2, 3))

    def chance(self, one_in: int) -> bool:
        return bool(self.draw(st.integers(1, one_in)) == one_in)

    def pick(self, options: Sequence[Any]) -> Any:
        return self.draw(st.sampled_from(options))

    def make(self, kind: str, depth: int) -> Term:
        if self.made[kind] and self.chance(3):
            return self.pick(self.made[kind])  # type: ignore[no-any-return]
        term: Term = getattr(self, kind)(depth)
        self.made[kind].append(term)
        return term

    def several(self, kind: str, depth: int, most: int) -> list[Term]:
        return [self.make(kind, depth) for _ in range(self.draw(st.integers(2, most)))]

    def ite(self, kind: str, depth: int) -> Term:
        guard = self.make("boolean", depth - 1)
        return Ite(guard, self.make(kind, depth - 1), self.make(kind, depth - 1))

    def number(self, depth: int) -> Term:
        if depth <= 0:
            if self.chance(2):
                return Const(self.draw(eighths)) if not self.chance(12) else Const(math.nan)
            return Var(self.pick(NUMBERS))
        match self.pick(["leaf", "sum", "linear", "product", "ite", "ite", "table", "call"]):
            case "leaf":
                return self.number(0)
            case "sum":
                return add(*self.several("number", depth - 1, 4))
            case "linear":
                factors = [Const(self.draw(eighths)) for _ in range(self.draw(st.integers(2, 3)))]
                return add(*(mul(f, self.make("number", 0)) for f in factors))
            case "product":
                return mul(*self.several("number", depth - 1, 3))
            case "table":
                keys = self.draw(st.lists(words, min_size=1, unique=True))
                if self.chance(4):
                    keys.append(math.nan)
                entries: list[tuple[Value, Value]] = [(k, self.draw(eighths)) for k in keys]
                return lookup(Var(self.pick(CATEGORIES)), entries, self.draw(eighths))
            case "call":
                inner = self.make(self.pick(["number", "boolean"]), depth - 1)
                if self.chance(3):
                    return Call(Function.DIV, (inner, Const(self.pick([2.0, -4.0]))))
                if self.chance(4):
                    parts = self.several("number", depth - 1, 4)
                    weights = tuple(float(self.draw(st.integers(0, 4))) for _ in parts)
                    return Call(Function.MEDIAN, (vector(*parts), Const(weights)))
                if self.chance(3):
                    return Call(Function.FILL, (inner, self.make("number", 0)))
                return Call(Function.ABS, (inner,))
            case _:
                return self.ite("number", depth)

    def boolean(self, depth: int) -> Term:
        if depth <= 0:
            return self.test()
        match self.pick(["test", "test", "and", "or", "not", "ite", "compare", "variable"]):
            case "and":
                return conj(*self.several("boolean", depth - 1, 4))
            case "or":
                return disj(*self.several("boolean", depth - 1, 3))
            case "not":
                return Not(self.make("boolean", depth - 1))
            case "ite":
                return self.ite("boolean", depth)
            case "compare":
                return self.compared(self.make("number", depth - 1), self.make("number", 0))
            case "variable":
                return Const(self.chance(2)) if self.chance(6) else Var(self.pick(BOOLEANS))
            case _:
                return self.test()

    def compared(self, left: Term, right: Term) -> Term:
        relation, precision = self.draw(relations), self.draw(precisions)
        return Compare(relation, left, right, precision, self.chance(4))

    def test(self) -> Term:
        """A guard on one variable."""
        match self.pick(["number", "number", "rounded", "category", "member", "boolean", "link"]):
            case "number":
                return self.compared(Var(self.pick(NUMBERS)), Const(self.draw(eighths)))
            case "rounded":
                return self.compared(Var(self.pick(ROUNDED)), Const(self.draw(not_exact)))
            case "category":
                relation = self.pick([Relation.EQ, Relation.NE])
                left, right = Var(self.pick(CATEGORIES)), Const(self.draw(words))
                return Compare(relation, left, right, missing=self.chance(4))
            case "member":
                members = self.draw(st.lists(words, min_size=1, max_size=2))
                return member(Var(self.pick(CATEGORIES)), members, self.chance(4))
            case "link":
                link = Call(Function.SIGMOID, (self.make("number", 1),))
                return self.compared(link, Const(self.pick([0.25, 0.5, 0.625])))
            case _:
                return Var(self.pick(BOOLEANS))

    def category(self, depth: int) -> Term:
        if depth <= 0:
            return Const(self.draw(words)) if self.chance(2) else Var(self.pick(CATEGORIES))
        if self.chance(5):
            return self.argmax(depth)
        return self.ite("category", depth)

    def vector(self, depth: int) -> Term:
        if depth <= 0:
            return vector(*(self.number(0) for _ in range(self.width)))
        match self.pick(["items", "items", "sum", "scaled", "ite"]):
            case "sum":
                return add(*self.several("vector", depth - 1, 3))
            case "scaled":
                return mul(self.make("number", 0), self.make("vector", depth - 1))
            case "ite":
                return self.ite("vector", depth)
            case _:
                return vector(*(self.make("number", depth - 1) for _ in range(self.width)))

    def argmax(self, depth: int) -> Term:
        scores = self.make("vector", depth - 1)
        if self.chance(4):
            scores = Call(Function.SOFTMAX, (scores,))
        return Argmax(scores, WORDS[: self.width])

    def trees(self) -> Term:
        """A sum of small trees against a threshold."""
        guards = [self.test() for _ in range(self.draw(st.integers(1, 3)))]

        def tree() -> Term:
            leaves = [Const(self.draw(eighths)) for _ in range(3)]
            inner = Ite(self.pick(guards), leaves[0], leaves[1])
            return Ite(self.pick(guards), inner, leaves[2]) if self.chance(2) else inner

        total = add(*(tree() for _ in range(self.draw(st.integers(2, 4)))))
        return Compare(Relation.GT, total, Const(self.draw(eighths)))

    def score(self) -> Term:
        """A linear score, alone, as a probability or as a decision."""
        count = self.draw(st.integers(2, 4))
        total = add(
            *(mul(Const(self.draw(eighths)), self.make("number", 0)) for _ in range(count)),
            Const(self.draw(eighths)),
        )
        match self.pick(["alone", "probability", "decision"]):
            case "alone":
                return total
            case "probability":
                return Call(Function.SIGMOID, (total,))
            case _:
                return Ite(self.compared(total, Const(0.0)), Const("yes"), Const("no"))

    def tree(self) -> Term:
        """A decision tree with repeated guards."""
        guards = [self.test() for _ in range(self.draw(st.integers(1, 3)))]
        leaves = [Const(word) for word in WORDS]

        def grow(depth: int) -> Term:
            if depth == 0 or self.chance(4):
                return self.pick(leaves)  # type: ignore[no-any-return]
            return Ite(self.pick(guards), grow(depth - 1), grow(depth - 1))

        return grow(3)

    def repeats(self) -> Term:
        """An operator with some equal operands."""
        kind, operator = self.pick([("number", add), ("number", mul), ("boolean", conj)])
        parts = [self.make(kind, 0) for _ in range(2)]
        term = operator(*parts, *(self.pick(parts) for _ in range(self.draw(st.integers(1, 3)))))
        if kind == "number" and self.chance(2):
            return self.compared(term, Const(self.draw(eighths)))
        return term  # type: ignore[no-any-return]

    def overlaps(self) -> Term:
        """Operators that share some of their operands."""
        operands = [Var(name) for name in NUMBERS]

        def test() -> Term:
            chosen = self.draw(st.lists(st.sampled_from(operands), min_size=2, max_size=4))
            return self.compared(add(*chosen), Const(self.draw(eighths)))

        if self.chance(2):
            return self.pick([conj, disj])(test(), test())  # type: ignore[no-any-return]
        return Ite(test(), test(), Const(False))

    def program(self) -> Term:
        shapes = ["any", "any", "any", "trees", "score", "tree", "argmax", "repeats", "overlaps"]
        match self.pick(shapes):
            case "overlaps":
                return self.overlaps()
            case "trees":
                return self.trees()
            case "score":
                return self.score()
            case "tree":
                return self.tree()
            case "argmax":
                return self.argmax(2)
            case "repeats":
                return self.repeats()
            case _:
                return self.make(self.pick(KINDS), self.draw(st.integers(1, 3)))


MOST_DECOMPOSITIONS = 150
MOST_OCCURRENCES = 7


def is_small(term: Term) -> bool:
    """Whether brute force can measure every decomposition."""
    tree = Tree(term)
    if len(tree.terms) > 60 or any(
        len(node.operands) > 6 for node in tree.terms if isinstance(node, Add | Mul | And | Or)
    ):
        return False
    most = max(map(len, tree.computations.values()), default=0)
    return most <= MOST_OCCURRENCES and tree.count() <= 2 * MOST_DECOMPOSITIONS


@st.composite
def terms(draw: Draw) -> Term:
    return Maker(draw).program()


def columns(rows: int) -> st.SearchStrategy[dict[str, list[Any]]]:
    """Values for all variables; some columns are constant, some have missing values."""

    def column(values: st.SearchStrategy[Any], missing: Any) -> st.SearchStrategy[list[Any]]:
        full = st.lists(values, min_size=rows, max_size=rows)
        holed = st.lists(st.one_of(values, st.just(missing)), min_size=rows, max_size=rows)
        constant = values.map(lambda value: [value] * rows)
        known = holed.filter(lambda held: any(v is not None for v in held))  # else of no kind
        return st.one_of(full, known, constant)

    return st.fixed_dictionaries(
        {name: column(eighths, math.nan) for name in NUMBERS}
        | {name: column(not_exact, math.nan) for name in ROUNDED}
        | {name: column(words, None) for name in CATEGORIES}
        | {name: column(st.booleans(), None) for name in BOOLEANS}
    )


@dataclass(frozen=True)
class Case:
    """A program and a population for it."""

    term: Term
    data: dict[str, list[Any]]
    weights: list[float]
    protected: dict[str, list[Any]]

    @property
    def program(self) -> Program:
        return Program(self.term)

    @property
    def rows(self) -> list[Row]:
        return [
            dict(zip(self.data, row, strict=True)) for row in zip(*self.data.values(), strict=True)
        ]

    @property
    def sample(self) -> Sample:
        return Sample(self.rows, self.weights, self.protected)

    @property
    def tree(self) -> Tree:
        """The program as an audit reads it."""
        return Tree(without_idle_marks(self.term, self.never_missing))

    @property
    def never_missing(self) -> set[str]:
        """The variables that are present in every row of positive weight."""
        rows = self.sample.rows
        return {name for name in self.data if not any(lost(row[name]) for row in rows)}


@st.composite
def populations(draw: Draw, most_rows: int = 6) -> tuple[Any, list[float], dict[str, list[Any]]]:
    rows = draw(st.one_of(st.integers(1, most_rows), st.just(most_rows)))
    data = draw(columns(rows))
    some = st.lists(st.integers(0, 3).map(float), min_size=rows, max_size=rows).filter(any)
    weights = draw(st.one_of(st.just([1.0] * rows), some))
    protected: dict[str, list[Any]] = {}
    for name in ("z", "second", "third")[: draw(st.integers(1, 3))]:
        values: list[Any] = draw(
            st.sampled_from([["f", "m"], ["p", "q", "r"], [True, False], [0.0, 1.0, 2.5], ["one"]])
        )
        copied = draw(st.sampled_from([*NUMBERS, *CATEGORIES, *BOOLEANS, None, None, None]))
        column = draw(st.lists(st.sampled_from(values), min_size=rows, max_size=rows))
        if copied and all(v is not None and v == v for v in data[copied]):
            column = list(data[copied])
        protected[name] = column
    return data, weights, protected


@st.composite
def cases(draw: Draw, of: st.SearchStrategy[Term] | None = None, most_rows: int = 6) -> Case:
    term = draw((terms() if of is None else of).filter(is_small))
    return Case(term, *draw(populations(most_rows)))


def shuffled(draw: Draw, term: Term) -> Term:
    """The same term with operands in another written order."""
    match term:
        case Add(operands) | Mul(operands) | And(operands) | Or(operands):
            inner = [shuffled(draw, operand) for operand in operands]
            return type(term)(tuple(draw(st.permutations(inner))))
        case Not(operand):
            return Not(shuffled(draw, operand))
        case Compare(relation, left, right, precision, missing):
            return Compare(
                relation, shuffled(draw, left), shuffled(draw, right), precision, missing
            )
        case Ite(guard, then, otherwise):
            return Ite(shuffled(draw, guard), shuffled(draw, then), shuffled(draw, otherwise))
        case Argmax(operand, labels):
            return Argmax(shuffled(draw, operand), labels)
        case Call(function, arguments):
            return Call(function, tuple(shuffled(draw, argument) for argument in arguments))
        case _:
            return term
