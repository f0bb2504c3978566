"""Every Python block of the README and the documentation runs and prints what the page quotes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proxyuse.cli.main import main
from tests.docs.pages import PAGES, README, assert_shows, blocks, is_output

LINK = re.compile(r"\]\((?!#|https:)([^)#]+)(?:#[^)]*)?\)")


def has_python(page: Path) -> bool:
    return any(block["kind"] == "python" for block in blocks(page))


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.name, marks=[] if page == README else [pytest.mark.slow])
        for page in filter(has_python, PAGES)
    ],
)
def test_the_code_on_a_page_prints_what_the_page_quotes(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)  # where pages write files
    namespace: dict[str, object] = {}
    end = -1
    for block in blocks(page):
        if block["kind"] == "python":
            capsys.readouterr()
            exec(compile(block["text"], page.name, "exec"), namespace)
            end = block.end()
        elif end >= 0 and is_output(block, end):
            assert_shows(capsys.readouterr().out, block["text"])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_links_of_a_page_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_the_readme_shows_what_the_demo_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["demo"]) == 0
    printed = capsys.readouterr().out
    quoted = re.search(r"^```text\n(.*?)^\.\.\.$", README.read_text(), re.MULTILINE | re.DOTALL)
    assert quoted is not None
    assert quoted[1] in printed
