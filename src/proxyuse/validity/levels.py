"""How the level alpha is divided among everything that could be confirmed.

The division is fixed before the rows are seen, so it also covers what a search on the rows finds:

- **Written computations** share most of alpha: each pair of a computation and a protected attribute
  gets the same level. Every computation counts, measured or not.
- **Partial sums** share the rest, because a search finds them on these rows. Each operator with
  at least three operands gets the same part. One half of it is divided among all sets of operands:
  each number m of operands gets the same share, and each set of m of the k operands the same share
  of that. With many operands, these shares are tiny. The other half is for the set that one half of
  the rows chose, if operands were searched; it is tested on the other rows (`chosen_sums`).
- **Sets of positions** of one computation share its level; see `share_of_level`.
- **Explicit use** and **collections** have small shares of their own; see `explicit_use` and
  `collections`.
- **Training**: if the model was trained on these rows, associations share alpha with everything
  that training could have chosen instead; see `fitted`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from proxyuse.detect.decompositions import Decomposition
from proxyuse.lang.evaluate import Array
from proxyuse.lang.positions import operand_choices
from proxyuse.validity.evidence import Evidence
from proxyuse.validity.fitted import Choices

SHARE_OF_EXPLICIT = 0.05
"""The share of alpha for explicit use."""
SHARE_OF_COLLECTIONS = 0.05
"""The share of alpha for collections."""
SHARE_OF_SUMS = 0.2
"""The share of the rest for partial sums, if there are any."""
SHARE_OF_CHOSEN = 0.5
"""The share of an operator's level for the partial sum that half of the rows chose."""


@dataclass(frozen=True, slots=True, eq=False)
class Levels:
    """The level of each hypothesis.

    Attributes
    ----------
    written : the level of a written computation and one protected attribute.
    sums : the level of all partial sums of one operator together; 0 if there are none.
    chosen : the level of the partial sum of one operator that half of the rows chose.
    positions : the number of positions of each computation.
    choices : what training could choose from; None if the rows are held out.
    """

    evidence: Evidence
    alpha: float
    written: float
    sums: float
    chosen: float
    positions: Array
    choices: Choices | None

    @classmethod
    def of(cls, evidence: Evidence, alpha: float, choices: Choices | None) -> Levels:
        """Divide alpha among the hypotheses of an audit."""
        alpha *= 1 - SHARE_OF_EXPLICIT - SHARE_OF_COLLECTIONS
        found = evidence.decompositions
        attributes, share = len(found.protected), SHARE_OF_SUMS if found.operators else 0.0
        operator = alpha * share / (attributes * max(1, found.operators))
        return cls(
            evidence,
            alpha,
            alpha * (1 - share) / (attributes * max(1, found.written)),
            operator * (1 - SHARE_OF_CHOSEN),
            operator * SHARE_OF_CHOSEN,
            found.occurrences,
            choices,
        )

    def of_computation(self, decomposition: Decomposition) -> float:
        """The level of a computation, before training and sets of positions are considered."""
        found = self.evidence.decompositions
        if found.is_written(found.index_of(decomposition.expression)):
            return self.written
        return math.exp(math.log(self.sums) - self._log_sets(decomposition))

    def of_association(self, decomposition: Decomposition) -> float:
        """The level of the association of a computation; 0 if it is too small to be a float."""
        if self.choices is None:
            return self.of_computation(decomposition)
        found = self.evidence.decompositions
        others = math.log(max(1, found.written))
        if not found.is_written(found.index_of(decomposition.expression)):
            others = math.log(found.operators) + self._log_sets(decomposition)
        share = self.choices.log_share(decomposition.expression, math.log(2) + others)
        return math.exp(math.log(self.alpha / len(found.protected)) + share)

    def _log_sets(self, decomposition: Decomposition) -> float:
        """Minus the logarithm of the share of a partial sum in the level of its operator."""
        site = decomposition.sites[0]
        points = self.evidence.decompositions.program.points
        return log_sets(len(site.operands), len(operand_choices(points, site.point)))

    def of_influence(self, decomposition: Decomposition) -> float:
        """The level of the influence of a computation through one set of its positions."""
        found = self.evidence.decompositions
        positions = int(self.positions[found.index_of(decomposition.expression)])
        return self.of_computation(decomposition) * share_of_level(
            decomposition.occurrences, positions
        )


def log_sets(chosen: int, operands: int) -> float:
    """Minus the logarithm of the share of an operator's level for `chosen` of its `operands`.

    Over all sets of at least two operands, but not all, the shares sum to 1.

    Examples
    --------
    >>> round(math.exp(log_sets(2, 4))), round(math.exp(log_sets(3, 4)))
    (12, 8)
    """
    return math.log(max(1, operands - 2) * math.comb(operands, chosen))


def share_of_level(chosen: int, positions: int) -> float:
    """The share of a computation's level for a set of `chosen` of its `positions`.

    The search for the strongest set uses the same rows, so each of the ``2^m - 1`` sets has a
    share in advance: single positions and all positions together share one half, all other sets
    the other half. Over all sets of positions, the shares sum to at most 1.

    Examples
    --------
    >>> [share_of_level(chosen, 2) for chosen in (1, 2)]
    [0.3333333333333333, 0.3333333333333333]
    >>> from math import comb
    >>> sum(comb(9, chosen) * share_of_level(chosen, 9) for chosen in range(1, 10)) <= 1
    True
    """
    if positions <= 2:
        return 1 / (2**positions - 1) if positions else 1.0
    if chosen in (1, positions):
        return 1 / (2 * (positions + 1))
    return math.ldexp(1.0, -positions - 1)
