"""The notes of an audit: what its figures leave out, and how they were found."""

from __future__ import annotations

from proxyuse.data.population import Population
from proxyuse.detect.collections import not_measured
from proxyuse.detect.results import Detection
from proxyuse.measure.engine import Measurement
from proxyuse.notes import (
    CollectionsNotMeasured,
    ComputationsBinned,
    ComputationsCut,
    DerivedAttribute,
    LongSupport,
    MethodsUsed,
    Note,
    NoteKind,
    OpaqueSteps,
    PairsSampled,
    ProtectedBinned,
)
from proxyuse.settings import PROTECTED_BINS, Settings


def opaque_notes(steps: tuple[str, ...]) -> tuple[Note, ...]:
    """Note which steps were not analyzed."""
    return (OpaqueSteps(steps),) if steps else ()


def audit_notes(
    population: Population,
    engine: Measurement,
    detection: Detection,
    settings: Settings,
) -> tuple[Note, ...]:
    """Note what was dropped, binned, sampled, searched or stopped, and how influence was found."""
    sampling, sample = settings.sampling, engine.sample
    notes: list[Note] = [*population.notes]
    for z, (_, support) in zip(population.protected, engine.sample.protected, strict=True):
        if z.derivation is not None:
            derivation = z.derivation
            notes.append(DerivedAttribute(z.name, derivation.expression, derivation.columns))
        if support.binned:
            notes.append(ProtectedBinned(z.name, PROTECTED_BINS))
    if engine.joint.cut:
        notes.append(ComputationsCut(len(engine.joint.cut), sample.max_support))
    if engine.joint.binned:
        notes.append(ComputationsBinned(len(engine.joint.binned), sample.groups))
    if engine.joint.long:
        notes.append(LongSupport(len(engine.joint.long), sample.max_support))
    if sampling is not None:
        number = len(detection.decompositions)
        notes.append(PairsSampled(sampling.pairs, sampling.alpha, sampling.beta, number))
    if methods := tuple(engine.methods.most_common()):
        notes.append(MethodsUsed(methods))
    notes += detection.notes
    notes += detection.searched
    stopped = any(note.kind is NoteKind.TIME_LIMIT for note in notes)
    if because := "time" if stopped else not_measured(engine):
        notes.append(CollectionsNotMeasured(because))
    notes += [item.note for item in detection.unsettled]
    return tuple(sorted(notes, key=lambda note: note.kind is not NoteKind.TIME_LIMIT))
