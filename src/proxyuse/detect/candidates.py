"""The computations of a program, with the positions of each.

A candidate is a term that is not a constant, with all its positions: program points, and
subsets of the operands of ``+ * and or`` that equal a term elsewhere. Variables are candidates;
constants are not. Other subsets of operands are handled by `partial_sums`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, combinations

import numpy as np

from proxyuse.detect.occurrences import Arrangement
from proxyuse.detect.operators import Operator, disjoint_copies
from proxyuse.lang.nodes import Add, And, Const, Mul, Or, Term, Var, children
from proxyuse.lang.positions import Points, Site, operand_choices
from proxyuse.program import Program, cached_per_program


@dataclass(slots=True, eq=False)
class Candidate:
    """A computation with all its positions."""

    term: Term
    sites: list[Site] = field(default_factory=list)
    _arrangement: Arrangement | None = None

    def arrangement(self, points: Points) -> Arrangement:
        """The arrangement of its positions, cached until a position is added."""
        arrangement = self._arrangement
        if arrangement is None or len(arrangement.sites) != len(self.sites):
            arrangement = self._arrangement = Arrangement.of(points, self.sites)
        return arrangement


class Listing:
    """Candidates laid out in columns.

    Attributes
    ----------
    terms : the terms of the candidates.
    sites, owners : each position of each candidate, and the index of its candidate.
    starts : the index of the first position of each candidate.
    single_sets : each position as a set of one.
    apart, entangled : the indices of the candidates with several positions, by whether these are
        apart; see `Arrangement`.
    """

    def __init__(self, candidates: Sequence[Candidate], points: Points) -> None:
        self.candidates = candidates
        self.terms = tuple(candidate.term for candidate in candidates)
        self.sites = [site for candidate in candidates for site in candidate.sites]
        self.single_sets = [(site,) for site in self.sites]
        counts = [len(candidate.sites) for candidate in candidates]
        self.owners = np.repeat(np.arange(len(counts)), counts)
        self.starts = [0, *accumulate(counts)]
        repeated = [index for index, count in enumerate(counts) if count > 1]
        apart = {index for index in repeated if candidates[index].arrangement(points).apart}
        self.apart = [index for index in repeated if index in apart]
        self.entangled = [index for index in repeated if index not in apart]

    def sites_of(self, index: int) -> slice:
        """The range of the positions of a candidate."""
        return slice(self.starts[index], self.starts[index + 1])


class Candidates:
    """All candidates of a program, collected in one pass over its points.

    Linear in the number of points and in the operands that operators share. Without `variables`,
    variables are excluded. All operand subsets of an operator are candidates if it has at most
    `subsets` of them.
    """

    def __init__(self, points: Points, variables: bool = True, subsets: int = 0) -> None:
        self.points = points
        self.excluded: list[Candidate] = []
        self._by_term: dict[bytes, Candidate] = {}
        self._operators: dict[bytes, list[int]] = defaultdict(list)
        for point, term in enumerate(points.terms):
            if isinstance(term, Const):
                continue
            self.add(term, Site(point))
            if isinstance(term, Add | Mul | And | Or):
                self._operators[term.digest].append(point)
        for operator_points in self._operators.values():
            term = points.terms[operator_points[0]]
            for site in self._inside_others(term):
                self.add(term, site)
        for operator in self.operators:
            if operator.subsets <= subsets:
                self._add_subsets(operator)
        if not variables:
            excluded = [c for c in self._by_term.values() if isinstance(c.term, Var)]
            self.excluded = [self._by_term.pop(candidate.term.digest) for candidate in excluded]

    @cached_property
    def listing(self) -> Listing:
        """The candidates in columns."""
        return Listing(list(self), self.points)

    def __iter__(self) -> Iterator[Candidate]:
        return iter(self._by_term.values())

    def __len__(self) -> int:
        return len(self._by_term)

    def add(self, term: Term, site: Site) -> Candidate:
        """Add a position of a term."""
        candidate = self._by_term.setdefault(term.digest, Candidate(term))
        candidate.sites.append(site)
        return candidate

    def _add_subsets(self, operator: Operator) -> None:
        for size in range(2, len(operator.steps)):
            for subset in combinations(operator.steps, size):
                sites = [Site(point, subset) for point in operator.points]
                term = self.points.term_at(sites[0])
                known = self._by_term.get(term.digest)
                for site in sites:
                    if known is None or site not in known.sites:
                        self.add(term, site)

    def positions(self, term: Term) -> list[Site]:
        """The positions of a term, as a term or as a subset of operands.

        Subsets of one operator are disjoint, even if equal operands would allow more subsets.
        """
        known = self._by_term.get(term.digest)
        return list(known.sites) if known else self._inside_others(term)

    @cached_property
    def operators(self) -> list[Operator]:
        """The operators with at least three operands that are not constants."""
        operators = []
        for points in self._operators.values():
            term = self.points.terms[points[0]]
            assert isinstance(term, Add | Mul | And | Or)
            steps = tuple(operand_choices(self.points, points[0]))
            if len(steps) > 2:
                unique = len(points) == 1 and self._shares_no_subset(term)
                operators.append(Operator(term, tuple(points), steps, unique))
        return operators

    @cached_property
    def _users(self) -> dict[tuple[type, bytes], list[bytes]]:
        """The operators that have an operand, by kind of operator and operand."""
        users: dict[tuple[type, bytes], list[bytes]] = defaultdict(list)
        for digest, points in self._operators.items():
            term = self.points.terms[points[0]]
            for operand in {part.digest for part in children(term)}:
                users[type(term), operand].append(digest)
        return users

    def _shares_no_subset(self, term: Term) -> bool:
        """Whether no two operands are equal, and no two are also operands of another operator."""
        parts = [part.digest for part in children(term)]
        users = (self._users[type(term), part] for part in parts)
        shared = Counter(user for some in users for user in some if user != term.digest)
        return len(set(parts)) == len(parts) and max(shared.values(), default=0) < 2

    def _inside_others(self, term: Term) -> list[Site]:
        """The operand subsets of other operators that equal a term."""
        wanted = Counter(part.digest for part in children(term))
        rarest = min(wanted, key=lambda part: len(self._users.get((type(term), part), ())))
        sites = []
        for digest in self._users.get((type(term), rarest), ()):
            points = self._operators[digest]
            if digest != term.digest:
                subsets = disjoint_copies(wanted, self._operands(points[0]))
                sites += [Site(point, subset) for point in points for subset in subsets]
        return sites

    def _operands(self, point: int) -> Iterator[tuple[int, bytes]]:
        """The steps and digests of the non-constant operands of an operator."""
        term = self.points.terms[point]
        parts, order = children(term), term._order
        for step in operand_choices(self.points, point):
            yield step, parts[order[step]].digest


@cached_per_program
def candidates_of(program: Program, variables: bool = True, subsets: int = 0) -> Candidates:
    """The candidates of a program, cached; do not modify them."""
    return Candidates(program.points, variables, subsets)


def listing_of(points: Points, chosen: Iterable[int]) -> Listing:
    """The computations at some points of a program, with equal ones merged."""
    chosen = list(chosen)
    sizes = Counter(points.end(point) - point for point in chosen)
    candidates: dict[object, Candidate] = {}
    for point in chosen:
        # Only terms of equal size can be equal. The digest of a term with trees inside is slow.
        unique_size = sizes[points.end(point) - point] == 1
        key = point if unique_size else points.terms[point].digest
        candidate = candidates.setdefault(key, Candidate(points.terms[point], []))
        candidate.sites.append(Site(point))
    return Listing(list(candidates.values()), points)
