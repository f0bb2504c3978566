"""A repaired program becomes the same kind of model as it came from, where that can be.

A writer takes a fitted model of its family, the repaired program and the step by which the
program knows the model's parts, and makes a new model; the given one is not touched. It is found
by the dotted name of the model's class, so that no library is imported for it. Whatever it made
is compared with the program on rows of data, and before that every test that is left in the
program with the one the model has at that node: a repair inside a test that a library cannot
express must not be overlooked because the rows at hand do not show it.

Where a family has no writer, or the program is no model of the family any more, an estimator that
runs the program takes the model's place, and the result says why.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from proxyuse.data.table import Table
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Compare, Const, Ite, Term
from proxyuse.lang.rewrite import without_missing_directions
from proxyuse.models.audited_model import scores_of
from proxyuse.models.checks import compare, exactness, model_rows, predictions
from proxyuse.models.decisions import decided
from proxyuse.models.features import Inputs
from proxyuse.models.model_terms import ModelTerms
from proxyuse.models.registry import body_of, find, input_names, program_of
from proxyuse.models.remaining_trees import CannotWriteBack
from proxyuse.program import Frame, Program
from proxyuse.settings import Decision, Positive, Threshold, TopK


@dataclass(frozen=True, slots=True)
class Writer:
    """What writes a program back to a model of some class.

    Attributes
    ----------
    function : as ``module:function``; takes the model, the program and the step.
    features : whether it is given the `Inputs` of the model in place of the step.
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
    # models that only pass on
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


_PUT_TOGETHER = "it puts together again what its members say, and takes no constant in that place"
_VOTES = "its members predict, and a constant that is no prediction cannot take the place of one"
_VECTORS = "its sums are over support vectors, not over columns that could be left out"

REASONS = {
    "sklearn.svm._base.BaseLibSVM": _VECTORS,
    "sklearn.ensemble._weight_boosting.BaseWeightBoosting": _VOTES,
    "sklearn.ensemble._voting._BaseVoting": _PUT_TOGETHER,
    "sklearn.ensemble._stacking._BaseStacking": _PUT_TOGETHER,
    "sklearn.calibration.CalibratedClassifierCV": _PUT_TOGETHER,
    "sklearn.multiclass.OneVsRestClassifier": _PUT_TOGETHER,
    "sklearn.multiclass.OneVsOneClassifier": _PUT_TOGETHER,
}
"""Why models of some classes are not written back."""


@dataclass(frozen=True, slots=True)
class Deployed:
    """A model that predicts what a repaired program says.

    Attributes
    ----------
    model : a new fitted estimator.
    native : whether it is of the same class as the model that was repaired.
    why : where it is not, why.
    """

    model: Any
    native: bool
    why: str = ""


def written_back(
    model: Any, program: Program, X: object, decision: Decision | None = None
) -> Deployed:
    """Make a model that predicts what a repaired program says, of the same class if possible.

    Parameters
    ----------
    model : the fitted model the program was made from; it is not changed.
    program : the repaired program, whose parts know where in the model they came from.
    X : the rows on which the new model and the program are compared.
    decision : how the program's outputs follow from the model's, if they are not what it
        predicts. The cut of a `TopK` is the one in the program.

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
    >>> deployed = written_back(model, program.replaced({inner: Const("yes")}), X)
    >>> deployed.native, deployed.model.predict(X).tolist()
    (True, ['no', 'no', 'yes', 'yes'])
    """
    try:
        return Deployed(_native(model, program, X, decision), native=True)
    except CannotWriteBack as error:
        why = str(error)
    from proxyuse.models.program_estimator import program_estimator

    made = program_estimator(program, model)
    if type(made) is type(model):  # it ran a program before
        return Deployed(made, native=True)
    return Deployed(made, native=False, why=why)


def write_part(model: Any, program: Program, inputs: Inputs) -> Any:
    """A new model that says what a program does: of a whole, or of the part it stands for."""
    writer = find_writer(model)
    if writer is None:
        raise _no_writer(model, inputs.step)
    module, name = writer.function.split(":")
    write = getattr(import_module(module), name)
    return write(model, program, inputs if writer.features else step_of(model, inputs))


def find_writer(model: object) -> Writer | None:
    """The writer of a model, if there is one."""
    return next((WRITERS[name] for name in _names(model) if name in WRITERS), None)


def _names(model: object) -> list[str]:
    """The dotted names of a model's class and its bases."""
    return [f"{cls.__module__}.{cls.__qualname__}" for cls in type(model).__mro__]


def _no_writer(model: object, step: str = "") -> CannotWriteBack:
    where = f" (step {step!r})" if step else ""
    why = next((REASONS[name] for name in _names(model) if name in REASONS), "")
    return CannotWriteBack(
        f"a {type(model).__name__}{where} is not written back: "
        + (why or "nothing is known of how to edit one")
    )


def step_of(model: Any, inputs: Inputs) -> str:
    """How a program's origins name a model: by its step, or by its class where it has none."""
    return inputs.step or type(model).__name__


# Making and checking


def _native(model: Any, program: Program, X: object, decision: Decision | None) -> Any:
    if find(model) is None:
        raise _no_writer(model)
    names = program.inputs[: len(input_names(model, None))]
    opaque = len(program.inputs) > len(names)
    body = body_of(model, names, opaque=opaque)
    if _unchanged(program, body, decision):
        return deepcopy(model)
    if find_writer(model) is None:
        raise _no_writer(model)
    _check_tests(program, program_of(body, names))
    new = write_part(model, program, Inputs.raw(names, opaque=opaque))
    _check_rows(new, program, X, names, body, decision)
    return new


def _unchanged(program: Program, body: ModelTerms, decision: Decision | None) -> bool:
    """Whether a program is the model's own, in which nothing was replaced."""
    if isinstance(decision, TopK):  # its cut depends on the rows
        return False
    return program.term == (body if decision is None else decided(body, decision)).output


def _check_tests(program: Program, original: Program) -> None:
    """Refuse a program with a test that is not the one the model has at that node."""
    asked = dict(_tests(original))
    everything = frozenset(program.inputs)
    for key, guard in _tests(program):
        own = asked.get(key)
        if own is None:
            raise CannotWriteBack(f"the model has no test at tree {key[1]}, node {key[2]}")
        if guard != own and without_missing_directions(
            guard, everything
        ) != without_missing_directions(own, everything):
            raise CannotWriteBack(
                f"the test {program.brief(guard)} (tree {key[1]}, node {key[2]}) is none of the "
                "model any more"
            )


def _tests(program: Program) -> list[tuple[tuple[str, int | None, int], Term]]:
    """The tests of the trees in a program, each with its step, tree and node."""
    points = program.points
    found: list[tuple[tuple[str, int | None, int], Term]] = []
    for point, written in enumerate(points.written):
        origin, term = program.origins.get(written), points.terms[point]
        if origin is not None and origin.node is not None and isinstance(term, Ite):
            found.append(((origin.step, origin.tree, origin.node), term.guard))
    return found


def _check_rows(
    new: Any,
    program: Program,
    X: object,
    names: Sequence[str],
    body: ModelTerms,
    decision: Decision | None,
) -> None:
    """Refuse a model that says something else than the program in some row."""
    table = Table.of(X, program.inputs)
    rows = model_rows(new, X, names)
    frame = Frame(table.column(name) for name in program.variables)
    expected = _decisions(new, program, body, decision, rows)
    tolerance = exactness(rows, body.tolerance)
    found = compare(program, program.predict(X), expected, frame, tolerance)
    differ = len(found.wrong) + len(found.by_rounding)
    if differ:
        why = "" if len(found.wrong) else ", whose decision hangs on the last digits of a sum"
        raise CannotWriteBack(
            f"the edited {type(new).__name__} says something else than the program in "
            f"{differ} of {found.rows} rows{why}"
        )


def _decisions(
    new: Any, program: Program, body: ModelTerms, decision: Decision | None, rows: Any
) -> Array:
    """What a model decides of rows; its classes are those of the model it was made from."""
    match decision:
        case None:
            return predictions(new, rows)
        case Positive(label):
            return np.asarray(predictions(new, rows) == label)
        case Threshold(probability, positive):
            enough = scores_of(new, body, positive, rows) >= probability
            match decided(body, decision).output:
                case Ite(_, Const(yes), Const(no)):
                    return np.where(enough, np.array(yes, object), np.array(no, object))
            return enough
        case TopK(_, positive):
            match program.term:
                case Compare(_, _, Const(float() as cut)):
                    return scores_of(new, body, positive, rows) >= cut
            raise CannotWriteBack("of the cut between the best k and the others nothing is left")
