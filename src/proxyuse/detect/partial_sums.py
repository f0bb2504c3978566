"""Partial sums: witnesses among the subsets of the operands of one associative operator.

A single operand and the whole operator are terms, and are measured as terms. Between them lie
2^k - k - 2 subsets of two or more operands. They are **exhausted** while subsets times rows fit a
budget, and **searched** otherwise.

Exhausted: every subset that contains no smaller witness is screened (`measure.bounds.screen`), and
measured if the screen cannot exclude it. The result is every **minimal** witness: no smaller set,
including single operands, is one. Monotone bounds may settle an operator at once: no subset of some
operands is a witness if all of them together can change too few rows, or carry too little
information about the protected attribute. A set's own influence is not monotone, so it excludes
nothing.

Searched: candidates are the prefixes of greedy paths (`greedy`). Each witness is reduced until it
is **irreducible**: dropping any one operand leaves no witness.

What was found on some rows cannot be confirmed on the same rows, unless all sets share the level.
So a search also **chooses** one set per protected attribute for confirmation: on one half of the
rows, the prefix of a greedy path that passes both thresholds most clearly. An irreducible witness
barely passes, so no other rows could confirm it; the chosen set has more operands.

For squared correlation with a numeric or binary protected attribute, a nonnegative least-squares
fit bounds every partial sum, and may settle the space. For mutual information, no such bound is
known.

Sums of vectors are measured whole. Their candidates come from one coordinate at a time. To find
candidates, booleans and the factors of a product are treated as numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Literal

import numpy as np

from proxyuse.detect.greedy import Path, Proposals
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
from proxyuse.measure.association.information import entropy
from proxyuse.measure.association.measures.squared_correlation import SquaredCorrelation
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.association.support import Support
from proxyuse.measure.bounds.gram import Moments
from proxyuse.measure.bounds.screen import MAX_OPERANDS, SLACK, Screen
from proxyuse.measure.engine import Measurement
from proxyuse.measure.row_order import content_order
from proxyuse.notes import OperandsSearched

Masks = list[tuple[int, int]]
"""Sets of operands with the protected attributes they may be witnesses for, both as masks."""

ROUNDS = 4
"""How often a path is chosen again without the single operands that are witnesses."""

CLEARLY = 6.0
"""A set that passes by this many standard errors is chosen for confirmation."""

CUTS = 1.8
"""An association has to pass by more standard errors: its bound pays for the choice of a cut."""

MANY_ROWS = 1 << 14
"""With more rows, what a path collects by chance does not matter."""

MOST_INFORMATIVE = 32
"""More operands than this hardly ever carry too little information together."""

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
    half: Callable[[], Measurement | None] | None = None,
) -> PartialSums:
    """Find the witnesses among the partial sums of one operator.

    Parameters
    ----------
    screen : a cheap bound on the association of a sum. Without it, every set is measured exactly.
    name : the name of the operator in `searched`.
    singles : the known associations and influence of single operands, by step. Others are
        measured.
    elsewhere : returns the positions of a term elsewhere in the program.
    appropriate : whether a witness was judged appropriate. The search continues past it, to the
        sets that contain it.
    all_subsets : list every subset with all its measures.
    tick : called often; may raise to stop.
    half : returns the measurement on the rows that choose what is confirmed on the others.

    Notes
    -----
    With k operands, exhausting takes a pass over the rows per subset and protected attribute.
    Searching takes the values of each operand once, a Gram matrix on some of the rows (O(k^2) time
    and O(k) memory per row), and a few hundred sums of up to k operands.
    """
    sets = OperandSets(
        engine, operator, measure, epsilon, delta, screen, singles or {},
        elsewhere or (lambda term: ()), tick or (lambda steps: None),
    )  # fmt: skip
    search = _Search(
        sets, budget or SumBudget(), name, appropriate or (lambda term: False),
        half or (lambda: None),
    )  # fmt: skip
    return search.list_all() if all_subsets else search.run()


class _Search:
    """The search at one operator. Masks have one bit per operand, in written order."""

    def __init__(
        self,
        sets: OperandSets,
        budget: SumBudget,
        name: str,
        appropriate: Callable[[Term], bool],
        half: Callable[[], Measurement | None],
    ) -> None:
        self.sets, self.budget, self.name = sets, budget, name
        self.appropriate, self.half = appropriate, half
        self.engine, self.operator = sets.engine, sets.operator
        self.count, self.attributes = sets.count, sets.attributes
        self.everything = (1 << sets.count) - 1
        self.screened = 0
        self.witnesses: dict[Operands, PartialSum] = {}
        self.blocking: dict[int, list[int]] = {}  # per attribute, witnesses block their supersets

    def list_all(self) -> PartialSums:
        """Every subset, smaller ones first; a search if there are too many."""
        if self.operator.subsets > self.budget.listed:
            return self.run()
        operands = range(self.count)
        subsets = (s for size in range(2, self.count) for s in combinations(operands, size))
        listed = [
            self.sets.measured(s, every=True) for s in subsets if self.sets.is_first_of_equals(s)
        ]
        passing = [s for s in listed if any(self.sets.passes(s, a) for a in self.attributes)]
        return self._result(passing, len(listed), True, listed)

    def run(self) -> PartialSums:
        """The minimal witnesses, or irreducible ones."""
        if self.count < 3:
            return self._result([], 0, True)
        self._block_singles()
        blocked = [_union(self.blocking[a]) for a in self.attributes]
        free = [self.everything & ~mask for mask in blocked]
        unsettled = [a for a in self.attributes if free[a].bit_count() > 1]
        if not unsettled or self._excluded(self.operator.steps) or self._certified(unsettled):
            return self._result([], 0, True)
        if self._exhausted(blocked, _union([free[a] for a in unsettled])):
            measured = self.screened or self.sets.exact
            return self._result(self.witnesses.values(), measured, True)
        remaining = self._remaining()
        if remaining is not None:
            self._measure(remaining, limited=False)
            return self._result(self.witnesses.values(), self.sets.exact, True)
        if not self.budget.followed:
            return self._result([], 0, False)
        for attribute in unsettled:
            self._follow_paths(attribute, free[attribute])
        chosen = self._choose(unsettled)
        result = self._result(self.witnesses.values(), len(self.sets.seen), False)
        return replace(result, chosen=chosen)

    def _result(
        self,
        witnesses: Iterable[PartialSum],
        measured: int,
        exhausted: bool,
        listed: Sequence[PartialSum] = (),
    ) -> PartialSums:
        ordered = sorted(witnesses, key=lambda witness: (len(witness.steps), witness.steps))
        searched = None if exhausted else self._searched(measured)
        return PartialSums(
            tuple(ordered), tuple(listed), measured, self.operator.subsets, exhausted, searched
        )

    def _searched(self, measured: int) -> OperandsSearched:
        operands: Literal["terms", "factors", "conditions"]
        match self.operator.term:
            case Add():
                operands = "terms"
            case Mul():
                operands = "factors"
            case _:
                operands = "conditions"
        return OperandsSearched(operands, self.count, self.name, measured, self.operator.subsets)

    def _block_singles(self) -> None:
        """Block the sets that contain a single witness, unless it was judged appropriate."""
        self.blocking = {a: [] for a in self.attributes}
        for index, part in enumerate(self.sets.parts):
            associations, influence = self.sets.single(index)
            if influence > self.sets.delta and not self.appropriate(part):
                for attribute in self.attributes:
                    if associations[attribute] >= self.sets.epsilon:
                        self.blocking[attribute].append(1 << index)

    # All sets

    def _exhausted(self, blocked: Sequence[int], union: int) -> bool:
        """Check every set that may be a minimal witness; False if the budget is too small."""
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
        survivors: Masks = []
        parts = screen.subsets(self.operator.term, operands, narrowed, self.sets.epsilon)
        for part in parts:
            self.sets.tick(0)
            survivors += [(_mask(i for j, i in enumerate(free) if m >> j & 1), a) for m, a in part]
        self.screened = subset_count(len(free)) + (len(free) < self.count)
        return survivors

    def _measure(self, sets: Masks, limited: bool = True) -> bool:
        """Measure sets that contain no witness, smaller ones first; False if out of budget."""
        budget = self.budget.measured // (self.engine.n_rows + OVERHEAD)
        for mask, passing in sorted(sets, key=lambda pair: (pair[0].bit_count(), pair[0])):
            attributes = [
                a
                for a in self.attributes
                if passing >> a & 1 and not any(w & mask == w for w in self.blocking[a])
            ]
            subset = tuple(index for index in range(self.count) if mask >> index & 1)
            is_first = self.sets.is_first_of_equals(subset)
            if not attributes or mask == self.everything or not is_first:
                continue
            if limited and self.sets.exact >= budget:
                return False
            measured = self.sets.seen[subset] = self.sets.measured(subset)
            self._keep_witness(subset, measured, attributes)
        return True

    def _keep_witness(
        self, subset: Operands, measured: PartialSum, attributes: Sequence[int]
    ) -> None:
        """Keep a set if it is a witness. It blocks its supersets unless judged appropriate."""
        passing = [a for a in attributes if self.sets.passes(measured, a)]
        if passing:
            self.witnesses[subset] = measured
            if not self.appropriate(measured.term):
                for attribute in passing:
                    self.blocking[attribute].append(_mask(subset))

    # Bounds

    def _excluded(self, steps: Sequence[int]) -> bool:
        """Whether no subset of some operands can be a witness; monotone in the operands."""
        point = self.operator.points[0]
        if self.operator.unique and self.engine.operands_bound(point, steps) <= self.sets.delta:
            return True
        if len(steps) > MOST_INFORMATIVE or not self.sets.measure.information_bound:
            return False
        return all(
            _has_too_little_information(information, whole, self.sets.epsilon)
            for information, whole in self.engine.operands_information(point, steps)
        )

    def _remaining(self) -> Masks | None:
        """The sets that bounds cannot exclude, or None if there are too many to visit.

        Each set is visited once, because operands are removed in ascending order. Sets on the
        stack count as visited.
        """
        budget = self.budget.bounded // max(1, self.engine.n_rows)
        if self.count > budget:
            return None
        remaining: Masks = []
        visited = 0
        stack: list[tuple[Operands, int]] = [(tuple(range(self.count)), 0)]
        while stack:
            if visited + len(stack) > budget:
                return None
            subset, first = stack.pop()
            visited += 1
            if len(subset) < 2 or self._excluded([self.sets.steps[i] for i in subset]):
                continue
            remaining.append((_mask(subset), _mask(self.attributes)))
            smaller = [(subset[:i] + subset[i + 1 :], i) for i in range(first, len(subset))]
            stack += reversed(smaller)  # largest first, to run out of budget early
        return remaining

    def _certified(self, attributes: Sequence[int]) -> bool:
        """Whether nonnegative least squares excludes every partial sum; see `Moments.certificate`.

        The bound holds for squared correlation with a number or two categories. With more
        categories, one-vs-rest bounds do not bound the whole.
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
        """Search for witnesses of one protected attribute along greedy paths."""
        proposals = self._proposals(self.sets, attribute)
        budget = self.budget.searched // max(1, self.engine.n_rows)
        limit = self.sets.exact + max(self.budget.followed, budget)
        most_work = self.sets.work + self.budget.combined
        for path in proposals.paths(self._usable(free)):
            if self.sets.work > most_work:
                return
            for subset in path.sets(self.count - 1):
                if self.sets.exact >= limit:
                    return
                witness = self.sets.witness(subset, attribute)
                if witness is None:
                    continue
                if self.appropriate(witness.term):
                    self._keep_witness(tuple(sorted(subset)), witness, [attribute])
                    continue
                if any(mask & _mask(subset) == mask for mask in self.blocking[attribute]):
                    break  # it contains a witness that is known
                reduced = self._reduced(subset, attribute)
                measured = self.sets.seen[reduced]
                assert measured is not None
                if reduced not in self.witnesses:
                    proposals.avoid(reduced)
                self._keep_witness(reduced, measured, [attribute])
                break

    def _usable(self, free: int) -> Array:
        """The operands of paths. The first of equal operands represents all of them."""
        equal = enumerate(self.sets.previous_equal)
        return np.array([free >> i & 1 and p < 0 for i, p in equal], dtype=np.bool_)

    def _proposals(self, sets: OperandSets, attribute: int, rows: Array | None = None) -> Proposals:
        engine = sets.engine
        support = engine.protected[attribute][1]
        rows = content_order(engine.sample) if rows is None else rows
        return Proposals.of(sets.values, self.count, support, engine.weights, rows)

    def _choose(self, attributes: Sequence[int]) -> tuple[tuple[int, PartialSum], ...]:
        """Choose a set on half of the rows for each attribute.

        The other rows decide nothing, except that a set must pass on all rows and contain no single
        operand that is a witness there.
        """
        half = self.half() if attributes else None
        if half is None:
            return ()
        sets, chosen = self.sets.on(half), []
        for attribute in attributes:
            subset = self._chosen(sets, attribute, self._usable(self.everything))
            witness = None if subset is None else self.sets.witness(subset, attribute)
            if subset is None or witness is None or self.appropriate(witness.term):
                continue
            if not any(1 << index in self.blocking[attribute] for index in subset):
                chosen.append((attribute, witness))
        return tuple(chosen)

    def _chosen(self, sets: OperandSets, attribute: int, allowed: Array) -> Operands | None:
        """Choose a set on some rows, without single operands that are witnesses there."""
        for _ in range(ROUNDS):
            paths = list(self._proposals(sets, attribute).paths(allowed))
            if not paths:
                return None
            path = max(paths, key=lambda path: path.score)
            subset = _clearest(sets, path, attribute, self._kept(sets, attribute, allowed, path))
            alone = [index for index in subset or () if sets.alone(index, attribute)]
            if not alone:
                return subset
            allowed = allowed.copy()
            allowed[alone] = False
        return None

    def _kept(
        self, sets: OperandSets, attribute: int, allowed: Array, path: Path
    ) -> dict[int, float]:
        """The share of the squared correlation that paths keep on rows that did not choose them.

        By number of operands: with few rows, a long path collects operands that are correlated by
        chance. All of it is kept if there are many rows.
        """
        rows = content_order(sets.engine.sample)
        if len(rows) > MANY_ROWS:
            return {}
        parts = rows[::2], rows[1::2]
        moments = [self._proposals(sets, attribute, some).moments[path.index] for some in parts]
        kept: dict[int, float] = {}
        for own, other in (moments, moments[::-1]):
            first = next(own.forward((), path.sign, allowed))
            again = Path(own, path.index, path.sign, (first,), allowed)
            for subset in again.steps(self.count - 1):
                seen = own.squared_correlation(subset)
                share = other.squared_correlation(subset) / seen if seen > 0 else 0.0
                kept[len(subset)] = kept.get(len(subset), 0.0) + min(1.0, share) / 2
        return kept

    def _reduced(self, subset: Operands, attribute: int) -> Operands:
        """Drop operands while the rest is a witness: many at once first, then one by one."""
        block = max(1, len(subset) // 2)
        while True:
            dropped, first = False, 0
            while first < len(subset):
                smaller = subset[:first] + subset[first + block :]
                witness = self.sets.witness(smaller, attribute) if len(smaller) > 1 else None
                if witness is not None and not self.appropriate(witness.term):
                    subset, dropped = smaller, True
                else:
                    first += block
            if block > 1:
                block //= 2
            elif not dropped:
                return tuple(sorted(subset))


def _clearest(
    sets: OperandSets, path: Path, attribute: int, kept: Mapping[int, float]
) -> Operands | None:
    """The smallest prefix that passes both thresholds clearly, or the one that does so most.

    How clearly is measured in standard errors, to first order: for an association d, that of
    ``d = I / H`` near independence, and for an influence, that of a share of half as many pairs.
    `kept` says, by size, how much of an association other rows are expected to show.
    """
    engine, best, most = sets.engine, None, 0.0
    support = engine.protected[attribute][1]
    spread = max(entropy(support.masses(engine.weights)), 1e-9) + math.log(2)
    for subset in path.steps(sets.count - 1):
        measured = sets.measured(subset)
        association, influence = measured.associations[attribute], measured.influence
        association *= kept.get(len(subset), 1.0)
        if association < sets.epsilon or influence <= sets.delta:
            continue
        clear = math.sqrt(engine.n_rows / 2) * min(
            (association - sets.epsilon) / math.sqrt(association / spread) / CUTS,
            (influence - sets.delta) / math.sqrt(influence * max(1 - influence, 0.01)),
        )
        if clear > most:
            best, most = subset, clear
        if clear >= CLEARLY:
            break
    return best


def _mask(indices: Iterable[int]) -> int:
    return sum(1 << index for index in indices)


def _union(masks: Iterable[int]) -> int:
    union = 0
    for mask in masks:
        union |= mask
    return union


def _has_too_little_information(information: float, whole: float, epsilon: float) -> bool:
    """Whether the mutual information is below epsilon times the protected attribute's entropy."""
    return epsilon > 0 and (whole == 0 or information + SLACK < epsilon * whole)


def _numbers(support: Support) -> Array:
    """The values of a protected attribute as numbers. Two categories become 0 and 1."""
    if support.values.dtype == np.int32:
        return np.arange(len(support), dtype=np.float64)
    return np.asarray(support.middles, dtype=np.float64)
