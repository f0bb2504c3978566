"""scikit-learn's decision trees.

They compare a feature rounded to float32 with a float64 threshold, send missing values the way
each node says, and predict the class with the largest share in the leaf (the first on a tie).
What all models made of such trees share stands here too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.build import const
from proxyuse.lang.nodes import (
    Const,
    Precision,
    Term,
)
from proxyuse.models.tree_table import TreeTable
from proxyuse.program import Origin, Program


def translate_tree(model: Any, feature_names: Sequence[str] | None) -> Program:
    """Translate a DecisionTreeClassifier or DecisionTreeRegressor."""
    check_fitted(model, "tree_")
    names = input_names(model, feature_names)
    values = model.tree_.value[:, 0, :]
    if hasattr(model, "classes_"):
        labels = [const(label) for label in model.classes_]
        leaves = [labels[best] for best in np.argmax(values, axis=1)]
    else:
        leaves = [Const(value) for value in values[:, 0].tolist()]
    term, origins = tree_term(model.tree_, leaves, names, Origin(type(model).__name__, tree=0))
    return Program.traced(term, names, origins)


def check_fitted(model: Any, fitted: str) -> None:
    """Refuse a model without the attribute that fitting makes, or with several outputs."""
    kind = type(model).__name__
    if not hasattr(model, fitted):
        raise TranslationError(f"this {kind} is not fitted; call fit first")
    if model.n_outputs_ != 1:
        raise TranslationError(f"this {kind} has {model.n_outputs_} outputs; only one is supported")


def input_names(model: Any, feature_names: Sequence[str] | None) -> tuple[str, ...]:
    """What the model's inputs are called, as many as it was fitted with."""
    count = int(model.n_features_in_)
    if feature_names is None:
        feature_names = getattr(model, "feature_names_in_", None)
    if feature_names is None:
        feature_names = [f"x{i}" for i in range(count)]
    if isinstance(feature_names, str | bytes) or not hasattr(feature_names, "__getitem__"):
        raise TranslationError(f"feature_names is a sequence of names, not {feature_names!r}")
    names = tuple(str(name) for name in feature_names)
    if len(names) != count:
        raise TranslationError(
            f"{len(names)} feature names for a {type(model).__name__} fitted on {count} features"
        )
    return names


def tree_term(
    tree: Any, leaves: Sequence[Const], names: Sequence[str], origin: Origin
) -> tuple[Term, dict[int, Origin]]:
    """A fitted `tree_` as a term, its nodes saying `leaves`, with the origins of its parts."""
    left = np.asarray(tree.children_left)
    table = TreeTable(
        left=left,
        right=np.asarray(tree.children_right),
        feature=np.asarray(tree.feature),
        threshold=np.asarray(tree.threshold),
        missing_left=np.asarray(getattr(tree, "missing_go_to_left", np.zeros(len(left)))),
        leaves=leaves,
        precision=Precision.FLOAT32,
    )
    table.check(len(names))
    return table.term(names, origin)
