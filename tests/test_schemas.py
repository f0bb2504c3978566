"""The published JSON Schemas are those of the types."""

from __future__ import annotations

import json

import jsonschema
import pytest

from scripts.make_schemas import FOLDER, SCHEMAS, text_of


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_published_schema_is_valid_and_generated_from_its_types(name):
    published = FOLDER.joinpath(f"{name}.schema.json").read_text("utf-8")
    assert published == text_of(name), "run `make schemas`"
    jsonschema.Draft202012Validator.check_schema(json.loads(published))
