"""Choosing one of several repaired models, on rows that trained none of them.

The best utility wins. With ``select="1se"``, models whose utility is within one standard error of
the best count as equally good: the error is that of the paired difference, row by row, because all
models predict the same rows. Among these, the smallest log loss wins, then the fewest changed
decisions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from proxyuse.repairing.candidate import Candidate
from proxyuse.repairing.quality import Quality, paired_difference
from proxyuse.settings import Select

NOT_CLEAN = "violations are left"
NOT_MEASURED = "there was no time to measure it"
NO_TIME = "there was no time to try it"
TOO_MANY = "other methods were tried instead"
NOT_PROMISING = "less useful than the chosen one, even before constants"
WORSE_ON_FIRST_FOLD = "less useful than others on the first fold"
NOT_TRAINED = "it could not be trained on all rows"
LESS_USEFUL = "less useful than the chosen one"
WORSE_PROBABILITIES = "as useful as the chosen one, with a larger log loss"
MORE_CHANGES = "as useful as the chosen one, but it changes more decisions"


def chosen(candidates: Sequence[Candidate], select: Select, excluded: Collection[int] = ()) -> int:
    """Return the index of the best clean candidate; the caller passes at least one.

    `excluded` are those that cannot be chosen.

    Candidates that were not measured count only if none was; of these, the first is chosen.
    """
    clean = [i for i, c in enumerate(candidates) if c.clean and i not in excluded]
    measured = [i for i in clean if candidates[i].quality is not None]
    if not measured:
        return clean[0]
    best = min(measured, key=lambda i: (-_quality(candidates[i]).better, *_ties(candidates[i])))
    if select == "max":
        return best
    near = [i for i in measured if _as_good(_quality(candidates[i]), _quality(candidates[best]))]
    return min(near, key=lambda i: _ties(candidates[i]))


def explained(
    candidates: Sequence[Candidate], index: int, excluded: Mapping[int, str]
) -> list[Candidate]:
    """The candidates, each with the reason why it was not chosen.

    `excluded` has the reasons of those that could not be chosen.
    """
    winner = candidates[index]
    return [
        replace(candidate, chosen=True)
        if i == index
        else candidate.because(excluded.get(i) or candidate.rejected or _reason(candidate, winner))
        for i, candidate in enumerate(candidates)
    ]


def _reason(candidate: Candidate, winner: Candidate) -> str:
    if not candidate.clean:
        return NOT_CLEAN
    if candidate.quality is None or winner.quality is None:
        return NOT_MEASURED
    if candidate.quality.better < winner.quality.better:
        return LESS_USEFUL
    worse = _ties(candidate)[0] > _ties(winner)[0]
    return WORSE_PROBABILITIES if worse else MORE_CHANGES


def _quality(candidate: Candidate) -> Quality:
    assert candidate.quality is not None
    return candidate.quality


def _ties(candidate: Candidate) -> tuple[float, float]:
    """The order of candidates that are equally useful."""
    known = _quality(candidate).log_loss
    return math.inf if known is None else known, candidate.changed


def _as_good(one: Quality, best: Quality) -> bool:
    """Whether a utility is within one standard error of the best, row by row."""
    if one is best or one.better >= best.better:
        return True
    difference = paired_difference(best, one)
    return difference.mean <= difference.error
