"""A scikit-learn model made from a stranger's file: do its parts fit together?

scikit-learn checks the rows it is given against an estimator, and not the estimator's parts
against each other, as fitting makes them fit. Compiled code then reads where the numbers lead:
trees over more features than the estimator has, boosted trees for more classes than there are
sums, support vectors that are not there, codes beyond the columns of a one-hot table. These
are looked at here, before anything is predicted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from proxyuse.errors import FileError
from proxyuse.lang.evaluate import Array
from proxyuse.models.translation import labels
from proxyuse.models.tree_arrays import check_tree
from proxyuse.program import Program

BITSET = 8  # words of 32 bits: histogram boosting knows 256 categories


def check_model(model: object) -> None:
    """Refuse a model with a part that does not fit; a part that was not fitted is left alone."""
    from sklearn.base import BaseEstimator

    if not isinstance(model, BaseEstimator):
        raise FileError(
            f"it holds {type(model).__name__}, which is not a model; save the fitted estimator"
        )
    own = ("sklearn.", "proxyuse.models.")
    parts = [part for part in _parts(model) if type(part).__module__.startswith(own)]
    for check in dict.fromkeys((_check_attributes, *_CHECKS.values())):
        for part in parts:
            if check is _check_attributes or check is _CHECKS.get(type(part).__name__):
                _ask(check, part)


def _ask(check: Callable[[Any], None], part: object) -> None:
    name = type(part).__name__
    try:
        check(part)
    except FileError as error:
        raise FileError(f"its {name} does not fit together: {error}") from None
    except Exception as error:  # an attribute of any wrong type fails in its own way
        raise FileError(
            f"its {name} does not fit together: {type(error).__name__}: {error}"
        ) from None


def _parts(model: object) -> Iterator[object]:
    """All objects that a model is made of, each once."""
    seen: set[int] = set()
    waiting: list[object] = [model]
    while waiting:
        part = waiting.pop()
        if isinstance(part, str | bytes | int | float | type | None) or id(part) in seen:
            continue
        seen.add(id(part))
        yield part
        if isinstance(part, dict):
            waiting += part.values()
        elif isinstance(part, list | tuple | set):
            waiting += part
        elif isinstance(part, np.ndarray) and part.dtype == object:
            waiting += part.ravel().tolist()
        else:
            waiting += getattr(part, "__dict__", {}).values()


def _need(fits: bool | np.bool_, why: str) -> None:
    if not fits:
        raise FileError(why)


def _check_attributes(part: Any) -> None:
    """No attribute stands in for a method or for a constant of the class."""
    for name in getattr(part, "__dict__", {}):
        own = getattr(type(part), name, None)
        fixed = isinstance(own, str) and name.startswith("_")
        _need(not callable(own) and not fixed, f"it has its own {name!r:.60}")


def _check_decision_tree(tree: Any) -> None:
    from sklearn.tree._tree import Tree

    if not hasattr(tree, "tree_"):
        return
    _need(type(tree.tree_) is Tree, "its tree_ is not a tree")
    _need(tree.tree_.n_features == tree.n_features_in_, "its tree is over other features")
    _need(tree.tree_.n_outputs == tree.n_outputs_, "its tree has other outputs")
    if hasattr(tree, "classes_"):
        _need(tree.tree_.n_outputs == 1, "it has several outputs")
        classes = int(tree.tree_.n_classes[0])
        _need(classes == tree.n_classes_ == len(tree.classes_), "its tree has other classes")


def _check_boosting(model: Any) -> None:
    from sklearn.tree import DecisionTreeRegressor

    if not hasattr(model, "estimators_"):
        return
    trees = model.estimators_
    _need(isinstance(trees, np.ndarray) and trees.ndim == 2 and trees.size > 0, "it has no trees")
    for tree in trees.ravel():
        _need(type(tree) is DecisionTreeRegressor, "it has trees of another kind")
        _check_decision_tree(tree)
        _need(tree.n_features_in_ == model.n_features_in_, "a tree is over other features")
        _need(tree.tree_.value.shape[1:] == (1, 1), "a tree says more than a number")
    width = trees.shape[1]
    classes = len(model.classes_) if hasattr(model, "classes_") else 1
    _need(width == model.n_trees_per_iteration_, "a round has another number of trees")
    _need(width == (classes if classes > 2 else 1), "a round is for another number of classes")
    start = model._raw_predict_init(np.zeros((1, model.n_features_in_), dtype=np.float32))
    _need(start.shape == (1, width), "what its sums begin with is for other classes")


def _check_histogram_boosting(model: Any) -> None:
    from sklearn.ensemble._hist_gradient_boosting.binning import _BinMapper
    from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
    from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor

    if not hasattr(model, "_predictors"):
        return
    features = model.n_features_in_
    _need(type(features) is int and features > 0, "it has no features")
    mapper = model._bin_mapper
    _need(type(mapper) is _BinMapper, "it has no bins")
    _need(mapper.is_categorical_.shape == (features,), "its bins are of other features")
    categorical = mapper.is_categorical_.astype(np.bool_)
    known = mapper.bin_thresholds_
    _need(len(known) == features, "its bins are of other features")
    for place in np.flatnonzero(categorical).tolist():
        codes = np.asarray(known[place])
        _need(codes.dtype.kind in "iuf" and codes.ndim == 1, "its categories are not numbers")
        _need(bool(np.all((codes >= 0) & (codes < 32 * BITSET))), "a category is beyond 255")
    _check_preparation(model, features, categorical)
    for stage in model._predictors:
        _need(isinstance(stage, list) and stage != [], "a round has no trees")
        _need(len(stage) == model.n_trees_per_iteration_, "a round has another number of trees")
        for predictor in stage:
            _need(type(predictor) is TreePredictor, "it has trees of another kind")
            _need(predictor.nodes.dtype == PREDICTOR_RECORD_DTYPE, "its nodes are of another type")
            _check_predictor(predictor, features, categorical)


def _check_preparation(model: Any, features: int, categorical: Array) -> None:
    """Rows keep all their columns on the way to the trees: categories first, then numbers."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

    prepare = model._preprocessor
    if prepare is None:
        _need(model.is_categorical_ is None, "it has categories, and does not number them")
        return
    _need(type(prepare) is ColumnTransformer, "it prepares rows in another way")
    chosen = model.is_categorical_
    _need(chosen.dtype == np.bool_ and chosen.shape == (features,), "its categories are unknown")
    _need(prepare.n_features_in_ == features, "it prepares other features")
    (first, encoder, _), (second, numbers, _), *rest = prepare.transformers_
    kinds = (first, type(encoder), second, type(numbers))
    _need(
        kinds == ("encoder", OrdinalEncoder, "numerical", FunctionTransformer)
        and [(name, step) for name, step, _ in rest] in ([], [("remainder", "drop")]),
        "it prepares rows in another way",
    )
    for (name, _, mask), own in zip(prepare.transformers_, (chosen, ~chosen), strict=False):
        _need(np.array_equal(mask, own), "columns are lost")
        places = prepare._transformer_to_input_indices[name]
        _need(np.array_equal(places, np.flatnonzero(own)), "columns are lost")
    _need(len(encoder.categories_) == int(chosen.sum()), "its categories are of other columns")
    checks = getattr(numbers.func, "func", None)
    _need(getattr(checks, "__name__", "") == "check_array", "it prepares rows in another way")
    _need(numbers.kw_args is None, "it prepares rows in another way")
    allowed = {"dtype", "ensure_all_finite", "force_all_finite"}
    _need(set(numbers.func.keywords) <= allowed, "it prepares rows in another way")
    _need(bool(np.all(categorical[: int(chosen.sum())])), "its categories are of other columns")
    _need(int(categorical.sum()) == int(chosen.sum()), "its categories are of other columns")


def _check_predictor(predictor: Any, features: int, categorical: Array) -> None:
    nodes = predictor.nodes
    _need(nodes.ndim == 1, "its nodes are not a list")
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
    _need(bits.ndim == 2 and bits.shape[1] == BITSET and bits.dtype == np.uint32, "bits are lost")
    asks = ~leaf & (nodes["is_categorical"] != 0)
    _need(bool(np.all(nodes["bitset_idx"][asks] < len(bits))), "a node asks for bits in vain")
    own = categorical[nodes["feature_idx"][asks]]
    _need(bool(np.all(own)), "a node asks a number for its category")


def _check_svm(model: Any) -> None:
    if not hasattr(model, "support_vectors_"):
        return
    _need(not model._sparse, "it was fitted on a sparse matrix; fit it on a dense one")
    _need(model.kernel in ("linear", "poly", "rbf", "sigmoid"), "its kernel is not known")
    vectors, counts = model.support_vectors_, model._n_support
    pairs = 1
    rows = 1
    _need(counts.ndim == 1 and len(counts) >= 2 and bool(np.all(counts >= 0)), "no classes")
    if hasattr(model, "classes_"):
        classes = len(counts)
        _need(classes == len(model.classes_), "it has support vectors of other classes")
        _need(int(counts.sum()) == len(vectors), "support vectors are missing")
        pairs, rows = classes * (classes - 1) // 2, classes - 1
    _need(len(counts) == rows + 1, "its support vectors are of other classes")
    _need(vectors.shape == (len(model.support_), model.n_features_in_), "vectors are of other rows")
    _need(model._dual_coef_.shape == (rows, len(vectors)), "weights are missing")
    _need(model._intercept_.shape == (pairs,), "intercepts are missing")
    sizes = {len(model._probA), len(model._probB)}
    _need(len(sizes) == 1 and sizes <= {0, pairs}, "probabilities are missing")
    for array in (vectors, model._dual_coef_, model._intercept_):
        _need(array.dtype == np.float64, "its numbers are of another type")


def _check_one_hot(encoder: Any) -> None:
    if not hasattr(encoder, "categories_"):
        return
    count = len(encoder.categories_)
    _need(count == encoder.n_features_in_, "it has categories of other columns")
    sizes = [len(categories) for categories in encoder.categories_]
    if encoder._infrequent_enabled:
        mappings, rare = encoder._default_to_infrequent_mappings, encoder._infrequent_indices
        _need(len(mappings) == len(rare) == count, "its rare categories are of other columns")
        for place, mapping in enumerate(mappings):
            _need((mapping is None) == (rare[place] is None), "rare categories are lost")
            if mapping is None:
                continue
            _need(mapping.shape == (sizes[place],), "a column has other categories")
            _need(mapping.dtype.kind in "iu" and rare[place].dtype.kind in "iu", "no numbers")
            own = rare[place]
            _need(own.ndim == 1 and own.size > 0, "a column has no rare categories")
            _need(bool(np.all((own >= 0) & (own < sizes[place]))), "a rare category is not there")
            sizes[place] -= own.size - 1
            _need(bool(np.all((mapping >= 0) & (mapping < sizes[place]))), "a code is too large")
    dropped = encoder._drop_idx_after_grouping
    if dropped is not None:
        _need(len(dropped) == count, "it leaves out categories of other columns")
        for place, index in enumerate(dropped):
            if index is not None:
                _need(0 <= int(index) < sizes[place], "it leaves out a category that is not there")
                sizes[place] -= 1
    _need(list(encoder._n_features_outs) == sizes, "it has another number of columns")


def _check_program(model: Any) -> None:
    """Text that is a program; labels that are labels."""
    wanted = {"program", "named"} | ({"classes"} if hasattr(type(model), "classes_") else set())
    _need(set(model.__dict__) == wanted, "it has other attributes than a program's")
    _need(type(model.program) is str and type(model.named) is bool, "it has no program")
    Program.parse(model.program)
    if "classes" in wanted:
        classes = np.asarray(model.classes)
        _need(classes.ndim == 1 and classes.size > 0, "its classes are not a list")
        _need(len(labels(classes)) == classes.size, "its classes are not labels")


_CHECKS: dict[str, Callable[[Any], None]] = {
    "ProgramClassifier": _check_program,
    "ProgramRegressor": _check_program,
    "DecisionTreeClassifier": _check_decision_tree,
    "DecisionTreeRegressor": _check_decision_tree,
    "ExtraTreeClassifier": _check_decision_tree,
    "ExtraTreeRegressor": _check_decision_tree,
    "HistGradientBoostingClassifier": _check_histogram_boosting,
    "HistGradientBoostingRegressor": _check_histogram_boosting,
    "SVC": _check_svm,
    "NuSVC": _check_svm,
    "SVR": _check_svm,
    "NuSVR": _check_svm,
    "OneHotEncoder": _check_one_hot,
    # last: to ask for where its sums begin, its parts have to fit
    "GradientBoostingClassifier": _check_boosting,
    "GradientBoostingRegressor": _check_boosting,
}
