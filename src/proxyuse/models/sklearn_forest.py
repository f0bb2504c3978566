"""scikit-learn's forests: the mean of what their trees say.

A classifier adds the class shares of the leaves in float64, tree by tree, divides by the number
of trees and takes the first largest; a regressor adds and divides numbers. The program does the
same operations in the same order, the division included: two sums next to each other can have
one quotient, and the tie then goes to the first class. Neither the sums themselves nor a product
with 1/n have the same ties.

The order is that of one job. With several, scikit-learn adds the trees as they come, and which
class wins a tie may change from call to call.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from proxyuse.lang.build import add, const
from proxyuse.lang.nodes import (
    Argmax,
    Call,
    Const,
    Function,
    Term,
)
from proxyuse.models.sklearn_tree import check_fitted, input_names, tree_term
from proxyuse.program import Origin, Program


def translate_forest(model: Any, feature_names: Sequence[str] | None) -> Program:
    """Translate a forest of trees, random or extremely random, classifier or regressor."""
    check_fitted(model, "estimators_")
    kind = type(model).__name__
    names = input_names(model, feature_names)
    votes = hasattr(model, "classes_")
    trees: list[Term] = []
    origins: dict[int, Origin] = {}
    for number, estimator in enumerate(model.estimators_):
        tree = estimator.tree_
        leaves = _shares(tree) if votes else _numbers(tree)
        term, places = tree_term(tree, leaves, names, Origin(kind, tree=number))
        trees.append(term)
        origins |= places
    term = _mean(trees)
    if votes:
        term = Argmax(term, tuple(const(label).value for label in model.classes_))
    origins.setdefault(id(term), Origin(kind))
    return Program.traced(term, names, origins)


def _shares(tree: Any) -> list[Const]:
    """For each node the share of each class."""
    return [Const(tuple(shares)) for shares in tree.value[:, 0, :].tolist()]


def _numbers(tree: Any) -> list[Const]:
    return [Const(number) for number in tree.value[:, 0, 0].tolist()]


def _mean(trees: list[Term]) -> Term:
    """The trees' sum in their order, divided by their number."""
    if len(trees) == 1:
        return trees[0]
    return Call(Function.DIV, (add(*trees), Const(float(len(trees)))))
