"""The docs say what the code does."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from rag_assets import config

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
PAGES = sorted([*DOCS.glob("*.md"), *REPOSITORY.glob("*.md")])
SECTIONS = [
    value
    for value in (*vars(config).values(), *vars(config.checks).values())
    if isinstance(value, type) and issubclass(value, BaseModel) and value.model_fields
]


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.__name__)
def test_every_key_of_the_config_is_documented(section):
    text = (DOCS / "configuration.md").read_text("utf-8")
    documented = set(re.findall(r"`(?:[a-z_]+\.)*([a-z_]+)`", text))
    keys = {field.alias or name for name, field in section.model_fields.items()}

    assert keys <= documented


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_resolve(page):
    links = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text("utf-8"))

    assert [link for link in links if not (page.parent / link).exists()] == []
