"""``proxyuse datasets``: list the bundled datasets, or write one as CSV."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from proxyuse import datasets
from proxyuse.cli.printing import print_json, print_text
from proxyuse.errors import FileError
from proxyuse.io.writing import check_writable, written

Rows = Annotated[int, Meta(ge=1, description="The number of rows.")]


class Bundled(Struct, frozen=True):
    """A dataset in the package."""

    name: str
    rows: Rows
    target: Annotated[str, Meta(description="The column that models usually predict.")]
    about: str


class Written(Struct, frozen=True):
    """A dataset that was written to a file."""

    name: str
    file: str
    rows: Rows


BUNDLED = (
    Bundled("adult", 48_842, "income", "1994 census records; income above $50,000"),
    Bundled("contraceptive", 1_473, "method", "1987 survey; contraceptive method"),
    Bundled("student", 649, "G3", "two schools, 2008; final grades in Portuguese"),
)

LOADERS: dict[str, Callable[[], Any]] = {
    "adult": datasets.load_adult,
    "contraceptive": datasets.load_contraceptive,
    "student": lambda: datasets.load_student("por"),
}


def run(options: argparse.Namespace) -> int:
    """List the datasets, or write one."""
    if options.name is None:
        if options.json:
            print_json(msgspec.to_builtins(BUNDLED))
        else:
            print_text("\n".join(_line(item) for item in BUNDLED))
            print_text("\nTo write one: proxyuse datasets NAME --output FILE.csv")
        return 0
    names = [item.name for item in BUNDLED]
    if options.name not in names:
        raise FileError(f"no dataset {options.name!r}; available: {', '.join(names)}")
    if options.output is None:
        raise FileError(
            f"missing --output; try: proxyuse datasets {options.name} --output {options.name}.csv"
        )
    check_writable(options.output)
    frame = LOADERS[options.name]()
    written(options.output, frame.to_csv(index=False))
    if options.json:
        summary = Written(options.name, str(options.output), len(frame))
        print_json(msgspec.to_builtins(summary))
    else:
        print_text(f"Wrote {len(frame):,} rows of {options.name} to {options.output}.")
    return 0


def _line(item: Bundled) -> str:
    return f"{item.name:14} {item.rows:>7,} rows  target {item.target:7}  {item.about}"


def schema() -> dict[str, Any]:
    """Return the JSON Schema of ``proxyuse datasets --json``, generated from its types."""
    choices, definitions = msgspec.json.schema_components(
        (tuple[Bundled, ...], Written), ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "proxyuse datasets --json",
        "oneOf": list(choices),
        "$defs": definitions,
    }
