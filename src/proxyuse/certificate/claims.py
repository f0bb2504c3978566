"""The claims of a certificate: the audit to repeat, and the entries to compare."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import msgspec

from proxyuse.auditing import Audit
from proxyuse.certificate.compare import NOTHING, Difference
from proxyuse.certificate.recorded_settings import settings_from
from proxyuse.data.table import Table
from proxyuse.detect.witnesses import Witness
from proxyuse.errors import DataError, ProxyUseError
from proxyuse.hashes import program_hash
from proxyuse.judge.judgment import Judgment
from proxyuse.lang.nodes import Precision
from proxyuse.lang.text import term_text
from proxyuse.measure.association.protocol import Association, AssociationLike
from proxyuse.measure.association.registry import association_from, built_in_association
from proxyuse.measure.influence import INFLUENCES
from proxyuse.models.audited_model import audited_model
from proxyuse.notes import NoteKind
from proxyuse.program import Program
from proxyuse.settings import Influence

ORIGINAL = "original_program_hash"
_JUDGED = ("judged", "violations", "claim")
_ELSEWHERE = ("program", "data", "protected", "front", "witnesses", *_JUDGED)
_UNCHECKED = ("hash", "proxyuse", "date", "repaired")


def arguments(content: Mapping[str, Any], *, program: bool) -> dict[str, Any]:
    """Return the settings as keywords of `audit`. A program already includes its decision."""
    settings = msgspec.structs.asdict(settings_from(content["settings"]))
    return settings | {"decision": None} if program else settings


def measures(
    content: Mapping[str, Any], association: AssociationLike | None, influence: Influence | None
) -> tuple[Association, Influence]:
    """Return the certified measures. The caller passes those that are not built in."""
    own = built_in_association(content["measures"]["association"])
    measure = association_from(own if association is None else association)
    losses = INFLUENCES if influence is None else (influence,)
    named = content["measures"]
    loss = next((loss for loss in losses if loss.name == named["influence"]), None)
    if measure.name != named["association"]:
        raise _not_built_in("association", named["association"])
    if loss is None:
        raise _not_built_in("influence", named["influence"])
    return measure, loss


def _not_built_in(kind: str, name: str) -> DataError:
    return DataError(
        f"{kind}: the certificate uses {name!r}, which is not built in; pass that measure"
    )


def protected_of(content: Mapping[str, Any], X: object) -> dict[str, object]:
    """Return the protected attributes as columns of the data.

    An attribute whose values were passed separately is expected under its own name.
    """
    attributes: dict[str, object] = {}
    for z in content["protected"]:
        name, column = z["name"], z["column"]
        if column is None:
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


def weights_of(content: Mapping[str, Any]) -> str | None:
    """Return the column of the weights; None if there are none."""
    data = content["data"]
    if data["weights"] is None and data["weighted"]:
        raise DataError("the weights are not a column of the data; pass them as weights")
    name: str | None = data["weights"]
    return name


def comparable(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the entries that verification compares, by check.

    Lists whose order has no meaning become mappings.
    """
    witnesses = {f"{w['protected']}/{w['id']}": w for w in content["witnesses"]}
    front: dict[str, list[Any]] = {}
    for pair in content["front"]:
        front.setdefault(pair["protected"], []).append(pair)
    detection = {
        name: value
        for name, value in content.items()
        if name not in _UNCHECKED + _ELSEWHERE  # includes entries that someone added
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
        },
        "judgments": {
            **{name: content[name] for name in _JUDGED},
            "witnesses": {key: w["judgment"] for key, w in witnesses.items()},
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

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._judgments = {(w["protected"], w["id"]): w["judgment"] for w in content["witnesses"]}

    def __call__(self, witness: Witness) -> Judgment | None:
        """Return the recorded judgment of a witness."""
        entry = self._judgments.get(witness.key)
        return entry and Judgment(entry["appropriate"], entry["reason"], entry["by"])


def original_difference(
    content: Mapping[str, Any], original: object, X: object, audit: Audit
) -> Difference | None:
    """Return how the original program of a repair differs from the certified one, if it does."""
    decision = None if isinstance(original, Program) else audit.settings.decision
    protected = {z.name for z in audit.population.protected}
    program = audited_model(original, X, protected, decision, opaque=audit.settings.opaque).program
    kept = audit.population.kept
    table = Table.of(X, program.inputs)
    columns = [table.column(name) for name in program.variables]
    present = [column if kept is None else column.take(kept) for column in columns]
    complete = frozenset(column.name for column in present if not column.any_missing)
    actual = program_hash(program.without_missing(complete))
    stated = (content["repaired"] or {}).get(ORIGINAL, NOTHING)
    if stated in (actual, program_hash(program)):
        return None
    return Difference(f"repaired.{ORIGINAL}", stated, actual)


def stated_only(content: Mapping[str, Any], model: object, original: object) -> tuple[str, ...]:
    """Return the statements of a certificate that cannot be verified."""
    statements = [f"created with proxyuse {content['proxyuse']}"]
    if content["date"] is not None:
        statements.append(f"dated {content['date']}")
    decision = content["settings"]["decision"]
    if decision is not None and isinstance(model, Program):
        statements.append(
            f"the program includes the decision ({decision['kind']}); it was not translated from "
            "the model"
        )
    statements += [n["text"] for n in content["notes"] if n["kind"] == NoteKind.ROUNDED]
    if content["settings"]["sampling"] is not None:
        statements.append("influence is an estimate from sampled pairs of rows, not an exact value")
    if built_in_association(content["measures"]["association"]) is None:
        statements.append("the association is a custom measure; only its name was compared")
    if content["measures"]["influence"] not in {measure.name for measure in INFLUENCES}:
        statements.append("the influence is a custom measure; only its name was compared")
    if content["without_influence"]:
        statements.append(
            f"the influence of {content['without_influence']:,} decompositions was not measured, "
            "because they cannot be witnesses; the strongest pairs exclude them"
        )
    if content["repaired"] is not None:
        known = " except the hash of the original program" if original is not None else ""
        statements.append(f"the entry 'repaired'{known}")
    return tuple(statements)
