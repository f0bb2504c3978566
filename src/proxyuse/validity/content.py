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
    """The options of a method, in types that JSON knows."""
    options: dict[str, Any] = msgspec.to_builtins(method)
    return options


def validity_content(found: Assessment, witness: Witness) -> dict[str, Any]:
    """What is known of one witness."""
    said = found.of(witness)
    return {
        "verdict": said.verdict,
        "by_method": {
            method.name: verdicts[witness.key]
            for method, verdicts in zip(found.methods, found.verdicts, strict=True)
        },
        **figures(said),
    }


def figures(said: Validity) -> dict[str, float | None]:
    """The numbers of a verdict as they are printed.

    Examples
    --------
    >>> found = figures(Validity(Verdict.CONFIRMED, 1 / 1001, association_interval=(0.12347, 0.2)))
    >>> found["p_value"], found["association_low"], found["association_high"], found["splits"]
    (0.001, 0.1234, 0.2, None)
    """
    return {
        name: None if value is None else _printed(name, value)
        for name, value in numbers_of(said).items()
    }


def numbers_of(said: Validity) -> dict[str, float | None]:
    """The numbers of a verdict, exactly, each in an entry of its own."""
    association = said.association_interval or (None, None)
    influence = said.influence_interval or (None, None)
    return {
        "p_value": said.p_value,
        "adjusted_p_value": said.adjusted_p_value,
        "association_low": association[0],
        "association_high": association[1],
        "influence_low": influence[0],
        "influence_high": influence[1],
        "corrected_association": said.corrected_association,
        "confirmations": said.confirmations,
        "splits": said.splits,
    }


COLUMNS = ("verdict", *numbers_of(Validity(Verdict.POSSIBLE)))
"""What tables call the verdict and its numbers."""


def columns_of(said: Validity | None) -> dict[str, object]:
    """What is known of a witness, exactly, for a data frame; nothing where nothing is known."""
    if said is None:
        return {}
    known = numbers_of(said)
    return {
        "verdict": str(said.verdict),
        **{name: float("nan") if value is None else value for name, value in known.items()},
    }


def _printed(name: str, value: float) -> float:
    if name in ("confirmations", "splits"):
        return int(value)
    if name.endswith("p_value"):
        return float(_P_VALUES.create_decimal_from_float(float(value)))
    step = 10**DECIMALS
    whole = {"low": math.floor, "high": math.ceil}.get(name.rpartition("_")[2], round)
    # What is a multiple of the step but for rounding stays itself.
    return float(whole(round(float(value) * step, 6)) / step)
