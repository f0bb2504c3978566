"""The contents that a skops file may have: a hand-made allow-list of dotted names per loader.

skops creates the objects that a file names. It trusts some names and asks its user about the
others. A file cannot vouch for itself, so this list is the answer. It contains the scikit-learn
classes that can be translated, and the types of their fitted attributes: containers, arrays,
losses, links, scorers and cross-validation splitters. It also contains proxyuse's own estimators,
which hold a program as text to be parsed, and nothing else.

Every name was reviewed for what happens when skops creates the object. Classes are created with
``__new__`` and then get their attributes. Those with their own ``__setstate__`` (every estimator,
``IsotonicRegression``, ``TreePredictor``, ``Bunch``) set attributes, compare a version, rebuild an
interpolation or convert an array. Losses take at most one number. The functions score features and
predictions: they compute numbers from arrays, and prediction never calls them. None opens a file,
imports by name or executes text. ``sklearn.tree._tree.Tree`` copies arrays without checking them,
so `proxyuse.models.sklearn.skops_file` checks them first.

Excluded on purpose: sparse matrices and bytes (compiled code reads them unchecked), methods and
operators (they look up names), random generators (only fitting needs them, so they are dropped),
and models of other libraries, which are loaded from their own file formats.
"""

from __future__ import annotations

from proxyuse.models.supported import SUPPORTED


def _names(module: str, names: str) -> frozenset[str]:
    return frozenset(f"{module}.{name}" for name in names.split())


NUMBER_TYPES = _names(
    "numpy",
    "bool bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 str_",
)

LOSSES = _names(
    "sklearn._loss._loss",
    "CyAbsoluteError CyExponentialLoss CyHalfBinomialLoss CyHalfGammaLoss CyHalfMultinomialLoss "
    "CyHalfPoissonLoss CyHalfSquaredError CyHalfTweedieLoss CyHalfTweedieLossIdentity CyHuberLoss "
    "CyPinballLoss",
) | _names(
    "sklearn.linear_model._sgd_fast",
    "EpsilonInsensitive Hinge ModifiedHuber SquaredEpsilonInsensitive SquaredHinge "
    "Huber Log SquaredLoss",
)

CLASSES = (
    frozenset(name for name in SUPPORTED if name.startswith(("sklearn.", "proxyuse.models.")))
    | _names(
        "sklearn._loss.link",
        "HalfLogitLink IdentityLink Interval LogLink LogitLink MultinomialLogit",
    )
    | _names(
        "sklearn._loss.loss",
        "AbsoluteError ExponentialLoss HalfBinomialLoss HalfGammaLoss HalfMultinomialLoss "
        "HalfPoissonLoss HalfSquaredError HalfTweedieLoss HalfTweedieLossIdentity HuberLoss "
        "PinballLoss",
    )
    | _names("sklearn.calibration", "_CalibratedClassifier _SigmoidCalibration _TemperatureScaling")
    | _names("sklearn.compose._column_transformer", "make_column_selector")
    | _names("sklearn.ensemble._hist_gradient_boosting.binning", "_BinMapper")
    | _names("sklearn.ensemble._hist_gradient_boosting.predictor", "TreePredictor")
    | _names("sklearn.impute._base", "MissingIndicator")
    | _names("sklearn.isotonic", "IsotonicRegression")
    | _names(
        "sklearn.metrics._scorer", "_CurveScorer _MultimetricScorer _PassthroughScorer _Scorer"
    )
    | _names(
        "sklearn.model_selection._split",
        "GroupKFold GroupShuffleSplit KFold LeaveOneGroupOut LeaveOneOut LeavePGroupsOut LeavePOut "
        "PredefinedSplit RepeatedKFold RepeatedStratifiedKFold ShuffleSplit StratifiedGroupKFold "
        "StratifiedKFold StratifiedShuffleSplit TimeSeriesSplit _CVIterableWrapper",
    )
    | _names("sklearn.multiclass", "_ConstantPredictor")
    | _names("sklearn.preprocessing._label", "LabelBinarizer LabelEncoder")
    | _names("sklearn.utils._metadata_requests", "MetadataRequest MethodMetadataRequest")
)

FUNCTIONS = (
    _names("sklearn.feature_selection._mutual_info", "mutual_info_classif mutual_info_regression")
    | _names(
        "sklearn.feature_selection._univariate_selection",
        "chi2 f_classif f_regression r_regression",
    )
    | _names(
        "sklearn.metrics._classification",
        "accuracy_score balanced_accuracy_score brier_score_loss d2_brier_score d2_log_loss_score "
        "f1_score jaccard_score log_loss matthews_corrcoef precision_score recall_score",
    )
    | _names(
        "sklearn.metrics._ranking", "average_precision_score roc_auc_score top_k_accuracy_score"
    )
    | _names(
        "sklearn.metrics._regression",
        "d2_absolute_error_score explained_variance_score max_error mean_absolute_error "
        "mean_absolute_percentage_error mean_gamma_deviance mean_poisson_deviance "
        "mean_squared_error mean_squared_log_error median_absolute_error r2_score "
        "root_mean_squared_error root_mean_squared_log_error",
    )
    | _names("sklearn.utils.validation", "check_array")
)

TREE = "sklearn.tree._tree.Tree"

ALLOWED: dict[str, frozenset[str]] = {
    "DictNode": frozenset(
        {"builtins.dict", "collections.OrderedDict", "sklearn.utils._bunch.Bunch"}
    ),
    "ListNode": frozenset({"builtins.list"}),
    "TupleNode": frozenset({"builtins.tuple"}),
    "SetNode": frozenset({"builtins.set"}),
    "SliceNode": frozenset({"builtins.slice"}),
    "NdArrayNode": NUMBER_TYPES | {"numpy.ndarray"},
    "MaskedArrayNode": frozenset({"numpy.ma.MaskedArray", "numpy.ma.core.MaskedArray"}),
    "DTypeNode": frozenset({"numpy.dtype"}),
    "TypeNode": NUMBER_TYPES | _names("builtins", "bool float int str"),
    "FunctionNode": FUNCTIONS,
    "PartialNode": frozenset({"functools.partial"}),  # only of check_array
    "LossNode": LOSSES,
    "ObjectNode": CLASSES,
    "TreeNode": frozenset({TREE}),
}
"""The dotted names that each skops loader may create."""

DROPPED = frozenset({"RandomStateNode", "RandomGeneratorNode"})
"""Loaders whose objects become None, because only fitting needs them."""

TRUSTED: tuple[str, ...] = tuple(sorted(frozenset().union(*ALLOWED.values())))
"""All names, in the form of skops' `trusted` argument."""
