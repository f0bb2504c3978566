"""Read many damaged and crafted files, and report what the product does not handle.

    python -m scripts.fuzz                       100,000 inputs, numbers 0 to 99,999
    python -m scripts.fuzz --start 500 --count 200 --only skops
    python -m scripts.fuzz --input 4711          one input again, with its traceback

An input is determined by its number (and the versions of the libraries that made its seed). The
exit code is 1 if there is a defect; each is minimized and stored in `build/fuzz`.
"""

from __future__ import annotations

import argparse
import signal
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from scripts.fuzz.formats import FORMATS, Format, Input, input_of
from scripts.fuzz.sandbox import Outcome, Sandbox

STORE = Path("build/fuzz")
SHOWN = 3


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the inputs and print the results by format; return whether there was a defect."""
    parser = argparse.ArgumentParser("fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--start", type=int, default=0)
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--only", nargs="*", choices=[each.name for each in FORMATS])
    parser.add_argument("--input", type=int)
    options = parser.parse_args(arguments)
    formats = tuple(each for each in FORMATS if not options.only or each.name in options.only)
    sandbox = Sandbox()
    try:
        if options.input is not None:
            return _again(sandbox, input_of(options.input, formats))
        sandbox.warm(unchanged(formats))
        numbers = range(options.start, options.start + options.count)
        return run(sandbox, [input_of(number, formats) for number in numbers])
    finally:
        sandbox.close()


def unchanged(formats: Sequence[Format] = FORMATS) -> list[Input]:
    """Every seed of some formats, as it is."""
    return [
        Input(-1 - index, form, name, ())
        for form in formats
        for index, name in enumerate(form.seeds())
    ]


def run(sandbox: Sandbox, inputs: Sequence[Input]) -> int:
    """Run inputs, print a table of the outcomes, and store the defects."""
    by_number = {each.number: each for each in inputs}
    table: dict[str, Counter[str]] = defaultdict(Counter)
    defects: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    slowest: list[tuple[float, int, str]] = []
    start = shown = time.monotonic()
    done = 0
    for outcome in _until_interrupted(sandbox.run(inputs)):
        done += 1
        form = by_number[outcome.number].format.name
        table[form][outcome.kind] += 1
        slowest = sorted([*slowest, (outcome.seconds, outcome.number, form)])[-5:]
        if outcome.is_defect:
            defects[outcome.kind, outcome.what].append(outcome)
            if len(defects[outcome.kind, outcome.what]) == 1:
                print(f"{outcome.number} {form}: {outcome.kind}: {outcome.what}", flush=True)
        if time.monotonic() - shown > 60:
            shown = time.monotonic()
            print(f"{done:,} inputs, {done / (shown - start):.1f} per second", flush=True)
    seconds = time.monotonic() - start
    _print_table(table)
    print("slowest: " + ", ".join(f"{n} ({form}) {s:.1f} s" for s, n, form in reversed(slowest)))
    total = sum(len(found) for found in defects.values())
    print(
        f"{done:,} inputs in {seconds:,.0f} s ({done / seconds:.1f} per second): "
        f"{total} defects of {len(defects)} kinds"
    )
    for (kind, what), found in defects.items():
        smallest = _minimized(sandbox, by_number[found[0].number], kind, what)
        path = _store(smallest, found[0])
        numbers = ", ".join(str(each.number) for each in found[:SHOWN])
        print(f"{len(found):5} {kind}: {what}\n      inputs {numbers}; {path}")
    return int(bool(defects))


def _until_interrupted(outcomes: Iterator[Outcome]) -> Iterator[Outcome]:
    """The outcomes until Ctrl-C, so that a run that is stopped still reports what it did."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield from outcomes
    except KeyboardInterrupt:
        print("interrupted")


def _print_table(table: dict[str, Counter[str]]) -> None:
    kinds = sorted({kind for counts in table.values() for kind in counts})
    print(f"{'format':14}" + "".join(f"{kind:>12}" for kind in ("inputs", *kinds)))
    rows = {**dict(sorted(table.items())), "total": sum(table.values(), Counter())}
    for form, counts in rows.items():
        numbers = (sum(counts.values()), *(counts[kind] for kind in kinds))
        print(f"{form:14}" + "".join(f"{number:12,}" for number in numbers))


def _minimized(sandbox: Sandbox, found: Input, kind: str, what: str) -> Input:
    """The input with as few changes as still cause the defect."""
    for change in reversed(found.changes):
        fewer = tuple(each for each in found.changes if each != change)
        if fewer:
            smaller = replace(found, changes=fewer)
            (outcome,) = sandbox.run([smaller])
            if (outcome.kind, outcome.what) == (kind, what):
                found = smaller
    return found


def _store(smallest: Input, outcome: Outcome) -> Path:
    """Write the file of a defect and its traceback."""
    STORE.mkdir(parents=True, exist_ok=True)
    path = STORE / f"{outcome.kind}-{smallest.name}"
    path.write_bytes(smallest.data())
    note = f"input {smallest.number}, seed {smallest.seed}, changes {smallest.changes}"
    path.with_suffix(".log").write_text(f"{note}\n{outcome.what}\n\n{outcome.detail}\n")
    return path


def _again(sandbox: Sandbox, each: Input) -> int:
    """Run one input and print everything about it."""
    print(f"{each.format.name}, seed {each.seed}, {len(each.changes)} changes")
    (outcome,) = sandbox.run([each])
    print(f"{outcome.kind}: {outcome.what}\n{outcome.detail}")
    if outcome.is_defect:
        print(_store(_minimized(sandbox, each, outcome.kind, outcome.what), outcome))
    return int(outcome.is_defect)
