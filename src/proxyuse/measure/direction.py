"""Who gains and who loses: the influence of a computation, split by group and direction.

Influence is the share of pairs of rows (X, X') for which the output of X changes if the computation
takes its value from X'. Here it is split by the group of X, and by whether the output goes up or
down. The masses of all groups add up: ``sum(up + down) / total`` is the influence, except for
changes without a direction, such as those to a missing output.

**How it is computed**, in this order:

1. From the effect of each row, as the confidence bounds of an influence are. If the output has two
   values, the present one determines the direction of a change. Costs as much as one influence.
2. By trying each distinct value, if that takes at most `MOST_WORK` computed values. The sign of a
   numeric change is only known here.
3. From random pairs, with their error. Rows are drawn by content, so the result does not depend on
   their order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np

from proxyuse.lang.evaluate import Array, Values, evaluate
from proxyuse.lang.nodes import Term, Var
from proxyuse.lang.positions import Site
from proxyuse.measure.association.support import support_of
from proxyuse.measure.distinct_values import exact_work
from proxyuse.measure.engine import Measurement
from proxyuse.measure.forests.counting import Intervention
from proxyuse.measure.forests.engine import ForestEngine
from proxyuse.measure.forests.pair_sampling import changed_pairs
from proxyuse.measure.influence import differ
from proxyuse.measure.output_scale import Scale
from proxyuse.measure.row_order import content_order
from proxyuse.measure.sample import Sample
from proxyuse.settings import Sampling

MOST_WORK = 2e8
"""The limit of computed values for an exact answer: a second or so."""

ADDING_UP = 10
"""The number of values computed per row and tried value to compare outputs and add up changes."""

MOST_PAIRS = Sampling(alpha=0.01).pairs
"""The number of random pairs per group for which a share is within 0.01 of the exact one."""

ALL_PAIRS = 1 << 18
"""The number of random pairs of all groups together, unless a group would get too few."""

FEWEST_PAIRS = 1_000
BETA = 0.05

PairChanges = tuple[Array, Array, Array, Array]
"""Which pairs of rows change the output, go up, go down, and by how much."""


@dataclass(frozen=True, slots=True, eq=False)
class SwapCounts:
    """What happens to the outputs of each group if a value is swapped, in mass.

    Attributes
    ----------
    masses : the mass of the group.
    up, down : the mass of the rows whose output goes up or down, each row times the share of
        values that do this to it.
    changed : the same for any change.
    moved : the mass times the change of a numeric output; None for other outputs.
    pairs, within : for an estimate, the number of random pairs per group, and the largest error of
        a share with probability 0.95; None if the counts are exact.
    moved_within : the same for the mean change of each group, from its standard error.

    Examples
    --------
    >>> from proxyuse.data.population import Population
    >>> from proxyuse.program import Program
    >>> program = Program.parse("ite(x <= 1, 0, 1)")
    >>> people = Population.build({"x": [1, 2, 3, 4], "z": list("aabb")}, protected="z")
    >>> measurement = Measurement(Sample(program, people))
    >>> scale = Scale("class", ("0", "1"))
    >>> counts = swap_counts(measurement, [Site(1)], np.array([0, 0, 1, 1]), scale)
    >>> (counts.up / counts.masses).tolist(), (counts.down / counts.masses).tolist()
    ([0.375, 0.0], [0.125, 0.25])
    >>> float((counts.up + counts.down).sum() / counts.masses.sum())
    0.375
    """

    masses: Array
    up: Array
    down: Array
    changed: Array
    moved: Array | None = None
    pairs: int | None = None
    within: float | None = None
    moved_within: Array | None = None

    def __add__(self, other: Self) -> Self:
        """Return the counts of both sets of rows; both must be exact."""
        assert self.pairs is None
        assert other.pairs is None
        moved = None if self.moved is None or other.moved is None else self.moved + other.moved
        return type(self)(
            self.masses + other.masses,
            self.up + other.up,
            self.down + other.down,
            self.changed + other.changed,
            moved,
        )


def swap_counts(
    measurement: Measurement,
    sites: Sequence[Site],
    groups: Array,
    scale: Scale,
    *,
    drawn: bool = False,
    everywhere: bool = False,
) -> SwapCounts:
    """Count the outputs that go up and down in each group, for one computation at some sites.

    Parameters
    ----------
    measurement : the measures of the program.
    sites : the sites of the computation.
    groups : the group of each row, from 0.
    scale : which way is up.
    drawn : whether the influence of the computation was estimated, because it takes too long.
    everywhere : whether the sites are all sites of a variable.
    """
    known = measurement.sample.shared(_Known)
    key = tuple(sites), groups.tobytes(), scale, drawn
    if key not in known:
        known[key] = _counted(measurement, sites, groups, scale, drawn, everywhere)
    return known[key]


class _Known(dict[object, SwapCounts]):
    """The counts of a sample, because every format of a report needs the same ones."""

    def __init__(self, sample: Sample) -> None:
        super().__init__()


def _counted(
    measurement: Measurement,
    sites: Sequence[Site],
    groups: Array,
    scale: Scale,
    drawn: bool,
    everywhere: bool,
) -> SwapCounts:
    sample = measurement.sample
    if scale.kind != "number" and not drawn:
        effects = measurement.effects(sites)
        if effects is not None:
            return counted_changes(
                effects.changed, sample.outputs(), groups, sample.weights, scale, sample
            )
    swap = _Swap(sample, sites, scale, everywhere)
    if not drawn and _work(swap) <= MOST_WORK:
        return _by_value(swap, groups)
    changes = _pair_changes(measurement, swap)
    return _estimated(sample, changes, groups, number=scale.kind == "number")


def changed_together(
    sample: Sample, changed: Callable[[Array, Array], Array], groups: Array, scale: Scale
) -> SwapCounts | None:
    """Estimate the changes in each group if several computations are swapped together.

    Parameters
    ----------
    sample : the program and the rows.
    changed : says which pairs of rows change the output.
    groups : the group of each row, from 0.
    scale : which way is up. For numbers, a changed pair has no direction, so there is no answer.
    """
    if scale.kind == "number":
        return None
    changes = partial(_directed, sample, changed, scale)
    return _estimated(sample, changes, groups, number=False)


def _directed(
    sample: Sample,
    changed: Callable[[Array, Array], Array],
    scale: Scale,
    rows: Array,
    others: Array,
) -> PairChanges:
    """Which pairs change the output. With two outputs, the present one determines the direction."""
    flags, nothing = changed(rows, others), np.zeros(len(rows))
    if not scale.directed:
        return flags, nothing, nothing, nothing
    high = scale.ranks(sample.outputs(), sample.vocabulary)[rows]
    return flags, flags * (1 - high), flags * high, nothing


def counted_changes(
    changed: Array, outputs: Array, groups: Array, weights: Array, scale: Scale, sample: Sample
) -> SwapCounts:
    """Add up the share of values that change each row, by group and present output, in O(n)."""
    count = int(groups.max()) + 1

    def total(values: Array) -> Array:
        return np.bincount(groups, values, minlength=count)

    mass = weights * changed
    if not scale.directed:
        nothing = np.zeros(count)
        return SwapCounts(total(weights), nothing, nothing, total(mass))
    high = scale.ranks(outputs, sample.vocabulary)
    return SwapCounts(total(weights), total(mass * (1 - high)), total(mass * high), total(mass))


class _Swap:
    """A program with a hole in place of a computation."""

    def __init__(
        self, sample: Sample, sites: Sequence[Site], scale: Scale, everywhere: bool
    ) -> None:
        self.sample, self.scale, self.sites = sample, scale, sites
        term = sample.points.term_at(sites[0])
        self.values = sample.values(term)
        self.context: Term
        self.known: Values
        if everywhere and isinstance(term, Var):  # swap the column; packed trees stay packed
            self.hole, self.context, self.known = term.name, sample.program.term, {}
        else:
            self.hole = sample.hole.name
            self.context = sample.points.replace(dict.fromkeys(sites, sample.hole))
            self.known = sample.inside(self.context)

    def outputs(self, values: Array, rows: Array | None = None) -> Array:
        """Return the outputs of all rows, or of some, with these values in the hole."""
        sample = self.sample
        sample.tick(0)
        columns, known, height = sample.frame.arrays, self.known, sample.n_rows
        if rows is not None:
            columns = {name: column[rows] for name, column in columns.items()}
            known = {key: _taken(array, rows) for key, array in known.items()}
            height = len(rows)
        with np.errstate(all="ignore"):
            columns = {**columns, self.hole: values}
            found = evaluate(self.context, columns, sample.vocabulary, known)
        return np.broadcast_to(found, (height, *found.shape[1:]))

    def changes(self, actual: Array, other: Array) -> tuple[Array, Array, Array, Array]:
        """Return whether each output changes, goes up, goes down, and by how much."""
        with np.errstate(all="ignore"):
            changed = self.sample.loss.loss(actual, other) if self._is_flag else None
            if changed is None or changed.dtype != np.bool_:
                changed = differ(actual, other)
            changed = np.broadcast_to(changed, (len(actual),))
            if not self.scale.directed:
                nothing = np.zeros(len(actual))
                return changed, nothing, nothing, nothing
            vocabulary = self.sample.vocabulary
            before, after = (self.scale.ranks(side, vocabulary) for side in (actual, other))
            by = after - before
            return changed, changed & (by > 0), changed & (by < 0), by

    @property
    def _is_flag(self) -> bool:
        """Whether the loss is a share of pairs; then its flags say what counts as a change."""
        return self.sample.loss.bounded


def _work(swap: _Swap) -> int:
    """Return how many values are computed to try each distinct value and add up the changes."""
    sample = swap.sample
    support = support_of(swap.values, sample.n_rows, signed_zero=True)
    return exact_work(sample, swap.sites) + ADDING_UP * len(support) * sample.n_rows


def _taken(values: Array, rows: Array) -> Array:
    return values if len(values) == 1 else values[rows]


def _by_value(swap: _Swap, groups: Array) -> SwapCounts:
    """Try each distinct value of the computation in every row."""
    sample = swap.sample
    support = support_of(swap.values, sample.n_rows, signed_zero=True)
    actual = swap.outputs(swap.values)
    count = int(groups.max()) + 1
    sums = np.zeros((4, count))
    for index, mass in enumerate(support.masses(sample.weights).tolist()):
        other = swap.outputs(support.values[index : index + 1])
        for row, flags in enumerate(swap.changes(actual, other)):
            values = sample.weights * np.where(np.isfinite(flags), flags, 0.0)
            sums[row] += mass * np.bincount(groups, values, minlength=count)
    changed, up, down, moved = sums / sample.total
    masses = np.bincount(groups, sample.weights, minlength=count)
    number = swap.scale.kind == "number"
    return SwapCounts(masses, up, down, changed, moved if number else None)


def _estimated(
    sample: Sample,
    changes: Callable[[Array, Array], PairChanges],
    groups: Array,
    *,
    number: bool,
) -> SwapCounts:
    """Draw pairs: X by weight within each group, X' by weight among all rows."""
    count = int(groups.max()) + 1
    pairs = min(max(ALL_PAIRS // count, FEWEST_PAIRS), MOST_PAIRS)
    order = content_order(sample)
    generator = np.random.default_rng(0)

    def draw(rows: Array) -> Array:
        cumulative = np.cumsum(sample.masses[rows])
        draws = generator.integers(0, int(cumulative[-1]), size=pairs)
        return np.asarray(rows[np.searchsorted(cumulative, draws, side="right")])

    shares = np.zeros((4, count))
    errors = np.zeros(count)
    for group in range(count):
        found = changes(draw(order[groups[order] == group]), draw(order))
        shares[:, group] = [np.mean(np.where(np.isfinite(part), part, 0.0)) for part in found]
        errors[group] = 1.96 * float(np.std(found[3])) / math.sqrt(pairs)
    masses = np.bincount(groups, sample.weights, minlength=count)
    changed, up, down, moved = shares * masses
    return SwapCounts(
        masses,
        up,
        down,
        changed,
        moved if number else None,
        pairs,
        math.sqrt(math.log(2 / BETA) / (2 * pairs)),
        errors if number else None,
    )


def _pair_changes(measurement: Measurement, swap: _Swap) -> Callable[[Array, Array], PairChanges]:
    """Return a function that says which pairs of rows change the output, and how."""
    sample, scale = swap.sample, swap.scale
    engines = measurement.engines if sample.counts_changes and scale.kind != "number" else ()
    engine = next((e for e in engines if isinstance(e, ForestEngine)), None)
    target = None if engine is None else engine.target(swap.sites)
    if engine is not None and target is not None and target.kind != "subtree":
        forest, intervention = engine, Intervention.at(engine.plan, target.nodes)
        walked = partial(changed_pairs, forest, intervention)
        return partial(_directed, sample, walked, scale)

    def evaluated(rows: Array, others: Array) -> PairChanges:
        actual = swap.outputs(swap.values[rows], rows)
        return swap.changes(actual, swap.outputs(swap.values[others], rows))

    return evaluated
