"""Write the JSON Schemas of `docs/schema`, each generated from the types that define the format.

Run it after a change to one of these types: ``make schemas``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from proxyuse.certificate.certificate import Certificate
from proxyuse.cli import datasets_command, doctor_command, judgments_command
from proxyuse.cli.sign_command import SignResult
from proxyuse.judge import policy
from proxyuse.report.diff_result import DiffResult
from proxyuse.report.repair_result import RepairResult
from proxyuse.report.result import AuditResult
from proxyuse.signing import Signature
from proxyuse.verification.result import VerificationDocument

FOLDER = Path(__file__).parents[1] / "docs" / "schema"


def schema_of(kind: type[msgspec.Struct], *, every_key: bool = False) -> dict[str, Any]:
    """Return the schema of a type; `every_key` requires fields that have defaults, too."""
    draft = "https://json-schema.org/draft/2020-12/schema"
    schema = {"$schema": draft, **msgspec.json.schema(kind)}
    for definition in schema["$defs"].values():
        if "description" in definition:  # the docstring; the rest of it is about Python
            definition["description"] = definition["description"].partition("\n\n")[0]
    for definition in schema["$defs"].values() if every_key else ():
        definition["required"] = list(definition["properties"])
        for entry in definition["properties"].values():
            entry.pop("default", None)
    return schema


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "audit": lambda: schema_of(AuditResult),
    "certificate": lambda: schema_of(Certificate, every_key=True),
    "datasets": datasets_command.schema,
    "diff": lambda: schema_of(DiffResult),
    "doctor": doctor_command.schema,
    "judgments": judgments_command.schema,
    "policy": policy.schema,
    "repair": lambda: schema_of(RepairResult),
    "sign": lambda: schema_of(SignResult),
    "signature": lambda: schema_of(Signature, every_key=True),
    "verify": lambda: schema_of(VerificationDocument),
}


def text_of(name: str) -> str:
    """Return the content of a schema file."""
    return json.dumps(SCHEMAS[name](), indent=2) + "\n"


if __name__ == "__main__":
    for name in SCHEMAS:
        FOLDER.joinpath(f"{name}.schema.json").write_text(text_of(name), encoding="utf-8")
