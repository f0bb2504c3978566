"""The utility that a caller of `repair` requests, on the rows used and on the hold-out set."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from proxyuse.data.columns import Column, as_column
from proxyuse.data.population import is_name
from proxyuse.data.table import Table
from proxyuse.detect.progress import Clock
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array, evaluate
from proxyuse.program import Frame, Program
from proxyuse.repairing.utility import (
    Measure,
    Utility,
    UtilityFunction,
    continuous,
    right_answers,
)
from proxyuse.request import Request, engine_for


def requested_utilities(
    request: Request,
    program: Program,
    X: object,
    y: object,
    measure: object,
    holdout: object,
    clock: Clock,
) -> tuple[Utility, Utility | None]:
    """The utility on the rows used, and on the hold-out set if there is one.

    Parameters
    ----------
    request : the request for the audit.
    program : the program, specialized to the population.
    X, y, holdout : as passed to `repair`.
    measure : the `utility` passed to `repair`.
    clock : reports progress.
    """
    used = _on_population(request, program, X, y, measure, clock)
    if _is_mask(holdout):
        return _split(used, holdout, request)
    return used, _on_holdout(request.subject.program, holdout, y is not None, used.measure)


def _on_population(
    request: Request, program: Program, X: object, y: object, measure: object, clock: Clock
) -> Utility:
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


def _is_mask(holdout: Any) -> bool:
    return getattr(holdout, "ndim", 0) == 1 and holdout.dtype == np.bool_


def _split(utility: Utility, holdout: Any, request: Request) -> tuple[Utility, Utility]:
    """The utility on the rows outside and inside the hold-out set."""
    population, mask = request.population, np.asarray(holdout)
    kept = np.ones(population.n_rows, np.bool_) if population.kept is None else population.kept
    if mask.shape != kept.shape:
        raise DataError(
            f"holdout has {len(mask):,} values for {len(kept):,} rows; pass one value per row"
        )
    mask = mask[kept]
    if mask.all() or not mask.any():
        raise DataError("holdout selects all rows or none; select some of them")
    used, held_out = (np.where(part, utility.weights, 0.0) for part in (~mask, mask))
    return replace(utility, weights=used), replace(utility, weights=held_out)


def _on_holdout(
    program: Program, holdout: object, has_y: bool, measure: Measure | UtilityFunction
) -> Utility | None:
    """The same utility on separate hold-out rows."""
    if holdout is None:
        return None
    rows, y = holdout, None
    if isinstance(holdout, tuple) and len(holdout) == 2:
        rows, y = holdout
    if (y is not None) != has_y:
        raise DataError(
            "holdout must match y: pass a pair (table, y) if y is passed, otherwise a table"
        )
    table = Table.of(rows, program.inputs)
    frame = Frame(table.column(name) for name in program.variables)
    frame.check_program(program)
    values = evaluate(program.term, frame.arrays, frame.vocabulary)
    outputs = np.broadcast_to(values, (table.n_rows, *values.shape[1:]))
    right = outputs if y is None else right_answers(_answers(table, y), outputs, frame)
    return Utility(measure, right, np.ones(table.n_rows), frame)
