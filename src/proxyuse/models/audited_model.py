"""A model that is to be audited: its program on some data, and whether the two agree there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from proxyuse.data.table import Table
from proxyuse.errors import DataError, TranslationError
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const, Ite
from proxyuse.models.checks import asked, compare, exactness, model_rows, predictions
from proxyuse.models.decisions import (
    Decision,
    Positive,
    Threshold,
    TopK,
    decided,
    kth_largest,
    share_of,
)
from proxyuse.models.model_terms import DOUBLE, ModelTerms
from proxyuse.models.registry import body_of, input_names, program_of, saw_names
from proxyuse.notes import Note, RoundedDecisions, RowCount
from proxyuse.program import Frame, Program


@dataclass(frozen=True, slots=True, eq=False)
class AuditedModel:
    """A program, the model it came from, and what that says of the data.

    Attributes
    ----------
    program : what is measured.
    expected : what the model says of each row, None if there is no model to ask.
    tolerance : how far the model's sums may be from the program's.
    name : the model's class.
    opaque : variables that stand for what steps compute that were not translated.
    """

    program: Program
    expected: Array | None = None
    tolerance: float = DOUBLE
    name: str = ""
    opaque: tuple[str, ...] = ()

    def check(
        self, outputs: Callable[[], Array], frame: Frame, kept: Array | None
    ) -> tuple[Note, ...]:
        """Raise an error where the program is wrong; count the rows decided by rounding.

        `outputs` gives the program's outputs on the rows that were kept, None for all.
        """
        if self.expected is None:
            return ()
        found = outputs()
        if found.dtype == np.int32:
            found = frame.vocabulary.decode(found)
        expected = self.expected if kept is None else self.expected[kept]
        agreement = compare(self.program, found, expected, frame, self.tolerance)
        agreement.require(self.name)
        count = len(agreement.by_rounding)
        if not count:
            return ()
        return (RoundedDecisions(RowCount(count), agreement.rows),)


def audited_model(
    model: Any, X: object, protected: set[str], decision: Decision | None, *, opaque: bool
) -> AuditedModel:
    """Translate a model for some data; a program is taken as it is.

    A model that saw no names takes those of the data, if they fit.
    """
    if isinstance(model, Program):
        if decision is not None:
            raise TranslationError("a decision is made from a model; write it into the program")
        return AuditedModel(model)
    if decision is not None and not isinstance(decision, Threshold | Positive | TopK):
        raise DataError(
            f"decision: expected Threshold, Positive or TopK, got {decision!r}; pass for example "
            "Threshold(0.5)"
        )
    names = _names(model, X, protected)
    if Table.of(X, names).n_rows == 0:
        raise DataError("the data has no rows; pass at least one")
    body = body_of(model, names, opaque=opaque)
    rows = model_rows(model, X, names)
    expected = None
    if decision is None:
        expected = predictions(model, rows)
    else:
        body, expected = _decided(model, body, decision, rows)
    program = program_of(body, names)
    opaque_names = program.inputs[len(names) :]
    tolerance = exactness(rows, body.tolerance)
    return AuditedModel(program, expected, tolerance, type(model).__name__, opaque_names)


def _names(model: Any, X: object, protected: set[str]) -> tuple[str, ...]:
    names = input_names(model, None)
    given = Table.of(X, names).names
    if saw_names(model):
        if not type(model).__module__.startswith("lightgbm"):
            return names
        blanks = {name.replace(" ", "_"): name for name in given}  # which LightGBM replaces
        return tuple(name if name in given else blanks.get(name, name) for name in names)
    for fitting in (given, [name for name in given if name not in protected]):
        if len(fitting) == len(names):
            return tuple(fitting)
    return names


def _decided(
    model: Any, body: ModelTerms, decision: Decision, rows: Any
) -> tuple[ModelTerms, Array]:
    """The body that decides, and the decisions as the model's own numbers make them."""
    match decision:
        case Positive(label):
            made = decided(body, decision)
            return made, predictions(model, rows) == label
        case Threshold(probability, positive):
            made = decided(body, decision)
            scores = scores_of(model, body, positive, rows)
            enough = scores >= probability
            match made.output:
                case Ite(_, Const(yes), Const(no)):
                    return made, np.where(enough, np.array(yes, object), np.array(no, object))
            return made, enough
        case TopK(k, positive):
            scores = scores_of(model, body, positive, rows)
            cut = kth_largest(scores, k)
            return decided(body, decision, cut), scores >= cut


def scores_of(model: Any, body: ModelTerms, positive: object, rows: Any) -> Array:
    """The numbers by which a model orders rows: a class's probabilities, or what it predicts."""
    if not body.classes:
        return predictions(model, rows).astype(np.float64)
    _, place = share_of(body, positive)
    return asked(model, "predict_proba", rows).astype(np.float64)[:, place]
