"""Westfall and Young's test: every computation and protected attribute under the same permutations.

A pair is a computation and a protected attribute. Each permutation gives all pairs a score
(`scores`) at once; the highest of them is what chance alone does to the whole family. A pair
whose score is higher than nearly all such maxima is more than chance. Computations of one model
are much alike, so the maximum of all scores is little more than that of a few, which is where
this beats corrections that know the number of tests only.

Step-down: pairs are in order of their scores, and each is compared with the maximum over itself
and those after it, never with the ones before; none gets a smaller value than the ones before.
The order is cut into at most some thousands of segments, and a pair is compared with the maximum
over its whole segment and all after it, which can only raise its value. So what is kept is a
maximum for each segment and permutation, however many pairs there are.

The chance that any pair of independent ones is confirmed is at most alpha for whatever number of
permutations, since the sample is one of ``1 + permutations`` arrangements that are all alike if
nothing is there. The scales of the scores come from other permutations, so they tell nothing of
which one is the sample.

The cost of B permutations of m pairs of two values and n rows is O(B m n / 64) word operations;
memory stays at some hundred megabytes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.measure.parallel import mapped
from proxyuse.validity.information import reached
from proxyuse.validity.joint_tables import Block, Comparison, Long
from proxyuse.validity.scores import Scale
from proxyuse.validity.shuffles import Shuffles

CALIBRATION = 200  # permutations that a scale is fitted to
CHUNK = 64  # permutations that are looked at together
MOST_MAXIMA = 1 << 22
KEPT_BYTES = 1 << 28  # of computations, and of permutations, that are in memory at a time

Blocks = Callable[[], Iterable[Block | Long]]
"""Makes all computations, block by block, each time it is called."""


@dataclass(frozen=True, slots=True, eq=False)
class PValues:
    """P-values, by computation and protected attribute.

    Attributes
    ----------
    p_values : of each pair by itself.
    adjusted : for all of them at once.
    """

    p_values: Array
    adjusted: Array


def westfall_young(
    blocks: Blocks,
    computations: int,
    comparison: Comparison,
    shuffles: Shuffles,
    permutations: int,
    threads: int = 1,
) -> PValues:
    """Test all pairs of a computation and a protected attribute under the same permutations.

    Parameters
    ----------
    blocks : the computations. One that is in no block is constant: its p-values are 1.
    computations : how many there are.
    comparison : what is compared, and with which attributes.
    shuffles : the permutations of the same attributes.
    permutations : how many of them.
    """
    again = _kept(blocks)
    family = _Family(again, computations, comparison, shuffles, threads)
    segments = family.segments(max(1, MOST_MAXIMA // permutations))
    count = int(segments.max(initial=0)) + 1
    reaching = np.zeros(segments.shape, dtype=np.int64)
    passed = np.zeros(segments.shape, dtype=np.int64)
    for numbers in _parts(permutations, max(CHUNK, KEPT_BYTES // shuffles.bytes_each)):
        permuted = _drawn(shuffles, numbers, threads)
        maxima = np.full((count, len(numbers)), -np.inf)
        for number, block in enumerate(again()):
            for attribute, arrangements in enumerate(permuted):
                _look(
                    family, number, block, attribute, arrangements, segments, reaching, maxima,
                    threads,
                )  # fmt: skip
        passed += _passed(maxima, segments, family.scores)
    reaching[~family.varies] = permutations
    passed[~family.varies] = permutations
    adjusted = np.empty(segments.size)
    order = family.order
    adjusted[order] = np.maximum.accumulate(passed.ravel()[order])
    return PValues(
        (1 + reaching) / (1 + permutations),
        (1 + adjusted.reshape(segments.shape)) / (1 + permutations),
    )


class _Family:
    """All pairs: what was observed of them, and how they are scored.

    Attributes
    ----------
    least : by computation and attribute, from which value on the observed one is reached.
    scores : of that value.
    varies : whether permutations change anything.
    scales : by block and attribute.
    order : the pairs in order of their scores, highest first.
    """

    def __init__(
        self,
        blocks: Blocks,
        computations: int,
        comparison: Comparison,
        shuffles: Shuffles,
        threads: int,
    ) -> None:
        self.comparison = comparison
        shape = (computations, len(comparison.attributes))
        self.least = np.zeros(shape)
        self.scores = np.full(shape, -np.inf)
        self.varies = np.zeros(shape, dtype=np.bool_)
        self.scales: dict[tuple[int, int], Scale] = {}
        observed, others = shuffles.as_they_are(), shuffles.others(CALIBRATION)
        for number, block in enumerate(blocks()):
            for attribute in range(shape[1]):

                def found(part: range, block: Block | Long = block, at: int = attribute) -> Array:
                    return comparison.values(block, at, others[at][part.start : part.stop])

                places = _places(block)
                parts = mapped(found, _parts(CALIBRATION, CHUNK), threads)
                permuted = np.concatenate(list(parts), axis=1)
                own = comparison.values(block, attribute, observed[attribute])
                scale = Scale.fitted(permuted)
                least = reached(own)
                self.scales[number, attribute] = scale
                self.least[places, attribute] = least[:, 0]
                self.scores[places, attribute] = scale.scores(least)[:, 0]
                same = np.abs(permuted - own).max(axis=1) <= own[:, 0] - least[:, 0]
                self.varies[places, attribute] = scale.varies | ~same
        self.order = np.argsort(-self.scores.ravel(), kind="stable")

    def segments(self, most: int) -> Array:
        """The order of the pairs cut into segments: the segment of each pair."""
        count = min(most, len(self.order))
        found = np.empty(len(self.order), dtype=np.intp)
        found[self.order] = np.arange(len(self.order)) * count // max(1, len(self.order))
        return found.reshape(self.scores.shape)


def _look(
    family: _Family,
    number: int,
    block: Block | Long,
    attribute: int,
    permuted: Array,
    segments: Array,
    reaching: Array,
    maxima: Array,
    threads: int,
) -> None:
    """Count the permutations in which the pairs of a block reach what was observed.

    Keep the highest score of each segment and permutation.
    """
    places = _places(block)
    least = family.least[places, attribute][:, None]
    scale = family.scales[number, attribute]
    order = np.argsort(segments[places, attribute], kind="stable")
    named, firsts = np.unique(segments[places, attribute][order], return_index=True)

    def look(part: range) -> tuple[Array, Array]:
        values = family.comparison.values(block, attribute, permuted[part.start : part.stop])
        highest = np.maximum.reduceat(scale.scores(values)[order], firsts)
        return np.count_nonzero(values >= least, axis=1), highest

    parts = list(_parts(len(permuted), CHUNK))
    for part, (counts, highest) in zip(parts, mapped(look, parts, threads), strict=True):
        reaching[places, attribute] += counts
        kept = maxima[named, part.start : part.stop]
        maxima[named, part.start : part.stop] = np.maximum(kept, highest)


def _passed(maxima: Array, segments: Array, scores: Array) -> Array:
    """In how many permutations the maximum from a pair's segment on reaches the pair's score."""
    from_here = np.maximum.accumulate(maxima[::-1])[::-1]
    found = np.empty(segments.size, dtype=np.int64)
    order = np.argsort(segments.ravel(), kind="stable")
    firsts = np.searchsorted(segments.ravel()[order], np.arange(len(maxima) + 1))
    for segment, ordered in enumerate(np.sort(from_here, axis=1)):
        own = order[firsts[segment] : firsts[segment + 1]]
        found[own] = len(ordered) - np.searchsorted(ordered, scores.ravel()[own])
    return found.reshape(segments.shape)


def _kept(blocks: Blocks) -> Blocks:
    """The same, kept in memory if they are not too large."""
    kept: list[Block | Long] = []
    held = 0
    for block in blocks():
        held += block.words.nbytes if isinstance(block, Block) else block.codes.nbytes
        if held > KEPT_BYTES:
            return blocks
        kept.append(block)
    return lambda: kept


def _places(block: Block | Long) -> Array:
    return block.places if isinstance(block, Block) else np.array([block.place])


def _parts(count: int, size: int) -> Iterator[range]:
    for start in range(0, count, size):
        yield range(start, min(count, start + size))


def _drawn(shuffles: Shuffles, numbers: range, threads: int) -> list[Array]:
    """Permutations by their numbers, for each attribute."""
    parts = [numbers[part.start : part.stop] for part in _parts(len(numbers), CHUNK)]
    drawn = list(mapped(shuffles.drawn, parts, threads))
    return [np.concatenate(each) for each in zip(*drawn, strict=True)]
