"""Which computations stand inside the tests of a forest, or are a variable as a test, and where.

Most tests compare one variable with a constant, so the variable is all that is inside them. Others
compare an expression, such as a filled value or a component of a projection. Tests are grouped by
shape (the test without its constant), so this takes a look at each shape, not at each node.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Add, And, Const, Ite, Mul, Or, Term, Var
from proxyuse.lang.positions import Points, operand_choices
from proxyuse.measure.forests.plan import ForestPlan


@dataclass(slots=True, eq=False)
class InnerTerm:
    """A computation that stands inside tests.

    Attributes
    ----------
    term : the computation.
    plain : whether it is a variable that is all there is inside each of these tests.
    nodes : of the forest, one for each position.
    points : the program points, one for each position.
    test : the number of the test that it is at other nodes, -1 for none.
    """

    term: Term
    plain: bool
    nodes: Array
    points: Array
    test: int = -1


@dataclass(slots=True)
class _Places:
    term: Term
    plain: bool = True
    at: list[tuple[int, int]] = field(default_factory=list)  # shapes, and points inside them


def tests_hold_trees(plan: ForestPlan) -> bool:
    """Whether a tree stands inside some test, so that it may equal a subtree elsewhere."""
    return any(
        isinstance(term, Ite) for shape in plan.forest.tests.shapes for term in Points(shape).terms
    )


def tests_hold_sums(plan: ForestPlan) -> bool:
    """Whether some test has an operator inside with at least three operands that vary."""
    shapes = (Points(shape) for shape in plan.forest.tests.shapes)
    return any(
        isinstance(term, Add | Mul | And | Or) and len(operand_choices(points, point)) > 2
        for points in shapes
        for point, term in enumerate(points.terms)
    )


def terms_inside_tests(plan: ForestPlan) -> list[InnerTerm]:
    """All computations inside tests, each with all its positions in the program.

    Linear in the number of nodes for each term, and in the size of the shapes.
    """
    tests = plan.forest.tests
    found: dict[bytes, _Places] = {}
    for number, shape in enumerate(tests.shapes):
        if isinstance(shape, Var):  # a test that is a variable is measured as one
            found.setdefault(shape.digest, _Places(shape))
        terms = Points(shape).terms
        inner = [point for point in range(1, len(terms)) if not isinstance(terms[point], Const)]
        plain = inner == [1] and isinstance(terms[1], Var)
        for point in inner:
            places = found.setdefault(terms[point].digest, _Places(terms[point]))
            places.plain &= plain
            places.at.append((number, point))
    same = _tests_among(plan, found)
    shapes = tests.shape[plan.forest.test]
    order = np.argsort(shapes, kind="stable")
    ends = np.searchsorted(shapes[order], np.arange(1, len(tests.shapes)))
    by_shape = np.split(order, ends)
    return [
        _inner_term(plan, places, same.get(digest, -1), by_shape)
        for digest, places in found.items()
    ]


def _tests_among(plan: ForestPlan, found: dict[bytes, _Places]) -> dict[bytes, int]:
    """The tests that stand inside other tests as well, by digest."""
    tests = plan.forest.tests
    if all(places.plain for places in found.values()):
        numbers = np.flatnonzero(np.isnan(tests.cut))  # a bare variable may be a test
    else:
        numbers = np.arange(len(tests))
    digests = ((tests.term(number).digest, number) for number in numbers.tolist())
    return {digest: number for digest, number in digests if digest in found}


def _inner_term(plan: ForestPlan, places: _Places, test: int, by_shape: list[Array]) -> InnerTerm:
    """A computation with its positions; `by_shape` has the nodes whose tests have each shape."""
    parts = [(by_shape[shape], point) for shape, point in places.at]
    if test >= 0:
        parts.append((plan.nodes_of_test(test), 0))
    nodes = np.concatenate([nodes for nodes, _ in parts])
    points = np.concatenate([plan.points_of(nodes) + 1 + point for nodes, point in parts])
    order = np.argsort(points)
    return InnerTerm(places.term, places.plain and test < 0, nodes[order], points[order], test)
