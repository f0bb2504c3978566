"""What the translators read of fitted scikit-learn models: attributes with their shapes and ranges.

scikit-learn sets these attributes together, so in a model that it fitted they fit together. In a
damaged file they may not. `check_attributes` compares an estimator with its declaration and names
the attribute, what was expected and what is there.

A size is the number of `features` or `classes` of the estimator, `rows` for one row of weights per
class (one row for two classes), `pairs` of classes, or a number; None stands for any size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proxyuse.errors import CorruptFile

MAX_FEATURES = 1_000_000
Size = str | int | None


@dataclass(frozen=True, slots=True)
class Fitted:
    """An attribute that fitting sets.

    Attributes
    ----------
    name : of the attribute.
    sizes : the dimensions of its array; for a list, its length and the dimensions of each item.
    kinds : the kinds of NumPy types that it may have; only the length of objects (O) is checked.
    least, below : the smallest value, and the bound that values do not reach, as sizes.
    listed : whether it is a list, with one array per item.
    optional : whether it may be None or missing, depending on the settings.
    """

    name: str
    sizes: tuple[Size, ...]
    kinds: str = "fiub"
    least: float | None = None
    below: Size = None
    listed: bool = False
    optional: bool = False


_ANY = "fiubOUS"
_SCALES = (
    Fitted("scale_", ("features",), optional=True),
    Fitted("mean_", ("features",), optional=True),
    Fitted("center_", ("features",), optional=True),
    Fitted("min_", ("features",), optional=True),
)
_LINEAR = (Fitted("coef_", ("rows", "features")), Fitted("intercept_", (None,)))
_LINE = (Fitted("coef_", (None, "features")), Fitted("intercept_", (None,)))
_COUNTED = (
    Fitted("feature_log_prob_", ("classes", "features")),
    Fitted("class_log_prior_", ("classes",)),
)
_CATEGORIES = Fitted("categories_", ("features", None), _ANY, listed=True)
_MEMBERS = Fitted("estimators_", (None,), "O")
_LINEAR_CLASSIFIERS = (
    "LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis", "SGDClassifier",
    "Perceptron", "PassiveAggressiveClassifier", "LinearSVC",
)  # fmt: skip
_OTHER_LINEAR = (
    "LinearSVR", "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet",
    "ElasticNetCV", "Lars", "LarsCV", "LassoLars", "LassoLarsCV", "LassoLarsIC",
    "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV", "ARDRegression", "BayesianRidge",
    "RidgeClassifier", "RidgeClassifierCV", "HuberRegressor", "QuantileRegressor",
    "TheilSenRegressor", "SGDRegressor",
    "PassiveAggressiveRegressor", "PoissonRegressor", "GammaRegressor", "TweedieRegressor",
)  # fmt: skip

FITTED: dict[str, tuple[Fitted, ...]] = {
    **dict.fromkeys(_LINEAR_CLASSIFIERS, _LINEAR),
    **dict.fromkeys(_OTHER_LINEAR, _LINE),
    "GaussianNB": (
        Fitted("theta_", ("classes", "features")),
        Fitted("var_", ("classes", "features"), least=0),
        Fitted("class_prior_", ("classes",), least=0),
    ),
    "MultinomialNB": _COUNTED,
    "ComplementNB": _COUNTED,
    "BernoulliNB": _COUNTED,
    "CategoricalNB": (
        Fitted("feature_log_prob_", ("features", "classes", None), listed=True),
        Fitted("class_log_prior_", ("classes",)),
    ),
    "StandardScaler": _SCALES,
    "RobustScaler": _SCALES,
    "MaxAbsScaler": _SCALES,
    "MinMaxScaler": _SCALES,
    "KBinsDiscretizer": (Fitted("bin_edges_", ("features", None), listed=True),),
    "SimpleImputer": (Fitted("statistics_", ("features",), _ANY),),
    "MissingIndicator": (Fitted("features_", (None,), "iu", least=0, below="features"),),
    "OneHotEncoder": (_CATEGORIES,),
    "OrdinalEncoder": (_CATEGORIES,),
    "TargetEncoder": (_CATEGORIES, Fitted("encodings_", (None, None), listed=True)),
    "VarianceThreshold": (Fitted("variances_", ("features",)),),
    "SelectKBest": (Fitted("scores_", ("features",)),),
    "RFE": (Fitted("support_", ("features",), "b"),),
    "RFECV": (Fitted("support_", ("features",), "b"),),
    "SequentialFeatureSelector": (Fitted("support_", ("features",), "b"),),
    "RandomForestClassifier": (_MEMBERS,),
    "RandomForestRegressor": (_MEMBERS,),
    "ExtraTreesClassifier": (_MEMBERS,),
    "ExtraTreesRegressor": (_MEMBERS,),
    "AdaBoostClassifier": (_MEMBERS, Fitted("estimator_weights_", (None,))),
    "AdaBoostRegressor": (_MEMBERS, Fitted("estimator_weights_", (None,))),
    "BaggingClassifier": (
        _MEMBERS,
        Fitted("estimators_features_", (None, None), "iu", 0, "features", listed=True),
    ),
    "BaggingRegressor": (
        _MEMBERS,
        Fitted("estimators_features_", (None, None), "iu", 0, "features", listed=True),
    ),
    "VotingClassifier": (_MEMBERS,),
    "VotingRegressor": (_MEMBERS,),
    "StackingClassifier": (_MEMBERS,),
    "StackingRegressor": (_MEMBERS,),
    "OneVsOneClassifier": (Fitted("estimators_", ("pairs",), "O"),),
    "OneVsRestClassifier": (_MEMBERS,),
    "CalibratedClassifierCV": (Fitted("calibrated_classifiers_", (None,), "O"),),
    "IsotonicRegression": (Fitted("X_thresholds_", (None,)), Fitted("y_thresholds_", (None,))),
    "_SigmoidCalibration": (Fitted("a_", ()), Fitted("b_", ())),
    "_ConstantPredictor": (Fitted("y_", (1,)),),
}
"""The attributes of each class, except those that `consistency` checks together with others."""

PARALLEL: dict[str, tuple[str, ...]] = {
    "AdaBoostClassifier": ("estimators_", "estimator_weights_"),
    "AdaBoostRegressor": ("estimators_", "estimator_weights_"),
    "BaggingClassifier": ("estimators_", "estimators_features_"),
    "BaggingRegressor": ("estimators_", "estimators_features_"),
    "StackingClassifier": ("estimators_", "stack_method_"),
    "StackingRegressor": ("estimators_", "stack_method_"),
    "IsotonicRegression": ("X_thresholds_", "y_thresholds_"),
}
"""Attributes of each class with one item for each item of the first; they may be longer."""


def check_attributes(estimator: Any) -> None:
    """Raise an error if an estimator is fitted, and an attribute is not as fitting would set it."""
    _check_inputs(estimator)
    sizes = _sizes(estimator)
    declared = FITTED.get(type(estimator).__name__, ())
    if not any(hasattr(estimator, each.name) for each in declared):
        return
    for each in declared:
        value = getattr(estimator, each.name, None)
        if value is None:
            if each.optional:
                continue
            raise CorruptFile(f"it lacks {each.name}")
        _check(each, value, sizes)
    first, *others = PARALLEL.get(type(estimator).__name__, ("",))
    for other in others:
        expected, length = len(getattr(estimator, first)), len(getattr(estimator, other))
        if length < expected:
            raise CorruptFile(f"{other}: expected {expected} items, as in {first}, got {length}")


def _check_inputs(estimator: Any) -> None:
    """Check the number of features, their names, and the classes."""
    count = getattr(estimator, "n_features_in_", None)
    whole = isinstance(count, int | np.integer) and not isinstance(count, bool)
    if count is not None and not (whole and 0 <= count <= MAX_FEATURES):
        raise CorruptFile(
            f"n_features_in_: expected an integer from 0 to {MAX_FEATURES:,}, got {count!r:.60}"
        )
    names = getattr(estimator, "feature_names_in_", None)
    if names is not None:
        if not isinstance(names, np.ndarray) or names.shape != (count,):
            raise CorruptFile(f"feature_names_in_: expected {count} names, got {_shape(names)}")
        words = names.tolist()
        if not all(isinstance(word, str) for word in words) or len({*words}) != len(words):
            raise CorruptFile("feature_names_in_: expected different texts")
    classes = getattr(estimator, "classes_", None)
    if isinstance(classes, np.ndarray):
        if classes.ndim != 1 or not classes.size:
            raise CorruptFile(f"classes_: expected a list of classes, got {_shape(classes)}")
        if len(set(classes.tolist())) != classes.size:
            raise CorruptFile("classes_: a class appears twice")


def _sizes(estimator: Any) -> dict[str, int]:
    """The named sizes that an estimator has."""
    sizes: dict[str, int] = {}
    if (count := getattr(estimator, "n_features_in_", None)) is not None:
        sizes["features"] = count
    if isinstance(classes := getattr(estimator, "classes_", None), np.ndarray):
        count = len(classes)
        sizes |= {"classes": count, "pairs": count * (count - 1) // 2}
        sizes["rows"] = 1 if count <= 2 else count
    return sizes


def _check(declared: Fitted, value: Any, sizes: dict[str, int]) -> None:
    expected = [sizes.get(size) if isinstance(size, str) else size for size in declared.sizes]
    if declared.listed or declared.kinds == "O":
        if len(value) == 0 or expected[0] not in (None, len(value)):
            raise _mismatch(declared, sizes, f"{len(value)} items")
        for item in value if declared.listed else ():
            _check_array(declared, np.asarray(item), expected[1:], sizes)
        return
    _check_array(declared, np.asarray(value), expected, sizes)


def _check_array(
    declared: Fitted, array: Any, expected: Sequence[int | None], sizes: dict[str, int]
) -> None:
    if array.dtype.kind not in declared.kinds:
        raise CorruptFile(f"{declared.name}: expected numbers, got values of type {array.dtype}")
    shape = array.shape if array.shape else (1,) * len(expected)
    while len(shape) < len(expected):  # a single row of weights may be flat
        shape = (1, *shape)
    fits = len(shape) == len(expected) and all(
        size in (None, actual) for actual, size in zip(shape, expected, strict=True)
    )
    if not fits:
        raise _mismatch(declared, sizes, _shape(array))
    if declared.least is not None and not bool(np.all(array >= declared.least)):
        raise CorruptFile(f"{declared.name}: expected numbers of at least {declared.least:g}")
    limit = sizes.get(declared.below) if isinstance(declared.below, str) else declared.below
    if limit is not None and not bool(np.all(array < limit)):
        raise CorruptFile(f"{declared.name}: expected indexes below {limit}")


def _mismatch(declared: Fitted, sizes: dict[str, int], got: str) -> CorruptFile:
    shown = [
        f"{sizes[size]} {size}" if isinstance(size, str) and size in sizes else str(size or "any")
        for size in declared.sizes
    ]
    return CorruptFile(f"{declared.name}: expected {' x '.join(shown) or 'a number'}, got {got}")


def _shape(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return f"a {type(value).__name__}"
    return f"an array of shape {value.shape}"
