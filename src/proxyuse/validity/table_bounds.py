"""Confidence bounds for the association of a computation, from its joint table."""

from __future__ import annotations

import numpy as np

from proxyuse.lang.nodes import Term
from proxyuse.measure.association.joint_table import JointTable
from proxyuse.measure.association.protocol import Association, needs_values
from proxyuse.measure.engine import Measurement
from proxyuse.validity.association_bounds import Bounds, Values, association_bounds
from proxyuse.validity.sample import Observed, Sample, sample_of


def candidate_cuts(table: JointTable) -> int:
    """The number of tables from which a table was chosen on the same rows."""
    return table.cut.candidates if table.cut is not None and table.divided else 1


def table_bounds(
    engine: Measurement,
    measure: Association,
    term: Term,
    table: JointTable,
    observed: Observed,
    level: float,
    seed: int,
) -> Bounds:
    """Bounds for the association of a computation, given its joint table with an attribute."""
    rng = np.random.default_rng([seed, *term.digest])
    attribute = engine.protected_names.index(table.protected)
    if not needs_values(measure):
        level /= candidate_cuts(table)
        return association_bounds(measure, sample_of(engine, term, table, observed), level, rng)
    values, tables = engine.joint.valued(term)
    counts = observed.counts_of(tables[attribute])
    table_values = Values(values, engine.sample.protected[attribute][1].middles)
    return association_bounds(measure, Sample(counts, counts), level, rng, table_values)
