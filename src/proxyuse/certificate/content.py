"""What a certificate says, made from an audit.

The same audit gives the same content. It holds no row of the data and no table of counts; measures
are exact, for they are compared again.
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
MOST_TEXT = 4000  # characters of one computation; its id is that of all of it


def content_of(
    audit: Audit,
    oracle: Oracle | None,
    *,
    repaired: Mapping[str, Any] | None = None,
    date: str | None = None,
) -> dict[str, Any]:
    """All entries of a certificate but its hash."""
    judged = [judgment_of(oracle, witness) for witness in audit.witnesses]
    violations = sum(said is None or not said.appropriate for said in judged)
    association, influence = audit.measures
    return {
        "format": FORMAT,
        "version": VERSION,
        "proxyuse": _installed_version(),
        "date": date,
        "claim": _claim(violations, len(judged), audit),
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
        "unsettled": [str(item) for item in audit.unsettled],
        "notes": [
            {"kind": str(note.kind), "text": note_sentence(note)}
            for note in audit.notes
            if note.kind not in (NoteKind.METHOD, NoteKind.UNSETTLED)  # how fast; said above
        ],
        "decompositions": len(audit.decompositions),
        "without_influence": int(np.isnan(audit.decompositions.influences).sum()),
        "front": _front(audit),
        "judged": oracle is not None,
        "violations": violations,
        "witnesses": [
            _witness(witness, said) for witness, said in zip(audit.witnesses, judged, strict=True)
        ],
        "repaired": None if repaired is None else dict(repaired),
    }


def _installed_version() -> str:
    try:
        return metadata.version("proxyuse")
    except metadata.PackageNotFoundError:
        return "unknown"


def _claim(violations: int, witnesses: int, audit: Audit) -> str:
    """The claim in one sentence."""
    looked = "Complete detection" if audit.complete else "Detection that is not complete"
    found = f"{violations} violation{'s' * (violations != 1)}" if violations else "no violation"
    left = f"{witnesses} witness{'es' * (witnesses != 1)}" if witnesses else "no witness"
    those = "; those judged appropriate are listed" if witnesses > violations else ""
    return (
        f"{looked} finds {found} and {left} at association of at least "
        f"{float(audit.epsilon)!r} and influence above {float(audit.delta)!r}{those}."
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
    """For each protected attribute, the strongest pairs over all decompositions."""
    measured = audit.decompositions
    return [
        {"protected": name, **_computation(measured[place], name)}
        for column, name in enumerate(measured.protected)
        for place in pareto_front(measured.associations[:, column], measured.influences)
    ]


def _computation(found: Decomposition, protected: str) -> dict[str, Any]:
    influence = found.influence
    assert influence is not None
    assert math.isfinite(influence)
    text = found.term
    return {
        "id": found.id,
        "term": text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}...",
        "association": found.associations[protected],
        "influence": influence,
    }


def _witness(witness: Witness, said: Judgment | None) -> dict[str, Any]:
    return {
        "protected": witness.protected,
        **_computation(witness.decomposition, witness.protected),
        "positions": [str(position) for position in witness.positions],
        "judgment": said
        and {"appropriate": said.appropriate, "reason": said.reason, "by": said.by},
    }
