"""The collections of an audit, as a result has them."""

from __future__ import annotations

from proxyuse.detect import collective_witness as detected
from proxyuse.detect.collective_witness import repeats_witness
from proxyuse.judge.judgment import Oracle, judgment_of
from proxyuse.measure.collective import CollectiveInfluence
from proxyuse.report.direction import Directions
from proxyuse.report.inputs import Audited
from proxyuse.report.other_findings import (
    Collection,
    CollectionMember,
    CollectionVariable,
    Judgment,
)
from proxyuse.report.reading import shown_text
from proxyuse.report.release import Release, figure
from proxyuse.verdict import Verdict

MOST_MEMBERS = 20
MOST_ORIGINS = 5


def collection_of(
    audit: Audited,
    protected: str,
    oracle: Oracle | None,
    release: Release,
    directions: Directions,
) -> Collection | None:
    """The collection of a protected attribute, without the members judged appropriate."""
    known = audit.collections_with(oracle).get(protected)
    if known is None:
        return None
    everything = audit.collections[protected]
    judgment = judgment_of(oracle, known)
    strongest = [_member(audit, known, m, release) for m in known.members[:MOST_MEMBERS]]
    printed = [_member(audit, known, known.members[-1], release), *strongest]
    ends = [end for m in printed for end in m.association_range or (m.association,)]
    confirmed = known.confirmed
    is_witness = known.verdict is not Verdict.NOT_FOUND
    return Collection(
        id=known.id,
        kind=known.kind,
        verdict=known.verdict,
        members=len(known.members),
        judged_members=len(everything.members) - len(known.members),
        variables=known.variables,
        trees=known.trees,
        positions=known.positions,
        association_low=min(ends),
        association_high=max(ends),
        **_interval(known.measured),
        exact=known.measured.exact,
        largest_single=figure(known.single.bound),
        distributed=known.distributed,
        bound=figure(known.bound),
        confirmed_members=None if confirmed is None else confirmed.members,
        confirmed_influence=None if confirmed is None else figure(confirmed.influence),
        by_variable=tuple(
            CollectionVariable(each.variable, each.members, **_interval(each.influence))
            for each in known.by_variable
        ),
        strongest=tuple(strongest),
        direction=directions.collective(known) if is_witness else None,
        repeats_witness=repeats_witness(known, audit.witnesses),
        protected=protected,
        judgment=None
        if judgment is None
        else Judgment(judgment.appropriate, judgment.reason, judgment.by),
    )


def _interval(known: CollectiveInfluence) -> dict[str, float]:
    return {"influence_low": figure(known.low), "influence_high": figure(known.high)}


def _member(
    audit: Audited, known: detected.Collection, member: detected.CollectionMember, release: Release
) -> CollectionMember:
    reading, _ = shown_text(member.expression, audit.population.columns)
    released = release.association(member.expression, known.protected, member.association)
    program = audit.program
    positions = (program.points.position(site) for site in member.sites[:MOST_ORIGINS])
    origins = [str(o) for o in map(program.origin, positions) if o is not None]
    return CollectionMember(
        reading,
        released.value,
        member.positions,
        tuple(dict.fromkeys(origins)),
        released.range,
    )
