"""Arguments of the command line from declared options, and back.

Every declared option has the destination ``table.key``, so that `values_in` finds it again.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from proxyuse.errors import DataError
from proxyuse.measure.association.names import ASSOCIATIONS, check_association_name
from proxyuse.methods import METHODS
from proxyuse.options import Option, options_of
from proxyuse.project_settings import methods_with
from proxyuse.settings import INFLUENCES, check_influence_name, frontier_values
from proxyuse.words import listed

OPTIONS, VALIDITY, OUTPUT = "options", "validity", "output"
"""The tables: the top level of a project file, and the tables in it."""
_FLAGS = {f"{VALIDITY}.methods": "--validity", f"{OUTPUT}.json": "--output"}


def add_options(group: argparse._ActionsContainer, table: str, options: Iterable[Option]) -> None:
    """Add an argument for each option."""
    for option in options:
        destination = f"{table}.{option.key}"
        arguments: dict[str, Any] = {
            "dest": destination,
            "default": argparse.SUPPRESS,
            "help": f"{_help(option)}{_for_methods(table, option)}".replace("%", "%%"),
        }
        flag = _FLAGS.get(destination, option.flag)
        if option.kind is bool:
            flag = flag.replace("--", "--no-", 1) if option.default else flag
            arguments |= {"action": "store_const", "const": not option.default}
        else:
            arguments |= {"type": _reader(option), "metavar": _metavar(option)}
        if option.names is not None or option.items is not None:
            arguments["action"] = "append"
        group.add_argument(flag, **arguments)


def add_expectation(group: argparse._ActionsContainer, option: Option, text: str) -> None:
    """Add an argument that states a value that a certificate must have; any by default."""
    action = {"action": "append"} if option.names is not None else {}
    group.add_argument(
        option.flag,
        dest=f"expected_{option.name}",
        type=_reader(option),
        metavar=_metavar(option),
        help=text.replace("%", "%%"),
        **action,  # type: ignore[arg-type]
    )


def values_in(arguments: argparse.Namespace, table: str) -> dict[str, Any]:
    """Return the values of a table that the command line sets, by key; "none" sets None."""
    prefix = f"{table}."
    return {
        name.removeprefix(prefix): value
        for name, value in vars(arguments).items()
        if name.startswith(prefix)
    }


def refuse_repeated(flag: str, names: Iterable[str]) -> None:
    """Raise an error for a name that occurs twice."""
    names = list(names)
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{flag}: {name!r} occurs twice; pass it once")


def _help(option: Option) -> str:
    repeated = " Can be repeated." if option.names is not None else ""
    if option.kind is bool:
        return option.off if option.default else option.help
    default = option.default
    if option.items is not None:
        keys = [item.key for item in options_of(option.items)]
        repeated = f" Keys: {', '.join(keys)}. Can be repeated."
    if default is None or option.items is not None:
        return f"{option.help}{repeated}"
    return f"{option.help} Default: {default}."


def _for_methods(table: str, option: Option) -> str:
    """Which methods an option belongs to, if not to all of them."""
    names = methods_with(option.key)
    if table != VALIDITY or len(names) == len(METHODS):
        return ""
    return f" Only for {listed(names)}."


def _metavar(option: Option) -> str:
    named = {"association": ASSOCIATIONS, "influence": INFLUENCES}
    choices = option.names or named.get(option.key, option.choices)
    if choices:
        return f"{{{','.join(choices)}}}"
    if option.items is not None:
        return "KEY=VALUE,..."
    words = {
        "where": "CONDITION",
        "time_limit": "SECONDS",
        "judgments_head": "HASH",
        "frontier": "THRESHOLD",
    }
    kinds = {int: "N", float: "X", Path: "FILE"}
    return words.get(option.key) or kinds.get(option.kind, "COLUMN")


def _reader(option: Option) -> Callable[[str], Any]:
    """Return a function that reads the value of an option, for `argparse`."""

    def read(text: str) -> Any:
        try:
            if option.key == "association":
                check_association_name(text)
            if option.key == "influence":
                check_influence_name(text)
            if option.key == "frontier":
                frontier_values(text)
            if option.names is not None:
                return option.from_plain(text)[0]
            return option.from_text(text)
        except DataError as error:
            raise argparse.ArgumentTypeError(str(error).removeprefix(f"{option.name}: ")) from None

    return read
