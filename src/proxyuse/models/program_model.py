"""Estimators that run a program (`proxyuse.models.program_estimator`): the program itself.

Its variables become the features it is given, by position.
"""

from __future__ import annotations

from typing import Any

from proxyuse.errors import ProxyUseError
from proxyuse.lang.nodes import Term, Var
from proxyuse.lang.rewrite import rewritten
from proxyuse.models.features import Inputs
from proxyuse.models.members import Whole
from proxyuse.models.model_terms import ModelTerms, labels
from proxyuse.program import Program


def translate_program(model: Any, inputs: Inputs) -> ModelTerms:
    """Translate a ProgramClassifier or ProgramRegressor."""
    whole = Whole(model, inputs)
    if model.program is None:
        raise whole.error("has no program", "make one with proxyuse.program_estimator")
    try:
        program = Program.parse(model.program)
    except ProxyUseError as error:
        raise whole.error(f"holds no program ({error})", "make it anew") from None
    if len(program.inputs) != len(inputs.features):
        raise whole.error(
            f"has {len(program.inputs)} inputs and is given {len(inputs.features)} features",
            "give it as many",
        )
    given = dict(zip(program.inputs, inputs.features, strict=True))

    def feature(term: Term) -> Term:
        return given[term.name].term() if isinstance(term, Var) else term

    output = rewritten(program.term, feature)
    return whole.body(output, labels(getattr(model, "classes_", ())))
