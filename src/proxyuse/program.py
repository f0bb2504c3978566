"""A program: a term, the inputs it is a function of, and where its parts came from.

It joins the language with columns of data so that a program can be run. It knows nothing of
models, populations or measures.
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
from proxyuse.lang.packed import PackedIte
from proxyuse.lang.parse import parse_program
from proxyuse.lang.positions import Points, Position, Site
from proxyuse.lang.rewrite import simplify, simplify_node, without_missing_directions
from proxyuse.lang.survivors import survivors
from proxyuse.lang.text import LINE_WIDTH, brief, briefs, name_text, precision_of, term_text

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a part of a program came from in the model.

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
        numbered = {"tree": self.tree, "node": self.node, "coefficient": self.coefficient}
        named = [f"{what} {number}" for what, number in numbered.items() if number is not None]
        return ", ".join([self.step, *named] if self.step else named)


class Origins(Mapping[int, Origin]):
    """Where parts of a term came from, by the number of their point in written order.

    Those of packed trees are worked out from the trees' own columns.
    """

    def __init__(self, term: Term, given: Mapping[int, Origin]) -> None:
        self._given: dict[int, Origin] = dict(given._given if isinstance(given, Origins) else given)
        self._trees = _packed_trees(term)
        self._starts = [written for written, _ in self._trees]

    def __getitem__(self, written: int) -> Origin:
        index = bisect_right(self._starts, written) - 1
        if index >= 0:
            start, tree = self._trees[index]
            if written < start + tree.points and len(tree.forest.sources):
                return self._in_tree(tree, written - start, written)
        return self._given[written]

    def _in_tree(self, tree: PackedIte, past: int, written: int) -> Origin:
        forest = tree.forest
        at = forest.locate(tree.node, past)
        if at.inside:
            raise KeyError(written)
        first = forest.first_node if at.leaf < 0 else forest.first_leaf
        number = int(np.searchsorted(first, max(at.node, at.leaf), side="right")) - 1
        source = forest.sources[at.node] if at.leaf < 0 else forest.leaf_sources[at.leaf]
        return Origin(forest.step, int(forest.trees[number]), int(source))

    def __iter__(self) -> Iterator[int]:
        own = dict.fromkeys(self._given)
        for start, tree in self._trees:
            forest, base = tree.forest, start - int(tree.forest.offsets[tree.node])
            if not len(forest.sources):
                continue
            spans = forest.spans
            nodes = range(tree.node, int(spans.end[tree.node]))
            own.update((base + int(forest.offsets[node]), None) for node in nodes)
            leaves = range(int(spans.first_leaf[tree.node]), int(spans.last_leaf[tree.node]))
            own.update((base + forest.leaf_offset(leaf), None) for leaf in leaves)
        yield from own

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def steps(self) -> tuple[Origin, ...]:
        """One origin of each part of the model, trees and nodes not told apart."""
        trees = {id(tree.forest): tree.forest for _, tree in self._trees}
        packed = (Origin(forest.step) for forest in trees.values())
        return tuple(dict.fromkeys((*self._given.values(), *packed)))


def _packed_trees(term: Term) -> list[tuple[int, PackedIte]]:
    """The packed trees of a term, each with the number of its first point in written order."""
    around: set[int] = set()  # node objects that are packed, or have something packed in them
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
    """A function of named inputs, given by a term.

    Parameters
    ----------
    term : Term
    inputs : sequence of str, optional
        The columns a row consists of, in order; by default the variables of the term in order
        of appearance. An input need not be used.
    origins : mapping, optional
        Where parts came from: for the number of a point in written preorder, its `Origin`.
        Points without one share that of the nearest point above.

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
            raise LanguageError(f"a program is made of a term, not {type(term).__name__}")
        if isinstance(inputs, str) or any(type(name) is not str for name in inputs or ()):
            raise LanguageError(f"inputs are a sequence of strings, not {inputs!r}")
        self.term = term
        self.variables = variables(term)
        self.inputs = self.variables if inputs is None else tuple(inputs)
        self.origins = Origins(term, {} if origins is None else origins)
        self.fitting_kinds: set[frozenset[tuple[str, str]]] = set()
        self._specialized: dict[frozenset[str], Program] = {}
        self._kept: dict[tuple[object, ...], Any] = {}
        known = set(self.inputs)
        if len(known) < len(self.inputs):
            twice = next(name for name, count in Counter(self.inputs).items() if count > 1)
            raise LanguageError(f"the input {twice!r} is named twice")
        unknown = [name for name in self.variables if name not in known]
        if unknown:
            raise LanguageError(f"the variable {unknown[0]!r} is not among the inputs")

    @classmethod
    def parse(cls, text: str) -> Program:
        """Read a program; an error names line, column and what was expected."""
        parsed = parse_program(text)
        return cls(parsed.term, parsed.inputs)

    @classmethod
    def traced(cls, term: Term, inputs: Sequence[str], origins: Mapping[int, Origin]) -> Program:
        """A program whose origins are given by the identity of node objects, ``id(node)``.

        Each node object with an origin must stand at one place in the term.
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
        """Every program point."""
        return Points(self.term)

    @cached_property
    def precision(self) -> Precision:
        """The precision that comparisons have unless their text says another."""
        return precision_of(self.term)

    @property
    def size(self) -> int:
        """The number of nodes."""
        return self.term.size

    def origin(self, position: Position | str) -> Origin | None:
        """Where the sub-term at a position came from."""
        if isinstance(position, str):
            position = Position.parse(position)
        point = self.points.site(position).point
        while point >= 0:
            if self.points.written[point] in self.origins:
                return self.origins[self.points.written[point]]
            point = self.points.parents[point]
        return None

    def text_of(self, term: Term) -> str:
        """A part of this program on one line, as it would stand in the program's text."""
        return term_text(term, self.precision, width=sys.maxsize)

    def brief(self, term: Term, most: int = 60) -> str:
        """The beginning of a part of this program on one line, with at most so many characters."""
        return brief(term, self.precision, most)

    def briefs(self, terms: Sequence[Term], most: int = 60) -> list[str]:
        """The beginnings of many parts of this program; faster than one by one."""
        return briefs(terms, self.precision, most)

    def without_missing(self, complete: frozenset[str]) -> Program:
        """The program for data in which some variables are never missing; origins stay.

        Tests of these variables lose their mark for missing values, which says nothing there.
        Kept, for many audits of one program ask for the same.
        """
        if complete not in self._specialized:
            term = without_missing_directions(self.term, complete)
            same = term is self.term
            self._specialized[complete] = self if same else Program(term, self.inputs, self.origins)
        return self._specialized[complete]

    def simplified(self) -> Program:
        """The program with constants folded; parts lose their origins if anything changed."""
        term = simplify(self.term)
        return self if term is self.term else Program(term, self.inputs)

    def replaced(self, new: Mapping[Site, Const]) -> Program:
        """The program with constants at disjoint sites, and what that makes superfluous left out.

        What remains keeps its origin. A constant has that of what it replaced; one in place of
        several operands that of the first of them. Linear in the number of points.

        Examples
        --------
        >>> program = Program.parse("ite(age <= 30, ite(sex == 'F', 0, 1), 1)")
        >>> site = program.points.site(Position.parse("1.0"))
        >>> print(program.replaced({site: Const(False)}))
        lambda age, sex . 1
        """
        return self._replaced(new)[0]

    def replaced_points(self, new: Mapping[Site, Const]) -> tuple[Program, list[int]]:
        """The same, with the point of this program that each point of the new one is.

        -1 for constants that are new.
        """
        program, built = self._replaced(new)
        return program, survivors(self.points, built, program.points)

    def _replaced(self, new: Mapping[Site, Const]) -> tuple[Program, dict[int, Term]]:
        if not new:
            return self, {}
        points = self.points
        by_number = {written: point for point, written in enumerate(points.written)}
        at = {by_number[written]: origin for written, origin in self.origins.items()}
        origins = {id(points.terms[point]): origin for point, origin in at.items()}
        fresh = {site: Const(value.value) for site, value in new.items()}  # one object a place
        for site, value in fresh.items():
            first = points.covers(site)[0][0]
            if first in at:
                origins[id(value)] = at[first]
        built = points.rebuilt(fresh, simplify_node)
        for point, term in built.items():
            if point in at:
                origins.setdefault(id(term), at[point])
        program = Program.traced(built[0], self.inputs, origins)
        own = (known for known, specialized in self._specialized.items() if specialized is self)
        program._specialized = dict.fromkeys(own, program)  # constants ask nothing of the data
        return program, built

    def predict(self, X: object) -> Array:
        """What the program says for each row of a table.

        Parameters
        ----------
        X : data frame, mapping of columns, or 2-D array
            Columns are found by name; those of an array by position among `inputs`.

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
        named = self.inputs != self.variables
        header = f"lambda {', '.join(map(name_text, self.inputs))} ." if named else ""
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
        return Program, (self.term, self.inputs, self.origins._given)


def kept(analysis: Callable[Concatenate[Program, P], T]) -> Callable[Concatenate[Program, P], T]:
    """Have what an analysis finds kept with the program it was found of, and not to be changed.

    With the object itself: what is found names its node objects, not those of an equal program.
    """

    @wraps(analysis)
    def found(program: Program, /, *given: P.args, **named: P.kwargs) -> T:
        key = (analysis, *given, *named.items())
        if key not in program._kept:
            program._kept[key] = analysis(program, *given, **named)
        return program._kept[key]  # type: ignore[no-any-return]

    return found


class Frame:
    """Columns as the arrays that terms are evaluated on, with one vocabulary for all.

    It may be that of another frame, so that categories have the same numbers in both.
    """

    def __init__(self, columns: Iterable[Column], vocabulary: Vocabulary | None = None) -> None:
        self.vocabulary = vocabulary or Vocabulary()
        self.arrays: dict[str, Array] = {}
        self.kinds: dict[str, str] = {}
        for column in columns:
            empty = column.kind is Kind.NUMBER and column.all_missing
            self.kinds[column.name] = MISSING_KIND if empty else str(column.kind)
            self.arrays[column.name] = self._array(column)

    def _array(self, column: Column) -> Array:
        if column.kind is not Kind.CATEGORY:
            return column.values
        codes = [self.vocabulary.code(word) for word in column.categories]
        shared = np.array([*codes, -1], dtype=np.int32)[column.values]
        return np.asarray(shared)

    def check(self, term: Term) -> str:
        """The kind of the term's values; a `KindError` where kinds do not fit."""
        return check_kinds(term, self.kinds)

    def check_program(self, program: Program) -> None:
        """A `KindError` where kinds do not fit; what fitted once is not looked at again."""
        key = frozenset(self.kinds.items())
        if not any(key <= known for known in program.fitting_kinds):
            self.check(program.term)
            program.fitting_kinds.add(key)
