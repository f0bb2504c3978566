"""Whether any computation can reach epsilon, given the distributions.

A test has two values. If the protected attribute has twenty, even the best test cannot reach a
high association with it. Where nothing in the program can reach epsilon, finding no witness says
nothing.
"""

from __future__ import annotations

import numpy as np

from proxyuse.lang.nodes import Compare, Member, Term
from proxyuse.measure.association.best_cut import best_measure
from proxyuse.measure.association.ceilings import ceiling, two_valued_ceiling
from proxyuse.measure.association.joint_table import joint_masses
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.validity.evidence import Evidence
from proxyuse.verdict import EpsilonOutOfReach

MOST_MEASURED = 2000
"""Computations whose values are examined; with more, epsilon is taken to be in reach."""
_TWO_VALUED = (Compare, Member)


def out_of_reach(evidence: Evidence) -> dict[str, EpsilonOutOfReach]:
    """The protected attributes with which no computation can have an association of epsilon.

    That is never so for an attribute with two values: a test could be a copy of it. Only for
    normalized mutual information, and only if some computation is influential; otherwise there is
    no proxy use at any epsilon. Takes a pass over the rows for each computation that is examined.
    """
    measured = evidence.decompositions
    influential = ~(measured.influences <= evidence.delta)  # NaN: not measured
    if not isinstance(evidence.association, NormalizedMutualInformation) or not influential.any():
        return {}
    sample, answers = evidence.engine.sample, {}
    for index, (name, support) in enumerate(
        zip(sample.protected_names, sample.attributes, strict=True)
    ):
        two_valued = two_valued_ceiling(support.masses(sample.weights))
        highest = None
        if two_valued < evidence.epsilon:  # else a test could be a copy of the attribute
            highest = _highest(evidence, index, two_valued)
        if highest is not None:
            answers[name] = EpsilonOutOfReach(evidence.epsilon, highest)
    return answers


def _highest(evidence: Evidence, attribute: int, two_valued: float) -> float | None:
    """A bound for the association of all computations; None if one of them can reach epsilon."""
    measured = evidence.decompositions
    column = measured.protected.index(evidence.engine.protected_names[attribute])
    associations = np.zeros(len(measured.computations))
    associations[measured.owners] = measured.associations[:, column]
    highest = 0.0
    examined = 0
    for index in np.argsort(-associations, kind="stable").tolist():
        if associations[index] >= evidence.epsilon or examined == MOST_MEASURED:
            return None
        term = measured.computations[index]
        if isinstance(term, _TWO_VALUED):
            highest = max(highest, two_valued)
            continue
        examined += 1
        highest = max(highest, _ceiling(evidence, attribute, term))
        if highest >= evidence.epsilon:
            return None
    return highest


def _ceiling(evidence: Evidence, attribute: int, term: Term) -> float:
    """The highest association that the distribution of a computation allows, at its best cut."""
    sample, highest = evidence.engine.sample, 0.0
    for support in sample.association_supports(term):
        (masses,) = joint_masses(support, [sample.attributes[attribute]], sample.weights)
        tables = masses[None]
        if sample.best_cut and support.binned:
            (tables,) = best_measure(evidence.association, support).tables(tables)
        highest = max([highest, *map(ceiling, tables)])
    return highest
