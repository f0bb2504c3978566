"""The steps of a repair: what each removes, and the constants that remove it.

A repair is a set of constants at positions of the original program. Each can be undone on its own,
written back to a model, and checked by others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from proxyuse.judge.judgment import Violation
from proxyuse.lang.nodes import Const, Term
from proxyuse.lang.positions import Cover, Site
from proxyuse.program import Program

LARGE = 1000  # nodes; the text of a larger term is cut short


@dataclass(frozen=True, slots=True)
class RemovedViolation:
    """The violation that a step removes.

    Attributes
    ----------
    id, term, protected, association, influence : the witness, in the partly repaired program where
        the search met it. The text of a large term is cut short.
    expression : the computation.
    reason : why it was judged inappropriate; empty without a judgment.
    by : who or what judged it.
    """

    id: str
    term: str
    expression: Term
    protected: str
    association: float
    influence: float
    reason: str
    by: str

    @classmethod
    def of(cls, violation: Violation) -> RemovedViolation:
        """A summary of a violation that does not keep its measurements alive."""
        w, judgment = violation.witness, violation.judgment
        reason, by = ("", "") if judgment is None else (judgment.reason, judgment.by)
        program = w.decomposition.program
        term = w.term if w.size <= LARGE else program.brief(w.expression)
        figures = w.association, w.influence
        return cls(w.id, term, w.expression, w.protected, *figures, reason, by)


@dataclass(frozen=True, slots=True)
class RemovedCollections:
    """The collective witnesses that a step removes.

    Attributes
    ----------
    protected : the protected attributes; each has one collection.
    """

    protected: tuple[str, ...]


Removed = RemovedViolation | RemovedCollections


@dataclass(frozen=True, slots=True, eq=False)
class SearchStep:
    """A step of a partial or complete repair.

    Attributes
    ----------
    removed : the violation or the collective witnesses that the step removes.
    new : constants at positions of the original program.
    value : the utility after the step; larger is better.
    """

    removed: Removed
    new: Mapping[Site, Const]
    value: float


Steps = tuple[SearchStep, ...]


@dataclass(frozen=True, slots=True, eq=False)
class RepairedProgram:
    """A repaired program.

    Attributes
    ----------
    program : the program.
    steps : the steps that lead to it.
    value : its utility; larger is better.
    """

    program: Program
    steps: Steps
    value: float

    @property
    def new(self) -> dict[Site, Const]:
        """The constants at positions of the original program."""
        return merged(self.steps)

    @property
    def merit(self) -> tuple[float, int]:
        """Sorts by utility, then prefers the smaller program."""
        return self.value, -self.program.size


def with_step(
    original: Program, steps: Steps, removed: Removed, new: Mapping[Site, Const]
) -> Steps:
    """Return the steps and one more, without the earlier constants that it covers."""
    covered = Cover(original.points, new)
    uncovered = (
        replace(step, new={s: v for s, v in step.new.items() if not covered.holds(s)})
        for step in steps
    )
    return (*(step for step in uncovered if step.new), SearchStep(removed, dict(new), 0.0))


def merged(steps: Steps) -> dict[Site, Const]:
    """Return the constants of all steps."""
    return {site: value for step in steps for site, value in step.new.items()}


def in_full(specialized: Program, full: Program, new: Mapping[Site, Const]) -> dict[Site, Const]:
    """Translate sites of a specialized program into sites of the full program of the same shape."""
    if specialized is full:
        return dict(new)
    point_of = {written: point for point, written in enumerate(full.points.written)}
    sites: dict[Site, Const] = {}
    for site, value in new.items():
        point = point_of[specialized.points.written[site.point]]
        below = specialized.points.below(site.point) if site.operands else []
        children = [point_of[specialized.points.written[below[s]]] for s in site.operands]
        operands = tuple(sorted(full.points.steps[child] for child in children))
        sites[Site(point, operands)] = value
    return sites
