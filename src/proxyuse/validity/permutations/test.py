"""Permutation tests: how often chance alone produces an association this high.

The null hypothesis is that a computation and a protected attribute are independent. A computation
has the same association at all its positions, so there is one test per computation and protected
attribute. Under independence, permuted rows are as likely as the sample, and

    p = (1 + permutations with at least the observed association) / (1 + permutations).

Westfall-Young permutes for all computations at once (`westfall_young`). The other corrections
need only p-values. These come from single tables (`random_tables`, `exact_tables`) where that is
equivalent to permuting rows.

The tests cover what detection measured. Where detection searched among the subsets of many
operands, it chose them on the same rows, and no correction here accounts for that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.methods import Permutation
from proxyuse.validity.evidence import Answer, Evidence
from proxyuse.validity.permutations.correction import PValues
from proxyuse.validity.permutations.p_values import p_values_of
from proxyuse.validity.remarks import (
    ExactPValues,
    IndependenceOnly,
    PermutationLevel,
    RecordsPermuted,
    Remark,
    TooFewPermutations,
    WeightsKept,
)
from proxyuse.validity.sample import Observed
from proxyuse.verdict import Validity, Verdict

ROUNDING = 1 + 1e-12  # so that a p-value of exactly alpha / m passes
UNLIKELY = 1e-3  # level of the lower bound on the p-value over all permutations


def permute(evidence: Evidence, options: Permutation) -> Answer:
    """Test whether each witness's computation is independent of its protected attribute.

    With ``weights="sampling"``, each row is one observation: the protected attributes are permuted
    over the rows, and each row keeps its weight. With ``weights="counts"``, the weight of a row is
    a number of records, and the attributes are permuted over all records.

    A witness is confirmed if its adjusted p-value is at most alpha. It is undecided if no p-value
    can be small enough with this many permutations, and its own might be with more.
    """
    observed = Observed.of(evidence, options.weights)
    p_values = p_values_of(evidence, options, observed)
    undecided = _undecided(p_values, options)
    names = evidence.decompositions.protected
    validities = {}
    for witness in evidence.witnesses:
        at = evidence.decompositions.index_of(witness.expression), names.index(witness.protected)
        adjusted = float(p_values.adjusted[at])
        verdict = Verdict.UNDECIDED if undecided[at] else Verdict.POSSIBLE
        if adjusted <= options.alpha * ROUNDING:
            verdict = Verdict.CONFIRMED
        validities[witness.key] = Validity(
            verdict, p_value=float(p_values.p_values[at]), adjusted_p_value=adjusted
        )
    n_undecided = sum(v.verdict is Verdict.UNDECIDED for v in validities.values())
    remarks = tuple(_remarks(evidence, options, observed, p_values, n_undecided))
    return Answer(validities, evidence.tested, remarks)


def permutations_needed(p_values: Array, options: Permutation) -> int:
    """The number of permutations needed for any drawn p-value to pass the corrected test.

    The smallest p-value of B permutations is 1 / (1 + B). Bonferroni and Holm require at most
    alpha / m for the first of m tests, so B must be at least m / alpha - 1 (for Holm, m excludes
    tests whose exact p-values are smaller than any drawn one). Benjamini-Hochberg requires the k
    smallest to be at most alpha k / m. If k tests have the smallest p-value that can be drawn, or a
    smaller one, B must be at least m / (alpha k) - 1. With Westfall-Young, and without correction,
    B must be at least 1 / alpha - 1 for any number of tests.

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


def _undecided(p_values: PValues, options: Permutation) -> Array:
    """Whether each test has too few permutations for an answer, if it is not confirmed.

    If many permutations reach the observed association, the p-value would not pass with more of
    them either. With Benjamini-Hochberg, more permutations can help only tests whose association
    no permutation reached.
    """
    from scipy.special import betaincinv  # slow to import

    drawn, needed = options.permutations, permutations_needed(p_values.p_values, options)
    reached = np.rint(p_values.p_values * (1 + drawn)) - 1
    some = np.maximum(reached, 1.0)
    lowest = np.where(reached > 0, betaincinv(some, drawn - some + 1, UNLIKELY), 0.0)
    may_pass = lowest <= 1 / (1 + needed)
    if options.correction == "benjamini-hochberg":
        may_pass &= reached <= 0
    return np.asarray((drawn < needed) & ~p_values.exact & may_pass)


def _remarks(
    evidence: Evidence, options: Permutation, observed: Observed, p_values: PValues, undecided: int
) -> Iterator[Remark]:
    """Remarks on the test and its limits."""
    yield PermutationLevel(
        evidence.tests, options.permutations, options.seed, options.correction, options.alpha
    )
    exact = int(p_values.exact.sum())
    if exact or options.exact:
        yield ExactPValues(exact)
    if not observed.alike:
        yield WeightsKept()
    if options.weights == "counts" and observed.size != evidence.population.n_rows:
        yield RecordsPermuted(observed.size)
    yield IndependenceOnly()
    if undecided:
        corrected = options.correction not in ("westfall-young", "none")
        yield TooFewPermutations(
            options.permutations,
            undecided,
            permutations_needed(p_values.p_values, options),
            p_values.p_values.size if corrected else None,
            options.exact,
        )
