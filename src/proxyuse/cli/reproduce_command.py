"""``proxyuse reproduce``: the experiments of the paper, done again."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import Any

from proxyuse.cli.printing import print_json, print_text
from proxyuse.cli.progress import bar
from proxyuse.datasets import load_psid
from proxyuse.errors import FileError, ProxyUseError
from proxyuse.reproduction import (
    EXPERIMENTS,
    NEEDS_PSID,
    Experiment,
    Reproduced,
    load,
    make_folder,
    timed,
    title_of,
    write_contents,
)

WRONG_USE = 2
NO_PSID = (
    "the study's data may not be passed on, so none comes with this package: register with the "
    "Panel Study of Income Dynamics, save an extract and name it with --psid FILE (its columns: "
    "proxyuse.datasets.load_psid)"
)


def run(given: argparse.Namespace) -> int:
    """List the experiments, or do some or all of them."""
    names = list(dict.fromkeys(given.experiments)) or list(EXPERIMENTS)
    if given.list:
        _list({name: title_of(name) for name in names}, given.json)
        return 0
    chosen = [load(name) for name in names]
    if NEEDS_PSID in given.experiments and given.psid is None:
        raise FileError(f"{NEEDS_PSID}: {NO_PSID}")
    if NEEDS_PSID in names and given.psid is not None:
        load_psid(given.psid)  # a wrong one is told now, not after minutes
    make_folder(given.out, names)
    told, failed = [], False
    for experiment in chosen:
        if experiment.name == NEEDS_PSID and given.psid is None:
            told.append(_left_out(experiment, NO_PSID, given.json))
            continue
        try:
            told.append(_done(experiment, given))
        except ProxyUseError as error:  # the others are done all the same
            failed = True
            told.append(_left_out(experiment, str(error), given.json))
        write_contents(given.out)
    if given.json:
        print_json(told)
    else:
        print_text(f"All of it to read: {given.out / 'README.md'}")
    return WRONG_USE if failed else 0


def _left_out(experiment: Experiment, why: str, as_json: bool) -> dict[str, Any]:
    if not as_json:
        print_text(f"{experiment.title}\n    left out: {why}\n")
    return {"name": experiment.name, "title": experiment.title, "left_out": why}


def _done(experiment: Experiment, given: argparse.Namespace) -> dict[str, Any]:
    """Do one, write it, print it."""
    options = {"psid": given.psid} if experiment.name == NEEDS_PSID else {}
    with bar(given.json) as progress:
        progress.stage(experiment.title)
        result, seconds = timed(experiment.reproduce, **options)
        files = experiment.write(result, given.out)
    if not given.json:
        names = ", ".join(file.name for file in files)
        print_text(f"{experiment.text(result)}\n    {seconds:.1f} s; {given.out}: {names}\n")
    return _content(experiment, result, seconds, files)


def _content(
    experiment: Experiment, result: Reproduced, seconds: float, files: list[Path]
) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "seconds": round(seconds, 3),
        "compared": [
            {"what": line.what, "stated": line.stated, "here": line.measured, "same": line.same}
            for line in result.compared
        ],
        "tables": [asdict(table) for table in result.tables],
        "remarks": list(result.remarks),
        "files": [str(file) for file in files],
    }


def _list(titles: dict[str, str], as_json: bool) -> None:
    if as_json:
        print_json([{"name": name, "title": title} for name, title in titles.items()])
    else:
        print_text("\n".join(f"{name:14} {title}" for name, title in titles.items()))
