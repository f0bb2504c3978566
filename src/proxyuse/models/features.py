"""What a model sees of a row, said in raw columns.

The steps of a pipeline compute features from the raw columns, and the model at its end uses
features: it compares them with thresholds, or weighs and adds them. A feature knows how to say
either of these of the column it comes from, so that no scaled or encoded value is ever spoken of:

- `Raw`: the column itself;
- `Mapped`: a monotone function of one column of numbers (scalers, imputers, binning). A
  threshold of the feature is a threshold of the column: the largest number of the column that
  the library's own arithmetic still puts below it, found by bisection over float64;
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
from typing import Protocol

import numpy as np

from proxyuse.lang.build import add, lookup, member, mul
from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import (
    FALSE,
    TRUE,
    Compare,
    Const,
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
        column = Var(self.name)
        relation = Relation.LE if first else Relation.GT
        return Test(Compare(relation, column, Const(switch), Precision.FLOAT64, lost))


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
        if not chosen and lost == otherwise:
            return Test(TRUE if otherwise else FALSE)
        if not chosen:  # only a missing value is told apart: no value of the column is in a set
            return Test(member(Var(self.name), ["\0"], missing=True), opposite=not lost)
        if len(chosen) == 1:
            relation = Relation.NE if otherwise else Relation.EQ
            value = Const(chosen[0])
            return Test(Compare(relation, Var(self.name), value, Precision.FLOAT64, lost))
        return Test(member(Var(self.name), chosen, missing=lost != otherwise), opposite=otherwise)


def _same(first: float, second: float) -> bool:
    return first == second or (math.isnan(first) and math.isnan(second))


def _comparison(
    term: Term, threshold: float, precision: Precision, missing: bool, strict: bool
) -> Term:
    relation = Relation.LT if strict else Relation.LE
    return Compare(relation, term, Const(threshold), precision, missing)


def last_with_first_answer(answers: Callable[[Array], Array]) -> tuple[float, bool]:
    """The largest number for which a monotone question is answered as for the smallest.

    With it, that answer. Bisection over all float64 numbers, from minus to plus infinity.

    Examples
    --------
    >>> last_with_first_answer(lambda numbers: numbers * 0.5 <= 1.5)
    (3.0, True)
    """
    low, high = _place(-math.inf), _place(math.inf)
    first = bool(answers(np.array([-math.inf]))[0])
    if bool(answers(np.array([math.inf]))[0]) == first:
        return math.inf, first
    while high - low > 1:
        middle = (low + high) // 2
        if bool(answers(np.array([_number(middle)]))[0]) == first:
            low = middle
        else:
            high = middle
    return _number(low), first


def _place(number: float) -> int:
    """The place of a float64 number among all of them."""
    bits = int(np.float64(number).view(np.int64))
    return bits if bits >= 0 else -(bits & 0x7FFF_FFFF_FFFF_FFFF)


def _number(place: int) -> float:
    number = float(np.int64(abs(place)).view(np.float64))
    return number if place >= 0 else -number


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """The features a model is given, and where in the whole it stands.

    Attributes
    ----------
    features : in the model's order.
    step : the names of the steps around the model, for origins and errors.
    opaque : whether what cannot be translated may become variables of its own.
    """

    features: tuple[Feature, ...]
    step: str = ""
    opaque: bool = False

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
    affine, a table where they are codes. Weights of 0 are left out.
    """
    factors: dict[tuple[str, float | None], float] = {}
    tables: dict[str, list[tuple[float, Coded]]] = {}
    parts: list[Term] = []
    for feature, weight in zip(features, weights, strict=True):
        if weight == 0:
            continue
        match feature:
            case Raw(name):
                factors[name, None] = factors.get((name, None), 0.0) + weight
            case Mapped(affine=(slope, shift)):
                key = (feature.name, feature.fill)
                factors[key] = factors.get(key, 0.0) + weight * slope
                offset += weight * shift
            case Coded():
                tables.setdefault(feature.name, []).append((weight, feature))
            case Fixed(number):
                offset += weight * number
            case _:
                parts.append(mul(Const(weight), feature.term()))
    numbers = [mul(Const(factor), filled(name, fill)) for (name, fill), factor in factors.items()]
    sums = [_one_table(name, coded) for name, coded in tables.items()]
    terms = [*numbers, *sums, *parts]
    if offset != 0 or not terms:
        terms.append(Const(offset))
    return add(*terms) if len(terms) > 1 else terms[0]


def filled(name: str, fill: float | None) -> Term:
    """A column, with a number in place of missing ones if given."""
    from proxyuse.lang.nodes import Call, Function

    return Var(name) if fill is None else Call(Function.FILL, (Var(name), Const(fill)))


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
