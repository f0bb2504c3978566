"""Partial sums: witnesses among the subsets of the operands of one associative operator.

A single operand and the whole operator are terms, and are measured as terms. Between them lie
2^k - k - 2 subsets of two or more operands. They are **exhausted** while subsets times rows fit a
budget, and **searched** otherwise.

Exhausted: every subset without a smaller witness inside it is screened (`measure.screen`), and
measured if the screen cannot exclude it. The result is every **minimal** witness: no smaller set,
single operands included, is one. Bounds that are monotone in the set may settle an operator at
once: no subset of some operands is a witness if they can move too few rows, or tell too little of
the protected attribute, all together. A set's own influence is not monotone and excludes nothing.

Searched: candidates are the prefixes of greedy paths (`measure.moments`). Each witness found is
reduced until it is **irreducible**: dropping any one operand leaves no witness.

For squared correlation with a numeric or binary protected attribute, a nonnegative least-squares
fit bounds every partial sum, and may settle the space. For mutual information no such bound is
known.

Sums of vectors are measured whole. Candidates for them come from each coordinate by itself.
Booleans and the factors of a product are taken as numbers to find candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from decimal import Decimal
from itertools import combinations

import numpy as np

from proxyuse.detect.greedy import Proposals
from proxyuse.detect.operand_sets import Operands, OperandSets
from proxyuse.detect.operators import (
    OVERHEAD,
    Operator,
    PartialSum,
    PartialSums,
    SumBudget,
    subset_count,
)
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Add, Mul, Term
from proxyuse.lang.positions import Site
from proxyuse.measure.association.information import entropy, mutual_information
from proxyuse.measure.association.measures.squared_correlation import SquaredCorrelation
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.association.support import Support
from proxyuse.measure.bounds.gram import Moments
from proxyuse.measure.bounds.screen import MAX_OPERANDS, SLACK, Screen
from proxyuse.measure.engine import Measurement

Masks = list[tuple[int, int]]
"""Sets of operands with the protected attributes they may be witnesses for, both as masks."""

CERTIFIED = 2**36
"""Operands squared times rows up to which a certificate is computed: some seconds."""


def search_partial_sums(
    engine: Measurement,
    operator: Operator,
    measure: Association,
    *,
    epsilon: float,
    delta: float,
    screen: Screen | None = None,
    budget: SumBudget | None = None,
    name: str = "the score",
    singles: Mapping[int, tuple[Array, float]] | None = None,
    elsewhere: Callable[[Term], Sequence[Site]] | None = None,
    appropriate: Callable[[Term], bool] | None = None,
    all_subsets: bool = False,
    tick: Callable[[int], None] | None = None,
) -> PartialSums:
    """Find the witnesses among the partial sums of one operator.

    Parameters
    ----------
    screen : bounds the association of a sum cheaply; None measures every set exactly.
    name : how `searched` calls the operator.
    singles : by step, the associations and the influence of single operands that are known;
        others are measured.
    elsewhere : the positions of a term at other places of the program.
    appropriate : whether a witness was judged appropriate. The search continues past it, to the
        sets that contain it.
    all_subsets : list every subset with all its measures.
    tick : called often, may raise to stop.

    Notes
    -----
    With k operands and n rows: exhausting costs a pass over the rows per subset and protected
    attribute. Searching costs the values of each operand once, a Gram matrix on some of the rows
    (O(k^2) time per row, O(k) memory per row), and a few hundred sums of up to k operands.
    """
    sets = OperandSets(
        engine, operator, measure, epsilon, delta, screen, singles or {},
        elsewhere or (lambda term: ()), tick or (lambda steps: None),
    )  # fmt: skip
    search = _Search(sets, budget or SumBudget(), name, appropriate or (lambda term: False))
    return search.list_all() if all_subsets else search.run()


class _Search:
    """One operator. Masks have a bit for each operand, in written order."""

    def __init__(
        self, sets: OperandSets, budget: SumBudget, name: str, appropriate: Callable[[Term], bool]
    ) -> None:
        self.sets, self.budget, self.name = sets, budget, name
        self.appropriate = appropriate
        self.engine, self.operator = sets.engine, sets.operator
        self.count, self.attributes = sets.count, sets.attributes
        self.everything = (1 << sets.count) - 1
        self.screened = 0
        self.found: dict[Operands, PartialSum] = {}
        self.witnesses: dict[int, list[int]] = {}  # by attribute; they block their supersets

    def list_all(self) -> PartialSums:
        """Every subset, smaller ones first; a search if there are too many."""
        if self.operator.subsets > self.budget.listed:
            return self.run()
        everyone = range(self.count)
        subsets = (s for size in range(2, self.count) for s in combinations(everyone, size))
        listed = [
            self.sets.measured(s, every=True) for s in subsets if self.sets.first_of_equals(s)
        ]
        passing = [s for s in listed if any(self.sets.passes(s, a) for a in self.attributes)]
        return self._result(passing, len(listed), True, listed)

    def run(self) -> PartialSums:
        """The minimal witnesses, or irreducible ones."""
        if self.count < 3:
            return self._result([], 0, True)
        self._block_singles()
        blocked = [_union(self.witnesses[a]) for a in self.attributes]
        free = [self.everything & ~mask for mask in blocked]
        open_ones = [a for a in self.attributes if free[a].bit_count() > 1]
        if not open_ones or self._excluded(self.operator.steps) or self._certified(open_ones):
            return self._result([], 0, True)
        if self._exhausted(blocked, _union([free[a] for a in open_ones])):
            measured = self.screened or self.sets.exact
            return self._result(self.found.values(), measured, True)
        remaining = self._remaining()
        if remaining is not None:
            self._measure(remaining, limited=False)
            return self._result(self.found.values(), self.sets.exact, True)
        for attribute in open_ones if self.budget.followed else ():
            self._follow_paths(attribute, free[attribute])
        return self._result(self.found.values(), len(self.sets.seen), False)

    def _result(
        self,
        witnesses: Iterable[PartialSum],
        measured: int,
        exhausted: bool,
        listed: Sequence[PartialSum] = (),
    ) -> PartialSums:
        ordered = sorted(witnesses, key=lambda found: (len(found.steps), found.steps))
        sentence = "" if exhausted else self._sentence(measured)
        return PartialSums(
            tuple(ordered), tuple(listed), measured, self.operator.subsets, exhausted, sentence
        )

    def _sentence(self, measured: int) -> str:
        match self.operator.term:
            case Add():
                subsets = f"Partial sums of the {self.count:,} terms"
            case Mul():
                subsets = f"Partial products of the {self.count:,} factors"
            case _:
                subsets = f"Subsets of the {self.count:,} conditions"
        total = self.operator.subsets
        of = f"{total:,}" if total < 10**12 else f"about {Decimal(total):.0e}"
        return (
            f"{subsets} of {self.name} were searched, not exhausted: "
            f"{measured:,} of {of} were measured."
        )

    def _block_singles(self) -> None:
        """Sets that contain a witness are not minimal, unless it was judged appropriate."""
        self.witnesses = {a: [] for a in self.attributes}
        for index, part in enumerate(self.sets.parts):
            associations, influence = self.sets.single(index)
            if influence > self.sets.delta and not self.appropriate(part):
                for attribute in self.attributes:
                    if associations[attribute] >= self.sets.epsilon:
                        self.witnesses[attribute].append(1 << index)

    # All sets

    def _exhausted(self, blocked: Sequence[int], union: int) -> bool:
        """Look at every set that may be a minimal witness, if the budget allows it."""
        work = (1 << union.bit_count()) * self.engine.n_rows
        if self.sets.screen is not None:
            if work > self.budget.screened or self.count > MAX_OPERANDS:
                return False
            return self._measure(self._survivors(self.sets.screen, blocked))
        if work + (1 << union.bit_count()) * OVERHEAD > self.budget.measured:
            return False
        free = [index for index in range(self.count) if union >> index & 1]
        subsets = (s for size in range(2, len(free) + 1) for s in combinations(free, size))
        masks = [_mask(subset) for subset in subsets]
        return self._measure(
            [(m, _mask(a for a in self.attributes if not m & blocked[a])) for m in masks]
        )

    def _survivors(self, screen: Screen, blocked: Sequence[int]) -> Masks:
        """The sets that a screen cannot exclude."""
        free = [i for i in range(self.count) if not all(mask >> i & 1 for mask in blocked)]
        operands = np.array([self.sets.values(index) for index in free])
        narrowed = [_mask(j for j, i in enumerate(free) if mask >> i & 1) for mask in blocked]
        found: Masks = []
        parts = screen.subsets(self.operator.term, operands, narrowed, self.sets.epsilon)
        for part in parts:
            self.sets.tick(0)
            found += [(_mask(i for j, i in enumerate(free) if m >> j & 1), a) for m, a in part]
        self.screened = subset_count(len(free)) + (len(free) < self.count)
        return found

    def _measure(self, sets: Masks, limited: bool = True) -> bool:
        """Measure sets, smaller ones first, unless they contain a witness. Whether it was done."""
        budget = self.budget.measured // (self.engine.n_rows + OVERHEAD)
        for mask, passing in sorted(sets, key=lambda pair: (pair[0].bit_count(), pair[0])):
            attributes = [
                a
                for a in self.attributes
                if passing >> a & 1 and not any(w & mask == w for w in self.witnesses[a])
            ]
            subset = tuple(index for index in range(self.count) if mask >> index & 1)
            if not attributes or mask == self.everything or not self.sets.first_of_equals(subset):
                continue
            if limited and self.sets.exact >= budget:
                return False
            measured = self.sets.seen[subset] = self.sets.measured(subset)
            self._note(subset, measured, attributes)
        return True

    def _note(self, subset: Operands, measured: PartialSum, attributes: Sequence[int]) -> None:
        """Keep a set if it is a witness; it blocks its supersets unless judged appropriate."""
        passing = [a for a in attributes if self.sets.passes(measured, a)]
        if passing:
            self.found[subset] = measured
            if not self.appropriate(measured.term):
                for attribute in passing:
                    self.witnesses[attribute].append(_mask(subset))

    # Bounds

    def _excluded(self, steps: Sequence[int]) -> bool:
        """Whether no subset of some operands can be a witness; monotone in the operands."""
        point = self.operator.points[0]
        if self.operator.alone and self.engine.operands_bound(point, steps) <= self.sets.delta:
            return True
        return self.sets.measure.information_bound and all(
            _tells_too_little(masses, self.sets.epsilon)
            for masses in self.engine.operands_tables(point, steps)
        )

    def _remaining(self) -> Masks | None:
        """The sets that bounds cannot exclude, or None if there are too many to know.

        Each set is visited once: from a set, operands before the last one taken out stay. Sets on
        the stack count as visited: they will be.
        """
        budget = self.budget.bounded // max(1, self.engine.n_rows)
        everyone = tuple(range(self.count))
        found: Masks = []
        visited = 0
        stack: list[tuple[Operands, int]] = [(everyone, 0)]
        while stack:
            if visited + len(stack) > budget:
                return None
            subset, first = stack.pop()
            visited += 1
            if len(subset) < 2 or self._excluded([self.sets.steps[i] for i in subset]):
                continue
            found.append((_mask(subset), _mask(self.attributes)))
            smaller = [(subset[:i] + subset[i + 1 :], i) for i in range(first, len(subset))]
            stack += reversed(smaller)  # those with most subsets next, to know soon how many
        return found

    def _certified(self, attributes: Sequence[int]) -> bool:
        """Whether nonnegative least squares exclude every partial sum; see `Moments.certificate`.

        A bound for squared correlation with a number or two values only: what holds for each
        category against the rest does not hold for all of them.
        """
        if not isinstance(self.sets.measure, SquaredCorrelation):
            return False
        if not isinstance(self.operator.term, Add) or not self.sets.numeric:
            return False
        supports = [self.engine.protected[a][1] for a in attributes]
        if any(z.values.dtype == np.int32 and len(z) > 2 for z in supports):
            return False
        if self.count**2 * self.engine.n_rows > CERTIFIED:
            return False
        operands = np.array([self.sets.values(index) for index in range(self.count)])
        targets = [_numbers(z)[z.codes] for z in supports]
        if not np.isfinite(operands).all() or not np.isfinite(targets).all():
            return False
        bounds = [Moments.of(operands, t, self.engine.weights).certificate() for t in targets]
        return max(bounds) < self.sets.epsilon

    # Search

    def _follow_paths(self, attribute: int, free: int) -> None:
        """Look for witnesses of one protected attribute along greedy paths."""
        support = self.engine.protected[attribute][1]
        proposals = Proposals.of(self.sets.values, self.count, support, self.engine.weights)
        # One of equal operands stands for all of them.
        usable = [free >> i & 1 and twin < 0 for i, twin in enumerate(self.sets.twins)]
        budget = self.budget.searched // max(1, self.engine.n_rows)
        limit = self.sets.exact + max(self.budget.followed, budget)
        most_work = self.sets.work + self.budget.combined
        for path in proposals.paths(np.array(usable, dtype=np.bool_)):
            if self.sets.work > most_work:
                return
            for subset in path.sets(self.count - 1):
                if self.sets.exact >= limit:
                    return
                witness = self.sets.witness(subset, attribute)
                if witness is None:
                    continue
                if self.appropriate(witness.term):
                    self._note(tuple(sorted(subset)), witness, [attribute])
                    continue
                reduced = self._reduced(subset, attribute)
                measured = self.sets.seen[reduced]
                assert measured is not None
                if reduced not in self.found:
                    proposals.avoid(reduced)
                self._note(reduced, measured, [attribute])
                break

    def _reduced(self, subset: Operands, attribute: int) -> Operands:
        """Drop operands while a witness is left: first many at once, in the end one by one."""
        block = max(1, len(subset) // 2)
        while True:
            dropped, first = False, 0
            while first < len(subset):
                smaller = subset[:first] + subset[first + block :]
                found = self.sets.witness(smaller, attribute) if len(smaller) > 1 else None
                if found is not None and not self.appropriate(found.term):
                    subset, dropped = smaller, True
                else:
                    first += block
            if block > 1:
                block //= 2
            elif not dropped:
                return tuple(sorted(subset))


def _mask(indices: Iterable[int]) -> int:
    return sum(1 << index for index in indices)


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _tells_too_little(masses: Array, epsilon: float) -> bool:
    """Whether the information about the protected attribute is below epsilon of its entropy."""
    whole = entropy(masses.sum(axis=0))
    return epsilon > 0 and (whole == 0 or mutual_information(masses) + SLACK < epsilon * whole)


def _numbers(support: Support) -> Array:
    """The values of a protected attribute as numbers; of two categories, 0 and 1."""
    if support.values.dtype == np.int32:
        return np.arange(len(support), dtype=np.float64)
    return np.asarray(support.middles, dtype=np.float64)
