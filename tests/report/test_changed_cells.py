"""With many protected values, figures from the cells that change are those of whole tables."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from proxyuse.lang.evaluate import Array
from proxyuse.measure.association.protocol import associations_of
from proxyuse.report import possible_tables
from proxyuse.report.possible_tables import CountedTable, PossibleData, Spread
from tests.measure.agreement import NMI

MIN_CELL = 3


def taken(codes: Array, people: Array | None) -> Array:
    return codes if people is None else codes[people]


def possible(seed: int, rows: int, width: int, kind: type[np.signedinteger]) -> PossibleData:
    """Some tables of the same people, with weights, values in few rows, and bounds."""
    rng = np.random.default_rng(seed)
    labels = np.where(
        rng.random(rows) < 0.6, rng.integers(0, 3, rows), rng.integers(0, width, rows)
    )
    columns = np.minimum(np.arange(width), 3)
    weights = np.ones(rows) if rng.random() < 0.5 else rng.exponential(size=rows) + 0.1
    tables = []
    for height in (2, 5, 60):
        codes = rng.integers(0, height, rows)
        codes = np.where(rng.random(rows) < 0.5, labels % height, codes)
        cells, size = codes * width + labels, height * width
        counts = np.bincount(cells, minlength=size).reshape(height, width)
        masses = np.bincount(cells, weights, minlength=size).reshape(height, width)
        value = NMI(masses)
        least, below = [(-np.inf, np.inf), (0.99 * value, np.inf), (-np.inf, 1.01 * value)][
            rng.integers(3)
        ]
        tables.append(
            CountedTable(
                counts, masses, np.minimum(np.arange(height), 2), columns,
                partial(taken, codes.astype(kind)), partial(associations_of, NMI), least, below,
                informative=True,
            )
        )  # fmt: skip
    return PossibleData(
        tables, labels, weights, rng.integers(0, 4, rows), rng.permutation(rows), MIN_CELL
    )


def told(spread: Spread) -> tuple[object, ...]:
    """Everything but the association."""
    return (
        spread.low.tolist(), spread.high.tolist(), spread.guessed[1], spread.guess_margin,
        spread.withheld, spread.fewest,
    )  # fmt: skip


@given(st.integers(0, 10**6), st.sampled_from([40, 300]), st.sampled_from([10, 700]))
def test_changed_cells_say_what_whole_tables_say(seed: int, rows: int, width: int) -> None:
    answers = []
    for least in (0, 10**9):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(possible_tables, "WIDE", least)
            data = possible(seed, rows, width, np.intp)
            answers.append((data.spreads(), [(m.pairs.tolist(), m.kept) for m in data.moves]))
    (followed, moves), (whole, whole_moves) = answers
    assert moves == whole_moves
    for one, other in zip(followed, whole, strict=True):
        assert told(one) == told(other)
        assert one.guessed == pytest.approx(other.guessed, rel=1e-12, abs=0)
        assert one.association == pytest.approx(other.association, rel=0, abs=1e-12)


def test_short_integers_do_not_overflow_in_a_table_with_many_cells(monkeypatch) -> None:
    monkeypatch.setattr(possible_tables, "WIDE", 10**9)
    short, long = (possible(1, 300, 2000, kind).spreads() for kind in (np.int16, np.intp))
    assert list(map(told, short)) == list(map(told, long))
