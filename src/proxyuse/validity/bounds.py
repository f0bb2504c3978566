"""Confirmation: both lower bounds pass the thresholds, for all tests at once.

H0 of a decomposition is "association < epsilon or influence <= delta", and it is rejected where
both lower bounds pass. Whichever half of H0 holds, its own bound passes with the level of that
bound at most, so no level is split between the two.

All sets of positions of one computation share one association. Let there be T pairs of a
computation and a protected attribute, and let association bounds have the level ``alpha / T``, the
influence bounds of a computation with k sets of positions ``alpha / (T k)``. A pair whose
association is below epsilon has a false confirmation with probability ``alpha / T`` at most,
whatever its k; one whose association is not, by the sum over its sets, too. Over all pairs any
false confirmation has a probability of at most alpha. Everything that was measured is a test, for
each could have been a witness.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from proxyuse.detect.witnesses import Witness
from proxyuse.measure.association import needs_values
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.validity.association_bounds import Bounds, Values, association_bounds
from proxyuse.validity.evidence import Answer, Evidence, Key, key_of, tests_in_words
from proxyuse.validity.influence_bounds import influence_bounds
from proxyuse.validity.options import Confirmation
from proxyuse.validity.sample import Observed, Sample, sample_of
from proxyuse.verdict import Interval, Validity, Verdict


def confirm(evidence: Evidence, options: Confirmation) -> Answer:
    """Bounds for the association and the influence of each witness.

    Costs, for each witness, its joint table and the effects of each row: a few passes over the
    rows.
    """
    observed = Observed.of(evidence, options.weights)
    level = options.alpha / max(1, evidence.tested)
    sets = dict(
        zip(
            (t.digest for t in evidence.decompositions.computations),
            evidence.decompositions.sets.tolist(),
            strict=True,
        )
    )
    influences: dict[str, Interval | None] = {}
    found: dict[Key, Validity] = {}
    for witness in evidence.witnesses:
        if witness.id not in influences:
            shared = level / sets[witness.expression.digest]
            influences[witness.id] = _influence(evidence, witness, observed, shared)
        influence = influences[witness.id]
        bounds = _association(evidence, witness, observed, level, options.seed)
        passed = bounds.lower >= evidence.epsilon
        passed = passed and influence is not None and influence[0] > evidence.delta
        found[key_of(witness)] = Validity(
            Verdict.CONFIRMED if passed else Verdict.POSSIBLE,
            association_interval=(bounds.lower, bounds.upper),
            influence_interval=influence,
            corrected_association=bounds.corrected,
        )
    return Answer(found, evidence.tested, tuple(_remarks(evidence, options, observed)))


def _association(
    evidence: Evidence, witness: Witness, observed: Observed, level: float, seed: int
) -> Bounds:
    measure, engine = evidence.association, evidence.engine
    rng = np.random.default_rng([seed, *witness.expression.digest])
    if not needs_values(measure):
        return association_bounds(measure, sample_of(evidence, witness, observed), level, rng)
    attribute = engine.protected_names.index(witness.protected)
    values, tables = engine.valued(witness.expression)
    counts = tables[attribute] * (observed.size / float(observed.weights.sum()))
    both = Values(values, engine.protected[attribute][1].middles)
    return association_bounds(measure, Sample(counts, counts), level, rng, both)


def _influence(
    evidence: Evidence, witness: Witness, observed: Observed, level: float
) -> Interval | None:
    """Bounds for an influence; None for those that have none."""
    if not isinstance(evidence.influence, QuantitativeInputInfluence):
        return None
    if evidence.sampling is None:
        effects = evidence.engine.effects(witness.decomposition.spots)
        return influence_bounds(witness.influence, effects, observed, level)
    low, high = influence_bounds(witness.influence, None, observed, level / 2)
    error = evidence.sampling.error(level / 2)
    return max(0.0, low - error), min(1.0, high + error)


def _remarks(evidence: Evidence, options: Confirmation, observed: Observed) -> Iterator[str]:
    counted = tests_in_words(evidence)
    yield (
        f"The chance that any witness is confirmed that is none in the population is at most "
        f"{100 * options.alpha:g} %, over {counted} (Bonferroni), if rows were drawn independently "
        "and the model was not trained on them."
    )
    rows = evidence.population.n_rows
    if options.weights == "sampling" and not observed.alike:
        yield (
            f"Each of the {rows:,} rows is one observation whatever its weight; with these weights "
            f"they are worth {observed.size:,.0f} rows of equal weight."
        )
    if options.weights == "counts" and observed.size != rows:
        yield f"By their weights the {rows:,} rows stand for {observed.size:,.0f} records."
    if evidence.searched:
        yield (
            "Not all decompositions were measured, and which ones were depended on these rows; "
            "the bounds do not account for those that were not."
        )
    if not isinstance(evidence.influence, QuantitativeInputInfluence):
        yield (
            f"There are no bounds for {evidence.influence.name}, so no witness can be confirmed; "
            "use quantitative input influence."
        )
