"""Collective influence: several different computations take their values from the same other row.

A *collection* is a set of computations at disjoint positions. Its influence is the share of pairs
of rows in which the output changes if every computation of the collection takes the value that it
has in the other row:

    i(C) = E Pr[ p(X) != p2(X, t1(X'), ..., tk(X')) ]

Collections are measured as a nested family: the computations are in order, and a collection is a
prefix of this order. A `Family` evaluates prefixes: `measure.forests.collections` for the tests of
trees, `WrittenFamily` for any computations of any program. The first of these that applies gives
the answer:

1. Operands of one sum are one partial sum, whose own influence is the answer. Exact.
2. Rows are grouped by the joint value of the collection, and each joint value is tried on all rows.
   Exact, if there are few joint values.
3. Random pairs of rows are drawn by weight, the same ones for all prefixes. The interval of Clopper
   and Pearson is exact for independent pairs. Its level is divided among all prefixes and all sizes
   of the draw, so all intervals of a family hold at once with probability ``1 - BETA``.

`reference.py` defines the numbers, and tests compare every way and every family with it.

**Cost.** With random pairs, one evaluation per pair and prefix. For tests of trees, that is a walk
through the affected trees, and only for rows whose margin the collection can overcome.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from proxyuse.lang.evaluate import Array, evaluate
from proxyuse.lang.nodes import Add, Term, Var
from proxyuse.lang.positions import Site
from proxyuse.measure.association.support import support_of
from proxyuse.measure.bounds.changeable_rows import ChangeableRows
from proxyuse.measure.engine import Measurement
from proxyuse.measure.pair_sampling import PAIRS, Pairs
from proxyuse.measure.sample import Sample

BETA = 1e-6
"""The probability that any interval of a family misses its influence."""

MAX_PAIRS = 1 << 18
"""The number of pairs after which an interval may straddle the threshold."""

EXACT_WORK = 1 << 26
"""The values computed to try all joint values of the prefixes of a family: about half a second."""

OVERHEAD = 1 << 8
"""Starting an evaluation takes as long as evaluating this many rows."""

BLOCK = 1 << 14
"""The number of pairs evaluated at a time."""


@dataclass(frozen=True, slots=True)
class CollectiveInfluence:
    """The influence of a collection.

    Attributes
    ----------
    influence : the share of pairs in which the output changes; an estimate if pairs were drawn.
    low, high : an interval that contains the influence over all pairs; both are equal to it if it
        is exact.
    pairs : the number of pairs drawn; 0 if all pairs were counted.

    Examples
    --------
    >>> CollectiveInfluence.exactly(0.25)
    CollectiveInfluence(influence=0.25, low=0.25, high=0.25, pairs=0)
    """

    influence: float
    low: float
    high: float
    pairs: int = 0

    @classmethod
    def exactly(cls, influence: float) -> CollectiveInfluence:
        """Return an influence over all pairs."""
        return cls(influence, influence, influence)

    @property
    def exact(self) -> bool:
        """Whether all pairs were counted."""
        return self.pairs == 0


class Family(Protocol):
    """Computations in an order. A prefix of `size` computations is a collection."""

    @property
    def sample(self) -> Sample:
        """The program and the rows."""
        ...

    def __len__(self) -> int: ...

    def changed(self, size: int, rows: Array, others: Array) -> Array:
        """Return which pairs of rows change the output."""
        ...

    def exact(self, size: int) -> float | None:
        """Return the influence if it follows from a single computation, else None."""
        ...

    def codes(self, index: int) -> Array:
        """Return a number for each row; rows with equal numbers have the same value."""
        ...

    def work(self, size: int) -> int:
        """Return how many values are computed to try one joint value on all rows."""
        ...

    def bound(self, size: int) -> float:
        """Return an upper bound on the influence of every part of the collection.

        Each position independently takes any observed value.
        """
        ...


def collective_influences(
    family: Family, sizes: Sequence[int], threshold: float
) -> list[CollectiveInfluence]:
    """Measure the collections of the first `size` computations, for each size.

    Influence must be a share of pairs of rows (`Sample.counts_pairs`). If pairs are drawn, more are
    drawn until each interval lies on one side of the threshold, up to `MAX_PAIRS`.
    """
    known: dict[int, CollectiveInfluence | None] = {}
    budget = EXACT_WORK
    for size in sorted(set(sizes)):
        known[size], work = _exact(family, size, budget)
        budget -= work
    open_sizes = sorted(size for size, influence in known.items() if influence is None)
    drawn = _drawn(family, open_sizes, threshold) if open_sizes else {}
    return [known[size] or drawn[size] for size in sizes]


def _exact(family: Family, size: int, budget: int) -> tuple[CollectiveInfluence | None, int]:
    """The influence over all pairs, if it does not take more than a budget, and the work."""
    single = family.exact(size)
    if single is not None:
        return CollectiveInfluence.exactly(single), 0
    each = max(1, family.work(size)) if budget > 0 else 1
    joint = _joint_values(family, size, budget // each) if budget > 0 else None
    if joint is None:
        return None, 0
    sample, changing = family.sample, 0.0
    first, masses, codes = joint
    for code, (row, mass) in enumerate(zip(first, masses, strict=True)):
        sample.tick(0)
        rows = np.flatnonzero(codes != code)  # a row's own joint value changes nothing
        changed = family.changed(size, rows, np.full(len(rows), row))
        changing += float(mass) * float(np.dot(changed, sample.weights[rows]))
    influence = changing / (sample.total * sample.total)
    return CollectiveInfluence.exactly(influence), each * len(first)


def _joint_values(family: Family, size: int, most: int) -> tuple[Array, Array, Array] | None:
    """One row for each joint value of a collection, its mass, and the joint value of each row.

    None if there are too many joint values.
    """
    sample = family.sample
    codes, count = np.zeros(sample.n_rows, dtype=np.intp), 1
    for index in range(size):
        own = family.codes(index)
        _, codes = np.unique(codes * (int(own.max()) + 1) + own, return_inverse=True)
        count = int(codes.max()) + 1
        if count > most:
            return None
    first = np.unique(codes, return_index=True)[1]
    return first, np.bincount(codes, sample.weights, minlength=count), codes


def _drawn(
    family: Family, sizes: Sequence[int], threshold: float
) -> dict[int, CollectiveInfluence]:
    """Intervals from random pairs for each size, doubling the pairs while one is open."""
    source, counts = Pairs(family.sample), dict.fromkeys(sizes, 0)
    level = BETA / (2 * (MAX_PAIRS // PAIRS).bit_length() * len(sizes))
    result: dict[int, CollectiveInfluence] = {}
    pairs, remaining = 0, list(sizes)
    while remaining and pairs < MAX_PAIRS:
        more = max(PAIRS, pairs)
        rows, others = source.draw(more)
        pairs += more
        for size in remaining:
            for start in range(0, more, BLOCK):
                family.sample.tick(0)
                part = slice(start, start + BLOCK)
                changed = family.changed(size, rows[part], others[part])
                counts[size] += int(np.count_nonzero(changed))
            low, high = share_interval(counts[size], pairs, level)
            result[size] = CollectiveInfluence(counts[size] / pairs, low, high, pairs)
        remaining = [s for s in remaining if result[s].low <= threshold < result[s].high]
    return result


def share_interval(count: int, pairs: int, level: float) -> tuple[float, float]:
    """Return the interval of Clopper and Pearson; each side is wrong with probability `level`.

    Examples
    --------
    >>> low, high = share_interval(50, 1000, 0.025)
    >>> round(low, 4), round(high, 4)
    (0.0373, 0.0654)
    """
    from scipy.special import betaincinv  # loads slowly

    low = float(betaincinv(count, pairs - count + 1, level)) if count else 0.0
    high = float(betaincinv(count + 1, pairs - count, 1 - level)) if count < pairs else 1.0
    return low, high


@dataclass(frozen=True, slots=True, eq=False)
class Member:
    """A computation of a collection, with the positions that read the other row."""

    term: Term
    sites: Sequence[Site]


class WrittenFamily:
    """Any computations of any program: the values of the other row replace them.

    Examples
    --------
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> program = Program.parse("ite(x <= 1, ite(y <= 1, 0, 1), ite(y <= 1, 1, 0))")
    >>> data = {"x": [1, 2, 1, 2], "y": [1, 2, 1, 2], "z": [0, 1, 0, 1]}
    >>> measurement = Measurement(Sample(program, Population.build(data, protected="z")))
    >>> terms = measurement.points.terms
    >>> sites = [[Site(1)], [Site(5), Site(11)]]  # x <= 1, and y <= 1 twice
    >>> members = [Member(terms[own[0].point], own) for own in sites]
    >>> family = WrittenFamily(measurement, members)
    >>> [known.influence for known in collective_influences(family, [1, 2], 0.05)]
    [0.5, 0.0]
    """

    def __init__(self, measurement: Measurement, members: Sequence[Member]) -> None:
        self.measurement, self.members = measurement, members
        name = measurement.sample.hole.name
        self._holes = [Var(f"{name}{number}") for number in range(len(members))]
        self._context: tuple[int, Term] = 0, measurement.program.term

    @property
    def sample(self) -> Sample:
        """The program and the rows."""
        return self.measurement.sample

    def __len__(self) -> int:
        return len(self.members)

    def changed(self, size: int, rows: Array, others: Array) -> Array:
        """Evaluate the program on the pairs, with the values of either row."""
        sample = self.sample
        if self._context[0] != size:
            holes = {
                site: hole
                for member, hole in zip(self.members[:size], self._holes, strict=False)
                for site in member.sites
            }
            self._context = size, sample.points.replace(holes)
        columns = {name: column[rows] for name, column in sample.frame.arrays.items()}
        own = [sample.values(member.term) for member in self.members[:size]]

        def output(source: Array) -> Array:
            holes = {h.name: v[source] for h, v in zip(self._holes, own, strict=False)}
            result = evaluate(self._context[1], {**columns, **holes}, sample.vocabulary)
            return np.broadcast_to(result, (len(rows), *result.shape[1:]))

        with np.errstate(all="ignore"):
            return np.asarray(sample.loss.loss(output(rows), output(others)), dtype=np.bool_)

    def exact(self, size: int) -> float | None:
        """Return the influence of one computation, or of operands of one sum."""
        members = self.members[:size]
        if size == 1:
            return self.measurement.influence(list(members[0].sites))
        sites = [site for member in members for site in member.sites]
        points = self.sample.points
        above = {points.parents[site.point] for site in sites}
        if len(above) > 1 or any(site.operands for site in sites):
            return None
        (operator,) = above
        if not isinstance(points.terms[operator], Add):
            return None
        steps = tuple(sorted(points.steps[site.point] for site in sites))
        every = len(steps) == len(points.below(operator))
        return self.measurement.influence([Site(operator, () if every else steps)])

    def codes(self, index: int) -> Array:
        """Return the index of each row's value."""
        values = self.sample.values(self.members[index].term)
        return support_of(values, self.sample.n_rows, signed_zero=True).codes

    def work(self, size: int) -> int:
        """Rows times the nodes of the program."""
        return (self.sample.n_rows + OVERHEAD) * len(self.sample.points)

    def bound(self, size: int) -> float:
        """Return the share of rows that some values can change, by interval analysis."""
        sample = self.sample
        members = self.members[:size]
        sites = [site for member in members for site in member.sites]
        values = [sample.values(member.term) for member in members for _ in member.sites]
        return ChangeableRows.of(sample).rows_at_each(sites, values) / sample.total
