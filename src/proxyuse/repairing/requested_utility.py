"""The utility that a caller of `repair` requests."""

from __future__ import annotations

import numpy as np

from proxyuse.data.columns import Column, as_column
from proxyuse.data.population import is_name
from proxyuse.data.table import Table
from proxyuse.detect.progress import Clock
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.program import Program
from proxyuse.repairing.utility import (
    Measure,
    Utility,
    UtilityFunction,
    continuous,
    right_answers,
)
from proxyuse.request import Request, engine_for


def utility_on_rows(
    request: Request, program: Program, X: object, y: object, measure: object, clock: Clock
) -> Utility:
    """The utility on the rows of a request.

    Parameters
    ----------
    request : the request for the audit.
    program : the program, specialized to the population.
    X, y, measure : as passed to `repair`; the measure is its `utility`.
    clock : reports progress.
    """
    sample = engine_for(request, program, clock).sample
    outputs = sample.outputs()
    right = outputs
    if y is not None:
        column = _answers(Table.of(X, program.inputs), y)
        kept = request.population.kept
        column = column if kept is None else column.take(kept)
        right = right_answers(column, outputs, sample.frame)
    chosen = _measure(measure, outputs, right, y is not None)
    return Utility(chosen, right, request.population.weights, sample.frame)


def _answers(table: Table, y: object) -> Column:
    if is_name(y):
        if str(y) not in table:
            raise DataError(f"y: the data has no column {str(y)!r}; {table.suggest(str(y))}")
        column = table.column(str(y))
    else:
        column = table.beside("y", y)
    missing = int(np.count_nonzero(column.is_missing))
    if missing:
        raise DataError(f"y is missing in {missing} rows; drop these rows")
    return as_column("y", column)


def _measure(
    requested: object, outputs: Array, right: Array, has_y: bool
) -> Measure | UtilityFunction:
    if requested is None:
        if continuous(right) or continuous(outputs):
            return Measure.SQUARED_ERROR
        return Measure.ACCURACY if has_y else Measure.AGREEMENT
    if callable(requested):
        return requested
    names = [str(measure) for measure in Measure]
    name = str(requested).replace("_", " ").lower()
    if name not in names:
        raise DataError(f"utility: expected {', '.join(names)} or a function, got {requested!r}")
    measure = Measure(name)
    if measure is Measure.SQUARED_ERROR and (outputs.dtype == np.int32 or outputs.ndim == 2):
        kind = "categories" if outputs.dtype == np.int32 else "vectors"
        raise DataError(f"mean squared error needs a numeric output; this program returns {kind}")
    if not has_y and measure not in (Measure.AGREEMENT, Measure.SQUARED_ERROR):
        raise DataError(f"the utility {name!r} needs y, the correct answers; pass y")
    if has_y and measure is Measure.AGREEMENT:
        raise DataError("agreement compares with the original outputs, not with y; omit y")
    return measure
