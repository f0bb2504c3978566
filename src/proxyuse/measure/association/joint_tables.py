"""Joint tables of computations with the protected attributes, and their associations.

Joint tables follow from the values of a term (`Sample.values`) for any program. Costs are for
n rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term, Var
from proxyuse.measure.association.best_cut import best_measure, cut_at, cut_of_few
from proxyuse.measure.association.information import entropy
from proxyuse.measure.association.joint_table import JointTable, joint_masses, labels_of
from proxyuse.measure.association.measures.normalized_mutual_information import (
    NormalizedMutualInformation,
)
from proxyuse.measure.association.protocol import Association, association_of_values, needs_values
from proxyuse.measure.association.row_sets import RowSets
from proxyuse.measure.association.support import Support, cut, support_of, taken_together
from proxyuse.measure.sample import Sample

Part = tuple[Support, list[Array]]
"""The support of a computation, and its masses with each protected attribute."""


class JointTables:
    """The joint tables of a sample.

    Attributes
    ----------
    binned : the computations that have been binned so far.
    cut : the computations that have been measured by their best cut so far.
    long : computations with more than `max_support` values that are measured value by value.

    Examples
    --------
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> program = Program.parse("x <= 1")
    >>> joint = JointTables(Sample(program, people))
    >>> joint.tables(program.term, NormalizedMutualInformation())[0].masses.tolist()
    [[1.0, 2.0], [1.0, 0.0]]
    """

    def __init__(self, sample: Sample) -> None:
        self.sample = sample
        self.binned: dict[int, Term] = {}  # by id: digests of large terms are slow
        self.cut: dict[int, Term] = {}
        self.long: dict[int, Term] = {}
        self._labels = [labels_of(support, frame.vocabulary) for frame, support in sample.protected]

    # Supports and masses

    def parts(self, term: Term) -> list[Part]:
        """Return the support of a term and its masses with each protected attribute.

        Numbers are grouped as needed; a vector that is measured by its best cut has one part per
        coordinate. Costs O(n log n) for numbers, O(n) for booleans and categories.
        """
        parts = self._parts(term)
        support = parts[0][0]
        if self.is_cut(support for support, _ in parts):
            self.cut[id(term)] = term
        elif support.binned:
            self.binned[id(term)] = term
        elif len(support) > self.sample.max_support:
            self.long[id(term)] = term
        return parts

    def is_cut(self, supports: Iterable[Support]) -> bool:
        """Return whether a computation with these supports is measured by its best cut."""
        return self.sample.best_cut and any(support.binned for support in supports)

    def _parts(self, term: Term) -> list[Part]:
        sample, values = self.sample, self.sample.values(term)
        if values.dtype == np.float64 and not isinstance(term, Var):
            return self._parts_of(values)
        (support,) = sample.association_supports(term)
        return [(support, joint_masses(support, sample.attributes, sample.weights))]

    def _parts_of(self, values: Array) -> list[Part]:
        """Return the support of some values and its masses with each protected attribute."""
        sample = self.sample
        if values.dtype == np.float64:
            if sample.is_cut_vector(values):
                return [self._numbers(column, 0) for column in values.T]
            if values.ndim == 1 and sample.unit_weights and sample.many_rows:
                return [self._numbers(values, sample.max_support)]
        support = support_of(values, sample.n_rows)
        support = cut(support, sample.weights, sample.groups, sample.max_support)
        return [(support, joint_masses(support, sample.attributes, sample.weights))]

    def _numbers(self, values: Array, max_support: int) -> Part:
        sample = self.sample
        if sample.unit_weights and sample.many_rows:
            from proxyuse.measure.association.column_tables import count_numbers  # loads numba

            plain = np.require(values, np.float64, ["C", "W"])
            return count_numbers(plain, sample.attributes, sample.groups, max_support)
        support = support_of(sample.full(values), sample.n_rows)
        support = cut(support, sample.weights, sample.groups, max_support)
        return support, joint_masses(support, sample.attributes, sample.weights)

    def valued(self, term: Term) -> tuple[Array, list[Array]]:
        """Return the values of a term, not grouped, and their masses with each attribute."""
        support = self.sample.support(term)
        return support.values, joint_masses(support, self.sample.attributes, self.sample.weights)

    def row_sets(self, terms: Sequence[Term]) -> Iterator[tuple[int, RowSets | list[Support]]]:
        """Yield the index of each computation and its row sets, one at a time to save memory.

        A computation that is measured by its best cut has a support for each of its parts instead.
        """
        for index, term in enumerate(terms):
            self.sample.tick(0)
            supports = self.sample.association_supports(term)
            if self.is_cut(supports):
                yield index, supports
            else:
                yield index, RowSets.of(supports[0].codes, len(supports[0]))

    # Tables

    def tables(self, term: Term, measure: Association) -> list[JointTable]:
        """Return the joint table with each protected attribute, as the measure sees it.

        The table of a number with many values is that of its best cut. For a measure that reads
        values, it is the best cut by normalized mutual information.
        """
        parts = self.parts(term)
        support, masses = parts[0]
        if self.is_cut(support for support, _ in parts):
            return [self._cut_table(parts, measure, index) for index in range(len(masses))]
        order, vocabulary = self._order(support), self.sample.vocabulary
        rows = Support(
            np.empty(0, dtype=np.intp),
            support.values[order],
            None if support.upper is None else support.upper[order],
        )
        columns = zip(masses, self.sample.protected_names, self._labels, strict=True)
        return [
            JointTable(
                table[order], name, labels, rows, vocabulary, cut_of_few(measure, support, table)
            )
            for table, name, labels in columns
        ]

    def _order(self, support: Support) -> Array:
        """Return the values in order: categories by name, whatever the program reads first."""
        if support.values.dtype != np.int32:
            return np.arange(len(support))
        return np.argsort(labels_of(support, self.sample.vocabulary))

    def _cut_table(self, parts: Sequence[Part], measure: Association, index: int) -> JointTable:
        if needs_values(measure):
            measure = NormalizedMutualInformation()
        found = cut_at(measure, [(support, masses[index]) for support, masses in parts])
        name, labels = self.sample.protected_names[index], self._labels[index]
        if found is None:  # a constant
            support, masses = parts[0]
            return JointTable(masses[index], name, labels, support, self.sample.vocabulary)
        cut, table, rows = found
        return JointTable(table, name, labels, rows, self.sample.vocabulary, cut, divided=True)

    def support_in(self, term: Term, table: JointTable) -> Support:
        """Return the support of a term with the row of `table` that each row belongs to."""
        if table.cut is None or not table.divided:
            return self.sample.association_supports(term)[0]
        values = self.sample.values(term)
        if table.cut.coordinate is not None:
            values = values[:, table.cut.coordinate]
        codes = np.where(np.isnan(values), 2, values > table.cut.threshold).astype(np.intp)
        return Support(codes, table.support.values, table.support.upper)

    # Associations

    def associations(self, terms: Sequence[Term], measure: Association) -> Array:
        """Return the association of each computation with each protected attribute."""
        result = np.empty((len(terms), len(self.sample.protected)))
        for index, term in enumerate(terms):
            self.sample.tick(1)
            if needs_values(measure):
                result[index] = self._by_values(measure, *self.valued(term))
            else:
                result[index] = self._by_masses(measure, self.parts(term))
        return result

    def association_of(self, values: Array, measure: Association) -> Array:
        """Return the association of any values, one per row, with each protected attribute."""
        sample = self.sample
        values = sample.full(values)
        if needs_values(measure):
            support = support_of(values, sample.n_rows)
            tables = joint_masses(support, sample.attributes, sample.weights)
            return self._by_values(measure, support.values, tables)
        return self._by_masses(measure, self._parts_of(values))

    def _by_masses(self, measure: Association, parts: Sequence[Part]) -> Array:
        """Return the associations by a measure of tables; for parts, the largest."""
        if not self.is_cut(support for support, _ in parts):
            ((support, tables),) = parts
            order = self._order(support)
            return np.array([measure(table[order]) for table in tables])
        rules = [best_measure(measure, support) for support, _ in parts]
        each = [
            [rule(table) for table in tables]
            for rule, (_, tables) in zip(rules, parts, strict=True)
        ]
        return np.asarray(np.max(each, axis=0))

    def _by_values(self, measure: Association, values: Array, tables: Sequence[Array]) -> Array:
        """Return the associations by a measure that reads values."""
        pairs = zip(tables, self.sample.attributes, strict=True)
        return np.array([association_of_values(measure, t, values, z.middles) for t, z in pairs])

    def operands_information(
        self, operator: int, operands: Sequence[int]
    ) -> list[tuple[float, float]]:
        """Return what the joint values of some operands tell about each protected attribute.

        Returns their mutual information and the entropy of the attribute. Costs O(n log n) for each
        operand and attribute.
        """
        sample = self.sample
        below = sample.points.below(operator)
        parts = (sample.support(sample.points.terms[below[step]]) for step in operands)
        joint = taken_together(parts, sample.n_rows)
        rows = entropy(joint.masses(sample.weights))
        answers = []
        for z in sample.attributes:
            columns = entropy(z.masses(sample.weights))
            cells = np.unique(joint.codes * len(z) + z.codes, return_inverse=True)[1]
            both = entropy(np.bincount(cells, sample.weights))
            answers.append((max(0.0, rows + columns - both), columns))
        return answers
