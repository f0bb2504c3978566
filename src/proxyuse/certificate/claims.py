"""What a certificate states, read back: what to ask an audit for, and what to compare with it."""

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
    """The measures that are named; one that is not proxyuse's own must be given."""
    own = built_in_association(content["measures"]["association"])
    likeness = association_from(own if association is None else association)
    losses = INFLUENCES if influence is None else (influence,)
    named = content["measures"]
    loss = next((loss for loss in losses if loss.name == named["influence"]), None)
    if likeness.name != named["association"]:
        raise _not_ours("association", named["association"])
    if loss is None:
        raise _not_ours("influence", named["influence"])
    return likeness, loss


def _not_ours(kind: str, name: str) -> DataError:
    return DataError(f"the {kind} that was measured is {name!r}; pass that measure as {kind}")


def protected_of(content: Mapping[str, Any], X: object) -> dict[str, object]:
    """The protected attributes, as columns of the data.

    Values that were given beside the data are looked for under the attribute's name.
    """
    found: dict[str, object] = {}
    for z in content["protected"]:
        name, column = z["name"], z["column"]
        if column is None:
            table = Table.of(X)
            if name not in table:
                raise DataError(
                    f"the values of the protected attribute {name!r} were given beside the data; "
                    "pass them as protected"
                )
            found[name] = table.column(name)
        else:
            found[name] = column
    return found


def weights_of(content: Mapping[str, Any]) -> str | None:
    """The column of the weights, None if there are none."""
    data = content["data"]
    if data["weights"] is None and data["weighted"]:
        raise DataError("the weights were given beside the data; pass them as weights")
    name: str | None = data["weights"]
    return name


def comparable(content: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that are found out again, by what they are about.

    Lists whose order says nothing become mappings.
    """
    witnesses = {f"{w['protected']}/{w['id']}": w for w in content["witnesses"]}
    front: dict[str, list[Any]] = {}
    for pair in content["front"]:
        front.setdefault(pair["protected"], []).append(pair)
    detection = {
        name: value
        for name, value in content.items()
        if name not in _UNCHECKED + _ELSEWHERE  # and whatever else someone wrote into it
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
    """Whether two texts that differ are one program, or one term, in another order of operands.

    Both must be written as programs are printed.
    """
    if difference.where != "program.text" and not difference.where.endswith(".term"):
        return False
    texts = difference.expected, difference.found
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
    """An oracle that repeats the judgments that stand in a certificate."""

    def __init__(self, content: Mapping[str, Any]) -> None:
        self._said = {(w["protected"], w["id"]): w["judgment"] for w in content["witnesses"]}

    def __call__(self, witness: Witness) -> Judgment | None:
        """What is said of a witness there."""
        said = self._said.get(witness.key)
        return said and Judgment(said["appropriate"], said["reason"], said["by"])


def original_difference(
    content: Mapping[str, Any], original: object, X: object, found: Audit
) -> Difference | None:
    """Whether a program, or a model, is the one that is stated as that before a repair."""
    decision = None if isinstance(original, Program) else found.settings.decision
    protected = {z.name for z in found.population.protected}
    program = audited_model(original, X, protected, decision, opaque=found.settings.opaque).program
    kept = found.population.kept
    table = Table.of(X, program.inputs)
    columns = [table.column(name) for name in program.variables]
    there = [column if kept is None else column.take(kept) for column in columns]
    complete = frozenset(column.name for column in there if not column.any_missing)
    now = program_hash(program.without_missing(complete))
    stated = (content["repaired"] or {}).get(ORIGINAL, NOTHING)
    if stated in (now, program_hash(program)):
        return None
    return Difference(f"repaired.{ORIGINAL}", stated, now)


def stated_only(content: Mapping[str, Any], model: object, original: object) -> tuple[str, ...]:
    """What stands in a certificate and is not found out again."""
    told = [f"it was made with proxyuse {content['proxyuse']}"]
    if content["date"] is not None:
        told.append(f"it is dated {content['date']}")
    decision = content["settings"]["decision"]
    if decision is not None and isinstance(model, Program):
        told.append(f"the program decides by {decision['kind']}: it was given, not translated")
    told += [n["text"] for n in content["notes"] if n["kind"] == NoteKind.ROUNDED]
    if content["settings"]["sampling"] is not None:
        told.append("influence was estimated from pairs of rows; the exact values are not known")
    if built_in_association(content["measures"]["association"]) is None:
        told.append("the association is the caller's own measure, known here by its name alone")
    if content["measures"]["influence"] not in {measure.name for measure in INFLUENCES}:
        told.append("the influence is the caller's own measure, known here by its name alone")
    if content["without_influence"]:
        told.append(
            f"the influence of {content['without_influence']:,} decompositions that cannot be "
            "witnesses was not measured; the strongest pairs leave them out"
        )
    if content["repaired"] is not None:
        known = " but the hash of the program before it" if original is not None else ""
        told.append(f"everything in the entry 'repaired'{known}")
    return tuple(told)
