"""The same rows have one hash, however they are stored, and other rows another; so programs."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import proxyuse as pu
from proxyuse.cli.data_files import read_table
from proxyuse.data.population import Population
from proxyuse.hashes import data_hash, program_hash

# The hash of data

PEOPLE = pd.DataFrame(
    {
        "age": [31, 64, 25, 31, 47, 25],
        "share": [0.1 + 0.2, 0.3, -0.0, 1e-310, 1e300, 0.5],
        "rooms": [1.0, None, 3.0, 2.0, None, 2.0],
        "town": ["Malmö", None, "東京", "a,b", 'q"q', "Malmö"],
        "since": ["2024-01-31", "2024-02-01", "1999-12-31", "2024-01-31", None, "2001-01-01"],
        "member": [True, False, True, True, False, False],
        "faith": ["x", "y", "x", "z", "y", "x"],
        "seen": [1, 2, 1, 3, 1, 1],
    }
)


def hashed(table: object, **options: object) -> str:
    return data_hash(
        Population.build(table, protected="faith", weights="seen", **options)  # type: ignore[arg-type]
    )


def as_csv(frame, folder):
    frame.to_csv(folder / "a.csv", index=False)
    return read_table(folder / "a.csv")


def as_parquet(frame, folder):
    frame.to_parquet(folder / "a.parquet")
    return read_table(folder / "a.parquet")


STORED = {
    "csv": as_csv,
    "parquet": as_parquet,
    "polars": lambda frame, _: pl.from_pandas(frame),
    "arrow": lambda frame, _: pa.Table.from_pandas(frame),
    "dictionaries": lambda frame, _: pa.Table.from_pandas(frame).set_column(
        3, "town", pa.array(frame["town"], from_pandas=True).dictionary_encode()
    ),
    "lists": lambda frame, _: {
        name: [None if pd.isna(v) else v for v in column.to_list()]
        for name, column in frame.items()
    },
    "objects": lambda frame, _: frame.astype(object),
    "nullable": lambda frame, _: frame.convert_dtypes(),
    "floats": lambda frame, _: frame.assign(
        age=frame["age"].astype(float), seen=frame["seen"] * 1.0
    ),
    "small integers": lambda frame, _: frame.astype({"age": "int8", "seen": "uint16"}),
    "categories": lambda frame, _: frame.assign(
        town=pd.Categorical(frame["town"], ["東京", "unused", 'q"q', "a,b", "Malmö"]),
        faith=pd.Categorical(frame["faith"], ["z", "y", "x"]),
    ),
    "another zero": lambda frame, _: frame.assign(share=frame["share"] + 0.0),
    "columns reversed": lambda frame, _: frame[frame.columns[::-1]],
    "rows reversed": lambda frame, _: frame[::-1],
    "rows shuffled": lambda frame, _: frame.sample(frac=1, random_state=3),
    "zero weight": lambda frame, _: pd.concat([frame, frame.head(1).assign(seen=0)]),
}


@pytest.mark.parametrize("stored", STORED.values(), ids=STORED.keys())
def test_the_same_rows_have_one_hash_however_they_are_stored(stored, tmp_path):
    assert hashed(stored(PEOPLE.copy(), tmp_path)) == hashed(PEOPLE)


def test_the_hash_of_data_is_the_same_on_every_machine():
    assert hashed(PEOPLE) == "5307e52a4e42ea02d514291a7c126f38ad575b15c013448750699d4d4d952fc8"


def changed_cells():
    for name, column in PEOPLE.items():
        for row, value in enumerate(column):
            if isinstance(value, bool):
                new: object = not value
            elif isinstance(value, str):
                new = value + " "
            elif pd.isna(value):
                new = "" if column.dtype == object or name in ("town", "since") else 0.0
            else:
                new = value + 1 if isinstance(value, int) else np.nextafter(value, 2e300)
            yield name, row, new


@pytest.mark.parametrize(("name", "row", "new"), list(changed_cells()))
def test_the_hash_depends_on_every_cell(name, row, new):
    column = PEOPLE[name].to_list()
    column[row] = new
    assert hashed(PEOPLE.assign(**{name: column})) != hashed(PEOPLE)


@pytest.mark.parametrize(
    "change",
    [
        lambda frame: frame.head(5),
        lambda frame: pd.concat([frame, frame.head(1)]),
        lambda frame: pd.concat([frame.head(5), frame.head(1)]),
        lambda frame: frame.assign(faith=["y", "x", *frame["faith"][2:]]),  # the same column
        lambda frame: frame.rename(columns={"age": "rooms", "rooms": "age"}),
        lambda frame: frame.assign(member=frame["member"].astype(int)),
        lambda frame: frame.assign(age=frame["age"].astype(str)),
    ],
    ids=["fewer", "more", "another", "swapped", "renamed", "numbers", "texts"],
)
def test_the_hash_depends_on_which_rows_there_are(change):
    assert hashed(change(PEOPLE)) != hashed(PEOPLE)


def test_columns_that_nobody_reads_play_no_part():
    assert hashed(PEOPLE, variables=["age"]) == hashed(PEOPLE.assign(rooms=9), variables=["age"])


def test_without_weights_each_row_counts_once():
    ones = data_hash(Population.build(PEOPLE.assign(seen=1), protected="faith", weights="seen"))
    assert ones == data_hash(Population.build(PEOPLE.assign(seen=1), protected="faith"))


ROWS = st.lists(
    st.tuples(st.sampled_from([0.0, 1.0, 2.5, None]), st.sampled_from("ab")), min_size=1
)


@given(ROWS, st.randoms())
def test_only_the_collection_of_rows_matters(rows, random):
    def of(rows):
        x, z = zip(*rows, strict=True)
        return data_hash(Population.build({"x": list(x), "z": list(z)}, protected="z"))

    shuffled = random.sample(rows, len(rows))
    assert of(shuffled) == of(rows)
    assert of([*rows, rows[0]]) != of(rows)


def test_rows_made_to_share_their_place_in_the_order_are_told_apart():
    odd = 0x9E3779B97F4A7C15

    def step(state: int, value: float) -> int:
        state = (state ^ int(np.float64(value).view(np.uint64))) * odd % 2**64
        return state ^ (state >> 32)

    start = step(0, 1.0)  # the weight
    one, other = step(start, 3.0), step(start, 5.0)
    y = 0.25
    bits = int(np.float64(y).view(np.uint64)) ^ one ^ other
    forged = float(np.uint64(bits).view(np.float64))  # brings the second row to the same number
    assert step(one, y) == step(other, forged)
    rows = [(3.0, y), (5.0, forged), (3.0, y)]
    orders = [[0, 1, 2], [1, 0, 2], [0, 2, 1], [2, 1, 0]]

    def of(order):
        x, y = zip(*(rows[i] for i in order), strict=True)
        return data_hash(Population.build({"x": x, "y": y}, protected={"z": [1] * len(order)}))

    assert len({of(order) for order in orders}) == 1
    assert of([0, 1, 1]) != of([0, 1, 2])


# The hash of a program


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("ite(b * 2 + a <= 3 and a == 1, 0, 1)", True),
        ("ite(a == 1 and a + 2 * b <= 3, 0, 1)", True),
        ("ite(3 >= a + b * 2 and a == 1, 0, 1)", False),
        ("ite(a + b * 2 <= 3 and a == 1, 0, 2)", False),
        ("ite(a + b * 2 <= 3 and a == true, 0, 1)", False),
        ("lambda a, b, c . ite(a + b * 2 <= 3 and a == 1, 0, 1)", False),
        ("float32: ite(a + b * 2 <= 3 and a == 1, 0, 1)", False),
    ],
)
def test_the_hash_of_a_program_ignores_the_order_of_operands_only(text, same):
    first = pu.Program.parse("lambda a, b . ite(a + b * 2 <= 3 and a == 1, 0, 1)")
    other = pu.Program.parse(text)
    if other.inputs == ("b", "a"):
        other = pu.Program(other.term, ("a", "b"))
    assert (program_hash(first) == program_hash(other)) is same
