"""The results of the experiments, each computed once per process. Some take minutes."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial

from examples.paper import experiment


@cache
def reproduced(name: str) -> experiment.Reproduced:
    """The result of an experiment."""
    return experiment.load(name).reproduce()


def loaded(name: str) -> experiment.Experiment:
    """An experiment that uses its result if it was computed before."""
    return replace(experiment.load(name), reproduce=partial(reproduced, name))
