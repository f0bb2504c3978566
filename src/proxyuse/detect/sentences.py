"""Sentences about what detection estimated, and what it searched without exhausting it."""

from __future__ import annotations

from collections.abc import Sequence

from proxyuse.detect.inside_tests import tests_hold_sums
from proxyuse.lang.nodes import Term
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.measure.pair_sampling import DrawnInfluence
from proxyuse.notes import InfluencesDrawn, Note, VariableDrawn
from proxyuse.program import Program


def open_sets_sentence(program: Program, terms: Sequence[tuple[Term, int, float]]) -> str:
    """How far sets of the positions of some terms were searched.

    Each term comes with the number of its positions and a bound on the influence of any of them.
    """
    term, count, bound = max(terms, key=lambda one: one[2])
    text = program.brief(term)
    if len(terms) == 1:
        return (
            f"Each of the {count:,} positions of `{text}` was measured or bounded, and all of them "
            "were measured together. Some of them together may have more influence, but no more "
            f"than {bound:.4f}."
        )
    return (
        f"For {len(terms):,} terms with several positions, each position was measured or bounded, "
        "and all positions were measured together. Some of the positions of a term together may "
        f"have more influence, but no more than {bound:.4f} (`{text}`)."
    )


def forest_sentences(engine: ForestEngine) -> list[str]:
    """What was not searched in a large forest."""
    sentences = []
    trees = len(engine.plan.forest.starts)
    if trees > 2:
        sentences.append(
            f"Each of the {trees:,} trees was measured, and all of them together. "
            "Combinations of trees were not searched."
        )
    if tests_hold_sums(engine.plan):
        sentences.append("Partial sums inside the tests of the trees were not searched.")
    return sentences


def drawn_note(estimates: Sequence[DrawnInfluence]) -> Note:
    """How many influences were estimated, and how precisely."""
    widest = max(estimates, key=lambda estimate: estimate.error)
    return InfluencesDrawn(len(estimates), widest.error, widest.beta)


def drawn_variable_note(program: Program, term: Term, estimate: DrawnInfluence) -> Note:
    """How the influence of a variable of a large forest was estimated."""
    return VariableDrawn(
        program.brief(term), estimate.pairs, estimate.influence, estimate.error, estimate.beta
    )
