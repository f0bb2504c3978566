"""A case: a program, the rows to measure it on, and what is asked of them.

What a caller passes is checked here, before any work is done. This module knows nothing of
witnesses.
"""

from __future__ import annotations

import math
import numbers
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import numpy as np

from proxyuse.data.population import Population, is_name
from proxyuse.detect.budget import Budget
from proxyuse.detect.progress import Clock
from proxyuse.detect.results import Measure
from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Vocabulary
from proxyuse.measure.association.protocol import Association, AssociationLike, for_weights
from proxyuse.measure.association.registry import association_from
from proxyuse.measure.association.support import BINS, MAX_SUPPORT
from proxyuse.measure.engine import Measurement
from proxyuse.measure.influence import Influence, QuantitativeInputInfluence, Sampling
from proxyuse.measure.parallel import available_cores
from proxyuse.measure.sample import Sample
from proxyuse.models.audited_model import AuditedModel, audited_model
from proxyuse.models.decisions import Decision
from proxyuse.program import Program


@dataclass(frozen=True, slots=True)
class Settings:
    """What an audit was asked for beside thresholds and measures: enough to ask it again.

    Attributes are the parameters of `audit` of the same names.

    Attributes
    ----------
    weights : the column of the weights; None if there are none, or if their values were given.
    """

    weights: str | None = None
    missing_protected: Literal["refuse", "drop", "category"] = "refuse"
    sampling: Sampling | None = None
    max_support: int = MAX_SUPPORT
    bins: int | None = BINS
    budget: Budget = field(default_factory=Budget)
    all_sets: bool = False
    measure: Measure = "needed"
    exact: bool = False
    variables: bool = True
    decision: Decision | None = None
    opaque: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A program, the rows to measure it on, and what is asked.

    Attributes
    ----------
    subject : the program as it was translated or given, and whether its model agrees.
    population : the rows.
    epsilon, delta : the thresholds.
    association, influence : the measures.
    settings : what else is asked.
    threads : how many may count at the same time.
    """

    subject: AuditedModel
    population: Population
    epsilon: float
    delta: float
    association: Association
    influence: Influence
    settings: Settings
    threads: int

    def specialized(self, program: Program) -> Program:
        """A program without what it does for missing values in columns that have none."""
        columns = self.population.columns.items()
        return program.without_missing(
            frozenset(name for name, column in columns if not column.any_missing)
        )


def request_for(
    model: object,
    X: object,
    protected: object,
    epsilon: float,
    delta: float,
    *,
    weights: object = None,
    missing_protected: Literal["refuse", "drop", "category"] = "refuse",
    association: AssociationLike | None = None,
    influence: Influence | None = None,
    sampling: Sampling | None = None,
    max_support: int = MAX_SUPPORT,
    bins: int | None = BINS,
    budget: Budget | None = None,
    all_sets: bool = False,
    measure: Measure = "needed",
    exact: bool = False,
    variables: bool = True,
    decision: Decision | None = None,
    opaque: bool = False,
    threads: int | None = None,
) -> Request:
    """Check what is asked, translate the model and read the rows; the parameters of `audit`."""
    _check_thresholds(epsilon, delta, max_support, bins)
    threads = _threads(threads)
    _check_switches(all_sets=all_sets, exact=exact, variables=variables, opaque=opaque)
    if measure not in get_args(Measure):
        raise DataError(f"measure is {measure!r}; pass 'needed' or 'all'")
    _check_option("budget", budget, Budget)
    _check_option("sampling", sampling, Sampling)
    likeness = association_from(association)
    _check_option(
        "influence", influence, QuantitativeInputInfluence, ("name", "bounded", "loss", "scale")
    )
    loss: Influence = influence or QuantitativeInputInfluence()
    if sampling is not None and not loss.bounded:
        raise DataError(f"the error bound of sampling does not hold for {loss.name}; leave it out")
    subject = audited_model(model, X, _named(protected), decision, opaque=opaque)
    population = Population.build(
        X,
        protected=protected,
        weights=weights,
        variables=subject.program.variables,
        names=subject.program.inputs,
        missing_protected=missing_protected,
        threads=threads,
    )
    settings = Settings(
        weights=str(weights) if is_name(weights) else None,
        missing_protected=missing_protected,
        sampling=sampling,
        max_support=max_support,
        bins=bins,
        budget=budget or Budget(),
        all_sets=bool(all_sets),
        measure=measure,
        exact=bool(exact),
        variables=bool(variables),
        decision=decision,
        opaque=bool(opaque),
    )
    likeness = for_weights(likeness, population.weights)
    return Request(subject, population, epsilon, delta, likeness, loss, settings, threads)


def engine_for(
    case: Request, program: Program, clock: Clock, vocabulary: Vocabulary | None = None
) -> Measurement:
    """The measures of a program on the rows of a case."""
    sample = Sample(
        program,
        case.population,
        vocabulary=vocabulary,
        influence=case.influence,
        sampling=case.settings.sampling,
        max_support=case.settings.max_support,
        bins=case.settings.bins,
        tick=clock.tick,
        threads=case.threads,
        settle_at=None if case.settings.exact else case.delta,
    )
    return Measurement(sample)


def with_defined_influence(case: Request, program: Program, clock: Clock) -> Request:
    """The case, with quantitative input influence if its own is undefined for a program.

    Repair can make all outputs equal, and squared change is undefined then.
    """
    if isinstance(case.influence, QuantitativeInputInfluence):
        return case
    sample = engine_for(case, case.specialized(program), clock).sample
    try:
        case.influence.scale(sample.outputs(), sample.weights)
    except DataError:
        return replace(case, influence=QuantitativeInputInfluence())
    return case


def _check_thresholds(epsilon: float, delta: float, max_support: int, bins: int | None) -> None:
    given: dict[str, object] = {"epsilon": epsilon, "delta": delta, "max_support": max_support}
    for name, value in given.items():
        if not isinstance(value, numbers.Real):
            raise DataError(f"{name} is {value!r}; pass a number")
    if not 0 <= epsilon <= 1:
        raise DataError(f"epsilon is {epsilon}; an association lies between 0 and 1")
    if not delta >= 0:
        raise DataError(f"delta is {delta}; an influence is at least 0")
    if max_support < 2:
        raise DataError(f"max_support is {max_support}; pass a number of 2 or more")
    whole = bins is None or isinstance(bins, numbers.Integral)
    if not whole or (bins is not None and bins < 1):
        raise DataError(
            f"bins is {bins!r}; pass a whole number of 1 or more, or None for raw values"
        )


def _threads(threads: object) -> int:
    """The number of threads; None is one for each core."""
    if threads is None:
        return available_cores()
    whole = isinstance(threads, int | np.integer) and not isinstance(threads, bool)
    if not whole or threads < 1:  # type: ignore[operator]
        raise DataError(f"threads is {threads!r}; pass a whole number of 1 or more")
    return int(threads)  # type: ignore[call-overload, no-any-return]


def check_time_limit(seconds: object) -> None:
    """Refuse a time limit that is not a positive number."""
    number = isinstance(seconds, numbers.Real) and not isinstance(seconds, bool)
    if seconds is not None and (not number or not 0 < seconds < math.inf):  # type: ignore[operator]
        raise DataError(
            f"time_limit is {seconds!r}; pass a number of seconds above 0, or None for no limit"
        )


def _check_switches(**switches: object) -> None:
    for name, value in switches.items():
        if not isinstance(value, bool | np.bool_):
            raise DataError(f"{name} is {value!r}; pass True or False")


def _check_option(name: str, value: object, kind: type, parts: tuple[str, ...] = ()) -> None:
    """Refuse an option that is neither left out nor of a kind, nor has all parts of one."""
    if value is None or isinstance(value, kind):
        return
    if isinstance(value, type) or not parts or not all(hasattr(value, part) for part in parts):
        raise DataError(f"{name} is {value!r}; pass an instance, such as {kind.__name__}()")


def _named(protected: object) -> set[str]:
    """The columns that protected attributes are taken from, as far as they are named."""
    if isinstance(protected, Mapping):
        return {name for value in protected.values() for name in _named(value)}
    if isinstance(protected, list | tuple):
        return {str(name) for name in protected if isinstance(name, str | int)}
    return {str(protected)} if isinstance(protected, str | int) else set()
