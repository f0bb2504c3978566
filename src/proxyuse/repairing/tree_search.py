"""Constants for the tests of trees, so that collections of these tests lose their influence.

**Idea.** A forest has thousands of tests, and the effect of one of them on a collection is too
small to measure. So the search follows a derivative. A smooth stand-in replaces "the output
changes": the probability that two classes differ, each drawn with a probability that grows with its
score. Its derivative by the scores says how much of the influence a constant at a node removes, and
in the same way what it costs in utility. One walk of the pairs yields both for all nodes.

1. Measure the collections of all levels on the same pairs of rows, in one walk. Take the worst one.
2. For each node with one of its tests, choose the constant that costs less. Order the nodes by the
   drop of influence per loss of utility. Measure what the first 1, 2, 4, ... nodes do together, and
   replace those with the best measured ratio. Repeat until no level is above the target.
3. Restore nodes, the last ones first, where the target still holds and the utility does not fall.

**Invariants.** Each round replaces at least one node, and a collection whose nodes are all replaced
has no influence, so the search ends. Derivatives only order the nodes; decisions are made on
measured influence and utility.

**Cost**, for p pairs, T trees of depth D: O(p T D) per measurement and at most D times as much for
the derivatives, but only for rows that the collection can change. A round takes about ten
measurements, and there are at most a few dozen rounds.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from proxyuse.measure.collective import share_interval
from proxyuse.repairing.tree_members import GRADIENT_PAIRS, Promise, TreeMembers

SINGLES = 12
"""Nodes that are measured one by one in each round, with either constant."""

PROGRESS = 0.05
"""What a round must remove, as a share of what has to go."""

RESTORES = 16
"""Attempts to restore nodes."""


def constants_for(members: TreeMembers, delta: float) -> dict[int, bool]:
    """Replace tests until no level is above delta; return the constant at each node."""
    target = _target(delta, members)
    order: list[int] = []
    while True:
        order += _replace_down_to(members, target)
        order = _restored(members, target, order)
        excess = members.upper() - delta
        if excess <= 0 or not members.remaining:
            return members.reachable()
        target -= max(excess, 0.01 * delta)


def _target(delta: float, members: TreeMembers) -> float:
    """The share of pairs up to which the upper bound is at most delta."""
    if not members.pairs.drawn:
        return delta
    count = len(members.pairs)
    low, high = 0, round(delta * count)
    while low < high:  # the largest count whose bound is at most delta
        middle = (low + high + 1) // 2
        if share_interval(middle, count, members.level)[1] <= delta:
            low = middle
        else:
            high = middle - 1
    return low / count


def _replace_down_to(members: TreeMembers, target: float) -> list[int]:
    """Replace the most promising nodes until no level is above the target; return their order."""
    pairs, order = members.pairs.searched, list[int]()
    worst = members.worst(pairs)
    least = PROGRESS * (worst.share - target)
    while worst.share > max(target, 0.0):
        members.engine.sample.tick(0)
        promising = members.promising(worst)
        chosen = _best_set(members, promising, target, least)
        members.set(chosen)
        order += [node for node, _ in chosen]
        worst = members.worst(pairs)
    return order


def _best_set(
    members: TreeMembers, promising: list[Promise], target: float, least: float
) -> list[tuple[int, bool]]:
    """The constants whose measured drop of influence per loss of utility is largest.

    Measures the most promising nodes one by one if each is expected to move the influence, and the
    first 2, 4, 8, ... nodes together.
    """
    pairs, gain = members.pairs.first(GRADIENT_PAIRS), members.gain()
    share = members.worst(pairs).share
    best, best_ratio = [promising[0][:2]], -np.inf
    for constants in _sets(promising, least):
        members.set(constants)
        after, loss = members.worst(pairs).share, gain - members.gain()
        members.unset(node for node, _ in constants)
        drop = share - max(after, target)
        ratio = drop / max(loss, members.stand_ins.smallest_loss)
        if drop >= min(least, share - target) and ratio > best_ratio:
            best, best_ratio = constants, ratio
        if after <= target and len(constants) > 1:
            break  # larger sets are not needed
    if best_ratio == -np.inf:  # no set was enough
        best = [promise[:2] for promise in promising[: max(1, len(promising) // 4)]]
    return best


def _sets(promising: list[Promise], least: float) -> Iterator[list[tuple[int, bool]]]:
    strong = [promise for promise in promising if promise.drop >= least / 2]
    for node, constant, _ in strong[:SINGLES]:
        yield [(node, constant)]
        yield [(node, not constant)]
    size, most = 2, max(2, len(promising) // 4)
    while size <= most:
        yield [promise[:2] for promise in promising[:size]]
        size *= 2


def _restored(members: TreeMembers, target: float, order: list[int]) -> list[int]:
    """Undo replacements that are not needed, and return the order of the others."""
    pairs, order = members.pairs.searched, order[::-1]
    group, index = max(1, len(order) // 4), 0
    best = members.gain()
    for _ in range(RESTORES):
        part = order[index : index + group]
        if not part:
            break
        before = [(node, members.replaced[node]) for node in part]
        members.unset(part)
        gain = members.gain()
        if gain >= best and members.worst(pairs).share <= max(target, 0.0):
            best = gain
            del order[index : index + group]
        else:
            members.set(before)
            index += group == 1
            group = max(1, group // 2)
    return order[::-1]
