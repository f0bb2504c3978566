"""The computations inside the tests of a forest, with their positions.

Most tests compare one variable with a constant, so the variable is the only computation inside.
Others compare an expression, such as an imputed value or a component of a projection. A test can
also be a variable. Tests are grouped by shape (the test without its constant), so the cost depends
on the number of shapes, not of nodes.
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
    """A computation inside tests.

    Attributes
    ----------
    term : the computation.
    plain : whether it is a variable and the only computation inside each of these tests.
    nodes : the forest node of each position.
    points : the program point of each position.
    test : the index of an equal test; -1 if there is none.
    """

    term: Term
    plain: bool
    nodes: Array
    points: Array
    test: int = -1


@dataclass(slots=True)
class _InShapes:
    term: Term
    plain: bool = True
    points: list[tuple[int, int]] = field(default_factory=list)  # of a shape, and inside it


def tests_hold_trees(plan: ForestPlan) -> bool:
    """Whether some test contains a tree, which may equal a subtree elsewhere."""
    return any(
        isinstance(term, Ite) for shape in plan.forest.tests.shapes for term in Points(shape).terms
    )


def tests_hold_sums(plan: ForestPlan) -> bool:
    """Whether some test contains an operator with at least three non-constant operands."""
    shapes = (Points(shape) for shape in plan.forest.tests.shapes)
    return any(
        isinstance(term, Add | Mul | And | Or) and len(operand_choices(points, point)) > 2
        for points in shapes
        for point, term in enumerate(points.terms)
    )


def terms_inside_tests(plan: ForestPlan) -> list[InnerTerm]:
    """All computations inside tests, each with all its positions in the program.

    Linear in the number of nodes per term, and in the size of the shapes.
    """
    tests = plan.forest.tests
    inner_terms: dict[bytes, _InShapes] = {}
    for number, shape in enumerate(tests.shapes):
        if isinstance(shape, Var):  # a test that is a variable is measured as a variable
            inner_terms.setdefault(shape.digest, _InShapes(shape))
        terms = Points(shape).terms
        inner = [point for point in range(1, len(terms)) if not isinstance(terms[point], Const)]
        plain = inner == [1] and isinstance(terms[1], Var)
        for point in inner:
            inner_term = inner_terms.setdefault(terms[point].digest, _InShapes(terms[point]))
            inner_term.plain &= plain
            inner_term.points.append((number, point))
    equal_tests = _tests_among(plan, inner_terms)
    shapes = tests.shape[plan.forest.test]
    order = np.argsort(shapes, kind="stable")
    ends = np.searchsorted(shapes[order], np.arange(1, len(tests.shapes)))
    by_shape = np.split(order, ends)
    return [
        _inner_term(plan, inner_term, equal_tests.get(digest, -1), by_shape)
        for digest, inner_term in inner_terms.items()
    ]


def _tests_among(plan: ForestPlan, inner_terms: dict[bytes, _InShapes]) -> dict[bytes, int]:
    """The tests that are also inside other tests, by digest."""
    tests = plan.forest.tests
    if all(inner_term.plain for inner_term in inner_terms.values()):
        numbers = np.flatnonzero(np.isnan(tests.cut))  # a bare variable may be a test
    else:
        numbers = np.arange(len(tests))
    digests = ((tests.term(number).digest, number) for number in numbers.tolist())
    return {digest: number for digest, number in digests if digest in inner_terms}


def _inner_term(
    plan: ForestPlan, in_shapes: _InShapes, test: int, by_shape: list[Array]
) -> InnerTerm:
    """A computation with its positions. `by_shape` has the nodes whose tests have each shape."""
    parts = [(by_shape[shape], point) for shape, point in in_shapes.points]
    if test >= 0:
        parts.append((plan.nodes_of_test(test), 0))
    nodes = np.concatenate([nodes for nodes, _ in parts])
    points = np.concatenate([plan.points_of(nodes) + 1 + point for nodes, point in parts])
    order = np.argsort(points)
    plain = in_shapes.plain and test < 0
    return InnerTerm(in_shapes.term, plain, nodes[order], points[order], test)
