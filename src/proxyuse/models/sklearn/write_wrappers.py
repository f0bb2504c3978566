"""Writes repaired programs back to wrappers: pipelines, searches, thresholds, frozen models.

Writes the wrapped model back and copies the wrapper with the new model in it.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from proxyuse.lang.nodes import Const
from proxyuse.models.features import Inputs
from proxyuse.models.sklearn.pipelines import inputs_of_last
from proxyuse.models.write_back import write_part
from proxyuse.program import Program


def write_pipeline(model: Any, program: Program, inputs: Inputs) -> Any:
    """A Pipeline whose last step computes a program."""
    return _with_part(model, model.steps[-1][1], program, inputs_of_last(model, inputs))


def write_search(model: Any, program: Program, inputs: Inputs) -> Any:
    """A search whose best model computes a program."""
    return _with_part(model, model.best_estimator_, program, inputs.inside("best_estimator_"))


def write_threshold(model: Any, program: Program, inputs: Inputs) -> Any:
    """A FixedThresholdClassifier or TunedThresholdClassifierCV around another model.

    The origin of a constant program is the threshold, so the wrapped model gets it without one.
    """
    if isinstance(program.term, Const):
        program = Program(program.term, program.inputs)
    part = getattr(model, "estimator_", model.estimator)
    return _with_part(model, part, program, inputs.inside("estimator_"))


def write_frozen(model: Any, program: Program, inputs: Inputs) -> Any:
    """A FrozenEstimator around another model."""
    return _with_part(model, model.estimator, program, inputs.inside("estimator"))


def _with_part(model: Any, part: Any, program: Program, inputs: Inputs) -> Any:
    """A copy of a model with a new part; `deepcopy` takes the part from its memo."""
    return deepcopy(model, {id(part): write_part(part, program, inputs)})
