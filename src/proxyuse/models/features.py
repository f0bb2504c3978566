"""What a model sees of a row, said in raw columns.

The steps of a pipeline compute features from the raw columns, and the model at its end uses
features: it compares them with thresholds, or weighs and adds them. A feature knows how to say
either of these of the column it comes from, so that no scaled or encoded value is ever spoken of:

- `Raw`: the column itself;
- `Filled`: the column with one value in place of the missing ones (imputers);
- `Mapped`: a monotone function of one column of numbers (scalers). A threshold of the feature is
  a threshold of the column: the largest number of the column that the library's own arithmetic
  still puts below it, found by bisection over float64;
- `Stepped`: a number for each of some intervals of one column of numbers (binning). A threshold
  of the feature is one of the column, or an interval;
- `Coded`: a number for each value of one column (one-hot, ordinal, target encoding). A threshold
  of the feature is a set of the column's values;
- `Computed`: any other term (products, sums over columns);
- `Fixed`: a constant.

Columns are taken to hold float64 (or whole) numbers, as data frames do. Arrays of float32 that
pass through scalers are computed in float32 by scikit-learn, which is not followed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol, TypeVar

import numpy as np

from proxyuse.errors import TranslationError
from proxyuse.lang.bisection import last_with_first_answer as last_with_first_answer
from proxyuse.lang.build import add, conj, disj, lookup, member, mul
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


@dataclass(frozen=True, slots=True)
class Test:
    """A test of a feature, and whether what was asked for is its opposite.

    Sets of values read best from the smaller side; a tree then exchanges its branches.
    """

    term: Term
    opposite: bool = False


class Feature(Protocol):
    """One input of a model."""

    def term(self) -> Term:
        """Its value."""
        ...

    def at_most(
        self, threshold: float, precision: Precision, missing: bool, *, strict: bool = False
    ) -> Test:
        """Whether it is at most a threshold (or below it) after rounding to a float type.

        `missing` is the answer where the feature is missing.
        """
        ...


@dataclass(frozen=True, slots=True)
class Raw:
    """A column as it is."""

    name: str

    def term(self) -> Term:
        """The variable."""
        return Var(self.name)

    def at_most(
        self, threshold: float, precision: Precision, missing: bool, *, strict: bool = False
    ) -> Test:
        """The comparison itself."""
        return Test(_comparison(Var(self.name), threshold, precision, missing, strict))


@dataclass(frozen=True, slots=True)
class Filled:
    """A column with a value in place of the missing ones.

    Attributes
    ----------
    name : the column.
    fill : what stands in for a missing value, a number or a category.
    gone : what is replaced: missing values, or a category that says so.
    """

    name: str
    fill: float | str
    gone: Value = math.nan

    def term(self) -> Term:
        """The column where it is there."""
        column = Var(self.name)
        if isinstance(self.fill, float):
            return Call(Function.FILL, (column, Const(self.fill)))
        lost = is_missing(self.gone)
        members = ["\0" if lost else self.gone]
        return Ite(member(column, members, missing=lost), Const(self.fill), column)

    def at_most(
        self, threshold: float, precision: Precision, missing: bool, *, strict: bool = False
    ) -> Test:
        """A comparison of the column, answered where it is missing as for what stands in."""
        if isinstance(self.fill, str):
            raise TranslationError(
                f"the column {self.name!r} holds categories and is compared with a number; "
                "encode it first"
            )
        answer = Fixed(self.fill).at_most(threshold, precision, missing, strict=strict)
        lost = answer.term == TRUE
        return Test(_comparison(Var(self.name), threshold, precision, lost, strict))


@dataclass(frozen=True, slots=True, eq=False)
class Computed:
    """A number that is computed from several columns, or in no way that can be undone."""

    value: Term

    def term(self) -> Term:
        """The term."""
        return self.value

    def at_most(
        self, threshold: float, precision: Precision, missing: bool, *, strict: bool = False
    ) -> Test:
        """The comparison itself."""
        return Test(_comparison(self.value, threshold, precision, missing, strict))


@dataclass(frozen=True, slots=True)
class Fixed:
    """The same number in every row."""

    number: float

    def term(self) -> Term:
        """The constant."""
        return Const(self.number)

    def at_most(
        self, threshold: float, precision: Precision, missing: bool, *, strict: bool = False
    ) -> Test:
        """True or false."""
        number = float(np.float32(self.number)) if precision is Precision.FLOAT32 else self.number
        if math.isnan(number):
            return Test(TRUE if missing else FALSE)
        return Test(TRUE if (number < threshold if strict else number <= threshold) else FALSE)


@dataclass(frozen=True, slots=True, eq=False)
class Mapped:
    """A monotone function of one column of numbers.

    Attributes
    ----------
    name : the column.
    function : the library's own arithmetic on an array of float64, missing numbers included.
    increasing : whether larger numbers of the column give larger features, or smaller ones.
    value : the feature as a term over the column.
    affine : slope and offset, if the feature is ``slope * fill(column) + offset``.
    fill : what stands in for a missing number, if something does.
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

    def at_most(
        self, threshold: float, precision: Precision, missing: bool, *, strict: bool = False
    ) -> Test:
        """A comparison of the column with the number at which the answer changes."""

        def answers(numbers: Array) -> Array:
            with np.errstate(all="ignore"):
                found = np.asarray(self.function(numbers), dtype=np.float64)
                if precision is Precision.FLOAT32:
                    found = found.astype(np.float32).astype(np.float64)
            below = found < threshold if strict else found <= threshold
            return np.where(np.isnan(found), missing, below)

        lost = bool(answers(np.array([np.nan]))[0])
        switch, first = last_with_first_answer(answers)
        if switch == math.inf:
            return _only_missing(self.name, first, lost, numbers=True)
        return Test(up_to(self.name, switch, lost) if first else beyond(self.name, switch, lost))


@dataclass(frozen=True, slots=True, eq=False)
class Stepped:
    """A number for each of some intervals of one column of numbers.

    Attributes
    ----------
    name : the column.
    cuts : the last number of each interval but the last one, ascending.
    numbers : the feature in each interval, one more than cuts.
    missing : the feature where the column is missing.
    """

    name: str
    cuts: tuple[float, ...]
    numbers: tuple[float, ...]
    missing: float

    def term(self) -> Term:
        """Nested ites; a missing value takes the first interval that has its number."""
        cuts, numbers = _joined(self.cuts, self.numbers)
        home = next((i for i, number in enumerate(numbers) if _same(number, self.missing)), -1)
        term: Term = Const(numbers[-1])
        for i in reversed(range(len(cuts))):
            term = Ite(up_to(self.name, cuts[i], i == home), Const(numbers[i]), term)
        if home >= 0:
            return term
        return Ite(_where_missing(self.name, numbers=True), Const(self.missing), term)

    def at_most(
        self, threshold: float, precision: Precision, missing: bool, *, strict: bool = False
    ) -> Test:
        """Whether the column is in some intervals."""

        def answer(number: float) -> bool:
            test = Fixed(number).at_most(threshold, precision, missing, strict=strict)
            return test.term == TRUE

        lost = answer(self.missing)
        cuts, answers = _joined(self.cuts, [answer(number) for number in self.numbers])
        if not cuts:
            return _only_missing(self.name, answers[0], lost, numbers=True)
        if len(cuts) == 1:
            one_side = up_to if answers[0] else beyond
            return Test(one_side(self.name, cuts[0], lost))
        opposite = answers[0] and answers[-1]
        lost = lost != opposite
        ends = [-math.inf, *cuts, math.inf]
        parts: list[Term] = []
        for i, held in enumerate(answers):
            if held == opposite:
                continue
            sides = [beyond(self.name, ends[i], lost)] if i else []
            sides += [up_to(self.name, ends[i + 1], lost)] if i < len(cuts) else []
            parts.append(conj(*sides))
        return Test(disj(*parts), opposite)


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """A number for each value of one column.

    Attributes
    ----------
    name : the column.
    numbers : the feature for each listed value.
    default : the feature for any other value.
    missing : the feature where the column is missing.
    """

    name: str
    numbers: Mapping[Value, float]
    default: float
    missing: float

    def term(self) -> Term:
        """A table of the column."""
        entries = dict(self.numbers)
        if not _same(self.missing, self.default):
            entries[math.nan] = self.missing
        return lookup(Var(self.name), entries.items(), self.default)

    def at_most(
        self, threshold: float, precision: Precision, missing: bool, *, strict: bool = False
    ) -> Test:
        """Whether the column has one of some values."""

        def answer(number: float) -> bool:
            test = Fixed(number).at_most(threshold, precision, missing, strict=strict)
            return test.term == TRUE

        otherwise, lost = answer(self.default), answer(self.missing)
        chosen = [value for value, number in self.numbers.items() if answer(number) != otherwise]
        if not chosen:
            numbers = not any(isinstance(value, str) for value in self.numbers)
            return _only_missing(self.name, otherwise, lost, numbers=numbers)
        column, apart = Var(self.name), lost != otherwise
        if len(chosen) == 1:
            equal = Compare(Relation.EQ, column, Const(chosen[0]), Precision.FLOAT64, apart)
            return Test(equal, opposite=otherwise)
        return Test(member(column, chosen, missing=apart), opposite=otherwise)


def up_to(name: str, cut: float, missing: bool) -> Term:
    """Whether a column is at most a number, said with the shorter of two equivalent numbers."""
    after = _shorter(cut)
    if after is not None:
        return Compare(Relation.LT, Var(name), Const(after), Precision.FLOAT64, missing)
    return Compare(Relation.LE, Var(name), Const(cut), Precision.FLOAT64, missing)


def beyond(name: str, cut: float, missing: bool) -> Term:
    """Whether a column is above a number, said with the shorter of two equivalent numbers."""
    after = _shorter(cut)
    if after is not None:
        return Compare(Relation.GE, Var(name), Const(after), Precision.FLOAT64, missing)
    return Compare(Relation.GT, Var(name), Const(cut), Precision.FLOAT64, missing)


def _shorter(cut: float) -> float | None:
    """The next number, if it is far shorter to write: 30 instead of 29.999999999999996."""
    after = float(np.nextafter(cut, math.inf))
    return after if len(repr(after)) + 3 < len(repr(cut)) else None


def _only_missing(name: str, present: bool, lost: bool, *, numbers: bool) -> Test:
    """The test that says `present` of every value of a column and `lost` where it is missing."""
    if present == lost:
        return Test(TRUE if present else FALSE)
    return Test(_where_missing(name, numbers=numbers), opposite=present)


def _where_missing(name: str, *, numbers: bool) -> Term:
    """Whether a column of numbers or categories is missing: it never has the value compared."""
    if numbers:
        return Compare(Relation.GT, Var(name), Const(math.inf), Precision.FLOAT64, True)
    return member(Var(name), ["\0"], missing=True)


N = TypeVar("N", float, bool)


def _joined(cuts: Sequence[float], numbers: Sequence[N]) -> tuple[list[float], list[N]]:
    """The same steps, without empty ones and with equal neighbours made one."""
    ends, kept = [*cuts, math.inf], [numbers[0]]
    found: list[float] = []
    begin = -math.inf
    for i, number in enumerate(numbers):
        if i and ends[i] <= begin:
            continue
        if i and not _same(number, kept[-1]):
            found.append(ends[i - 1])
            kept.append(number)
        begin = ends[i]
    return found, kept


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
    """Whether a feature is above a threshold (or at it); a missing one is not."""
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
    """One of two terms by a test; that term alone where the test is always or never true."""
    if test.opposite:
        then, otherwise = otherwise, then
    if isinstance(test.term, Const):
        return then if test.term == TRUE else otherwise
    return Ite(test.term, then, otherwise)


def _same(first: float, second: float) -> bool:
    return first == second or (math.isnan(first) and math.isnan(second))


def _comparison(
    term: Term, threshold: float, precision: Precision, missing: bool, strict: bool
) -> Term:
    relation = Relation.LT if strict else Relation.LE
    return Compare(relation, term, Const(threshold), precision, missing)


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """The features a model is given, and where in the whole it stands.

    Attributes
    ----------
    features : in the model's order.
    step : the names of the steps around the model, for origins and errors.
    opaque : whether what cannot be translated may become variables of its own.
    sparse : whether the library holds the features in a sparse matrix, which it scales otherwise.
    """

    features: tuple[Feature, ...]
    step: str = ""
    opaque: bool = False
    sparse: bool = False

    @classmethod
    def raw(cls, names: Sequence[str], *, opaque: bool = False) -> Inputs:
        """Raw columns."""
        return cls(tuple(Raw(name) for name in names), opaque=opaque)

    def inside(self, step: str) -> Inputs:
        """The same for a part of the model."""
        return replace(self, step=f"{self.step} > {step}" if self.step else step)

    def having(self, features: Sequence[Feature]) -> Inputs:
        """Other features at the same step."""
        return replace(self, features=tuple(features))


def weighted_sum(features: Sequence[Feature], weights: Sequence[float], offset: float) -> Term:
    """``weights[0] * features[0] + ... + offset``, said in raw columns.

    What is weighed of one column becomes one term: a factor times the column where features are
    affine, a table where they are codes, a tree where they are steps. Weights of 0 are left out.
    """
    return add(*(term for term, _ in weighted_terms(features, weights, offset)))


def weighted_terms(
    features: Sequence[Feature], weights: Sequence[float], offset: float
) -> list[tuple[Term, int | None]]:
    """The operands of `weighted_sum`, each with the number of the first weight in it.

    None for what is constant.
    """
    factors: dict[tuple[str, float | None], list[tuple[int, float]]] = {}
    tables: dict[str, list[tuple[int, float, Coded]]] = {}
    trees: dict[str, list[tuple[int, float, Stepped]]] = {}
    parts: list[tuple[Term, int | None]] = []
    for number, (feature, weight) in enumerate(zip(features, weights, strict=True)):
        if weight == 0:
            continue
        match feature:
            case Raw(name):
                factors.setdefault((name, None), []).append((number, weight))
            case Filled(name, float() as fill):
                factors.setdefault((name, fill), []).append((number, weight))
            case Mapped(affine=(slope, shift)):
                key = (feature.name, feature.fill)
                factors.setdefault(key, []).append((number, weight * slope))
                offset += weight * shift
            case Coded():
                tables.setdefault(feature.name, []).append((number, weight, feature))
            case Stepped():
                trees.setdefault(feature.name, []).append((number, weight, feature))
            case Fixed(value):
                offset += weight * value
            case _:
                parts.append((mul(Const(weight), feature.term()), number))
    terms: list[tuple[Term, int | None]] = [
        (mul(Const(float(sum(w for _, w in found))), filled(name, fill)), found[0][0])
        for (name, fill), found in factors.items()
    ]
    terms += [
        (_one_table(name, [(weight, feature) for _, weight, feature in found]), found[0][0])
        for name, found in tables.items()
    ]
    terms += [
        (_one_tree(name, [(weight, feature) for _, weight, feature in found]), found[0][0])
        for name, found in trees.items()
    ]
    terms += parts
    if offset != 0 or not terms:
        terms.append((Const(offset), None))
    return terms


def filled(name: str, fill: float | None) -> Term:
    """A column, with a number in place of missing ones if given."""
    return Var(name) if fill is None else Filled(name, fill).term()


def _one_table(name: str, coded: list[tuple[float, Coded]]) -> Term:
    values = dict.fromkeys(value for _, feature in coded for value in feature.numbers)
    numbers = {
        value: math.fsum(w * feature.numbers.get(value, feature.default) for w, feature in coded)
        for value in values
        if not is_missing(value)
    }
    default = math.fsum(w * feature.default for w, feature in coded)
    missing = math.fsum(w * feature.missing for w, feature in coded)
    return Coded(name, numbers, default, missing).term()


def _one_tree(name: str, stepped: list[tuple[float, Stepped]]) -> Term:
    cuts = sorted({cut for _, feature in stepped for cut in feature.cuts})
    places = [np.searchsorted(feature.cuts, [*cuts, math.inf]) for _, feature in stepped]
    numbers = [
        math.fsum(
            w * feature.numbers[place] for (w, feature), place in zip(stepped, at, strict=True)
        )
        for at in zip(*places, strict=True)
    ]
    missing = math.fsum(w * feature.missing for w, feature in stepped)
    return Stepped(name, tuple(cuts), tuple(numbers), missing).term()
