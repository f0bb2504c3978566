"""Creates a certificate from an audit.

The same audit gives the same certificate. It contains no rows of the data and no tables of counts.
Measures are not rounded, because verification compares them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from importlib import metadata
from typing import Any

import numpy as np
from msgspec.structs import replace

from proxyuse.certificate.certificate import (
    Certificate,
    CertifiedAttribute,
    CertifiedChanges,
    CertifiedCollection,
    CertifiedComputation,
    CertifiedData,
    CertifiedExplicitUse,
    CertifiedJudgment,
    CertifiedMeasures,
    CertifiedNote,
    CertifiedProgram,
    CertifiedWitness,
    located,
    typed_certificate,
)
from proxyuse.completed_audit import Audit
from proxyuse.data.population import Population, Protected
from proxyuse.decision import Decision
from proxyuse.detect.collective_witness import Collection
from proxyuse.detect.decompositions import Decomposition
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError
from proxyuse.hashes import content_hash, data_hash, program_hash
from proxyuse.io.typed import InvalidValue
from proxyuse.judge.judgment import Judgment, Oracle, judgment_of
from proxyuse.notes import NoteKind
from proxyuse.report.findings.claim import finding
from proxyuse.report.findings.notes import note_sentence
from proxyuse.validity.explicit_use import ExplicitUse
from proxyuse.verdict import Verdict
from proxyuse.verification.pareto import pareto_front

MAX_TEXT = 4000  # characters of one computation; its id covers the whole text


def certify(
    audit: Audit,
    oracle: Oracle | None = None,
    repaired: Mapping[str, Any] | None = None,
    *,
    changes: CertifiedChanges | None = None,
    date: str | None = None,
) -> Certificate:
    """Create a certificate from an audit.

    Parameters
    ----------
    audit : the audit.
    oracle : judges whether a witness is appropriate; see `Audit.violations`.
    repaired : a description of the repair that led to the program, as JSON values. An entry
        ``original_program_hash`` can be verified with the original program.
    changes : who gains and who loses by the repair.
    date : a date in any format; none by default.

    Examples
    --------
    >>> import proxyuse as pu
    >>> data = {"height": [1, 2, 1, 2], "pregnant": [1, 1, 0, 0]}
    >>> audit = pu.audit(pu.Program.parse("ite(height == 1, 'a', 'b')"), data, "pregnant")
    >>> print(certify(audit).claim)
    A complete search finds no violations and no witnesses, for 'pregnant', with an association of
    at least 0.1 and an influence above 0.05.
    """
    if any(note.kind is NoteKind.TIME_LIMIT for note in audit.notes):
        raise DataError(
            "an audit that stopped at its time limit cannot be certified, because a repeated audit "
            "can stop at another point; audit again with a longer time limit, or without one"
        )
    certificate = unhashed(audit, oracle)
    try:
        # msgspec would write a set as a list, and bytes as text.
        plain = None if repaired is None else json.loads(json.dumps(dict(repaired)))
        content = replace(certificate, repaired=plain, changes=changes, date=date).content
    except (TypeError, ValueError, RecursionError) as error:
        raise DataError(
            f"this cannot be written as JSON ({error}); pass JSON values and finite numbers"
        ) from None
    try:
        return typed_certificate({**content, "hash": content_hash(content)})
    except InvalidValue as error:
        raise DataError(f"this audit cannot be certified: {located(error)}") from None


def unhashed(audit: Audit, oracle: Oracle | None, decision: Decision | None = None) -> Certificate:
    """Return the certificate of an audit without its hash, date and repair.

    `decision` replaces the decision in the settings; the program of an audit may include it.
    """
    judgments = [judgment_of(oracle, witness) for witness in audit.witnesses]
    violations = sum(judgment is None or not judgment.appropriate for judgment in judgments)
    association, influence = audit.measures
    certificate = Certificate(
        proxyuse=_installed_version(),
        date=None,
        claim="",
        program=CertifiedProgram(
            hash=program_hash(audit.program),
            size=audit.program.size,
            text=str(audit.program),
        ),
        data=_data(audit.population),
        protected=tuple(map(_attribute, audit.population.protected)),
        measures=CertifiedMeasures(association=association, influence=influence),
        settings=audit.settings if decision is None else replace(audit.settings, decision=decision),
        requested_epsilon=audit.requested_epsilon,
        complete=audit.complete,
        unsettled=tuple(note_sentence(item.note) for item in audit.unsettled),
        notes=tuple(
            CertifiedNote(kind=str(note.kind), text=note_sentence(note))
            for note in audit.notes
            if note.kind not in (NoteKind.METHOD, NoteKind.UNSETTLED)  # about speed; listed above
        ),
        decompositions=len(audit.decompositions),
        without_influence=int(np.isnan(audit.decompositions.influences).sum()),
        front=_front(audit),
        judged=oracle is not None,
        violations=violations,
        witnesses=tuple(map(_witness, audit.witnesses, judgments)),
        explicit=tuple(_explicit(use, judgment_of(oracle, use.witness)) for use in audit.explicit),
        collections=tuple(
            _collection(known, judgment_of(oracle, known))
            for known in audit.collections_with(oracle).values()
            if known.verdict is not Verdict.NOT_FOUND
        ),
        repaired=None,
        changes=None,
        hash="",
    )
    return replace(certificate, claim=finding(certificate))


def _installed_version() -> str:
    try:
        return metadata.version("proxyuse")
    except metadata.PackageNotFoundError:
        return "unknown"


def _attribute(z: Protected) -> CertifiedAttribute:
    derivation = z.derivation
    return CertifiedAttribute(
        name=z.name,
        column=z.source,
        expression=None if derivation is None else derivation.expression,
        derived_from=() if derivation is None else derivation.columns,
    )


def _data(population: Population) -> CertifiedData:
    sources = [name for z in population.protected for name in z.sources]
    weighted = bool((population.weights != 1).any())
    return CertifiedData(
        hash=data_hash(population),
        rows=population.n_rows,
        total_weight=float(population.total),
        columns=tuple(
            sorted({*population.columns, *sources, *filter(None, [population.weights_source])})
        ),
        weighted=weighted or population.weights_source is not None,
        weights=population.weights_source,
    )


def _front(audit: Audit) -> tuple[CertifiedComputation, ...]:
    """Return the Pareto front of all decompositions for each protected attribute."""
    measured = audit.decompositions
    return tuple(
        CertifiedComputation(**_computation(measured[index], name))
        for column, name in enumerate(measured.protected)
        for index in pareto_front(measured.associations[:, column], measured.influences)
    )


def _computation(decomposition: Decomposition, protected: str) -> dict[str, Any]:
    influence = decomposition.influence
    assert influence is not None
    assert math.isfinite(influence)
    text = decomposition.term
    return {
        "protected": protected,
        "id": decomposition.id,
        "term": text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}...",
        "association": float(decomposition.associations[protected]),
        "influence": float(influence),
    }


def _explicit(use: ExplicitUse, judgment: Judgment | None) -> CertifiedExplicitUse:
    return CertifiedExplicitUse(
        protected=use.protected,
        column=use.column,
        how=use.how,
        id=None if use.decomposition is None else use.decomposition.id,
        influence=use.influence,
        judgment=_judgment(judgment),
    )


def _collection(known: Collection, judgment: Judgment | None) -> CertifiedCollection:
    return CertifiedCollection(
        protected=known.protected,
        id=known.id,
        kind=known.kind,
        members=len(known.members),
        variables=known.variables,
        influence_low=known.measured.low,
        influence_high=known.measured.high,
        judgment=_judgment(judgment),
    )


def _judgment(judgment: Judgment | None) -> CertifiedJudgment | None:
    if judgment is None:
        return None
    return CertifiedJudgment(
        appropriate=judgment.appropriate, reason=judgment.reason, by=judgment.by
    )


def _witness(witness: Witness, judgment: Judgment | None) -> CertifiedWitness:
    return CertifiedWitness(
        **_computation(witness.decomposition, witness.protected),
        positions=tuple(map(str, witness.positions)),
        judgment=_judgment(judgment),
    )
