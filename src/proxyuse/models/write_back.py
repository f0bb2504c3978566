"""Turns a repaired program back into a model of the original class, if possible.

A writer takes a fitted model, the repaired program, and the step that names the model in the
program's origins. It returns a new model and does not change the original one. Writers are found
by the dotted name of the model's class, so no library is imported.

Every remaining test of the program is compared with the model's test at the same node, because a
repair inside a test may not show on the rows at hand. Then the new model is compared with the
program on every row.

If a class has no writer, or the program no longer fits the class, the result is an estimator that
runs the program, with the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from proxyuse.data.table import Table
from proxyuse.decision import Decision, Positive, Threshold, TopK
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Compare, Const, Ite, Term
from proxyuse.lang.rewrite import without_missing_directions
from proxyuse.models.audited_model import ranking_scores, threshold_decisions
from proxyuse.models.checks import call_model, compare, exactness, model_rows, predictions
from proxyuse.models.constant_shares import constant_shares
from proxyuse.models.decisions import decided
from proxyuse.models.features import Inputs
from proxyuse.models.registry import find, input_names, program_of, translation_of
from proxyuse.models.remaining_trees import CannotWriteBack
from proxyuse.models.translation import Translation
from proxyuse.program import Frame, Program


@dataclass(frozen=True, slots=True)
class Writer:
    """A function that writes a program back to a model of some class.

    Attributes
    ----------
    function : as ``module:function``; takes the model, the program and the step.
    features : whether it takes the `Inputs` of the model instead of the step.
    """

    function: str
    features: bool = False


def _all(writer: Writer, module: str, classes: str) -> dict[str, Writer]:
    return {f"{module}.{name}": writer for name in classes.split()}


_TREES = "proxyuse.models.sklearn.write_trees"
_LINEAR = Writer("proxyuse.models.sklearn.write_linear:write_linear", features=True)
_WRAPPED = "proxyuse.models.sklearn.write_wrappers"
_XGBOOST = Writer("proxyuse.models.xgboost.write_back:write")
_LIGHTGBM = Writer("proxyuse.models.lightgbm.write_back:write")

WRITERS: dict[str, Writer] = {
    **_all(
        Writer(f"{_TREES}:write_tree"),
        "sklearn.tree._classes",
        "DecisionTreeClassifier DecisionTreeRegressor ExtraTreeClassifier ExtraTreeRegressor",
    ),
    **_all(
        Writer(f"{_TREES}:write_forest"),
        "sklearn.ensemble._forest",
        "RandomForestClassifier RandomForestRegressor ExtraTreesClassifier ExtraTreesRegressor",
    ),
    **_all(
        Writer(f"{_TREES}:write_bagging", features=True),
        "sklearn.ensemble._bagging",
        "BaggingClassifier BaggingRegressor",
    ),
    **_all(
        Writer("proxyuse.models.sklearn.write_boosting:write_gradient_boosting"),
        "sklearn.ensemble._gb",
        "GradientBoostingClassifier GradientBoostingRegressor",
    ),
    **_all(
        Writer("proxyuse.models.sklearn.write_boosting:write_hist"),
        "sklearn.ensemble._hist_gradient_boosting.gradient_boosting",
        "HistGradientBoostingClassifier HistGradientBoostingRegressor",
    ),
    # linear models
    **_all(_LINEAR, "sklearn.linear_model._logistic", "LogisticRegression LogisticRegressionCV"),
    **_all(_LINEAR, "sklearn.discriminant_analysis", "LinearDiscriminantAnalysis"),
    **_all(_LINEAR, "sklearn.linear_model._stochastic_gradient", "SGDClassifier SGDRegressor"),
    **_all(_LINEAR, "sklearn.linear_model._perceptron", "Perceptron"),
    **_all(
        _LINEAR,
        "sklearn.linear_model._passive_aggressive",
        "PassiveAggressiveClassifier PassiveAggressiveRegressor",
    ),
    **_all(
        _LINEAR, "sklearn.linear_model._ridge", "Ridge RidgeCV RidgeClassifier RidgeClassifierCV"
    ),
    **_all(_LINEAR, "sklearn.svm._classes", "LinearSVC LinearSVR"),
    **_all(_LINEAR, "sklearn.linear_model._base", "LinearRegression"),
    **_all(
        _LINEAR,
        "sklearn.linear_model._coordinate_descent",
        "Lasso LassoCV ElasticNet ElasticNetCV",
    ),
    **_all(
        _LINEAR,
        "sklearn.linear_model._least_angle",
        "Lars LarsCV LassoLars LassoLarsCV LassoLarsIC",
    ),
    **_all(
        _LINEAR,
        "sklearn.linear_model._omp",
        "OrthogonalMatchingPursuit OrthogonalMatchingPursuitCV",
    ),
    **_all(_LINEAR, "sklearn.linear_model._bayes", "ARDRegression BayesianRidge"),
    **_all(_LINEAR, "sklearn.linear_model._huber", "HuberRegressor"),
    **_all(_LINEAR, "sklearn.linear_model._quantile", "QuantileRegressor"),
    **_all(_LINEAR, "sklearn.linear_model._theil_sen", "TheilSenRegressor"),
    **_all(
        _LINEAR,
        "sklearn.linear_model._glm.glm",
        "PoissonRegressor GammaRegressor TweedieRegressor",
    ),
    # other libraries
    **_all(_XGBOOST, "xgboost.sklearn", "XGBModel"),
    **_all(_XGBOOST, "xgboost.core", "Booster"),
    **_all(_LIGHTGBM, "lightgbm.sklearn", "LGBMModel"),
    **_all(_LIGHTGBM, "lightgbm.basic", "Booster"),
    # wrappers
    "sklearn.pipeline.Pipeline": Writer(f"{_WRAPPED}:write_pipeline", features=True),
    **_all(
        Writer(f"{_WRAPPED}:write_search", features=True),
        "sklearn.model_selection._search",
        "GridSearchCV RandomizedSearchCV",
    ),
    **_all(
        Writer(f"{_WRAPPED}:write_search", features=True),
        "sklearn.model_selection._search_successive_halving",
        "HalvingGridSearchCV HalvingRandomSearchCV",
    ),
    **_all(
        Writer(f"{_WRAPPED}:write_threshold", features=True),
        "sklearn.model_selection._classification_threshold",
        "FixedThresholdClassifier TunedThresholdClassifierCV",
    ),
    "sklearn.frozen._frozen.FrozenEstimator": Writer(f"{_WRAPPED}:write_frozen", features=True),
}


_COMBINES = "it combines the outputs of its members, which cannot be replaced by constants"
_VOTES = "its members predict labels, and other constants cannot replace a prediction"
_VECTORS = "its sums run over support vectors, so no column can be removed"

REASONS = {
    "sklearn.svm._base.BaseLibSVM": _VECTORS,
    "sklearn.ensemble._weight_boosting.BaseWeightBoosting": _VOTES,
    "sklearn.ensemble._voting._BaseVoting": _COMBINES,
    "sklearn.ensemble._stacking._BaseStacking": _COMBINES,
    "sklearn.calibration.CalibratedClassifierCV": _COMBINES,
    "sklearn.multiclass.OneVsRestClassifier": _COMBINES,
    "sklearn.multiclass.OneVsOneClassifier": _COMBINES,
}
"""Why models of some classes cannot be written back."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """A model that predicts what a repaired program computes.

    Attributes
    ----------
    model : a new fitted estimator.
    native : whether it has the class of the original model.
    why : the reason if it does not.
    """

    model: Any
    native: bool
    why: str = ""


def write_back(
    model: Any, program: Program, X: object, decision: Decision | None = None
) -> Deployed:
    """Make a model that predicts what a repaired program computes, of the same class if possible.

    Parameters
    ----------
    model : the fitted model that the program was translated from; it is not changed.
    program : the repaired program, with origins.
    X : the rows on which the new model is compared with the program.
    decision : the decision, if the program's output is not the model's prediction. The cut of a
        `TopK` is taken from the program.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from proxyuse.lang.positions import Position
    >>> from proxyuse.models.registry import translate
    >>> X = np.array([[1.0], [2.0], [3.0], [4.0]])
    >>> model = DecisionTreeClassifier().fit(X, ["no", "no", "yes", "no"])
    >>> program = translate(model)
    >>> print(program)
    float32: ite(x0 <= 2.5, 'no', ite(x0 <= 3.5, 'yes', 'no'))
    >>> inner = program.points.site(Position.parse("2"))
    >>> deployed = write_back(model, program.replaced({inner: Const("yes")}), X)
    >>> deployed.native, deployed.model.predict(X).tolist()
    (True, ['no', 'no', 'yes', 'yes'])
    """
    try:
        return Deployed(_native(model, program, X, decision), native=True)
    except CannotWriteBack as error:
        why = str(error)
    from proxyuse.models.program_estimator import program_estimator

    estimator = program_estimator(program, model)
    if type(estimator) is type(model):  # the original model also runs a program
        return Deployed(estimator, native=True)
    return Deployed(estimator, native=False, why=why)


def write_part(model: Any, program: Program, inputs: Inputs) -> Any:
    """A new model, or a new part of one, that predicts what a program computes."""
    writer = find_writer(model)
    if writer is None:
        raise _no_writer(model, inputs.step)
    module, name = writer.function.split(":")
    write = getattr(import_module(module), name)
    return write(model, program, inputs if writer.features else step_of(model, inputs))


def find_writer(model: object) -> Writer | None:
    """The writer of a model, or None."""
    return next((WRITERS[name] for name in _names(model) if name in WRITERS), None)


def _names(model: object) -> list[str]:
    """The dotted names of a model's class and its bases."""
    return [f"{cls.__module__}.{cls.__qualname__}" for cls in type(model).__mro__]


def _no_writer(model: object, step: str = "") -> CannotWriteBack:
    where = f" (step {step!r})" if step else ""
    why = next((REASONS[name] for name in _names(model) if name in REASONS), "")
    return CannotWriteBack(
        f"a {type(model).__name__}{where} cannot be written back: "
        + (why or "proxyuse cannot edit this class")
    )


def step_of(model: Any, inputs: Inputs) -> str:
    """The name of a model in a program's origins: its step, or else its class."""
    return inputs.step or type(model).__name__


# Making and checking


def _native(model: Any, program: Program, X: object, decision: Decision | None) -> Any:
    if find(model) is None:
        raise _no_writer(model)
    names = program.inputs[: len(input_names(model, None))]
    opaque = len(program.inputs) > len(names)
    translation = translation_of(model, names, opaque=opaque)
    if _unchanged(program, translation, decision):
        return deepcopy(model)
    if find_writer(model) is None:
        raise _no_writer(model)
    _check_tests(program, program_of(translation, names))
    inputs = Inputs.raw(names, opaque=opaque)
    if isinstance(program.term, Const):
        rows = model_rows(model, X, names)
        shares = constant_shares(model, translation, decision, program.term.value, rows)
        if shares is not None:
            with suppress(CannotWriteBack):  # then the model is certain of its decision
                new = _with_shares(model, program, shares, inputs, rows)
                _check_rows(new, program, X, names, translation, decision)
                return new
    new = write_part(model, program, inputs)
    _check_rows(new, program, X, names, translation, decision)
    return new


def _with_shares(
    model: Any, program: Program, shares: tuple[float, ...], inputs: Inputs, rows: Any
) -> Any:
    """A new model with the same class probabilities for every row."""
    new = write_part(model, Program(Const(shares), program.inputs, program.origins), inputs)
    written = call_model(new, "predict_proba", rows)
    if np.shape(written)[1:] != (len(shares),) or not np.allclose(written, shares, atol=1e-5):
        raise CannotWriteBack(f"the edited {type(new).__name__} has other probabilities")
    return new


def _unchanged(program: Program, translation: Translation, decision: Decision | None) -> bool:
    """Whether a program is the unrepaired program of the model."""
    if isinstance(decision, TopK):  # its cut depends on the rows
        return False
    original = translation if decision is None else decided(translation, decision)
    return program.term == original.output


def _check_tests(program: Program, original: Program) -> None:
    """Raise an error if a test of the program differs from the model's test at that node."""
    original_tests = dict(_tests(original))
    everything = frozenset(program.inputs)
    for key, guard in _tests(program):
        original_test = original_tests.get(key)
        if original_test is None:
            raise CannotWriteBack(f"the model has no test at tree {key[1]}, node {key[2]}")
        if guard != original_test and without_missing_directions(
            guard, everything
        ) != without_missing_directions(original_test, everything):
            raise CannotWriteBack(
                f"the test {program.brief(guard)} (tree {key[1]}, node {key[2]}) differs from the "
                "model's test"
            )


def _tests(program: Program) -> list[tuple[tuple[str, int | None, int], Term]]:
    """The tests of the trees in a program, each with its step, tree and node."""
    points = program.points
    tests: list[tuple[tuple[str, int | None, int], Term]] = []
    for point, written in enumerate(points.written):
        origin, term = program.origins.get(written), points.terms[point]
        if origin is not None and origin.node is not None and isinstance(term, Ite):
            tests.append(((origin.step, origin.tree, origin.node), term.guard))
    return tests


def _check_rows(
    new: Any,
    program: Program,
    X: object,
    names: Sequence[str],
    translation: Translation,
    decision: Decision | None,
) -> None:
    """Raise an error if the new model differs from the program in some row."""
    table = Table.of(X, program.inputs)
    rows = model_rows(new, X, names)
    frame = Frame(table.column(name) for name in program.variables)
    expected = _decisions(new, program, translation, decision, rows)
    tolerance = exactness(rows, translation.tolerance)
    agreement = compare(program, program.predict(X), expected, frame, tolerance)
    differ = len(agreement.wrong) + len(agreement.by_rounding)
    if differ:
        why = "" if len(agreement.wrong) else ", whose decisions depend on rounding"
        raise CannotWriteBack(
            f"the edited {type(new).__name__} differs from the program in {differ} of "
            f"{agreement.rows} rows{why}"
        )


def _decisions(
    new: Any, program: Program, translation: Translation, decision: Decision | None, rows: Any
) -> Array:
    """The decisions of the new model; its classes are those of the original model."""
    match decision:
        case None:
            return predictions(new, rows)
        case Positive(label):
            return np.asarray(predictions(new, rows) == label)
        case Threshold():
            output = decided(translation, decision).output
            return threshold_decisions(new, translation, decision, output, rows)
        case TopK(_, positive):
            match program.term:
                case Compare(_, _, Const(float() as cut)):
                    return ranking_scores(new, translation, positive, rows) >= cut
            raise CannotWriteBack("the program no longer has the cut of the best k rows")
