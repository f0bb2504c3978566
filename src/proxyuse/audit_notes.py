"""The notes of an audit: what its figures leave out, and how they were found."""

from __future__ import annotations

from proxyuse.data.population import Population
from proxyuse.detect.results import Detection
from proxyuse.measure.engine import Measurement
from proxyuse.notes import Note, NoteKind
from proxyuse.program import Program
from proxyuse.settings import Settings


def opaque_notes(names: tuple[str, ...]) -> tuple[Note, ...]:
    """Say which steps were not analyzed."""
    if not names:
        return ()
    text = f"what is computed inside {', '.join(names)} was not looked at"
    return (Note(NoteKind.OPAQUE, text),)


def audit_notes(
    program: Program,
    population: Population,
    engine: Measurement,
    detection: Detection,
    settings: Settings,
) -> tuple[Note, ...]:
    """Say what was left out, binned, sampled, searched or stopped, and how influence was found."""
    sampling, bins = settings.sampling, settings.bins
    notes = [*population.notes]
    for z, (_, support) in zip(population.protected, engine.sample.protected, strict=True):
        if z.source in program.variables:
            text = f"the program reads the protected attribute {z.name!r} itself"
            notes.append(Note(NoteKind.EXPLICIT_USE, text))
        if support.binned:
            text = f"the values of the protected attribute {z.name!r} were cut into {bins} bins"
            notes.append(Note(NoteKind.BINNED, text))
    if engine.joint.binned:
        count = len(engine.joint.binned)
        text = f"for association, values were cut into {bins} bins in {count} of the computations"
        notes.append(Note(NoteKind.BINNED, text))
    if engine.joint.long:
        text = (
            f"{len(engine.joint.long)} of the computations have more than {settings.max_support} "
            "distinct values that were not cut into bins; a sample overestimates their association"
        )
        notes.append(Note(NoteKind.LONG_SUPPORT, text))
    if sampling is not None:
        count = len(detection.decompositions)
        notes.append(
            Note(
                NoteKind.SAMPLED,
                f"influence was estimated from {sampling.pairs:,} pairs of rows: each is within "
                f"{sampling.alpha} of the exact value with probability {1 - sampling.beta:.4g}, "
                f"all {count} at once with probability at least "
                f"{max(0.0, 1 - count * sampling.beta):.4g}",
            )
        )
    methods = engine.methods.most_common()
    ways = ", ".join(f"{count:,} {method}" for method, count in methods)
    if ways:
        notes.append(Note(NoteKind.METHOD, f"influence of sets of positions: {ways}"))
    notes += detection.notes
    notes += [Note(NoteKind.SEARCHED, sentence) for sentence in detection.searched]
    notes += [Note(NoteKind.UNSETTLED, str(item)) for item in detection.unsettled]
    return tuple(sorted(notes, key=lambda note: note.kind is not NoteKind.TIME_LIMIT))
