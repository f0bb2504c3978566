"""The p-values of all tests, from single tables where that equals permuting rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from proxyuse.errors import DataError
from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.best_cut import BestCut, best_measure
from proxyuse.measure.association.protocol import needs_values
from proxyuse.measure.association.row_sets import RowSets
from proxyuse.measure.association.support import Support
from proxyuse.methods import Permutation
from proxyuse.validity.evidence import Evidence
from proxyuse.validity.permutations.blocks import (
    MOST_SETS,
    AnyBlock,
    Coded,
    CutCoded,
    blocks_of,
)
from proxyuse.validity.permutations.comparison import Comparison
from proxyuse.validity.permutations.correction import PValues, corrected
from proxyuse.validity.permutations.exact_tables import can_be_exact, exact_p_values
from proxyuse.validity.permutations.random_tables import drawn_p_values
from proxyuse.validity.permutations.shuffles import Shuffles
from proxyuse.validity.permutations.westfall_young import westfall_young
from proxyuse.validity.sample import Observed

MOST_RECORDS = 1 << 26
"""The largest number of records to permute one by one if weights are counts."""
MOST_WEIGHTED = 8
"""The equivalent of `MOST_SETS` for rows with weights."""


def p_values_of(evidence: Evidence, options: Permutation, observed: Observed) -> PValues:
    """The p-values of all tests, with their adjusted values."""
    jointly = options.correction == "westfall-young"
    if not jointly and observed.alike and not needs_values(evidence.association):
        tested = _by_tables(evidence, options)
        if tested is not None:
            return corrected(options.correction, *tested)
    joint = _by_rows(evidence, options, observed)
    return joint if jointly else corrected(options.correction, joint.p_values, joint.exact)


def _by_tables(evidence: Evidence, options: Permutation) -> tuple[Array, Array] | None:
    """P-values of single tables of counts, and whether each is exact.

    None if a computation has several tables: a vector that is measured by the best cut of its
    coordinates, whose tables must be permuted together.
    """
    measure, terms = evidence.association, evidence.decompositions.computations
    joint = evidence.engine.joint
    supports: list[Support] = []
    masses: list[list[Array]] = []
    for term in terms:
        parts = joint.parts(term)
        if len(parts) > 1:
            return None
        supports.append(parts[0][0])
        masses.append(parts[0][1])
    unit = 1.0 if options.weights == "counts" else float(evidence.population.weights[0])
    # A best cut is chosen in each drawn table, too.
    cuts = [best_measure(measure, z) if joint.is_cut([z]) else None for z in supports]
    p_values = np.ones((len(terms), len(evidence.decompositions.protected)))
    exact = np.zeros(p_values.shape, dtype=np.bool_)
    for attribute in range(p_values.shape[1]):
        tables = [np.rint(table[attribute] / unit) for table in masses]  # counts
        if options.exact and can_be_exact(measure):
            exact[:, attribute] = [
                table.shape == (2, 2) and cut is None
                for table, cut in zip(tables, cuts, strict=True)
            ]
        two = np.flatnonzero(exact[:, attribute])
        if len(two):
            p_values[two, attribute] = exact_p_values(np.stack([tables[i] for i in two]), measure)
        others = np.flatnonzero(~exact[:, attribute]).tolist()
        for missing in (None, False, True):
            drawn = [i for i in others if _missing(cuts[i]) is missing]
            if drawn:
                p_values[drawn, attribute] = drawn_p_values(
                    [tables[i] for i in drawn],
                    cuts[drawn[0]] or measure,
                    options.permutations,
                    (options.seed, attribute, *([] if missing is None else [1 + missing])),
                    evidence.threads,
                )
    return p_values, exact


def _missing(cut: BestCut | None) -> bool | None:
    return None if cut is None else cut.missing


def _by_rows(evidence: Evidence, options: Permutation, observed: Observed) -> PValues:
    """P-values of all tests under the same permutations of rows or records."""
    terms = evidence.decompositions.computations
    all_attributes = evidence.engine.sample.attributes
    varied = [i for i, z in enumerate(all_attributes) if len(z) > 1]
    shape = len(terms), len(all_attributes)
    result = PValues(np.ones(shape), np.ones(shape), np.zeros(shape, dtype=np.bool_))
    if not varied:
        return result
    attributes = [all_attributes[i] for i in varied]
    copies = _copies(evidence, options)
    if copies is not None:
        attributes = [replace(z, codes=np.repeat(z.codes, copies)) for z in attributes]
    weights = None if observed.alike else observed.weights
    n_rows = len(attributes[0].codes)
    largest = max(len(z) for z in attributes)
    most_values = 1 + max(1, (MOST_SETS if weights is None else MOST_WEIGHTED) // (largest - 1))
    tested = westfall_young(
        lambda: _blocks(evidence, copies, n_rows, most_values),
        len(terms),
        Comparison(evidence.association, attributes, weights),
        Shuffles(attributes, options.seed),
        options.permutations,
        evidence.threads,
    )
    result.p_values[:, varied] = tested.p_values
    result.adjusted[:, varied] = tested.adjusted
    return result


def _copies(evidence: Evidence, options: Permutation) -> Array | None:
    """The number of records per row; None if it is 1, or if weights are not counts."""
    population = evidence.population
    if options.weights != "counts" or population.total == population.n_rows:
        return None
    if population.total > MOST_RECORDS:
        raise DataError(
            f"cannot permute {population.total:,.0f} records; the limit is {MOST_RECORDS:,}. Use "
            "the Holm correction with a measure that needs only counts, or treat the weights as "
            "sampling weights"
        )
    return population.weights.astype(np.intp)


def _blocks(
    evidence: Evidence, copies: Array | None, n_rows: int, most_values: int
) -> Iterator[AnyBlock]:
    """The computations in blocks, with their values if the measure uses them.

    With `copies`, each row is repeated. Computations with more than `most_values` are coded.
    """
    engine, terms = evidence.engine, evidence.decompositions.computations
    if needs_values(evidence.association):
        for index, term in enumerate(terms):
            support = engine.sample.support(term)
            codes = support.codes if copies is None else np.repeat(support.codes, copies)
            yield Coded(index, codes, len(support), support.values)
        return
    sets = (
        (index, _repeated(one if isinstance(one, RowSets) else CutCoded(index, tuple(one)), copies))
        for index, one in engine.joint.row_sets(terms)
    )
    yield from blocks_of(sets, n_rows, most_values)


def _repeated(one: RowSets | CutCoded, copies: Array | None) -> RowSets | CutCoded:
    """A computation with each row repeated."""
    if copies is None:
        return one
    if isinstance(one, CutCoded):
        return one.repeated(copies)
    return RowSets.of(np.repeat(one.codes_of(len(copies)), copies), one.size)
