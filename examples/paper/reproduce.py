"""Repeat the experiments of the paper and write a page for each.

Run ``python -m examples.paper.reproduce`` from the root of the repository, or ``make reproduce``.
All experiments together take a few minutes. They need the extra ``paper``.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from examples.paper.experiment import (
    COMMAND,
    EXPERIMENTS,
    NEEDS_PSID,
    Experiment,
    Reproduced,
    check_name,
    load,
    make_folder,
    title_of,
    write_contents,
)
from proxyuse.datasets import load_psid
from proxyuse.errors import FileError, ProxyUseError

USAGE_ERROR = 2
NO_PSID = (
    "its license does not allow redistributing the data: register with the Panel Study of Income "
    "Dynamics, save an extract and pass it with --psid FILE (see proxyuse.datasets.load_psid for "
    "its columns)"
)


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """One experiment: its result and files, or why it was skipped or failed."""

    experiment: Experiment
    result: Reproduced | None = None
    files: tuple[Path, ...] = ()
    seconds: float = 0.0
    skipped: str = ""
    failed: str = ""


def run(names: Sequence[str], out: Path, psid: Path | None = None) -> Iterator[Outcome]:
    """Run experiments one after the other and write their pages.

    A failing experiment does not stop the others.

    Parameters
    ----------
    names : the experiments; all if empty.
    out : the folder for the pages.
    psid : an extract of the Panel Study of Income Dynamics, needed by ``credit``.
    """
    chosen = [load(name) for name in dict.fromkeys(names or EXPERIMENTS)]
    if NEEDS_PSID in names and psid is None:
        raise FileError(f"{NEEDS_PSID}: {NO_PSID}")
    if psid is not None and any(experiment.name == NEEDS_PSID for experiment in chosen):
        load_psid(psid)  # fail before the work, not minutes into it
    make_folder(out, [experiment.name for experiment in chosen])
    for experiment in chosen:
        yield _outcome(experiment, out, psid)
        write_contents(out)


def _outcome(experiment: Experiment, out: Path, psid: Path | None) -> Outcome:
    needs_psid = experiment.name == NEEDS_PSID
    if needs_psid and psid is None:
        return Outcome(experiment, skipped=NO_PSID)
    options = {"psid": psid} if needs_psid else {}
    start = time.perf_counter()
    try:
        result = experiment.reproduce(**options)
        files = experiment.write(result, out)
    except ProxyUseError as error:
        return Outcome(experiment, failed=str(error))
    return Outcome(experiment, result, tuple(files), time.perf_counter() - start)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code: 0, or 2 if an experiment failed."""
    parser = argparse.ArgumentParser(COMMAND, description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("experiments", nargs="*", metavar="EXPERIMENT", help="default: all")
    parser.add_argument(
        "--out", type=Path, default=Path("paper"), metavar="FOLDER", help="default: paper"
    )
    parser.add_argument(
        "--psid",
        type=Path,
        metavar="FILE",
        help="extract of the Panel Study of Income Dynamics, needed by 'credit'",
    )
    parser.add_argument("--list", action="store_true", help="list the experiments and exit")
    options = parser.parse_args(arguments)
    failed = False
    try:
        for name in options.experiments:
            check_name(name)
        if options.list:
            for name in options.experiments or EXPERIMENTS:
                print(f"{name:14} {title_of(name)}")
            return 0
        for outcome in run(options.experiments, options.out, options.psid):
            print(_text(outcome), flush=True)
            failed |= bool(outcome.failed)
    except ProxyUseError as error:
        print(f"reproduce: {error}", file=sys.stderr)
        return USAGE_ERROR
    print(f"Contents: {options.out / 'README.md'}")
    return USAGE_ERROR if failed else 0


def _text(outcome: Outcome) -> str:
    if outcome.result is None:
        reason = f"skipped: {outcome.skipped}" if outcome.skipped else f"failed: {outcome.failed}"
        return f"{outcome.experiment.title}\n    {reason}\n"
    names = ", ".join(str(file) for file in outcome.files)
    text = outcome.experiment.text(outcome.result)
    return f"{text}\n    {outcome.seconds:.1f} s; written: {names}\n"


if __name__ == "__main__":
    sys.exit(main())
