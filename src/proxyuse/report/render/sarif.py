"""An audit as SARIF 2.1.0, which code scanning and editors read.

Each witness is a result of the rule ``proxy-use``. Its kind is ``fail``, not ``review``: by the
standard a result for review has no level, and tools would skip what ends an audit with exit code 1.
It is an error if it is confirmed. A possible one is a warning if it counts or cannot be decided,
otherwise a note. A witness that was judged appropriate is suppressed, with the reason. A protected
attribute that cannot be decided has a warning of its own. What was not settled is ``open``, the
standard's word for "neither found nor proved absent".

A model is not source code, so a result refers to the whole model file, and its position in the
program is a logical location. URIs are relative to the folder in which the audit ran. The log holds
no rows, no timestamps and no absolute paths.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from msgspec import to_builtins

from proxyuse.report.findings import build, collections, explicit
from proxyuse.report.findings.headline import headline
from proxyuse.report.findings.verdict import undecided
from proxyuse.report.findings.witness import all_sentences
from proxyuse.report.other_findings import Collection, ExplicitUse, Judgment
from proxyuse.report.result import AuditResult, Witness
from proxyuse.report.standing import Standing, exit_code, standing
from proxyuse.verdict import Verdict
from proxyuse.words import all_visible, one_line, visible

VERSION = "2.1.0"
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
PROXY_USE, NOT_SETTLED, UNDECIDED = "proxy-use", "not-settled", "cannot-be-decided"
EXPLICIT_USE, COLLECTION = "explicit-use", "collection"

_RULES: list[dict[str, Any]] = [
    {
        "id": PROXY_USE,
        "name": "ProxyUse",
        "shortDescription": {"text": build.PROXY_USE},
        "fullDescription": {"text": build.PROXY_USE_EXPLAINED},
        "help": {"text": build.PROXY_USE_HELP},
        "defaultConfiguration": {"level": "error"},
    },
    {
        "id": NOT_SETTLED,
        "name": "NotSettled",
        "shortDescription": {"text": build.NOT_SETTLED},
        "fullDescription": {"text": build.NOT_SETTLED_EXPLAINED},
        "help": {"text": build.NOT_SETTLED_HELP},
    },
    {
        "id": UNDECIDED,
        "name": "CannotBeDecided",
        "shortDescription": {"text": build.UNDECIDED},
        "fullDescription": {"text": build.UNDECIDED_EXPLAINED},
        "help": {"text": build.UNDECIDED_HELP},
        "defaultConfiguration": {"level": "warning"},
    },
    {
        "id": EXPLICIT_USE,
        "name": "ExplicitUse",
        "shortDescription": {"text": build.EXPLICIT_USE},
        "fullDescription": {"text": build.EXPLICIT_USE_EXPLAINED},
        "help": {"text": build.EXPLICIT_USE_HELP},
        "defaultConfiguration": {"level": "error"},
    },
    {
        "id": COLLECTION,
        "name": "Collection",
        "shortDescription": {"text": build.COLLECTION},
        "fullDescription": {"text": build.COLLECTION_EXPLAINED},
        "help": {"text": build.COLLECTION_HELP},
        "defaultConfiguration": {"level": "error"},
    },
]
_FIGURES = (
    "protected", "association", "association_range", "ceiling", "influence", "reach", "size",
    "occurrences", "variables", "explicit", "group", "term", "origins", "validity", "judgment",
)  # fmt: skip


def audit_sarif(result: AuditResult) -> dict[str, Any]:
    """A SARIF log of one run, ready for JSON.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from proxyuse.report.document import document
    >>> data = {"vitamins": [1, 1, 0, 0] * 50, "pregnant": [1, 1, 0, 0] * 50}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
    >>> result = document(pu.audit(program, data, protected="pregnant"))
    >>> results = audit_sarif(result)["runs"][0]["results"]
    >>> [(entry["ruleId"], entry["level"]) for entry in results]
    [('proxy-use', 'error'), ('proxy-use', 'error'), ('proxy-use', 'error')]
    >>> results[0]["message"]["text"][:36]
    'The model uses a proxy for pregnant.'
    """
    artifacts = _artifacts(result.about)
    run: dict[str, Any] = {
        "tool": {"driver": {"name": "proxyuse", "version": result.proxyuse, "rules": _RULES}},
        "invocations": [_invocation(result)],
        "results": [
            *_witnesses(result, artifacts),
            *_explicit(result, artifacts),
            *_collections(result, artifacts),
            *_undecided(result, artifacts),
            *_unsettled(result, artifacts),
        ],
        "properties": {
            "headline": headline(result),
            **{
                name: to_builtins(getattr(result, name))
                for name in ("verdict", "fail_on", "complete", "thresholds", "measures", "rows",
                             "decompositions", "min_cell")
            },
        },
    }  # fmt: skip
    if artifacts:
        run["artifacts"] = artifacts
    log: dict[str, Any] = all_visible(
        {"$schema": SCHEMA, "version": VERSION, "runs": [run]}, visible
    )
    return log


def _invocation(result: AuditResult) -> dict[str, Any]:
    """How the audit ended, and its notes."""
    code = exit_code(result)
    notes = [note.text for note in result.notes] + result.file_notes
    return {
        "executionSuccessful": True,
        "exitCode": code,
        "exitCodeDescription": build.EXIT_CODES[code],
        "toolExecutionNotifications": [
            {"level": "note", "message": {"text": plain(text)}} for text in notes
        ],
    }


def _witnesses(result: AuditResult, artifacts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for witness in result.witnesses:
        judgment = witness.judgment
        counts = standing(result, witness)
        suppressed = counts is Standing.APPROPRIATE
        yield {
            "ruleId": PROXY_USE,
            "ruleIndex": 0,
            "kind": "fail",
            "level": _level(witness, counts),
            "message": {"text": plain(" ".join(all_sentences(result, witness)))},
            "locations": [_location(artifacts, position) for position in witness.positions],
            "partialFingerprints": _fingerprints(witness.protected, witness.id),
            # If one result of a run has this array, all must have it.
            "suppressions": [_suppression(judgment)] if suppressed and judgment else [],
            "properties": {
                "id": witness.id,
                **{name: to_builtins(getattr(witness, name)) for name in _FIGURES},
                "thresholds": to_builtins(result.thresholds),
            },
        }


def _level(witness: Witness, counts: Standing) -> str:
    if witness.verdict is Verdict.CONFIRMED:
        return "error"
    return "warning" if counts in (Standing.FAILS, Standing.UNDECIDED) else "note"


def _explicit(result: AuditResult, artifacts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The columns that determine a protected attribute and are influential."""
    for z, use in explicit.all_of(result):
        if not use.counts and not use.appropriate:
            continue
        yield {
            "ruleId": EXPLICIT_USE,
            "ruleIndex": 3,
            **_finding(result, use, explicit.sentences(result, z, use), artifacts),
            "partialFingerprints": _fingerprints(z.name, EXPLICIT_USE, use.column),
            "properties": {"protected": z.name, **to_builtins(use)},
        }


def _collections(result: AuditResult, artifacts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The collective witnesses."""
    for known in result.collections:
        yield {
            "ruleId": COLLECTION,
            "ruleIndex": 4,
            **_finding(result, known, collections.sentences(result, known), artifacts),
            "partialFingerprints": _fingerprints(known.protected, known.id),
            "properties": to_builtins(known),
        }


def _finding(
    result: AuditResult,
    finding: ExplicitUse | Collection,
    sentences: Sequence[str],
    artifacts: list[dict[str, Any]],
) -> dict[str, Any]:
    """How a finding beside the witnesses counts, and what there is to say about it."""
    fails = finding.confirmed or result.fail_on == "possible"
    judgment = finding.judgment if finding.appropriate else None
    return {
        "kind": "fail",
        "level": "error" if finding.confirmed else "warning" if fails else "note",
        "message": {"text": plain(" ".join(sentences))},
        "locations": [_location(artifacts)] if artifacts else [],
        "suppressions": [] if judgment is None else [_suppression(judgment)],
    }


def _undecided(result: AuditResult, artifacts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The protected attributes about which nothing can be said."""
    for z in result.protected:
        if z.verdict is Verdict.UNDECIDED:
            yield {
                "ruleId": UNDECIDED,
                "ruleIndex": 2,
                "kind": "fail",
                "level": "warning",
                "message": {"text": plain(undecided(result, z))},
                "locations": [_location(artifacts)] if artifacts else [],
                "partialFingerprints": _fingerprints(UNDECIDED, z.name),
                "suppressions": [],
                "properties": {"protected": z.name, "reasons": to_builtins(z.reasons)},
            }


def _unsettled(result: AuditResult, artifacts: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """What was not settled; what is not listed is counted."""
    for text in build.not_settled(result):
        yield {
            "ruleId": NOT_SETTLED,
            "ruleIndex": 1,
            "kind": "open",
            "level": "none",
            "message": {"text": plain(text)},
            "locations": [_location(artifacts)] if artifacts else [],
            "partialFingerprints": _fingerprints(text),
            "suppressions": [],
        }


def _suppression(judgment: Judgment) -> dict[str, Any]:
    return {
        "kind": "external",
        "status": "accepted",
        "justification": judgment.reason,
        "properties": {"by": judgment.by},
    }


def _fingerprints(*parts: str) -> dict[str, str]:
    """An identity of a result that is the same on every machine.

    GitHub reads only the second, and would merge all results of a file without it.
    """
    raw = "\0".join(parts).encode("utf-8", "backslashreplace")
    digest = hashlib.sha256(raw).hexdigest()[:32]
    return {"proxyuseWitness/v1": digest, "primaryLocationLineHash": f"{digest}:1"}


def _location(artifacts: list[dict[str, Any]], position: str | None = None) -> dict[str, Any]:
    location: dict[str, Any] = {}
    if artifacts and "analysisTarget" in artifacts[0].get("roles", ()):
        where = {"uri": artifacts[0]["location"]["uri"], "index": 0}
        location["physicalLocation"] = {"artifactLocation": where}
    if position is not None:
        location["logicalLocations"] = [{"fullyQualifiedName": position, "kind": "expression"}]
    return location


def _artifacts(about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The model file, then the data files; unknown files are omitted."""
    model, data = about.get("model"), about.get("data")
    artifacts = [_artifact(model, ["analysisTarget"])]
    files = data.get("files") if isinstance(data, Mapping) else None
    artifacts += [_artifact(file, []) for file in (files if isinstance(files, list) else [])]
    return [artifact for artifact in artifacts if artifact is not None]


def _artifact(file: object, roles: list[str]) -> dict[str, Any] | None:
    """A file with its hash; None if it has no name."""
    name = file.get("file") if isinstance(file, Mapping) else None
    if not isinstance(file, Mapping) or not isinstance(name, str) or not _relative(name):
        return None
    artifact: dict[str, Any] = {
        "location": {"uri": quote(_relative(name), safe="/", errors="backslashreplace")}
    }
    if roles:
        artifact["roles"] = roles
    if isinstance(file.get("sha256"), str):
        artifact["hashes"] = {"sha-256": file["sha256"]}
    return artifact


def _relative(name: str) -> str:
    """Keep a path inside the current folder; of any other path, keep the name."""
    outside = PurePosixPath(name).is_absolute() or bool(PureWindowsPath(name).anchor)
    parts = PureWindowsPath(name).parts  # splits at both kinds of slash
    return parts[-1] if parts and (outside or ".." in parts) else "/".join(parts)


def plain(text: str) -> str:
    """Text on one line, without the placeholders and links of SARIF.

    Examples
    --------
    >>> plain("x in {'a'}"), plain("see [here](http://x.y)")
    ("x in {{'a'}}", 'see [here] (http://x.y)')
    """
    return one_line(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")
