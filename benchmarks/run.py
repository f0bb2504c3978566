"""Measure all entries, or some, and print one table.

Each entry has a process of its own, so that none inherits memory or compiled code from another
and one that takes too long can be ended.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from textwrap import shorten
from typing import Any

from benchmarks.entries import ENTRIES, Entry

HEADER = ("entry", "found", "limit", "goal", "", "first call", "base", "what", "remark")


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an entry.

    Attributes
    ----------
    facts : what its process told.
    over_time : at what time it was ended, if it was.
    failure : the last line of its error, if it failed.
    """

    entry: Entry
    facts: dict[str, Any]
    over_time: float | None = None
    failure: str = ""

    @property
    def value(self) -> float | None:
        """The figure, or what it passes at least."""
        if "value" in self.facts:
            return float(self.facts["value"])
        if self.over_time is not None and "begun" in self.facts:
            spent = self.over_time - self.facts["begun"]
            return float(spent / self.facts["base"])
        return None

    @property
    def verdict(self) -> str:
        """One word or two on how the figure lies to its limit."""
        if self.failure:
            return "failed"
        if self.over_time is not None:
            return "over time"
        if "absent" in self.facts:
            return "not there yet"
        limit, value = self.entry.limit, self.value
        if limit is None or value is None:
            return ""
        return "ok" if (value >= limit if self.entry.at_least else value <= limit) else "over"

    def cells(self) -> tuple[str, ...]:
        """The row of the table."""
        entry, facts = self.entry, self.facts
        found = _number(self.value, entry.unit)
        if self.over_time is not None and found:
            found = f"> {found}"
        sign = ">= " if entry.at_least else ""
        limit, goal = (
            sign + _number(x, entry.unit) if x else "" for x in (entry.limit, entry.goal)
        )
        base = f"{1000 * facts['base']:,.1f} ms" if "base" in facts else ""
        remark = self.failure or facts.get("absent") or facts.get("remark", "")
        if self.over_time is not None:
            remark = f"ended after {entry.seconds:.0f} s"
        first = _number(facts.get("first"), entry.unit)
        remark = shorten(str(remark), 80)
        return entry.name, found, limit, goal, self.verdict, first, base, entry.what, remark


def _number(value: float | None, unit: str) -> str:
    if value is None:
        return ""
    digits = 0 if value >= 100 or value == int(value) else 1 if value >= 10 else 2
    return f"{value:,.{digits}f} {unit}"


def measured(entry: Entry) -> Outcome:
    """Measure an entry in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.measure", entry.name]
    root = Path(__file__).parents[1]
    try:
        done = subprocess.run(
            command, cwd=root, capture_output=True, timeout=entry.seconds, check=False
        )
    except subprocess.TimeoutExpired as ended:
        return Outcome(entry, _facts(ended.stdout or b""), over_time=time.time())
    failure = ""
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        failure = lines[-1] if lines else f"ended with {done.returncode}"
    return Outcome(entry, _facts(done.stdout), failure=failure)


def _facts(output: bytes) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for line in output.decode(errors="replace").splitlines():
        if line.startswith("{") and line.endswith("}"):
            facts |= json.loads(line)
    return facts


def plain(rows: list[tuple[str, ...]]) -> str:
    """A table for people to read; figures stand at the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = {1, 2, 3, 5, 6}
    lines = []
    for row in rows:
        cells = [
            cell.rjust(width) if i in right else cell.ljust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def markdown(rows: list[tuple[str, ...]]) -> str:
    """The same as Markdown."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def main() -> None:
    """Measure and print."""
    names = [entry.name for entry in ENTRIES]
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", choices=names, help=", ".join(names))
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown")
    arguments = parser.parse_args()
    chosen = [entry for entry in ENTRIES if entry.name in (arguments.only or names)]
    rows: list[tuple[str, ...]] = [HEADER]
    for number, entry in enumerate(chosen, 1):
        print(f"{number}/{len(chosen)} {entry.name} ...", file=sys.stderr, flush=True)
        rows.append(measured(entry).cells())
    print((markdown if arguments.markdown else plain)(rows))


if __name__ == "__main__":
    main()
