"""Joint tables of computations with the protected attributes, and their associations.

Joint tables follow from the values of a term (`Sample.values`) for any program. Costs are for
n rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term, Var
from proxyuse.measure.association.joint_table import JointTable, joint_masses, labels_of
from proxyuse.measure.association.protocol import Association, association_of_values, needs_values
from proxyuse.measure.association.row_sets import RowSets
from proxyuse.measure.association.support import Support, cut, support_of, taken_together
from proxyuse.measure.sample import Sample


class JointTables:
    """The joint tables of a sample.

    Attributes
    ----------
    binned : the computations that have been binned so far.
    long : computations with more than `max_support` values that cannot be binned.

    Examples
    --------
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> program = Program.parse("x <= 1")
    >>> JointTables(Sample(program, people)).tables(program.term)[0].masses.tolist()
    [[1.0, 2.0], [1.0, 0.0]]
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.binned: dict[int, Term] = {}  # by id: digests of large terms are slow
        self.long: dict[int, Term] = {}
        self._labels = [labels_of(support, frame.vocabulary) for frame, support in sample.protected]

    def tables(self, term: Term) -> list[JointTable]:
        """Return the joint table with each protected attribute, with numbers binned as needed.

        Costs O(n log n) for numbers, O(n) for booleans and categories.
        """
        support, masses = self._support_and_masses(term)
        if support.binned:
            self.binned[id(term)] = term
        elif len(support) > self.sample.max_support:
            self.long[id(term)] = term
        order = np.arange(len(support))
        vocabulary = self.sample.vocabulary
        if support.values.dtype == np.int32:  # categories in alphabetical order
            order = np.argsort(labels_of(support, vocabulary))
        rows = Support(
            np.empty(0, dtype=np.intp),
            support.values[order],
            None if support.upper is None else support.upper[order],
        )
        columns = zip(masses, self.sample.protected_names, self._labels, strict=True)
        return [
            JointTable(table[order], name, labels, rows, vocabulary)
            for table, name, labels in columns
        ]

    def _support_and_masses(self, term: Term) -> tuple[Support, list[Array]]:
        sample, values = self.sample, self.sample.values(term)
        numbers = values.dtype == np.float64 and values.ndim == 1
        if numbers and not isinstance(term, Var) and sample.unit_weights and sample.many_rows:
            from proxyuse.measure.association.column_tables import count_numbers  # loads numba

            plain = np.require(values, np.float64, ["C", "W"])
            return count_numbers(plain, sample.attributes, sample.bins, sample.max_support)
        support = sample.association_support(term)
        return support, joint_masses(support, sample.attributes, sample.weights)

    def masses(self, terms: Sequence[Term]) -> list[list[Array]]:
        """Return the masses of each computation by value or bin, for each protected attribute."""
        return [[table.masses for table in self.tables(term)] for term in terms]

    def valued(self, term: Term) -> tuple[Array, list[Array]]:
        """Return the unbinned values of a term and their masses with each protected attribute."""
        support = self.sample.support(term)
        return support.values, joint_masses(support, self.sample.attributes, self.sample.weights)

    def row_sets(self, terms: Sequence[Term]) -> Iterator[tuple[int, RowSets]]:
        """Yield the index of each computation and its row sets, one at a time to save memory."""
        for index, term in enumerate(terms):
            self.sample.tick(0)
            support = self.sample.association_support(term)
            yield index, RowSets.of(support.codes, len(support))

    def associations(self, terms: Sequence[Term], measure: Association) -> Array:
        """Return the association of each computation with each protected attribute."""
        result = np.empty((len(terms), len(self.sample.protected)))
        for index, term in enumerate(terms):
            self.sample.tick(1)
            if needs_values(measure):
                result[index] = self._by_values(measure, *self.valued(term))
            else:
                result[index] = [measure(table.masses) for table in self.tables(term)]
        return result

    def association_of(self, values: Array, measure: Association) -> Array:
        """Return the association of any values, one per row, with each protected attribute."""
        sample = self.sample
        support = support_of(sample.full(values), sample.n_rows)
        if needs_values(measure):
            tables = joint_masses(support, sample.attributes, sample.weights)
            return self._by_values(measure, support.values, tables)
        support = cut(support, sample.weights, sample.bins, sample.max_support)
        tables = joint_masses(support, sample.attributes, sample.weights)
        return np.array([measure(table) for table in tables])

    def _by_values(self, measure: Association, values: Array, tables: Sequence[Array]) -> Array:
        """Return the associations by a measure that reads values."""
        pairs = zip(tables, self.sample.attributes, strict=True)
        return np.array([association_of_values(measure, t, values, z.middles) for t, z in pairs])

    def operands_tables(self, operator: int, operands: Sequence[int]) -> list[Array]:
        """Return the masses of the joint values of some operands with each protected attribute."""
        sample = self.sample
        below = sample.points.below(operator)
        parts = (sample.support(sample.points.terms[below[step]]) for step in operands)
        joint = taken_together(parts, sample.n_rows)
        return joint_masses(joint, sample.attributes, sample.weights)
