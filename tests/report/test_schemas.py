"""The published schemas are those of the types."""

from __future__ import annotations

import jsonschema
import pytest

from scripts.make_schemas import schemas
from tests.documents import schema


@pytest.mark.parametrize("path", schemas(), ids=lambda path: path.name)
def test_a_published_schema_is_up_to_date(path):
    assert path.read_text("utf-8") == schemas()[path], "run `make schemas`"


@pytest.mark.parametrize("name", ["audit", "repair", "diff"])
def test_a_schema_is_valid(name):
    jsonschema.Draft202012Validator.check_schema(schema(name))
