"""Sentences for code scanning and CI servers: rules, exit codes, open questions."""

from __future__ import annotations

from proxyuse.report.findings.headline import INCOMPLETE, NOT_ANALYZED
from proxyuse.report.result import AuditResult

PROXY_USE = "The model uses a proxy for a protected attribute."
PROXY_USE_EXPLAINED = (
    "A computation inside the model is nearly another name for a protected attribute (its "
    "association passes a threshold), and decisions depend on it (its influence passes another)."
)
PROXY_USE_HELP = (
    "Inspect the computation with 'proxyuse show'. If its use is acceptable, record that with "
    "'proxyuse judge'; otherwise replace it with 'proxyuse repair'."
)
EXPLICIT_USE = "The model reads a column that determines a protected attribute."
EXPLICIT_USE_EXPLAINED = (
    "A protected attribute is this column, is derived from it, or can be predicted from it alone, "
    "and decisions depend on the column (its influence passes a threshold)."
)
EXPLICIT_USE_HELP = (
    "If the model may use this column, record that with 'proxyuse judge'; otherwise train the "
    "model without it."
)
COLLECTION = "Many computations of the model are a proxy for a protected attribute together."
COLLECTION_EXPLAINED = (
    "Several computations inside the model are associated with a protected attribute. Each may "
    "change few decisions, but all of them together change enough."
)
COLLECTION_HELP = (
    "If their use is acceptable, record that with 'proxyuse judge'; otherwise replace them with "
    "'proxyuse repair'."
)
NOT_SETTLED = "Some computations were not measured and may be proxies."
NOT_SETTLED_EXPLAINED = (
    "The model has more combinations of terms than could be measured. The ones listed here may be "
    "proxies."
)
NOT_SETTLED_HELP = "A larger budget or higher thresholds settle more."
NOT_COUNTED = "Possible, but not confirmed. Only confirmed violations fail."
UNDECIDED = "Proxy use of a protected attribute cannot be decided."
UNDECIDED_EXPLAINED = (
    "The rows or the search allow no answer about a protected attribute: for example, there are "
    "too few rows, the attribute has one value, or computations were not measured."
)
UNDECIDED_HELP = "The message says what is missing. Usually more rows or a larger budget help."
DECIDED = "can be decided"
NO_FINDINGS = "no proxy use found"
NO_OTHER_FINDINGS = "no other proxy use found"
COMPLETE = "the search is complete"
IS_INCOMPLETE = f"{INCOMPLETE[0].upper()}{INCOMPLETE[1:]}."

EXIT_CODES = {
    0: "no proxy use that counts",
    1: "proxy use",
    3: "cannot be decided, or the search is incomplete",
}


def not_settled(result: AuditResult) -> list[str]:
    """What was not settled, one sentence per item; what is not listed is counted."""
    listed, number = result.unsettled.listed, result.unsettled.count
    sentences = [f"Not settled: {text}" for text in listed]
    if number > len(listed):
        sentences.append(f"Not settled: {number - len(listed):,} more that the result omits.")
    if not sentences and not result.complete:
        return [f"Not settled: {NOT_ANALYZED[0].lower()}{NOT_ANALYZED[1:]}"]
    return sentences
