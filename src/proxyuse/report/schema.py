"""The schemas of documents: of audits, differences and repairs, for other programs too.

`files.json_schema` says whether a document fits one.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Any

from proxyuse.io.json_schema import KEYWORDS, first_mistake

__all__ = ["KEYWORDS", "first_mistake", "schema"]


@cache
def schema(name: str) -> dict[str, Any]:
    """The schema of a document: ``audit``, ``diff`` or ``repair``."""
    text = resources.files("proxyuse.report").joinpath(f"{name}.schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found
