"""Translates estimators that run a program (`proxyuse.models.program_estimator`).

The translation is the program itself, with its variables replaced by features, in order.
"""

from __future__ import annotations

from typing import Any

from proxyuse.errors import ProxyUseError
from proxyuse.lang.nodes import Term, Var
from proxyuse.lang.rewrite import rewritten
from proxyuse.models.composite import CompositeModel
from proxyuse.models.features import Inputs
from proxyuse.models.translation import Translation, labels
from proxyuse.program import Program


def translate_program(model: Any, inputs: Inputs) -> Translation:
    """Translate a ProgramClassifier or ProgramRegressor."""
    composite = CompositeModel(model, inputs)
    if model.program is None:
        raise composite.error("has no program", "make one with proxyuse.program_estimator")
    try:
        program = Program.parse(model.program)
    except ProxyUseError as error:
        raise composite.error(
            f"has an invalid program ({error})", "make one with proxyuse.program_estimator"
        ) from None
    if len(program.inputs) != len(inputs.features):
        raise composite.error(
            f"reads {len(program.inputs)} inputs, got {len(inputs.features)} features",
            f"pass {len(program.inputs)} features",
        )
    features = dict(zip(program.inputs, inputs.features, strict=True))

    def feature(term: Term) -> Term:
        return features[term.name].term() if isinstance(term, Var) else term

    output = rewritten(program.term, feature)
    return composite.translation(output, labels(getattr(model, "classes_", ())))
