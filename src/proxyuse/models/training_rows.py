"""Whether a model was trained on some rows, as far as the model describes its training data.

A tree stores how many training rows reached each leaf, and a scaler the number and the mean of its
training rows. If the rows give the same figures, they are the training rows. Leaf counts of a whole
tree do not agree by chance, except in tiny trees.

Often the rows are not exactly those of training: some were dropped, or the whole table is audited.
If the rows contain the training rows, no leaf has fewer rows than in training; if they are some of
the training rows, none has more. Independent rows are Poisson in each leaf, so the probability that
they do this by chance is known, and the rows count as training rows if it is tiny. A tree of a
forest was trained on a bootstrap sample, whose distinct rows the training rows contain.

Models are recognized by the attributes that they store, so no library is imported.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.models.jobs import in_this_process

MOST_TREES = 20
"""The trees of an ensemble that are compared."""
BY_CHANCE = 1e-4
"""Rows are training rows if independent rows would look like them with a smaller probability."""


def matches_training(model: Any, rows: Any) -> bool:
    """Return whether some rows match what a model stores about its training data.

    Takes one pass over the rows, through the first twenty trees of an ensemble.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X = np.arange(40.0).reshape(20, 2) % 7
    >>> model = DecisionTreeClassifier(max_depth=2).fit(X, X[:, 0] > 3)
    >>> matches_training(model, X), matches_training(model, X[:10])
    (True, False)
    """
    with in_this_process():
        return any(_matching(model, rows))


def _matching(model: Any, rows: Any) -> Iterator[bool]:
    """Whether the rows match, for each part of the model that describes its training data."""
    if hasattr(model, "steps"):
        yield from _pipeline(model, rows)
    elif hasattr(model, "transformers_"):
        for _, transformer, columns in model.transformers_:
            if hasattr(transformer, "get_params"):
                yield from _matching(transformer, _columns(rows, columns))
    elif hasattr(model, "best_estimator_"):
        yield from _matching(model.best_estimator_, rows)
    elif hasattr(model, "n_samples_seen_"):
        yield _scaled(model, rows)
    elif hasattr(model, "tree_"):
        yield _overlapping([_leaves(model.tree_, rows)])
    elif hasattr(model, "_predictors"):  # histogram gradient boosting
        yield _histogram_boosting(model, rows)
    elif hasattr(model, "estimators_"):
        yield _ensemble(model, rows)
    elif hasattr(model, "booster_"):
        yield _lightgbm(model.booster_, rows)
    elif hasattr(model, "dump_model") and hasattr(model, "num_trees"):
        yield _lightgbm(model, rows)
    elif hasattr(model, "get_booster"):
        yield _xgboost(model, model.get_booster(), rows)


def _pipeline(model: Any, rows: Any) -> Iterator[bool]:
    for number, (_, step) in enumerate(model.steps):
        last = number == len(model.steps) - 1
        if step is None or isinstance(step, str):
            continue
        yield from _matching(step, rows)
        if not last:
            rows = step.transform(rows)


def _columns(rows: Any, columns: Any) -> Any:
    """The columns of a table, by name or by index."""
    if not hasattr(rows, "iloc"):
        return np.asarray(rows)[:, columns]
    names = [columns] if isinstance(columns, str) else columns
    by_name = len(names) > 0 and isinstance(names[0], str)
    return rows[list(names)] if by_name else rows.iloc[:, names]


def _numbers(rows: Any) -> Array:
    """The rows as a dense array of numbers."""
    dense = rows.toarray() if hasattr(rows, "toarray") else rows
    return np.asarray(dense, dtype=np.float64)


def _scaled(scaler: Any, rows: Any) -> bool:
    """Whether the rows have the number and the means, or the ranges, of a scaler's rows."""
    if not np.all(np.asarray(scaler.n_samples_seen_) == rows.shape[0]):
        return False
    numbers = _numbers(rows)
    if getattr(scaler, "mean_", None) is not None:
        return bool(np.allclose(numbers.mean(axis=0), scaler.mean_, rtol=1e-9, atol=1e-12))
    if hasattr(scaler, "data_min_"):
        ranges = (numbers.min(axis=0), scaler.data_min_), (numbers.max(axis=0), scaler.data_max_)
        return all(bool(np.allclose(found, stored)) for found, stored in ranges)
    return True


def _leaves(tree: Any, rows: Any) -> tuple[Array, Array]:
    """The number of rows in each leaf of a scikit-learn tree, of these rows and in training."""
    reached = tree.apply(_numbers(rows).astype(np.float32))
    counts = np.bincount(reached, minlength=tree.node_count)
    leaves = tree.children_left < 0
    return counts[leaves], tree.n_node_samples[leaves]


def _ensemble(model: Any, rows: Any) -> bool:
    """Whether the rows match the first trees of a forest or of gradient boosting."""
    members = [member for member in np.ravel(model.estimators_) if hasattr(member, "tree_")]
    columns = getattr(model, "estimators_features_", None)  # bagging may drop columns
    if columns is not None and any(len(own) != rows.shape[1] for own in columns):
        return False
    return _overlapping(_leaves(member.tree_, rows) for member in members[:MOST_TREES])


def _overlapping(trees: Iterable[tuple[Array, Array]]) -> bool:
    """Whether rows are the training rows, contain them, or are some of them.

    `trees` has the number of rows in each leaf, now and in training.

    Examples
    --------
    >>> trained = np.array([3, 1, 7, 2, 5, 9, 1, 4, 6, 2] * 5)
    >>> _overlapping([(trained, trained)]), _overlapping([(trained + 1, trained)])
    (True, True)
    >>> _overlapping([(trained[::-1], trained)]), _overlapping([(trained * 9, trained)])
    (False, False)
    """
    from scipy.stats import poisson

    same = contain = contained = True
    chances = np.zeros(2)  # as logarithms
    for now, trained in trees:
        same &= bool((now == trained).all())
        contain &= bool((now >= trained).all())
        contained &= bool((now <= trained).all())
        if not (contain or contained):
            return False
        expected = trained * (now.sum() / trained.sum())
        chances[0] += poisson.logsf(trained - 1, expected).sum()
        chances[1] += poisson.logcdf(trained, expected).sum()
    improbable = chances < math.log(BY_CHANCE)
    return bool(same or (contain and improbable[0]) or (contained and improbable[1]))


def _histogram_boosting(model: Any, rows: Any) -> bool:
    """Whether the rows match the first tree in number, and as many of them go left at its root."""
    nodes = model._predictors[0][0].nodes
    root = nodes[0]
    if int(root["count"]) != rows.shape[0]:
        return False
    if root["is_leaf"] or root["is_categorical"] or model.is_categorical_ is not None:
        return True
    tested = _numbers(rows)[:, root["feature_idx"]]
    left = (tested <= root["num_threshold"]) | (np.isnan(tested) & bool(root["missing_go_to_left"]))
    return int(np.count_nonzero(left)) == int(nodes[root["left"]]["count"])


def _lightgbm(booster: Any, rows: Any) -> bool:
    trees = [
        _leaf_figures(tree["tree_structure"], "leaf_index", "leaf_count")
        for tree in booster.dump_model(num_iteration=MOST_TREES)["tree_info"]
    ]
    reached = np.asarray(booster.predict(rows, pred_leaf=True, num_iteration=MOST_TREES))
    reached = reached.reshape(rows.shape[0], -1).astype(np.intp)
    pairs = [
        (np.bincount(reached[:, number], minlength=max(stored) + 1), stored)
        for number, stored in enumerate(trees)
        if len(stored) > 1
    ]
    return bool(pairs) and _overlapping(
        (counts[list(stored)], np.array(list(stored.values()))) for counts, stored in pairs
    )


def _leaf_figures(tree: Any, index: str, figure: str) -> dict[int, float]:
    """A stored figure of each leaf of a tree, by the number of the leaf."""
    stored: dict[int, float] = {}
    stack = [tree]
    while stack:
        node = stack.pop()
        if index in node and figure in node and ("leaf" in node or "leaf_index" in node):
            stored[node[index]] = node[figure]
        stack += [node[side] for side in ("left_child", "right_child") if side in node]
        stack += node.get("children", [])
    return stored


def _xgboost(model: Any, booster: Any, rows: Any) -> bool:
    """Whether the rows match the first tree, where each row has the same second derivative."""
    if model.booster == "gblinear":
        return False
    tree = json.loads(booster[:1].get_dump(with_stats=True, dump_format="json")[0])
    stored = _leaf_figures(tree, "nodeid", "cover")
    if len(stored) < 2:
        return False
    reached = np.asarray(model.apply(rows, iteration_range=(0, 1)))
    leaf = reached.reshape(rows.shape[0], -1)[:, 0].astype(np.intp)
    trained = np.array(list(stored.values())) / _second_derivative(booster)
    if np.allclose(trained, np.rint(trained), atol=1e-2):
        counts = np.bincount(leaf, minlength=max(stored) + 1)[list(stored)]
        return _overlapping([(counts, np.rint(trained))])
    return _proportional(leaf, stored)


def _second_derivative(booster: Any) -> float:
    """The second derivative of the loss of each row in the first tree; 1 for squared loss."""
    learner = json.loads(booster.save_config())["learner"]
    if not learner["objective"]["name"].startswith("binary:"):
        return 1.0
    base = float(learner["learner_model_param"]["base_score"].strip("[]").split(",")[0])
    return base * (1 - base) if 0 < base < 1 else 1.0


def _proportional(reached: Array, stored: dict[int, float]) -> bool:
    """Whether the number of rows in each leaf is proportional to a stored figure."""
    counts = np.bincount(reached, minlength=max(stored) + 1).astype(np.float64)
    leaves = np.array(sorted(stored))
    figures = np.array([stored[leaf] for leaf in leaves.tolist()])
    if not counts[leaves].all() or counts[leaves].sum() != counts.sum():
        return False
    ratios = figures / counts[leaves]
    return bool(np.allclose(ratios, ratios[0], rtol=1e-4))
