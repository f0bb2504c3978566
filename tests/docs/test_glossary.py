"""The documentation and the reports define a term in the same words."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from proxyuse.report.findings.glossary import DEFINITIONS

GLOSSARY = Path(__file__).parents[2] / "docs" / "glossary.md"
SECTION = re.compile(r"^### (.+)\n\n((?:.+\n)+)", re.MULTILINE)


@pytest.mark.parametrize("term", DEFINITIONS)
def test_the_glossary_begins_with_the_definition_of_a_report(term: str) -> None:
    sections = dict(SECTION.findall(GLOSSARY.read_text("utf-8")))
    assert " ".join(sections[term].split()).startswith(DEFINITIONS[term])
