"""Candidates among the partial sums of many operands: prefixes of greedy paths.

At each step a path adds the operand that most increases the correlation of the sum with the
protected attribute. A path starts at the best operand or at the best pair, because two operands
together may be associated where neither is alone. Correlations come from the Gram matrix of the
operands, on at most a few thousand rows if there are many operands. Candidates are then measured
exactly on all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.support import Support
from proxyuse.measure.bounds.gram import Moments, centered_rows

WORK = 2**28
"""Limit on the multiplications for a Gram matrix: less than a tenth of a second."""

LEAST_ROWS = 2048
MOST_TARGETS = 16
MOST_COORDINATES = 16
SAME = 1e-9
"""Sums of two coordinates that differ by less are constant."""

EACH = 6
"""All prefixes up to this size are candidates. Beyond it, sizes grow by two fifths."""

SWAPS = 16
RESTARTS = 4
"""Paths that avoid an operand of a known witness, to find other witnesses."""


@dataclass(frozen=True, slots=True, eq=False)
class Path:
    """Operands in greedy order, for one target and sign; `index` is that of the moments."""

    moments: Moments
    index: int
    sign: int
    start: tuple[int, ...]
    allowed: Array

    def sets(self, largest: int) -> Iterator[tuple[int, ...]]:
        """Sets of 2 to `largest` operands: prefixes, and the best prefix after local swaps."""
        order = [*self.start, *self.moments.forward(self.start, self.sign, self.allowed)]
        sizes = _sizes(min(largest, len(order)))
        for size in sizes:
            yield tuple(order[:size])
        scores = [self.moments.squared_correlation(order[:size]) for size in sizes]
        if scores:
            best = order[: sizes[int(np.argmax(scores))]]
            swapped = self.moments.swapped(best, self.sign, self.allowed, SWAPS)
            if swapped != sorted(best):
                yield tuple(swapped)

    def steps(self, largest: int) -> list[tuple[int, ...]]:
        """A few prefixes of up to `largest` operands; each is about 1.4 times the one before."""
        order = [*self.start, *self.moments.forward(self.start, self.sign, self.allowed)]
        most = min(largest, len(order))
        sizes = sorted({min(most, round(2 ** (1 + half / 2))) for half in range(64)})
        return [tuple(order[:size]) for size in sizes if size > 1]

    @property
    def score(self) -> float:
        """The largest squared correlation of a few prefixes with the target."""
        sets = self.steps(len(self.allowed))
        return max(map(self.moments.squared_correlation, sets), default=0.0)


@dataclass(slots=True, eq=False)
class Proposals:
    """Greedy paths for one protected attribute.

    Attributes
    ----------
    moments : one per target and coordinate of the operands.
    avoided : operands of known witnesses. Later paths avoid them, one at a time.
    """

    moments: Sequence[Moments]
    avoided: list[int] = field(default_factory=list)

    @classmethod
    def of(
        cls,
        values: Callable[[int], Array],
        count: int,
        support: Support,
        weights: Array,
        rows: Array,
    ) -> Proposals:
        """Proposals for `count` operands. `values` returns the values of one operand.

        Evaluates each operand once. Takes O(k^2) time and O(k) memory per row, for each coordinate
        of a vector. If there are many operands, only the first of `rows` are used.
        """
        rows = rows[: max(LEAST_ROWS, WORK // max(1, count * count))]
        if len(rows) == len(weights):
            rows = np.arange(len(weights))
        columns = np.array([np.asarray(values(index)[rows]) for index in range(count)])
        if columns.ndim == 2:
            columns = columns[:, :, None]
        moments: list[Moments] = []
        for coordinate in _coordinates(columns):
            centered = centered_rows(columns[:, :, coordinate], weights[rows])
            gram = centered @ centered.T
            moments += [
                Moments.of_centered(gram, centered, target[rows], weights[rows])
                for target in _targets(support, weights)
            ]
        return cls(moments)

    def avoid(self, subset: Sequence[int]) -> None:
        """Add later paths that avoid each operand of a set in turn."""
        self.avoided += [index for index in subset if index not in self.avoided]

    def paths(self, allowed: Array) -> Iterator[Path]:
        """Paths from the best operand and the best pair, then those that avoid operands."""
        yield from self._paths(allowed)
        restarts = 0
        while restarts < min(len(self.avoided), RESTARTS):  # the caller adds to it meanwhile
            narrowed = allowed.copy()
            narrowed[self.avoided[restarts]] = False
            restarts += 1
            yield from self._paths(narrowed)

    def _paths(self, allowed: Array) -> Iterator[Path]:
        if np.count_nonzero(allowed) < 2:
            return
        for index, moments in enumerate(self.moments):
            for sign in (1, -1):
                first = next(moments.forward((), sign, allowed))
                yield Path(moments, index, sign, (first,), allowed)
                pair = moments.best_pair(sign, allowed)
                if pair is not None and first not in pair:
                    yield Path(moments, index, sign, pair, allowed)


def _coordinates(columns: Array) -> range:
    """The coordinates of vectors; the last of two that add up to a constant says no more."""
    width = columns.shape[2]
    if width == 2 and np.ptp(columns.sum(axis=2), axis=1).max(initial=0.0) < SAME:
        return range(1)
    return range(min(width, MOST_COORDINATES))


def _sizes(largest: int) -> list[int]:
    """The sizes of the prefixes that are candidates.

    Examples
    --------
    >>> _sizes(20)
    [2, 3, 4, 5, 6, 8, 11, 15, 20]
    """
    sizes = list(range(2, min(EACH, largest) + 1))
    while sizes and sizes[-1] < largest:
        sizes.append(min(largest, max(sizes[-1] + 1, sizes[-1] * 7 // 5)))
    return sizes


def _targets(support: Support, weights: Array) -> list[Array]:
    """The targets of the correlation: the number itself, and each value against the rest."""
    masses = support.masses(weights)
    targets: list[Array] = []
    numeric = support.values.dtype != np.int32
    if numeric and len(support) > 2:
        targets.append(np.nan_to_num(np.asarray(support.middles, dtype=np.float64))[support.codes])
    if len(support) == 2:
        return [(support.codes == 1).astype(np.float64)]
    if not numeric or len(support) <= MOST_TARGETS:
        common = np.argsort(-masses, kind="stable")[:MOST_TARGETS]
        targets += [(support.codes == value).astype(np.float64) for value in common]
    return targets
