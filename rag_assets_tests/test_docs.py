"""The docs say what the code does, and lead to each other."""

import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel

from rag_assets.config import Config
from rag_assets.config.experiments import design_names, experiments_of

REPOSITORY = Path(__file__).parents[1]
DOCS = REPOSITORY / "docs"
INDEX = DOCS / "README.md"
PAGES = sorted([*DOCS.glob("*.md"), *REPOSITORY.glob("*.md")])


def sections_in(annotation: object) -> Iterator[type[BaseModel]]:
    """The sections of the config that a type names, with those below them."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
        for field in annotation.model_fields.values():
            yield from sections_in(field.annotation)
    for part in get_args(annotation):
        yield from sections_in(part)


DESIGNS = [experiments_of(design) for design in design_names()]
SECTIONS = [*dict.fromkeys(chain(sections_in(Config), *map(sections_in, DESIGNS)))]


def prose(page: Path) -> str:
    """The text of a page without its blocks of code, in which `#` begins a comment."""
    return re.sub(r"^```.*?^```", "", page.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


def links(page: Path) -> list[tuple[Path, str]]:
    """Page and anchor of each link that stays among the files of the project."""
    found = re.findall(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)", prose(page))
    return [(page.parent / path if path else page, anchor) for path, anchor in found]


def anchors(page: Path) -> set[str]:
    """The anchors of the headings of a page, as GitHub makes them."""
    headings = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("section", SECTIONS, ids=lambda section: section.__name__)
def test_every_key_of_the_config_is_documented(section):
    text = (DOCS / "configuration.md").read_text("utf-8")
    documented = set(re.findall(r"`(?:[a-z_]+\.)*([a-z_]+)`", text))
    keys = {field.alias or name for name, field in section.model_fields.items()}

    assert keys <= documented


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))
def test_links_between_pages_resolve(page):
    assert [path for path, _ in links(page) if not path.exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS.parent)))
def test_links_to_a_heading_find_it(page):
    wanted = [(path, anchor) for path, anchor in links(page) if anchor]

    assert [(path, anchor) for path, anchor in wanted if anchor not in anchors(path)] == []


def test_the_index_leads_to_every_page_and_the_readme_to_the_index():
    named = {path.resolve() for path, _ in links(INDEX)}

    assert {page for page in DOCS.glob("*.md") if page != INDEX} <= named
    assert INDEX in {path.resolve() for path, _ in links(DOCS.parent / "README.md")}


def test_every_word_of_the_glossary_is_used():
    _, _, table = INDEX.read_text("utf-8").partition("## Words")
    glossary = re.findall(r"^\| \*\*`?([\w ]+)`?\*\* \|", table, re.MULTILINE)
    others = " ".join(prose(page) for page in DOCS.glob("*.md") if page != INDEX).lower()
    used = " ".join(others.split())

    assert len(glossary) > 30
    assert [word for word in glossary if not re.search(rf"\b{re.escape(word)}s?\b", used)] == []
