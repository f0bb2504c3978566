"""Notes on what detection estimated, and what it searched without exhausting it."""

from __future__ import annotations

from collections.abc import Sequence

from proxyuse.detect.inside_tests import tests_hold_sums
from proxyuse.lang.nodes import Term
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.measure.pair_sampling import DrawnInfluence
from proxyuse.notes import (
    InfluencesDrawn,
    Note,
    PositionsSearched,
    SumsInTestsNotSearched,
    TreesNotCombined,
    VariableDrawn,
)
from proxyuse.program import Program


def open_sets_note(program: Program, terms: Sequence[tuple[Term, int, float]]) -> Note:
    """How far sets of the positions of some terms were searched.

    Each term comes with the number of its positions and a bound on the influence of any of them.
    """
    term, positions, bound = max(terms, key=lambda one: one[2])
    return PositionsSearched(len(terms), program.brief(term), positions, bound)


def forest_notes(engine: ForestEngine, combined: bool) -> list[Note]:
    """What was not searched in a large forest; `combined` if sums of its trees are searched."""
    notes: list[Note] = []
    trees = len(engine.plan.forest.starts)
    if trees > 2 and not combined:
        notes.append(TreesNotCombined(trees))
    if tests_hold_sums(engine.plan):
        notes.append(SumsInTestsNotSearched())
    return notes


def drawn_note(estimates: Sequence[DrawnInfluence]) -> Note:
    """How many influences were estimated, and how precisely."""
    widest = max(estimates, key=lambda estimate: estimate.error)
    return InfluencesDrawn(len(estimates), widest.error, widest.beta)


def drawn_variable_note(program: Program, term: Term, estimate: DrawnInfluence) -> Note:
    """How the influence of a variable of a large forest was estimated."""
    return VariableDrawn(
        program.brief(term), estimate.pairs, estimate.influence, estimate.error, estimate.beta
    )
