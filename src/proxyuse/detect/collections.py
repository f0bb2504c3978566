"""Collections: many computations, each associated with a protected attribute, changed together.

A program can use a protected attribute through computations that are each too weak to be a witness.
The collection of a level e is every candidate with an association of at least e. As e falls,
collections are nested, and their influence is a curve over e, one per protected attribute.

The candidates follow from the program alone, and their positions never overlap:

- **tests** of trees: what each branch asks;
- **operands** in other programs whose decision depends on sums, as in a linear model: the operands
  of these sums that are not constants;
- **tests** otherwise: the comparisons that contain no other comparison.

A candidate takes the value of the other row at all its positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from proxyuse.detect.collective_witness import Collection, Kind, Single
from proxyuse.detect.inside_tests import tests_hold_trees
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import (
    Add,
    Argmax,
    Call,
    Compare,
    Const,
    Ite,
    Lookup,
    Member,
    Mul,
    Not,
    Term,
    Vector,
)
from proxyuse.lang.positions import Points, Site, operand_choices
from proxyuse.measure.association.protocol import Association
from proxyuse.measure.collective import (
    CollectiveInfluence,
    Family,
    WrittenFamily,
    collective_influences,
)
from proxyuse.measure.collective import Member as Written
from proxyuse.measure.engine import Measurement
from proxyuse.measure.forests.collections import FamilyOfTests
from proxyuse.measure.forests.engine import ForestEngine, Target
from proxyuse.measure.forests.split_associations import split_associations

LEVELS = (
    0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03, 0.02, 0.015, 0.01,
    0.005, 0.002, 0.001,
)  # fmt: skip
"""The levels of association at which a curve is computed, besides epsilon."""

MOST_POINTS = 20_000
"""The largest program whose tests are replaced one by one; trees have no such limit."""

SINGLES = 64
"""The tests of trees measured to find the most influential one of a collection."""


class Candidates:
    """The computations that collections are made of, and their associations.

    Attributes
    ----------
    kind : what they are.
    associations : of each candidate with each protected attribute.
    """

    def __init__(self, measurement: Measurement, association: Association) -> None:
        self.measurement = measurement
        points = measurement.points
        self.engine = _tests_of_trees(measurement)
        self.written: list[Written] = []
        sums = [] if self.engine is not None else decision_sums(points)
        self.kind: Kind = "operands" if sums else "tests"
        if self.engine is not None:
            self.associations = _split_associations(measurement, self.engine, association)
            return
        where = _operands(points, sums) if sums else _tests(points)
        self.written = _by_term(points, where)
        terms = [member.term for member in self.written]
        self.associations = measurement.associations(terms, association)

    def __len__(self) -> int:
        return len(self.associations)

    def term(self, number: int) -> Term:
        """Return a candidate."""
        if self.engine is not None:
            return self.engine.plan.forest.tests.term(number)
        return self.written[number].term

    def sites(self, number: int) -> list[Site]:
        """Return the positions of a candidate."""
        if self.engine is None:
            return list(self.written[number].sites)
        plan = self.engine.plan
        return [Site(p + 1) for p in np.sort(plan.points_of(plan.nodes_of_test(number))).tolist()]

    def positions(self, number: int) -> int:
        """Return the number of positions of a candidate."""
        if self.engine is None:
            return len(self.written[number].sites)
        return len(self.engine.plan.nodes_of_test(number))

    def family(self, numbers: Array) -> Family:
        """Return candidates, in an order, as a family of collections."""
        if self.engine is not None:
            return FamilyOfTests(self.engine, numbers)
        return WrittenFamily(self.measurement, [self.written[n] for n in numbers.tolist()])

    def ordered(self, attribute: int) -> Array:
        """Return the numbers of the candidates, the most associated with an attribute first."""
        return np.argsort(-self.associations[:, attribute], kind="stable")

    def trees(self, numbers: Array) -> int:
        """Return in how many trees some candidates are; 0 if they are not in trees."""
        if self.engine is None or len(numbers) == 0:
            return 0
        plan = self.engine.plan
        nodes = np.concatenate([plan.nodes_of_test(number) for number in numbers.tolist()])
        return len(np.unique(plan.tree_of[nodes]))


def candidates_of(measurement: Measurement, association: Association) -> Candidates | None:
    """Return the candidates of a program, or None if their influence cannot be measured."""
    return None if not_measured(measurement) else Candidates(measurement, association)


def not_measured(measurement: Measurement) -> Literal["influence", "size"] | None:
    """Return why the computations of a program cannot be taken together; None if they can.

    Influence must be a share of all pairs of rows, and a program that is not made of trees must not
    be larger than `MOST_POINTS`.
    """
    if not measurement.sample.counts_pairs:
        return "influence"
    large = len(measurement.points) > MOST_POINTS
    return "size" if large and _tests_of_trees(measurement) is None else None


def family_of(measurement: Measurement, collection: Collection) -> Family:
    """Return the members of a collection as a family, to measure them again."""
    engine = _tests_of_trees(measurement)
    if engine is not None:
        return FamilyOfTests(engine, np.array([m.number for m in collection.members]))
    members = [Written(member.expression, member.sites) for member in collection.members]
    return WrittenFamily(measurement, members)


def _tests_of_trees(measurement: Measurement) -> ForestEngine | None:
    """The engine of the trees, unless a test contains a tree again."""
    engines = (e for e in measurement.engines if isinstance(e, ForestEngine))
    engine = next(engines, None)
    return None if engine is None or tests_hold_trees(engine.plan) else engine


def _split_associations(
    measurement: Measurement, engine: ForestEngine, association: Association
) -> Array:
    """The association of each test of the trees with each protected attribute.

    Tests that are not comparisons can be missing, so they are measured from their values.
    """
    sample, tests = measurement.sample, engine.plan.forest.tests
    result = split_associations(
        engine.plan, engine.codes, sample.weights, sample.attributes, association
    )
    others = [n for n, s in enumerate(tests.shapes) if not isinstance(s, Compare | Member)]
    numbers = np.flatnonzero(np.isin(tests.shape, others))
    if len(numbers):
        terms = [tests.term(number) for number in numbers.tolist()]
        result[numbers] = measurement.associations(terms, association)
    return result


def decision_sums(points: Points) -> list[int]:
    """Return the sums that decide: those above which there is no branch and no other sum.

    Examples
    --------
    >>> from proxyuse.lang.parse import parse_term
    >>> def operands(text):
    ...     points = Points(parse_term(text))
    ...     return [len(points.below(sum)) for sum in decision_sums(points)]
    >>> operands("ite(2 * x + y > 3, 1, 0)"), operands("ite(x > 3, x + y, 0)")
    ([2], [])
    """
    sums, stack = [], [0]
    while stack:
        point = stack.pop()
        below = points.below(point)
        match points.terms[point]:
            case Add():
                if len(operand_choices(points, point)) > 1:
                    sums.append(point)
            case Ite() if all(isinstance(points.terms[p], Const) for p in below[1:]):
                stack.append(below[0])
            case Compare() | Call() | Mul() | Vector() | Argmax() | Lookup() | Not():
                stack += reversed(below)
    return sums


def _operands(points: Points, sums: Sequence[int]) -> list[int]:
    return [points.below(point)[step] for point in sums for step in operand_choices(points, point)]


def _tests(points: Points) -> list[int]:
    """The comparisons that contain no other comparison. In preorder, the next one is after them."""
    found = [p for p in range(len(points)) if isinstance(points.terms[p], Compare | Member)]
    following = [*found[1:], len(points)] if found else []
    return [p for p, after in zip(found, following, strict=True) if after >= points.end(p)]


def _by_term(points: Points, where: Sequence[int]) -> list[Written]:
    """Each term with all its positions."""
    sites: dict[bytes, list[Site]] = {}
    terms: dict[bytes, Term] = {}
    for point in where:
        term = points.terms[point]
        if not isinstance(term, Const):
            terms.setdefault(term.digest, term)
            sites.setdefault(term.digest, []).append(Site(point))
    return [Written(terms[digest], own) for digest, own in sites.items()]


# Curves


@dataclass(frozen=True, slots=True)
class CurvePoint:
    """The collection of one level.

    Attributes
    ----------
    level : every member has an association of at least this level.
    members : how many members there are.
    influence : how many decisions change if all members take the values of another row.
    """

    level: float
    members: int
    influence: CollectiveInfluence


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """The influence of nested collections, for one protected attribute.

    Attributes
    ----------
    protected : the attribute.
    points : the highest level first. Of several levels with the same members, the highest; the
        threshold of the audit is always there, if any candidate reaches it.
    """

    protected: str
    points: tuple[CurvePoint, ...]


def curve_of(
    candidates: Candidates,
    attribute: int,
    levels: Sequence[float],
    *,
    epsilon: float,
    delta: float,
) -> Curve:
    """Measure the collections of epsilon and some other levels; see `collective_influences`."""
    associations = candidates.associations[:, attribute]
    ordered = candidates.ordered(attribute)
    sizes = {n: int(np.count_nonzero(associations >= n)) for n in sorted({*levels, epsilon})}
    highest = {size: level for level, size in sizes.items()}
    held = [
        n for n in sorted(sizes, reverse=True) if sizes[n] and n in (highest[sizes[n]], epsilon)
    ]
    influences: Sequence[CollectiveInfluence] = ()
    if held:
        family = candidates.family(ordered[: sizes[held[-1]]])
        influences = collective_influences(family, [sizes[level] for level in held], delta)
    points = (
        CurvePoint(level, sizes[level], influence)
        for level, influence in zip(held, influences, strict=True)
    )
    return Curve(candidates.measurement.protected_names[attribute], tuple(points))


def strongest_single(candidates: Candidates, numbers: Array) -> Single:
    """Return the largest influence of a single candidate.

    Tests of trees are measured in the order of a bound on their influence, until no other one can
    have more.
    """
    if candidates.engine is None:
        measurement = candidates.measurement
        sites = [candidates.sites(number) for number in numbers.tolist()]
        largest = max(map(measurement.influence, sites), default=0.0)
        return Single(largest, largest)
    engine = candidates.engine
    place = np.full(candidates.engine.plan.forest.test.max() + 1, -1, dtype=np.int64)
    place[numbers] = np.arange(len(numbers))
    near, _ = engine.together(place[engine.plan.forest.test], len(numbers))
    bounds = near / engine.total
    best = 0.0
    for count, index in enumerate(np.argsort(-bounds, kind="stable").tolist()):
        bound = float(bounds[index])
        if bound <= best:
            break
        if count == SINGLES:
            return Single(best, bound)
        nodes = engine.plan.nodes_of_test(int(numbers[index]))
        best = max(best, engine.share_of(engine.count(Target("test", nodes))))
    return Single(best, best)
