"""``proxyuse datasets``: the bundled data, listed or written as CSV."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from proxyuse import datasets
from proxyuse.cli.printing import print_json, print_text
from proxyuse.errors import FileError
from proxyuse.io.writing import check_writable, written


@dataclass(frozen=True, slots=True)
class Bundled:
    """A data set that comes with the package."""

    name: str
    rows: int
    target: str
    about: str


BUNDLED = (
    Bundled("adult", 48_842, "income", "census records of 1994; who earns above 50,000 dollars"),
    Bundled("contraceptive", 1_473, "method", "a survey of 1987; which contraceptive is used"),
    Bundled("student", 649, "G3", "two schools of 2008; final grades in Portuguese"),
)

LOADERS: dict[str, Callable[[], Any]] = {
    "adult": datasets.load_adult,
    "contraceptive": datasets.load_contraceptive,
    "student": lambda: datasets.load_student("por"),
}


def run(given: argparse.Namespace) -> int:
    """List, or write one."""
    if given.name is None:
        if given.json:
            print_json([asdict(item) for item in BUNDLED])
        else:
            print_text("\n".join(_line(item) for item in BUNDLED))
            print_text("\nproxyuse datasets NAME --output FILE.csv writes one.")
        return 0
    names = [item.name for item in BUNDLED]
    if given.name not in names:
        raise FileError(f"there is no data set {given.name!r}; there are {', '.join(names)}")
    if given.output is None:
        raise FileError(f"say where to: proxyuse datasets {given.name} --output {given.name}.csv")
    check_writable(given.output)
    frame = LOADERS[given.name]()
    written(given.output, frame.to_csv(index=False))
    told = {"name": given.name, "file": str(given.output), "rows": len(frame)}
    if given.json:
        print_json(told)
    else:
        print_text(f"{len(frame):,} rows of {given.name} are in {given.output}")
    return 0


def _line(item: Bundled) -> str:
    return f"{item.name:14} {item.rows:>7,} rows  target {item.target:7}  {item.about}"
