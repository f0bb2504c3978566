"""Which translator takes which model, found by the dotted name of the model's class.

Names are looked up along the class's bases, so a subclass of a supported class is supported.
A translator's module is imported when its model arrives; a model's library never is.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Protocol

from proxyuse.errors import TranslationError
from proxyuse.program import Program


class Translator(Protocol):
    """A function from a fitted model to a program."""

    def __call__(self, model: object, feature_names: Sequence[str] | None) -> Program:
        """Translate; names are given if the caller knows them better than the model."""
        ...


_TREE = "proxyuse.models.sklearn_tree:translate_tree"
_FOREST = "proxyuse.models.sklearn_forest:translate_forest"

TRANSLATORS: dict[str, str] = {
    "sklearn.tree._classes.DecisionTreeClassifier": _TREE,
    "sklearn.tree._classes.DecisionTreeRegressor": _TREE,
    "sklearn.ensemble._forest.RandomForestClassifier": _FOREST,
    "sklearn.ensemble._forest.RandomForestRegressor": _FOREST,
    "sklearn.ensemble._forest.ExtraTreesClassifier": _FOREST,
    "sklearn.ensemble._forest.ExtraTreesRegressor": _FOREST,
}
"""For a model's class, the module and function that translate it."""


def translate(model: object, feature_names: Sequence[str] | None = None) -> Program:
    """Turn a fitted model into a program that predicts the same.

    Parameters
    ----------
    model : a fitted scikit-learn DecisionTree, RandomForest or ExtraTrees classifier or regressor
        (ExtraTree included), or a program, which is handed back.
    feature_names : names for the model's inputs, in order; by default those it was fitted with,
        or x0, x1, ... if it has seen none.
    """
    if isinstance(model, Program):
        return model
    for cls in type(model).__mro__:
        found = TRANSLATORS.get(f"{cls.__module__}.{cls.__qualname__}")
        if found is not None:
            module, function = found.split(":")
            translator: Translator = getattr(import_module(module), function)
            return translator(model, feature_names)
    if isinstance(model, type):
        raise TranslationError(f"{model.__name__} is a class; pass a fitted model of that class")
    if isinstance(model, str):
        raise TranslationError("a model or program is needed; for text use Program.parse(text)")
    supported = ", ".join(sorted(name.rsplit(".", 1)[1] for name in TRANSLATORS))
    cls = type(model)
    raise TranslationError(
        f"cannot translate a {cls.__module__}.{cls.__qualname__}; supported: {supported}, "
        "and programs"
    )
