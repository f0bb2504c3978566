"""A document as SARIF 2.1.0, which code scanning and editors read.

Each witness is a result of the rule ``proxy-use``. Without a judgment it is a violation, so its
kind is ``fail`` and not ``review``: a result that asks for review has by the standard no level, and
tools would pass over what ends an audit with exit code 1. It is an error, or a warning where
statistics were asked and do not confirm it. A witness that was judged appropriate is suppressed,
with the reason. What was not settled is ``open``: the standard's word for "no violation was found,
nor proved absent".

A model is not source code, so a result refers to the model file as a whole, and its position in
the program is a logical location. URIs are relative to the folder the audit ran in. Like the
document, the log holds no rows, no clock times and no absolute paths.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import quote

from proxyuse.report.answer import exit_code
from proxyuse.report.finding import Standing, confirmed, sentences, standing
from proxyuse.report.wording import headline, on_lines, one_line

VERSION = "2.1.0"
SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
PROXY_USE, NOT_SETTLED = "proxy-use", "not-settled"

_RULES: list[dict[str, Any]] = [
    {
        "id": PROXY_USE,
        "name": "ProxyUse",
        "shortDescription": {"text": "The model uses a proxy for a protected attribute."},
        "fullDescription": {
            "text": "A computation inside the model is nearly another name for a protected "
            "attribute (its association passes a threshold), and the decisions depend on it (its "
            "influence passes another)."
        },
        "help": {
            "text": "Look at the computation with 'proxyuse show', decide whether its use is "
            "appropriate and record that with 'proxyuse judge', or replace it with 'proxyuse "
            "repair'."
        },
        "defaultConfiguration": {"level": "error"},
    },
    {
        "id": NOT_SETTLED,
        "name": "NotSettled",
        "shortDescription": {"text": "Some computations were not measured and may be proxies."},
        "fullDescription": {
            "text": "A model has more combinations of terms than could be measured. Of those named "
            "here it is not known whether they are proxies that are used."
        },
        "help": {"text": "A larger budget settles more; so do higher thresholds."},
    },
]
_FIGURES = (
    "protected", "association", "ceiling", "influence", "reach", "size", "occurrences", "variables",
    "explicit", "group", "term", "origins", "validity", "judgment",
)  # fmt: skip
_EXIT_CODES = {
    0: "nothing was found, and everything was settled",
    1: "proxy use was found",
    3: "nothing that counts was found, but not everything was settled",
}


def sarif(document: Mapping[str, Any]) -> dict[str, Any]:
    """A SARIF log of one run, fit for JSON.

    Parameters
    ----------
    document : of an audit, as `report.document.document` makes it or as it was read from a file.

    Examples
    --------
    >>> import proxyuse as pu
    >>> from proxyuse.report.document import document
    >>> data = {"vitamins": [1, 1, 0, 0] * 9, "pregnant": [1, 1, 0, 0] * 9}
    >>> program = pu.Program.parse("ite(vitamins == 1, 'a', 'b')")
    >>> found = document(pu.audit(program, data, protected="pregnant"))
    >>> results = sarif(found)["runs"][0]["results"]
    >>> [(result["ruleId"], result["level"]) for result in results]
    [('proxy-use', 'error'), ('proxy-use', 'error'), ('proxy-use', 'error')]
    >>> results[0]["message"]["text"][:61]
    'The model uses a proxy for pregnant: it looks at the value of'
    """
    artifacts = _artifacts(document["about"])
    run: dict[str, Any] = {
        "tool": {
            "driver": {"name": "proxyuse", "version": document["proxyuse"], "rules": _RULES}
        },
        "invocations": [_invocation(document)],
        "results": [*_witnesses(document, artifacts), *_unsettled(document, artifacts)],
        "properties": {
            "headline": headline(on_lines(document)),
            **{
                name: document[name]
                for name in ("result", "complete", "thresholds", "measures", "rows",
                             "decompositions", "min_cell")
            },
        },
    }  # fmt: skip
    if artifacts:
        run["artifacts"] = artifacts
    return {"$schema": SCHEMA, "version": VERSION, "runs": [run]}


def _invocation(document: Mapping[str, Any]) -> dict[str, Any]:
    """How the audit ended, and its notes."""
    code = exit_code(document)
    told = [f"{note['kind']}: {note['text']}" for note in document["notes"]]
    told += document["about"].get("notes", [])
    return {
        "executionSuccessful": True,
        "exitCode": code,
        "exitCodeDescription": _EXIT_CODES[code],
        "toolExecutionNotifications": [
            {"level": "note", "message": {"text": plain(text)}} for text in told
        ],
    }


def _witnesses(
    document: Mapping[str, Any], artifacts: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    shown = on_lines({**document, "witnesses": []})  # of which messages are made
    for witness in document["witnesses"]:
        said = witness["judgment"]
        suppressed = standing(document, witness) is Standing.APPROPRIATE
        yield {
            "ruleId": PROXY_USE,
            "ruleIndex": 0,
            "kind": "fail",
            "level": "warning" if confirmed(witness) is False else "error",
            "message": {"text": plain(" ".join(sentences(shown, on_lines(witness))))},
            "locations": [_location(artifacts, position) for position in witness["positions"]],
            "partialFingerprints": _fingerprints(witness["protected"], witness["id"]),
            # If one result of a run has this array, all must.
            "suppressions": [_suppression(said)] if suppressed else [],
            "properties": {
                "id": witness["id"],
                **{name: witness.get(name) for name in _FIGURES},
                "thresholds": document["thresholds"],
            },
        }


def _unsettled(
    document: Mapping[str, Any], artifacts: list[dict[str, Any]]
) -> Iterator[dict[str, Any]]:
    """What was not settled; what is not listed is counted."""
    listed, number = document["unsettled"]["listed"], document["unsettled"]["count"]
    told = [f"Not settled: {text}." for text in listed]
    if number > len(listed):
        told.append(f"Not settled: {number - len(listed):,} more, which the result does not list.")
    if not told and not document["complete"]:
        told = ["Not settled: parts of the model were not looked at; the notes say which."]
    for text in told:
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


def _suppression(said: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "kind": "external",
        "status": "accepted",
        "justification": said["reason"],
        "properties": {"by": said["by"]},
    }


def _fingerprints(*parts: str) -> dict[str, str]:
    """What tells a result apart from others, the same on every machine.

    GitHub looks at the second only, and would take all results of a file for one without it.
    """
    raw = "\0".join(parts).encode("utf-8", "backslashreplace")
    digest = hashlib.sha256(raw).hexdigest()[:32]
    return {"proxyuseWitness/v1": digest, "primaryLocationLineHash": f"{digest}:1"}


def _location(artifacts: list[dict[str, Any]], position: str | None = None) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if artifacts and "analysisTarget" in artifacts[0].get("roles", ()):
        where = {"uri": artifacts[0]["location"]["uri"], "index": 0}
        found["physicalLocation"] = {"artifactLocation": where}
    if position is not None:
        found["logicalLocations"] = [{"fullyQualifiedName": position, "kind": "expression"}]
    return found


def _artifacts(about: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The model's file first, then those of the data, as far as they are known."""
    model, data = about.get("model"), about.get("data")
    found = [_artifact(model, ["analysisTarget"])]
    files = data.get("files") if isinstance(data, Mapping) else None
    found += [_artifact(file, []) for file in (files if isinstance(files, list) else [])]
    return [artifact for artifact in found if artifact is not None]


def _artifact(file: object, roles: list[str]) -> dict[str, Any] | None:
    """A file by its name and hash; None if it has no name."""
    name = file.get("file") if isinstance(file, Mapping) else None
    if not isinstance(file, Mapping) or not isinstance(name, str) or not _relative(name):
        return None
    found: dict[str, Any] = {
        "location": {"uri": quote(_relative(name), safe="/", errors="backslashreplace")}
    }
    if roles:
        found["roles"] = roles
    if isinstance(file.get("sha256"), str):
        found["hashes"] = {"sha-256": file["sha256"]}
    return found


def _relative(name: str) -> str:
    """Return a path that stays inside its folder as it is; of any other path, the name alone."""
    outside = PurePosixPath(name).is_absolute() or bool(PureWindowsPath(name).anchor)
    parts = PureWindowsPath(name).parts  # splits at both kinds of slash
    return parts[-1] if parts and (outside or ".." in parts) else "/".join(parts)


def plain(text: str) -> str:
    """Text on one line that SARIF shows as it is: no placeholder, no link.

    Examples
    --------
    >>> plain("x in {'a'}"), plain("see [here](http://x.y)")
    ("x in {{'a'}}", 'see [here] (http://x.y)')
    """
    return one_line(text).replace("{", "{{").replace("}", "}}").replace("](", "] (")
