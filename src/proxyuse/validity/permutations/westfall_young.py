"""Westfall and Young's test: all computations and attributes under the same permutations.

A test concerns one computation and one protected attribute. Each permutation gives every test a
score (`scores`), and the maximum score shows what chance alone does to the whole family. A test
whose score exceeds nearly all such maxima is significant. The computations of one model are
strongly dependent, so the maximum over all of them is little more than over a few. That is the
advantage over corrections that use only the number of tests.

Step-down: tests are ordered by score, and each is compared with the maximum over itself and the
tests after it. No adjusted p-value is smaller than the ones before it. The order is cut into a few
thousand segments, and a test is compared with the maximum from its segment on, which can only raise
its p-value. So memory is one maximum per segment and permutation, for any number of tests.

If everything is independent, the sample and its permutations are ``1 + permutations`` exchangeable
arrangements, so the probability of confirming anything is at most alpha for any number of
permutations. The scales of the scores come from other permutations, so they do not reveal which
arrangement is the sample. If some computations depend on the protected attributes, the probability
of confirming any of the others is at most alpha, provided that the others are jointly independent
of the attributes, not only one by one. Then permuting acts on their scores like chance, whatever
the rest does (subset pivotality).

B permutations of m tests with two values and n rows take O(B m n / 64) word operations and a few
hundred megabytes of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.parallel import mapped
from proxyuse.validity.permutations.blocks import AnyBlock, Blocks, cached
from proxyuse.validity.permutations.comparison import Comparison, threshold
from proxyuse.validity.permutations.correction import PValues
from proxyuse.validity.permutations.scores import Scale
from proxyuse.validity.permutations.shuffles import Shuffles

CALIBRATION = 200  # permutations used to fit the scales
CHUNK = 64  # permutations processed together
MOST_MAXIMA = 1 << 22
KEPT_BYTES = 1 << 28  # memory for computations, and again for permutations

B = TypeVar("B")


def westfall_young(
    blocks: Blocks,
    computations: int,
    comparison: Comparison,
    shuffles: Shuffles,
    permutations: int,
    threads: int = 1,
) -> PValues:
    """Test all computations and protected attributes under the same permutations.

    Parameters
    ----------
    blocks : the computations. One that is in no block is constant: its p-values are 1.
    computations : the number of computations.
    comparison : the statistics and the attributes.
    shuffles : the permutations of the same attributes.
    permutations : the number of permutations.
    """
    family = _Family(cached(blocks, KEPT_BYTES), computations, comparison, threads)
    family.observe(shuffles)
    family.cut(max(1, MOST_MAXIMA // permutations))
    for numbers in _parts(permutations, max(CHUNK, KEPT_BYTES // shuffles.bytes_each)):
        family.count(_drawn(shuffles, numbers, threads))
    return family.p_values(permutations)


class _Family:
    """All tests, by computation and attribute.

    Attributes
    ----------
    least : the smallest value that reaches the observed one.
    scores : the score of that value.
    varies : whether permutations change the value.
    scales : the scales of the scores, by block and attribute.
    order : the tests in order of their scores, highest first.
    segments : the segment of each test in that order.
    reaching : the number of permutations that reach the observed value.
    passed : the number of permutations in which the highest score from the segment on reaches the
        score of the test.
    """

    def __init__(
        self, blocks: Blocks, computations: int, comparison: Comparison, threads: int
    ) -> None:
        self.blocks = blocks
        self.comparison = comparison
        self.threads = threads
        shape = (computations, len(comparison.attributes))
        self.least = np.zeros(shape)
        self.scores = np.full(shape, -np.inf)
        self.varies = np.zeros(shape, dtype=np.bool_)
        self.scales: dict[tuple[int, int], Scale] = {}
        self.order = np.arange(self.scores.size)
        self.segments = np.zeros(shape, dtype=np.intp)
        self.reaching = np.zeros(shape, dtype=np.int64)
        self.passed = np.zeros(shape, dtype=np.int64)

    def observe(self, shuffles: Shuffles) -> None:
        """Score the unpermuted attributes, on scales fitted to separate permutations."""
        observed, others = shuffles.unpermuted(), shuffles.others(CALIBRATION)
        for number, block in enumerate(self.blocks()):
            for attribute, unpermuted in enumerate(observed):
                compared = partial(self.comparison.values, block, attribute)
                parts = [values for _, values in self._mapped(compared, others[attribute])]
                permuted, own = np.concatenate(parts, axis=1), compared(unpermuted)
                scale, least = Scale.fitted(permuted), threshold(own)
                at = block.indices, attribute
                self.scales[number, attribute] = scale
                self.least[at] = least[:, 0]
                self.scores[at] = scale.scores(least)[:, 0]
                same = np.abs(permuted - own).max(axis=1) <= own[:, 0] - least[:, 0]
                self.varies[at] = scale.varies | ~same
        self.order = np.argsort(-self.scores.ravel(), kind="stable")

    def cut(self, most: int) -> None:
        """Cut the order of the tests into segments."""
        count = min(most, len(self.order))
        ranks = np.arange(len(self.order))
        self.segments.reshape(-1)[self.order] = ranks * count // max(1, len(ranks))

    def count(self, permuted: Sequence[Array]) -> None:
        """Count how often some permutations of each attribute reach the observed values."""
        n_segments = int(self.segments.max(initial=0)) + 1
        maxima = np.full((n_segments, len(permuted[0])), -np.inf)
        for number, block in enumerate(self.blocks()):
            for attribute, arrangements in enumerate(permuted):
                self._count_block(number, block, attribute, arrangements, maxima)
        self.passed += self._passed(maxima)

    def _count_block(
        self, number: int, block: AnyBlock, attribute: int, permuted: Array, maxima: Array
    ) -> None:
        """Count for the tests of a block and an attribute, and raise the maxima."""
        at = block.indices, attribute
        least, scale = self.least[at][:, None], self.scales[number, attribute]
        order = np.argsort(self.segments[at], kind="stable")
        segments, firsts = np.unique(self.segments[at][order], return_index=True)

        def compare(some: Array) -> tuple[Array, Array]:
            values = self.comparison.values(block, attribute, some)
            highest = np.maximum.reduceat(scale.scores(values)[order], firsts)
            return np.count_nonzero(values >= least, axis=1), highest

        for part, (counts, highest) in self._mapped(compare, permuted):
            self.reaching[at] += counts
            maxima[segments, part] = np.maximum(maxima[segments, part], highest)

    def _mapped(self, function: Callable[[Array], B], permuted: Array) -> Iterator[tuple[slice, B]]:
        """The results of a function for parts of some permutations, with the parts."""
        parts = [slice(part.start, part.stop) for part in _parts(len(permuted), CHUNK)]
        results = mapped(lambda part: function(permuted[part]), parts, self.threads)
        return zip(parts, results, strict=True)

    def _passed(self, maxima: Array) -> Array:
        """The number of permutations that reach each test's score in its segment or a later one."""
        from_here = np.maximum.accumulate(maxima[::-1])[::-1]
        segments, scores = self.segments.ravel(), self.scores.ravel()
        passed = np.empty(len(scores), dtype=np.int64)
        order = np.argsort(segments, kind="stable")
        firsts = np.searchsorted(segments[order], np.arange(len(maxima) + 1))
        for segment, ordered in enumerate(np.sort(from_here, axis=1)):
            own = order[firsts[segment] : firsts[segment + 1]]
            passed[own] = len(ordered) - np.searchsorted(ordered, scores[own])
        return passed.reshape(self.scores.shape)

    def p_values(self, permutations: int) -> PValues:
        """The p-values after counting this many permutations."""
        reaching = np.where(self.varies, self.reaching, permutations)
        passed = np.where(self.varies, self.passed, permutations).ravel()
        adjusted = np.empty(len(passed))
        adjusted[self.order] = np.maximum.accumulate(passed[self.order])
        return PValues(
            (1 + reaching) / (1 + permutations),
            (1 + adjusted.reshape(reaching.shape)) / (1 + permutations),
            np.zeros(reaching.shape, dtype=np.bool_),
        )


def _parts(count: int, size: int) -> Iterator[range]:
    for start in range(0, count, size):
        yield range(start, min(count, start + size))


def _drawn(shuffles: Shuffles, numbers: range, threads: int) -> list[Array]:
    """Permutations by number, for each attribute."""
    parts = [numbers[part.start : part.stop] for part in _parts(len(numbers), CHUNK)]
    drawn = list(mapped(shuffles.drawn, parts, threads))
    return [np.concatenate(each) for each in zip(*drawn, strict=True)]
