"""Explanations of the terms and numbers in a report, one entry per term."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.words import confidence, count

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """The explanation of one term.

    Attributes
    ----------
    key : the name used in templates.
    title : the term.
    paragraphs : the explanation.
    """

    key: str
    title: str
    paragraphs: tuple[str, ...]


_ASSOCIATION = {
    "normalized mutual information": "Normalized mutual information: the information that the two "
    "share, divided by the information in both together, I(X; Z) / H(X, Z). It is 1 only if each "
    "of the two determines the other.",
    "adjusted mutual information": "Adjusted mutual information: mutual information minus the "
    "amount that chance produces in a sample of this size.",
    "Cramer's V": "Cramér's V: how far the counts are from those of two independent values.",
    "squared correlation": "Squared correlation: the share of the variance of one that a linear "
    "function of the other explains.",
}
_CHANGED_DECISIONS = QuantitativeInputInfluence().name
_INFLUENCE = {
    _CHANGED_DECISIONS: (
        "For each pair of rows, the value of the computation in the first row is replaced with its "
        "value in the second row, and the model decides again. Influence is the share of pairs for "
        "which the decision changes. If the model returns a number, any different number is a "
        "different decision.",
    ),
    "squared change": (
        "The mean squared change of the output when the value is taken from another row, divided "
        "by twice the variance of the output. It can exceed 1.",
    ),
}


def glossary(document: Document, repair: Document | None = None) -> dict[str, Entry]:
    """The entries for a report of this document, by key."""
    entries = [*_measured(document), *_counted(document), *_judged(), *_statistics(document)]
    if repair is not None:
        entries += _repaired(repair)
    return {entry.key: entry for entry in entries}


def _measured(document: Document) -> Iterator[Entry]:
    rows, limits = count(document["rows"], "row"), document["thresholds"]
    name, influence = document["measures"]["association"], document["measures"]["influence"]
    weighted = " Rows are weighted." if document["weighted"] else ""
    yield Entry(
        "association",
        "Association",
        (
            "How close the computation is to being another name for the protected attribute: 0 if "
            "the two are independent, 1 if each determines the other.",
            _association(name),
            f"Computed on all {rows}, even those for which the model skips it.{weighted}",
        ),
    )
    how = (
        "Estimated from sampled pairs of rows. The notes give their number and the possible error."
        if document["measures"]["sampled"]
        else f"Exact, over all pairs of the {rows}.{weighted}"
    )
    meaning = _INFLUENCE.get(influence, (f"Measured as: {influence}.",))
    yield Entry(
        "influence",
        "Influence",
        ("How much the decisions depend on the computation: 0 if not at all.", *meaning, how),
    )
    yield Entry(
        "epsilon",
        "Association threshold (epsilon)",
        (
            f"A witness has an association of at least {limits['epsilon']:g}. The person who ran "
            "the audit chose this threshold; it is not a property of the model.",
        ),
    )
    yield Entry(
        "delta",
        "Influence threshold (delta)",
        (
            f"A witness has an influence above {limits['delta']:g}. The person who ran the audit "
            "chose this threshold; it is not a property of the model.",
        ),
    )
    yield Entry(
        "ceiling",
        "Highest possible association",
        (
            "The highest association that values with these frequencies can have. Something true "
            "for 1% of people cannot be another name for something true for 50%.",
        ),
    )
    yield Entry(
        "guess",
        "Correct guesses",
        (
            "The share of rows for which the best guess of the protected attribute is correct. "
            "Knowing the computation, the best guess is the most frequent value among rows with "
            "the same result. Numbers with many values are grouped into ranges.",
            "Without the computation, the best guess is the most frequent value overall.",
        ),
    )
    yield Entry(
        "reach",
        "Reach",
        (
            "The share of rows for which the model evaluates this computation in at least one "
            "position."
            + (" Influence cannot be larger." if influence == _CHANGED_DECISIONS else ""),
        ),
    )


def _association(name: str) -> str:
    """How an association is computed; a custom measure is only named."""
    known = (text for begin, text in _ASSOCIATION.items() if name.startswith(begin))
    return next(known, f"Measured as: {name}.")


def _counted(document: Document) -> Iterator[Entry]:
    yield Entry(
        "rows",
        "Rows",
        (
            "The records used for all measurements, one per person or case. All figures hold for "
            "these rows.",
        ),
    )
    yield Entry(
        "decompositions",
        "Measured computations",
        (
            "The parts of the model that compute something: columns, tests, branches, sums and "
            "trees. A computation that occurs several times is measured at single occurrences and "
            "at all of them together.",
        ),
    )
    yield Entry(
        "places",
        "Occurrences",
        ("How often the same computation occurs in the model. All occurrences change together.",),
    )
    yield Entry(
        "size",
        "Size",
        ("The number of nodes of a computation: variables, constants and operations.",),
    )
    yield Entry(
        "witness",
        "Witness",
        (
            "A computation inside the model with an association of at least "
            f"{document['thresholds']['epsilon']:g} and an influence above "
            f"{document['thresholds']['delta']:g}. It is nearly another name for the protected "
            "attribute, and decisions depend on it.",
            "Witnesses inside one another form a group.",
        ),
    )
    yield Entry(
        "complete",
        "Complete",
        (
            "Every computation in the model was measured, or a bound proves that it is not a "
            "witness.",
            "Sums of some of the model's terms or trees are computations, too. The report lists "
            "the smallest witnesses among them. If there are too many to try all, a note says how "
            "many were tried.",
            "If the search is incomplete, the report lists the undecided computations. There may "
            "be witnesses among them.",
        ),
    )
    yield Entry(
        "withheld",
        "Hidden counts",
        (
            f"Counts below {document['min_cell']} are hidden to protect single people. Counts that "
            "would reveal them are shown as the range that the other numbers imply, or as "
            "'withheld' if that range is too wide.",
        ),
    )
    yield Entry(
        "moved",
        "Changed decisions",
        (
            "The share of a group's decisions that change if the value of the computation is taken "
            "from another row, of any group.",
            "It shows whose decisions depend on the computation, not who gains or loses.",
        ),
    )
    yield Entry(
        "hash",
        "Hash (SHA-256)",
        (
            "A fingerprint of a file. Compute it again, for example with sha256sum: an equal hash "
            "means the same file.",
        ),
    )
    yield Entry(
        "own-hash",
        "Hash (BLAKE2b)",
        (
            "A fingerprint of the measured program or rows, independent of the file format. An "
            "equal hash means the same program or rows. Certificates contain these hashes, and "
            "proxyuse verify checks them.",
        ),
    )


def _judged() -> Iterator[Entry]:
    yield Entry(
        "judgment",
        "Judgment",
        (
            "People decide whether a use is acceptable, directly or through the rules of a policy. "
            "A witness that nobody judged appropriate counts as a violation.",
        ),
    )


def _statistics(document: Document) -> Iterator[Entry]:
    validity = document.get("validity")
    if validity is None:
        yield Entry(
            "verdict",
            "Not tested",
            (
                "The figures hold for these rows. To test whether they hold in the population, "
                "repeat the audit with --validity confirm.",
            ),
        )
        return
    yield Entry(
        "verdict",
        "Confirmed, possible, undecided",
        (
            "Confirmed: it is also a witness in the population that the rows were sampled from, "
            "according to the tests. Possible: it is a witness on these rows, which may be chance. "
            "Undecided: the tests cannot tell.",
        ),
    )
    for method in validity["methods"]:
        yield _METHODS[method["name"]]({**method["options"], "tested": method["tested"]})


def _bounds(method: Document) -> Entry:
    tests = method["tested"]
    for_all = f" for all {count(tests, 'test')} at once" if tests else ""
    return Entry(
        "bounds",
        "Confidence bounds",
        (
            "The rows are a sample, so the figure for the whole population may differ. It lies "
            f"above the lower bound and below the upper bound, each with "
            f"{confidence(method['alpha'])} confidence{for_all}, if the rows are independent.",
        ),
    )


def _p_value(method: Document) -> Entry:
    return Entry(
        "p-value",
        "p-value",
        (
            "The protected attribute was shuffled among the rows "
            f"{method['permutations']:,} times. The p-value is the share of shuffles with an "
            "association at least this strong, corrected for the number of tests.",
        ),
    )


def _splits(method: Document) -> Entry:
    return Entry(
        "splits",
        "Cross-validation",
        ("The rows were split at random, several times. A witness must pass in both parts.",),
    )


_METHODS = {"confirm": _bounds, "permutation": _p_value, "cross-validation": _splits}


def _repaired(repair: Document) -> Iterator[Entry]:
    yield Entry(
        "utility",
        f"Utility: {repair['utility']['name']}",
        (
            "The repair loses as little of this as possible. It was chosen on the repair rows. The "
            "hold-out set, if there is one, was not used to choose it.",
        ),
    )
    yield Entry(
        "changed",
        "Changed predictions",
        ("The number of repair rows for which the repaired program predicts something else.",),
    )
    yield Entry(
        "certificate",
        "Certificate",
        (
            "A record that others can check with the model, the data and proxyuse verify. Its "
            "hash covers all of its content.",
        ),
    )
