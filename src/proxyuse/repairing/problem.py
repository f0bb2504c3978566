"""What a repair works on: a model, the rows as the model takes them, and the answers.

A `Problem` can be restricted to some of its rows, to train and repair without the others. All of
its models read the same columns, so each has a request for the same rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from proxyuse.completed_audit import Audit
from proxyuse.data.columns import as_column
from proxyuse.data.population import is_name
from proxyuse.data.table import Table
from proxyuse.decision import Decision
from proxyuse.detect.progress import Clock
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.measure.influence import differ
from proxyuse.models.checks import model_rows
from proxyuse.models.registry import input_names
from proxyuse.program import Program
from proxyuse.repairing.folds import content_ranks
from proxyuse.repairing.goal import Goal
from proxyuse.repairing.quality import Quality, quality_of
from proxyuse.repairing.requested_utility import utility_on_rows
from proxyuse.repairing.utility import Measure, Utility, UtilityFunction
from proxyuse.request import Request, request_for
from proxyuse.settings import AuditOptions


@dataclass(frozen=True, eq=False)
class Problem:
    """A model to repair, on some rows.

    Attributes
    ----------
    model : the original model or program.
    X, y, protected : as passed to `repair`.
    options : the options of the audits.
    request : the request for the audit of the original model, on all rows.
    goal : what must go.
    before : the audit of the original model.
    utility : the utility on the rows of the original model.
    clock : reports progress.
    part : which of the rows of the request are used; None for all.
    """

    model: Any
    X: object
    y: object
    protected: object
    options: AuditOptions
    request: Request
    goal: Goal
    before: Audit
    utility: Utility
    clock: Clock
    part: Array | None = None

    def on(self, part: Array) -> Problem:
        """The same problem on some of the rows, given as a mask."""
        return replace(self, part=part)

    # Rows as a model takes them

    @cached_property
    def rows(self) -> Any:
        """The columns that the model reads: a data frame if it knows names, otherwise an array."""
        return taken(model_rows(self.model, self.X, self.names), self._used)

    @property
    def named_rows(self) -> Any:
        """The same rows with the names of the columns, even if the model was fitted on an array."""
        if hasattr(self.rows, "columns"):
            return self.rows
        import pandas as pd

        return pd.DataFrame(self.rows, columns=list(self.names))

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the model reads."""
        program = self.request.subject.program
        if isinstance(self.model, Program):
            return program.inputs
        return program.inputs[: len(input_names(self.model, None))]

    @cached_property
    def answers(self) -> Array:
        """The correct answers, as the model was trained on them."""
        y = self.y
        if is_name(y):
            y = _column(self.X, str(y))
        return np.asarray(y)[self._used]

    @cached_property
    def weights(self) -> Array:
        """The weight of each row."""
        weights = self.request.population.weights
        return weights if self.part is None else weights[self.part]

    @property
    def fit_weights(self) -> Array | None:
        """The weights to train with; None if they are equal."""
        weights = self.weights
        return None if weights.min() == weights.max() else weights

    @cached_property
    def ranks(self) -> Array:
        """A number for each row that depends on the columns of the model and on the answer."""
        table = Table.of(self.rows, self.names)
        columns = [as_column("y", self.answers)]
        for name in self.names:
            with contextlib.suppress(DataError):  # a kind that no program reads
                columns.append(table.column(name))
        return content_ranks(columns)

    @cached_property
    def attributes(self) -> Mapping[str, Array]:
        """The values of each protected attribute."""
        columns = {z.name: z.column for z in self.request.population.protected}
        values = {name: np.array(column.decode(), object) for name, column in columns.items()}
        return {name: v if self.part is None else v[self.part] for name, v in values.items()}

    @cached_property
    def _used(self) -> Array:
        """Which of the rows that were passed are used."""
        kept = self.request.population.kept
        if kept is None:
            kept = np.ones(self.request.population.n_rows, np.bool_)
        used = kept.copy()
        if self.part is not None:
            used[kept] = self.part
        return used

    def changed(self, program: Program) -> float:
        """The share of these rows for which a program differs from the original program."""
        changed = outputs_differ(program.predict(self.X), self._outputs)[self._used]
        return float(np.average(changed, weights=self.weights))

    @cached_property
    def _outputs(self) -> Array:
        return self.request.subject.program.predict(self.X)

    # Requests

    def request_of(self, model: Any) -> Request:
        """The request for the audit of a model that was trained on these rows."""
        return self._on_part(request_for(model, self.X, self.protected, self.options))

    @cached_property
    def original(self) -> Request:
        """The request for the audit of the original model."""
        return self._on_part(self.request)

    def _on_part(self, request: Request) -> Request:
        if self.part is None:
            return request
        return replace(request, population=request.population.taking(self.part))

    def utility_of(self, request: Request, program: Program) -> Utility:
        """The utility on the rows of a request."""
        if request is self.request:
            return self.utility
        return utility_on_rows(request, program, self.X, self.y, self.utility.measure, self.clock)

    # Rows that score

    def scored_on(self, part: Array) -> ScoredRows:
        """Some of the rows, to score models on."""
        problem = self.on(part)
        return ScoredRows(
            problem.rows, problem.answers, problem.fit_weights, problem.attributes,
            self.options.decision, self.utility.measure, self.names,
        )  # fmt: skip

    def validation_rows(self, X: object, y: object) -> ScoredRows:
        """Other rows, to score models on."""
        answers = np.asarray(_column(X, str(y)) if is_name(y) else y)
        rows = X
        if not isinstance(self.model, Program):
            rows = model_rows(self.model, X, self.names)
        return ScoredRows(
            rows, answers, None, {}, self.options.decision, self.utility.measure, self.names
        )


@dataclass(frozen=True, eq=False)
class ScoredRows:
    """Rows on which models are scored, and nothing is trained.

    Attributes
    ----------
    X, y, weights, protected : the rows, the correct answers, the weights and the attributes.
    decision : the decision that is scored.
    measure : the utility.
    names : the columns that the models read.
    """

    X: Any
    y: Array
    weights: Array | None
    protected: Mapping[str, Array]
    decision: Decision | None
    measure: Measure | UtilityFunction
    names: tuple[str, ...]

    def quality(self, model: Any) -> Quality:
        """The quality of a model on these rows."""
        return quality_of(
            model, self.X, self.y, weights=self.weights, protected=self.protected,
            decision=self.decision, measure=self.measure, names=self.names,
        )  # fmt: skip


def outputs_differ(first: Array, second: Array) -> Array:
    """Whether two outputs differ, row by row. Missing equals missing."""
    if first.dtype != object and second.dtype != object:
        return differ(first, second)
    pairs = zip(first.tolist(), second.tolist(), strict=True)
    return np.array([a != b and not (a != a and b != b) for a, b in pairs], np.bool_)


def taken(rows: Any, mask: Array) -> Any:
    """Some rows of a data frame or an array."""
    return rows.loc[mask] if hasattr(rows, "loc") else rows[mask]


def _column(X: object, name: str) -> Any:
    """One column of the data, with its own type."""
    if isinstance(X, Mapping):
        return X[name]
    if isinstance(X, np.ndarray):
        return Table.of(X).column(name).values
    return X[name]  # type: ignore[index]
