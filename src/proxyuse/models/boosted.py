"""What XGBoost and LightGBM share: sums of trees, and numbers that stand for missing ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from proxyuse.lang.build import add, conj, disj
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Compare, Const, Ite, Not, Precision, Relation, Term, Value
from proxyuse.models.features import Feature, Fixed, Test, last_with_first_answer

ZERO_AND_ONE = (0.0, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class Lost:
    """A feature of which the numbers from `low` to `high` count as missing, too."""

    feature: Feature
    low: float
    high: float

    def term(self) -> Term:
        """The feature's value."""
        return self.feature.term()

    def at_most(
        self, threshold: float, precision: Precision, missing: bool, *, strict: bool = False
    ) -> Test:
        """One comparison where those numbers go the way of missing ones anyway, else several."""
        plain = self.feature.at_most(threshold, precision, missing, strict=strict)
        answers = [
            Fixed(number).at_most(threshold, precision, missing, strict=strict).term
            for number in (self.low, self.high)
        ]
        if answers == [Const(missing)] * 2:
            return plain
        asked = Not(plain.term) if plain.opposite else plain.term
        lost = _between(self.feature.term(), self.low, self.high, precision)
        return Test(disj(asked, lost) if missing else conj(asked, Not(lost)))


def _between(term: Term, low: float, high: float, precision: Precision) -> Term:
    if low == high:
        return Compare(Relation.EQ, term, Const(low), precision)
    return conj(
        Compare(Relation.GE, term, Const(low), precision),
        Compare(Relation.LE, term, Const(high), precision),
    )


def summed(bases: Sequence[float], trees: Sequence[tuple[int, Term]]) -> list[Term]:
    """For each class its base and the trees of that class, in their order, as a sum."""
    operands: list[list[Term]] = [[Const(base)] if base else [] for base in bases]
    for number, tree in trees:
        operands[number].append(tree)
    return [add(*terms) if terms else Const(0.0) for terms in operands]


def one_where(score: Term, probability: Callable[[Array], Array]) -> Compare:
    """Whether the probability that a library computes from a score is above one half.

    A comparison of the score itself. The smallest scores above 0 give a probability of exactly
    one half; the constant is the largest of them.
    """
    last, _ = last_with_first_answer(lambda numbers: probability(numbers) > 0.5)
    return Compare(Relation.GT, score, Const(last))


def chosen(test: Term, labels: Sequence[Value] = ZERO_AND_ONE) -> Term:
    """The second label where a test holds, else the first."""
    return Ite(test, Const(labels[1]), Const(labels[0]))
