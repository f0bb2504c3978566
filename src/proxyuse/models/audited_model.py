"""Prepares a model for an audit: translates it and compares program and model on the data."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from proxyuse.data.table import Table
from proxyuse.decision import Decision, Positive, Threshold, TopK
from proxyuse.errors import DataError, TranslationError
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Const, Ite, Term, Value, variables
from proxyuse.models.checks import call_model, compare, exactness, model_rows, predictions
from proxyuse.models.decisions import class_probability, decided, kth_largest
from proxyuse.models.loaded import damage_reported, file_of
from proxyuse.models.registry import (
    input_names,
    is_named,
    program_of,
    reads_lightgbm_names,
    translation_of,
)
from proxyuse.models.training_rows import matches_training
from proxyuse.models.translation import DOUBLE, Translation
from proxyuse.notes import Note, RoundedDecisions, RowCount
from proxyuse.program import Frame, Program


@dataclass(frozen=True, slots=True, eq=False)
class AuditedModel:
    """A program, and the decisions of the model it was translated from.

    Attributes
    ----------
    program : the program to measure.
    expected : the model's decision for each row; None if there is no model.
    tolerance : the relative difference allowed between the model's sums and the program's.
    name : the class of the model.
    opaque : variables that stand for the outputs of steps that were not translated.
    classes : the classes of the model, in its order; empty if it predicts numbers, None if there
        is no model.
    matches_training : whether the rows match what the model stores about its training data.
    file : the file that the model was loaded from; empty if it comes from memory.
    """

    program: Program
    expected: Array | None = None
    tolerance: float = DOUBLE
    name: str = ""
    opaque: tuple[str, ...] = ()
    classes: tuple[Value, ...] | None = None
    matches_training: bool = False
    file: str = ""

    def check(
        self, outputs: Callable[[], Array], frame: Frame, kept: Array | None
    ) -> tuple[Note, ...]:
        """Raise an error if the program is wrong; note the number of rows decided by rounding.

        `outputs` returns the program's outputs on the rows `kept` (None for all rows).
        """
        if self.expected is None:
            return ()
        outputs_found = outputs()
        if outputs_found.dtype == np.int32:
            outputs_found = frame.vocabulary.decode(outputs_found)
        expected = self.expected if kept is None else self.expected[kept]
        agreement = compare(self.program, outputs_found, expected, frame, self.tolerance)
        agreement.require(self.name, self.file)
        count = len(agreement.by_rounding)
        if not count:
            return ()
        return (RoundedDecisions(RowCount(count), agreement.rows),)


def audited_model(
    model: Any, X: object, protected: set[str], decision: Decision | None, *, opaque: bool
) -> AuditedModel:
    """Translate a model for some data; a program is used unchanged.

    A model fitted without column names gets those of the data, if their number matches.
    """
    if isinstance(model, Program):
        if decision is not None:
            raise TranslationError(
                "decision= applies to models only; make the decision part of the program"
            )
        return AuditedModel(model)
    if decision is not None and not isinstance(decision, Threshold | Positive | TopK):
        raise DataError(
            f"decision: expected Threshold, Positive or TopK, got {decision!r}; pass for example "
            "Threshold(0.5)"
        )
    names = columns_read(model, X, protected)
    if Table.of(X, names).n_rows == 0:
        raise DataError("the data has no rows; pass at least one")
    translation = translation_of(model, names, opaque=opaque)
    classes = translation.classes
    rows = model_rows(model, X, names)
    try:
        if decision is None:
            expected = predictions(model, rows)
        else:
            translation, expected = _decided(model, translation, decision, rows)
    except DataError:
        table = Table.of(X, names)
        for name in variables(translation.output):
            if name in table:
                table.column(name)  # raises an error that names the column, if that is the reason
        raise
    file = file_of(model)
    with damage_reported(file, model):
        program = program_of(translation, names)
        same_rows = matches_training(model, rows)
    opaque_names = program.inputs[len(names) :]
    tolerance = exactness(rows, translation.tolerance)
    return AuditedModel(
        program,
        expected,
        tolerance,
        type(model).__name__,
        opaque_names,
        classes,
        same_rows,
        file,
    )


def columns_read(model: Any, X: object, protected: Collection[str] = ()) -> tuple[str, ...]:
    """The columns of the data that a model reads, in its order."""
    names = input_names(model, None)
    table = Table.of(X, names)
    if is_named(model):
        if reads_lightgbm_names(model):
            _require_unique_columns(names, table)
        return tuple(table.names[table.index_of(name)] if name in table else name for name in names)
    for columns in (table.names, [name for name in table.names if name not in protected]):
        if len(columns) == len(names):
            return tuple(columns)
    return names


def _require_unique_columns(names: Sequence[str], table: Table) -> None:
    """Raise an error if several columns could be the one that LightGBM knows by a name."""
    columns: dict[str, list[str]] = {}
    for column in table.names:
        columns.setdefault(column.replace(" ", "_"), []).append(column)
    for name in names:
        if len(matches := columns.get(name, [])) > 1:
            raise DataError(
                f"the LightGBM model reads {name!r}, which could be any of the columns "
                f"{', '.join(map(repr, matches))}, because LightGBM replaces spaces with "
                "underscores; drop the columns that the model was not fitted on"
            )


def _decided(
    model: Any, translation: Translation, decision: Decision, rows: Any
) -> tuple[Translation, Array]:
    """The translation of a decision, and the decisions computed by the model itself."""
    match decision:
        case Positive(label):
            return decided(translation, decision), predictions(model, rows) == label
        case Threshold():
            result = decided(translation, decision)
            return result, threshold_decisions(model, translation, decision, result.output, rows)
        case TopK(k, positive):
            scores = ranking_scores(model, translation, positive, rows)
            cut = kth_largest(scores, k)
            return decided(translation, decision, cut), scores >= cut


def threshold_decisions(
    model: Any, translation: Translation, decision: Threshold, output: Term, rows: Any
) -> Array:
    """The decisions of a threshold, computed by the model; `output` is the program's term."""
    enough = ranking_scores(model, translation, decision.positive, rows) >= decision.probability
    match output:
        case Ite(_, Const(yes), Const(no)):
            return np.where(enough, np.array(yes, object), np.array(no, object))
    return enough


def ranking_scores(model: Any, translation: Translation, positive: object, rows: Any) -> Array:
    """The numbers by which a model ranks rows: probabilities of a class, or predictions."""
    if not translation.classes:
        return predictions(model, rows).astype(np.float64)
    _, index = class_probability(translation, positive)
    return call_model(model, "predict_proba", rows).astype(np.float64)[:, index]
