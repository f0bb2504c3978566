"""The statistics of a witness as plain values, for reports and data frames.

Bounds are rounded outwards and p-values upwards, so that the printed values hold as well.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, Context
from typing import Any

import msgspec

from proxyuse.detect.witnesses import Witness
from proxyuse.methods import Method
from proxyuse.validity.assess import Assessment
from proxyuse.verdict import Validity, Verdict

DECIMALS = 4
_P_VALUES = Context(prec=3, rounding=ROUND_CEILING)


def method_options(method: Method) -> dict[str, Any]:
    """The options of a method, as JSON types."""
    options: dict[str, Any] = msgspec.to_builtins(method)
    return options


def validity_content(assessment: Assessment, witness: Witness) -> dict[str, Any]:
    """The verdict and figures of one witness."""
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
    """The figures behind a verdict, rounded for printing.

    Examples
    --------
    >>> validity = Validity(Verdict.CONFIRMED, 1 / 1001, association_interval=(0.12347, 0.2))
    >>> rounded = figures(validity)
    >>> rounded["p_value"], rounded["association_low"], rounded["association_high"]
    (0.001, 0.1234, 0.2)
    """
    return {
        name: None if value is None else _printed(name, value)
        for name, value in numbers_of(validity).items()
    }


def numbers_of(validity: Validity) -> dict[str, float | None]:
    """The exact figures behind a verdict, one per entry."""
    association = validity.association_interval or (None, None)
    influence = validity.influence_interval or (None, None)
    return {
        "p_value": validity.p_value,
        "adjusted_p_value": validity.adjusted_p_value,
        "association_low": association[0],
        "association_high": association[1],
        "influence_low": influence[0],
        "influence_high": None if influence[1] == math.inf else influence[1],
        "corrected_association": validity.corrected_association,
        "confirmations": validity.confirmations,
        "splits": validity.splits,
    }


COLUMNS = ("verdict", *numbers_of(Validity(Verdict.POSSIBLE)))
"""The columns for the verdict and its figures in a table."""


def columns_of(validity: Validity | None) -> dict[str, object]:
    """The verdict and exact figures of a witness, for a data frame; empty if it was not tested."""
    if validity is None:
        return {}
    known = numbers_of(validity)
    return {
        "verdict": str(validity.verdict),
        **{name: float("nan") if value is None else value for name, value in known.items()},
    }


def _printed(name: str, value: float) -> float:
    if name in ("confirmations", "splits"):
        return int(value)
    if name.endswith("p_value"):
        return float(_P_VALUES.create_decimal_from_float(float(value)))
    step = 10**DECIMALS
    whole = {"low": math.floor, "high": math.ceil}.get(name.rpartition("_")[2], round)
    # A multiple of the step stays as it is, despite rounding errors.
    return float(whole(round(float(value) * step, 6)) / step)
