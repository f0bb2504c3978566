"""Write the JSON Schemas of results from their types to docs/schema.

Usage: python scripts/make_schemas.py [--check]
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import msgspec

from proxyuse.report.diff_result import DiffResult
from proxyuse.report.repair_result import RepairResult
from proxyuse.report.result import AuditResult

FOLDER = Path(__file__).parent.parent / "docs" / "schema"
RESULTS: dict[str, type[msgspec.Struct]] = {
    "audit": AuditResult,
    "repair": RepairResult,
    "diff": DiffResult,
}


def schema_text(kind: type[msgspec.Struct]) -> str:
    """The schema of a type as JSON text."""
    schema = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **msgspec.json.schema(kind),
    }
    return json.dumps(schema, indent=2, ensure_ascii=False) + "\n"


def schemas() -> dict[Path, str]:
    """Each file with its content."""
    return {FOLDER / f"{name}.schema.json": schema_text(kind) for name, kind in RESULTS.items()}


def main() -> int:
    """Write the files, or with --check only compare them."""
    stale = [
        path
        for path, text in schemas().items()
        if not path.is_file() or path.read_text("utf-8") != text
    ]
    for path in stale:
        if "--check" in sys.argv:
            print(f"{path}: out of date; run `make schemas`", file=sys.stderr)
        else:
            path.write_text(schemas()[path], "utf-8")
    return int(bool(stale) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
