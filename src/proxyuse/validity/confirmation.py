"""Confirmation: both lower bounds pass the thresholds, simultaneously for all tests.

H0 of a decomposition is "association < epsilon or influence <= delta". It is rejected if both lower
bounds pass. Whichever half of H0 is true, its bound passes with probability at most its level, so
the level is not split between the two.

All sets of positions of a computation share one association. The level of an association is that of
its computation and protected attribute (see `levels`), and the influence bounds of all sets of
positions of a computation together have the same level. If the association of a pair is below
epsilon, it is confirmed with probability at most this level, through any set. If it is not, the
same holds by the sum over the sets. The levels of everything that could be confirmed sum to alpha,
so the probability of any false confirmation is at most alpha.

The association of a number with many values is that of its best cut, and the cut was chosen on the
same rows. Its bound is that of the table at the cut, and its level is divided by the number of
candidate cuts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from proxyuse.detect.witnesses import Witness
from proxyuse.measure.influence import SquaredChange, counts_pairs
from proxyuse.measure.pair_sampling import drawn_error
from proxyuse.methods import Confirmation
from proxyuse.notes import RowCount
from proxyuse.validity.association_bounds import Bounds
from proxyuse.validity.chosen_sums import ChosenSums
from proxyuse.validity.evidence import Answer, Evidence, Key
from proxyuse.validity.fitted import Choices
from proxyuse.validity.influence_bounds import influence_bounds
from proxyuse.validity.levels import Levels
from proxyuse.validity.remarks import (
    AssumedHeldOut,
    Clusters,
    ConfirmationLevel,
    CopiedRows,
    NoBounds,
    Remark,
    SquaredChangeBounds,
    TrainingRows,
    UnequalWeights,
    WeightsAreCounts,
)
from proxyuse.validity.sample import Observed
from proxyuse.validity.squared_change_bounds import squared_change_bounds
from proxyuse.validity.table_bounds import table_bounds
from proxyuse.validity.undecidable import undecidable_attributes
from proxyuse.verdict import Interval, Validity, Verdict


def confirm(evidence: Evidence, options: Confirmation) -> Answer:
    """Compute confidence bounds for the association and the influence of each witness.

    Takes a few passes over the rows per witness, for its joint table and the effect of each row.
    """
    observed = Observed.of(evidence, options.weights)
    training = evidence.matches_training if options.rows is None else options.rows == "training"
    choices = None
    if training:
        choices = Choices.of(evidence.population, len(evidence.engine.program.inputs))
    levels = Levels.of(evidence, options.alpha, choices)
    chosen = None if training else ChosenSums(evidence, observed, levels.chosen, options)
    influences: dict[str, Interval | None] = {}
    validities: dict[Key, Validity] = {}
    influence: Interval | None
    for witness in evidence.witnesses:
        if chosen is not None and chosen.includes(witness):
            bounds, influence = chosen.bounds(witness)
        else:
            if witness.id not in influences:
                level = levels.of_influence(witness.decomposition)
                influences[witness.id] = influence_interval(evidence, witness, observed, level)
            influence = influences[witness.id]
            level = levels.of_association(witness.decomposition)
            bounds = table_bounds(
                evidence.engine, evidence.association, witness.expression, witness.table,
                observed, level, options.seed,
            )  # fmt: skip
        validities[witness.key] = _validity(evidence, bounds, influence)
    return Answer(
        validities,
        evidence.tested,
        tuple(_remarks(evidence, options, observed, training)),
        undecidable_attributes(evidence, observed, levels.written, options.seed),
    )


def corrections(evidence: Evidence, options: Confirmation) -> Callable[[Witness], float]:
    """Return a function that computes the bias-corrected association of a witness.

    It needs no level, and so says nothing about confidence.
    """
    observed = Observed.of(evidence, options.weights)

    def corrected(witness: Witness) -> float:
        measure, term = evidence.association, witness.expression
        bounds = table_bounds(
            evidence.engine, measure, term, witness.table, observed, options.alpha, options.seed
        )
        return bounds.corrected

    return corrected


def _validity(evidence: Evidence, bounds: Bounds, influence: Interval | None) -> Validity:
    verdict = Verdict.POSSIBLE
    if bounds.lower >= evidence.epsilon:
        verdict = _verdict(influence, evidence.delta)
    return Validity(
        verdict,
        association_interval=(bounds.lower, bounds.upper),
        influence_interval=influence,
        corrected_association=bounds.corrected,
    )


def _verdict(influence: Interval | None, delta: float) -> Verdict:
    """The verdict on a witness whose association is confirmed."""
    if influence is None:
        return Verdict.UNDECIDED
    return Verdict.CONFIRMED if influence[0] > delta else Verdict.POSSIBLE


def influence_interval(
    evidence: Evidence, witness: Witness, observed: Observed, level: float
) -> Interval | None:
    """Bounds for an influence; None if there are none."""
    if isinstance(evidence.influence, SquaredChange):
        losses = evidence.engine.mean_losses(witness.decomposition.sites)
        outputs = evidence.engine.sample.outputs()
        return losses and squared_change_bounds(losses, outputs, observed, level)
    if not counts_pairs(evidence.influence):
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


def _remarks(
    evidence: Evidence, options: Confirmation, observed: Observed, training: bool
) -> Iterator[Remark]:
    yield ConfirmationLevel(options.alpha, evidence.tests, evidence.decompositions.operators)
    if training:
        yield TrainingRows(detected=options.rows is None)
    elif options.rows is None:
        yield AssumedHeldOut()
    rows = evidence.population.n_rows
    if observed.clusters is not None:
        named = evidence.population.clusters is not None
        copies = RowCount(rows - observed.observations)
        yield Clusters(rows, observed.observations) if named else CopiedRows(copies)
    elif options.weights == "sampling" and not observed.alike:
        yield UnequalWeights(rows, observed.size)
    if options.weights == "counts" and observed.size != rows:
        yield WeightsAreCounts(rows, observed.size)
    if isinstance(evidence.influence, SquaredChange):
        yield SquaredChangeBounds()
    elif not counts_pairs(evidence.influence):
        yield NoBounds(evidence.influence.name)
