"""Outcomes as a table: for a terminal, and for a page, between two markers."""

from __future__ import annotations

from pathlib import Path

START = "<!-- benchmarks: written by python -m benchmarks.run --write -->"
END = "<!-- end of benchmarks -->"


def plain(rows: list[tuple[str, ...]]) -> str:
    """A table for a terminal."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    ]
    return "\n".join([lines[0], "-" * max(map(len, lines)), *lines[1:]])


def markdown(rows: list[tuple[str, ...]]) -> str:
    """The same as Markdown."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
    return "\n".join([lines[0], "|" + "---|" * len(rows[0]), *lines[1:]])


def replaced(page: str, text: str) -> str:
    """A page with a text between its two markers."""
    before, start, rest = page.partition(START)
    _, end, after = rest.partition(END)
    if not start or not end:
        raise SystemExit(f"the page has no lines {START} and {END}; add them where the table goes")
    return f"{before}{START}\n\n{text}\n\n{END}{after}"


def write(path: Path, text: str) -> None:
    """Put a text between the markers of a page."""
    path.write_text(replaced(path.read_text(encoding="utf-8"), text), encoding="utf-8")
