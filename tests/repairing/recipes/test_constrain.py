import pickle
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from proxyuse.lang.nodes import Ite, Term, children, variables
from proxyuse.models.registry import translate
from proxyuse.repairing.recipes.constrain import Constrain
from proxyuse.repairing.recipes.recipe import Recipe
from proxyuse.repairing.recipes.training import CannotFit
from tests.repaired_cases import (
    NUMBERS,
    TWO,
    fitted,
)


def paths(model):
    """The columns read together on the paths of the trees of a model."""
    found: set[frozenset[str]] = set()
    stack: list[tuple[Term, frozenset[str]]] = [(translate(model).term, frozenset())]
    while stack:
        part, above = stack.pop()
        if isinstance(part, Ite) and len(variables(part.guard)) == 1:
            below = above | set(variables(part.guard))
            stack += [(part.then, below), (part.otherwise, below)]
        elif children(part):
            stack += [(child, frozenset()) for child in children(part)]
        else:
            found.add(above)
    return found


def constrained_models():
    models = {"histograms": HistGradientBoostingClassifier(max_iter=8, min_samples_leaf=3)}
    try:
        import xgboost

        few = {"n_estimators": 8, "max_depth": 4, "n_jobs": 1}
        models["xgboost"] = xgboost.XGBClassifier(**few)
        models["xgboost, exact"] = xgboost.XGBClassifier(**few, tree_method="exact")
    except ImportError:
        pass
    try:
        import lightgbm

        models["lightgbm"] = lightgbm.LGBMClassifier(
            n_estimators=8, min_child_samples=3, n_jobs=1, verbose=-1
        )
    except ImportError:
        pass
    return models


FORBIDDEN = ("a", "b"), ("a", "e"), ("b", "c", "d")
RNG = np.random.default_rng(0)
CROSSED = pd.DataFrame(RNG.normal(size=(400, 4)), columns=list("abcd"))
CROSSED["e"] = RNG.choice(["u", "v", "w"], 400)
LABELS = (
    CROSSED.a * CROSSED.b + CROSSED.c * CROSSED.d + CROSSED.a * (CROSSED.e == "u") > 0
).astype(int)


def encoded(model):
    parts = [
        ("words", OneHotEncoder(sparse_output=False), ["e"]),
        ("numbers", StandardScaler(), list("dcba")),
    ]
    return Pipeline([("prep", ColumnTransformer(parts)), ("model", model)])


@pytest.mark.parametrize("name", constrained_models())
def test_no_path_of_a_constrained_model_reads_a_forbidden_set(name):
    estimator = constrained_models()[name]
    numbers = CROSSED[list("abcd")]
    for model, X, forbidden in (
        (encoded(estimator), CROSSED, FORBIDDEN),
        (estimator, numbers, FORBIDDEN[::2]),
        (GridSearchCV(encoded(estimator), {"model__max_depth": [3]}, cv=2), CROSSED, FORBIDDEN),
    ):
        model.fit(X, LABELS)
        before = pickle.dumps(model)
        new = Recipe((Constrain(forbidden),)).fitted(model, X, LABELS)
        assert any(set(part) <= path for part in forbidden for path in paths(model))
        assert not any(set(part) <= path for part in forbidden for path in paths(new))
        allowed = [set(p) for p in combinations("abcd", 2) if not set(p) <= {"a", "b"}]
        assert any(pair <= path for pair in allowed for path in paths(new))
        assert pickle.dumps(model) == before


def test_constraints_do_not_apply_to_other_models_and_not_twice():
    with pytest.raises(CannotFit, match="takes no interaction constraints"):
        Recipe((Constrain((("rooms", "days"),)),)).fitted(fitted("forest"), NUMBERS, TWO)
    model = HistGradientBoostingClassifier(max_iter=2, interaction_cst="pairwise")
    with pytest.raises(CannotFit, match="already has interaction constraints"):
        Recipe((Constrain((("rooms", "days"),)),)).fitted(model.fit(NUMBERS, TWO), NUMBERS, TWO)
