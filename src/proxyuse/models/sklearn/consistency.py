"""Checks that the parts of a loaded scikit-learn model are consistent with each other.

scikit-learn checks rows against an estimator, but not the parts of an estimator against each
other, because fitting makes them consistent. In a crafted file they may not be: trees over more
features than the estimator has, boosted trees for more classes than there are sums, missing
support vectors, or codes beyond the columns of a one-hot table. Compiled code would then read out
of bounds, so everything is checked before the first prediction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from proxyuse.errors import CorruptFile, FileError
from proxyuse.lang.evaluate import Array
from proxyuse.models.sklearn.fitted_attributes import check_attributes
from proxyuse.models.translation import labels
from proxyuse.models.tree_arrays import check_tree
from proxyuse.program import Program

MAX_DEGREE = 1000  # of polynomial features
BITSET = 8  # words of 32 bits: histogram boosting supports 256 categories


def check_model(model: object) -> None:
    """Raise an error if the parts of a model are inconsistent; unfitted parts are not checked."""
    from sklearn.base import BaseEstimator

    if not isinstance(model, BaseEstimator):
        raise FileError(
            f"it contains a {type(model).__name__}, which is not a model; save the fitted estimator"
        )
    own = ("sklearn.", "proxyuse.models.")
    parts = [part for part in _parts(model) if type(part).__module__.startswith(own)]
    for check in dict.fromkeys((_check_program, *_EVERY, *_CHECKS.values())):  # it reads nothing
        for part in parts:
            if check in _EVERY or check is _CHECKS.get(type(part).__name__):
                _run(check, part)


def _run(check: Callable[[Any], None], part: object) -> None:
    name = type(part).__name__
    try:
        check(part)
    except FileError as error:
        raise CorruptFile(f"its {name} is inconsistent: {error}") from None
    except Exception as error:  # an attribute of a wrong type can raise anything
        raise CorruptFile(f"its {name} is inconsistent: {type(error).__name__}: {error}") from None


def _parts(model: object) -> Iterator[object]:
    """All objects inside a model, each once."""
    seen: set[int] = set()
    pending: list[object] = [model]
    while pending:
        part = pending.pop()
        if isinstance(part, str | bytes | int | float | type | None) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            pending += part.values()
        elif isinstance(part, list | tuple | set):
            pending += part
        elif isinstance(part, np.ndarray) and part.dtype == object:
            pending += part.ravel().tolist()
        else:
            pending += getattr(part, "__dict__", {}).values()


def _require(fits: bool | np.bool_, why: str) -> None:
    if not fits:
        raise CorruptFile(why)


def _check_overrides(part: Any) -> None:
    """Raise an error if an attribute overrides a method or a constant of the class."""
    for name in getattr(part, "__dict__", {}):
        class_value = getattr(type(part), name, None)
        fixed = isinstance(class_value, str) and name.startswith("_")
        _require(not callable(class_value) and not fixed, f"it overrides {name!r:.60}")


def _check_decision_tree(tree: Any) -> None:
    from sklearn.tree._tree import Tree

    if not hasattr(tree, "tree_"):
        return
    _require(type(tree.tree_) is Tree, "its tree_ is not a tree")
    _require(
        tree.tree_.n_features == tree.n_features_in_, "its tree has a different number of features"
    )
    _require(tree.tree_.n_outputs == tree.n_outputs_, "its tree has a different number of outputs")
    if hasattr(tree, "classes_") and tree.n_outputs_ == 1:  # others are not translated
        classes = int(tree.tree_.n_classes[0])
        _require(classes == tree.n_classes_ == len(tree.classes_), "its tree has different classes")


def _check_forest(model: Any) -> None:
    """Only the first tree of a forest checks the rows before compiled code reads them."""
    for tree in getattr(model, "estimators_", ()):
        _require(type(tree).__name__ in _TREES, "it has trees of a different class")
        _require(
            tree.n_features_in_ == model.n_features_in_, "a tree has a different number of features"
        )
        _require(tree.tree_.n_outputs == model.n_outputs_, "a tree has other outputs")
        if hasattr(model, "classes_"):
            _require(
                np.array_equal(tree.tree_.n_classes, np.ravel(model.n_classes_))
                and (model.n_outputs_ > 1 or model.n_classes_ == len(model.classes_)),
                "a tree has different classes",
            )


def _check_powers(transformer: Any) -> None:
    """Listing the products takes long if their number is not the one that was fitted."""
    if not hasattr(transformer, "n_output_features_"):
        return
    degrees = (transformer._min_degree, transformer._max_degree)
    _require(all(type(d) is int and 0 <= d <= MAX_DEGREE for d in degrees), "its degree is invalid")
    count = transformer._num_combinations(
        n_features=transformer.n_features_in_,
        min_degree=degrees[0],
        max_degree=degrees[1],
        interaction_only=transformer.interaction_only,
        include_bias=transformer.include_bias,
    )
    _require(
        count == transformer.n_output_features_, "n_output_features_ does not match its degree"
    )


def _check_boosting(model: Any) -> None:
    from sklearn.tree import DecisionTreeRegressor

    if not hasattr(model, "estimators_"):
        return
    trees = model.estimators_
    _require(
        isinstance(trees, np.ndarray) and trees.ndim == 2 and trees.size > 0, "it has no trees"
    )
    for tree in trees.ravel():
        _require(type(tree) is DecisionTreeRegressor, "it has trees of a different class")
        _check_decision_tree(tree)
        _require(
            tree.n_features_in_ == model.n_features_in_, "a tree has a different number of features"
        )
        _require(tree.tree_.value.shape[1:] == (1, 1), "a tree has more than one value per leaf")
    width = trees.shape[1]
    classes = len(model.classes_) if hasattr(model, "classes_") else 1
    _require(width == model.n_trees_per_iteration_, "a round has the wrong number of trees")
    _require(width == (classes if classes > 2 else 1), "a round does not have one tree per class")
    start = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))
    _require(start.shape == (1, width), "its initial values do not match its classes")


def _check_histogram_boosting(model: Any) -> None:
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    if not hasattr(model, "_predictors"):
        return
    features = model.n_features_in_
    _require(type(features) is int and features > 0, "it has no features")
    mapper = model._bin_mapper
    _require(type(mapper) is _BinMapper, "it has no bins")
    _require(mapper.is_categorical_.shape == (features,), "its bins do not match its features")
    categorical = mapper.is_categorical_.astype(np.bool_)
    known = mapper.bin_thresholds_
    _require(len(known) == features, "its bins do not match its features")
    for index in np.flatnonzero(categorical).tolist():
        codes = np.asarray(known[index])
        _require(codes.dtype.kind in "iuf" and codes.ndim == 1, "its categories are not numbers")
        _require(bool(np.all((codes >= 0) & (codes < 32 * BITSET))), "a category is beyond 255")
    _check_preparation(model, features, categorical)
    for stage in model._predictors:
        _require(isinstance(stage, list) and stage != [], "a round has no trees")
        _require(
            len(stage) == model.n_trees_per_iteration_, "a round has the wrong number of trees"
        )
        for predictor in stage:
            _require(type(predictor) is TreePredictor, "it has trees of a different class")
            _require(
                predictor.nodes.dtype == PREDICTOR_RECORD_DTYPE, "its nodes have the wrong type"
            )
            _check_predictor(predictor, features, categorical)


def _check_preparation(model: Any, features: int, categorical: Array) -> None:
    """Raise an error unless the preprocessor only moves categorical columns to the front."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

    prepare = model._preprocessor
    if prepare is None:
        _require(model.is_categorical_ is None, "it has categorical columns, but no encoder")
        return
    _require(type(prepare) is ColumnTransformer, "it has an unknown preprocessor")
    chosen = model.is_categorical_
    _require(
        chosen.dtype == np.bool_ and chosen.shape == (features,),
        "is_categorical_ does not match its features",
    )
    _require(
        prepare.n_features_in_ == features, "its preprocessor has a different number of features"
    )
    (first, encoder, _), (second, numbers, _), *rest = prepare.transformers_
    kinds = (first, type(encoder), second, type(numbers))
    _require(
        kinds == ("encoder", OrdinalEncoder, "numerical", FunctionTransformer)
        and [(name, step) for name, step, _ in rest] in ([], [("remainder", "drop")]),
        "it has an unknown preprocessor",
    )
    for (name, _, mask), columns in zip(prepare.transformers_, (chosen, ~chosen), strict=False):
        _require(np.array_equal(mask, columns), "its preprocessor drops columns")
        indices = prepare._transformer_to_input_indices[name]
        _require(np.array_equal(indices, np.flatnonzero(columns)), "its preprocessor drops columns")
    _require(
        len(encoder.categories_) == int(chosen.sum()), "its categories do not match its columns"
    )
    checks = getattr(numbers.func, "func", None)
    _require(getattr(checks, "__name__", "") == "check_array", "it has an unknown preprocessor")
    _require(numbers.kw_args is None, "it has an unknown preprocessor")
    allowed = {"dtype", "ensure_all_finite", "force_all_finite"}
    _require(set(numbers.func.keywords) <= allowed, "it has an unknown preprocessor")
    _require(
        bool(np.all(categorical[: int(chosen.sum())])), "its categories do not match its columns"
    )
    _require(int(categorical.sum()) == int(chosen.sum()), "its categories do not match its columns")


def _check_predictor(predictor: Any, features: int, categorical: Array) -> None:
    nodes = predictor.nodes
    _require(nodes.ndim == 1, "its nodes are not a list")
    leaf = nodes["is_leaf"] != 0
    ends = np.full(len(nodes), -1)
    check_tree(
        np.where(leaf, ends, nodes["left"].astype(np.int64)),
        np.where(leaf, ends, nodes["right"].astype(np.int64)),
        nodes["feature_idx"],
        np.where(nodes["is_categorical"] != 0, 0.0, nodes["num_threshold"]),
        features,
    )
    bits = predictor.raw_left_cat_bitsets
    _require(
        bits.ndim == 2 and bits.shape[1] == BITSET and bits.dtype == np.uint32,
        "its bitsets are invalid",
    )
    categorical_splits = ~leaf & (nodes["is_categorical"] != 0)
    _require(
        bool(np.all(nodes["bitset_idx"][categorical_splits] < len(bits))),
        "a split uses a bitset that does not exist",
    )
    is_categorical = categorical[nodes["feature_idx"][categorical_splits]]
    _require(bool(np.all(is_categorical)), "a categorical split is on a numeric column")


def _check_svm(model: Any) -> None:
    if not hasattr(model, "support_vectors_"):
        return
    _require(not model._sparse, "it was fitted on a sparse matrix; fit it on a dense one")
    _require(model.kernel in ("linear", "poly", "rbf", "sigmoid"), "its kernel is unknown")
    vectors, counts = model.support_vectors_, model._n_support
    pairs = 1
    rows = 1
    _require(
        counts.ndim == 1 and len(counts) >= 2 and bool(np.all(counts >= 0)), "it has no classes"
    )
    if hasattr(model, "classes_"):
        classes = len(counts)
        _require(classes == len(model.classes_), "its support vectors do not match its classes")
        _require(int(counts.sum()) == len(vectors), "support vectors are missing")
        pairs, rows = classes * (classes - 1) // 2, classes - 1
    _require(len(counts) == rows + 1, "its support vectors do not match its classes")
    _require(
        vectors.shape == (len(model.support_), model.n_features_in_),
        "its support vectors have the wrong shape",
    )
    _require(model._dual_coef_.shape == (rows, len(vectors)), "weights are missing")
    _require(model._intercept_.shape == (pairs,), "intercepts are missing")
    sizes = {len(model._probA), len(model._probB)}
    _require(len(sizes) == 1 and sizes <= {0, pairs}, "probabilities are missing")
    for array in (vectors, model._dual_coef_, model._intercept_):
        _require(array.dtype == np.float64, "its arrays are not float64")


def _check_one_hot(encoder: Any) -> None:
    if not hasattr(encoder, "categories_"):
        return
    count = len(encoder.categories_)
    _require(count == encoder.n_features_in_, "its categories do not match its columns")
    sizes = [len(categories) for categories in encoder.categories_]
    if encoder._infrequent_enabled:
        mappings, rare = encoder._default_to_infrequent_mappings, encoder._infrequent_indices
        _require(
            len(mappings) == len(rare) == count,
            "its infrequent categories do not match its columns",
        )
        for column, mapping in enumerate(mappings):
            _require(
                (mapping is None) == (rare[column] is None),
                "its infrequent categories are incomplete",
            )
            if mapping is None:
                continue
            _require(
                mapping.shape == (sizes[column],), "a column has the wrong number of categories"
            )
            _require(
                mapping.dtype.kind in "iu" and rare[column].dtype.kind in "iu",
                "its codes are not integers",
            )
            rare_codes = rare[column]
            _require(
                rare_codes.ndim == 1 and rare_codes.size > 0,
                "a column has no infrequent categories",
            )
            _require(
                bool(np.all((rare_codes >= 0) & (rare_codes < sizes[column]))),
                "an infrequent category does not exist",
            )
            sizes[column] -= rare_codes.size - 1
            _require(
                bool(np.all((mapping >= 0) & (mapping < sizes[column]))), "a code is too large"
            )
    dropped = encoder._drop_idx_after_grouping
    if dropped is not None:
        _require(len(dropped) == count, "its dropped categories do not match its columns")
        for column, index in enumerate(dropped):
            if index is not None:
                _require(0 <= int(index) < sizes[column], "it drops a category that does not exist")
                sizes[column] -= 1
    _require(list(encoder._n_features_outs) == sizes, "it has the wrong number of output columns")


def _check_program(model: Any) -> None:
    """Raise an error unless the text is a program and the classes are labels."""
    expected = {"program", "named"} | ({"classes"} if hasattr(type(model), "classes_") else set())
    _require(set(model.__dict__) == expected, "it has unknown attributes")
    _require(type(model.program) is str and type(model.named) is bool, "it has no program")
    Program.parse(model.program)
    if "classes" in expected:
        classes = np.asarray(model.classes)
        _require(classes.ndim == 1 and classes.size > 0, "its classes are not a list")
        _require(len(labels(classes)) == classes.size, "its classes are not labels")


_EVERY = (_check_overrides, check_attributes)

_TREES = (
    "DecisionTreeClassifier", "DecisionTreeRegressor", "ExtraTreeClassifier", "ExtraTreeRegressor",
)  # fmt: skip

_CHECKS: dict[str, Callable[[Any], None]] = {
    "ProgramClassifier": _check_program,
    "ProgramRegressor": _check_program,
    "DecisionTreeClassifier": _check_decision_tree,
    "DecisionTreeRegressor": _check_decision_tree,
    "ExtraTreeClassifier": _check_decision_tree,
    "ExtraTreeRegressor": _check_decision_tree,
    "RandomForestClassifier": _check_forest,
    "RandomForestRegressor": _check_forest,
    "ExtraTreesClassifier": _check_forest,
    "ExtraTreesRegressor": _check_forest,
    "PolynomialFeatures": _check_powers,
    "HistGradientBoostingClassifier": _check_histogram_boosting,
    "HistGradientBoostingRegressor": _check_histogram_boosting,
    "SVC": _check_svm,
    "NuSVC": _check_svm,
    "SVR": _check_svm,
    "NuSVR": _check_svm,
    "OneHotEncoder": _check_one_hot,
    # last, because computing the initial values needs consistent parts
    "GradientBoostingClassifier": _check_boosting,
    "GradientBoostingRegressor": _check_boosting,
}
