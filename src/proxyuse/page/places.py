"""Where a computation stands in a program: the way there in words, and the sum it is part of."""

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
from proxyuse.page.shown import cut, visible
from proxyuse.program import Program
from proxyuse.report.reading import MOST_NODES, reading_text, shown_text

MOST_CLAUSE = 90
MOST_STEPS = 24
MOST_OPERANDS = 60
LARGE = 24  # nodes of an operand from which on it is not written out

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
    weight : what that is multiplied with; empty if with nothing.
    origin : where it came from in the model.
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
    word : how its operands are joined.
    listed : the operands, those that are the computation first.
    left : how many more there are.
    """

    word: str
    listed: Sequence[Summand]
    left: int


def clause(term: Term, program: Program, columns: Mapping[str, Column], holds: bool = True) -> str:
    """A test in words, or its opposite.

    Examples
    --------
    >>> program = Program.parse("ite(age <= 30, 'a', 'b')")
    >>> [clause(program.term.guard, program, {}, holds) for holds in (True, False)]
    ['age <= 30', 'age > 30 or missing']
    """
    while isinstance(term, Not):
        term, holds = term.operand, not holds
    match term:
        case Compare(relation, Var(name), Const(), precision, missing) if not holds:
            lost = not missing and not _complete(name, columns)
            opposite = Compare(_OPPOSITE[relation], term.left, term.right, precision, lost)
            return clause(opposite, program, columns)
        case Member(Var(name), members, missing) if not holds:
            listed = ", ".join(map(value_text, members))
            left = "" if missing or _complete(name, columns) else " or missing"
            return cut(visible(f"{name} is none of {listed}{left}"), MOST_CLAUSE)
    or_missing = ""
    match term:
        case Compare(relation, one, other, precision, True):
            term, or_missing = Compare(relation, one, other, precision, False), " or missing"
        case Member(operand, members, True):
            term, or_missing = Member(operand, members, False), " or missing"
    text = program.brief(term) if term.size > MOST_NODES else program.text_of(term)
    shown = cut(visible(shown_text(term, text, columns)[0]), MOST_CLAUSE)
    return f"{shown}{or_missing}" if holds else f"not {shown}"


def _complete(name: str, columns: Mapping[str, Column]) -> bool:
    return name in columns and not columns[name].any_missing


def conditions(program: Program, columns: Mapping[str, Column], point: int) -> list[str]:
    """What holds of the rows that reach a point: a clause for each test on the way from the root.

    Examples
    --------
    >>> program = Program.parse("ite(a == 1, 0, ite(b == 2, 1, 2))")
    >>> conditions(program, {}, len(program.points) - 1)
    ['a != 1 or missing', 'b != 2 or missing']
    """
    points = program.points
    found = []
    while point > 0:
        above = points.parents[point]
        if isinstance(points.terms[above], Ite) and points.steps[point] > 0:
            test = points.terms[above + 1]
            found.append(clause(test, program, columns, holds=points.steps[point] == 1))
        point = above
    return found[::-1]


def operands(program: Program, columns: Mapping[str, Column], site: Site) -> Operands | None:
    """The operator with the computation among its operands, or around it; None if there is none."""
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
    shown = [*sorted(hits), *others][:MOST_OPERANDS]
    listed = [_summand(program, columns, below[step], step in hits) for step in shown]
    return Operands(_WORDS[points.terms[point].tag], listed, len(below) - len(shown))


_WORDS = {
    Add.tag: "added up",
    Mul.tag: "multiplied",
    And.tag: "all required",
    Or.tag: "alternatives to each other",
}


def _listable(points: Points, point: int) -> bool:
    """Whether the operands of an operator say something in a table: a weighted feature does not."""
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
        text, _ = reading_text(term, columns)
    return Summand(cut(visible(text), 160), weight, visible(str(origin or "")), hit)
