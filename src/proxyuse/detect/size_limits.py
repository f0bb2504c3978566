"""Refuses to audit a program that would take too long, before any work is done.

The time for a node depends on the nodes around it: on the way up to the root, each step evaluates
the siblings. A chain of n nodes or a sum of n operands therefore takes n^2 steps.
"""

from __future__ import annotations

from collections.abc import Container

from proxyuse.input_limits import AUDIT_NODES, AUDIT_STEPS
from proxyuse.lang.nodes import Term, children
from proxyuse.measure.forests.plan import forest_plan
from proxyuse.program import Program


def check_size(program: Program) -> None:
    """Raise `LimitExceeded` if a program is too large to audit.

    Packed trees do not count, nor trees with constant leaves, which an audit packs. Their tests
    count once for each shape.

    Examples
    --------
    >>> from proxyuse.input_limits import limits
    >>> with limits(audit_nodes=100):
    ...     check_size(Program.parse("not " * 99 + "(x <= 3)"))
    Traceback (most recent call last):
        ...
    proxyuse.errors.LimitExceeded: the program has at least 101 nodes outside of trees, more than \
the limit `audit_nodes` of 100; if you trust the input, raise the limit: --limit audit_nodes=N, or \
proxyuse.limits(audit_nodes=N) in Python
    """
    plan = forest_plan(program)
    trees: frozenset[int] = frozenset()
    terms = [program.term]
    if plan is not None:
        trees = frozenset(id(program.points.terms[point]) for point in plan.points.tolist())
        terms += plan.forest.tests.shapes
    n_nodes = n_steps = 0
    for term in terms:
        nodes, steps = _counted(term, trees, n_nodes)
        n_nodes += nodes
        n_steps += steps
        AUDIT_STEPS.check(n_steps, "the program")


def _counted(root: Term, trees: Container[int], before: int) -> tuple[int, int]:
    """Count the nodes outside of trees, and the steps from each of them up to the root."""
    n_nodes = n_steps = 0
    stack = [(root, 0)]
    while stack:
        term, steps = stack.pop()
        if term.packed or id(term) in trees:
            continue
        n_nodes += 1
        n_steps += steps
        if before + n_nodes > AUDIT_NODES.value:
            raise AUDIT_NODES.exceeded(before + n_nodes, "the program", at_least=True)
        parts = children(term)
        stack += [(part, steps + len(parts)) for part in parts]
    return n_nodes, n_steps
