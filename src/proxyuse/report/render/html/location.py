"""Where a computation is in a program: the tests that lead to it, and its operator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proxyuse.data.columns import Column
from proxyuse.lang.nodes import (
    Add,
    And,
    Associative,
    Compare,
    Const,
    Ite,
    Member,
    Mul,
    Not,
    Or,
    Relation,
    Term,
    Var,
    children,
    value_text,
)
from proxyuse.lang.positions import Points, Site
from proxyuse.program import Program
from proxyuse.report.reading import shown_text
from proxyuse.words import one_line, shortened

MOST_CLAUSE = 90
MOST_STEPS = 24
MOST_OPERANDS = 60
LARGE = 24  # an operand with more nodes is not written out

_OPPOSITE = {
    Relation.EQ: Relation.NE,
    Relation.NE: Relation.EQ,
    Relation.LT: Relation.GE,
    Relation.LE: Relation.GT,
    Relation.GT: Relation.LE,
    Relation.GE: Relation.LT,
}


@dataclass(frozen=True, slots=True)
class Summand:
    """An operand of a sum, a product, an `and` or an `or`.

    Attributes
    ----------
    text : what it computes.
    weight : its coefficient; empty if there is none.
    origin : the part of the model it comes from.
    hit : whether it is the computation, or part of it.
    """

    text: str
    weight: str
    origin: str
    hit: bool


@dataclass(frozen=True, slots=True)
class Operands:
    """The operator that a computation is part of.

    Attributes
    ----------
    noun : what its operands are called.
    listed : the operands; those that are the computation come first.
    unlisted : how many more there are.
    """

    noun: str
    listed: Sequence[Summand]
    unlisted: int


def clause(term: Term, columns: Mapping[str, Column], holds: bool = True) -> str:
    """A test in words, or its negation.

    Examples
    --------
    >>> program = Program.parse("ite(age <= 30, 'a', 'b')")
    >>> [clause(program.term.guard, {}, holds) for holds in (True, False)]
    ['age <= 30', 'age > 30 or missing']
    """
    while isinstance(term, Not):
        term, holds = term.operand, not holds
    match term:
        case Compare(relation, Var(name), Const(), precision, missing) if not holds:
            also_missing = not missing and not _complete(name, columns)
            opposite = Compare(_OPPOSITE[relation], term.left, term.right, precision, also_missing)
            return clause(opposite, columns)
        case Member(Var(name), members, missing) if not holds:
            listed = ", ".join(map(value_text, members))
            or_missing = "" if missing or _complete(name, columns) else " or missing"
            return shortened(one_line(f"{name} is none of {listed}{or_missing}"), MOST_CLAUSE)
    or_missing = ""
    match term:
        case Compare(relation, one, other, precision, True):
            term, or_missing = Compare(relation, one, other, precision, False), " or missing"
        case Member(operand, members, True):
            term, or_missing = Member(operand, members, False), " or missing"
    words = shortened(one_line(shown_text(term, columns)[0]), MOST_CLAUSE)
    return f"{words}{or_missing}" if holds else f"not {words}"


def _complete(name: str, columns: Mapping[str, Column]) -> bool:
    return name in columns and not columns[name].any_missing


def conditions(program: Program, columns: Mapping[str, Column], point: int) -> list[str]:
    """The conditions for a row to reach a point: a clause for each test between the root and it.

    Examples
    --------
    >>> program = Program.parse("ite(a == 1, 0, ite(b == 2, 1, 2))")
    >>> conditions(program, {}, len(program.points) - 1)
    ['a != 1 or missing', 'b != 2 or missing']
    """
    points = program.points
    clauses = []
    while point > 0:
        above = points.parents[point]
        if isinstance(points.terms[above], Ite) and points.steps[point] > 0:
            test = points.terms[above + 1]
            clauses.append(clause(test, columns, holds=points.steps[point] == 1))
        point = above
    return clauses[::-1]


def operands(program: Program, columns: Mapping[str, Column], site: Site) -> Operands | None:
    """The operator that has the computation among its operands or around it, or None."""
    points = program.points
    point, hits = site.point, set(site.operands)
    if not hits:
        while point >= 0 and not _listable(points, point):
            child, point = point, points.parents[point]
            hits = {points.steps[child]}
        if point < 0:
            return None
        if point == site.point:
            hits = set(range(len(points.below(point))))
    below = points.below(point)
    others = [
        step
        for step, child in enumerate(below)
        if step not in hits and points.terms[child].size <= LARGE
    ]
    steps = [*sorted(hits), *others][:MOST_OPERANDS]
    listed = [_summand(program, columns, below[step], step in hits) for step in steps]
    return Operands(_NOUNS[points.terms[point].tag], listed, len(below) - len(steps))


_NOUNS = {
    Add.tag: "terms of a sum",
    Mul.tag: "factors of a product",
    And.tag: "conditions joined by 'and'",
    Or.tag: "conditions joined by 'or'",
}


def _listable(points: Points, point: int) -> bool:
    """Whether listing the operands of an operator is useful. A weighted feature is not listed."""
    term = points.terms[point]
    if not isinstance(term, Associative):
        return False
    return not (isinstance(term, Mul) and sum(not isinstance(p, Const) for p in children(term)) < 2)


def _summand(program: Program, columns: Mapping[str, Column], point: int, hit: bool) -> Summand:
    term = program.points.terms[point]
    origin = program.origins.get(program.points.written[point])
    weight = ""
    match term:
        case Mul((Const(float() as number), rest)) | Mul((rest, Const(float() as number))):
            weight, term = f"{number:.4g}", rest
    if term.size > LARGE:
        kind = "a tree" if isinstance(term, Ite) else "a sum" if isinstance(term, Add) else "a part"
        text = f"{kind} of {term.size:,} nodes"
    elif isinstance(term, Const):
        value = term.value
        text = f"{value:.4g}" if isinstance(value, float) else value_text(value)
    else:
        text, _ = shown_text(term, columns)
    return Summand(shortened(one_line(text), 160), weight, one_line(str(origin or "")), hit)
