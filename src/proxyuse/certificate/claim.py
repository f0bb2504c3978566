"""What a certificate claims: everything a reader must know to understand it, as types.

A certificate with an edited setting can be true of the same model and rows, but it is another
claim. So `verify` states the claim in full, above everything else, and names what differs from the
default. The sentences are in `report.findings.claim`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from proxyuse.certificate.certificate import (
    Certificate,
    CertifiedAttribute,
    CertifiedCollection,
    CertifiedData,
    CertifiedExplicitUse,
    CertifiedMeasures,
    CertifiedWitness,
)
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.project_settings import MIN_CELL
from proxyuse.settings import Settings

Effect = Literal["weaker", "stronger", "different"]
Judgments = Literal["none", "not needed", "checked", "unchecked"]
JudgedFinding = CertifiedWitness | CertifiedExplicitUse | CertifiedCollection


class ChangedSetting(Struct, frozen=True, kw_only=True):
    """A setting that is not the default."""

    name: Annotated[str, Meta(description="The setting, such as `budget.grow`.")]
    value: Any
    default: Any
    effect: Annotated[
        Effect,
        Meta(
            description="Whether the claim says less than with the default, says more, or is "
            "about something else."
        ),
    ]


class Claim(Struct, frozen=True, kw_only=True):
    """The claim of a certificate."""

    complete: Annotated[bool, Meta(description="Whether every witness is counted.")]
    unsettled: Annotated[
        int, Meta(description="The number of items that were not settled and may be witnesses.")
    ]
    violations: Annotated[
        int, Meta(description="The number of witnesses that were not judged appropriate.")
    ]
    witnesses: int
    excused: Annotated[
        int,
        Meta(
            description="The number of witnesses, of columns that determine an attribute, and of "
            "collections that were judged appropriate."
        ),
    ]
    explicit_violations: Annotated[
        tuple[CertifiedExplicitUse, ...],
        Meta(
            description="Columns that determine an attribute, are influential or not measured, "
            "and were not judged appropriate."
        ),
    ]
    collective_violations: Annotated[
        tuple[CertifiedCollection, ...],
        Meta(
            description="Computations that together may have an influence above delta, and were "
            "not judged appropriate."
        ),
    ]
    judgments: Annotated[
        Judgments,
        Meta(
            description="Whether judgments excuse witnesses: there are none, there is nothing to "
            "judge, they were checked with the verifier's policy or judgments, or they were not "
            "checked."
        ),
    ]
    protected: Annotated[
        tuple[CertifiedAttribute, ...],
        Meta(description="The protected attributes, with their columns or expressions."),
    ]
    settings: Annotated[Settings, Meta(description="All settings, with the decision.")]
    requested_epsilon: Annotated[
        str | None,
        Meta(description="The percentage that epsilon was computed from; null if it was a number."),
    ]
    measures: CertifiedMeasures
    decision_checked: Annotated[
        bool,
        Meta(
            description="Whether the decision was applied to the model. A program includes its "
            "decision, so the decision in the certificate cannot be checked."
        ),
    ]
    program: Annotated[str, Meta(description="The hash of the program.")]
    data: Annotated[CertifiedData, Meta(description="The rows, their weights and their hash.")]
    rows_passed: Annotated[
        int | None,
        Meta(
            description="The number of rows that the verifier passed. The claim is about fewer if "
            "rows were dropped. Null if the rows could not be read."
        ),
    ]
    where: Annotated[
        str | None,
        Meta(description="The condition by which `proxyuse verify` selected the rows."),
    ]
    validity: Annotated[
        Literal["not tested"],
        Meta(description="A certificate counts every witness on its rows, even if by chance."),
    ] = "not tested"
    changed_settings: Annotated[
        tuple[ChangedSetting, ...], Meta(description="Every setting that is not the default.")
    ]
    reservations: Annotated[
        tuple[str, ...],
        Meta(description="Why finding nothing on these rows says little, such as a constant."),
    ]
    stated: Annotated[
        tuple[str, ...],
        Meta(description="What the author states and verification cannot check."),
    ]
    accepted: Annotated[
        tuple[str, ...], Meta(description="What the verifier accepted, such as `renamed`.")
    ]
    signed_by: Annotated[
        str | None,
        Meta(description="The fingerprint of the key that signed the certificate, if checked."),
    ]


def claim_of(certificate: Certificate, **known: Any) -> Claim:
    """Return the claim of a certificate.

    Parameters
    ----------
    certificate : the certificate.
    known : what verification adds; by default as if nothing was checked.
    """
    judged = judged_findings(certificate)
    excused = [each for each in judged if each.judgment and each.judgment.appropriate]
    unchecked: Judgments = "unchecked" if judged else "not needed"
    defaults: dict[str, Any] = {
        "judgments": unchecked if certificate.judged else "none",
        "decision_checked": False,
        "rows_passed": None,
        "where": None,
        "reservations": (),
        "stated": (),
        "accepted": (),
        "signed_by": None,
    }
    return Claim(
        complete=certificate.complete,
        unsettled=len(certificate.unsettled),
        violations=certificate.violations,
        witnesses=len(certificate.witnesses),
        excused=len(excused),
        explicit_violations=explicit_violations(certificate),
        collective_violations=collective_violations(certificate),
        protected=certificate.protected,
        settings=certificate.settings,
        requested_epsilon=certificate.requested_epsilon,
        measures=certificate.measures,
        program=certificate.program.hash,
        data=certificate.data,
        changed_settings=tuple(changed_settings(certificate)),
        **defaults | known,
    )


def explicit_violations(certificate: Certificate) -> tuple[CertifiedExplicitUse, ...]:
    """Return the explicit uses that may be influential and were not judged appropriate."""
    return tuple(
        use
        for use in certificate.explicit
        if (use.influence is None or use.influence > certificate.settings.delta)
        and not (use.judgment and use.judgment.appropriate)
    )


def collective_violations(certificate: Certificate) -> tuple[CertifiedCollection, ...]:
    """Return the collections that were not judged appropriate."""
    return tuple(
        known
        for known in certificate.collections
        if not (known.judgment and known.judgment.appropriate)
    )


def judged_findings(certificate: Certificate) -> list[JudgedFinding]:
    """Return everything that an oracle judges."""
    return [*certificate.witnesses, *certificate.explicit, *certificate.collections]


def changed_settings(certificate: Certificate) -> Iterator[ChangedSetting]:
    """Yield every setting of a certificate that is not the default."""
    yield from _changed(certificate.settings, Settings())
    defaults = {
        "association": NormalizedMutualInformation().name,
        "influence": QuantitativeInputInfluence().name,
    }
    for name, default in defaults.items():
        if (value := getattr(certificate.measures, name)) != default:
            yield ChangedSetting(name=name, value=value, default=default, effect="different")
    if certificate.data.weighted:
        column = certificate.data.weights or "values passed separately"
        yield ChangedSetting(name="weights", value=column, default=None, effect="different")
    if certificate.changes is not None and (cell := certificate.changes.min_cell) != MIN_CELL:
        effect: Effect = "weaker" if cell > MIN_CELL else "stronger"
        yield ChangedSetting(name="min_cell", value=cell, default=MIN_CELL, effect=effect)


def _changed(settings: Struct, defaults: Struct, path: str = "") -> Iterator[ChangedSetting]:
    for name in settings.__struct_fields__:
        value, default = getattr(settings, name), getattr(defaults, name)
        if value == default:
            continue
        if isinstance(value, Struct) and isinstance(default, Struct):
            yield from _changed(value, default, f"{name}.")
            continue
        plain = msgspec.to_builtins(value)
        effect = _effect(path or name, value, default)
        yield ChangedSetting(name=f"{path}{name}", value=plain, default=default, effect=effect)


def _effect(name: str, value: Any, default: Any) -> Effect:
    """Return what a change of a setting does to the claim."""
    match name:
        case "epsilon" | "delta":
            return "weaker" if value > default else "stronger"
        case "budget.":
            return "weaker" if value < default else "stronger"
        case "sampling" | "variables" | "opaque":
            return "weaker"
        case "missing_protected":
            return "weaker" if value == "drop" else "different"
        case "all_sets" | "measure" | "exact":
            return "stronger"
        case _:
            return "different"
