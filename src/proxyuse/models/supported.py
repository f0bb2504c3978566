"""The classes that can be translated, by dotted name, and the functions that do it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Supported:
    """A line of the table of what is supported.

    Attributes
    ----------
    family : the heading it stands under.
    function : what translates it, as ``module:function``.
    role : whether it predicts or computes features.
    """

    family: str
    function: str
    role: Literal["model", "transformer"] = "model"


def _all(family: str, function: str, module: str, *classes: str) -> dict[str, Supported]:
    entry = Supported(family, f"proxyuse.models.{function}")
    return {f"{module}.{name}": entry for name in classes}


def _transformers(function: str, module: str, *classes: str) -> dict[str, Supported]:
    entry = Supported("transformers", f"proxyuse.models.{function}", "transformer")
    return {f"{module}.{name}": entry for name in classes}


SUPPORTED: dict[str, Supported] = {
    **_all(
        "trees", "sklearn_tree:translate_tree", "sklearn.tree._classes",
        "DecisionTreeClassifier", "DecisionTreeRegressor",
        "ExtraTreeClassifier", "ExtraTreeRegressor",
    ),
    **_all(
        "forests", "sklearn_forest:translate_forest", "sklearn.ensemble._forest",
        "RandomForestClassifier", "RandomForestRegressor",
        "ExtraTreesClassifier", "ExtraTreesRegressor",
    ),
    # linear models
    # naive Bayes
    # rule lists
    # boosting
    # ensembles of other models
    # wrappers
    # pipelines
    # transformers
    # XGBoost
    # LightGBM
}  # fmt: skip
