"""Constants for the members of collections in programs that are not made of trees.

There are few positions, so each is measured: the constant that costs the least utility there, and
by how much it lowers the influence of the worst level. The positions are replaced in the order of
drop per loss. Bisection finds a number of replacements after which no level is above delta, and
each of them is then restored if it is not needed.

**Invariant.** The last set of replacements for which bisection found no level above delta is kept
until a smaller one is found. If even all positions are not enough, because constants turn other
computations into members, all are replaced, and the caller starts again with the new program.

**Cost**: about three measurements of all levels per position. With more than `MOST_MEASURED`
positions, they are ordered by their loss alone, and fewer are restored.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from proxyuse.lang.nodes import Const
from proxyuse.lang.positions import Site
from proxyuse.repairing.trial_context import Trial

MOST_MEASURED = 48

New = Mapping[Site, Const]


def constants_for(
    trials: Sequence[Trial], delta: float, highest: Callable[[New], float]
) -> dict[Site, Const]:
    """Choose trials until no level is above delta.

    Parameters
    ----------
    trials : one constant at one position each.
    delta : the threshold.
    highest : returns an upper bound on the influence of all levels, with some constants.
    """
    ordered = _ordered(trials, highest)
    low, high = 0, len(ordered)  # `high` trials are enough, or all are needed
    if highest(_joined(ordered)) <= delta:
        while high - low > 1:
            middle = (low + high) // 2
            if highest(_joined(ordered[:middle])) <= delta:
                high = middle
            else:
                low = middle
        return _joined(_needed(ordered[:high], delta, highest))
    return _joined(ordered)


def _ordered(trials: Sequence[Trial], highest: Callable[[New], float]) -> list[Trial]:
    """The largest drop of influence per loss of utility first."""
    if len(trials) > MOST_MEASURED:
        return sorted(trials, key=lambda trial: trial.key)
    before = highest({})
    least = 1e-3 * max(1e-9, *(abs(trial.gain) for trial in trials))

    def worth(trial: Trial) -> float:
        drop = before - highest(trial.new)
        return drop / max(-trial.gain, least)

    return sorted(trials, key=worth, reverse=True)


def _needed(trials: list[Trial], delta: float, highest: Callable[[New], float]) -> Sequence[Trial]:
    """The trials without those that are not needed, the most costly first."""
    kept = list(trials)
    for trial in sorted(trials, key=lambda trial: trial.gain)[:MOST_MEASURED]:
        rest = [other for other in kept if other is not trial]
        if trial.gain < 0 and highest(_joined(rest)) <= delta:
            kept = rest
    return kept


def _joined(trials: Sequence[Trial]) -> dict[Site, Const]:
    return {site: value for trial in trials for site, value in trial.new.items()}
