"""The documentation as a site: whole, without a warning, and nothing in it comes from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest

import proxyuse

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BUILT_WITH = ("material", "mkdocstrings", "latex2mathml")

needs_mkdocs = pytest.mark.skipif(
    not all(map(find_spec, BUILT_WITH)), reason="needs pip install 'proxyuse[docs]'"
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    return folder


class Loaded(HTMLParser):
    """The addresses a page loads by itself; links that a reader follows are none."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        wanted = {"src", "srcset", "data", "poster"} | ({"href"} if tag == "link" else set())
        self.addresses += [value or "" for name, value in attrs if name in wanted]


def loaded(page: Path) -> Iterator[str]:
    parser = Loaded()
    text = page.read_text(encoding="utf-8")
    parser.feed(text)
    yield from parser.addresses
    yield from re.findall(r"@import\s+\S+|url\([^)]*\)", text)


@pytest.mark.slow
@needs_mkdocs
def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    pages = [*site.rglob("*.html"), *site.rglob("*.css")]
    assert len(pages) > len(list(DOCS.rglob("*.md")))
    addresses = {address for page in pages for address in loaded(page)}
    elsewhere = re.compile(r"(https?:)?//", re.IGNORECASE)
    assert [a for a in addresses if elsewhere.search(a) and "data:" not in a] == []


@needs_mkdocs
def test_formulas_are_there_as_mathml(site: Path) -> None:
    theory = (site / "theory.html").read_text(encoding="utf-8")
    assert theory.count("<math") == len(re.findall(r"\$\$[^$]+\$\$|\$[^$]+\$", _prose("theory.md")))
    assert "arithmatex" not in theory


@needs_mkdocs
def test_sections_of_docstrings_are_lists(site: Path) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    assert "<li><code>epsilon</code>: a number between 0 and 1, or a percentage" in page
    assert "default 0.1. Minimum" in page
    assert "-----" not in page


def _prose(page: str) -> str:
    text = (DOCS / page).read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```$|`[^`\n]+`", "", text, flags=re.MULTILINE | re.DOTALL)


@needs_mkdocs
@pytest.mark.parametrize("name", proxyuse.__all__)
def test_every_public_name_has_its_place_on_the_page_of_the_api(site: Path, name: str) -> None:
    page = (site / "api.html").read_text(encoding="utf-8")
    assert re.search(rf'id="proxyuse\.[\w.]*\b{name}"', page)


def test_every_option_of_the_command_line_is_on_its_page() -> None:
    from argparse import ArgumentParser

    from proxyuse.cli.commands import add_commands

    page = (DOCS / "command-line.md").read_text(encoding="utf-8")
    parser = ArgumentParser()
    add_commands(parser)
    (commands,) = (a.choices for a in parser._actions if isinstance(a.choices, dict))
    for command, its_parser in commands.items():
        assert f"## {command}" in page
        for action in its_parser._actions:
            for option in action.option_strings:
                assert option in ("-h", "--help") or f"`{option}" in page, f"{command} {option}"
