"""The claims of a certificate: the audit to repeat, and the entries to compare."""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from proxyuse.certificate.certificate import (
    ORIGINAL_HASH,
    Certificate,
    CertifiedJudgment,
    CertifiedNote,
)
from proxyuse.certificate.claim import judged_findings
from proxyuse.completed_audit import Audit
from proxyuse.data.table import Table
from proxyuse.detect.collective_witness import Collection as CollectiveWitness
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError, ProxyUseError
from proxyuse.hashes import program_hash
from proxyuse.judge.judgment import Judgment
from proxyuse.lang.nodes import Precision
from proxyuse.lang.text import term_text
from proxyuse.measure.association.protocol import Association, AssociationLike
from proxyuse.measure.association.registry import association_from, built_in_association
from proxyuse.measure.influence import influence_named
from proxyuse.notes import NoteKind
from proxyuse.program import Program
from proxyuse.settings import Influence
from proxyuse.verification.changes import original_rows
from proxyuse.verification.compare import NOTHING, Difference

_JUDGED = ("judged", "violations", "claim")
_ELSEWHERE = (
    "program",
    "data",
    "protected",
    "front",
    "witnesses",
    "explicit",
    "collections",
    *_JUDGED,
)
_UNCHECKED = ("hash", "proxyuse", "date", "repaired", "changes")


def arguments(certificate: Certificate, *, program: bool) -> dict[str, Any]:
    """Return the settings as keywords of `audit`. A program already includes its decision.

    An epsilon that was requested as a percentage is computed again.
    """
    settings = msgspec.structs.asdict(certificate.settings)
    if certificate.requested_epsilon is not None:
        settings["epsilon"] = certificate.requested_epsilon
    return settings | {"decision": None} if program else settings


def measures(
    certificate: Certificate, association: AssociationLike | None, influence: Influence | None
) -> tuple[Association, Influence]:
    """Return the certified measures. The caller passes those that are not built in."""
    named = certificate.measures
    own = built_in_association(named.association)
    measure = association_from(own if association is None else association)
    loss = influence_named(named.influence) if influence is None else influence
    if measure.name != named.association:
        raise _not_built_in("association", named.association)
    if loss is None or loss.name != named.influence:
        raise _not_built_in("influence", named.influence)
    return measure, loss


def _not_built_in(kind: str, name: str) -> DataError:
    return DataError(
        f"{kind}: the certificate uses {name!r}, which is not built in; pass that measure"
    )


def protected_of(certificate: Certificate, X: object) -> dict[str, object]:
    """Return the protected attributes as columns of the data, or as expressions.

    An attribute whose values were passed separately is expected under its own name.
    """
    attributes: dict[str, object] = {}
    for attribute in certificate.protected:
        name, column = attribute.name, attribute.column
        if attribute.expression is not None:
            attributes[name] = attribute.expression
        elif column is None:
            table = Table.of(X)
            if name not in table:
                raise DataError(
                    f"the values of the protected attribute {name!r} are not a column of the data; "
                    "pass them as protected"
                )
            attributes[name] = table.column(name)
        else:
            attributes[name] = column
    return attributes


def weights_of(certificate: Certificate) -> str | None:
    """Return the column of the weights; None if there are none."""
    data = certificate.data
    if data.weights is None and data.weighted:
        raise DataError("the weights are not a column of the data; pass them as weights")
    return data.weights


def comparable(certificate: Certificate) -> dict[str, Any]:
    """Return the entries that verification compares, by check, as JSON values.

    Lists whose order has no meaning become mappings.
    """
    content = certificate.content
    witnesses = {f"{w['protected']}/{w['id']}": w for w in content["witnesses"]}
    explicit = {f"{use['protected']}/{use['column']}": use for use in content["explicit"]}
    together = {f"{known['protected']}/{known['id']}": known for known in content["collections"]}
    front: dict[str, list[Any]] = {}
    for pair in content["front"]:
        front.setdefault(pair["protected"], []).append(pair)
    detection = {
        name: value for name, value in content.items() if name not in _UNCHECKED + _ELSEWHERE
    }
    detection["notes"] = [n for n in detection["notes"] if n["kind"] != NoteKind.ROUNDED]
    return {
        "program": {"program": content["program"]},
        "data": {
            "data": content["data"],
            "protected": {z["name"]: z for z in content["protected"]},
            "attributes": len(content["protected"]),
        },
        "detection": detection,
        "front": {"front": front},
        "witnesses": {
            "count": len(content["witnesses"]),
            "witnesses": {key: _without_judgment(w) for key, w in witnesses.items()},
            "explicit": {key: _without_judgment(use) for key, use in explicit.items()},
            "collections": {key: _without_judgment(c) for key, c in together.items()},
        },
        "judgments": {
            **{name: content[name] for name in _JUDGED},
            "witnesses": {key: w["judgment"] for key, w in witnesses.items()},
            "explicit": {key: use["judgment"] for key, use in explicit.items()},
            "collections": {key: known["judgment"] for key, known in together.items()},
        },
    }


def same_text(difference: Difference, precision: Precision) -> bool:
    """Return whether two texts are the same program or term with operands in another order.

    Both texts must have the form in which programs are printed.
    """
    if difference.where != "program.text" and not difference.where.endswith(".term"):
        return False
    texts = difference.expected, difference.actual
    if not all(isinstance(text, str) for text in texts):
        return False
    whole = difference.where == "program.text"
    head = "" if whole or precision is Precision.FLOAT64 else f"{precision}: "
    try:
        one, other = (Program.parse(f"{head}{text}") for text in texts)
    except ProxyUseError:
        return False
    if whole:
        return one == other and (str(one), str(other)) == texts
    printed = (term_text(p.term, precision, width=sys.maxsize) for p in (one, other))
    return one.term == other.term and tuple(printed) == texts


def _without_judgment(witness: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in witness.items() if name != "judgment"}


class Recorded:
    """An oracle that repeats the judgments of a certificate."""

    def __init__(self, certificate: Certificate) -> None:
        self._judgments: dict[tuple[str, str | None], CertifiedJudgment | None] = {
            (each.protected, each.id): each.judgment for each in judged_findings(certificate)
        }

    def __call__(self, witness: Witness | CollectiveWitness) -> Judgment | None:
        """Return the recorded judgment of a witness or a collection."""
        entry = self._judgments.get(witness.key)
        if entry is None:
            return None
        return Judgment(entry.appropriate, entry.reason, entry.by)


def original_difference(
    certificate: Certificate, original: object, X: object, audit: Audit
) -> Difference | None:
    """Return how the original program of a repair differs from the certified one, if it does."""
    program, columns = original_rows(original, X, audit)
    complete = frozenset(column.name for column in columns if not column.any_missing)
    actual = program_hash(program.without_missing(complete))
    stated = (certificate.repaired or {}).get(ORIGINAL_HASH, NOTHING)
    if stated in (actual, program_hash(program)):
        return None
    return Difference(f"repaired.{ORIGINAL_HASH}", stated, actual)


def author_statements(
    certificate: Certificate, notes: Collection[CertifiedNote], original: object
) -> tuple[str, ...]:
    """Return what the author states and nobody can check.

    Parameters
    ----------
    certificate : the certificate.
    notes : those of the repeated audit.
    original : the program or model before the repair, if it was passed.
    """
    statements = [f"created with proxyuse {certificate.proxyuse}"]
    if certificate.date is not None:
        statements.append(f"dated {certificate.date}")
    rounded = (note for note in certificate.notes if note.kind == NoteKind.ROUNDED)
    statements += [note.text for note in rounded if note not in notes]
    if certificate.changes is not None and original is None:
        statements.append(
            "who gains and who loses by the repair; to verify it, pass the original model"
        )
    elif certificate.changes is not None and isinstance(original, Program):
        statements.append("the names of the classes in who gains and who loses by the repair")
    if certificate.repaired is not None:
        known = " except the hash of the original program" if original is not None else ""
        statements.append(f"the entry 'repaired'{known}")
    return tuple(statements)


def limits(certificate: Certificate, model: object) -> tuple[str, ...]:
    """Return what verification does not show, because of the measures or the program."""
    statements = []
    decision = certificate.settings.decision
    if decision is not None and isinstance(model, Program):
        kind = type(decision).__struct_config__.tag
        statements.append(
            f"the program includes the decision ({kind}); it was not translated from the model"
        )
    if certificate.settings.sampling is not None:
        statements.append("influence is an estimate from sampled pairs of rows, not an exact value")
    if built_in_association(certificate.measures.association) is None:
        statements.append("the association is a custom measure; only its name was compared")
    if influence_named(certificate.measures.influence) is None:
        statements.append("the influence is a custom measure; only its name was compared")
    if certificate.without_influence:
        statements.append(
            f"the influence of {certificate.without_influence:,} decompositions was not measured, "
            "because they cannot be witnesses; the strongest pairs exclude them"
        )
    return tuple(statements)
