"""The quality of a deployed model on some rows: utility, ranking, probabilities, rates by group.

Quality is measured on what the model itself returns, not on the program behind it: a decision tree
has probabilities, its program of labels has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proxyuse.data.columns import Kind, as_column
from proxyuse.data.population import is_name
from proxyuse.data.table import Table
from proxyuse.decision import Decision
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.repairing.answers import answers_of
from proxyuse.repairing.graded_answers import GradedAnswers
from proxyuse.repairing.group_rates import GroupRate, pooled_rates
from proxyuse.repairing.scoring import deviations, mean, standard_error
from proxyuse.repairing.utility import Measure, UtilityFunction, better


@dataclass(frozen=True, eq=False)
class Quality:
    """The quality of a model on some rows.

    Standard errors treat the rows as independent draws, with fixed weights.

    Attributes
    ----------
    measure : the utility, a built-in measure or a function.
    utility : its value, in its own unit.
    error : the standard error of the utility; NaN for a function.
    auc : the area under the curve of the model's scores. With several classes, the mean over each
        class against the others. None without scores, or if y has one class only.
    log_loss : the mean log loss of the model's probabilities; None without probabilities.
    calibration : the expected calibration error in 10 bins of equal weight; see
        `scoring.calibration_error`. With several classes, the mean over the classes. 0 is best.
        None without probabilities.
    rates : for each protected attribute, the selection rates or mean outputs of its groups.
    losses : for each row, its contribution to the utility, where smaller is better: 0 or 1, a
        squared error or a log loss. None if the utility is not a mean over rows.
    log_losses : the log loss of each row; None without probabilities.
    moves : by how much each row moves the utility; see `scoring.deviations`. None for a function.
    weights : the weight of each row.
    outputs : the decision or the number for each row.
    """

    measure: Measure | UtilityFunction
    utility: float
    error: float
    auc: float | None
    log_loss: float | None
    calibration: float | None
    rates: Mapping[str, tuple[GroupRate, ...]]
    losses: Array | None
    log_losses: Array | None
    moves: Array | None
    log_loss_moves: Array | None
    weights: Array
    outputs: Array

    @property
    def rows(self) -> int:
        """The number of rows with a positive weight."""
        return int(np.count_nonzero(self.weights))

    @property
    def better(self) -> float:
        """The utility with its sign set so that larger is better. NaN is worst."""
        return better(self.measure, self.utility)


@dataclass(frozen=True, slots=True)
class Difference:
    """By how much one model is better than another on the same rows, and the standard error."""

    mean: float
    error: float


def quality_of(
    model: Any,
    X: Any,
    y: object,
    *,
    weights: object = None,
    protected: Mapping[str, object] | None = None,
    decision: Decision | None = None,
    measure: Measure | UtilityFunction | None = None,
    positive: object = None,
    names: Sequence[str] | None = None,
) -> Quality:
    """Measure the quality of a model on some rows.

    Parameters
    ----------
    model : a fitted estimator, a booster of XGBoost or LightGBM, or a program.
    X : the rows, as the model takes them.
    y : the right answers, or the name of their column. If the decision is true or false, so is y.
    weights : one per row; 1 by default.
    protected : the values of each protected attribute, one per row.
    decision : the decision, if it is not the prediction of the model.
    measure : the utility. By default accuracy, or mean squared error for numbers.
    positive : the class whose selection rate counts; by default the second of two.
    names : the columns that the model reads, if it was fitted without column names.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[1.0], [2.0], [2.0], [3.0]]), ["no", "no", "yes", "yes"]
    >>> model = DecisionTreeClassifier().fit(X, y)
    >>> quality = quality_of(model, X, y, protected={"sex": ["f", "f", "m", "m"]})
    >>> quality.utility, round(quality.error, 3), quality.auc, round(quality.log_loss, 3)
    (0.75, 0.25, 0.875, 0.347)
    >>> [(group.value, group.rate, group.rows) for group in quality.rates["sex"]]
    [('f', 0.0, 2), ('m', 0.5, 2)]
    """
    answers = answers_of(model, X, decision, names)
    table = Table.of(X)
    column = table.column(str(y)) if is_name(y) else table.beside("y", y)
    if column.any_missing:
        raise DataError("y has missing values; drop these rows")
    rows = GradedAnswers(answers, column, _weights(weights, table.n_rows))
    chosen = measure or (Measure.SQUARED_ERROR if rows.numeric else Measure.ACCURACY)
    utility, losses, moves = rows.utility(chosen)
    row_log_losses = rows.log_losses
    log_loss_moves = None if row_log_losses is None else deviations(row_log_losses, rows.weights)
    area = rows.area
    return Quality(
        measure=chosen,
        utility=utility,
        error=np.nan if moves is None else standard_error(moves),
        auc=None if area is None else area[0],
        log_loss=None if row_log_losses is None else mean(row_log_losses, rows.weights),
        calibration=rows.calibration,
        rates={
            name: rows.rates(table.beside(name, values), positive)
            for name, values in (protected or {}).items()
        },
        losses=losses,
        log_losses=row_log_losses,
        moves=moves,
        log_loss_moves=log_loss_moves,
        weights=rows.weights,
        outputs=answers.outputs,
    )


def pooled(parts: Sequence[Quality]) -> Quality:
    """The quality on the rows of all parts, such as the folds of a cross-validation.

    The figures are those of the parts, averaged by the weight of their rows. The area under the
    curve and the calibration are never computed across parts, because each part may have a model
    of its own. A figure that a part does not have is None.
    """
    first = parts[0]
    total = sum(float(part.weights.sum()) for part in parts)
    shares = [float(part.weights.sum()) / total for part in parts]

    def average(name: str) -> float | None:
        values = [getattr(part, name) for part in parts]
        if any(value is None for value in values):
            return None
        return float(np.dot(shares, values))

    def rows(name: str, factors: Sequence[float]) -> Array | None:
        values = [getattr(part, name) for part in parts]
        if any(value is None for value in values):
            return None
        pairs = zip(factors, values, strict=True)
        return np.concatenate([factor * value for factor, value in pairs])

    ones = [1.0] * len(parts)
    moves = rows("moves", shares)
    return Quality(
        measure=first.measure,
        utility=float(np.dot(shares, [part.utility for part in parts])),
        error=np.nan if moves is None else standard_error(moves),
        auc=average("auc"),
        log_loss=average("log_loss"),
        calibration=average("calibration"),
        rates={name: pooled_rates(part.rates[name] for part in parts) for name in first.rates},
        losses=rows("losses", ones),
        log_losses=rows("log_losses", ones),
        moves=moves,
        log_loss_moves=rows("log_loss_moves", shares),
        weights=np.concatenate([part.weights for part in parts]),
        outputs=np.concatenate([part.outputs for part in parts]),
    )


def paired_difference(first: Quality, second: Quality, *, log_loss: bool = False) -> Difference:
    """By how much one model is better than another on the same rows, in the same order.

    The difference is that of the utilities, or of the log losses; it is positive if the first model
    is better. Its standard error uses the differences row by row, so it is small if the models
    agree in most rows. It is NaN if the utility is a function, or if a model has no probabilities.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = np.array([[1.0], [2.0], [2.0], [3.0]]), ["no", "no", "yes", "yes"]
    >>> trees = (DecisionTreeClassifier(max_depth=depth).fit(X, y) for depth in (2, 1))
    >>> first, second = (quality_of(tree, X, y) for tree in trees)
    >>> difference = paired_difference(first, second, log_loss=True)
    >>> round(difference.mean, 3), round(difference.error, 3)
    (0.131, 0.169)
    """
    if len(first.weights) != len(second.weights):
        raise DataError(
            f"models can be compared on the same rows only, not on {len(first.weights)} and "
            f"{len(second.weights)}"
        )
    if log_loss:
        if first.log_loss is None or second.log_loss is None:
            return Difference(np.nan, np.nan)
        difference, moves = second.log_loss - first.log_loss, "log_loss_moves"
    else:
        difference, moves = first.better - second.better, "moves"
    ours, theirs = getattr(first, moves), getattr(second, moves)
    if ours is None or theirs is None:
        return Difference(difference, np.nan)
    return Difference(difference, standard_error(ours - theirs))


def _weights(weights: object, rows: int) -> Array:
    """The weights as numbers; at least one is positive."""
    if weights is None:
        return np.ones(rows)
    column = as_column("weights", weights)
    if column.kind is Kind.CATEGORY or len(column) != rows:
        raise DataError(f"weights: expected {rows} numbers, one per row")
    values = column.values.astype(np.float64)
    if not (np.isfinite(values).all() and (values >= 0).all() and values.any()):
        raise DataError("weights: expected finite numbers of at least 0, and one above 0")
    return values
