"""Training with interaction constraints: the columns of a witness are not tested in one path.

XGBoost, LightGBM and scikit-learn's histogram boosting take groups of features; the tests between
the root and a leaf must be on features of one group. The groups are the largest sets of columns
that contain the columns of no witness. They are stated over the features of the model at the end
of a pipeline, so the steps before it are fitted first.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from proxyuse.repairing.recipes.column_sets import Columns, allowed_groups
from proxyuse.repairing.recipes.features import last_step_columns
from proxyuse.repairing.recipes.fitting import fit_steps, unfitted
from proxyuse.repairing.recipes.nesting import get_nested, is_search, is_threshold, last_path
from proxyuse.repairing.recipes.training import CannotFit, Training

MOST_GROUPS = 64

PARAMETERS = {
    "xgboost": "interaction_constraints",
    "lightgbm": "interaction_constraints",
    "sklearn": "interaction_cst",
}


@dataclass(frozen=True, slots=True)
class Constrain:
    """Train so that the columns of each of some sets are not tested in one path.

    Attributes
    ----------
    sets : the sets of at least two raw columns.
    """

    sets: tuple[tuple[str, ...], ...]

    @property
    def method(self) -> str:
        """The name of the method."""
        return "constrain"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all sets."""
        return tuple(dict.fromkeys(name for part in self.sets for name in part))

    @property
    def detail(self) -> str:
        """Nothing: method and columns say it all."""
        return ""

    def variants(self, training: Training) -> Iterator[Training]:
        """Yield the training with constraints."""
        estimator = unfitted(training.estimator)
        path = last_path(estimator)
        last = get_nested(estimator, path)
        parameter = constraint_parameter(last)
        if parameter is None:
            raise CannotFit(f"a {type(last).__name__} takes no interaction constraints")
        if last.get_params().get(parameter) is not None:
            raise CannotFit("the model already has interaction constraints")
        groups = allowed_groups(training.names, self.sets, MOST_GROUPS)
        if groups is None:
            raise CannotFit(f"there would be more than {MOST_GROUPS} groups of columns")
        features = _features(estimator, training)
        indices = feature_groups(features, groups)
        if len(indices) < 2:
            raise CannotFit("the model may use all columns in one path")
        value: Any = json.dumps(indices) if parameter_is_text(last) else indices
        name = f"{path}__{parameter}" if path else parameter
        yield replace(training, estimator=estimator.set_params(**{name: value}))

    def check(self, fitted: Any, training: Training) -> None:
        """Check nothing: the library keeps its constraints."""


def constraint_parameter(estimator: Any) -> str | None:
    """The parameter for interaction constraints, or None if there is none.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> constraint_parameter(HistGradientBoostingRegressor())
    'interaction_cst'
    """
    library = type(estimator).__module__.partition(".")[0]
    name = PARAMETERS.get(library)
    if library == "sklearn" and name not in estimator.get_params():
        return None
    if getattr(estimator, "booster", None) == "gblinear":
        return None
    return name


def parameter_is_text(estimator: Any) -> bool:
    """Whether constraints are passed as text; XGBoost reads lists as names of columns."""
    return type(estimator).__module__.partition(".")[0] == "xgboost"


def feature_groups(features: Sequence[Columns], groups: Sequence[Columns]) -> list[list[int]]:
    """The indices of the features that may occur together, for groups of raw columns.

    A feature that reads columns of no common group is alone in a group.

    Examples
    --------
    >>> features = [frozenset("a"), frozenset("b"), frozenset("b"), frozenset("ac")]
    >>> feature_groups(features, [frozenset("ac"), frozenset("bc")])
    [[0, 3], [1, 2]]
    """
    together = [[i for i, read in enumerate(features) if read <= group] for group in groups]
    grouped = {index for group in together for index in group}
    alone = [[i] for i in range(len(features)) if i not in grouped]
    distinct = [list(group) for group in dict.fromkeys(map(tuple, together)) if group]
    largest = [g for g in distinct if not any(set(g) < set(other) for other in distinct)]
    return [*largest, *alone]


def _features(estimator: Any, training: Training) -> tuple[Columns, ...]:
    """The raw columns behind each feature of the last estimator, after fitting the steps before."""
    model, names = unfitted(estimator), training.names
    while is_search(model) or is_threshold(model):
        model = model.estimator
    if not hasattr(model, "steps"):
        return tuple(frozenset({name}) for name in names)
    fit_steps(model, training.X, training.y)
    if hasattr(model.steps[-1][1], "steps") or hasattr(model.steps[-1][1], "estimator"):
        raise CannotFit("the model is inside several pipelines")
    return last_step_columns(model, names)
