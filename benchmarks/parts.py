"""Ratios that no model in the table shows: repair, permutation tests, the start of a process.

``python -m benchmarks.parts`` prints them all, ``python -m benchmarks.parts repair`` one.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from benchmarks.child import limit_process

HERE = "--here"


@dataclass(frozen=True, slots=True)
class Part:
    """A ratio, the function that measures it, its limit and goal, and its time limit."""

    what: str
    function: str
    limit: float
    goal: float
    seconds: float = 120


PARTS = {
    "repair": Part(
        "repair of 100 trees of depth 8, 30,000 rows, 5 violations : one audit",
        "benchmarks.repairs:forest", 20, 10, 480,
    ),
    "westfall-young": Part(
        "1,000 permutations for a tree of 500 leaves : one audit",
        "benchmarks.permutations:westfall_young", 100, 30,
    ),
    "holm": Part(
        "the same, one table at a time : one audit", "benchmarks.permutations:holm", 100, 20
    ),
    "import": Part("import proxyuse : import numpy", "benchmarks.start:package", 3, 3),
    "help": Part("proxyuse --help : import numpy", "benchmarks.start:command_line", 3, 3),
}  # fmt: skip


def measured(name: str) -> str:
    """Measure one part in a process of its own; a line of text."""
    part = PARTS[name]
    command = [sys.executable, "-m", "benchmarks.parts", HERE, name]
    try:
        done = subprocess.run(
            command,
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            timeout=part.seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"{name:15} over {part.seconds:g} s  {part.what}"
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        return f"{name:15} failed: {done.stderr.strip().splitlines()[-1:]}"
    result = json.loads(lines[-1])
    return (
        f"{name:15} {result['value']:7.1f} (first call {result['first']:.1f}; "
        f"limit {part.limit:g}, goal {part.goal:g})  {part.what}"
    )


def main() -> None:
    """Measure all parts, or those that are named."""
    words = sys.argv[1:]
    if words[:1] == [HERE]:
        limit_process()
        module, function = PARTS[words[1]].function.split(":")
        getattr(import_module(module), function)()
        return
    unknown = [word for word in words if word not in PARTS]
    if unknown:
        raise SystemExit(f"there is no part {unknown[0]!r}; parts: {', '.join(PARTS)}")
    for name in words or PARTS:
        print(measured(name), flush=True)


if __name__ == "__main__":
    main()
