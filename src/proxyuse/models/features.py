"""The inputs of a model, expressed in raw columns.

The steps of a pipeline compute features from raw columns. The model at its end compares features
with thresholds, or multiplies them by weights. A feature expresses both in terms of its raw
column, so programs never contain scaled or encoded values:

- `Raw`: the column itself;
- `Filled`: the column with missing values replaced (imputers);
- `Mapped`: a monotone function of a numeric column (scalers). A threshold on the feature becomes
  a threshold on the column: the largest number that the library's own arithmetic maps below it,
  computed by bisection over float64;
- `Stepped`: a number for each interval of a numeric column (binning). A threshold on the feature
  becomes a threshold on the column, or an interval;
- `Coded`: a number for each value of a column (one-hot, ordinal, target encoding). A threshold on
  the feature becomes a set of values;
- `Computed`: any other term (products, sums over columns);
- `Fixed`: a constant.

Columns contain float64 numbers or integers, as in data frames. scikit-learn computes in float32 on
float32 arrays that pass through scalers; programs do not imitate that. None and NaN are the same
missing value.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.bisection import last_with_first_answer, last_with_first_answers
from proxyuse.lang.build import conj, disj, lookup, member
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import (
    FALSE,
    TRUE,
    Call,
    Compare,
    Const,
    Function,
    Ite,
    Precision,
    Relation,
    Term,
    Value,
    Var,
    is_missing,
)
from proxyuse.models.feature_tests import (
    Bound,
    Test,
    TestColumns,
    beyond,
    comparisons,
    hold_each,
    is_short,
    last_rounded,
    only_missing,
    up_to,
    where_missing,
)


class Feature(ABC):
    """An input of a model, computed from raw columns."""

    __slots__ = ()

    @abstractmethod
    def term(self) -> Term:
        """The value of the feature."""

    @abstractmethod
    def within(self, bound: Bound) -> Test:
        """Whether the feature is within a bound, as a test of its column."""

    def each_at_most(
        self, thresholds: Array, precision: Precision, missing: Array, *, strict: bool = False
    ) -> TestColumns:
        """Tests for many thresholds, each with its answer for missing values.

        Thresholds with the same levels below them have the same test, which is built once.
        """
        tests = TestColumns.empty(len(thresholds))
        levels = self.levels()
        keys = np.arange(len(thresholds))
        if levels is not None:
            with np.errstate(all="ignore"):
                if precision is Precision.FLOAT32:
                    levels = levels.astype(np.float32).astype(np.float64)
            known = np.unique(levels[~np.isnan(levels)])
            keys = 2 * np.searchsorted(known, thresholds, side="left" if strict else "right")
            keys += missing
        _, first, index = np.unique(keys, return_index=True, return_inverse=True)
        for row in first.tolist():
            bound = Bound(float(thresholds[row]), precision, bool(missing[row]), strict)
            tests.put(row, self.within(bound))
        rows = first[index]
        return replace(
            tests, shape=tests.shape[rows], cut=tests.cut[rows], opposite=tests.opposite[rows]
        )

    def levels(self) -> Array | None:
        """All numbers that the feature can be, or None if there are many."""
        return None

    def at_most(
        self, threshold: float, precision: Precision, missing: bool, *, strict: bool = False
    ) -> Test:
        """Whether the feature, rounded to a float type, is at most a threshold (or below it).

        `missing` is the answer for a missing value.
        """
        return self.within(Bound(threshold, precision, missing, strict))


@dataclass(frozen=True, slots=True)
class Raw(Feature):
    """A raw column."""

    name: str

    def term(self) -> Term:
        """The variable."""
        return Var(self.name)

    def within(self, bound: Bound) -> Test:
        """The comparison itself."""
        return bound.of(Var(self.name))

    def each_at_most(
        self, thresholds: Array, precision: Precision, missing: Array, *, strict: bool = False
    ) -> TestColumns:
        """The comparisons themselves."""
        return comparisons(Var(self.name), thresholds, precision, missing, strict)


@dataclass(frozen=True, slots=True)
class Filled(Feature):
    """A column with missing values replaced.

    Attributes
    ----------
    name : the column.
    fill : the replacement, a number or a category.
    marker : what is replaced: the missing value, or a category that marks missing values.
    """

    name: str
    fill: float | str
    marker: Value = math.nan

    def term(self) -> Term:
        """The column, or the replacement."""
        column = Var(self.name)
        if isinstance(self.fill, float):
            return Call(Function.FILL, (column, Const(self.fill)))
        if_missing = is_missing(self.marker)
        members = ["\0" if if_missing else self.marker]
        return Ite(member(column, members, missing=if_missing), Const(self.fill), column)

    def within(self, bound: Bound) -> Test:
        """A comparison of the column; a missing value gets the answer for the replacement."""
        if isinstance(self.fill, str):
            raise TranslationError(
                f"the column {self.name!r} has categories, but the model compares it with a "
                "number; encode it first"
            )
        return bound.of(Var(self.name), missing=bound.holds(self.fill))

    def each_at_most(
        self, thresholds: Array, precision: Precision, missing: Array, *, strict: bool = False
    ) -> TestColumns:
        """Comparisons of the column; a missing value gets the answers for the replacement."""
        if isinstance(self.fill, str):
            return super().each_at_most(thresholds, precision, missing, strict=strict)
        if_missing = hold_each(
            np.full(len(thresholds), self.fill), thresholds, precision, missing, strict
        )
        return comparisons(Var(self.name), thresholds, precision, if_missing, strict)


@dataclass(frozen=True, slots=True, eq=False)
class Computed(Feature):
    """A number computed from several columns, or by a function that has no inverse."""

    value: Term

    def term(self) -> Term:
        """The term."""
        return self.value

    def within(self, bound: Bound) -> Test:
        """The comparison itself."""
        return bound.of(self.value)

    def each_at_most(
        self, thresholds: Array, precision: Precision, missing: Array, *, strict: bool = False
    ) -> TestColumns:
        """The comparisons themselves."""
        return comparisons(self.value, thresholds, precision, missing, strict)


@dataclass(frozen=True, slots=True)
class Fixed(Feature):
    """The same number in every row."""

    number: float

    def term(self) -> Term:
        """The constant."""
        return Const(self.number)

    def levels(self) -> Array:
        """The number."""
        return np.array([self.number])

    def within(self, bound: Bound) -> Test:
        """True or false."""
        return Test(TRUE if bound.holds(self.number) else FALSE)


@dataclass(frozen=True, slots=True, eq=False)
class Mapped(Feature):
    """A monotone function of a numeric column.

    Attributes
    ----------
    name : the column.
    function : the library's own arithmetic on a float64 array, including missing numbers.
    increasing : whether the function is increasing rather than decreasing.
    value : the feature as a term over the column.
    affine : slope and offset, if the feature is ``slope * fill(column) + offset``.
    fill : the replacement for missing numbers, if any.
    """

    name: str
    function: Callable[[Array], Array]
    increasing: bool
    value: Term
    affine: tuple[float, float] | None = None
    fill: float | None = None

    def term(self) -> Term:
        """The function as a term."""
        return self.value

    def within(self, bound: Bound) -> Test:
        """A comparison of the column with the number at which the answer changes."""

        def answers(numbers: Array) -> Array:
            with np.errstate(all="ignore"):
                return bound.hold(self.function(numbers))

        if_missing = bool(answers(np.array([np.nan]))[0])
        switch, first = last_with_first_answer(answers)
        if switch == math.inf:
            return only_missing(self.name, first, if_missing, numbers=True)
        return Test(
            up_to(self.name, switch, if_missing) if first else beyond(self.name, switch, if_missing)
        )

    def each_at_most(
        self, thresholds: Array, precision: Precision, missing: Array, *, strict: bool = False
    ) -> TestColumns:
        """Comparisons of the column with the numbers at which the answers change."""

        def answers(numbers: Array, some: Array) -> Array:
            with np.errstate(all="ignore"):
                features = np.asarray(self.function(numbers), dtype=np.float64)
            return hold_each(features, thresholds[some], precision, missing[some], strict)

        guess = None
        if self.affine is not None and self.affine[0] != 0:
            with np.errstate(all="ignore"):
                edges = last_rounded(thresholds, precision, strict)
                guess = (edges - self.affine[1]) / self.affine[0]
        switch, first = last_with_first_answers(answers, len(thresholds), guess)
        if_missing = answers(np.full(len(thresholds), np.nan), np.arange(len(thresholds)))
        tests = TestColumns.empty(len(thresholds))
        for index in np.flatnonzero(switch == math.inf).tolist():
            test = only_missing(
                self.name, bool(first[index]), bool(if_missing[index]), numbers=True
            )
            tests.put(index, test)
        after = np.nextafter(switch, math.inf)
        with np.errstate(all="ignore"):
            rounder = is_short(after) & ~is_short(switch)
        column = Var(self.name)
        for upper in (True, False):
            for shorter in (True, False):
                chosen = (first == upper) & (rounder == shorter) & (switch < math.inf)
                rows = np.flatnonzero(chosen)
                if upper:
                    relation = Relation.LT if shorter else Relation.LE
                else:
                    relation = Relation.GE if shorter else Relation.GT
                cut = after if shorter else switch
                tests.put_comparisons(
                    rows, relation, column, cut[rows], Precision.FLOAT64, if_missing[rows]
                )
        return tests


@dataclass(frozen=True, slots=True, eq=False)
class Stepped(Feature):
    """A number for each interval of a numeric column.

    Attributes
    ----------
    name : the column.
    cuts : the largest number of each interval except the last, ascending.
    numbers : the feature in each interval, one more than cuts.
    missing : the feature for a missing value.
    """

    name: str
    cuts: tuple[float, ...]
    numbers: tuple[float, ...]
    missing: float

    def term(self) -> Term:
        """Nested ites; a missing value joins the first interval with its number."""
        cuts, numbers = _joined(self.cuts, self.numbers)
        home = next((i for i, number in enumerate(numbers) if same(number, self.missing)), -1)
        term: Term = Const(numbers[-1])
        for i in reversed(range(len(cuts))):
            term = Ite(up_to(self.name, cuts[i], i == home), Const(numbers[i]), term)
        if home >= 0:
            return term
        return Ite(where_missing(self.name, numbers=True), Const(self.missing), term)

    def levels(self) -> Array:
        """The numbers of the intervals, and that of missing values."""
        return np.array([*self.numbers, self.missing])

    def within(self, bound: Bound) -> Test:
        """Whether the column is in certain intervals."""
        *held, if_missing = bound.hold(np.array([*self.numbers, self.missing])).tolist()
        cuts, answers = _joined(self.cuts, held)
        if not cuts:
            return only_missing(self.name, answers[0], if_missing, numbers=True)
        if len(cuts) == 1:
            one_side = up_to if answers[0] else beyond
            return Test(one_side(self.name, cuts[0], if_missing))
        opposite = answers[0] and answers[-1]
        if_missing = if_missing != opposite
        ends = [-math.inf, *cuts, math.inf]
        parts: list[Term] = []
        for i, answer in enumerate(answers):
            if answer == opposite:
                continue
            sides = [beyond(self.name, ends[i], if_missing)] if i else []
            sides += [up_to(self.name, ends[i + 1], if_missing)] if i < len(cuts) else []
            parts.append(conj(*sides))
        return Test(disj(*parts), opposite)


@dataclass(frozen=True, slots=True, eq=False)
class Coded(Feature):
    """A number for each value of one column.

    Attributes
    ----------
    name : the column.
    numbers : the feature for each listed value.
    default : the feature for any other value.
    missing : the feature for a missing value.
    """

    name: str
    numbers: Mapping[Value, float]
    default: float
    missing: float

    def term(self) -> Term:
        """A table of the column."""
        entries = dict(self.numbers)
        if not same(self.missing, self.default):
            entries[math.nan] = self.missing
        return lookup(Var(self.name), entries.items(), self.default)

    def levels(self) -> Array:
        """The numbers of the values, of any other value, and of missing values."""
        return np.array([*self.numbers.values(), self.default, self.missing])

    def within(self, bound: Bound) -> Test:
        """Whether the column has one of certain values."""
        *held, otherwise, if_missing = bound.hold(self.levels()).tolist()
        chosen = [v for v, answer in zip(self.numbers, held, strict=True) if answer != otherwise]
        if not chosen:
            words = any(isinstance(value, str) for value in self.numbers)
            return only_missing(self.name, otherwise, if_missing, numbers=not words)
        column, apart = Var(self.name), if_missing != otherwise
        if len(chosen) == 1:
            equal = Compare(Relation.EQ, column, Const(chosen[0]), Precision.FLOAT64, apart)
            return Test(equal, opposite=otherwise)
        return Test(member(column, chosen, missing=apart), opposite=otherwise)


N = TypeVar("N", float, bool)


def _joined(cuts: Sequence[float], numbers: Sequence[N]) -> tuple[list[float], list[N]]:
    """The same steps without empty ones, and with equal neighbors merged."""
    ends, kept = [*cuts, math.inf], [numbers[0]]
    merged_cuts: list[float] = []
    begin = -math.inf
    for i, number in enumerate(numbers):
        if i and ends[i] <= begin:
            continue
        if i and not same(number, kept[-1]):
            merged_cuts.append(ends[i - 1])
            kept.append(number)
        begin = ends[i]
    return merged_cuts, kept


_OPPOSITES = {
    Relation.EQ: Relation.NE,
    Relation.NE: Relation.EQ,
    Relation.LT: Relation.GE,
    Relation.GE: Relation.LT,
    Relation.LE: Relation.GT,
    Relation.GT: Relation.LE,
}


def above(
    feature: Feature, threshold: float, precision: Precision, *, or_equal: bool = False
) -> Test:
    """Whether a feature is above a threshold (or equal to it); false for missing values."""
    below = feature.at_most(threshold, precision, missing=True, strict=or_equal)
    match below.term:
        case Const(bool() as always):
            return Test(FALSE if always else TRUE, below.opposite)
        case Compare(relation, left, right, rounding, missing) if relation is not Relation.EQ:
            term = Compare(_OPPOSITES[relation], left, right, rounding, not missing)
            return Test(term, below.opposite)
        case _:
            return replace(below, opposite=not below.opposite)


def choice(test: Test, then: Term, otherwise: Term) -> Term:
    """One of two terms by a test; just that term if the test is always true or always false."""
    if test.opposite:
        then, otherwise = otherwise, then
    if isinstance(test.term, Const):
        return then if test.term == TRUE else otherwise
    return Ite(test.term, then, otherwise)


def same(first: float, second: float) -> bool:
    """Whether two numbers are equal, or both missing."""
    return first == second or (math.isnan(first) and math.isnan(second))


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """The features that a model or step reads, and its position in the pipeline.

    Attributes
    ----------
    features : in the model's order.
    step : the names of the enclosing steps, for origins and errors.
    opaque : whether steps that cannot be translated become variables.
    sparse : whether the features are in a sparse matrix, which the library scales differently.
    file : the file that the model was loaded from; empty if it comes from memory.
    """

    features: tuple[Feature, ...]
    step: str = ""
    opaque: bool = False
    sparse: bool = False
    file: str = ""

    @classmethod
    def raw(cls, names: Sequence[str], *, opaque: bool = False, file: str = "") -> Inputs:
        """Raw columns."""
        return cls(tuple(Raw(name) for name in names), opaque=opaque, file=file)

    def inside(self, step: str) -> Inputs:
        """The inputs of a part of the model."""
        return replace(self, step=f"{self.step} > {step}" if self.step else step)

    def having(self, features: Sequence[Feature]) -> Inputs:
        """Other features at the same step."""
        return replace(self, features=tuple(features))


def filled(name: str, fill: float | None) -> Term:
    """A column; `fill` replaces missing numbers unless it is None."""
    return Var(name) if fill is None else Filled(name, fill).term()
