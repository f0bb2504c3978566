"""Measure audits of deployed models, and print one table or write it into a page.

Each step runs in a process of its own with a time limit, so that a slow model cannot hang the run.
Results are kept in ``build/bench.json``: a run of some entries updates these, and the table has all
that were measured.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks import table
from benchmarks.entries import ENTRIES, Base, Entry, chosen
from benchmarks.outcome import HEADER, Outcome

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "build" / "bench.json"
Facts = dict[str, dict[str, Any]]


class Runner:
    """Runs the steps of entries in child processes.

    Parameters
    ----------
    folder : where models and compiled loops are kept for the time of the run.
    seconds : a time limit for each step, instead of the entries' own.
    others : whether other tools are measured, too.
    """

    def __init__(self, folder: Path, seconds: float | None, others: bool) -> None:
        self._folder = folder
        self._seconds = seconds
        self._others = others
        self._prepared: dict[str, str] = {}

    def measured(self, entry: Entry) -> Facts:
        """Every step of an entry."""
        problem = self._prepare(entry)
        if problem:
            return {"prepare": {"problem": problem}}
        facts: Facts = {}
        for step, name in self._steps(entry):
            if name in facts:
                continue
            words = step.split("-")
            facts[name] = self._step(entry, *words)
            if "problem" not in facts[name]:
                continue
            if entry.base is Base.GROWTH:
                break  # more rows take longer
            if name == "cold" and "first" not in facts[name]:
                facts["warm"] = facts[name]  # the next process would take as long
        return facts

    def _steps(self, entry: Entry) -> Iterable[tuple[str, str]]:
        """The steps of an entry, and the names of their facts."""
        if entry.base is Base.GROWTH:
            return [(f"rows-{number}", f"rows-{number}") for number in entry.rows]
        if entry.base is Base.PLAIN:
            return [("variant", "variant")]
        self._forget_compiled()
        others = [("shap", "shap"), ("permutation", "permutation")] if self._others else []
        return [("audit", "cold"), ("audit", "warm"), *others]

    def _prepare(self, entry: Entry) -> str:
        """Fit the model, once for all entries that use it; why that failed, if it did."""
        if entry.case not in self._prepared:
            self._prepared[entry.case] = self._step(entry, "prepare").get("problem", "")
        return self._prepared[entry.case]

    @property
    def _compiled(self) -> Path:
        return self._folder / "numba"

    def _forget_compiled(self) -> None:
        shutil.rmtree(self._compiled, ignore_errors=True)

    def _step(self, entry: Entry, step: str, *more: str) -> dict[str, Any]:
        """Run one step; what it printed, and why it did not finish, if it did not."""
        self._compiled.mkdir(exist_ok=True)
        limit = self._seconds or entry.seconds
        try:
            done = subprocess.run(
                [sys.executable, "-m", "benchmarks.child", step, str(self._folder), entry.name,
                 *more],
                cwd=ROOT,
                env={**os.environ, "NUMBA_CACHE_DIR": str(self._compiled)},
                capture_output=True,
                timeout=limit,
                check=False,
            )  # fmt: skip
        except subprocess.TimeoutExpired as ended:
            return {**_facts(ended.stdout or b""), "problem": f"over {limit:g} s"}
        facts = _facts(done.stdout)
        if done.returncode:
            lines = done.stderr.decode(errors="replace").strip().splitlines()
            facts["problem"] = _reason(lines[-1] if lines else "", done.returncode)
            print("\n".join(lines[-5:]), file=sys.stderr)
        return facts


def _reason(line: str, code: int) -> str:
    if "MemoryError" in line or "bad_alloc" in line:
        return "out of memory"
    return f"failed: {line.partition(':')[0] or f'exit code {code}'}"


def _facts(output: bytes) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    for line in output.decode(errors="replace").splitlines():
        if line.startswith("{") and line.endswith("}"):
            facts |= json.loads(line)
    return facts


def rows_of(results: dict[str, Facts]) -> list[tuple[str, ...]]:
    """The table of all entries that were measured."""
    known = [entry for entry in ENTRIES if entry.name in results]
    return [HEADER, *(Outcome(entry, results[entry.name]).cells() for entry in known)]


def page_text(results: dict[str, Facts]) -> str:
    """What stands on the page: the machine, the day, the table."""
    today = datetime.now(UTC).date().isoformat()
    where = f"One core of {_processor()}, Python {platform.python_version()}, {today}."
    return f"{where}\n\n{table.markdown(rows_of(results))}"


def _processor() -> str:
    """The name of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def main() -> None:
    """Measure, keep the results, print or write them."""
    names = ", ".join(entry.name for entry in ENTRIES)
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    parser.add_argument("--only", nargs="+", metavar="NAME", default=[], help=names)
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into a page")
    parser.add_argument("--seconds", type=float, help="the time limit of each step")
    parser.add_argument("--no-others", action="store_true", help="measure no other tools")
    parser.add_argument("--no-run", action="store_true", help="use the results that were kept")
    options = parser.parse_args()
    entries = chosen(options.only)
    if not entries:
        parser.error(f"no entry is called {' or '.join(options.only)}; entries: {names}")
    results: dict[str, Facts] = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if not options.no_run:
        with tempfile.TemporaryDirectory() as folder:
            runner = Runner(Path(folder), options.seconds, not options.no_others)
            for number, entry in enumerate(entries, 1):
                print(f"{number}/{len(entries)} {entry.name} ...", file=sys.stderr, flush=True)
                results[entry.name] = runner.measured(entry)
                RESULTS.parent.mkdir(exist_ok=True)
                RESULTS.write_text(json.dumps(results, indent=1))
    print(table.plain(rows_of(results)))
    if options.write is not None:
        table.write(options.write, page_text(results))


if __name__ == "__main__":
    main()
