"""The pages of the documentation, and the code blocks on them."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = [README, *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(
    r'^```(?P<kind>\w+)(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^```$', re.MULTILINE | re.DOTALL
)


def blocks(page: Path) -> list[re.Match[str]]:
    return list(BLOCK.finditer(page.read_text(encoding="utf-8")))


def is_output(block: re.Match[str], end: int) -> bool:
    """Whether a block is the output of the code that ends at `end`, right above it."""
    return block["kind"] == "text" and not block.string[end : block.start()].strip()


def assert_shows(printed: str, quoted: str) -> None:
    """Check that a page quotes what was printed, with ``...`` for omitted parts."""
    for part in filter(None, map(str.strip, re.split(r"^\.\.\.$", quoted, flags=re.MULTILINE))):
        before, match, printed = printed.partition(part)
        assert match, f"{part}\nis not in\n{before}"
