"""The notes of an audit: what its figures leave out, and how they were found."""

from __future__ import annotations

from proxyuse.data.population import Population
from proxyuse.detect.results import Detection
from proxyuse.measure.engine import Measurement
from proxyuse.notes import (
    ComputationsBinned,
    ExplicitUse,
    LongSupport,
    MethodsUsed,
    Note,
    NoteKind,
    OpaqueSteps,
    PairsSampled,
    ProtectedBinned,
)
from proxyuse.program import Program
from proxyuse.settings import Settings


def opaque_notes(steps: tuple[str, ...]) -> tuple[Note, ...]:
    """Note which steps were not analyzed."""
    return (OpaqueSteps(steps),) if steps else ()


def audit_notes(
    program: Program,
    population: Population,
    engine: Measurement,
    detection: Detection,
    settings: Settings,
) -> tuple[Note, ...]:
    """Note what was dropped, binned, sampled, searched or stopped, and how influence was found."""
    sampling, bins = settings.sampling, settings.bins
    notes: list[Note] = [*population.notes]
    for z, (_, support) in zip(population.protected, engine.sample.protected, strict=True):
        if z.source in program.variables:
            notes.append(ExplicitUse(z.name))
        if support.binned:
            notes.append(ProtectedBinned(z.name, bins))
    if engine.joint.binned:
        notes.append(ComputationsBinned(len(engine.joint.binned), bins))
    if engine.joint.long:
        notes.append(LongSupport(len(engine.joint.long), settings.max_support))
    if sampling is not None:
        number = len(detection.decompositions)
        notes.append(PairsSampled(sampling.pairs, sampling.alpha, sampling.beta, number))
    if methods := tuple(engine.methods.most_common()):
        notes.append(MethodsUsed(methods))
    notes += detection.notes
    notes += detection.searched
    notes += [item.note for item in detection.unsettled]
    return tuple(sorted(notes, key=lambda note: note.kind is not NoteKind.TIME_LIMIT))
