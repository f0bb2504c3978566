"""The translation of a fitted model: its terms, before one of them becomes a program.

A model may be part of another model: a member of a vote, the last step of a pipeline. The outer
model then uses its probabilities or scores instead of its predictions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from proxyuse.lang.build import add, const, mul, vector
from proxyuse.lang.nodes import Argmax, Compare, Const, Ite, Relation, Term, Value
from proxyuse.program import Origin

Origins = dict[int, Origin]
"""The origins of node objects, by ``id(node)``. Each object occurs once in a term."""


DOUBLE, SINGLE = 1e-9, 1e-5
"""Relative tolerances for sums computed in float64 and in float32."""


@dataclass(frozen=True, slots=True, eq=False)
class Translation:
    """The terms that a fitted model computes for each row.

    Attributes
    ----------
    output : what `predict` returns.
    classes : the labels, in the model's order; empty for a regressor.
    probabilities : what `predict_proba` returns, a vector; None if the model has none.
    scores : what `decision_function` returns: for two classes a number that is large for the
        second, otherwise a vector; None if the model has none.
    origins : which part of the model each node came from.
    tolerance : the relative difference allowed between the model's sums and the program's.

    The terms may share node objects. A program uses one of them.
    """

    output: Term
    classes: tuple[Value, ...] = ()
    probabilities: Term | None = None
    scores: Term | None = None
    origins: Origins = field(default_factory=dict)
    tolerance: float = DOUBLE


def labels(classes: object) -> tuple[Value, ...]:
    """The classes of a model as constants of the language."""
    return tuple(const(label).value for label in classes)  # type: ignore[attr-defined]


def above_zero(score: Term, classes: tuple[Value, ...], strict: bool = True) -> Term:
    """The second of two classes if a score is above 0 (at least 0 if not strict).

    A model fitted on one class always predicts that class.
    """
    if len(classes) == 1:
        return Const(classes[0])
    relation = Relation.GT if strict else Relation.GE
    return Ite(Compare(relation, score, Const(0.0)), Const(classes[1]), Const(classes[0]))


def largest(scores: Term, classes: tuple[Value, ...]) -> Term:
    """The class with the largest score; ties go to the first."""
    return Argmax(scores, classes)


def binary_probabilities(second: Term) -> Term:
    """The probabilities of two classes, from that of the second."""
    return vector(add(Const(1.0), mul(Const(-1.0), second)), second)


def is_zero(tree: Term) -> bool:
    """Whether a tree is the constant 0, which adds nothing."""
    return isinstance(tree, Const) and tree == Const(0.0)
