"""The statistics of a witness as plain values, for reports and data frames.

Bounds are rounded outwards and p-values upwards, so that the printed values hold as well.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context
from typing import Any

import msgspec

from proxyuse.detect.witnesses import Witness
from proxyuse.settings import Method
from proxyuse.validity.assess import Assessment
from proxyuse.verdict import Validity, Verdict

DECIMALS = 4
_P_VALUES = Context(prec=3, rounding=ROUND_CEILING)


def method_options(method: Method) -> dict[str, Any]:
    """The options of a method, as JSON types."""
    options: dict[str, Any] = msgspec.to_builtins(method)
    return options


def validity_content(assessment: Assessment, witness: Witness) -> dict[str, Any]:
    """The statistics of one witness."""
    validity = assessment.of(witness)
    return {
        "verdict": validity.verdict,
        "by_method": {
            method.name: verdicts[witness.key]
            for method, verdicts in zip(assessment.methods, assessment.verdicts, strict=True)
        },
        **figures(validity),
    }


def figures(validity: Validity) -> dict[str, float | None]:
    """The numbers of a verdict, rounded for printing.

    Examples
    --------
    >>> shown = figures(Validity(Verdict.CONFIRMED, 1 / 1001, association_interval=(0.12347, 0.2)))
    >>> shown["p_value"], shown["association_low"], shown["association_high"]
    (0.001, 0.1234, 0.2)
    """
    return {
        name: None if value is None else _printed(name, value)
        for name, value in numbers_of(validity).items()
    }


def numbers_of(validity: Validity) -> dict[str, float | None]:
    """The exact numbers of a verdict, one per entry."""
    association = validity.association_interval or (None, None)
    influence = validity.influence_interval or (None, None)
    return {
        "p_value": validity.p_value,
        "adjusted_p_value": validity.adjusted_p_value,
        "association_low": association[0],
        "association_high": association[1],
        "influence_low": influence[0],
        "influence_high": influence[1],
        "corrected_association": validity.corrected_association,
        "confirmations": validity.confirmations,
        "splits": validity.splits,
    }


COLUMNS = ("verdict", *numbers_of(Validity(Verdict.POSSIBLE)))
"""The names of the columns for a verdict and its numbers."""


def columns_of(validity: Validity | None) -> dict[str, object]:
    """The verdict and its exact numbers for a data frame; empty without a verdict."""
    if validity is None:
        return {}
    numbers = numbers_of(validity)
    return {
        "verdict": str(validity.verdict),
        **{name: float("nan") if value is None else value for name, value in numbers.items()},
    }


def _printed(name: str, value: float) -> float:
    if name in ("confirmations", "splits"):
        return int(value)
    if name.endswith("p_value"):
        return float(_P_VALUES.create_decimal_from_float(float(value)))
    step = 10**DECIMALS
    rounded = {"low": math.floor, "high": math.ceil}.get(name.rpartition("_")[2], round)
    # The inner round keeps multiples of the step that floating point has shifted.
    return float(rounded(round(float(value) * step, 6)) / step)
