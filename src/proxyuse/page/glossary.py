"""What the numbers of a report mean and how each was computed: one entry a meaning."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.words import confidence, count

Document = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Entry:
    """A meaning.

    Attributes
    ----------
    key : how a template names it.
    title : the word it is about.
    told : paragraphs.
    """

    key: str
    title: str
    told: tuple[str, ...]


_ASSOCIATION = {
    "normalized mutual information": "Normalized mutual information: what knowing one of the two "
    "tells about the other, divided by all there is to know about both, I(X; Z) / H(X, Z). It is 1 "
    "only if each of the two determines the other.",
    "adjusted mutual information": "Adjusted mutual information: mutual information without what "
    "chance alone adds in a sample of this size.",
    "Cramer's V": "Cramér's V: how far the counts are from those of two things that have nothing "
    "to do with each other.",
    "squared correlation": "Squared correlation: the share of the variance of one that a straight "
    "line through the other explains.",
}
_CHANGED_DECISIONS = QuantitativeInputInfluence().name
_INFLUENCE = {
    _CHANGED_DECISIONS: (
        "For a pair of rows, the value of the computation in the first row is replaced by its "
        "value in the second, and the model decides again. Influence is the share of pairs for "
        "which the decision of the first row comes out differently. A decision is what the model "
        "says; where it says a number, any other number is another decision.",
    ),
    "squared change": (
        "The mean squared change of the output when the value is drawn from another row, divided "
        "by twice the variance of the output. It may pass 1.",
    ),
}


def glossary(document: Document, repair: Document | None = None) -> dict[str, Entry]:
    """The entries that a report of this document needs, by key."""
    entries = [*_measured(document), *_counted(document), *_judged(), *_statistics(document)]
    if repair is not None:
        entries += _repaired(repair)
    return {entry.key: entry for entry in entries}


def _measured(document: Document) -> Iterator[Entry]:
    rows, limits = count(document["rows"], "row"), document["thresholds"]
    name, influence = document["measures"]["association"], document["measures"]["influence"]
    weighted = " Rows count by their weight." if document["weighted"] else ""
    yield Entry(
        "association",
        "Association",
        (
            "How nearly what is computed is another name for the protected attribute. 0: it tells "
            "nothing about it.",
            _association(name),
            f"Computed on all {rows}, whether or not they reach the computation.{weighted}",
        ),
    )
    how = (
        "Estimated from sampled pairs of rows; the notes say how many, and how far it may be off."
        if document["measures"]["sampled"]
        else f"Exact: over all pairs of the {rows}.{weighted}"
    )
    told = _INFLUENCE.get(influence, (f"Measured as: {influence}.",))
    yield Entry(
        "influence",
        "Influence",
        ("How much the decisions hang on what is computed. 0: not at all.", *told, how),
    )
    yield Entry(
        "epsilon",
        "The threshold of association (epsilon)",
        (
            f"A computation counts if its association is at least {limits['epsilon']:g}. The "
            "threshold was chosen by who ran the audit; it is no property of the model.",
        ),
    )
    yield Entry(
        "delta",
        "The threshold of influence (delta)",
        (
            f"A computation counts if its influence is above {limits['delta']:g}. The threshold "
            "was chosen by who ran the audit; it is no property of the model.",
        ),
    )
    yield Entry(
        "ceiling",
        "At most",
        (
            "The largest association possible for values distributed as these are: something true "
            "for one person in a hundred cannot be another name for something true for one in two.",
        ),
    )
    yield Entry(
        "guess",
        "Guessed right",
        (
            "Of all rows, the share for which the commonest value of the protected attribute among "
            "rows with the same value of the computation is the right one. A number with many "
            "values is cut into ranges, and one range counts as one value.",
            "Who does not know the computation guesses the commonest value of all.",
        ),
    )
    yield Entry(
        "reach",
        "Reach",
        (
            "The share of rows for which the model gets as far as evaluating this computation at "
            "one of its places."
            + (" Influence cannot be larger." if influence == _CHANGED_DECISIONS else ""),
        ),
    )


def _association(name: str) -> str:
    """How an association is computed; a measure of the user's own is known by its name only."""
    known = (told for begin, told in _ASSOCIATION.items() if name.startswith(begin))
    return next(known, f"Measured as: {name}.")


def _counted(document: Document) -> Iterator[Entry]:
    yield Entry(
        "rows",
        "Rows",
        (
            "The records that everything here was measured on, one a person or case. What is said "
            "holds for these rows.",
        ),
    )
    yield Entry(
        "decompositions",
        "Computations that were measured",
        (
            "Every part of the model that computes something, and every set of places where it "
            "does, taken apart from the rest of the model. Each was measured.",
        ),
    )
    yield Entry(
        "places",
        "Places",
        ("At how many places of the model the same computation stands. They change together.",),
    )
    yield Entry(
        "size",
        "Size",
        ("The number of parts a computation is made of: variables, constants, operations.",),
    )
    yield Entry(
        "witness",
        "Witness",
        (
            "A computation inside the model with an association of at least "
            f"{document['thresholds']['epsilon']:g} and an influence above "
            f"{document['thresholds']['delta']:g}: it is nearly another name for the protected "
            "attribute, and decisions hang on it.",
            "Witnesses that stand inside each other form a group.",
        ),
    )
    yield Entry(
        "complete",
        "Complete",
        (
            "Every computation written in the model was measured, or a bound shows that it is no "
            "witness.",
            "Sums of some of the model's terms or trees are computations too. The smallest ones "
            "that are witnesses are listed. If there are too many to try all of them, a note says "
            "how many were tried.",
            "Where not everything could be settled, the report names what was left open, and a "
            "witness may be there.",
        ),
    )
    yield Entry(
        "withheld",
        "Withheld",
        (
            f"Numbers of rows below {document['min_cell']} are not shown, nor others from which "
            "they could be computed.",
        ),
    )
    yield Entry(
        "moved",
        "Decisions that change",
        (
            "Of the rows of a group, the share whose decision comes out differently if the value "
            "of the computation is drawn from another row, of any group.",
            "It says whose decisions hang on it, not in which direction they change, nor whether "
            "that is better or worse.",
        ),
    )
    yield Entry(
        "hash",
        "Hash (SHA-256)",
        (
            "A fingerprint of a file. Whoever has the file can compute it again, for instance with "
            "sha256sum: an equal hash means the same file.",
        ),
    )
    yield Entry(
        "own-hash",
        "Hash (BLAKE2b)",
        (
            "A fingerprint of what was measured, however it is stored: an equal hash means the "
            "same program, or the same rows. A certificate has the same ones, and proxyuse verify "
            "computes them again.",
        ),
    )


def _judged() -> Iterator[Entry]:
    yield Entry(
        "judgment",
        "Judgment",
        (
            "Whether a use is acceptable is for people to decide, or for rules that they wrote. "
            "What nobody judged appropriate counts as a violation.",
        ),
    )


def _statistics(document: Document) -> Iterator[Entry]:
    asked = document.get("validity")
    if asked is None:
        yield Entry(
            "verdict",
            "Not tested",
            (
                "What is said holds for these rows. Whether it holds for others too was not asked: "
                "the same audit with --validity confirm does.",
            ),
        )
        return
    yield Entry(
        "verdict",
        "Confirmed, possible, undecided",
        (
            "Confirmed: the tests say that it is a witness among the people from whom the rows "
            "were drawn, too. Possible: it passes on these rows, which may be chance. Undecided: "
            "the tests could not tell.",
        ),
    )
    for method in asked["methods"]:
        yield _WAYS[method["name"]]({**method["options"], "tested": method["tested"]})


def _bounds(way: Document) -> Entry:
    tests = way["tested"]
    for_all = f" for all {count(tests, 'test')} at once" if tests else ""
    return Entry(
        "bounds",
        "Confidence bounds",
        (
            "Rows are a sample; the figure for all people may be another one. It lies above the "
            f"lower bound, and below the upper one, each with {confidence(way['alpha'])} "
            f"confidence{for_all}, if the rows were drawn independently.",
        ),
    )


def _p_value(way: Document) -> Entry:
    return Entry(
        "p-value",
        "p-value",
        (
            "The protected attribute was shuffled among the rows again and again "
            f"({way['permutations']:,} times). The p-value tells how often an association at least "
            "this strong came up by chance alone, corrected for the number of tests as the "
            "statistics remarks say.",
        ),
    )


def _splits(way: Document) -> Entry:
    return Entry(
        "splits",
        "Found again in splits",
        (
            "The rows were cut into parts; a witness was looked for in one part and tested on "
            "another.",
        ),
    )


_WAYS = {"confirm": _bounds, "permutation": _p_value, "cross-validation": _splits}


def _repaired(repair: Document) -> Iterator[Entry]:
    yield Entry(
        "utility",
        f"Utility: {repair['utility']['name']}",
        (
            "What the repair was to lose least of. It was chosen on the rows that were used; only "
            "rows that were kept apart (the hold-out) did not take part in choosing it.",
        ),
    )
    yield Entry(
        "changed",
        "Predictions that changed",
        ("Of the rows that were used, those for which the repaired program says another thing.",),
    )
    yield Entry(
        "certificate",
        "Certificate",
        (
            "What someone else can re-check with the model and the data: proxyuse verify. The hash "
            "is that of its content.",
        ),
    )
