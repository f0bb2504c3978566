"""Whether a witness is real, in plain words.

What is said is what was tested: bounds are given with their confidence, p-values with the number
of tests, and a witness that is not confirmed is possible, never refuted. The numbers come as
`validity.content` gives them, or as they stand in a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from proxyuse.verdict import Verdict

Said = Mapping[str, Any]

_CONFIRMED, _POSSIBLE, _UNDECIDED = map(str, Verdict)


def share_confirmed(asked: Said, witnesses: int) -> str:
    """How many of the witnesses are confirmed.

    Examples
    --------
    >>> share_confirmed({"confirmed": 2, "undecided": 1}, 3)
    '2 of 3 witnesses are confirmed (1 could not be decided)'
    >>> share_confirmed({"confirmed": 0, "undecided": 1}, 1)
    'it could not be decided whether the witness is real'
    """
    confirmed, undecided = asked["confirmed"], asked["undecided"]
    if witnesses == 1:
        if undecided:
            return "it could not be decided whether the witness is real"
        return f"the witness is {'' if confirmed else 'not '}confirmed"
    if confirmed == witnesses:
        told = f"all {witnesses:,} witnesses are confirmed"
    elif not confirmed:
        told = f"none of the {witnesses:,} witnesses is confirmed"
    else:
        verb = "is" if confirmed == 1 else "are"
        told = f"{confirmed:,} of {witnesses:,} witnesses {verb} confirmed"
    return told + _left_open(undecided)


def confirmed_among(found: Said, others: int) -> str:
    """How many of some more witnesses are confirmed, to be added to their number.

    Examples
    --------
    >>> confirmed_among({"confirmed": 0, "undecided": 3}, 4)
    ', none of them confirmed (3 could not be decided)'
    >>> confirmed_among({"confirmed": 4, "undecided": 0}, 4)
    ', all of them confirmed'
    >>> confirmed_among({"confirmed": 0, "undecided": 1}, 1)
    ', which could not be decided'
    """
    confirmed, undecided = found["confirmed"], found["undecided"]
    if others == 1:
        if undecided:
            return ", which could not be decided"
        return ", confirmed" if confirmed else ", not confirmed"
    number = {0: "none", others: "all"}.get(confirmed, f"{confirmed:,}")
    return f", {number} of them confirmed{_left_open(undecided)}"


def _left_open(undecided: int) -> str:
    return f" ({undecided:,} could not be decided)" if undecided else ""


def uses(asked: Said | None) -> str:
    """How the answer begins: of the model only if a witness is confirmed, or nothing was asked.

    Examples
    --------
    >>> uses(None), uses({"confirmed": 0})
    ('The model uses', 'In these rows the model uses')
    """
    sure = asked is None or asked["confirmed"]
    return "The model uses" if sure else "In these rows the model uses"


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
    Possible: it passes in this sample, but the population's association could be as low as 0.03
    (95 % lower bound, valid for all 1,234 tests; threshold 0.1).
    """
    told: dict[str, dict[str, str]] = {str(verdict): {} for verdict in Verdict}
    for way in asked["ways"]:
        name = way["way"]
        verdict = said["by_way"].get(name)
        if verdict in told and (clause := _CLAUSES[name](said, way, thresholds, protected)):
            told[verdict][name] = clause
    verdict = said["verdict"]
    sentences = {
        _CONFIRMED: [f"Confirmed: {'; '.join(told[_CONFIRMED].values())}."]
        if verdict == _CONFIRMED
        else [f"{_CONFIRMING[name]} it: {clause}." for name, clause in told[_CONFIRMED].items()],
        _POSSIBLE: [
            f"Possible: it passes in this sample, but {'; '.join(told[_POSSIBLE].values())}."
        ],
        _UNDECIDED: [f"It cannot be decided {'; '.join(told[_UNDECIDED].values())}."],
    }
    order = dict.fromkeys([verdict, *map(str, Verdict)])
    found = [sentence for v in order if told[v] for sentence in sentences[v]]
    return " ".join(found if told[verdict] else [f"{verdict.capitalize()}.", *found])


def _bounded(said: Said, way: Said, thresholds: Said, protected: str) -> str:
    """What the confidence bounds say."""
    limits = {"association": thresholds["epsilon"], "influence": thresholds["delta"]}
    lows = {name: said.get(f"{name}_low") for name in limits}
    known = {name: low for name, low in lows.items() if low is not None}
    if not known:
        return ""
    if said["by_way"]["confirm"] == _CONFIRMED:
        bounds = _joined(f"{name} is at least {low:g}" for name, low in known.items())
        return f"the population's {bounds} ({_lower_bounds(way, len(known))})"
    short = {
        name: low
        for name, low in known.items()
        if low < limits[name] or (name == "influence" and low == limits[name])
    }
    unknown = [f"no bound is known for its {name}" for name in lows if name not in known]
    if not short:
        return "; ".join(unknown)
    bounds = _joined(f"{name} could be as low as {low:g}" for name, low in short.items())
    passing = " and ".join(f"{limits[name]:g}" for name in short)
    threshold = f"threshold{'s' * (len(short) > 1)} {passing}"
    told = f"the population's {bounds} ({_lower_bounds(way, len(short))}; {threshold})"
    return "; ".join([told, *unknown])


def _joined(bounds: Iterable[str]) -> str:
    return " and its ".join(bounds)


def _lower_bounds(way: Said, number: int) -> str:
    """What kind of bounds they are."""
    tests = way["tested"]
    each = "each " if number > 1 else ""
    valid = f", {each}valid for all {tests:,} tests" if tests is not None and tests > 1 else ""
    return f"{confidence(way['alpha'])} lower bound{'s' * (number > 1)}{valid}"


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
    corrected = adjusted is not None and way["correction"] != "none" and tests != 1
    text = f"the p-value is {p if adjusted is None else adjusted:g}"
    if corrected:
        text += " after correction" + ("" if tests is None else f" for {tests:,} tests")
    elif tests != 1:
        text += ", not corrected for the number of tests"
    if verdict == _POSSIBLE:
        text += f", above {level:g}"
    if corrected and p is not None:
        text += f" ({p:g} before)"
    rarely = "rarely" if verdict == _CONFIRMED else "often"
    return f"{text}: so {rarely} is the association this strong when {protected} is shuffled"


def _split(said: Said, way: Said, thresholds: Said, protected: str) -> str:
    """What cross-validation says."""
    found, splits = said.get("confirmations"), said.get("splits")
    if found is None or splits is None:
        return ""
    text = f"it was found again in {found:,} of {splits:,} split{'s' * (splits != 1)}"
    if said["by_way"]["cross-validation"] == _CONFIRMED:
        return text
    needed = splits if way["at_least"] is None else way["at_least"]
    return f"{text}, and {needed:,} {'is' if needed == 1 else 'are'} needed"


_CLAUSES = {"confirm": _bounded, "permutation": _permuted, "cross-validation": _split}
_CONFIRMING = {
    "confirm": "The confidence bounds confirm",
    "permutation": "The permutation test confirms",
    "cross-validation": "Cross-validation confirms",
}


def confidence(alpha: float) -> str:
    """The confidence that leaves a chance of alpha for an error.

    Examples
    --------
    >>> confidence(0.05), confidence(0.001), confidence(0.1)
    ('95 %', '99.9 %', '90 %')
    """
    return f"{round(100 * (1 - alpha), 9):.12g} %"
