"""Westfall and Young's test: all computations and attributes under the same permutations.

A test is about a computation and a protected attribute. Each permutation gives all tests a score
(`scores`) at once; the highest of them is what chance alone does to the whole family. A test
whose score is higher than nearly all such maxima is more than chance. Computations of one model
are much alike, so the maximum of all scores is little more than that of a few, which is where
this beats corrections that know the number of tests only.

Step-down: tests are in order of their scores, and each is compared with the maximum over itself
and those after it, never with the ones before; none gets a smaller value than the ones before.
The order is cut into at most some thousands of segments, and a test is compared with the maximum
over its whole segment and all after it, which can only raise its value. So what is kept is a
maximum for each segment and permutation, however many tests there are.

If everything is independent, the sample is one of ``1 + permutations`` arrangements that are all
alike, so the chance of confirming anything is at most alpha for whatever number of permutations.
The scales of the scores come from other permutations, so they tell nothing of which one is the
sample. Where some computations are not independent of the protected attributes, the chance of
confirming any of the others is at most alpha if these are independent of them jointly, all
together and not only one by one: then permuting does to their scores what chance does, whatever
the rest is (subset pivotality).

The cost of B permutations of m tests of two values and n rows is O(B m n / 64) word operations;
memory stays at some hundred megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TypeVar

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.parallel import mapped
from proxyuse.validity.permutations.blocks import Block, Blocks, Coded, kept
from proxyuse.validity.permutations.comparison import Comparison, threshold
from proxyuse.validity.permutations.correction import PValues
from proxyuse.validity.permutations.scores import Scale
from proxyuse.validity.permutations.shuffles import Shuffles

CALIBRATION = 200  # permutations that a scale is fitted to
CHUNK = 64  # permutations that are looked at together
MOST_MAXIMA = 1 << 22
KEPT_BYTES = 1 << 28  # of computations, and of permutations, that are in memory at a time

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
    computations : how many there are.
    comparison : what is compared, and with which attributes.
    shuffles : the permutations of the same attributes.
    permutations : how many of them.
    """
    family = _Family(kept(blocks, KEPT_BYTES), computations, comparison, threads)
    family.observe(shuffles)
    family.cut(max(1, MOST_MAXIMA // permutations))
    for numbers in _parts(permutations, max(CHUNK, KEPT_BYTES // shuffles.bytes_each)):
        family.look(_drawn(shuffles, numbers, threads))
    return family.p_values(permutations)


class _Family:
    """All tests: what was observed, how it is scored, and what permutations did.

    Attributes
    ----------
    least : by computation and attribute, from which value on the observed one is reached.
    scores : of that value.
    varies : whether permutations change anything.
    scales : by block and attribute.
    order : the tests in order of their scores, highest first.
    segments : in which segment of the order by score each test is.
    reaching : in how many permutations the observed value is reached.
    passed : in how many the highest score from the test's segment on reaches the test's.
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
        """Compare the attributes as they are, on scales that other permutations give."""
        observed, others = shuffles.as_they_are(), shuffles.others(CALIBRATION)
        for number, block in enumerate(self.blocks()):
            for attribute, unpermuted in enumerate(observed):
                compared = partial(self.comparison.values, block, attribute)
                parts = [values for _, values in self._mapped(compared, others[attribute])]
                permuted, own = np.concatenate(parts, axis=1), compared(unpermuted)
                scale, least = Scale.fitted(permuted), threshold(own)
                at = block.places, attribute
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

    def look(self, permuted: Sequence[Array]) -> None:
        """Count what some permutations reach, which are given for each attribute."""
        count = int(self.segments.max(initial=0)) + 1
        maxima = np.full((count, len(permuted[0])), -np.inf)
        for number, block in enumerate(self.blocks()):
            for attribute, arrangements in enumerate(permuted):
                self._look_at(number, block, attribute, arrangements, maxima)
        self.passed += self._passed(maxima)

    def _look_at(
        self, number: int, block: Block | Coded, attribute: int, permuted: Array, maxima: Array
    ) -> None:
        """Look at the tests of a block and an attribute, and raise their segments' maxima."""
        at = block.places, attribute
        least, scale = self.least[at][:, None], self.scales[number, attribute]
        order = np.argsort(self.segments[at], kind="stable")
        named, firsts = np.unique(self.segments[at][order], return_index=True)

        def look(some: Array) -> tuple[Array, Array]:
            values = self.comparison.values(block, attribute, some)
            highest = np.maximum.reduceat(scale.scores(values)[order], firsts)
            return np.count_nonzero(values >= least, axis=1), highest

        for part, (counts, highest) in self._mapped(look, permuted):
            self.reaching[at] += counts
            maxima[named, part] = np.maximum(maxima[named, part], highest)

    def _mapped(self, function: Callable[[Array], B], permuted: Array) -> Iterator[tuple[slice, B]]:
        """What a function says of some permutations at a time, and of which."""
        parts = [slice(part.start, part.stop) for part in _parts(len(permuted), CHUNK)]
        found = mapped(lambda part: function(permuted[part]), parts, self.threads)
        return zip(parts, found, strict=True)

    def _passed(self, maxima: Array) -> Array:
        """In how many permutations the maximum from a test's segment on reaches its score."""
        from_here = np.maximum.accumulate(maxima[::-1])[::-1]
        segments, scores = self.segments.ravel(), self.scores.ravel()
        found = np.empty(len(scores), dtype=np.int64)
        order = np.argsort(segments, kind="stable")
        firsts = np.searchsorted(segments[order], np.arange(len(maxima) + 1))
        for segment, ordered in enumerate(np.sort(from_here, axis=1)):
            own = order[firsts[segment] : firsts[segment + 1]]
            found[own] = len(ordered) - np.searchsorted(ordered, scores[own])
        return found.reshape(self.scores.shape)

    def p_values(self, permutations: int) -> PValues:
        """What follows from so many permutations."""
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
    """Permutations by their numbers, for each attribute."""
    parts = [numbers[part.start : part.stop] for part in _parts(len(numbers), CHUNK)]
    drawn = list(mapped(shuffles.drawn, parts, threads))
    return [np.concatenate(each) for each in zip(*drawn, strict=True)]
