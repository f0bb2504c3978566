"""The supported classes, by dotted name, and the functions that translate them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Supported:
    """A supported class.

    Attributes
    ----------
    family : its heading in the table of supported classes.
    function : the translator, as ``module:function``.
    role : whether it predicts or computes features.
    as_transformer : the translator for its use as a transformer, if it can be both.
    """

    family: str
    function: str
    role: Literal["model", "transformer"] = "model"
    as_transformer: str = ""


def _all(family: str, function: str, module: str, *classes: str) -> dict[str, Supported]:
    entry = Supported(family, f"proxyuse.models.{function}")
    return {f"{module}.{name}": entry for name in classes}


def _transformers(function: str, module: str, *classes: str) -> dict[str, Supported]:
    entry = Supported("transformers", f"proxyuse.models.{function}", "transformer")
    return {f"{module}.{name}": entry for name in classes}


SUPPORTED: dict[str, Supported] = {
    **_all(
        "trees", "sklearn.trees:translate_tree", "sklearn.tree._classes",
        "DecisionTreeClassifier", "DecisionTreeRegressor",
        "ExtraTreeClassifier", "ExtraTreeRegressor",
    ),
    **_all(
        "forests", "sklearn.forests:translate_forest", "sklearn.ensemble._forest",
        "RandomForestClassifier", "RandomForestRegressor",
        "ExtraTreesClassifier", "ExtraTreesRegressor",
    ),
    # linear models
    **_all(
        "linear models", "sklearn.linear:translate_logistic", "sklearn.linear_model._logistic",
        "LogisticRegression", "LogisticRegressionCV",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_logistic", "sklearn.discriminant_analysis",
        "LinearDiscriminantAnalysis",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_sgd",
        "sklearn.linear_model._stochastic_gradient", "SGDClassifier",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_classifier", "sklearn.linear_model._perceptron",
        "Perceptron",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_classifier",
        "sklearn.linear_model._passive_aggressive", "PassiveAggressiveClassifier",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_classifier", "sklearn.linear_model._ridge",
        "RidgeClassifier", "RidgeClassifierCV",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_classifier", "sklearn.svm._classes",
        "LinearSVC",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_svc", "sklearn.svm._classes",
        "SVC", "NuSVC",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_svr", "sklearn.svm._classes",
        "SVR", "NuSVR",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_regressor", "sklearn.svm._classes",
        "LinearSVR",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_regressor", "sklearn.linear_model._base",
        "LinearRegression",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_regressor", "sklearn.linear_model._ridge",
        "Ridge", "RidgeCV",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_regressor",
        "sklearn.linear_model._coordinate_descent",
        "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_regressor",
        "sklearn.linear_model._least_angle",
        "Lars", "LarsCV", "LassoLars", "LassoLarsCV", "LassoLarsIC",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_regressor", "sklearn.linear_model._omp",
        "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_regressor", "sklearn.linear_model._bayes",
        "ARDRegression", "BayesianRidge",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_regressor", "sklearn.linear_model._huber",
        "HuberRegressor",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_regressor", "sklearn.linear_model._quantile",
        "QuantileRegressor",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_regressor", "sklearn.linear_model._theil_sen",
        "TheilSenRegressor",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_regressor",
        "sklearn.linear_model._stochastic_gradient", "SGDRegressor",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_regressor",
        "sklearn.linear_model._passive_aggressive", "PassiveAggressiveRegressor",
    ),
    **_all(
        "linear models", "sklearn.linear:translate_generalized", "sklearn.linear_model._glm.glm",
        "PoissonRegressor", "GammaRegressor", "TweedieRegressor",
    ),
    # naive Bayes
    **_all(
        "naive Bayes", "sklearn.naive_bayes:translate_gaussian", "sklearn.naive_bayes",
        "GaussianNB",
    ),
    **_all(
        "naive Bayes", "sklearn.naive_bayes:translate_bernoulli", "sklearn.naive_bayes",
        "BernoulliNB",
    ),
    **_all(
        "naive Bayes", "sklearn.naive_bayes:translate_weighted", "sklearn.naive_bayes",
        "MultinomialNB", "ComplementNB",
    ),
    **_all(
        "naive Bayes", "sklearn.naive_bayes:translate_categorical", "sklearn.naive_bayes",
        "CategoricalNB",
    ),
    # rule lists
    **_all(
        "rule lists", "rule_lists:translate_greedy", "imodels.rule_list.greedy_rule_list",
        "GreedyRuleListClassifier",
    ),
    **_all(
        "rule lists", "rule_lists:translate_greedy", "imodels.rule_list.one_r",
        "OneRClassifier",
    ),
    **_all(
        "rule lists", "rule_lists:translate_frugal", "imodels.rule_list.fast_frugal_tree",
        "FastFrugalTreeClassifier",
    ),
    **_all(
        "rule lists", "rule_lists:translate_bayesian",
        "imodels.rule_list.bayesian_rule_list.bayesian_rule_list", "BayesianRuleListClassifier",
    ),
    # boosting
    **_all(
        "boosting", "sklearn.boosting:translate_gradient_boosting", "sklearn.ensemble._gb",
        "GradientBoostingClassifier", "GradientBoostingRegressor",
    ),
    **_all(
        "boosting", "sklearn.hist_boosting:translate_hist",
        "sklearn.ensemble._hist_gradient_boosting.gradient_boosting",
        "HistGradientBoostingClassifier", "HistGradientBoostingRegressor",
    ),
    # ensembles of other models
    **_all(
        "ensembles of other models", "sklearn.ensembles:translate_adaboost",
        "sklearn.ensemble._weight_boosting", "AdaBoostClassifier",
    ),
    **_all(
        "ensembles of other models", "sklearn.ensembles:translate_adaboost_regressor",
        "sklearn.ensemble._weight_boosting", "AdaBoostRegressor",
    ),
    **_all(
        "ensembles of other models", "sklearn.ensembles:translate_bagging",
        "sklearn.ensemble._bagging", "BaggingClassifier", "BaggingRegressor",
    ),
    **_all(
        "ensembles of other models", "sklearn.ensembles:translate_voting",
        "sklearn.ensemble._voting", "VotingClassifier", "VotingRegressor",
    ),
    **_all(
        "ensembles of other models", "sklearn.ensembles:translate_stacking",
        "sklearn.ensemble._stacking", "StackingClassifier", "StackingRegressor",
    ),
    # wrappers
    **_all(
        "wrappers", "sklearn.wrappers:translate_search", "sklearn.model_selection._search",
        "GridSearchCV", "RandomizedSearchCV",
    ),
    **_all(
        "wrappers", "sklearn.wrappers:translate_search",
        "sklearn.model_selection._search_successive_halving",
        "HalvingGridSearchCV", "HalvingRandomSearchCV",
    ),
    **_all(
        "wrappers", "sklearn.wrappers:translate_threshold",
        "sklearn.model_selection._classification_threshold",
        "FixedThresholdClassifier", "TunedThresholdClassifierCV",
    ),
    **_all(
        "wrappers", "sklearn.wrappers:translate_frozen", "sklearn.frozen._frozen",
        "FrozenEstimator",
    ),
    **_all(
        "wrappers", "sklearn.calibration:translate_calibrated", "sklearn.calibration",
        "CalibratedClassifierCV",
    ),
    **_all(
        "wrappers", "sklearn.wrappers:translate_one_vs_rest", "sklearn.multiclass",
        "OneVsRestClassifier",
    ),
    **_all(
        "wrappers", "sklearn.wrappers:translate_one_vs_one", "sklearn.multiclass",
        "OneVsOneClassifier",
    ),
    **_all(
        "wrappers", "sklearn.wrappers:translate_dummy", "sklearn.dummy",
        "DummyClassifier", "DummyRegressor",
    ),
    # pipelines
    "sklearn.pipeline.Pipeline": Supported(
        "pipelines",
        "proxyuse.models.sklearn.pipelines:translate_pipeline",
        as_transformer="proxyuse.models.sklearn.pipelines:transform_pipeline",
    ),
    # transformers
    **_transformers(
        "sklearn.pipelines:transform_columns",
        "sklearn.compose._column_transformer", "ColumnTransformer",
    ),
    **_transformers("sklearn.pipelines:transform_union", "sklearn.pipeline", "FeatureUnion"),
    **_transformers(
        "sklearn.pipelines:transform_function", "sklearn.preprocessing._function_transformer",
        "FunctionTransformer",
    ),
    **_transformers(
        "sklearn.preprocessing:transform_standard", "sklearn.preprocessing._data", "StandardScaler",
    ),
    **_transformers(
        "sklearn.preprocessing:transform_min_max", "sklearn.preprocessing._data", "MinMaxScaler",
    ),
    **_transformers(
        "sklearn.preprocessing:transform_robust", "sklearn.preprocessing._data", "RobustScaler",
    ),
    **_transformers(
        "sklearn.preprocessing:transform_max_abs", "sklearn.preprocessing._data", "MaxAbsScaler",
    ),
    **_transformers(
        "sklearn.preprocessing:transform_binary", "sklearn.preprocessing._data",
        "Binarizer",
    ),
    **_transformers(
        "sklearn.preprocessing:transform_bins",
        "sklearn.preprocessing._discretization", "KBinsDiscretizer",
    ),
    **_transformers(
        "sklearn.preprocessing:transform_products", "sklearn.preprocessing._polynomial",
        "PolynomialFeatures",
    ),
    **_transformers("sklearn.encoders:transform_imputed", "sklearn.impute._base", "SimpleImputer"),
    **_transformers(
        "sklearn.encoders:transform_one_hot", "sklearn.preprocessing._encoders", "OneHotEncoder",
    ),
    **_transformers(
        "sklearn.encoders:transform_ordinal", "sklearn.preprocessing._encoders", "OrdinalEncoder",
    ),
    **_transformers(
        "sklearn.encoders:transform_target",
        "sklearn.preprocessing._target_encoder", "TargetEncoder",
    ),
    **_transformers(
        "sklearn.pipelines:transform_selected", "sklearn.feature_selection._univariate_selection",
        "SelectKBest", "SelectPercentile", "SelectFpr", "SelectFdr", "SelectFwe",
        "GenericUnivariateSelect",
    ),
    **_transformers(
        "sklearn.pipelines:transform_selected",
        "sklearn.feature_selection._from_model", "SelectFromModel",
    ),
    **_transformers(
        "sklearn.pipelines:transform_selected", "sklearn.feature_selection._variance_threshold",
        "VarianceThreshold",
    ),
    **_transformers(
        "sklearn.pipelines:transform_selected", "sklearn.feature_selection._sequential",
        "SequentialFeatureSelector",
    ),
    **_transformers(
        "sklearn.pipelines:transform_selected", "sklearn.feature_selection._rfe", "RFE", "RFECV",
    ),
    # XGBoost
    **_all(
        "XGBoost", "xgboost.translate:translate_classifier", "xgboost.sklearn",
        "XGBClassifier", "XGBRFClassifier",
    ),
    **_all(
        "XGBoost", "xgboost.translate:translate_regressor", "xgboost.sklearn",
        "XGBRegressor", "XGBRFRegressor", "XGBRanker",
    ),
    **_all("XGBoost", "xgboost.translate:translate_booster", "xgboost.core", "Booster"),
    # LightGBM
    **_all(
        "LightGBM", "lightgbm.translate:translate_classifier", "lightgbm.sklearn", "LGBMClassifier",
    ),
    **_all(
        "LightGBM", "lightgbm.translate:translate_regressor", "lightgbm.sklearn",
        "LGBMRegressor", "LGBMRanker",
    ),
    **_all("LightGBM", "lightgbm.translate:translate_booster", "lightgbm.basic", "Booster"),
    # repaired models that could not be written back
    **_all(
        "repaired models", "program_model:translate_program", "proxyuse.models.program_estimator",
        "ProgramClassifier", "ProgramRegressor",
    ),
}  # fmt: skip


def supported_table() -> str:
    """The supported classes by family, as a Markdown table."""
    families: dict[str, list[str]] = {}
    for name, entry in SUPPORTED.items():
        library = name.split(".", 1)[0].replace("sklearn", "scikit-learn")
        families.setdefault(f"{entry.family} | {library}", []).append(name.rsplit(".", 1)[1])
    lines = [
        f"| {family} | {', '.join(sorted(f'`{name}`' for name in set(names)))} |"
        for family, names in families.items()
    ]
    return "\n".join(["| family | library | classes |", "|---|---|---|", *lines])
