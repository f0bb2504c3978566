"""Training without some columns; the new model still accepts the same rows.

The ways to do it, tried in this order until the new model reads none of the columns:

- a ColumnTransformer that reads the raw columns sends them to ``"drop"``;
- the model at the end of a pipeline is trained on features of which those of the columns are 0;
- the model is trained on rows in which the columns are constant, so that a tree never splits on
  them and a linear model gives them the coefficient 0.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from proxyuse.repairing.recipes.features import columns_read
from proxyuse.repairing.recipes.fitting import (
    column_values,
    constant,
    library_errors,
    unfitted,
    with_column,
)
from proxyuse.repairing.recipes.nesting import fitted_part
from proxyuse.repairing.recipes.training import CannotFit, Training


@dataclass(frozen=True, slots=True)
class Drop:
    """Train without some columns.

    Attributes
    ----------
    columns : the raw columns.
    """

    columns: tuple[str, ...]

    @property
    def method(self) -> str:
        """The name of the method."""
        return "drop"

    @property
    def detail(self) -> str:
        """Nothing: method and columns say it all."""
        return ""

    def variants(self, training: Training) -> Iterator[Training]:
        """Yield the ways to train without the columns."""
        missing = [name for name in self.columns if name not in training.names]
        if missing:
            raise CannotFit(f"the rows have no column {missing[0]!r}")
        if set(self.columns) >= set(training.names):
            raise CannotFit("no column would be left")
        dropped = {training.names.index(name) for name in self.columns}
        without = _without_columns(training.estimator, training.model, dropped)
        if without is not None:
            yield replace(training, estimator=without)
        if hasattr(training.estimator, "steps"):
            yield replace(training, zeroed=training.zeroed | set(self.columns))
        for common in (False, True):
            X = training.X
            for index in sorted(dropped):
                X = with_column(X, index, constant(column_values(X, index), common=common))
            yield replace(training, X=X)

    def check(self, fitted: Any, training: Training) -> None:
        """Check that the new model reads none of the columns, and still accepts the rows."""
        read = columns_read(fitted, training.names).intersection(self.columns)
        if read:
            raise CannotFit(f"the new model still reads {', '.join(sorted(read))}")
        with library_errors(fitted, "predicting with"):
            fitted.predict(training.X)


# ColumnTransformers


def _without_columns(estimator: Any, model: Any, dropped: set[int]) -> Any | None:
    """A clone whose ColumnTransformer drops some columns; None if it has no such transformer."""
    new = unfitted(estimator)
    transformer, fitted = _unfitted_transformer(new), _fitted_transformer(model)
    if transformer is None or fitted is None:
        return None
    names = getattr(fitted, "feature_names_in_", None)
    specified = [*transformer.transformers]
    indices_of = fitted._transformer_to_input_indices
    edited: list[tuple[str, Any, Any]] = []
    for name, part, columns in specified:
        indices = list(indices_of.get(name, ()))
        kept = [index for index in indices if index not in dropped]
        if len(kept) == len(indices):
            edited.append((name, part, columns))
        elif not kept:
            edited.append((name, "drop", []))
        else:
            edited.append((name, part, _specified(kept, names)))
    title = "dropped"
    while any(name == title for name, _, _ in edited):
        title += "_"
    edited.append((title, "drop", _specified(sorted(dropped), names)))
    transformer.set_params(transformers=edited)
    return new


def _specified(indices: Sequence[int], names: Any) -> list[Any]:
    """Columns as the transformer expects them: by name if it was fitted on names."""
    return list(indices) if names is None else [names[index] for index in indices]


def _unfitted_transformer(model: Any) -> Any | None:
    """The ColumnTransformer that reads the raw columns of an estimator, or None."""
    while not hasattr(model, "transformers"):
        if hasattr(model, "steps"):
            model = _first_step(model)
        elif hasattr(model, "estimator") and not hasattr(model, "transform"):
            model = model.estimator
        else:
            return None
    return model


def _fitted_transformer(model: Any) -> Any | None:
    """The same transformer in a fitted model."""
    while not hasattr(model, "transformers"):
        model = _first_step(model) if hasattr(model, "steps") else fitted_part(model)
        if model is None:
            return None
    return model


def _first_step(pipeline: Any) -> Any:
    """The first step of a pipeline that does something."""
    steps = [step for _, step in pipeline.steps]
    active = (step for step in steps if step is not None and not isinstance(step, str))
    return next(active, None)
