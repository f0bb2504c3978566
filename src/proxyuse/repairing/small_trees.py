"""All constants at the nodes of a small tree, tried in order of utility.

A node of a tree can keep its test, or become a constant, or its test can be true or false. All
combinations of these are the programs that constants can make of the tree. If they are few, they
are built bottom up with their utility, and audited from the best one on. The first clean program is
the best there is.

Invariant: programs that are equal are built once. The utility of a program is the sum over its
leaves of the gains of the rows that reach them, so no program is evaluated.

Cost: one number per program, and one light audit per program that is better than the result.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from proxyuse.judge.judgment import Violation
from proxyuse.lang.evaluate import Array, constant
from proxyuse.lang.nodes import Compare, Const, Member, Not, Term, Var, children, variables
from proxyuse.lang.positions import Cover, Site
from proxyuse.repairing.region import Region, region_at
from proxyuse.repairing.search import Examined, Search
from proxyuse.repairing.steps import RemovedViolation, Steps, with_step

ROUNDING = 1e-12
MOST_CONSTANTS = 6
"""A tree with more different leaves is not small: most constants would be left out."""

New = tuple[tuple[Site, Const], ...]


class Option(NamedTuple):
    """What a node can become.

    Attributes
    ----------
    gain : the sum of the gains of the rows that reach it.
    key : equal for equal trees.
    new : the constants that make it so.
    """

    gain: float
    key: object
    new: New


def repair_small_tree(search: Search, start: Examined) -> bool:
    """Offer the best clean program; return whether all programs that are better were tried."""
    tree = _SmallTree.of(search)
    if tree is None:
        return False
    bench = search.bench
    for option in sorted(tree.options(), key=lambda option: -option.gain):
        if bench.utility.worth(option.gain) <= search.best.value + ROUNDING:
            break
        if option.new and bench.is_lightly_clean(option.new):
            examined = search.examined(_in_steps(search, start, dict(option.new)))
            if examined.clean:
                search.accept(examined)
                break
    return tree.exact


class _SmallTree:
    """A program that is one tree, with few combinations of constants."""

    def __init__(self, search: Search, region: Region) -> None:
        self.region, bench = region, search.bench
        self.points = bench.original.points
        sample = bench.measurement(bench.original).sample
        self._gains = np.stack(
            [
                bench.utility.gains(
                    np.broadcast_to(constant(value, sample.vocabulary), (sample.n_rows,))
                )
                for value in region.constants
            ]
        )

    @classmethod
    def of(cls, search: Search) -> _SmallTree | None:
        """Return the tree, if the program of a search is a small one."""
        bench = search.bench
        bounds = region_at(bench.original.points, 0)
        if bounds is None or bounds[0] != 0 or not bench.utility.adds_up or bench.large:
            return None
        sample = bench.measurement(bench.original).sample
        if len(bounds[1]) > bench.budget.trees or sample.outputs().ndim > 1:
            return None
        region = Region(bench.original.points, *bounds, sample.values, sample.n_rows)
        tree = cls(search, region) if len(region.constants) <= MOST_CONSTANTS else None
        return tree if tree is not None and tree._count(0) <= bench.budget.trees else None

    @property
    def exact(self) -> bool:
        """Whether no other constants are worth a try: every guard is a single test."""
        guards = (self.points.terms[guard] for guard, _, _ in self.region.below.values())
        return all(_is_test(guard) for guard in guards)

    def _count(self, point: int) -> int:
        """An upper bound on the number of options of a node."""
        if point not in self.region.below:
            return 1
        _, then, otherwise = self.region.below[point]
        first, second = self._count(then), self._count(otherwise)
        return len(self.region.constants) + first + second + first * second

    def options(self) -> list[Option]:
        """Return what the program can become."""
        return self._options(self.region.root, np.ones(self.region.rows, dtype=np.bool_))

    def _options(self, point: int, rows: Array) -> list[Option]:
        """What a node or leaf can become, if some rows reach it."""
        gains = self._gains[:, rows].sum(axis=1).tolist()
        if point not in self.region.below:
            value = self.points.terms[point]
            assert isinstance(value, Const)
            code = self.region.code(value.value)
            return [Option(gains[code], code, ())]
        found: dict[object, Option] = {}
        for code, gain in enumerate(gains):
            value = Const(self.region.constants[code])
            found[code] = Option(gain, code, ((Site(point), value),))
        for option in self._kept(point, rows):
            found.setdefault(option.key, option)
        return list(found.values())

    def _kept(self, point: int, rows: Array) -> Iterator[Option]:
        """The options in which the test stays, or is true or false."""
        guard, *branches = self.region.below[point]
        holds = self.region.truth(self.points.terms[guard])
        sides = (
            self._options(branches[0], rows & holds),
            self._options(branches[1], rows & ~holds),
        )
        for then in sides[0]:
            for otherwise in sides[1]:
                if then.key != otherwise.key:
                    key = (point, then.key, otherwise.key)
                    yield Option(then.gain + otherwise.gain, key, then.new + otherwise.new)
        for truth, branch in zip((True, False), branches, strict=True):
            for option in self._options(branch, rows):
                new = ((Site(guard), Const(truth)), *option.new)
                yield Option(option.gain, option.key, new)


def _is_test(guard: Term) -> bool:
    """Whether a guard compares one variable, so that constants inside make it true or false."""
    if isinstance(guard, Not):
        return _is_test(guard.operand)
    simple = all(isinstance(part, Var | Const) for part in children(guard))
    return simple and isinstance(guard, Compare | Member) and len(variables(guard)) == 1


def _in_steps(search: Search, start: Examined, new: dict[Site, Const]) -> Steps:
    """Divide constants into steps: what each violation touches, the strongest one first."""
    bench, steps, examined = search.bench, start.steps, start
    while new:
        found = examined.violations or examined.columns
        chosen = {v: _touching(search, examined, v, new) for v in found}
        violation = next((v for v, touched in chosen.items() if touched), None)
        if violation is None and steps:  # the others change what the first ones made possible
            return (*steps[:-1], replace(steps[-1], new={**steps[-1].new, **new}))
        removed = RemovedViolation.of(found[0] if violation is None else violation)
        now = new if violation is None else chosen[violation]
        steps = with_step(bench.original, steps, removed, now)
        new = {site: value for site, value in new.items() if site not in now}
        if new:
            program, original_points = bench.applied(steps)
            audit = bench.light_audit(program)
            examined = Examined(program, original_points, steps, audit, bench.goal.open(audit))
    return bench.valued(steps)


def _touching(
    search: Search, examined: Examined, violation: Violation, new: dict[Site, Const]
) -> dict[Site, Const]:
    """The constants that are inside of a violation or around it."""
    bench, sites = search.bench, violation.witness.decomposition.sites
    placed = bench.in_original(
        examined.program, examined.original_points, dict.fromkeys(sites, Const(False))
    )
    own = Cover(bench.original.points, placed)

    def touches(site: Site) -> bool:
        around = Cover(bench.original.points, [site])
        return own.touches(site) or any(map(around.touches, placed))

    return {site: value for site, value in new.items() if touches(site)}
