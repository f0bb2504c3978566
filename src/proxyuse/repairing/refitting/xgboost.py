"""Leaf values of XGBoost's trees, by its own updater ``refresh``.

The updater goes through the trees in order and computes each leaf from the gradients of the rows
that reach it. Tests do not change. Trees that a repair removed are single leaves, which are
computed in the same way.
"""

from __future__ import annotations

import json
from typing import Any

from proxyuse.lang.evaluate import Array
from proxyuse.models.write_boosted import with_booster

STRUCTURE = "left_children", "right_children", "split_indices", "default_left", "categories"
WITHOUT_GRADIENTS = "rank:", "survival:"


def refit_xgboost(model: Any, X: Any, y: Any, weights: Array | None) -> Any | None:
    """A copy of a scikit-learn wrapper of XGBoost with new leaf values, or None."""
    import xgboost

    options = {name: value for name, value in model.get_xgb_params().items() if value is not None}
    objective = options.get("objective")
    if not isinstance(objective, str) or objective.startswith(WITHOUT_GRADIENTS):
        return None
    if options.get("booster", "gbtree") != "gbtree" or "monotone_constraints" in options:
        return None
    if getattr(model, "n_classes_", 2) > 2:
        options["num_class"] = model.n_classes_
    booster = model.get_booster()
    rows = xgboost.DMatrix(
        X,
        label=y,
        weight=weights,
        missing=model.missing,
        enable_categorical=bool(model.enable_categorical),
        feature_names=None if hasattr(X, "columns") else booster.feature_names,
        feature_types=model.feature_types,
    )
    update = {"process_type": "update", "updater": "refresh", "refresh_leaf": True}
    rounds = booster.num_boosted_rounds()
    refreshed = xgboost.train(
        options | update, rows, num_boost_round=rounds, xgb_model=booster.copy()
    )
    document = bytes(refreshed.save_raw("json"))
    if _tests(document) != _tests(bytes(booster.save_raw("json"))):
        return None
    written = booster.copy()
    written.load_model(bytearray(document))
    written.set_attr(**booster.attributes())
    return with_booster(model, booster, written)


def _tests(document: bytes) -> list[list[Any]]:
    """The tests of each tree."""
    trees = json.loads(document)["learner"]["gradient_booster"]["model"]["trees"]
    return [
        [
            *(tree.get(name) for name in STRUCTURE),
            [
                threshold
                for threshold, child in zip(
                    tree["split_conditions"], tree["left_children"], strict=True
                )
                if child >= 0
            ],
        ]
        for tree in trees
    ]
