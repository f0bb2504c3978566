"""Write the JSON Schemas of `docs/schema`, each generated from the types that define the format.

Run it after a change to one of these types: ``python scripts/make_schemas.py``.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from proxyuse.cli import datasets_command, doctor_command
from proxyuse.judge import policy

FOLDER = Path(__file__).parents[1] / "docs" / "schema"
SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "datasets": datasets_command.schema,
    "doctor": doctor_command.schema,
    "policy": policy.schema,
}


def text_of(name: str) -> str:
    """Return the content of a schema file."""
    return json.dumps(SCHEMAS[name](), indent=2) + "\n"


if __name__ == "__main__":
    for name in SCHEMAS:
        FOLDER.joinpath(f"{name}.schema.json").write_text(text_of(name), encoding="utf-8")
