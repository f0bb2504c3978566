"""Sentences about the statistics of a witness.

They state what was tested: bounds come with their confidence, p-values with the number of tests. A
witness that is not confirmed is possible, never refuted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from proxyuse.report.result import Method, Thresholds, WitnessValidity
from proxyuse.verdict import Verdict, VerdictCounts
from proxyuse.words import confidence, count

_CONFIRMED, _POSSIBLE = str(Verdict.CONFIRMED), str(Verdict.POSSIBLE)
_UNDECIDED = str(Verdict.UNDECIDED)
_OF_WITNESSES = (_CONFIRMED, _POSSIBLE, _UNDECIDED)


def confirmed_among(verdicts: VerdictCounts, others: int) -> str:
    """How many of some other witnesses are confirmed, to append to their number.

    Examples
    --------
    >>> confirmed_among(VerdictCounts(0, 1, 3), 4)
    ', none of them confirmed (3 could not be decided)'
    >>> confirmed_among(VerdictCounts(4, 0, 0), 4)
    ', all of them confirmed'
    >>> confirmed_among(VerdictCounts(0, 0, 1), 1)
    ', which could not be decided'
    """
    confirmed, undecided = verdicts.confirmed, verdicts.undecided
    if others == 1:
        if undecided:
            return ", which could not be decided"
        return ", confirmed" if confirmed else ", not confirmed"
    number = {0: "none", others: "all"}.get(confirmed, f"{confirmed:,}")
    return f", {number} of them confirmed{_undecided(undecided)}"


def _undecided(undecided: int) -> str:
    return f" ({undecided:,} could not be decided)" if undecided else ""


def verdict_sentences(
    validity: WitnessValidity, methods: Sequence[Method], thresholds: Thresholds, protected: str
) -> str:
    """Whether one witness is confirmed or possible, and by which method.

    Parameters
    ----------
    validity : the statistics of the witness.
    methods : the methods that were applied, with their options.
    thresholds : epsilon and delta.
    protected : the name of the protected attribute.

    Examples
    --------
    >>> validity = WitnessValidity(
    ...     "possible", {"confirm": "possible"}, association_low=0.03, influence_low=0.08
    ... )
    >>> methods = [Method("confirm", 1234, {"alpha": 0.05})]
    >>> print(verdict_sentences(validity, methods, Thresholds(0.1, 0.05), "z"))
    Possible: it passes in this sample, but the population's association could be as low as 0.03
    (95% lower bound, valid for all 1,234 tests; threshold 0.1).
    """
    clauses: dict[str, dict[str, str]] = {verdict: {} for verdict in _OF_WITNESSES}
    for method in methods:
        verdict = validity.by_method.get(method.name)
        clause = _CLAUSES[method.name](validity, method, thresholds, protected)
        if verdict in clauses and clause:
            clauses[verdict][method.name] = clause
    verdict = validity.verdict
    sentences = {
        _CONFIRMED: [f"Confirmed: {'; '.join(clauses[_CONFIRMED].values())}."]
        if verdict == _CONFIRMED
        else [f"{_CONFIRMS[name]} it: {clause}." for name, clause in clauses[_CONFIRMED].items()],
        _POSSIBLE: [
            f"Possible: it passes in this sample, but {'; '.join(clauses[_POSSIBLE].values())}."
        ],
        _UNDECIDED: [f"Cannot be decided: {'; '.join(clauses[_UNDECIDED].values())}."],
    }
    order = dict.fromkeys([verdict, *_OF_WITNESSES])
    found = [sentence for v in order if clauses[v] for sentence in sentences[v]]
    return " ".join(found if clauses[verdict] else [f"{verdict.capitalize()}.", *found])


def _bounded(
    validity: WitnessValidity, method: Method, thresholds: Thresholds, protected: str
) -> str:
    """What the confidence bounds show."""
    limits = {"association": thresholds.epsilon, "influence": thresholds.delta}
    lows = {"association": validity.association_low, "influence": validity.influence_low}
    known = {name: low for name, low in lows.items() if low is not None}
    if not known:
        return ""
    if validity.by_method["confirm"] == _CONFIRMED:
        bounds = _joined(f"{name} is at least {low:g}" for name, low in known.items())
        return f"the population's {bounds} ({_lower_bounds(method, len(known))})"
    short = {
        name: low
        for name, low in known.items()
        if low < limits[name] or (name == "influence" and low == limits[name])
    }
    unknown = [f"there is no confidence bound for its {n}" for n in lows if n not in known]
    if not short:
        return "; ".join(unknown)
    bounds = _joined(f"{name} could be as low as {low:g}" for name, low in short.items())
    passing = " and ".join(f"{limits[name]:g}" for name in short)
    threshold = f"threshold{'s' * (len(short) > 1)} {passing}"
    text = f"the population's {bounds} ({_lower_bounds(method, len(short))}; {threshold})"
    return "; ".join([text, *unknown])


def _joined(bounds: Iterable[str]) -> str:
    return " and its ".join(bounds)


def _lower_bounds(method: Method, number: int) -> str:
    """What kind of bounds they are."""
    tests = method.tested
    each = "each " if number > 1 else ""
    valid = f", {each}valid for all {tests:,} tests" if tests is not None and tests > 1 else ""
    alpha = option_number(method, "alpha")
    return f"{confidence(alpha)} lower bound{'s' * (number > 1)}{valid}"


def _permuted(
    validity: WitnessValidity, method: Method, thresholds: Thresholds, protected: str
) -> str:
    """What the permutation test shows."""
    tests, level = method.tested, option_number(method, "alpha")
    permutations = count(int(option_number(method, "permutations")), "permutation")
    verdict = validity.by_method["permutation"]
    if verdict == _UNDECIDED:
        for_tests = f" and {tests:,} tests" if tests is not None and tests > 1 else ""
        return f"with {permutations}{for_tests}, no p-value can be small enough"
    p, adjusted = validity.p_value, validity.adjusted_p_value
    if p is None and adjusted is None:
        return ""
    corrected = adjusted is not None and method.options["correction"] != "none" and tests != 1
    text = f"the p-value is {p if adjusted is None else adjusted:g}"
    if corrected:
        text += " after correction" + ("" if tests is None else f" for {tests:,} tests")
    elif tests != 1:
        text += ", not corrected for the number of tests"
    if verdict == _POSSIBLE:
        text += f", above {level:g}"
    if corrected and p is not None:
        text += f" ({p:g} before)"
    often = "rarely" if verdict == _CONFIRMED else "often"
    return f"{text}, so the association is {often} this strong when {protected} is shuffled"


def _split(
    validity: WitnessValidity, method: Method, thresholds: Thresholds, protected: str
) -> str:
    """What cross-validation shows."""
    found, splits = validity.confirmations, validity.splits
    if found is None or splits is None:
        return ""
    text = f"it was found again in {found:,} of {count(splits, 'split')}"
    if validity.by_method["cross-validation"] == _CONFIRMED:
        return text
    least = method.options["at_least"]
    needed = splits if least is None else int(least)
    return f"{text}, and {needed:,} {'is' if needed == 1 else 'are'} needed"


def option_number(method: Method, option: str) -> float:
    """The value of a numeric option of a method."""
    value: Any = method.options[option]
    return float(value)


_CLAUSES: dict[str, Callable[[WitnessValidity, Method, Thresholds, str], str]] = {
    "confirm": _bounded,
    "permutation": _permuted,
    "cross-validation": _split,
}
_CONFIRMS = {
    "confirm": "The confidence bounds confirm",
    "permutation": "The permutation test confirms",
    "cross-validation": "Cross-validation confirms",
}


def bounds_lines(
    validity: WitnessValidity | None, methods: Sequence[Method], measure: str
) -> list[str]:
    """The confidence bounds of a measure, and the bias-corrected association."""
    if validity is None:
        return []
    low, high = getattr(validity, f"{measure}_low"), getattr(validity, f"{measure}_high")
    alpha = next((option_number(m, "alpha") for m in methods if m.name == "confirm"), None)
    lines = []
    if low is not None and high is not None and alpha is not None:
        sure = f"each with {confidence(alpha)} confidence for all tests at once"
        lines.append(f"  bounds     {low:.4f} and {high:.4f}, {sure}")
    if measure == "association" and validity.corrected_association is not None:
        corrected = validity.corrected_association
        lines.append(f"  corrected  {corrected:.4f} after correction for sampling bias")
    return lines
