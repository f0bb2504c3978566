"""Plans that count the pairs of rows in which one position changes the output.

The first pass (`PositionPlan`) collects the distinct values at the position, with the mass of all
rows and of the rows whose output depends on the position. This is enough if only equality of
values matters (PASS, FLIP, and OTHER with only constants beside the position). If their order
matters (SIDE, SHIFT, BAND), a second pass (`RangePlan`) knows all values. It finds the range of
values that keep each row's output and adds up the mass outside. Both passes use `ranges_of` and
`ContextAnalysis` on one block at a time, so the program's own operations decide where rounding
matters.

Blocks can have different forms: if the form is OTHER in one block, it is OTHER for all rows.
`proxyuse.measure.counting` explains plans.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import starmap
from operator import mul
from typing import NamedTuple

import numpy as np

from proxyuse.lang.evaluate import NO_CATEGORY, Array, Vocabulary, evaluate, truth_of
from proxyuse.lang.nodes import Var
from proxyuse.lang.positions import Site
from proxyuse.measure import mass_products
from proxyuse.measure.association.support import support_of
from proxyuse.measure.contexts.context import Context, Form, filled_in
from proxyuse.measure.contexts.context_analysis import ContextAnalysis
from proxyuse.measure.contexts.path_evaluation import highest_equivalent, only_constants_beside
from proxyuse.measure.contexts.unchanged_ranges import Ranges, ranges_of
from proxyuse.measure.counting import Block, Measures, Rows, Variances, product
from proxyuse.measure.influence import QuantitativeInputInfluence
from proxyuse.program import Program
from proxyuse.settings import Influence

_MAGNITUDE = np.int64(2**63 - 1)


class Distinct(NamedTuple):
    """The distinct values of some rows.

    Attributes
    ----------
    keys : the values in a form that sorts and compares the same in every process. Numbers and
        booleans are int64 in the order of the numbers, -0 before 0, missing last. Vectors are rows
        of such keys. Categories are words with the prefix "=", or "" if missing.
    codes : the index of each row's key.
    """

    keys: Array
    codes: Array


def distinct(values: Array, vocabulary: Vocabulary) -> Distinct:
    """Return the distinct values of some rows, in O(n log n)."""
    if values.dtype == np.int32:
        present, codes = np.unique(values, return_inverse=True)
        words = ["" if code == NO_CATEGORY else "=" + vocabulary.words[code] for code in present]
        order = sorted(range(len(words)), key=words.__getitem__)
        rank = np.empty(len(words), dtype=np.intp)
        rank[order] = np.arange(len(words))
        keys = np.array([words[i] for i in order], dtype=object)
        return Distinct(keys, rank[codes.ravel()])
    if values.ndim == 2:
        keys, codes = np.unique(_keys(values), axis=0, return_inverse=True)
        return Distinct(keys, codes.ravel())
    if values.dtype == np.float64 and np.any(np.signbit(values) & (values == 0)):
        return Distinct(*np.unique(_keys(values), return_inverse=True))
    support = support_of(values, len(values))
    return Distinct(_keys(support.values.astype(np.float64)), support.codes)


def located(keys: Array, some: Array) -> Array:
    """Return the indices of some keys among all keys."""
    if keys is some:
        return np.arange(len(keys))
    if keys.ndim == 1:
        return np.searchsorted(keys, some)
    return np.unique(np.concatenate([keys, some]), axis=0, return_inverse=True)[1].ravel()[
        len(keys) :
    ]


def _keys(numbers: Array) -> Array:
    bits = np.where(np.isnan(numbers), np.nan, numbers).view(np.int64)
    return np.where(bits < 0, bits ^ _MAGNITUDE, bits)


def _values(keys: Array) -> Array:
    """Convert keys back to values; categories become arbitrary numbers."""
    if keys.dtype == object:
        return np.arange(len(keys), dtype=np.int32)
    return np.where(keys < 0, keys ^ _MAGNITUDE, keys).view(np.float64)


class Dependence(NamedTuple):
    """The part of a `Context` that is the same for all rows.

    All blocks have the same form, except that some may have the form OTHER. All rows then have it.
    """

    form: Form
    missing: float | None = None
    filled: bool = False

    @classmethod
    def of(cls, context: Context) -> Dependence:
        """Return the dependence of a context."""
        if context.form is Form.OTHER:
            return cls(Form.OTHER)
        return cls(context.form, context.missing, context.filled)


@dataclass(frozen=True, slots=True, eq=False)
class Values:
    """Counts of the first pass.

    Attributes
    ----------
    keys : see `Distinct`.
    masses, depending : by key, the mass of all rows, and of those whose output can depend on the
        position.
    squares, depending_squares : the same for squared masses, as digits (see `mass_products`); no
        columns unless the plan computes variances.
    reached : the mass of the rows that evaluate the position.
    heaviest : the largest mass of a row.
    dependence : how the output depends on the position.
    """

    keys: Array
    masses: Array
    depending: Array
    squares: Array
    depending_squares: Array
    reached: int
    heaviest: int
    dependence: Dependence

    def __add__(self, other: Values) -> Values:
        both = np.concatenate([self.keys, other.keys])
        keys, codes = np.unique(both, axis=0 if both.ndim == 2 else None, return_inverse=True)
        codes = codes.ravel()

        def merged(first: Array, second: Array) -> Array:
            sums = np.zeros((len(keys), *first.shape[1:]), dtype=np.int64)
            sums[codes[: len(first)]] = first
            sums[codes[len(first) :]] += second  # keys of one side are distinct
            return sums

        return Values(
            keys,
            merged(self.masses, other.masses),
            merged(self.depending, other.depending),
            mass_products.carried(merged(self.squares, other.squares)),
            mass_products.carried(merged(self.depending_squares, other.depending_squares)),
            self.reached + other.reached,
            max(self.heaviest, other.heaviest),
            other.dependence if other.dependence.form is Form.OTHER else self.dependence,
        )


@dataclass(frozen=True, slots=True)
class PositionPlan:
    """The first pass: the output if one position takes its value from another row.

    Attributes
    ----------
    site : the position. If it has only constants beside it, the one above, which has the same
        influence (see `highest_equivalent`).
    variances : whether to compute the variances of the influence.
    influence : quantitative input influence or `Moved`.
    """

    program: Program
    site: Site
    variances: bool = False
    influence: Influence = field(default_factory=QuantitativeInputInfluence)

    def __post_init__(self) -> None:
        object.__setattr__(self, "site", highest_equivalent(self.program.points, self.site))

    def count(self, block: Block) -> Values:
        """Return the distinct values of some rows, with masses, in O(n log n)."""
        rows = block.rows(self.program, self.influence)
        values = rows.values(rows.points.term_at(self.site))
        return self.count_rows(rows, block.masses, distinct(values, rows.vocabulary))

    def count_rows(self, rows: Rows, masses: Array, own: Distinct) -> Values:
        """Count rows whose distinct values are known."""
        context = rows.shared(ContextAnalysis).context(self.site)
        codes, size = own.codes, len(own.keys)
        held = context.rows
        squares = np.empty((0, 0), dtype=np.int64)
        if self.variances:
            mass = mass_products.digits(masses)
            squares = mass_products.times(mass, mass)

        def squared(some: Array | slice) -> Array:
            if not self.variances:
                return np.empty((size, 0), dtype=np.int64)
            return mass_products.summed(codes[some], squares[some], size)

        return Values(
            own.keys,
            _summed(codes, masses, size),
            _summed(codes[held], masses[held], size),
            squared(slice(None)),
            squared(held),
            int(masses[rows.reached(self.site.point)].sum()),
            int(masses.max()),
            Dependence.of(context),
        )

    def finish(self, counts: Values) -> Measures | RangePlan | None:
        """Return the measures, the second pass, or None if the form is OTHER and siblings vary."""
        settled = self.settled(counts)
        return (
            settled.measures(self.variances) if isinstance(settled, EquivalentValues) else settled
        )

    def settled(self, counts: Values) -> EquivalentValues | RangePlan | None:
        """Return which values are equivalent, or the second pass if their order matters."""
        form, values = counts.dependence.form, _values(counts.keys)
        if not counts.depending.any():
            return EquivalentValues(counts, np.zeros(len(values), dtype=np.intp))
        if form is Form.OTHER:
            classes = isinstance(self.influence, QuantitativeInputInfluence)
            if not classes or not only_constants_beside(self.program.points, self.site):
                return None
            return EquivalentValues(counts, self._outputs(counts.keys))
        values = filled_in(values, counts.dependence.missing)
        if form is Form.FLIP:
            return EquivalentValues(counts, truth_of(values).astype(np.intp))
        support = support_of(values, len(values))
        if form is Form.PASS:
            return EquivalentValues(counts, support.codes)
        if values.ndim == 2:
            return None  # vectors have no order
        filled = counts.dependence.filled and np.isnan(support.values).any()
        if form in (Form.SHIFT, Form.BAND) and filled:
            return None  # a missing value that is filled in above has no neighbors
        masses = _summed(support.codes, counts.masses, len(support))
        return RangePlan(self, counts, support.codes, support.values, masses)

    def _outputs(self, keys: Array) -> Array:
        """Group the values by output; the position must have only constants beside it."""
        hole = Var("u" + "'" * (1 + max(map(len, self.program.inputs), default=0)))
        context = self.program.points.replace({self.site: hole})
        vocabulary, values = Vocabulary(), _values(keys)
        if keys.dtype == object:
            codes = [NO_CATEGORY if key == "" else vocabulary.code(key[1:]) for key in keys]
            values = np.array(codes, dtype=np.int32)
        outputs = evaluate(context, {hole.name: values}, vocabulary)
        outputs = np.broadcast_to(outputs, (len(keys), *outputs.shape[1:]))
        return support_of(outputs, len(keys)).codes


@dataclass(frozen=True, slots=True, eq=False)
class EquivalentValues:
    """A pair of rows changes the output if the classes of their values differ.

    Attributes
    ----------
    counts : the counts of the first pass.
    classes : the class of each key.
    """

    counts: Values
    classes: Array

    def _by_class(self, sums: Array) -> Array:
        return _summed(self.classes, sums, int(self.classes.max()) + 1)

    @property
    def changed(self) -> Array:
        """For each class, the mass of the values that change the output of a row of this class."""
        return np.asarray(self.counts.masses.sum() - self._by_class(self.counts.masses))

    @property
    def changing(self) -> Array:
        """For each class, the mass of the rows whose output a value of this class changes."""
        depending = self.counts.depending
        return np.asarray(depending.sum() - self._by_class(depending))

    def measures(self, variances: bool) -> Measures:
        """Return the measures."""
        counts, changed = self.counts, self.changed
        masses, depending = self._by_class(counts.masses), self._by_class(counts.depending)
        total, pairs = int(masses.sum()), product(depending, changed)
        if not variances:
            return Measures(pairs / (total * total), counts.reached / total, total)
        effects: list[int] = changed.tolist()

        def moments(every: list[int], some: list[int]) -> _Moments:
            second = sum(s * c * c for s, c in zip(some, effects, strict=True))
            return _Moments(every, list(map(mul, some, effects)), second)

        squares, depending_squares = (
            mass_products.numbers(mass_products.summed(self.classes, sums, len(effects)))
            for sums in (counts.squares, counts.depending_squares)
        )
        return _measures(
            counts, pairs, self.changing.tolist(), moments(masses.tolist(), depending.tolist()),
            moments(squares, depending_squares),
        )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class Changes:
    """Counts of the second pass.

    Attributes
    ----------
    pairs : the mass of the pairs of rows that change the output.
    begin, end : by value, the mass of the rows whose range begins there, and ends before it.
    missing : the mass of the rows whose output changes with a missing value.
    products, square_products : by the rows' own value, the sums of ``m c`` and ``m^2 c``, as
        digits: m is the mass of a row, c the mass of the values that change its output.
    second, square_second : the sums of ``m c^2`` and ``m^2 c^2``.

    All but `pairs` are empty unless the plan computes variances.
    """

    pairs: int
    begin: Array
    end: Array
    missing: int
    products: Array
    square_products: Array
    second: int
    square_second: int

    def __add__(self, other: Changes) -> Changes:
        return Changes(
            self.pairs + other.pairs,
            self.begin + other.begin,
            self.end + other.end,
            self.missing + other.missing,
            mass_products.carried(self.products + other.products),
            mass_products.carried(self.square_products + other.square_products),
            self.second + other.second,
            self.square_second + other.square_second,
        )


@dataclass(frozen=True, slots=True, eq=False)
class RangePlan:
    """The second pass, for positions where the order of values matters.

    Attributes
    ----------
    first : the plan of the first pass.
    values : its counts.
    classes : the index of the number of each key.
    numbers : the distinct numbers, sorted, a missing one last.
    masses : the mass of each number in the whole population.
    """

    first: PositionPlan
    values: Values
    classes: Array
    numbers: Array
    masses: Array

    def count(self, block: Block) -> Changes:
        """Return the changes in some rows, in O(n log n)."""
        rows = block.rows(self.first.program, self.first.influence)
        values = rows.values(rows.points.term_at(self.first.site))
        return self.count_rows(rows, block.masses, distinct(values, rows.vocabulary))

    def ranges(self, rows: Rows, own: Distinct) -> Ranges:
        """Return the range of numbers that keep the output, for each of some rows."""
        context = rows.shared(ContextAnalysis).context(self.first.site)
        codes = self.classes[located(self.values.keys, own.keys)][own.codes]
        return ranges_of(rows, self.first.site, context, self.numbers, codes)

    def changed(self, ranges: Ranges) -> Array:
        """Return the mass of the values that change the output, for each row of some ranges."""
        masses, size = self.masses, ranges.size
        before = np.concatenate([[0], np.cumsum(masses[:size])])
        changed: Array = before[ranges.first] + (before[-1] - before[ranges.last])
        if ranges.missing_changes is not None and size < len(masses):
            changed = changed + np.where(ranges.missing_changes, masses[size], 0)
        return changed

    def count_rows(self, rows: Rows, masses: Array, own: Distinct) -> Changes:
        """Count rows whose distinct values are known."""
        ranges = self.ranges(rows, own)
        mass, changed = masses[ranges.rows], self.changed(ranges)
        pairs = product(mass, changed)
        if not self.first.variances:
            none = np.empty(0, dtype=np.int64)
            return Changes(pairs, none, none, 0, none[:, None], none[:, None], 0, 0)
        count, codes = len(self.numbers), ranges.codes[ranges.rows]
        m, c = mass_products.digits(mass), mass_products.digits(changed)
        products = mass_products.times(m, c)
        square_products = mass_products.times(m, products)
        return Changes(
            pairs,
            *boundaries(ranges, mass),
            mass_products.summed(codes, products, count),
            mass_products.summed(codes, square_products, count),
            mass_products.total(mass_products.times(products, c)),
            mass_products.total(mass_products.times(products, products)),
        )

    def finish(self, counts: Changes) -> Measures:
        """Return the measures."""
        values = self.values
        if not self.first.variances:
            total = int(values.masses.sum())
            return Measures(counts.pairs / (total * total), values.reached / total, total)
        count = len(self.numbers)
        squares = mass_products.numbers(mass_products.summed(self.classes, values.squares, count))
        return _measures(
            values,
            counts.pairs,
            changing(counts.begin, counts.end, counts.missing)[:count].tolist(),
            _Moments(self.masses.tolist(), mass_products.numbers(counts.products), counts.second),
            _Moments(squares, mass_products.numbers(counts.square_products), counts.square_second),
        )


def boundaries(ranges: Ranges, masses: Array) -> tuple[Array, Array, int]:
    """Return the fields `begin`, `end` and `missing` of `Changes` for rows with these masses."""
    missing = 0 if ranges.missing_changes is None else int(masses[ranges.missing_changes].sum())
    begin, end = (_summed(at, masses, ranges.size + 1) for at in (ranges.first, ranges.last))
    return begin, end, missing


def changing(begin: Array, end: Array, missing: int) -> Array:
    """Return the mass of the rows whose output each number changes, the missing one last.

    These are the rows whose range begins after the number or ends before it.
    """
    result = np.cumsum(end)
    result[:-1] += np.cumsum(begin[::-1])[::-1][1:]
    result[-1] = missing
    return result


class _Moments(NamedTuple):
    """The sums of s, s c and s c^2, the first two by value; s is a mass or its square."""

    plain: Sequence[int]
    products: Sequence[int]
    second: int


def _measures(
    counts: Values, pairs: int, changing: Sequence[int], masses: _Moments, squares: _Moments
) -> Measures:
    """Return the measures with variances, from exact sums; `changing` is by value."""
    total = sum(masses.plain)

    def variance(sums: _Moments) -> float:
        """Return the sum of ``s (e - mean)^2``, where e is changed + changing."""
        products = sum(map(mul, sums.products, changing))
        plain = sum(s * g * g for s, g in zip(sums.plain, changing, strict=True))
        second = sums.second + 2 * products + plain
        first = sum(sums.products) + sum(starmap(mul, zip(sums.plain, changing, strict=True)))
        scaled = total**2 * second - 4 * pairs * total * first + 4 * pairs**2 * sum(sums.plain)
        return float(scaled / total**6)

    return Measures(
        pairs / (total * total),
        counts.reached / total,
        total,
        sum(squares.plain),
        counts.heaviest,
        Variances(sampling=variance(squares), counts=variance(masses)),
    )


def _summed(codes: Array, masses: Array, count: int) -> Array:
    """Sum masses by code; exact, because the sum of all masses is below 2^53."""
    return np.bincount(codes, masses, minlength=count).astype(np.int64)
