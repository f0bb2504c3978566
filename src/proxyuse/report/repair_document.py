"""The typed result of a repair; see `report.result`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from proxyuse.hashes import program_hash
from proxyuse.program import Program
from proxyuse.report import inputs
from proxyuse.report.disclosure import check_min_cell
from proxyuse.report.document import (
    MOST_POSITIONS,
    MOST_TEXT,
    figure,
    installed_version,
    note_texts,
    unsettled_texts,
)
from proxyuse.report.inputs import Audited, Repaired
from proxyuse.report.repair_result import (
    Change,
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
    >>> repair = pu.repair(program, data, protected="pregnant", epsilon=0.5, delta=0)
    >>> result = repair_document(repair)
    >>> result.result, len(result.steps), result.utility.used.after
    ('repaired', 1, 0.8333)
    """
    check_min_cell(min_cell)
    after = repair.after if after is None else after
    return RepairResult(
        proxyuse=installed_version(),
        about={"notes": [], **(about or {})},
        result="repaired" if repair.replaced else "nothing to repair",
        complete=after.complete,
        thresholds=Thresholds(float(after.epsilon), float(after.delta)),
        measures=RepairMeasures(*after.measures),
        protected=tuple(z.name for z in after.population.protected),
        rows=after.population.n_rows,
        min_cell=int(min_cell),
        violations=repair.violations,
        witnesses_left=len(after.witnesses),
        detections=repair.detections,
        program=ProgramChange(_hashed(repair.original), _hashed(repair.program)),
        utility=UtilityChange(
            repair.utility,
            _loss(repair.used),
            None if repair.holdout is None else _loss(repair.holdout),
        ),
        changed=_changed(repair, min_cell),
        steps=tuple(map(step_result, repair.steps)),
        constant=None if repair.steps else next(iter(repair.replaced.values()), None),
        written=dict(written or {}),
        notes=note_texts(after.notes, int(min_cell)),
        unsettled=unsettled_texts(after.unsettled),
    )


def _hashed(program: Program) -> HashedProgram:
    return HashedProgram(program.size, program_hash(program))


def _loss(loss: inputs.Loss) -> Loss:
    return Loss(round(loss.before, 4), round(loss.after, 4), loss.rows)


def _changed(repair: Repaired, min_cell: int) -> int | str:
    """The number of rows whose prediction changed."""
    number = int(np.count_nonzero(repair.changed_rows))
    return number if number == 0 or number >= min_cell else f"<{min_cell}"


def step_result(step: inputs.Step) -> Step:
    """One step of a repair."""
    removed = step.removed
    return Step(
        Removed(
            removed.id,
            removed.term[:MOST_TEXT],
            removed.protected,
            figure(removed.association),
            figure(removed.influence),
            removed.reason,
            removed.by,
        ),
        tuple(map(_change, step.changes[:MOST_POSITIONS])),
        len(step.changes),
        round(step.utility, 4),
    )


def _change(change: inputs.Change) -> Change:
    return Change(
        str(change.position),
        change.term[:MOST_TEXT],
        change.value[:MOST_TEXT],
        change.origin or None,
    )
