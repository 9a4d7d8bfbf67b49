"""Prompts are files with a version; a value is put in as it is."""

import pytest

from rag_assets.identity import text_hash
from rag_assets.models.language.prompts import read_prompt

PACKAGE = "prompted"


@pytest.fixture
def _package(tmp_path, monkeypatch):
    folder = tmp_path / PACKAGE / "prompts"
    folder.mkdir(parents=True)
    (tmp_path / PACKAGE / "__init__.py").touch()
    for number in (1, 2, 10):
        (folder / f"ask.v{number}.md").write_text(f"Version {number}: $question\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    read_prompt.cache_clear()


@pytest.mark.usefixtures("_package")
def test_the_newest_version_is_read_and_known_by_its_hash():
    prompt = read_prompt(PACKAGE, "ask")
    assert (prompt.version, prompt.text) == (10, "Version 10: $question")
    assert prompt.record == {"name": "ask", "version": 10, "hash": text_hash(prompt.text)}


@pytest.mark.usefixtures("_package")
def test_a_value_is_put_in_as_it_is():
    prompt = read_prompt(PACKAGE, "ask")
    assert (
        prompt.filled(question="$question costs $5 ${x}") == "Version 10: $question costs $5 ${x}"
    )
    for values in ({}, {"question": "?", "other": "!"}):
        with pytest.raises(ValueError, match="ask"):
            prompt.filled(**values)


@pytest.mark.usefixtures("_package")
def test_a_prompt_that_is_not_there_is_named():
    with pytest.raises(LookupError, match=r"prompts/answer\.vN\.md"):
        read_prompt(PACKAGE, "answer")
