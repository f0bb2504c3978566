"""Explicit use: the model reads a column that determines the protected attribute.

A column that determines the attribute need not be a proxy by the definition, which wants both
directions: `age` tells who is over 60, but knowing who is over 60 does not tell anyone's age. The
person who asks whether the model uses "over 60" still wants to know that it reads `age`.

A column counts if the attribute was declared to be that column or to be derived from it, or if a
rule on the column predicts the attribute on held-out rows: at least 99% of them, and at least 90%
of those without its most common value (see `column_rules`). It is used explicitly if its influence,
at all its occurrences together, is above delta.

Explicit use is confirmed if the lower confidence bounds pass all these thresholds. The null
hypothesis of a column and an attribute is that at least one of the quantities does not reach its
threshold. It is rejected if all bounds pass, so the level is not split between them. All pairs of a
column and an attribute share `SHARE_OF_EXPLICIT` of the level of the audit.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from proxyuse.data.population import Protected
from proxyuse.detect.bounded import Bounded
from proxyuse.detect.decompositions import Decomposition
from proxyuse.detect.witnesses import Witness
from proxyuse.lang.nodes import Compare, Member, Var, variables
from proxyuse.measure.association.support import support_of
from proxyuse.measure.engine import Measurement
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.measure.forests.pair_sampling import drawn_influence
from proxyuse.methods import Confirmation
from proxyuse.validity.column_rules import Prediction, Rows, predict
from proxyuse.validity.confirmation import influence_interval
from proxyuse.validity.evidence import Evidence
from proxyuse.validity.levels import SHARE_OF_EXPLICIT
from proxyuse.validity.sample import Observed, halves
from proxyuse.verdict import Interval, Validity, Verdict

ACCURACY, OTHERS = 0.99, 0.9
"""The shares of rows that a rule must predict: of all, and without the most common value."""
LEAST_OTHERS = 20
"""Rows without the most common value that even a possible explicit use needs."""
MOST_TESTS = 3
EXACT_WORK = 1 << 29
"""Rows times nodes up to which the influence of a forest's variable is exact."""

How = Literal["declared", "predicts"]


@dataclass(frozen=True, slots=True, eq=False)
class ExplicitUse:
    """A column that the model reads and that determines a protected attribute.

    Attributes
    ----------
    protected : the protected attribute.
    column : the column.
    how : ``"declared"`` if the attribute is that column or was derived from it, ``"predicts"`` if a
        rule on the column predicts the attribute.
    decomposition : the column at all its occurrences; None if variables were not measured.
    influence_interval : confidence bounds for its influence, if there are any.
    prediction : how well the rule predicts; None if the use was declared.
    verdict : confirmed, possible, or undecided if the influence is unknown; not found if the
        influence is not above delta.
    tests : the tests in the model that read the column and come closest to the attribute, the
        closest first.
    """

    protected: str
    column: str
    how: How
    decomposition: Decomposition | None
    influence_interval: Interval | None
    prediction: Prediction | None
    verdict: Verdict
    tests: tuple[Decomposition, ...] = ()

    @property
    def influence(self) -> float | None:
        """The influence of the column at all its occurrences; None if it was not measured."""
        return None if self.decomposition is None else self.decomposition.influence

    @property
    def confirmed(self) -> bool:
        """Whether the use is confirmed."""
        return self.verdict is Verdict.CONFIRMED

    @property
    def witness(self) -> Witness | None:
        """What an oracle judges: the column at all its occurrences; None if it was not measured."""
        if self.influence is None or self.decomposition is None:
            return None
        validity = Validity(self.verdict, influence_interval=self.influence_interval)
        return Witness(self.decomposition, self.protected, True, 0, validity)


def explicit_uses(evidence: Evidence, options: Confirmation | None) -> tuple[ExplicitUse, ...]:
    """The columns that determine a protected attribute, declared ones first.

    A column without influence is listed too, so that an answer never hides that the model reads
    it. Without `options`, nothing is confirmed. Takes a pass over the rows per column and
    attribute, and the influence of each column that determines an attribute.
    """
    program = evidence.engine.program
    columns = _columns(evidence)

    def column(name: str) -> Decomposition | None:
        return evidence.decompositions[columns[name]] if name in columns else None

    uses: list[ExplicitUse] = []
    for index, z in enumerate(evidence.population.protected):
        declared = [name for name in z.sources if name in program.variables]
        uses += [_use(evidence, options, z, name, column(name), None) for name in declared]
        uses += [
            _use(evidence, options, z, name, column(name), prediction)
            for name, prediction in _predictions(evidence, options, index, declared)
        ]
    return tuple(uses)


def _columns(evidence: Evidence) -> dict[str, int]:
    """The index of the decomposition of each variable at all its occurrences.

    Only those that are needed are built, because a forest may read a variable at 100,000 positions.
    """
    measured = evidence.decompositions
    largest: dict[str, int] = {}
    owners = {
        owner: term.name
        for owner, term in enumerate(measured.computations)
        if isinstance(term, Var) and term.name in evidence.engine.program.variables
    }
    for index in np.flatnonzero(np.isin(measured.owners, list(owners))).tolist():
        name = owners[int(measured.owners[index])]
        known = largest.get(name)
        if known is None or len(measured.sites[known]) < len(measured.sites[index]):
            largest[name] = index
    return largest


def _level(evidence: Evidence, options: Confirmation | None) -> float:
    """The level of each pair of a column and an attribute."""
    alpha = Confirmation().alpha if options is None else options.alpha
    pairs = len(evidence.engine.program.variables) * len(evidence.population.protected)
    return alpha * SHARE_OF_EXPLICIT / max(1, pairs)


def _predictions(
    evidence: Evidence,
    options: Confirmation | None,
    attribute: int,
    declared: list[str],
) -> Iterator[tuple[str, Prediction]]:
    """The columns that predict an attribute on held-out rows."""
    sample = evidence.engine.sample
    observed = Observed.of(evidence, "sampling" if options is None else options.weights)
    frame, support = sample.protected[attribute]
    if support.binned:
        return
    rows: Rows | None = None
    level = _level(evidence, options)
    for name in evidence.engine.program.variables:
        if name in declared:
            continue
        if rows is None:
            half = ~halves(evidence, observed)
            rows = Rows(half, observed.weights, observed.squares, observed.alike)
            (values,) = frame.arrays.values()
            support = support_of(values, sample.n_rows)
        prediction = predict(sample.support(Var(name)), support, rows, level)
        if prediction is not None and _predicts(prediction):
            yield name, prediction


def _predicts(prediction: Prediction) -> bool:
    """Whether the shares reach their thresholds on enough rows to be worth a remark."""
    return (
        prediction.accuracy >= ACCURACY
        and prediction.others >= OTHERS
        and prediction.other_rows >= LEAST_OTHERS
    )


def _use(
    evidence: Evidence,
    options: Confirmation | None,
    z: Protected,
    name: str,
    column: Decomposition | None,
    prediction: Prediction | None,
) -> ExplicitUse:
    interval, verdict = None, Verdict.UNDECIDED
    if column is not None:
        column = _measured(evidence.engine, column, evidence.delta)
        witness = Witness(column, z.name, True, 0)
        verdict = Verdict.POSSIBLE if witness.influence > evidence.delta else Verdict.NOT_FOUND
        if options is not None and verdict is Verdict.POSSIBLE:
            observed = Observed.of(evidence, options.weights)
            level = _level(evidence, options)
            interval = influence_interval(evidence, witness, observed, level)
            certain = interval is not None and interval[0] > evidence.delta
            if certain and (prediction is None or _certain(prediction)):
                verdict = Verdict.CONFIRMED
    how: How = "declared" if prediction is None else "predicts"
    tests = () if verdict is Verdict.NOT_FOUND else _closest_tests(evidence, z.name, name)
    return ExplicitUse(z.name, name, how, column, interval, prediction, verdict, tests)


def _certain(prediction: Prediction) -> bool:
    return prediction.accuracy_low >= ACCURACY and prediction.others_low >= OTHERS


def _measured(engine: Measurement, column: Decomposition, delta: float) -> Decomposition:
    """The decomposition with its influence, which detection skips below epsilon if it takes long.

    At the many nodes of a large forest, the influence is estimated from random pairs of rows.
    """
    if column.influence is not None:
        return column
    sites = column.sites
    forest = next((each for each in engine.engines if isinstance(each, ForestEngine)), None)
    target = None if forest is None else forest.target(sites)
    if forest is not None and target is not None and engine.sample.settle_at is not None:
        large = len(target.nodes) * engine.n_rows > EXACT_WORK
        drawn = drawn_influence(forest, target.nodes, delta) if large else None
        if drawn is not None:
            return replace(column, influence=drawn.influence, error=drawn.error)
    influence = engine.influence(sites)
    estimate = engine.drawn.get(tuple(sites))
    error = 0.0 if estimate is None else estimate.error
    return replace(column, influence=influence, error=error)


def _closest_tests(evidence: Evidence, protected: str, column: str) -> tuple[Decomposition, ...]:
    """The tests that read a column, by their association with the attribute.

    A test with several occurrences counts once, at all of them. Tests of a large forest that a
    bound excludes as witnesses are measured here, because few are shown.
    """
    attribute = evidence.decompositions.protected.index(protected)
    measured = _measured_tests(evidence, attribute, column)
    if evidence.bounded is not None:
        for number in _bounded_tests(evidence.bounded, attribute, column):
            term, sites = evidence.bounded.test(number)
            if term.digest not in measured:
                associations = evidence.bounded.test_associations[number]
                influence, reach = evidence.engine.influence(sites), evidence.engine.reach(sites)
                measured[term.digest] = evidence.decompositions.other(
                    term, sites, associations, influence, reach
                )
    closest = sorted(measured.values(), key=lambda d: (-d.associations[protected], d.id))
    return tuple(closest[:MOST_TESTS])


def _bounded_tests(bounded: Bounded, attribute: int, column: str) -> list[int]:
    numbers = bounded.tests_on(column)
    associations = bounded.test_associations[numbers, attribute]
    order = np.argsort(-associations, kind="stable")[:MOST_TESTS]
    return [int(number) for number in numbers[order]]


def _measured_tests(evidence: Evidence, attribute: int, column: str) -> dict[bytes, Decomposition]:
    """The closest tests among the measured decompositions, by digest."""
    measured = evidence.decompositions
    associations = measured.associations[:, attribute]
    sizes = np.array([len(sites) for sites in measured.sites])
    chosen: dict[bytes, Decomposition] = {}
    seen: set[int] = set()
    for index in np.lexsort((-sizes, -associations)).tolist():
        owner = int(measured.owners[index])
        if owner in seen:
            continue
        seen.add(owner)
        term = measured.computations[owner]
        if isinstance(term, Compare | Member) and column in variables(term):
            chosen[term.digest] = measured[index]
            if len(chosen) == MOST_TESTS:
                break
    return chosen
