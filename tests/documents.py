"""Results as plain JSON values, to change them and to compare them with schemas."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from proxyuse.report.saved import as_text

SCHEMAS = Path(__file__).parent.parent / "docs" / "schema"


def plain(result: object) -> Any:
    """A result as JSON gives it back."""
    return json.loads(as_text(result))


def schema(name: str) -> dict[str, Any]:
    """A published schema: ``audit``, ``repair`` or ``diff``."""
    content: dict[str, Any] = json.loads((SCHEMAS / f"{name}.schema.json").read_text("utf-8"))
    return content
