"""Options that ask whether witnesses are real, and what is made of them."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from typing import Any

from proxyuse.errors import FileError
from proxyuse.validity.named_options import Wanted, ways_of
from proxyuse.validity.options import CORRECTIONS, METHODS

DEST = "validity_"


def add_validity(command: argparse.ArgumentParser) -> None:
    """Options that say how it is asked whether witnesses are real."""
    validity = command.add_argument_group("whether a witness is real, or noise")

    def option(name: str, **how: Any) -> None:
        validity.add_argument(f"--{name}", dest=f"{DEST}{name.replace('-', '_')}", **how)

    validity.add_argument(
        "--validity",
        action="append",
        choices=tuple(METHODS),
        dest=f"{DEST}ways",
        help="confidence bounds (confirm), permutations of the protected attribute, or splits of "
        "the rows; may be given several times",
    )
    option(
        "alpha",
        type=float,
        metavar="A",
        help="the chance of any false confirmation is at most A (default 0.05)",
    )
    option(
        "weights-are",
        choices=("sampling", "counts"),
        help="weights say how many such records the population has (sampling, default), or how "
        "many equal records a row stands for",
    )
    option("permutations", type=int, metavar="N", help="number of permutations (default 1000)")
    option(
        "correction",
        choices=CORRECTIONS,
        help="of p-values for the number of tests (default westfall-young)",
    )
    option(
        "exact-p-values",
        action="store_true",
        default=None,
        help="of all permutations where both sides have two values (not with westfall-young)",
    )
    option("splits", type=int, metavar="N", help="number of random splits (default 10)")
    option(
        "at-least",
        type=int,
        metavar="T",
        help="a witness must be found again in T splits (default all)",
    )
    option(
        "validation-share",
        type=float,
        metavar="S",
        help="the share of the rows that is kept to find it again (default 0.5)",
    )
    option(
        "seed",
        type=int,
        metavar="N",
        help="of permutations, splits and resampled tables (default 0)",
    )
    option(
        "confirmed-only",
        action="store_true",
        default=None,
        help="only confirmed violations count for the exit code",
    )


def wanted(given: argparse.Namespace, project: Wanted) -> Wanted:
    """How it is asked whether witnesses are real; `repair` does not ask."""
    if not hasattr(given, f"{DEST}ways"):
        return Wanted()
    said = Wanted(**{item.name: getattr(given, f"{DEST}{item.name}") for item in fields(Wanted)})
    if said.ways is not None:
        said = replace(said, ways=tuple(said.ways))
    asked = said.over(project)
    stray = replace(said, ways=asked.ways, confirmed_only=asked.confirmed_only).stray()
    if stray:
        option = f"--{stray[0].replace('_', '-')}"
        ways = [f"--validity {way}" for way in ways_of(stray[0])]
        add = "that" if len(ways) == 1 else "one of these"
        raise FileError(
            f"{option} is an option of {' or '.join(ways)}; add {add} or leave {option} out"
        )
    asked.methods()  # refuses what does not fit before files are read
    return asked
