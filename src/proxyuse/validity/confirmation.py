"""Confirmation: both lower bounds pass the thresholds, simultaneously for all tests.

H0 of a decomposition is "association < epsilon or influence <= delta". It is rejected if both lower
bounds pass. Whichever half of H0 is true, its bound passes with probability at most its level, so
the level is not split between the two.

All sets of positions of a computation share one association. Let T be the number of pairs of a
computation and a protected attribute. The association bound of a pair has level ``alpha / T``, and
the influence bounds of all sets of positions of a computation together have the same level. If the
association of a pair is below epsilon, it is confirmed with probability at most ``alpha / T``,
through any set. If it is not, the same holds by the sum over the sets. So the probability of any
false confirmation is at most alpha. Every measured computation counts as a test, because each
could have been a witness.

The measured sets of positions depend on the rows, because detection searches for the strongest. A
computation at m positions has ``2^m - 1`` sets, so each needs its share of the level in advance:
single positions and all positions together share one half, all other sets share the other half.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from proxyuse.detect.witnesses import Witness
from proxyuse.measure.association.protocol import needs_values
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.measure.pair_sampling import drawn_error
from proxyuse.settings import Confirmation
from proxyuse.validity.association_bounds import Bounds, Values, association_bounds
from proxyuse.validity.evidence import Answer, Evidence, Key
from proxyuse.validity.influence_bounds import influence_bounds
from proxyuse.validity.remarks import (
    ConfirmationLevel,
    NoBounds,
    Remark,
    UnequalWeights,
    WeightsAreCounts,
)
from proxyuse.validity.sample import Observed, Sample, sample_of
from proxyuse.verdict import Interval, Validity, Verdict


def confirm(evidence: Evidence, options: Confirmation) -> Answer:
    """Compute confidence bounds for the association and the influence of each witness.

    Takes a few passes over the rows per witness, for its joint table and the effect of each row.
    """
    observed = Observed.of(evidence, options.weights)
    level = options.alpha / max(1, evidence.tested)
    occurrences = evidence.decompositions.occurrences
    influences: dict[str, Interval | None] = {}
    validities: dict[Key, Validity] = {}
    for witness in evidence.witnesses:
        if witness.id not in influences:
            index = evidence.decompositions.index_of(witness.expression)
            share = share_of_level(witness.occurrences, int(occurrences[index]))
            influences[witness.id] = _influence(evidence, witness, observed, level * share)
        influence = influences[witness.id]
        bounds = _association(evidence, witness, observed, level, options.seed)
        passed = bounds.lower >= evidence.epsilon
        passed = passed and influence is not None and influence[0] > evidence.delta
        validities[witness.key] = Validity(
            Verdict.CONFIRMED if passed else Verdict.POSSIBLE,
            association_interval=(bounds.lower, bounds.upper),
            influence_interval=influence,
            corrected_association=bounds.corrected,
        )
    return Answer(validities, evidence.tested, tuple(_remarks(evidence, options, observed)))


def share_of_level(chosen: int, positions: int) -> float:
    """The share of a computation's level for a set of `chosen` of its `positions`.

    Over all sets of positions, the shares sum to at most 1.

    Examples
    --------
    >>> [share_of_level(chosen, 2) for chosen in (1, 2)]
    [0.3333333333333333, 0.3333333333333333]
    >>> from math import comb
    >>> sum(comb(9, chosen) * share_of_level(chosen, 9) for chosen in range(1, 10)) <= 1
    True
    """
    if positions <= 2:
        return 1 / (2**positions - 1) if positions else 1.0
    if chosen in (1, positions):
        return 1 / (2 * (positions + 1))
    return math.ldexp(1.0, -positions - 1)


def _association(
    evidence: Evidence, witness: Witness, observed: Observed, level: float, seed: int
) -> Bounds:
    measure, engine = evidence.association, evidence.engine
    rng = np.random.default_rng([seed, *witness.expression.digest])
    if not needs_values(measure):
        return association_bounds(measure, sample_of(evidence, witness, observed), level, rng)
    attribute = engine.protected_names.index(witness.protected)
    values, tables = engine.joint.valued(witness.expression)
    counts = observed.counts_of(tables[attribute])
    table_values = Values(values, engine.sample.protected[attribute][1].middles)
    return association_bounds(measure, Sample(counts, counts), level, rng, table_values)


def _influence(
    evidence: Evidence, witness: Witness, observed: Observed, level: float
) -> Interval | None:
    """Bounds for an influence; None for influence measures without bounds."""
    if not isinstance(evidence.influence, QuantitativeInputInfluence):
        return None
    drawn = witness.decomposition.error
    if evidence.sampling is None and drawn == 0:
        effects = evidence.engine.effects(witness.decomposition.sites)
        return influence_bounds(witness.influence, effects, observed, level)
    # With random pairs, half of the level is for the draw and half for the rows.
    low, high = influence_bounds(witness.influence, None, observed, level / 2)
    if evidence.sampling is not None:
        error = evidence.sampling.error(level / 2)
    else:
        error = drawn_error(drawn, level / 2)
    return max(0.0, low - error), min(1.0, high + error)


def _remarks(evidence: Evidence, options: Confirmation, observed: Observed) -> Iterator[Remark]:
    yield ConfirmationLevel(options.alpha, evidence.tests)
    rows = evidence.population.n_rows
    if options.weights == "sampling" and not observed.alike:
        yield UnequalWeights(rows, observed.size)
    if options.weights == "counts" and observed.size != rows:
        yield WeightsAreCounts(rows, observed.size)
    if not isinstance(evidence.influence, QuantitativeInputInfluence):
        yield NoBounds(evidence.influence.name)
