"""Counting a decision tree in compiled loops; see `tree_counts` for what is counted.

Importing this loads numba. A few words of every row set are worked on at a time, so that all of
them stay in the processor's cache: the tests, then V from the leaves up, then S from the root
down, then the walks, depth-first in a handful of registers. Bits are counted where they are made.

These few words are one value of the compiled loops (`Words`), which becomes one or a few of the
processor's widest registers: loops over them would seldom be turned into such, for the compiler
cannot know that the sets do not overlap. The loops let go of the interpreter's lock.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba import types
from numba.extending import models, register_model

from proxyuse.lang.evaluate import Array
from proxyuse.lang.compiled import compiled, intrinsic
from proxyuse.measure.tree_counts import CellSets, TreeCounts, digits_of
from proxyuse.measure.tree_plan import TreePlan, Walk

WORDS = 16  # of each row set, worked on at a time

_LANES = ir.VectorType(ir.IntType(64), WORDS)


class Words(types.Type):
    """Some words of a row set."""

    def __init__(self) -> None:
        super().__init__(name=f"Words{WORDS}")


@register_model(Words)
class _WordsModel(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _LANES)  # type: ignore[no-untyped-call]


words = Words()


def _place(context: Any, builder: Any, kind: Any, array: Any, start: Any, lanes: Any) -> Any:
    """Where some neighbouring items of a one-dimensional array begin."""
    held = context.make_array(kind)(context, builder, array)
    return builder.bitcast(builder.gep(held.data, [start]), lanes.as_pointer())


@intrinsic
def _load(typing: Any, sets: Any, row: Any) -> Any:
    """The words of one set among many that lie one after the other."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        start = builder.mul(given[1], given[1].type(WORDS))
        return builder.load(_place(context, builder, sets, given[0], start, _LANES), align=8)

    return words(sets, types.intp), generate


@intrinsic
def _store(typing: Any, sets: Any, row: Any, stored: Any) -> Any:
    """Put the words of one set in its place."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        start = builder.mul(given[1], given[1].type(WORDS))
        builder.store(given[2], _place(context, builder, sets, given[0], start, _LANES), align=8)
        return context.get_dummy_value()

    return types.none(sets, types.intp, words), generate


def _pairwise(operation: Callable[[Any, Any, Any], Any]) -> Any:
    """An operation on two sets, word by word."""

    @intrinsic
    def operate(typing: Any, first: Any, second: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            return operation(builder, *given)

        return words(words, words), generate

    return operate


_and = _pairwise(lambda builder, a, b: builder.and_(a, b))
_or = _pairwise(lambda builder, a, b: builder.or_(a, b))
_xor = _pairwise(lambda builder, a, b: builder.xor(a, b))


@intrinsic
def _bits(typing: Any, counted: Any) -> Any:
    """How many bits are set."""

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        def call(name: str, result: Any, argument: Any) -> Any:
            kind = ir.FunctionType(result, [_LANES])
            name = f"llvm.{name}.v{WORDS}i64"
            module: Any = builder.module
            function = module.globals.get(name) or ir.Function(module, kind, name)
            return builder.call(function, [argument])

        return call("vector.reduce.add", ir.IntType(64), call("ctpop", _LANES, given[0]))

    return types.int64(words), generate


@intrinsic
def _below(typing: Any, codes: Any, start: Any, edge: Any) -> Any:
    """A word that says of 64 codes, from `start` on, which are below an edge.

    Written as one comparison of 64 lanes, which is an instruction or a few of most processors.
    """

    def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:
        lane = context.get_data_type(codes.dtype)
        lanes = ir.VectorType(lane, 64)
        place = _place(context, builder, codes, given[0], given[1], lanes)
        loaded = builder.load(place, align=lane.width // 8)
        undefined = ir.Constant(lanes, ir.Undefined)
        one = builder.insert_element(undefined, given[2], ir.IntType(32)(0))
        same = ir.Constant(ir.VectorType(ir.IntType(32), 64), [0] * 64)
        edges = builder.shuffle_vector(one, undefined, same)
        return builder.bitcast(builder.icmp_unsigned("<", loaded, edges), ir.IntType(64))

    return types.uint64(codes, types.intp, codes.dtype), generate


class Kernel:
    """Counts blocks of rows; `counts` is what was counted so far."""

    def __init__(self, plan: TreePlan, walk: Walk, sets: CellSets) -> None:
        self.plan = plan
        self.walk = walk
        self.sets = sets
        self.counts = TreeCounts.nothing(plan, walk, len(sets) - len(plan.tests))
        narrow = all(codes.dtype == np.uint8 for codes in sets.columns[: len(plan.variables)])
        narrow = narrow and sets.edges.max(initial=0) < 256
        self._type = np.uint8 if narrow else np.uint32
        self._edges = sets.edges.astype(self._type)
        classes = len(plan.classes)
        self._sets = np.empty(len(sets) * WORDS, dtype=np.uint64)
        self._says = np.zeros((classes - 1, (len(plan.points) + classes) * WORDS), dtype=np.uint64)
        for c, says in enumerate(self._says):
            says.reshape(-1, WORDS)[len(plan.points) + c + 1] = ~np.uint64(0)
        self._rows = np.empty(walk.registers * WORDS, dtype=np.uint64)

    def count(self, block: slice, weights: Array) -> None:
        """Count a block of rows."""
        whole = 64 * WORDS
        digits = digits_of(weights)
        padded = -(-len(weights) // whole) * whole
        codes = np.zeros((len(self.sets.columns), padded), dtype=self._type)
        for column, own in zip(self.sets.columns, codes, strict=True):
            own[: len(weights)] = column[block]
        rows = np.zeros((len(digits), padded // 64), dtype=np.uint64)
        rows[:, : digits.shape[1]] = digits
        plan, counts = self.plan, self.counts
        _count(
            codes, rows,
            self.sets.column_of, self.sets.starts, self._edges,
            plan.test_of, plan.left, plan.right, self.walk.steps,
            self._sets, self._says, self._rows,
            counts.reach, counts.taken, counts.holding, counts.failing, counts.said, counts.ends,
        )  # fmt: skip


@compiled
def _count(
    codes: Any, digits: Any,
    column_of: Any, starts: Any, edges: Any,
    test_of: Any, left: Any, right: Any, steps: Any,
    sets: Any, says: Any, rows: Any,
    reach: Any, taken: Any, holding: Any, failing: Any, said: Any, ends: Any,
) -> None:  # fmt: skip
    """Add the counts of a block; `sets`, `says` and `rows` hold a few words of each set."""
    values = said.shape[2] - 1
    first_value = len(sets) // WORDS - values
    for start in range(0, digits.shape[1], WORDS):
        # G: the tests, and the protected values.
        for s in range(first_value + values):
            own = codes[column_of[s]]
            for w in range(WORDS):
                word = np.uint64(0)
                for e in range(starts[s], starts[s + 1]):
                    word ^= _below(own, 64 * (start + w), edges[e])
                sets[s * WORDS + w] = word
        # V, from the leaves up.
        for c in range(len(says)):
            own = says[c]
            for node in range(len(left) - 1, -1, -1):
                holds, other = _load(sets, test_of[node]), _load(own, right[node])
                apart = _xor(_load(own, left[node]), other)
                _store(own, node, _xor(other, _and(apart, holds)))
        for place in range(len(digits)):
            # What subtrees say of all rows, and of those of each protected value.
            everything = _load(digits[place, start:], 0)
            for v in range(1 + values):
                value = everything
                if v > 0:
                    value = _and(value, _load(sets, first_value + v - 1))
                for c in range(len(says)):
                    for node in range(len(left)):
                        said[node, c, v] += _bits(_and(_load(says[c], node), value)) << place
            # S, from the root down.
            _store(rows, 0, everything)
            for node in range(len(left)):
                a, b = left[node], right[node]
                here = _load(rows, node)
                inside = _and(here, _load(sets, test_of[node]))
                _store(rows, a, inside)
                _store(rows, b, _xor(here, inside))
                apart = _xor(_load(says[0], a), _load(says[0], b))
                for c in range(1, len(says)):
                    apart = _or(apart, _xor(_load(says[c], a), _load(says[c], b)))
                both = _bits(_and(apart, inside))
                reach[node] += _bits(here) << place
                taken[node] += _bits(inside) << place
                holding[node] += both << place
                failing[node] += (_bits(_and(apart, here)) - both) << place
            # The walks, depth-first.
            for step in range(len(steps)):
                test, a, b = steps[step, 1], steps[step, 2], steps[step, 3]
                here = _load(rows, steps[step, 0])
                if test >= 0:
                    inside = _and(here, _load(sets, test))
                    _store(rows, a, inside)
                    _store(rows, b, _xor(here, inside))
                else:
                    apart = _xor(_load(says[0], a), _load(says[0], 0))
                    for c in range(1, len(says)):
                        apart = _or(apart, _xor(_load(says[c], a), _load(says[c], 0)))
                    ends[b] += _bits(_and(apart, here)) << place
