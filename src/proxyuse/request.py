"""A checked request for an audit: a program, the rows to measure it on, and the options.

Checks the caller's arguments before any work starts. Knows nothing about witnesses.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec

from proxyuse.data.population import Population
from proxyuse.detect.progress import Clock
from proxyuse.errors import DataError
from proxyuse.expressions import derived_attribute
from proxyuse.lang.evaluate import Vocabulary
from proxyuse.measure.association.ceilings import two_valued_ceiling
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.protocol import Association, for_weights
from proxyuse.measure.association.registry import association_from
from proxyuse.measure.engine import Measurement
from proxyuse.measure.influence import QuantitativeInputInfluence, influence_from
from proxyuse.measure.parallel import available_cores
from proxyuse.measure.sample import Sample
from proxyuse.models.audited_model import AuditedModel, audited_model
from proxyuse.options import percentage, shown
from proxyuse.program import Program
from proxyuse.settings import AuditOptions, Influence, Settings


@dataclass(frozen=True, slots=True, eq=False)
class Request:
    """A program, the rows to measure it on, and the options.

    Attributes
    ----------
    subject : the program as translated or passed, and whether its model agrees with it.
    population : the rows.
    association, influence : the measures.
    settings : the options that determine the figures.
    threads : the number of threads.
    requested_epsilon : the percentage that epsilon was computed from; None if it was a number.
    """

    subject: AuditedModel
    population: Population
    association: Association
    influence: Influence
    settings: Settings
    threads: int
    requested_epsilon: str | None = None

    def specialized(self, program: Program) -> Program:
        """Return the program without its handling of missing values in complete columns."""
        columns = self.population.columns.items()
        return program.without_missing(
            frozenset(name for name, column in columns if not column.any_missing)
        )


def request_for(model: object, X: object, protected: object, options: AuditOptions) -> Request:
    """Check the options, translate the model and read the rows."""
    association = association_from(options.association)
    influence = influence_from(options.influence)
    if options.sampling is not None and not influence.bounded:
        raise DataError(
            f"sampling: its error bound does not hold for {influence.name}; omit sampling"
        )
    if options.progress is not None and not callable(options.progress):
        raise DataError(f"progress: expected a function, got {shown(options.progress)}")
    threads = options.threads or available_cores()
    subject = audited_model(model, X, _named(protected), options.decision, opaque=options.opaque)
    population = Population.build(
        X,
        protected=protected,
        weights=options.weights,
        clusters=options.clusters,
        variables=subject.program.variables,
        names=subject.program.inputs,
        missing_protected=options.missing_protected,
        threads=threads,
        derive=derived_attribute,
    )
    association = for_weights(association, population.weights)
    request = Request(subject, population, association, influence, options.settings, threads)
    return _resolved(request)


def engine_for(
    request: Request, program: Program, clock: Clock, vocabulary: Vocabulary | None = None
) -> Measurement:
    """Return the measurement of a program on the rows of a request."""
    sample = Sample(
        program,
        request.population,
        vocabulary=vocabulary,
        influence=request.influence,
        sampling=request.settings.sampling,
        max_support=request.settings.max_support,
        bins=request.settings.bins,
        tick=clock.tick,
        threads=request.threads,
        settle_at=None if request.settings.exact else request.settings.delta,
    )
    return Measurement(sample)


def _resolved(request: Request) -> Request:
    """Return the request with epsilon as a number.

    A percentage is a share of the highest association that a two-valued computation can have with
    the protected attribute. Linear in the rows.
    """
    settings = request.settings
    share = percentage(settings.epsilon)
    if share is None:
        return request
    requested = str(settings.epsilon)
    if not isinstance(request.association, NormalizedMutualInformation):
        raise DataError(
            f"epsilon: a percentage ({requested}) needs normalized mutual information, because the "
            f"highest {request.association.name} is not known; pass a number"
        )
    sample = engine_for(request, request.specialized(request.subject.program), Clock(None)).sample
    numbers = {
        name: share * two_valued_ceiling(support.masses(sample.weights))
        for name, support in zip(sample.protected_names, sample.attributes, strict=True)
    }
    if max(numbers.values()) - min(numbers.values()) > 1e-9:
        each = ", ".join(f"{number:.4g} for {name!r}" for name, number in numbers.items())
        raise DataError(
            f"epsilon: {requested} is a different number for each protected attribute ({each}); "
            "audit them one at a time, or pass a number"
        )
    settings = msgspec.structs.replace(settings, epsilon=next(iter(numbers.values())))
    return replace(request, settings=settings, requested_epsilon=requested)


def with_defined_influence(request: Request, program: Program, clock: Clock) -> Request:
    """Return the request, with quantitative input influence if its own is undefined.

    Repair can make all outputs equal, and then squared change is undefined.
    """
    if isinstance(request.influence, QuantitativeInputInfluence):
        return request
    sample = engine_for(request, request.specialized(program), clock).sample
    try:
        request.influence.scale(sample.outputs(), sample.weights)
    except DataError:
        return replace(request, influence=QuantitativeInputInfluence())
    return request


def _named(protected: object) -> set[str]:
    """Return the columns that hold protected attributes; attributes passed as values have none."""
    if isinstance(protected, Mapping):
        return {name for value in protected.values() for name in _named(value)}
    if isinstance(protected, list | tuple):
        return {str(name) for name in protected if isinstance(name, str | int)}
    return {str(protected)} if isinstance(protected, str | int) else set()
