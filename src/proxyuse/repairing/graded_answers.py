"""Answers of a model beside the right answers: utility, area under the curve, rates by group."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from proxyuse.data.columns import Column, as_column
from proxyuse.lang.build import const
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Value, value_text
from proxyuse.measure.output_scale import class_name
from proxyuse.models.checks import label_text
from proxyuse.models.decisions import class_index_of
from proxyuse.program import Frame
from proxyuse.repairing.answers import Answers
from proxyuse.repairing.group_rates import GroupRate, mean_outputs, selection_rates
from proxyuse.repairing.scoring import (
    area_under_curve,
    calibration_error,
    deviations,
    log_losses,
    mean,
    placements,
)
from proxyuse.repairing.utility import (
    Measure,
    Utility,
    UtilityFunction,
    continuous,
    right_answers,
)


@dataclass(frozen=True, eq=False)
class GradedAnswers:
    """What a model says about some rows, and the right answers.

    Attributes
    ----------
    answers : what the model says.
    y : the right answers.
    weights : the weight of each row.
    """

    answers: Answers
    y: Column
    weights: Array

    @cached_property
    def _frame(self) -> Frame:
        return Frame([as_column("outputs", self.answers.outputs)])

    @property
    def _outputs(self) -> Array:
        return self._frame.arrays["outputs"]

    @cached_property
    def _right(self) -> Array:
        return right_answers(self.y, self._outputs, self._frame)

    @property
    def numeric(self) -> bool:
        """Whether outputs are quantities rather than classes."""
        return continuous(self._right) or continuous(self._outputs)

    @cached_property
    def _codes(self) -> Array | None:
        """The column of the right class of each row, -1 if the model does not know it.

        None if the answers are quantities, not classes.
        """
        if not self.answers.classes:
            return None
        known = {label_text(label): code for code, label in enumerate(self.answers.classes)}
        distinct, indices = np.unique(self._right, return_inverse=True)
        values = self._decoded(distinct)
        codes = np.array([known.get(label_text(value), -1) for value in values], dtype=np.intp)
        if (codes < 0).any() and self.numeric:
            return None
        return np.asarray(codes[indices])

    def _decoded(self, values: Array) -> list[Value]:
        if values.dtype == np.int32:
            values = self._frame.vocabulary.decode(values)
        return list(values.tolist())

    # Scores and probabilities

    @cached_property
    def area(self) -> tuple[float, Array] | None:
        """The area under the curve, and by how much each row moves it.

        With several classes, the mean over those in y, each against the others. None without
        scores, or if y has one class only.
        """
        if self.answers.scores is None or self._codes is None:
            return None
        return mean_area(self.answers.scores, self._codes, self.weights)

    @cached_property
    def log_losses(self) -> Array | None:
        """The log loss of each row; None without probabilities."""
        if self.answers.shares is None or self._codes is None:
            return None
        return log_losses(self.answers.shares, self._codes)

    @property
    def calibration(self) -> float | None:
        """The expected calibration error, averaged over the classes if there are several."""
        shares, codes = self.answers.shares, self._codes
        if shares is None or codes is None:
            return None
        classes = range(shares.shape[1]) if shares.shape[1] != 2 else (1,)
        errors = [calibration_error(shares[:, k], codes == k, self.weights) for k in classes]
        return float(np.mean(errors))

    # Utility

    def utility(
        self, measure: Measure | UtilityFunction
    ) -> tuple[float, Array | None, Array | None]:
        """The utility, the loss of each row, and by how much each row moves the utility.

        Outputs without scores count as certain.
        """
        weights = self.weights
        if measure is Measure.AUC:
            area = self.area or mean_area(*self._certain, weights)
            return (np.nan, None, None) if area is None else (area[0], None, area[1])
        if measure is Measure.LOG_LOSS:
            losses = self.log_losses
            losses = log_losses(*self._certain) if losses is None else losses
            return mean(losses, weights), losses, deviations(losses, weights)
        utility = Utility(measure, self._right, weights, self._frame)
        value = utility.of_outputs(self._outputs)
        if not isinstance(measure, Measure):
            return value, None, None
        losses = utility.losses(self._outputs)
        if measure is not Measure.BALANCED_ACCURACY:
            return value, losses, deviations(losses, weights)
        _, strata = np.unique(self._right, return_inverse=True)
        present = np.count_nonzero(np.bincount(strata, weights))
        return value, None, deviations(losses / present, weights, strata)

    @property
    def _certain(self) -> tuple[Array, Array]:
        """The decisions as probabilities of the classes in y, and the right classes."""
        classes, codes = np.unique(self._right, return_inverse=True)
        return (self._outputs[:, None] == classes).astype(np.float64), codes

    # Rates

    def rates(self, protected: Column, positive: object = None) -> tuple[GroupRate, ...]:
        """The selection rates of each group, or its mean outputs.

        Of two classes, only one has rates: `positive`, by default the second.
        """
        if self.numeric:
            return mean_outputs(protected, self._outputs.astype(np.float64), self.weights)
        distinct, indices = np.unique(self._outputs, return_inverse=True)
        values = self._decoded(distinct)
        others = self._decoded(np.unique(self._right))
        texts = {label_text(value): value for value in [*values, *others, *self.answers.classes]}
        labels = sorted(texts.values(), key=_order)
        index_of = {label_text(label): index for index, label in enumerate(labels)}
        codes = np.array([index_of[label_text(value)] for value in values], dtype=np.intp)[indices]
        constants = [const(label).value for label in labels]
        shown = range(len(labels)) if len(labels) > 2 else [len(labels) - 1]
        if positive is not None:
            shown = [class_index_of(constants, positive)]
        names = [class_name(value_text(label)) for label in constants]
        return selection_rates(protected, codes, names, shown, self.weights)


def mean_area(scores: Array, codes: Array, weights: Array) -> tuple[float, Array] | None:
    """The mean area under the curve of some classes against the others, and its deviations.

    Of two classes, the second is compared with the first. None if y has one class only.
    """
    areas, moves = [], np.zeros(len(codes))
    for index in range(scores.shape[1]) if scores.shape[1] != 2 else (1,):
        own = codes == index
        if np.any(weights[own] > 0) and np.any(weights[~own] > 0):
            areas.append(area_under_curve(scores[:, index], own, weights))
            places = placements(scores[:, index], own, weights)
            moves += deviations(places, weights, own.astype(np.intp))
    return (float(np.mean(areas)), moves / len(areas)) if areas else None


def _order(label: Value) -> tuple[bool, object]:
    """Numbers in their order, then texts; Python does not compare them."""
    return isinstance(label, str), label
