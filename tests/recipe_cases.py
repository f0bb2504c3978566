"""Models that can be fitted again, and what the tests of recipes share."""

from sklearn.tree import DecisionTreeClassifier

from proxyuse.measure.association.registry import association_from
from proxyuse.repairing.recipes.drop import Drop
from proxyuse.repairing.recipes.recipe import Recipe
from tests.repaired_cases import CASES

NOT_FITTED = [
    "frozen", "program", "program of numbers", "repaired", "repaired, of numbers", "xgboost, ranks",
    "xgboost, booster", "xgboost, booster of three", "lightgbm, ranks", "lightgbm, booster",
    "lightgbm, booster of numbers",
]  # fmt: skip
"""They have no `fit`, or it needs more than rows and labels."""

FITTED = [name for name in CASES if name not in NOT_FITTED]
NMI = association_from(None)


def tree(**options):
    return DecisionTreeClassifier(random_state=0, **options)


def dropped(columns, model, X, y, weights=None):
    return Recipe((Drop(columns),)).fitted(model, X, y, weights)
