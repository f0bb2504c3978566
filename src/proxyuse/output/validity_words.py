"""Whether a witness is real, in plain words.

What is said is what was tested: bounds are given with their confidence, p-values with the number
of tests, and a witness that is not confirmed is possible, never refuted. The numbers come as
`validity.content` gives them, or as they stand in a document.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proxyuse.verdict import Verdict

Said = Mapping[str, Any]

_CONFIRMED, _POSSIBLE, _UNDECIDED = map(str, Verdict)


def share_confirmed(asked: Said, witnesses: int) -> str:
    """How many of the witnesses are confirmed.

    Examples
    --------
    >>> share_confirmed({"confirmed": 2, "undecided": 0}, 3)
    '2 of 3 witnesses are confirmed'
    >>> share_confirmed({"confirmed": 0, "undecided": 1}, 1)
    'the witness is not confirmed (1 could not be decided)'
    """
    confirmed = asked["confirmed"]
    if witnesses == 1:
        told = f"the witness is {'' if confirmed else 'not '}confirmed"
    elif confirmed == witnesses:
        told = f"all {witnesses:,} witnesses are confirmed"
    elif not confirmed:
        told = f"none of the {witnesses:,} witnesses is confirmed"
    else:
        verb = "is" if confirmed == 1 else "are"
        told = f"{confirmed:,} of {witnesses:,} witnesses {verb} confirmed"
    undecided = asked["undecided"]
    return f"{told} ({undecided:,} could not be decided)" if undecided else told


def confirmed_among(confirmed: int, others: int) -> str:
    """How many of some more witnesses are confirmed, to be added to their number.

    Examples
    --------
    >>> confirmed_among(0, 4), confirmed_among(3, 4), confirmed_among(4, 4), confirmed_among(1, 1)
    (', none of them confirmed', ', 3 of them confirmed', ', all of them confirmed', ', confirmed')
    """
    if others == 1:
        return ", confirmed" if confirmed else ", not confirmed"
    number = {0: "none", others: "all"}.get(confirmed, f"{confirmed:,}")
    return f", {number} of them confirmed"


def describe_validity(said: Said, asked: Said, thresholds: Said, protected: str) -> str:
    """Whether one witness is confirmed or possible, and by what.

    Parameters
    ----------
    said : what is known of the witness.
    asked : the ways that were asked, with their options.
    thresholds : epsilon and delta.
    protected : the name of the protected attribute.

    Examples
    --------
    >>> bounds = {"association_low": 0.03, "influence_low": 0.08}
    >>> said = {"verdict": "possible", "by_way": {"confirm": "possible"}, **bounds}
    >>> asked = {"ways": [{"way": "confirm", "alpha": 0.05, "tested": 1234}]}
    >>> print(describe_validity(said, asked, {"epsilon": 0.1, "delta": 0.05}, "z"))
    Possible: in this sample it passes, but with 95 % confidence for all 1,234 tests at once its
    association may be as low as 0.03 (threshold 0.1).
    """
    told: dict[str, list[str]] = {str(verdict): [] for verdict in Verdict}
    for way in asked["ways"]:
        verdict = said["by_way"].get(way["way"])
        if verdict in told and (clause := _CLAUSES[way["way"]](said, way, thresholds, protected)):
            told[verdict].append(clause)
    verdict = said["verdict"]
    sentences = {
        _CONFIRMED: "Confirmed: {}." if verdict == _CONFIRMED else "In favour of it: {}.",
        _POSSIBLE: "Possible: in this sample it passes, but {}.",
        _UNDECIDED: "It cannot be decided {}.",
    }
    order = dict.fromkeys([verdict, *map(str, Verdict)])
    found = [sentences[v].format("; ".join(told[v])) for v in order if told[v]]
    return " ".join(found if told[verdict] else [f"{verdict.capitalize()}.", *found])


def _bounded(said: Said, way: Said, thresholds: Said, protected: str) -> str:
    """What the confidence bounds say."""
    limits = {"association": thresholds["epsilon"], "influence": thresholds["delta"]}
    lows = {name: said.get(f"{name}_low") for name in limits}
    known = {name: low for name, low in lows.items() if low is not None}
    if not known:
        return ""
    tests = way["tested"]
    at_once = f" for all {tests:,} tests at once" if tests is not None and tests > 1 else ""
    sure = f"with {confidence(way['alpha'])} confidence{at_once}"
    if said["by_way"]["confirm"] == _CONFIRMED:
        bounds = [f"its {name} is at least {low:g}" for name, low in known.items()]
        return f"{sure} " + ", and with the same confidence ".join(bounds)
    short = {
        name: low
        for name, low in known.items()
        if low < limits[name] or (name == "influence" and low == limits[name])
    }
    told = " and ".join(
        f"its {name} may be as low as {low:g} (threshold {limits[name]:g})"
        for name, low in short.items()
    )
    unknown = [f"no bound is known for its {name}" for name in lows if name not in known]
    return "; ".join([*([f"{sure} {told}"] if told else []), *unknown])


def _permuted(said: Said, way: Said, thresholds: Said, protected: str) -> str:
    """What the permutation test says."""
    tests, level = way["tested"], way["alpha"]
    number = f"{way['permutations']:,} permutation{'s' * (way['permutations'] != 1)}"
    verdict = said["by_way"]["permutation"]
    if verdict == _UNDECIDED:
        for_tests = f" and {tests:,} tests" if tests is not None and tests > 1 else ""
        return f"with {number}{for_tests}: no p-value could be small enough"
    p, adjusted = said.get("p_value"), said.get("adjusted_p_value")
    if p is None and adjusted is None:
        return ""
    if adjusted is None or way["correction"] == "none":
        text = f"p = {p if adjusted is None else adjusted:g}, not corrected for the number of tests"
    else:
        text = f"p = {adjusted:g} after correction"
        text += "" if tests is None else f" for {tests:,} test{'s' * (tests != 1)}"
    if verdict == _POSSIBLE:
        text += f", which is above {level:g}"
    if p is not None:
        text += (
            f" (with {protected} permuted among the rows, an association as strong as this one "
            f"has a chance of about {p:g})"
        )
    return text


def _split(said: Said, way: Said, thresholds: Said, protected: str) -> str:
    """What cross-validation says."""
    found, splits = said.get("confirmations"), said.get("splits")
    if found is None or splits is None:
        return ""
    text = f"found again in {found:,} of {splits:,} split{'s' * (splits != 1)}"
    if said["by_way"]["cross-validation"] == _CONFIRMED:
        return text
    needed = splits if way["at_least"] is None else way["at_least"]
    return f"it was {text}, and {needed:,} {'is' if needed == 1 else 'are'} needed"


_CLAUSES = {"confirm": _bounded, "permutation": _permuted, "cross-validation": _split}


def confidence(alpha: float) -> str:
    """The confidence that leaves a chance of alpha for an error.

    Examples
    --------
    >>> confidence(0.05), confidence(0.001), confidence(0.1)
    ('95 %', '99.9 %', '90 %')
    """
    return f"{round(100 * (1 - alpha), 9):.12g} %"
