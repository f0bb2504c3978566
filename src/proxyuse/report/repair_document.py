"""The typed result of a repair; see `report.result`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from proxyuse.data.columns import Column
from proxyuse.detect.collections import Curve
from proxyuse.hashes import program_hash
from proxyuse.program import Program
from proxyuse.report import inputs
from proxyuse.report.disclosure import check_min_cell
from proxyuse.report.document import (
    MOST_POSITIONS,
    MOST_TEXT,
    installed_version,
    note_texts,
    unsettled_texts,
)
from proxyuse.report.frontier_document import frontier_result
from proxyuse.report.inputs import Audited, Repaired
from proxyuse.report.reading import shown_text
from proxyuse.report.release import Figure, Release, figure, release_of
from proxyuse.report.repair_changes import repair_changes
from proxyuse.report.repair_result import (
    CandidateResult,
    Change,
    CollectionChange,
    CollectivePoint,
    HashedProgram,
    Loss,
    ProgramChange,
    Removed,
    RepairMeasures,
    RepairResult,
    Step,
    UtilityChange,
)
from proxyuse.report.result import MIN_CELL, Thresholds


def repair_document(
    repair: Repaired,
    *,
    written: Mapping[str, Any] | None = None,
    after: Audited | None = None,
    about: Mapping[str, object] | None = None,
    min_cell: int = MIN_CELL,
) -> RepairResult:
    """Return the result of a repair, which every format is rendered from.

    Parameters
    ----------
    repair : the repair.
    written : the files that were written; anything that JSON can hold.
    after : the last audit, if it is not the repair's own.
    about : what the caller knows about model and data, as for an audit.
    min_cell : withhold counts of rows below this; 1 prints all.

    Examples
    --------
    >>> import proxyuse as pu
    >>> pregnant = [1, 1, 0, 0, 0, 0]
    >>> data = {"vitamins": pregnant, "income": [1, 2, 1, 2, 1, 2], "pregnant": pregnant}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', ite(income >= 2, 'a', 'b'))")
    >>> options = {"epsilon": 0.5, "delta": 0, "unconfirmed": True}
    >>> repair = pu.repair(program, data, protected="pregnant", **options)
    >>> result = repair_document(repair)
    >>> result.result, len(result.steps), result.utility.used.after
    ('repaired', 1, 0.8333)
    """
    check_min_cell(min_cell)
    after = repair.after if after is None else after
    return RepairResult(
        proxyuse=installed_version(),
        about={"notes": [], **(about or {})},
        result="repaired" if repair.candidates else "nothing to repair",
        complete=after.complete,
        thresholds=Thresholds(float(after.epsilon), float(after.delta)),
        measures=RepairMeasures(*after.measures),
        protected=tuple(z.name for z in after.population.protected),
        rows=after.population.n_rows,
        min_cell=int(min_cell),
        violations=repair.violations,
        targets=repair.targets,
        indistinct=repair.indistinct,
        witnesses_left=len(after.witnesses),
        judged_appropriate=len(after.witnesses) - len(repair.violations_in(after)),
        detections=repair.detections,
        program=ProgramChange(_hashed(repair.original), _hashed(repair.program)),
        utility=UtilityChange(
            repair.utility,
            _loss(repair.used),
            None if repair.selection is None else _loss(repair.selection),
            repair.folds,
        ),
        candidates=tuple(_candidate(known) for known in repair.candidates),
        refusal=repair.refusal,
        interrupted=repair.interrupted,
        frontier=frontier_result(repair, int(min_cell)),
        changed=_changed(repair, min_cell),
        changes=repair_changes(repair, int(min_cell)),
        steps=tuple(
            step_result(
                step, repair.before.population.columns, release_of(repair.before, int(min_cell))
            )
            for step in repair.steps
        ),
        collections=tuple(collection_result(known, repair.utility) for known in repair.collections),
        constant=_constant(repair),
        written=dict(written or {}),
        notes=note_texts(after.notes, int(min_cell)),
        unsettled=unsettled_texts(after.unsettled),
    )


def _candidate(known: inputs.Candidate) -> CandidateResult:
    quality = known.quality
    return CandidateResult(
        methods=known.methods,
        columns=known.columns,
        replaced=known.replaced,
        detail=known.detail,
        remaining=known.remaining,
        changed=None if known.remaining is None else round(known.changed, 3),
        utility=None if quality is None else _rounded(quality.utility),
        error=None if quality is None else _rounded(quality.error),
        auc=None if quality is None else _rounded(quality.auc),
        log_loss=None if quality is None else _rounded(quality.log_loss),
        calibration=None if quality is None else _rounded(quality.calibration),
        seconds=round(known.seconds, 1),
        chosen=known.chosen,
        rejected=known.rejected,
    )


def _rounded(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else round(value, 4)


def _constant(repair: Repaired) -> str | None:
    """The constant that replaced the whole program, if one did."""
    values = [value for position, value in repair.replaced.items() if str(position) == "root"]
    return values[0] if values and not repair.steps else None


def collection_result(known: inputs.RepairedCollection, utility: str) -> CollectionChange:
    """What a repair did to one collection."""
    before, after = known.utility
    return CollectionChange(
        known.protected,
        known.kind,
        known.members,
        known.positions,
        known.replaced_members,
        known.replaced_positions,
        tuple(known.variables),
        _curve(known.before),
        _curve(known.after),
        utility,
        round(before, 4),
        round(after, 4),
    )


def _curve(curve: Curve) -> tuple[CollectivePoint, ...]:
    return tuple(
        CollectivePoint(
            figure(point.level),
            point.members,
            *map(figure, (point.influence.influence, point.influence.low, point.influence.high)),
        )
        for point in curve.points
    )


def _hashed(program: Program) -> HashedProgram:
    return HashedProgram(program.size, program_hash(program))


def _loss(loss: inputs.Loss) -> Loss:
    return Loss(round(loss.before, 4), round(loss.after, 4), loss.rows)


def _changed(repair: Repaired, min_cell: int) -> int | str:
    """The number of rows whose prediction changed."""
    number = int(np.count_nonzero(repair.changed_rows))
    return number if number == 0 or number >= min_cell else f"<{min_cell}"


def step_result(
    step: inputs.Step,
    columns: Mapping[str, Column] | None = None,
    release: Release | None = None,
) -> Step:
    """One step of a repair.

    `columns` are the audited rows, which shorten its thresholds; `release` says how precisely its
    association may be printed, by default exactly.
    """
    removed, columns = step.removed, columns or {}
    known = Figure(figure(removed.association))
    if release is not None:
        exact = removed.association
        known = release.association(removed.expression, removed.protected, exact)
    return Step(
        Removed(
            removed.id,
            removed.term[:MOST_TEXT],
            shown_text(removed.expression, columns)[0],
            removed.protected,
            known.value,
            figure(removed.influence),
            removed.reason,
            removed.by,
            known.range,
        ),
        tuple(_change(change, columns) for change in step.changes[:MOST_POSITIONS]),
        len(step.changes),
        round(step.utility, 4),
    )


def _change(change: inputs.Change, columns: Mapping[str, Column]) -> Change:
    return Change(
        str(change.position),
        change.term[:MOST_TEXT],
        shown_text(change.expression, columns)[0],
        change.value[:MOST_TEXT],
        change.origin or None,
    )
