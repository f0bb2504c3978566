"""A repair as a document: what was replaced by what, why and at what cost, as JSON.

`repair.schema.json` describes it. Like that of an audit it holds no rows of data, no clock times
and no folders, and numbers of rows below `min_cell` are not printed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from proxyuse.hashes import program_hash
from proxyuse.report.disclosure import check_min_cell
from proxyuse.report.document import (
    MIN_CELL,
    MOST_POSITIONS,
    MOST_TEXT,
    MOST_UNSETTLED,
    figure,
    installed_version,
)
from proxyuse.report.inputs import Audited, Change, Loss, Repaired, Step
from proxyuse.report.remarks import remarks

FORMAT = "proxyuse repair"
VERSION = 1


def repair_document(
    repair: Repaired,
    *,
    written: Mapping[str, Any] | None = None,
    after: Audited | None = None,
    about: Mapping[str, object] | None = None,
    min_cell: int = MIN_CELL,
) -> dict[str, Any]:
    """Everything a reader needs to know of a repair, fit for JSON.

    Parameters
    ----------
    repair : what was done.
    written : what the caller knows of files that were written; anything that JSON can hold.
    after : the last audit, if another one than the repair's own was made after it.
    about : what the caller knows of model and data, as for the document of an audit.
    min_cell : numbers of rows below this are not printed; 1 prints all.

    Examples
    --------
    >>> import proxyuse as pu
    >>> pregnant = [1, 1, 0, 0, 0, 0]
    >>> data = {"vitamins": pregnant, "income": [1, 2, 1, 2, 1, 2], "pregnant": pregnant}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', ite(income >= 2, 'a', 'b'))")
    >>> done = pu.repair(program, data, protected="pregnant", epsilon=0.5, delta=0)
    >>> found = repair_document(done)
    >>> found["result"], len(found["steps"]), found["utility"]["used"]["after"]
    ('repaired', 1, 0.8333)
    """
    check_min_cell(min_cell)
    after = repair.after if after is None else after
    return {
        "format": FORMAT,
        "version": VERSION,
        "proxyuse": installed_version(),
        "about": {"notes": [], **(about or {})},
        "result": "repaired" if repair.replaced else "nothing to repair",
        "complete": after.complete,
        "thresholds": {"epsilon": float(after.epsilon), "delta": float(after.delta)},
        "measures": dict(zip(("association", "influence"), after.measures, strict=True)),
        "protected": [z.name for z in after.population.protected],
        "rows": after.population.n_rows,
        "min_cell": int(min_cell),
        "violations": repair.violations,
        "witnesses_left": len(after.witnesses),
        "detections": repair.detections,
        "program": {
            name: {"size": program.size, "hash": program_hash(program)}
            for name, program in (("before", repair.original), ("after", repair.program))
        },
        "utility": {
            "name": repair.utility,
            "used": _loss(repair.used),
            "holdout": None if repair.holdout is None else _loss(repair.holdout),
        },
        "changed": _changed(repair, min_cell),
        "steps": [_step(step) for step in repair.steps],
        "constant": None if repair.steps else next(iter(repair.replaced.values()), None),
        "written": dict(written or {}),
        "notes": remarks(after.notes, int(min_cell)),
        "unsettled": {
            "count": len(after.unsettled),
            "listed": [str(item) for item in after.unsettled[:MOST_UNSETTLED]],
        },
    }


def repair_exit_code(document: Mapping[str, Any]) -> int:
    """What a CI job is told: 0, or 3 if not everything was settled."""
    return 0 if document["complete"] else 3


def _loss(loss: Loss) -> dict[str, Any]:
    return {"before": round(loss.before, 4), "after": round(loss.after, 4), "rows": loss.rows}


def _changed(repair: Repaired, min_cell: int) -> int | str:
    """For how many of the rows that were used the program says something else than before."""
    number = int(np.count_nonzero(repair.changed_rows))
    return number if number == 0 or number >= min_cell else f"<{min_cell}"


def _step(step: Step) -> dict[str, Any]:
    names = ("id", "term", "protected", "association", "influence", "reason", "by")
    removed = {name: getattr(step.removed, name) for name in names}
    for name in ("association", "influence"):
        removed[name] = figure(removed[name])
    removed["term"] = removed["term"][:MOST_TEXT]
    return {
        "removed": removed,
        "changes": [_change(change) for change in step.changes[:MOST_POSITIONS]],
        "number_of_changes": len(step.changes),
        "utility": round(step.utility, 4),
    }


def _change(change: Change) -> dict[str, Any]:
    return {
        "position": str(change.position),
        "term": change.term[:MOST_TEXT],
        "value": change.value[:MOST_TEXT],
        "origin": change.origin or None,
    }
