"""Permutation tests: how often chance alone gives such an association.

A hypothesis is that a computation and a protected attribute are independent. The same computation
at other positions has the same association, so there is one test for each computation and
protected attribute, whatever the sets of its occurrences. If they are independent, permuting the
attribute over the rows changes nothing but by chance, and

    p = (1 + permutations with at least the observed association) / (1 + permutations).

Westfall-Young permutes for all computations at once (`westfall_young`). The other corrections
need p-values only: of single tables (`random_tables`, `exact_tables`) where that is the same as
permuting rows.

What is tested is what detection measured. Where it searched for the most promising subsets of
many operands, those were chosen by looking at the same rows, which no correction here makes up
for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.settings import Correction, Permutation
from proxyuse.validity.evidence import Answer, Evidence, counted_tests
from proxyuse.validity.permutations.correction import PValues
from proxyuse.validity.permutations.p_values import p_values_of
from proxyuse.validity.sample import Observed
from proxyuse.verdict import Validity, Verdict
from proxyuse.words import count

ROUNDING = 1 + 1e-12  # so that a p-value of exactly alpha / m passes
UNLIKELY = 1e-3  # that the p-value over all permutations is lower than what is taken for it


def permute(evidence: Evidence, options: Permutation) -> Answer:
    """Test whether each witness's computation is independent of its protected attribute.

    With weights that differ, a row is one observation (``weights="sampling"``): the protected
    attributes are permuted over the rows, and each row keeps its weight. With
    ``weights="counts"`` a row stands for as many records as its weight says, and the attributes
    are permuted over all records.

    A witness is confirmed if its adjusted p-value is at most alpha. It cannot be decided if with
    this many permutations no p-value is small enough for the corrected test, and with more of them
    its own might be.
    """
    observed = Observed.of(evidence, options.weights)
    found = p_values_of(evidence, options, observed)
    undecided = _undecided(found, options)
    names = evidence.decompositions.protected
    validities = {}
    for witness in evidence.witnesses:
        at = evidence.decompositions.place(witness.expression), names.index(witness.protected)
        adjusted = float(found.adjusted[at])
        verdict = Verdict.UNDECIDED if undecided[at] else Verdict.POSSIBLE
        if adjusted <= options.alpha * ROUNDING:
            verdict = Verdict.CONFIRMED
        validities[witness.key] = Validity(
            verdict, p_value=float(found.p_values[at]), adjusted_p_value=adjusted
        )
    open_ = sum(said.verdict is Verdict.UNDECIDED for said in validities.values())
    remarks = tuple(_remarks(evidence, options, observed, found, open_))
    return Answer(validities, evidence.tested, remarks)


def permutations_needed(p_values: Array, options: Permutation) -> int:
    """How many permutations there must be for any drawn p-value to pass the corrected test.

    The smallest p-value of B permutations is 1 / (1 + B). Bonferroni and Holm ask it to be at most
    alpha / m for the first of m tests, so B must be at least m / alpha - 1 (Holm takes off m the
    tests whose exact p-values are smaller than any drawn one). Benjamini-Hochberg asks the k
    smallest to be at most alpha k / m; where k tests have no larger p-value than the smallest that
    can be drawn, B must be at least m / (alpha k) - 1. With Westfall-Young, and without
    correction, it is 1 / alpha - 1 whatever the number of tests.

    Examples
    --------
    >>> permutations_needed(np.full(1000, 0.5), Permutation(correction="holm"))
    19999
    >>> permutations_needed(np.full(1000, 0.5), Permutation())
    19
    """
    tests, least = float(p_values.size), 1 / (1 + options.permutations)
    if options.correction in ("westfall-young", "none"):
        tests = 1.0
    elif options.correction == "benjamini-hochberg":
        tests /= max(1, int(np.count_nonzero(p_values <= least)))
    elif options.correction == "holm":
        tests = max(1.0, tests - int(np.count_nonzero(p_values < least)))
    needed = max(1, math.ceil(tests / options.alpha) - 2)
    while tests / (1 + needed) > options.alpha * ROUNDING:
        needed += 1
    return needed


def _undecided(found: PValues, options: Permutation) -> Array:
    """Which tests have too few permutations for an answer, if they are not confirmed.

    Many permutations that reached the observed association tell that the p-value would not pass
    with more of them either. Of those that Benjamini-Hochberg does not pass, more permutations can
    help only the ones that no permutation reached.
    """
    from scipy.special import betaincinv  # takes a while to load

    drawn, needed = options.permutations, permutations_needed(found.p_values, options)
    reached = np.rint(found.p_values * (1 + drawn)) - 1
    some = np.maximum(reached, 1.0)
    lowest = np.where(reached > 0, betaincinv(some, drawn - some + 1, UNLIKELY), 0.0)
    may_pass = lowest <= 1 / (1 + needed)
    if options.correction == "benjamini-hochberg":
        may_pass &= reached <= 0
    return np.asarray((drawn < needed) & ~found.exact & may_pass)


_ANY = (
    "the chance of confirming even one computation that is independent of the protected attribute"
)
_JOINTLY = (
    "the chance of confirming even one of the computations that are, taken together, independent "
    "of the protected attribute"
)
_PROMISES: dict[Correction, str] = {
    "westfall-young": f", corrected by Westfall and Young: {_JOINTLY} is at most {{}}.",
    "holm": f", corrected by Holm: {_ANY} is at most {{}}.",
    "bonferroni": f", corrected by Bonferroni: {_ANY} is at most {{}}.",
    "benjamini-hochberg": (
        ", corrected by Benjamini and Hochberg: the expected share of independent computations "
        "among the confirmed is at most {}, so some of the confirmed ones may be independent."
    ),
    "none": (
        ". Not corrected for the number of tests: about {} of the computations that are "
        "independent pass."
    ),
}


def _remarks(
    evidence: Evidence, options: Permutation, observed: Observed, found: PValues, undecided: int
) -> Iterator[str]:
    """What was done, and what it cannot say."""
    drawn = count(options.permutations, "permutation")
    promise = _PROMISES[options.correction].format(f"{100 * options.alpha:g} %")
    counted = counted_tests(evidence)
    yield f"Permutation test of {counted} with {drawn} (seed {options.seed}){promise}"
    exact = int(found.exact.sum())
    if exact:
        yield count(exact, "p-value is exact.", "p-values are exact.")
    elif options.exact:
        yield (
            "Exact p-values were asked for, but no test allows them: they are for two-valued "
            "computations of two-valued attributes with whole counts, and not for the "
            "Westfall-Young correction."
        )
    if not observed.alike:
        yield (
            "Rows kept their weights while protected values were permuted; each row is one "
            "observation whatever its weight."
        )
    if options.weights == "counts" and observed.size != evidence.population.n_rows:
        yield (
            f"Protected values were permuted over the {observed.size:,.0f} records that the rows "
            "stand for by their weights."
        )
    yield "The test does not ask whether the association reaches epsilon, nor about influence."
    if undecided:
        yield _too_few(options, found, undecided)


def _too_few(options: Permutation, found: PValues, undecided: int) -> str:
    """How to come to a decision."""
    counted, ways = "", ["Draw more"]
    if options.correction not in ("westfall-young", "none"):
        counted = f"with {count(found.p_values.size, 'test')} "
        if not options.exact:
            ways.append("ask for exact p-values")
        ways.append("or use the Westfall-Young correction")
    drawn = count(options.permutations, "permutation is", "permutations are")
    needed = permutations_needed(found.p_values, options)
    return (
        f"{drawn} too few to decide on {count(undecided, 'witness', 'witnesses')}: {counted}at "
        f"least {needed:,} are needed. {', '.join(ways)}."
    )
