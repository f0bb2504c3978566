"""Explanations of the terms and numbers in a report, one entry per term.

`DEFINITIONS` are also the first sentences of ``docs/glossary.md``; a test compares them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from proxyuse.measure.influence import Moved, QuantitativeInputInfluence
from proxyuse.report.findings.validity import option_number
from proxyuse.report.repair_result import RepairResult
from proxyuse.report.result import AuditResult, Method
from proxyuse.words import confidence, count

DEFINITIONS = {
    "Population": "The audited rows with their weights.",
    "Computation": "Any part of the program that produces a value: a column, a test, a branch, a "
    "tree, a sum, or the whole program.",
    "Position": "A place where a computation occurs in the program.",
    "Decomposition": "A computation together with the positions at which it is replaced; the rest "
    "of the program stays the same.",
    "Association": "How closely the value of a computation tracks the protected attribute, from 0 "
    "(independent) to 1 (each determines the other).",
    "Highest possible value (ceiling)": "The largest association that any computation with the "
    "same distribution of values could have.",
    "Influence": "The share of decisions that change when you swap in another person's value for "
    "the computation and keep everything else.",
    "Direction": "Which way decisions change in each group when you swap in another person's "
    "value: what a swap takes away is what the computation gives at present.",
    "Selection rate": "The share of a group that gets the positive decision; for numeric outputs, "
    "the mean output of the group.",
    "Reach": "The share of rows for which the model evaluates the computation.",
    "Epsilon": "The threshold for association: a computation below it is not a witness.",
    "Delta": "The threshold for influence: a witness must exceed it.",
    "Witness": "A computation, at one or more positions, whose association is at least epsilon "
    "and whose influence is above delta.",
    "Group": "A witness together with the witnesses nested inside or around it, which carry the "
    "same information.",
    "Complete": "Every column, test, branch and tree was measured or excluded by a bound, at each "
    "position and at all positions together.",
    "Searched": "There were too many combinations to try all of them, so the most promising were "
    "measured.",
    "Confirmed": "A witness that exists in the population according to the tests.",
    "Possible": "A witness that passes the thresholds in these rows but is not confirmed.",
    "Cannot be decided": "The rows, the tests or an incomplete search allow no answer.",
    "Violation": "A witness that nobody judged appropriate.",
    "Utility": "The quality that a repair preserves, such as accuracy.",
    "Hold-out set": "Rows that trained no model.",
    "Certificate": "A file that states what an audit found in one model on one dataset, in a form "
    "that others can check.",
    "Withheld count": "A number of people too small to publish, or one that would reveal such a "
    "number.",
}
"""The definition of each term that a report explains, by its heading in the documentation."""


@dataclass(frozen=True, slots=True)
class Entry:
    """The explanation of one term.

    Attributes
    ----------
    key : the name used in sentences and templates.
    title : the term.
    paragraphs : the explanation.
    """

    key: str
    title: str
    paragraphs: tuple[str, ...]


def _defined(key: str, term: str, *details: str) -> Entry:
    """An entry that begins with the definition of the term."""
    return Entry(key, term, (DEFINITIONS[term], *details))


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
        DEFINITIONS["Influence"],
        "For each pair of rows, the model decides about the first row with the value of the "
        "computation in the second row. Influence is the share of pairs for which the decision "
        "changes. If the model returns a number, any different number is a different decision.",
    ),
    "squared change": (
        "The mean squared change of the output when the value is taken from another row, divided "
        "by twice the variance of the output. It can exceed 1.",
        "Twice the variance is the mean squared difference between the outputs of two random "
        "rows. At 0.25, taking the value from another row moves the output by half of the typical "
        "difference between two rows (both as root mean squares).",
    ),
}


def _influence(name: str) -> tuple[str, ...]:
    moved = Moved.named(name)
    if moved is None:
        return _INFLUENCE.get(name, (f"Measured as: {name}.",))
    zero = " Any change of an output of 0 counts." if moved.relative else ""
    return (
        "How often another value of the computation moves the output far enough to matter.",
        "For each pair of rows, the model computes the output of the first row with the value of "
        "the computation in the second row. Influence is the share of pairs for which the output "
        f"moves by more than {moved.threshold}.{zero}",
    )


def glossary(result: AuditResult, repair: RepairResult | None = None) -> dict[str, Entry]:
    """The entries for a report of this result, by key."""
    entries = [*_measured(result), *_counted(result), *_judged(), *_statistics(result)]
    if repair is not None:
        entries += _repaired(repair)
    return {entry.key: entry for entry in entries}


def _measured(result: AuditResult) -> Iterator[Entry]:
    rows, limits = count(result.rows, "row"), result.thresholds
    influence = result.measures.influence
    weighted = " Rows are weighted." if result.weighted else ""
    yield _defined(
        "association",
        "Association",
        _association(result.measures.association),
        f"Computed on all {rows}, even those for which the model skips it.{weighted}",
    )
    how = (
        "Estimated from sampled pairs of rows. The notes give their number and the possible error."
        if result.measures.sampled
        else f"Exact, over all pairs of the {rows}.{weighted}"
    )
    yield Entry("influence", "Influence", (*_influence(influence), how))
    chosen = "The person who ran the audit chose it; it is not a property of the model."
    yield _defined("epsilon", "Epsilon", f"Here, it is {limits.epsilon:g}. {chosen}")
    yield _defined("delta", "Delta", f"Here, it is {limits.delta:g}. {chosen}")
    yield _defined(
        "ceiling",
        "Highest possible value (ceiling)",
        "A test that is true for 1% of people cannot have an association of 1 with an attribute "
        "that is true for 50%.",
    )
    yield Entry(
        "guess",
        "Correct guesses",
        (
            "The share of rows for which a guess of the protected attribute is correct. If you "
            "know the computation, the guess is the most frequent value among other rows with the "
            "same result, or on the same side of the best cut of a number with many values. "
            "Without the computation, the guess is the most frequent value among other rows.",
            "The rows are split into ten parts. Guesses for one part, and the cut, are learned "
            "from the other nine, because on its own rows even a random number can seem to reveal "
            "the attribute.",
        ),
    )
    is_share = influence == _CHANGED_DECISIONS or Moved.named(influence) is not None
    bound = ("Influence cannot be larger.",) if is_share else ()
    yield _defined("reach", "Reach", *bound)


def _association(name: str) -> str:
    """How an association is computed; a custom measure is only named."""
    known = (text for begin, text in _ASSOCIATION.items() if name.startswith(begin))
    return next(known, f"Measured as: {name}.")


def _counted(result: AuditResult) -> Iterator[Entry]:
    limits = result.thresholds
    yield Entry(
        "rows",
        "Rows",
        (DEFINITIONS["Population"], "All figures in this report are for these rows."),
    )
    yield Entry(
        "decompositions",
        "Measured computations",
        (
            DEFINITIONS["Computation"],
            "A computation that occurs several times is measured at single positions and at all "
            "of them together.",
        ),
    )
    yield Entry(
        "places",
        "Occurrences",
        (
            "The number of positions of the computation in the model. The figures are those for "
            "all of them together.",
        ),
    )
    yield Entry(
        "size",
        "Size",
        ("The number of nodes of a computation: variables, constants and operations.",),
    )
    yield _defined(
        "witness",
        "Witness",
        f"Here, epsilon is {limits.epsilon:g} and delta is {limits.delta:g}.",
        f"Group: {_lower(DEFINITIONS['Group'])}",
    )
    yield _defined(
        "complete",
        "Complete",
        "Sums of some of the model's terms or trees are computations, too. The report lists the "
        "smallest witnesses among them. If there are too many to try all of them, the most "
        "promising are measured, and a note says how many.",
        "If the search is incomplete, the report lists what is not settled. It may contain "
        "witnesses.",
    )
    yield _defined(
        "withheld",
        "Withheld count",
        f"In this report, a count below {result.min_cell} is withheld. A count that would reveal "
        "it is shown as the range of its possible values, or as 'withheld' if that range is too "
        "wide. Associations and guess rates that would reveal it are ranges, too.",
    )
    yield Entry(
        "moved",
        "Changed decisions",
        (
            "The share of a group's decisions that change when you swap in another person's value, "
            "from any group.",
            f"Direction: {_lower(DEFINITIONS['Direction'])}",
        ),
    )
    yield _defined(
        "outcome",
        "Selection rate",
        "It is context, not the verdict. Rates can differ between groups although the model uses "
        "no proxy, and a model can use a proxy although the rates are equal.",
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
            "People decide whether a use is appropriate, directly or through the rules of a "
            "policy.",
            f"Violation: {_lower(DEFINITIONS['Violation'])}",
        ),
    )


def _statistics(result: AuditResult) -> Iterator[Entry]:
    if result.validity is None:
        yield Entry(
            "verdict",
            "Not tested",
            (
                "The figures hold for these rows. To test whether they hold in the population, "
                "repeat the audit with --validity confirm.",
            ),
        )
        return
    terms = ("Confirmed", "Possible", "Cannot be decided")
    definitions = (f"{term}: {_lower(DEFINITIONS[term])}" for term in terms)
    yield Entry("verdict", "Confirmed, possible, cannot be decided", tuple(definitions))
    for method in result.validity.methods:
        yield _METHODS[method.name](method)


def _lower(sentence: str) -> str:
    return f"{sentence[0].lower()}{sentence[1:]}"


def _bounds(method: Method) -> Entry:
    for_all = f" for all {count(method.tested, 'test')} at once" if method.tested else ""
    return Entry(
        "bounds",
        "Confidence bounds",
        (
            "The rows are a sample, so the figure for the whole population may differ. It lies "
            "above the lower bound and below the upper bound, each with "
            f"{confidence(option_number(method, 'alpha'))} confidence{for_all}, if the rows are "
            "independent.",
        ),
    )


def _p_value(method: Method) -> Entry:
    return Entry(
        "p-value",
        "p-value",
        (
            "The protected attribute was shuffled among the rows "
            f"{int(option_number(method, 'permutations')):,} times. The p-value is the share of "
            "shuffles with an association at least this strong, corrected for the number of tests.",
        ),
    )


def _splits(method: Method) -> Entry:
    return Entry(
        "splits",
        "Cross-validation",
        ("The rows were split at random, several times. A witness must pass in both parts.",),
    )


_METHODS: dict[str, Callable[[Method], Entry]] = {
    "confirm": _bounds,
    "permutation": _p_value,
    "cross-validation": _splits,
}


def _repaired(repair: RepairResult) -> Iterator[Entry]:
    yield Entry(
        "utility",
        f"Utility: {repair.utility.name}",
        (
            DEFINITIONS["Utility"],
            "The candidates were compared on rows that trained none of them.",
        ),
    )
    yield Entry(
        "changed",
        "Changed predictions",
        ("The number of repair rows for which the repaired program predicts something else.",),
    )
    yield _defined(
        "certificate",
        "Certificate",
        "Check it with the model, the data and proxyuse verify. Its hash covers all of its "
        "content.",
    )
