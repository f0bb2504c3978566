"""The file of judgments on the command line: opened, and stated in the results that rely on it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from proxyuse.errors import FileError
from proxyuse.judge.policy import Policy
from proxyuse.judge.records import Records
from proxyuse.project_settings import ProjectOptions
from proxyuse.words import count

_HEAD = re.compile("[0-9a-f]{64}")


def open_judgments(options: ProjectOptions) -> Records | None:
    """Read the file of judgments, if there is one, and compare its head with the expected one."""
    if options.judgments is None:
        if options.judgments_head is not None:
            raise FileError("--judgments-head needs --judgments; pass the file as well")
        return None
    return open_file(options.judgments, options.judgments_head)


def open_file(path: Path, head: str | None) -> Records:
    """Read a file of judgments and compare its head with the expected one."""
    if head is not None and not _HEAD.fullmatch(head):
        raise FileError(f"--judgments-head: expected 64 hexadecimal digits, got {head!r}")
    return Records.open(path, head=head)


def add_oracle(about: dict[str, Any], records: Records | None, policy: Policy | None) -> None:
    """Add the judgments and the policy to the facts about the files of a result."""
    if records is not None:
        about["judgments"] = {
            "file": records.path.name,
            "records": records.lines,
            "head": records.head,
        }
        about["notes"] += [judgments_note(records), *recovery_notes(records)]
    if policy is not None and (expired := policy.expired()):
        names = ", ".join(rule.name for rule in expired)
        about["notes"].append(f"expired rules of the policy: {names}")


def judgments_note(records: Records) -> str:
    """State the number of records and the head of a file."""
    return f"judgments: {records.path.name}, {count(records.lines, 'record')}, head {records.head}"


def recovery_notes(records: Records) -> list[str]:
    """Say when a file was recovered, and what may be lost."""
    return [
        f"{records.path.name} was recovered on {recovery.at:%Y-%m-%d} by {recovery.by}: "
        f"{recovery.problem}; see {recovery.set_aside}"
        + (
            ""
            if recovery.unfinished
            else f". Approvals among the first {count(recovery.kept, 'record')} do not apply until "
            "someone confirms them"
        )
        for recovery in records.recoveries
    ]
