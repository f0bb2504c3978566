"""How many computations training could have chosen instead of the one it chose.

On the rows that a model was trained on, a computation is the best of many. A test ``x <= 3.5`` was
chosen among all tests of all columns, and a tree with ten tests among all trees with ten tests. If
the outcome follows a protected attribute, the chosen tree follows it too, on these rows only.

A bound holds for the chosen computation if it holds for all that could have been chosen. So alpha
is divided among all of them, before training. There are four kinds, each with a part of alpha:

- **Variables** share one eighth of it, equally. A monotone function of one variable has the same
  values as the variable, except for their names, so it counts as the variable.
- **Tests** of one variable share five eighths, equally by column, and within a column equally by
  cut or category.
- **Trees** share one eighth. Trees with k branchings share ``1 / k (k + 1)`` of it. There are
  fewer than ``4^k`` shapes, and each test is chosen as above. Each leaf is one of L constants, or
  lies on one of two sides of a cut if all are distinct.
- **Other computations**, as many as the program has, share the rest equally. Each is divided by the
  number of its tests, trees and coefficients. A coefficient, such as the weight of an operand of
  a sum or an entry of a table, has as many choices as there are rows, because hyperplanes with m
  coefficients separate n rows in at most about ``n^m`` ways.

The shares of large computations are tiny, so these are never confirmed.

This pays for the choice of the computation, so its association is safe. Its influence also depends
on the rest of the program, and keeps its level. Training looks for tests that predict the outcome,
not for tests that change many decisions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import assert_never

import numpy as np

from proxyuse.data.columns import Kind
from proxyuse.data.population import Population
from proxyuse.lang.nodes import (
    Add,
    And,
    Argmax,
    Call,
    Compare,
    Const,
    Ite,
    Lookup,
    Member,
    Mul,
    Not,
    Or,
    Term,
    Value,
    Var,
    Vector,
    children,
)

ENOUGH = 700.0
"""A computation with more choices, as a logarithm, can never be confirmed."""
VARIABLES, TESTS, TREES, OTHERS = 1 / 8, 5 / 8, 1 / 8, 1 / 8
"""The share of alpha for each kind of computation."""


@dataclass(frozen=True, slots=True)
class Choices:
    """What training could choose from.

    Attributes
    ----------
    columns : the number of columns of the model that are not constant.
    tests : the number of tests of each variable that the program reads.
    rows : the number of rows.
    """

    columns: int
    tests: Mapping[str, int]
    rows: int

    @classmethod
    def of(cls, population: Population, inputs: int) -> Choices:
        """The choices on some rows, for a model with a number of inputs. Sorts each column."""
        tests, constant = {}, 0
        for name, column in population.columns.items():
            values = len(np.unique(column.values))
            constant += values == 1
            tests[name] = max(1, values - (column.kind is Kind.NUMBER))
        return cls(max(1, inputs - constant), tests, max(2, population.n_rows))

    def log_share(self, term: Term, others: float) -> float:
        """The logarithm of the share of alpha for a computation.

        `others` is the logarithm of the number of computations among which the share of the last
        kind is divided. Takes time in proportion to the term, and stops early for a large one,
        whose share is 0.

        Examples
        --------
        >>> from proxyuse.lang.parse import parse_term
        >>> choices = Choices(columns=10, tests={"x": 4, "y": 50}, rows=1000)
        >>> def share(text):
        ...     return round(1 / math.exp(choices.log_share(parse_term(text), math.log(20))))
        >>> share("x"), share("2 * x + 1")  # one of 10 columns
        (80, 80)
        >>> share("x <= 3"), share("y <= 3")
        (64, 800)
        >>> share("ite(x <= 3, 'yes', 'no')")  # 8 * 2 * 40 tests * 4 shapes * 4 leaves
        10240
        >>> share("2 * x + 3 * y")  # 8 * 20 computations * 1000^2 coefficients
        160000000
        """
        if self._variable(term) is not None:
            return math.log(VARIABLES) - math.log(self.columns)
        if self._is_test(term):
            return math.log(TESTS) - self._own(term)
        total, leaves, branchings = 0.0, 0, 0
        values: set[Value] = set()
        stack, plain = [term], True
        while stack and total <= ENOUGH:
            node = stack.pop()
            total += self._own(node)
            if isinstance(node, Ite):
                branchings += 1
                ends = [end for end in (node.then, node.otherwise) if isinstance(end, Const)]
                leaves += len(ends)
                values.update(end.value for end in ends)
                stack += children(node)
            elif not isinstance(node, Const) and not self._is_test(node):
                plain = False
                stack += children(node)
        if total > ENOUGH:
            return -math.inf
        distinct = len(values) if len(values) < leaves else 2
        total += leaves * math.log(max(2, distinct))
        if plain:
            return math.log(TREES) - math.log(branchings * (branchings + 1)) - total
        return math.log(OTHERS) - others - total

    def _variable(self, term: Term) -> str | None:
        """The only variable of a term without tests and branches; None for any other term."""
        names: set[str] = set()
        stack = [term]
        while stack and len(names) < 2:
            match stack.pop():
                case Const():
                    pass
                case Var(name):
                    names.add(name)
                case Add(parts) | Mul(parts) | Call(_, parts):
                    stack += parts
                case _:
                    return None
        return names.pop() if len(names) == 1 else None

    def _is_test(self, term: Term) -> bool:
        """Whether a term is a test of one variable."""
        match term:
            case Compare(_, left, right):
                sides = [side for side in (left, right) if not isinstance(side, Const)]
                return len(sides) == 1 and self._variable(sides[0]) is not None
            case Member(operand):
                return self._variable(operand) is not None
            case Not(operand):
                return self._is_test(operand)
            case _:
                return False

    def _own(self, node: Term) -> float:
        """The choices of a node itself; for a test of one variable, of all of it."""
        match node:
            case Const() | Var() | Mul() | And() | Or() | Vector() | Argmax() | Call():
                return 0.0
            case Ite():
                return math.log(4)
            case Not(operand):
                return self._own(operand) if self._is_test(node) else 0.0
            case Compare(_, left, right):
                if not self._is_test(node):
                    return math.log(self.rows)
                return self._tests(right if isinstance(left, Const) else left)
            case Member(operand, members):
                if not self._is_test(node):
                    return len(members) * math.log(self.rows)
                tests = self._tests(operand)
                if len(members) == 1:
                    return tests
                categories = max(len(members), self.tests[self._variable(operand) or ""])
                return tests + math.log(math.comb(categories, len(members)))
            case Add(operands):
                number = sum(not isinstance(operand, Const) for operand in operands)
                single = self._variable(node) is not None
                return 0.0 if single else number * math.log(self.rows)
            case Lookup(_, entries):
                return len(entries) * math.log(self.rows)
            case _:
                assert_never(node)

    def _tests(self, operand: Term) -> float:
        """The logarithm of the number of columns times the tests of one."""
        name = self._variable(operand)
        assert name is not None
        return math.log(self.columns) + math.log(self.tests[name])
