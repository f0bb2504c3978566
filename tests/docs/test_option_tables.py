"""The pages about the command line and the limits list everything as it is declared."""

from __future__ import annotations

from pathlib import Path

import pytest

from proxyuse.cli.commands import COMMANDS
from proxyuse.input_limits import LIMITS
from scripts.make_option_tables import PAGES, text_of

COMMAND_LINE, LIMITS_PAGE = PAGES


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_tables_are_generated_from_their_declarations(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == text_of(text), "run `make options`"


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "doctor"])  # has none
def test_every_command_has_a_generated_table(command: str) -> None:
    assert f"<!-- options of {command}" in COMMAND_LINE.read_text("utf-8")


def test_every_limit_is_listed() -> None:
    text = LIMITS_PAGE.read_text("utf-8")
    assert all(f"| `{name}` | {limit.default:,} " in text for name, limit in LIMITS.items())
