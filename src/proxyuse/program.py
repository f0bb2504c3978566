"""Programs: a term, its inputs, and the origins of its sub-terms in a model.

This module joins the language with columns of data, so that a program can be evaluated.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, wraps
from operator import itemgetter
from typing import Any, Concatenate, ParamSpec, TypeVar

import numpy as np

from proxyuse.data.columns import Column, Kind
from proxyuse.data.table import Table
from proxyuse.errors import LanguageError
from proxyuse.lang.evaluate import Array, Vocabulary, evaluate
from proxyuse.lang.kinds import MISSING_KIND, check_kinds
from proxyuse.lang.nodes import Const, Node, Precision, Term, children, postorder, variables
from proxyuse.lang.original_points import original_points
from proxyuse.lang.packed import PackedIte
from proxyuse.lang.parse import parse_program
from proxyuse.lang.positions import Points, Position, Site
from proxyuse.lang.rewrite import simplify, simplify_node, without_missing_directions
from proxyuse.lang.text import LINE_WIDTH, brief, briefs, name_text, precision_of, term_text

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Origin:
    """The part of a model that a sub-term came from.

    Examples
    --------
    >>> print(Origin(step="classifier", tree=3, node=17))
    classifier, tree 3, node 17
    """

    step: str = ""
    tree: int | None = None
    node: int | None = None
    coefficient: int | None = None

    def __str__(self) -> str:
        numbers = {"tree": self.tree, "node": self.node, "coefficient": self.coefficient}
        parts = [f"{part} {number}" for part, number in numbers.items() if number is not None]
        return ", ".join([self.step, *parts] if self.step else parts)


class Origins(Mapping[int, Origin]):
    """The origins of points, by their number in written order.

    Origins in packed trees are looked up in the columns of the forest.
    """

    def __init__(self, term: Term, origins: Mapping[int, Origin]) -> None:
        explicit = origins._explicit if isinstance(origins, Origins) else origins
        self._explicit: dict[int, Origin] = dict(explicit)
        self._trees = _packed_trees(term)
        self._starts = [written for written, _ in self._trees]

    def __getitem__(self, written: int) -> Origin:
        index = bisect_right(self._starts, written) - 1
        if index >= 0:
            start, tree = self._trees[index]
            if written < start + tree.points and len(tree.forest.sources):
                return self._in_tree(tree, written - start, written)
        return self._explicit[written]

    def _in_tree(self, tree: PackedIte, past: int, written: int) -> Origin:
        forest = tree.forest
        at = forest.locate(tree.node, past)
        if at.inside:
            raise KeyError(written)
        first = forest.first_node if at.leaf < 0 else forest.first_leaf
        index = int(np.searchsorted(first, max(at.node, at.leaf), side="right")) - 1
        source = forest.sources[at.node] if at.leaf < 0 else forest.leaf_sources[at.leaf]
        return Origin(forest.step, int(forest.trees[index]), int(source))

    def __iter__(self) -> Iterator[int]:
        points = dict.fromkeys(self._explicit)
        for start, tree in self._trees:
            forest, base = tree.forest, start - int(tree.forest.offsets[tree.node])
            if not len(forest.sources):
                continue
            spans = forest.spans
            nodes = range(tree.node, int(spans.end[tree.node]))
            points.update((base + int(forest.offsets[node]), None) for node in nodes)
            leaves = range(int(spans.first_leaf[tree.node]), int(spans.last_leaf[tree.node]))
            points.update((base + forest.leaf_offset(leaf), None) for leaf in leaves)
        yield from points

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def steps(self) -> tuple[Origin, ...]:
        """The distinct origins; a packed forest counts as one, without trees and nodes."""
        trees = {id(tree.forest): tree.forest for _, tree in self._trees}
        packed = (Origin(forest.step) for forest in trees.values())
        return tuple(dict.fromkeys((*self._explicit.values(), *packed)))


def _packed_trees(term: Term) -> list[tuple[int, PackedIte]]:
    """Return the packed trees of a term, each with the written number of its first point."""
    around: set[int] = set()  # ids of packed trees and of the nodes around them
    for node in postorder(term, enter_packed=False):
        if node.packed or not around.isdisjoint(map(id, children(node))):
            around.add(id(node))
    trees: list[tuple[int, PackedIte]] = []
    stack: list[tuple[Term, int]] = [(term, 0)] if id(term) in around else []
    while stack:
        node, written = stack.pop()
        if isinstance(node, PackedIte):
            trees.append((written, node))
            continue
        at = written + 1
        for part in children(node):
            if id(part) in around:
                stack.append((part, at))
            at += part.points
    return sorted(trees, key=itemgetter(0))


class Program:
    """A function of named inputs, defined by a term.

    Parameters
    ----------
    term : Term
    inputs : sequence of str, optional
        The columns of a row, in order; by default the variables of the term in order of
        appearance. Inputs may be unused.
    origins : mapping, optional
        The `Origin` of points, by their number in written preorder. A point without one inherits
        that of its nearest ancestor.

    Examples
    --------
    >>> program = Program.parse("ite(age <= 30 and sex == 'F', 0, 1)")
    >>> program.inputs
    ('age', 'sex')
    >>> program.predict({"age": [25, 25, 60], "sex": ["F", "M", "F"]})
    array([0., 1., 1.])
    """

    def __init__(
        self,
        term: Term,
        inputs: Sequence[str] | None = None,
        origins: Mapping[int, Origin] | None = None,
    ) -> None:
        if not isinstance(term, Node):
            raise LanguageError(
                f"term: expected a term, got {type(term).__name__}; for text use Program.parse"
            )
        if isinstance(inputs, str) or any(type(name) is not str for name in inputs or ()):
            raise LanguageError(f"inputs: expected a sequence of strings, got {inputs!r}")
        self.term = term
        self.variables = variables(term)
        self.inputs = self.variables if inputs is None else tuple(inputs)
        self.origins = Origins(term, {} if origins is None else origins)
        self.checked_kinds: set[frozenset[tuple[str, str]]] = set()
        self._specialized: dict[frozenset[str], Program] = {}
        self._cache: dict[tuple[object, ...], Any] = {}
        names = set(self.inputs)
        if len(names) < len(self.inputs):
            duplicate = next(name for name, count in Counter(self.inputs).items() if count > 1)
            raise LanguageError(f"the input {duplicate!r} appears twice")
        unknown = [name for name in self.variables if name not in names]
        if unknown:
            raise LanguageError(
                f"the variable {unknown[0]!r} is not an input; add it to the inputs"
            )

    @classmethod
    def parse(cls, text: str) -> Program:
        """Parse the text of a program; a `ParseError` has the line and the column."""
        parsed = parse_program(text)
        return cls(parsed.term, parsed.inputs)

    @classmethod
    def traced(cls, term: Term, inputs: Sequence[str], origins: Mapping[int, Origin]) -> Program:
        """Make a program with origins by node object (``id(node)``).

        Each node object with an origin must occur once in the term.
        """
        by_point: dict[int, Origin] = {}
        stack, point = [term], 0
        while stack:
            node = stack.pop()
            if id(node) in origins:
                by_point[point] = origins[id(node)]
            if node.packed:
                point += node.points
                continue
            point += 1
            if parts := children(node):
                stack.extend(parts[::-1])
        return cls(term, inputs, by_point)

    @cached_property
    def points(self) -> Points:
        """All program points."""
        return Points(self.term)

    @cached_property
    def precision(self) -> Precision:
        """The precision of comparisons that are not marked with another one."""
        return precision_of(self.term)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.term.size

    def origin(self, position: Position | str) -> Origin | None:
        """Return the origin of the sub-term at a position."""
        if isinstance(position, str):
            position = Position.parse(position)
        point = self.points.site(position).point
        while point >= 0:
            if self.points.written[point] in self.origins:
                return self.origins[self.points.written[point]]
            point = self.points.parents[point]
        return None

    def text_of(self, term: Term) -> str:
        """Return the text of a sub-term on one line, as it appears in the program's text."""
        return term_text(term, self.precision, width=sys.maxsize)

    def brief(self, term: Term, max_length: int = 60) -> str:
        """Return the text of a sub-term on one line, shortened to `max_length` characters."""
        return brief(term, self.precision, max_length)

    def briefs(self, terms: Sequence[Term], max_length: int = 60) -> list[str]:
        """Return the shortened texts of many sub-terms; faster than one by one."""
        return briefs(terms, self.precision, max_length)

    def without_missing(self, complete: frozenset[str]) -> Program:
        """Return the program for data in which some variables are never missing.

        Tests of these variables lose their mark for missing values, which has no effect there.
        Origins are preserved. The result is cached, because audits of one program share it.
        """
        if complete not in self._specialized:
            term = without_missing_directions(self.term, complete)
            same = term is self.term
            self._specialized[complete] = self if same else Program(term, self.inputs, self.origins)
        return self._specialized[complete]

    def simplified(self) -> Program:
        """Return the program with constants folded; origins are lost if anything changes."""
        term = simplify(self.term)
        return self if term is self.term else Program(term, self.inputs)

    def replaced(self, new: Mapping[Site, Const]) -> Program:
        """Return the program with constants at disjoint sites, simplified.

        Remaining sub-terms keep their origins. A constant gets the origin of the sub-term it
        replaces, or of the first of several operands. Linear in the number of points.

        Examples
        --------
        >>> program = Program.parse("ite(age <= 30, ite(sex == 'F', 0, 1), 1)")
        >>> site = program.points.site(Position.parse("1.0"))
        >>> print(program.replaced({site: Const(False)}))
        lambda age, sex . 1
        """
        return self._replaced(new)[0]

    def replaced_points(self, new: Mapping[Site, Const]) -> tuple[Program, list[int]]:
        """Do the same, and return the original point of each point (-1 for new constants)."""
        program, built = self._replaced(new)
        return program, original_points(self.points, built, program.points)

    def _replaced(self, new: Mapping[Site, Const]) -> tuple[Program, dict[int, Term]]:
        if not new:
            return self, {}
        points = self.points
        by_point, terms = _origins_by_point(self)
        origins = {id(terms[point]): origin for point, origin in by_point.items()}
        fresh = {site: Const(value.value) for site, value in new.items()}  # one object per site
        for site, value in fresh.items():
            first = points.covers(site)[0][0]
            if first in by_point:
                origins[id(value)] = by_point[first]
        built = points.rebuilt(fresh, simplify_node)
        for point, term in built.items():
            if point in by_point:
                origins.setdefault(id(term), by_point[point])
        program = Program.traced(built[0], self.inputs, origins)
        # Constants are never missing, so these cached results stay valid.
        same = (complete for complete, cached in self._specialized.items() if cached is self)
        program._specialized = dict.fromkeys(same, program)
        return program, built

    def predict(self, X: object) -> Array:
        """Evaluate the program on each row of a table.

        Parameters
        ----------
        X : data frame, mapping of columns, or 2-D array
            Columns are matched by name; those of an array are the `inputs`, in order.

        Returns
        -------
        ndarray
            Numbers, booleans, or categories (objects, None where missing).
        """
        data = Table.of(X, names=self.inputs)
        frame = Frame(data.column(name) for name in self.variables)
        frame.check_program(self)
        values = evaluate(self.term, frame.arrays, frame.vocabulary)
        values = np.broadcast_to(values, (data.n_rows, *values.shape[1:])).copy()
        return frame.vocabulary.decode(values) if values.dtype == np.int32 else values

    def __str__(self) -> str:
        explicit = self.inputs != self.variables
        header = f"lambda {', '.join(map(name_text, self.inputs))} ." if explicit else ""
        if self.precision is not Precision.FLOAT64:
            header = f"{header} {self.precision}:".lstrip()
        text = term_text(self.term, self.precision)
        one_line = len(header) + len(text) < LINE_WIDTH and "\n" not in text
        return (header + (" " if one_line else "\n") if header else "") + text

    def __repr__(self) -> str:
        return f"<Program of {len(self.inputs)} inputs: {self.size} nodes>"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Program):
            return NotImplemented
        return self.term == other.term and self.inputs == other.inputs

    def __hash__(self) -> int:
        return hash((self.term, self.inputs))

    def __reduce__(self) -> tuple[type[Program], tuple[object, ...]]:
        return Program, (self.term, self.inputs, self.origins._explicit)


def cached_per_program(
    analysis: Callable[Concatenate[Program, P], T],
) -> Callable[Concatenate[Program, P], T]:
    """Cache the results of an analysis in the program; callers must not modify them.

    The cache belongs to the program object, because results refer to its node objects and not to
    those of an equal program.
    """

    @wraps(analysis)
    def cached(program: Program, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (analysis, *args, *kwargs.items())
        if key not in program._cache:
            program._cache[key] = analysis(program, *args, **kwargs)
        return program._cache[key]  # type: ignore[no-any-return]

    return cached


@cached_per_program
def _origins_by_point(program: Program) -> tuple[dict[int, Origin], dict[int, Term]]:
    """The origin and the term of each point that has an origin. Linear in the number of points."""
    points = program.points
    point_of = {written: point for point, written in enumerate(points.written)}
    by_point = {point_of[written]: origin for written, origin in program.origins.items()}
    return by_point, {point: points.terms[point] for point in by_point}


class Frame:
    """Columns as arrays for evaluation, with a common vocabulary of categories.

    Frames that share a vocabulary have the same codes for categories.
    """

    def __init__(self, columns: Iterable[Column], vocabulary: Vocabulary | None = None) -> None:
        self.vocabulary = vocabulary or Vocabulary()
        self.arrays: dict[str, Array] = {}
        self.kinds: dict[str, str] = {}
        for column in columns:
            untyped = column.kind is Kind.NUMBER and column.all_missing
            self.kinds[column.name] = MISSING_KIND if untyped else str(column.kind)
            self.arrays[column.name] = self._array(column)

    def _array(self, column: Column) -> Array:
        if column.kind is not Kind.CATEGORY:
            return column.values
        codes = [self.vocabulary.code(word) for word in column.categories]
        recoded = np.array([*codes, -1], dtype=np.int32)[column.values]
        return np.asarray(recoded)

    def check(self, term: Term) -> str:
        """Return the kind of a term; raise a `KindError` if kinds do not match."""
        return check_kinds(term, self.kinds)

    def check_program(self, program: Program) -> None:
        """Raise a `KindError` if kinds do not match; kinds that passed are not checked again."""
        key = frozenset(self.kinds.items())
        if not any(key <= checked for checked in program.checked_kinds):
            self.check(program.term)
            program.checked_kinds.add(key)
