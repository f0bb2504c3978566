"""Constants at all positions of whole columns: a quick way to a clean program.

A violation is gone when all variables that it reads are constants. So the search takes the smallest
violation, replaces one of its variables at all positions, and repeats until the program is clean;
then it takes back what turns out not to be needed. There are at most as many steps as variables,
whatever the size of the program. In an ensemble, where thousands of computations share a few
variables, this is much faster than one step per computation, and often cheaper in utility.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from proxyuse.judge.judgment import Violation
from proxyuse.lang.nodes import Const, Term, Var, children, variables
from proxyuse.lang.positions import Site
from proxyuse.program import Program
from proxyuse.repairing.search import Examined, Search
from proxyuse.repairing.steps import Removed, RemovedCollections, RemovedViolation

MOST_TRIED = 6
"""The variables of a computation that are compared, those with the highest association first."""


Choice = Literal["most associated", "cheapest"]
CHOICES: tuple[Choice, ...] = get_args(Choice)
"""Which variable of a violation is replaced. The first choice is quick: it compares nothing."""


def replace_columns(search: Search, start: Examined, choice: Choice) -> None:
    """Offer a clean program in which some columns are constant."""
    bench, examined = search.bench, start
    while not examined.clean:
        removed, terms, protected = _reason(examined)
        names = _ranked(search, examined, terms, protected)
        if not names:
            return
        names = names[: 1 if choice == "most associated" else MOST_TRIED]
        sites = _sites(examined.program, set(names))
        constants = search.bench.trials(examined.audit).constants
        trials = (constants.of_column(name, sites[name]) for name in names)
        trial = min(trials, key=lambda trial: trial.key)
        steps = search.extended(examined, removed, trial.new)
        program, _ = bench.applied(steps)
        if bench.large and bench.value(program) < search.best.value:
            return
        examined = search.examined(steps)
    search.accept(examined)


def _reason(examined: Examined) -> tuple[Removed, Sequence[Term], str]:
    """What is removed next, the computations that it consists of, and the protected attribute."""
    found = examined.violations or examined.columns
    if found:
        violation = min(found, key=lambda v: v.witness.size)
        witness = violation.witness
        return RemovedViolation.of(violation), [witness.expression], witness.protected
    name = examined.collections[0]
    collection = examined.audit.collections.get(name)
    terms = [] if collection is None else [member.expression for member in collection.members]
    return RemovedCollections((name,)), terms, name


def _ranked(search: Search, examined: Examined, terms: Sequence[Term], protected: str) -> list[str]:
    """The variables of some computations, those with the highest association first."""
    context = search.bench.trials(examined.audit).context
    names = list(dict.fromkeys(name for term in terms for name in variables(term)))
    if not names:
        return []
    associations = context.measurement.associations(
        [Var(name) for name in names], search.bench.request.association
    )[:, context.protected[protected]]
    order = np.argsort(-associations, kind="stable")
    return [names[i] for i in order.tolist()]


def _sites(program: Program, names: set[str]) -> dict[str, list[Site]]:
    """All positions of some variables."""
    points = program.points.of_variables(names)
    return {name: list(map(Site, own.tolist())) for name, own in points.items()}


def entirely(search: Search, start: Examined, denied: Sequence[Violation]) -> Examined:
    """Return the program with constants at all positions of some computations.

    Of a partial sum, the operands become constants.
    """
    examined = start
    for violation in denied:
        term = violation.witness.expression
        whole = not violation.witness.decomposition.sites[0].operands
        for part in (term,) if whole else children(term):
            points = examined.program.points
            sites = [Site(p) for p, other in enumerate(points.terms) if other.digest == part.digest]
            if sites and not isinstance(part, Const):
                trial = search.bench.trials(examined.audit).constants.at(sites)[0]
                removed = RemovedViolation.of(violation)
                examined = search.examined(search.extended(examined, removed, trial.new))
    return examined
