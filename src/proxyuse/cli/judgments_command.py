"""``proxyuse judgments``: check a file of judgments, or recover a damaged one."""

from __future__ import annotations

import argparse
from typing import Annotated, Any

import msgspec
from msgspec import Meta, Struct

from proxyuse.cli.judgments_file import judgments_note, open_file, recovery_notes
from proxyuse.cli.printing import print_json, print_text
from proxyuse.errors import FileError
from proxyuse.judge.record import Record
from proxyuse.judge.recovery import Recovered, recover
from proxyuse.report.findings.style import TEXT
from proxyuse.report.findings.witness import decision
from proxyuse.words import count, one_line

MOST_LISTED = 20


class JudgmentsFile(Struct, frozen=True):
    """An intact file of judgments."""

    file: str
    records: Annotated[int, Meta(ge=0, description="Judgments, and recoveries of the file.")]
    judgments: Annotated[int, Meta(ge=0, description="Superseded ones included.")]
    head: Annotated[
        str, Meta(description="The hash of the last record; 64 zeros if there is none.")
    ]
    recovered: Annotated[
        bool, Meta(description="Whether this command set damaged lines of the file aside.")
    ]


def run(options: argparse.Namespace) -> int:
    """Check or recover the file; the exit code is 0 unless it stays damaged."""
    if options.by is not None and not options.recover:
        raise FileError("--by is the name of the person who recovers the file; add --recover")
    recovered = None
    if options.recover:
        if options.by is None or not options.by.strip():
            raise FileError("--recover needs the name of the person who recovers the file: --by")
        recovered = recover(options.file, options.by)
    if not options.file.exists():
        raise FileError(f"{options.file} does not exist; check the path")
    records = open_file(options.file, options.head)
    if options.json:
        state = JudgmentsFile(
            records.path.name, records.lines, len(records), records.head, recovered is not None
        )
        print_json(msgspec.to_builtins(state))
        return 0
    if recovered is not None:
        print_text("\n".join(_lines(recovered)))
    elif options.recover:
        print_text("The file is intact; there is nothing to recover.")
    for note in [judgments_note(records), *recovery_notes(records)]:
        print_text(one_line(note))
    return 0


def _lines(recovered: Recovered) -> list[str]:
    """Say what was set aside, and what to do about it."""
    recovery = recovered.recovery
    lines = [
        one_line(
            f"Damaged: {recovery.problem}. The damaged file is kept as {recovery.set_aside}. The "
            f"{count(recovery.kept, 'record')} before that line are kept."
        )
    ]
    if recovered.readable:
        lines.append("Readable judgments in the lines that were set aside:")
        lines += [_judgment(record) for record in recovered.readable[:MOST_LISTED]]
        more = len(recovered.readable) - MOST_LISTED
        lines += [f"- ... and {more:,} more"] if more > 0 else []
    if recovered.unreadable:
        lines.append(f"Unreadable lines that were set aside: {recovered.unreadable:,}.")
    if not recovery.unfinished:
        lines.append(
            "A judgment against a use may be among these lines, so approvals before them do not "
            "apply until someone confirms them."
        )
    return [*lines, "Next: judge what is open with proxyuse judge.", ""]


def _judgment(record: Record) -> str:
    return (
        f"- {decision(record.appropriate)}: {TEXT.code(record.term)} for "
        f"{TEXT.name(record.protected)}, by {one_line(record.by)} on {record.at:%Y-%m-%d}: "
        f"{TEXT.quote(one_line(record.reason))}"
    )


def schema() -> dict[str, Any]:
    """Return the JSON Schema of ``proxyuse judgments --json``, generated from its type."""
    (choice,), definitions = msgspec.json.schema_components(
        (JudgmentsFile,), ref_template="#/$defs/{name}"
    )
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "proxyuse judgments --json",
        **choice,
        "$defs": definitions,
    }
