"""Dictionary forms of words are those of simplemma, from files that are written once."""

from pathlib import Path

import pytest
import simplemma

from rag_assets.terms import lemmas
from rag_assets.terms.lemmas import Dictionaries, KeptDictionary

WORDS = ("houses", "Hardness", "melted", "hållfastheten", "plåtarna", "Åsas", "316L", "qwertz", "")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("dictionaries")
    opened(made).get_dictionary("en")
    return made


def opened(folder: Path) -> Dictionaries:
    found = Dictionaries()
    found.keep_in(folder)
    return found


def unpacking(_language: str) -> dict[str, str]:
    raise AssertionError("it was unpacked once more")


def test_words_have_the_forms_that_simplemma_gives():
    for word in filter(None, WORDS):
        assert lemmas.lemmatized(word, languages=("en", "sv")) == simplemma.lemmatize(
            word, lang=("en", "sv")
        )
        assert lemmas.is_known(word, languages=("en",)) == simplemma.is_known(word, lang="en")


def test_a_kept_dictionary_has_the_same_entries(folder: Path):
    kept, own = opened(folder).get_dictionary("en"), lemmas._unpacked("en")
    assert isinstance(kept, KeptDictionary)
    assert len(kept) == len(own)
    assert [kept.get(word) for word in WORDS] == [own.get(word) for word in WORDS]
    assert all(kept[word] == own[word] for word in [*own][:: len(own) // 500])


def test_it_is_unpacked_once_for_all_processes(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lemmas, "_unpacked", unpacking)
    assert opened(folder).get_dictionary("en")["houses"] == "house"


def test_one_of_another_release_is_left_to_those_who_use_it(
    folder: Path, monkeypatch: pytest.MonkeyPatch
):
    before = [file.name for file in folder.iterdir()]
    monkeypatch.setattr(lemmas, "_release", lambda: "9.9")
    assert opened(folder).get_dictionary("en")["houses"] == "house"
    assert sorted(file.name for file in folder.iterdir()) == sorted([*before, "en-9.9.arrow"])


def test_a_damaged_one_is_written_again(tmp_path: Path):
    for content in (b"", b"x" * 1_000):
        for file in tmp_path.iterdir():
            file.write_bytes(content)
        assert opened(tmp_path).get_dictionary("en")["houses"] == "house"
        assert isinstance(opened(tmp_path).get_dictionary("en"), KeptDictionary)


def test_where_nothing_can_be_written_it_is_unpacked(tmp_path: Path):
    place = tmp_path / "file"
    place.write_text("no folder")
    assert opened(place).get_dictionary("en")["houses"] == "house"
    assert opened(place / "below").get_dictionary("en")["houses"] == "house"
