"""The content of a certificate, from an audit.

The same audit gives the same content. It contains no rows of the data and no tables of counts.
Measures are not rounded, because verification compares them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import numpy as np

from proxyuse.auditing import Audit
from proxyuse.certificate.pareto import pareto_front
from proxyuse.certificate.recorded_settings import recorded
from proxyuse.data.population import Population
from proxyuse.detect.decompositions import Decomposition
from proxyuse.detect.witnesses import Witness
from proxyuse.hashes import data_hash, program_hash
from proxyuse.judge.judgment import Judgment, Oracle, judgment_of
from proxyuse.notes import NoteKind
from proxyuse.report.findings.notes import note_sentence

FORMAT = "proxyuse certificate"
VERSION = 1
MAX_TEXT = 4000  # characters of one computation; its id covers the whole text


def content_of(
    audit: Audit,
    oracle: Oracle | None,
    *,
    repaired: Mapping[str, Any] | None = None,
    date: str | None = None,
) -> dict[str, Any]:
    """Return all entries of a certificate except its hash."""
    judgments = [judgment_of(oracle, witness) for witness in audit.witnesses]
    violations = sum(judgment is None or not judgment.appropriate for judgment in judgments)
    association, influence = audit.measures
    return {
        "format": FORMAT,
        "version": VERSION,
        "proxyuse": _installed_version(),
        "date": date,
        "claim": _claim(violations, len(judgments), audit),
        "program": {
            "hash": program_hash(audit.program),
            "size": audit.program.size,
            "text": str(audit.program),
        },
        "data": _data(audit.population),
        "protected": [{"name": z.name, "column": z.source} for z in audit.population.protected],
        "measures": {"association": association, "influence": influence},
        "settings": recorded(audit.settings),
        "complete": audit.complete,
        "unsettled": [note_sentence(item.note) for item in audit.unsettled],
        "notes": [
            {"kind": str(note.kind), "text": note_sentence(note)}
            for note in audit.notes
            if note.kind not in (NoteKind.METHOD, NoteKind.UNSETTLED)  # about speed; listed above
        ],
        "decompositions": len(audit.decompositions),
        "without_influence": int(np.isnan(audit.decompositions.influences).sum()),
        "front": _front(audit),
        "judged": oracle is not None,
        "violations": violations,
        "witnesses": [
            _witness(witness, judgment)
            for witness, judgment in zip(audit.witnesses, judgments, strict=True)
        ],
        "repaired": None if repaired is None else dict(repaired),
    }


def _installed_version() -> str:
    try:
        return metadata.version("proxyuse")
    except metadata.PackageNotFoundError:
        return "unknown"


def _claim(violations: int, witnesses: int, audit: Audit) -> str:
    """Return the claim as one sentence."""
    search = "A complete search" if audit.complete else "An incomplete search"
    counted = [
        f"{violations or 'no'} violation{'s' * (violations != 1)}",
        f"{witnesses or 'no'} witness{'es' * (witnesses != 1)}",
    ]
    listed = "; those judged appropriate are listed" if witnesses > violations else ""
    return (
        f"{search} finds {' and '.join(counted)} with an association of at least "
        f"{float(audit.epsilon)!r} and influence above {float(audit.delta)!r}{listed}."
    )


def _data(population: Population) -> dict[str, Any]:
    sources = [z.source for z in population.protected] + [population.weights_source]
    weighted = bool((population.weights != 1).any())
    return {
        "hash": data_hash(population),
        "rows": population.n_rows,
        "total_weight": population.total,
        "columns": sorted({*population.columns, *filter(None, sources)}),
        "weighted": weighted or population.weights_source is not None,
        "weights": population.weights_source,
    }


def _front(audit: Audit) -> list[dict[str, Any]]:
    """Return the Pareto front of all decompositions for each protected attribute."""
    measured = audit.decompositions
    return [
        {"protected": name, **_computation(measured[index], name)}
        for column, name in enumerate(measured.protected)
        for index in pareto_front(measured.associations[:, column], measured.influences)
    ]


def _computation(decomposition: Decomposition, protected: str) -> dict[str, Any]:
    influence = decomposition.influence
    assert influence is not None
    assert math.isfinite(influence)
    text = decomposition.term
    return {
        "id": decomposition.id,
        "term": text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}...",
        "association": decomposition.associations[protected],
        "influence": influence,
    }


def _witness(witness: Witness, judgment: Judgment | None) -> dict[str, Any]:
    return {
        "protected": witness.protected,
        **_computation(witness.decomposition, witness.protected),
        "positions": [str(position) for position in witness.positions],
        "judgment": judgment
        and {
            "appropriate": judgment.appropriate,
            "reason": judgment.reason,
            "by": judgment.by,
        },
    }
