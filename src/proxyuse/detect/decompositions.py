"""Measured decompositions in columns; an object for one of them is made when it is asked for.

A large model has tens of thousands of decompositions of which a handful are looked at.
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
from proxyuse.program import Program
from proxyuse.words import shortened


@dataclass(frozen=True, eq=False)
class Decomposition:
    """A computation inside a program, at some of its positions, with what was measured.

    Attributes
    ----------
    expression : the computation p1, as a term.
    sites : its positions, as numbers of program points.
    associations : for each protected attribute, the association with it.
    influence : on the decisions; None if it was not needed: it cannot be a witness.
    reach : share of rows that evaluate one of the positions.
    error : how far an influence that was drawn may be off; 0 if it was counted.
    """

    program: Program
    expression: Term
    sites: tuple[Site, ...]
    associations: dict[str, float]
    influence: float | None
    reach: float
    _joint: Callable[[Term], list[JointTable]] = field(repr=False)
    error: float = 0.0

    @cached_property
    def tables(self) -> dict[str, JointTable]:
        """For each protected attribute, the joint table with it."""
        return {table.protected: table for table in self._joint(self.expression)}

    @cached_property
    def term(self) -> str:
        """The computation as text."""
        return self.program.text_of(self.expression)

    @property
    def positions(self) -> tuple[Position, ...]:
        """Where the computation stands."""
        return tuple(self.program.points.position(site) for site in self.sites)

    @property
    def occurrences(self) -> int:
        """At how many positions it is replaced."""
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
    """What was measured of some computations, in columns.

    Attributes
    ----------
    terms, associations : by computation; associations with each protected attribute.
    owners : whose each decomposition is, in order of the computations.
    sites, influences, reaches : by decomposition; influence is NaN where it was not needed.
    errors : by decomposition, how far an influence that was drawn may be off; 0 where it was
        counted. None if all were counted.
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
        """No decomposition, for some number of protected attributes."""
        none = np.zeros(0)
        return cls((), np.zeros((0, attributes)), none.astype(np.intp), [], none, none)

    @classmethod
    def stacked(cls, parts: Sequence[Measures]) -> Measures:
        """Parts that have no computation in common, one after the other."""
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
        """All parts. A computation that several have is listed once, with all its positions.

        It is written as in the first part that has it.
        """
        if len(parts) == 1:
            return parts[0]
        numbers: dict[bytes, int] = {}
        terms: list[Term] = []
        associations: list[Array] = []
        rows: dict[tuple[int, tuple[Site, ...]], tuple[int, int]] = {}
        for part, some in enumerate(parts):
            digests = [term.digest for term in some.terms]
            for place, digest in enumerate(digests):
                if digest not in numbers:
                    numbers[digest] = len(terms)
                    terms.append(some.terms[place])
                    associations.append(some.associations[place])
            for place, owner in enumerate(some.owners.tolist()):
                key = numbers[digests[owner]], tuple(sorted(some.sites[place]))
                rows.setdefault(key, (part, place))
        owners = np.array([number for number, _ in rows], dtype=np.intp)
        order = np.argsort(owners, kind="stable")
        kept = list(rows.values())
        chosen = [kept[i] for i in order.tolist()]
        return cls(
            terms,
            np.array(associations).reshape(len(terms), parts[0].associations.shape[1]),
            owners[order],
            [parts[part].sites[place] for part, place in chosen],
            np.array([parts[part].influences[place] for part, place in chosen], dtype=float),
            np.array([parts[part].reaches[place] for part, place in chosen], dtype=float),
        )


class Decompositions(Sequence[Decomposition]):
    """Every measured decomposition, in order of the first position of the computation.

    Attributes
    ----------
    associations : by decomposition and protected attribute.
    influences : by decomposition; NaN where not needed.
    sites, reaches : by decomposition.
    """

    def __init__(
        self,
        program: Program,
        protected: Sequence[str],
        measures: Measures,
        joint: Callable[[Term], list[JointTable]],
        bounded: int = 0,
    ) -> None:
        self.program = program
        self.protected = tuple(protected)
        self._measures = measures
        self._joint = joint
        self.associations: Array = measures.associations[measures.owners]
        self.influences = measures.influences
        self.reaches = measures.reaches
        self.sites = measures.sites
        self._bounded = bounded

    @property
    def errors(self) -> Array:
        """How far the influence of each may be off because it was drawn; 0 if it was counted."""
        errors = self._measures.errors
        return np.zeros(len(self)) if errors is None else errors

    @property
    def owners(self) -> Array:
        """The number of the computation of each decomposition."""
        return self._measures.owners

    @property
    def computations(self) -> Sequence[Term]:
        """The distinct computations; each has one association, at however many positions."""
        return self._measures.terms

    @property
    def tested(self) -> int:
        """How many distinct computations could have been witnesses, measured or bounded."""
        return len(self._measures.terms) + self._bounded

    @property
    def terms(self) -> list[Term]:
        """The computation of each decomposition."""
        terms = self._measures.terms
        return [terms[owner] for owner in self._measures.owners.tolist()]

    def place(self, term: Term) -> int:
        """Where a computation stands among all of them."""
        known = self._indices.get(id(term))
        return self._places[term.digest] if known is None else known

    @cached_property
    def _indices(self) -> dict[int, int]:
        """By identity: the digest of a large term takes a look at all of it."""
        return {id(term): index for index, term in enumerate(self.computations)}

    @cached_property
    def _places(self) -> dict[bytes, int]:
        return {term.digest: place for place, term in enumerate(self.computations)}

    @property
    def occurrences(self) -> Array:
        """For each computation, at how many single positions it stands."""
        alone = np.array([len(sites) == 1 for sites in self._measures.sites], dtype=np.float64)
        counts = np.bincount(self._measures.owners, alone, minlength=len(self.computations))
        together = np.zeros(len(self.computations), dtype=np.intp)
        sizes = [len(sites) for sites in self._measures.sites]
        np.maximum.at(together, self._measures.owners, sizes)
        return np.maximum(counts.astype(np.intp), together)

    def __len__(self) -> int:
        return len(self.influences)

    @overload
    def __getitem__(self, place: int) -> Decomposition: ...

    @overload
    def __getitem__(self, place: slice) -> list[Decomposition]: ...

    def __getitem__(self, place: int | slice) -> Decomposition | list[Decomposition]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        place = range(len(self))[place]
        measures = self._measures
        influence = float(self.influences[place])
        return Decomposition(
            self.program,
            measures.terms[measures.owners[place]],
            tuple(measures.sites[place]),
            dict(zip(self.protected, self.associations[place].tolist(), strict=True)),
            None if influence != influence else influence,
            float(measures.reaches[place]),
            self._joint,
            0.0 if measures.errors is None else float(measures.errors[place]),
        )

    def __repr__(self) -> str:
        return f"<{len(self)} decompositions>"
