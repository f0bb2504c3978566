"""An audit: from a model and data to the witnesses of proxy use.

Composes the stages: translate, read the population, measure, detect.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import NamedTuple, Unpack

from msgspec import structs

from proxyuse.audit_notes import audit_notes, opaque_notes
from proxyuse.completed_audit import Audit
from proxyuse.data.copies import copied_rows
from proxyuse.data.population import Population
from proxyuse.detect.detection import detect
from proxyuse.detect.progress import Clock
from proxyuse.detect.results import Detection
from proxyuse.detect.size_limits import check_size
from proxyuse.detect.witnesses import find_witnesses
from proxyuse.lang.evaluate import Array
from proxyuse.measure.engine import Measurement
from proxyuse.measure.row_order import first_half
from proxyuse.notes import Note
from proxyuse.options import documented, from_keywords
from proxyuse.program import Program
from proxyuse.request import Request, engine_for, request_for
from proxyuse.settings import DELTA, EPSILON, AuditKeywords, AuditOptions
from proxyuse.validity.evidence import Evidence
from proxyuse.validity.options import methods_of


@documented(AuditOptions, AuditKeywords.__annotations__)
def audit(
    model: object,
    X: object,
    protected: object,
    epsilon: float | str = EPSILON,
    delta: float = DELTA,
    **options: Unpack[AuditKeywords],
) -> Audit:
    """Find every computation in a model that is an influential proxy for a protected attribute.

    Parameters
    ----------
    model : a fitted model or a `Program`
        See `translate` for the supported models.
    X : data frame (pandas, polars, pyarrow), mapping of columns, or 2-D array
        The rows to measure on. Columns that the model does not use are ignored.
    protected : column name, several names, or a mapping from names to columns or values
        The attributes that the model must not use. A text that is not a column is an expression
        that derives the attribute from columns: ``{"over60": "age > 60"}`` or
        ``"over60: age > 60"``.
    {options}

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"vitamins": [1, 1, 0, 0], "engaged": [1, 0, 1, 0], "pregnant": [1, 1, 0, 0]}
    >>> program = pu.Program.parse(
    ...     "ite(vitamins == 1, ite(engaged == 1, 'a', 'b'), ite(engaged == 1, 'b', 'a'))"
    ... )
    >>> audit = pu.audit(program, data, protected="pregnant", epsilon=1, delta=0)
    >>> [(w.term, w.association, w.influence) for w in audit.witnesses]
    [('vitamins', 1.0, 0.5), ('vitamins == 1', 1.0, 0.5)]

    Four rows cannot show whether this is chance. `Audit.verdict` says whether it is.
    """
    chosen = from_keywords(AuditOptions, {"epsilon": epsilon, "delta": delta, **options})
    clock = Clock(chosen.progress, limit=chosen.time_limit)
    methods = None if chosen.validity is None else methods_of(chosen.validity)
    result = examine(request_for(model, X, protected, chosen), clock=clock)
    result = replace(result, strict=chosen.strict)
    if methods is not None:
        result = replace(result.validated(methods), fail_on=chosen.fail_on or "confirmed")
    return result


def examine(
    request: Request,
    program: Program | None = None,
    *,
    clock: Clock | None = None,
    known: dict[bytes, Array] | None = None,
) -> Audit:
    """Audit the program of a request, or another program on the same rows.

    The program of the request must agree with its model on the rows. `known` holds associations
    from another program on the same rows; see `detect`.
    """
    clock = clock or Clock(None)
    own = program is None
    program = request.specialized(request.subject.program if program is None else program)
    check_size(program)
    engine = engine_for(request, program, clock)
    notes: tuple[Note, ...] = opaque_notes(request.subject.opaque)
    if own:
        sample, kept = engine.sample, request.population.kept
        notes = (*request.subject.check(sample.outputs, sample.frame, kept), *notes)
        request.influence.scale(sample.outputs(), sample.weights)  # raises if it is undefined
    detection, evidence = _detected(request, engine, clock, known)
    return Audit(
        program,
        request.population,
        request.settings.epsilon,
        request.settings.delta,
        detection.decompositions,
        list(evidence.witnesses),
        detection.unsettled,
        (*notes, *audit_notes(request.population, engine, detection, request.settings)),
        (request.association.name, request.influence.name),
        request.settings,
        None,
        evidence,
        detection.bounded,
        requested_epsilon=request.requested_epsilon,
        classes=request.subject.classes,
    )


def _detected(
    request: Request, engine: Measurement, clock: Clock, known: dict[bytes, Array] | None = None
) -> tuple[Detection, Evidence]:
    """Return the detection on the rows of a request, and the evidence for validity methods."""
    settings, population = request.settings, request.population
    half = None
    if known is None and engine.sample.counts_pairs:
        half = cache(lambda: _half(engine, population))
    detection = detect(
        engine,
        engine.program,
        request.association,
        settings,
        clock=clock,
        known=known,
        half=None if half is None else lambda: half().engine,
    )
    witnesses = find_witnesses(
        detection.decompositions,
        {z.name: z.source for z in request.population.protected},
        epsilon=settings.epsilon,
        delta=settings.delta,
    )

    def on_rows(rows: Array) -> Evidence:
        # Parts of the rows are measured in the same way as all rows.
        same = structs.replace(settings, max_support=engine.sample.max_support)
        part = replace(request, population=request.population.taking(rows), settings=same)
        restarted = clock.restarted()
        return _detected(part, engine_for(part, engine.program, restarted), restarted)[1]

    evidence = Evidence(
        engine,
        request.population,
        detection.decompositions,
        witnesses,
        settings.epsilon,
        settings.delta,
        request.association,
        request.influence,
        settings.sampling,
        detection.selected or bool(detection.unsettled),  # the rows chose what was measured
        request.subject.matches_training,
        request.threads,
        on_rows,
        detection.bounded,
        detection.chosen,
        None if half is None else lambda: half().rows,
    )
    return detection, evidence


class _Half(NamedTuple):
    """The rows that choose partial sums, and their measurement; None if the halves are empty."""

    rows: Array
    engine: Measurement | None


def _half(engine: Measurement, population: Population) -> _Half:
    clusters = population.clusters
    if clusters is None:
        clusters = copied_rows(population)
    rows = first_half(engine.sample, clusters)
    if not 0 < int(rows.sum()) < len(rows):
        return _Half(rows, None)
    return _Half(rows, engine.on(population.taking(rows)))
