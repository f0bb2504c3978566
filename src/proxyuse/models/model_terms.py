"""What a fitted model computes, as terms, before it is a program.

A model may be a part of another one (a member of a vote, the last step of a pipeline), which asks
for its probabilities or scores rather than for what it predicts.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from proxyuse.lang.build import add, const, mul, vector
from proxyuse.lang.nodes import Argmax, Compare, Const, Ite, Relation, Term, Value
from proxyuse.program import Origin

Origins = dict[int, Origin]
"""Where node objects came from, by their identity; each stands at one place in a term."""


DOUBLE, SINGLE = 1e-9, 1e-5
"""How far sums of float64 and of float32 numbers may be apart, relative to their size."""


@dataclass(frozen=True, slots=True, eq=False)
class ModelTerms:
    """What a model says of a row.

    Attributes
    ----------
    output : what `predict` says.
    classes : the labels, in the model's order; none for a regressor.
    probabilities : a vector, what `predict_proba` says; None if the model has none.
    scores : what `decision_function` says: a number for two classes (large ones speak for the
        second), else a vector; None if the model has none.
    origins : where parts came from.
    tolerance : how far, relative to their size, the model's own sums may be from the program's.

    The terms may share node objects; a program is made of one of them.
    """

    output: Term
    classes: tuple[Value, ...] = ()
    probabilities: Term | None = None
    scores: Term | None = None
    origins: Origins = field(default_factory=dict)
    tolerance: float = DOUBLE


def labels(classes: object) -> tuple[Value, ...]:
    """A model's classes as constants of the language."""
    return tuple(const(label).value for label in classes)  # type: ignore[attr-defined]


def above_zero(score: Term, classes: tuple[Value, ...], strict: bool = True) -> Term:
    """The second of two classes where a score is above 0 (or 0 itself, if not strict).

    A model that saw one class only says that.
    """
    if len(classes) == 1:
        return Const(classes[0])
    relation = Relation.GT if strict else Relation.GE
    return Ite(Compare(relation, score, Const(0.0)), Const(classes[1]), Const(classes[0]))


def largest(scores: Term, classes: tuple[Value, ...]) -> Term:
    """The class with the largest score, the first on a tie."""
    return Argmax(scores, classes)


def shares_of_two(second: Term) -> Term:
    """The probabilities of two classes from that of the second."""
    return vector(add(Const(1.0), mul(Const(-1.0), second)), second)


def is_zero(tree: Term) -> bool:
    """Whether a tree is the constant 0, which adds nothing."""
    return isinstance(tree, Const) and tree == Const(0.0)
