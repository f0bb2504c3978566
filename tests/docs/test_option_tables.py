"""The page about the command line lists every option as it is declared."""

from __future__ import annotations

import pytest

from proxyuse.cli.commands import COMMANDS
from scripts.make_option_tables import PAGE, text_of


def test_the_tables_of_options_are_generated_from_their_declarations() -> None:
    page = PAGE.read_text("utf-8")
    assert page == text_of(page), "run `make options`"


@pytest.mark.parametrize("command", [name for name in COMMANDS if name != "doctor"])  # has none
def test_every_command_has_a_generated_table(command: str) -> None:
    assert f"<!-- options of {command}" in PAGE.read_text("utf-8")
