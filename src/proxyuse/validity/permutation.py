"""Permutation tests: how often chance alone gives such an association.

A hypothesis is that a computation and a protected attribute are independent. The same computation
at other positions has the same association, so there is one test for each computation and
protected attribute, whatever the sets of its occurrences. If they are independent, permuting the
attribute over the rows changes nothing but by chance, and

    p = (1 + permutations with at least the observed association) / (1 + permutations).

Westfall-Young permutes for all computations at once (`joint_permutations`). The other corrections
need p-values only: of single tables (`random_tables`, `exact_tables`) where that is the same as
permuting rows.

What is tested is what detection measured. Where it searched for the most promising subsets of
many operands, those were chosen by looking at the same rows, which no correction here makes up
for.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association import needs_values
from proxyuse.measure.bit_counts import counter
from proxyuse.measure.row_sets import RowSets, words_for
from proxyuse.validity.correction import ADJUSTMENTS
from proxyuse.validity.evidence import Answer, Evidence, key_of
from proxyuse.validity.exact_tables import can_be_exact, exact_p_values
from proxyuse.validity.joint_permutations import CALIBRATION, PValues, westfall_young
from proxyuse.validity.joint_tables import Block, Comparison, Long, blocks_of
from proxyuse.validity.options import Permutation
from proxyuse.validity.permutation_words import permutation_remarks
from proxyuse.validity.random_tables import drawn_p_values
from proxyuse.validity.shuffles import Shuffles
from proxyuse.verdict import Validity, Verdict

MOST_RECORDS = 1 << 26
"""Records that are permuted one by one where weights say how many a row stands for."""
ROUNDING = 1 + 1e-12  # so that a p-value of exactly alpha / m passes


@dataclass(frozen=True, slots=True, eq=False)
class _Found:
    """P-values by computation and protected attribute.

    Attributes
    ----------
    exact : which of them are over all permutations, not over drawn ones.
    """

    p_values: Array
    adjusted: Array
    exact: Array


def permute(evidence: Evidence, options: Permutation) -> Answer:
    """Test whether each witness's computation is independent of its protected attribute.

    With weights that differ, a row is one observation (``weights="sampling"``): the protected
    attributes are permuted over the rows, and each row keeps its weight. With
    ``weights="counts"`` a row stands for as many records as its weight says, and the attributes
    are permuted over all records.

    A witness is confirmed if its adjusted p-value is at most alpha. It cannot be decided if its
    p-value is at most alpha, but with this many permutations no p-value is small enough for the
    corrected test.
    """
    _check_weights(evidence, options)
    found = _tested(evidence, options)
    undecided = _undecided(found, options)
    terms, names = evidence.decompositions.computations, evidence.decompositions.protected
    place = {term.digest: i for i, term in enumerate(terms)}
    validities = {}
    for witness in evidence.witnesses:
        at = place[witness.expression.digest], names.index(witness.protected)
        adjusted = float(found.adjusted[at])
        passes = adjusted <= options.alpha * ROUNDING
        verdict = Verdict.CONFIRMED if passes else Verdict.POSSIBLE
        if verdict is Verdict.POSSIBLE and undecided[at]:
            verdict = Verdict.UNDECIDED
        validities[key_of(witness)] = Validity(
            verdict, p_value=float(found.p_values[at]), adjusted_p_value=adjusted
        )
    remarks = permutation_remarks(
        options,
        computations=len(terms),
        attributes=len(names),
        weighted=_weighted(evidence, options),
        exact=int(found.exact.sum()),
        undecided=sum(v.verdict is Verdict.UNDECIDED for v in validities.values()),
        needed=permutations_needed(found.p_values, options),
    )
    return Answer(validities, found.p_values.size, remarks)


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


def _undecided(found: _Found, options: Permutation) -> Array:
    """Which pairs have too few permutations for an answer, if they are not confirmed.

    One with a p-value above alpha would not pass with more of them either. Of those that
    Benjamini-Hochberg does not pass, more permutations can help only the ones with the smallest
    p-value that can be drawn.
    """
    few = options.permutations < permutations_needed(found.p_values, options)
    least = 1 / (1 + options.permutations)
    bound = options.alpha
    if options.correction == "benjamini-hochberg":
        bound = least
    open_ = found.p_values <= max(bound, least)
    return np.asarray(few & ~found.exact & open_)


def _equal(evidence: Evidence) -> bool:
    """Whether every row has the same weight."""
    weights = evidence.population.weights
    return bool(weights.min() == weights.max())


def _weighted(evidence: Evidence, options: Permutation) -> bool:
    """Whether weights make a difference."""
    return not _equal(evidence) or (
        options.weights == "counts" and bool(evidence.population.weights[0] != 1)
    )


def _check_weights(evidence: Evidence, options: Permutation) -> None:
    population = evidence.population
    if options.weights != "counts":
        return
    if not population.whole_weights:
        raise DataError(
            'weights="counts" says that a row stands for as many records as its weight, but not '
            'every weight is a whole number; pass weights="sampling"'
        )
    if population.total > MOST_RECORDS and options.correction == "westfall-young":
        raise DataError(
            f"Westfall-Young permutes {population.total:,.0f} records one by one, more than "
            f'{MOST_RECORDS:,}; pass correction="holm", or weights="sampling"'
        )


def _tested(evidence: Evidence, options: Permutation) -> _Found:
    """All p-values, also adjusted."""
    tables = _equal(evidence) or options.weights == "counts"
    if options.correction == "westfall-young" or needs_values(evidence.association) or not tables:
        found = _by_rows(evidence, options)
        exact = np.zeros(found.p_values.shape, dtype=np.bool_)
        if options.correction == "westfall-young":
            return _Found(found.p_values, found.adjusted, exact)
        p_values = found.p_values
    else:
        p_values, exact = _by_tables(evidence, options)
    adjusted = ADJUSTMENTS[options.correction](p_values.ravel()).reshape(p_values.shape)
    return _Found(p_values, adjusted, exact)


def _by_tables(evidence: Evidence, options: Permutation) -> tuple[Array, Array]:
    """P-values of single tables of counts, and which of them are exact."""
    measure, terms = evidence.association, evidence.decompositions.computations
    masses = evidence.engine.masses(terms)
    unit = 1.0 if options.weights == "counts" else float(evidence.population.weights[0])
    p_values = np.ones((len(terms), len(evidence.decompositions.protected)))
    exact = np.zeros(p_values.shape, dtype=np.bool_)
    for attribute in range(p_values.shape[1]):
        tables = [table[attribute] / unit for table in masses]
        if options.exact and can_be_exact(measure):
            exact[:, attribute] = [table.shape == (2, 2) for table in tables]
        two = np.flatnonzero(exact[:, attribute])
        if len(two):
            p_values[two, attribute] = exact_p_values(np.stack([tables[i] for i in two]), measure)
        others = np.flatnonzero(~exact[:, attribute])
        p_values[others, attribute] = drawn_p_values(
            [tables[i] for i in others],
            measure,
            options.permutations,
            (options.seed, attribute),
            evidence.threads,
        )
    return p_values, exact


def _by_rows(evidence: Evidence, options: Permutation) -> PValues:
    """P-values of all pairs under the same permutations of rows, or of records."""
    terms = evidence.decompositions.computations
    every = [z for _, z in evidence.engine.protected]
    varied = [i for i, z in enumerate(every) if len(z) > 1]
    found = PValues(np.ones((len(terms), len(every))), np.ones((len(terms), len(every))))
    if not varied:
        return found
    attributes = [every[i] for i in varied]
    weights: Array | None = evidence.population.weights
    copies: Array | None = None
    if options.weights == "counts" and evidence.population.total != len(every[0].codes):
        copies = evidence.population.weights.astype(np.intp)
        attributes = [replace(z, codes=np.repeat(z.codes, copies)) for z in attributes]
    if copies is not None or _equal(evidence):
        weights = None
    n_rows = len(attributes[0].codes)
    sets = sum(len(z) - 1 for z in attributes) * len(terms)
    words = float(sets) * (options.permutations + CALIBRATION) * words_for(n_rows)
    tested = westfall_young(
        lambda: _blocks(evidence, copies, n_rows),
        len(terms),
        Comparison(evidence.association, attributes, weights, counter(words)),
        Shuffles(attributes, options.seed),
        options.permutations,
        evidence.threads,
    )
    found.p_values[:, varied] = tested.p_values
    found.adjusted[:, varied] = tested.adjusted
    return found


def _blocks(evidence: Evidence, copies: Array | None, n_rows: int) -> Iterator[Block | Long]:
    """The computations with the rows of each value, or with all values if the measure wants them.

    With `copies`, each row is there so many times.
    """
    engine, terms = evidence.engine, evidence.decompositions.computations
    if needs_values(evidence.association):
        for place, term in enumerate(terms):
            support = engine.support(term)
            codes = support.codes if copies is None else np.repeat(support.codes, copies)
            yield Long(place, codes, len(support), support.values)
        return
    sets = engine.row_sets(terms)
    if copies is not None:
        sets = (
            (place, RowSets.of(np.repeat(one.codes_of(len(copies)), copies), one.size))
            for place, one in sets
        )
    yield from blocks_of(sets, n_rows)
