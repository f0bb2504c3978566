"""Measured decompositions in columns. Objects are created on demand.

A large model has tens of thousands of decompositions, and users look at a handful.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import overload

import numpy as np

from proxyuse.lang.evaluate import Array
from proxyuse.lang.nodes import Term
from proxyuse.lang.positions import Position, Site, sites_id
from proxyuse.measure.association.joint_table import JointTable
from proxyuse.measure.guessing import Guess
from proxyuse.program import Program
from proxyuse.words import shortened


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A computation inside a program, at some of its positions, with its measures.

    Attributes
    ----------
    expression : the computation p1, as a term.
    sites : its positions, as program points.
    associations : the association with each protected attribute.
    influence : the influence on the decisions; None if the computation cannot be a witness and its
        influence was not measured.
    reach : the share of rows that evaluate at least one of the positions.
    error : the error bound of a sampled influence; 0 if the influence is exact.
    """

    program: Program
    expression: Term
    sites: tuple[Site, ...]
    associations: dict[str, float]
    influence: float | None
    reach: float
    _joint: Callable[[Term], list[JointTable]] = field(repr=False)
    _guesses: Callable[[Term], list[Guess]] = field(repr=False)
    error: float = 0.0

    @cached_property
    def tables(self) -> dict[str, JointTable]:
        """The joint table with each protected attribute."""
        return {table.protected: table for table in self._joint(self.expression)}

    @cached_property
    def guesses(self) -> dict[str, Guess]:
        """How often each protected attribute is guessed right, with the computation and without."""
        return dict(zip(self.associations, self._guesses(self.expression), strict=True))

    @cached_property
    def term(self) -> str:
        """The computation as text."""
        return self.program.text_of(self.expression)

    @property
    def positions(self) -> tuple[Position, ...]:
        """The positions of the computation."""
        return tuple(self.program.points.position(site) for site in self.sites)

    @property
    def occurrences(self) -> int:
        """The number of positions at which it is replaced."""
        return len(self.sites)

    @property
    def size(self) -> int:
        """The number of nodes of the computation."""
        return self.expression.size

    @cached_property
    def id(self) -> str:
        """A hash of the computation and its positions, the same on every machine."""
        return sites_id(self.expression, self.program.points, self.sites)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}: {shortened(self.term)}>"


@dataclass(frozen=True, slots=True, eq=False)
class Measures:
    """The measures of some computations, in columns.

    Attributes
    ----------
    terms, associations : per computation; associations with each protected attribute.
    owners : per decomposition, the index of its computation, in ascending order.
    sites, influences, reaches : per decomposition; influence is NaN where it was not needed.
    errors : per decomposition, the error bound of a sampled influence; 0 where it is exact. None if
        all are exact.
    """

    terms: Sequence[Term]
    associations: Array
    owners: Array
    sites: Sequence[Sequence[Site]]
    influences: Array
    reaches: Array
    errors: Array | None = None

    @classmethod
    def empty(cls, attributes: int) -> Measures:
        """No decompositions, for a number of protected attributes."""
        none = np.zeros(0)
        return cls((), np.zeros((0, attributes)), none.astype(np.intp), [], none, none)

    @classmethod
    def stacked(cls, parts: Sequence[Measures]) -> Measures:
        """Concatenate parts that share no computation."""
        firsts = np.cumsum([0, *(len(part.terms) for part in parts)])
        owners = [part.owners + first for part, first in zip(parts, firsts, strict=False)]
        errors = [
            np.zeros(len(part.owners)) if part.errors is None else part.errors for part in parts
        ]
        return cls(
            [term for part in parts for term in part.terms],
            np.concatenate([part.associations for part in parts]),
            np.concatenate(owners).astype(np.intp),
            [sites for part in parts for sites in part.sites],
            np.concatenate([part.influences for part in parts]),
            np.concatenate([part.reaches for part in parts]),
            np.concatenate(errors),
        )

    @classmethod
    def joined(cls, parts: Sequence[Measures]) -> Measures:
        """Merge parts. A computation that is in several parts is listed once, with all positions.

        Its text is that of the first part that has it.
        """
        if len(parts) == 1:
            return parts[0]
        numbers: dict[bytes, int] = {}
        terms: list[Term] = []
        associations: list[Array] = []
        rows: dict[tuple[int, tuple[Site, ...]], tuple[int, int]] = {}
        for number, part in enumerate(parts):
            digests = [term.digest for term in part.terms]
            for index, digest in enumerate(digests):
                if digest not in numbers:
                    numbers[digest] = len(terms)
                    terms.append(part.terms[index])
                    associations.append(part.associations[index])
            for index, owner in enumerate(part.owners.tolist()):
                key = numbers[digests[owner]], tuple(sorted(part.sites[index]))
                rows.setdefault(key, (number, index))
        owners = np.array([number for number, _ in rows], dtype=np.intp)
        order = np.argsort(owners, kind="stable")
        kept = list(rows.values())
        chosen = [kept[i] for i in order.tolist()]
        return cls(
            terms,
            np.array(associations).reshape(len(terms), parts[0].associations.shape[1]),
            owners[order],
            [parts[part].sites[index] for part, index in chosen],
            np.array([parts[part].influences[index] for part, index in chosen], dtype=float),
            np.array([parts[part].reaches[index] for part, index in chosen], dtype=float),
        )


class Decompositions(Sequence[Decomposition]):
    """Every measured decomposition, in order of the first position of the computation.

    Attributes
    ----------
    associations : per decomposition and protected attribute.
    influences : per decomposition; NaN where not needed.
    sites, reaches : per decomposition.
    operators : the number of operators whose partial sums were searched.
    """

    def __init__(
        self,
        program: Program,
        protected: Sequence[str],
        measures: Measures,
        joint: Callable[[Term], list[JointTable]],
        guesses: Callable[[Term], list[Guess]],
        unmeasured: int = 0,
        operators: int = 0,
    ) -> None:
        self.program = program
        self.protected = tuple(protected)
        self._measures = measures
        self._joint = joint
        self._guesses = guesses
        self.associations: Array = measures.associations[measures.owners]
        self.influences = measures.influences
        self.reaches = measures.reaches
        self.sites = measures.sites
        self.operators = operators
        self._unmeasured = unmeasured

    @property
    def errors(self) -> Array:
        """The error bound of each sampled influence; 0 for exact influences."""
        errors = self._measures.errors
        return np.zeros(len(self)) if errors is None else errors

    @property
    def owners(self) -> Array:
        """The index of the computation of each decomposition."""
        return self._measures.owners

    @property
    def computations(self) -> Sequence[Term]:
        """The distinct computations. Each has one association for all its positions."""
        return self._measures.terms

    @property
    def tested(self) -> int:
        """The number of distinct computations that were measured, or could have been."""
        return len(self._measures.terms) + self._unmeasured

    @property
    def written(self) -> int:
        """The number of distinct computations that are written in the program, measured or not."""
        return int(np.count_nonzero(self._is_written)) + self._unmeasured

    def is_written(self, index: int) -> bool:
        """Whether a computation is written in the program. Other computations are partial sums."""
        return bool(self._is_written[index])

    @cached_property
    def _is_written(self) -> Array:
        """Whether some position of each computation is a point, not a subset of operands.

        A computation without measured positions is written.
        """
        written = np.ones(len(self._measures.terms), dtype=np.bool_)
        if self.operators == 0:
            return written
        owners, sites = self._measures.owners, self._measures.sites
        written[owners] = False
        points = [any(not site.operands for site in some) for some in sites]
        written[owners[points]] = True
        return written

    @property
    def terms(self) -> list[Term]:
        """The computation of each decomposition."""
        terms = self._measures.terms
        return [terms[owner] for owner in self._measures.owners.tolist()]

    def index_of(self, term: Term) -> int:
        """The index of a computation among the distinct computations."""
        index = self._index_by_identity.get(id(term))
        return self._index_by_digest[term.digest] if index is None else index

    @cached_property
    def _index_by_identity(self) -> dict[int, int]:
        """Faster than by digest, which reads the whole of a large term."""
        return {id(term): index for index, term in enumerate(self.computations)}

    @cached_property
    def _index_by_digest(self) -> dict[bytes, int]:
        return {term.digest: index for index, term in enumerate(self.computations)}

    @property
    def occurrences(self) -> Array:
        """The number of positions of each computation."""
        singles = np.array([len(sites) == 1 for sites in self._measures.sites], dtype=np.float64)
        counts = np.bincount(self._measures.owners, singles, minlength=len(self.computations))
        largest = np.zeros(len(self.computations), dtype=np.intp)
        sizes = [len(sites) for sites in self._measures.sites]
        np.maximum.at(largest, self._measures.owners, sizes)
        return np.maximum(counts.astype(np.intp), largest)

    def __len__(self) -> int:
        return len(self.influences)

    @overload
    def __getitem__(self, index: int) -> Decomposition: ...

    @overload
    def __getitem__(self, index: slice) -> list[Decomposition]: ...

    def __getitem__(self, index: int | slice) -> Decomposition | list[Decomposition]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = range(len(self))[index]
        measures = self._measures
        influence = float(self.influences[index])
        return Decomposition(
            self.program,
            measures.terms[measures.owners[index]],
            tuple(measures.sites[index]),
            dict(zip(self.protected, self.associations[index].tolist(), strict=True)),
            None if influence != influence else influence,
            float(measures.reaches[index]),
            self._joint,
            self._guesses,
            0.0 if measures.errors is None else float(measures.errors[index]),
        )

    def other(
        self, term: Term, sites: Sequence[Site], associations: Array, influence: float, reach: float
    ) -> Decomposition:
        """A decomposition that is not among these, with its measures."""
        named = dict(zip(self.protected, associations.tolist(), strict=True))
        return Decomposition(
            self.program, term, tuple(sites), named, influence, reach, self._joint, self._guesses
        )

    def __repr__(self) -> str:
        return f"<{len(self)} decompositions>"
