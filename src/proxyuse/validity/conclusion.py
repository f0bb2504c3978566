"""The verdict on each protected attribute, from its violations and from what was not learned.

Audits, reports with judgments, and assertions use this one function.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from proxyuse.data.population import Population
from proxyuse.detect.collective_witness import Collection
from proxyuse.detect.results import Unsettled
from proxyuse.detect.witnesses import Witness
from proxyuse.methods import Confirmation, Permutation
from proxyuse.notes import Note, NoteKind, OpaqueSteps, Stopped
from proxyuse.validity.assess import Assessment
from proxyuse.validity.explicit_use import ExplicitUse
from proxyuse.verdict import (
    AttributeVerdict,
    CollectiveUse,
    ColumnsMissing,
    ConstantAttribute,
    EpsilonOutOfReach,
    Incomplete,
    InfluenceUnbounded,
    JudgedAppropriate,
    NotConfirmed,
    NotExhausted,
    NotTested,
    ReadsColumns,
    Reason,
    StepsNotAnalyzed,
    TermsUnsettled,
    TimeLimitReached,
    TooFewPermutations,
    Verdict,
    attribute_verdict,
)


def incomplete_reasons(
    unsettled: Sequence[Unsettled], notes: Iterable[Note], strict: bool
) -> tuple[Incomplete, ...]:
    """Why a search is incomplete; empty if it is complete.

    Parameters
    ----------
    unsettled, notes : what was not settled, and the notes of the audit.
    strict : whether a space that was searched but not exhausted makes the search incomplete.
    """
    notes = tuple(notes)
    reasons: list[Incomplete] = []
    if unsettled:
        reasons += [TimeLimitReached(note.seconds) for note in notes if isinstance(note, Stopped)]
        reasons = reasons[:1] or [TermsUnsettled(len(unsettled))]
    reasons += [StepsNotAnalyzed(note.steps) for note in notes if isinstance(note, OpaqueSteps)]
    searched = sum(note.kind is NoteKind.SEARCHED for note in notes)
    if strict and searched:
        reasons.append(NotExhausted(searched))
    return tuple(reasons)


def conclude(
    population: Population,
    witnesses: Iterable[Witness],
    violations: Iterable[Witness],
    assessment: Assessment | None,
    incomplete: Sequence[Reason],
    influence: str,
    explicit: Iterable[ExplicitUse] = (),
    unreachable: Mapping[str, EpsilonOutOfReach] | None = None,
    collections: Iterable[Collection] = (),
) -> dict[str, AttributeVerdict]:
    """The verdict on each protected attribute.

    Parameters
    ----------
    population : the rows, with the protected attributes.
    witnesses : all witnesses.
    violations : those that nobody judged appropriate.
    assessment : the statistical tests; None if validity was turned off.
    incomplete : why the search is incomplete.
    influence : the name of the influence measure.
    explicit : the explicit uses that nobody judged appropriate.
    unreachable : the attributes with which no computation can reach epsilon.
    collections : the collective witnesses that nobody judged appropriate.

    Takes one pass over the rows for each attribute, to see whether it has several values.
    """
    found, counted, uses = list(witnesses), list(violations), list(explicit)
    together = {collection.protected: collection for collection in collections}
    missing = tuple(name for name, column in population.columns.items() if column.all_missing)
    verdicts = {}
    for z in population.protected:
        own = [w for w in counted if w.protected == z.name]
        read = [use for use in uses if use.protected == z.name]
        undecided: list[Reason] = [*incomplete, *([ColumnsMissing(missing)] if missing else [])]
        if z.column.constant:
            undecided.append(ConstantAttribute(population.n_rows))
        elif assessment is not None:
            undecided += _not_decided(z.name, own, assessment, influence)
        if not own and unreachable and z.name in unreachable:
            undecided.append(unreachable[z.name])
        collection = together.get(z.name)
        verdicts[z.name] = attribute_verdict(
            [
                *(w.verdict for w in own),
                *(use.verdict for use in read),
                *([] if collection is None else [collection.verdict]),
            ],
            undecided,
            _explained(own, sum(w.protected == z.name for w in found), assessment),
        )
        verdicts[z.name] = _with_explicit(verdicts[z.name], read)
        if collection is not None:
            verdicts[z.name] = _with_collection(verdicts[z.name], collection)
    return verdicts


def _with_explicit(known: AttributeVerdict, uses: Sequence[ExplicitUse]) -> AttributeVerdict:
    """Add the columns that determine the attribute to the reasons, confirmed ones if there are."""
    confirmed = tuple(use.column for use in uses if use.confirmed)
    used = tuple(use.column for use in uses if use.verdict is Verdict.POSSIBLE)
    if not confirmed and not used:
        return known
    reason = ReadsColumns(confirmed or used, bool(confirmed))
    return replace(known, reasons=(*known.reasons, reason))


def _with_collection(known: AttributeVerdict, collection: Collection) -> AttributeVerdict:
    """Add a collective witness to the reasons."""
    reason = CollectiveUse(
        len(collection.members),
        collection.distributed,
        collection.verdict is Verdict.CONFIRMED,
    )
    return replace(known, reasons=(*known.reasons, reason))


def _not_decided(
    name: str, violations: Sequence[Witness], assessment: Assessment, influence: str
) -> Iterator[Reason]:
    """Why the tests do not decide about an attribute."""
    if name in assessment.undecidable:
        yield assessment.undecidable[name]
    for method, verdicts in zip(assessment.methods, assessment.verdicts, strict=True):
        number = sum(
            w.verdict is Verdict.UNDECIDED and verdicts[w.key] is Verdict.UNDECIDED
            for w in violations
        )
        match method:
            case Confirmation() if number:
                yield InfluenceUnbounded(influence, number)
            case Permutation() if number:
                yield TooFewPermutations(number)


def _explained(
    violations: Sequence[Witness], found: int, assessment: Assessment | None
) -> Iterator[Reason]:
    """Why an attribute is possible although nothing is confirmed, or not found."""
    if violations:
        number = len(violations)
        yield NotTested(number) if assessment is None else NotConfirmed(number)
    elif found:
        yield JudgedAppropriate(found)
