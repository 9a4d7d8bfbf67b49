"""The dictionary forms of English and Swedish words, from dictionaries that are open at once.

To unpack the two dictionaries of `simplemma` takes a second and 250 MB. So they are written once to
a folder, sorted, and are then mapped into memory: only the pages that are looked at are read.
"""

import os
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING

from rag_assets.process.user_cache import shared_folder

if TYPE_CHECKING:
    import pyarrow as pa
    from simplemma import Lemmatizer
    from simplemma.strategies import DictionaryLookupStrategy

FOLDER = "dictionaries"


class KeptDictionary(Mapping[str, str]):
    """A dictionary of one language: word to lemma, sorted by the bytes of the words."""

    def __init__(self, table: "pa.Table") -> None:
        """Look up in `table`, of one chunk, with the columns `word` and `lemma` as binary."""
        self._words = table["word"].chunk(0)
        self._lemmas = table["lemma"].chunk(0)
        _, offsets, letters = self._words.buffers()
        ends = memoryview(offsets).cast("i")
        self._ends = ends[self._words.offset :]
        self._letters = memoryview(letters)

    def __getitem__(self, word: str) -> str:
        wanted = word.encode()
        places = range(len(self._words))
        place = bisect_left(places, wanted, key=self._bytes_at)
        if place == len(places) or self._bytes_at(place) != wanted:
            raise KeyError(word)
        return self._lemmas[place].as_py().decode()

    def _bytes_at(self, place: int) -> bytes:
        """A word, read past Arrow's objects, which cost ten times as much."""
        return self._letters[self._ends[place] : self._ends[place + 1]].tobytes()

    def __iter__(self) -> Iterator[str]:
        return (word.as_py().decode() for word in self._words)

    def __len__(self) -> int:
        return len(self._words)


class Dictionaries:
    """Gives dictionaries to `simplemma`, from the folder where they are kept if there is one."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._open: dict[str, Mapping[str, str]] = {}
        self._lock = Lock()

    def keep_in(self, folder: Path) -> None:
        """Keep dictionaries in `folder` from now on; what is open stays open."""
        self._folder = folder

    def get_dictionary(self, lang: str) -> Mapping[str, str]:
        """The dictionary of a language. Where none can be kept, it is unpacked into memory."""
        with self._lock:
            if lang not in self._open:
                self._open[lang] = self._opened(lang)
            return self._open[lang]

    def _opened(self, lang: str) -> Mapping[str, str]:
        if self._folder is None:
            return _unpacked(lang)
        path = self._folder / f"{lang}-{_release()}.arrow"
        found = _mapped(path)
        if found is not None:
            return found
        unpacked = _unpacked(lang)
        try:
            _write(unpacked, path)
        except OSError:
            return unpacked  # the disk is full, or may only be read
        return _mapped(path) or unpacked


DICTIONARIES = Dictionaries()
"""The dictionaries of this process."""


def keep_in(state: Path) -> None:
    """Keep the dictionaries in the user's cache, or in the state at `state`."""
    DICTIONARIES.keep_in(shared_folder(state) / FOLDER)


def lemmatized(word: str, *, languages: tuple[str, ...]) -> str:
    """The dictionary form of `word` in the first of `languages` that has one; else the word."""
    return _lemmatizer().lemmatize(word, lang=languages)


def is_known(word: str, *, languages: tuple[str, ...]) -> bool:
    """Whether a dictionary of one of `languages` has `word`."""
    return any(_lookup().get_lemma(word, language) is not None for language in languages)


@cache
def _lemmatizer() -> "Lemmatizer":
    from simplemma import Lemmatizer
    from simplemma.strategies import DefaultStrategy

    return Lemmatizer(lemmatization_strategy=DefaultStrategy(dictionary_factory=DICTIONARIES))


@cache
def _lookup() -> "DictionaryLookupStrategy":
    from simplemma.strategies import DictionaryLookupStrategy

    return DictionaryLookupStrategy(DICTIONARIES)


def _unpacked(lang: str) -> Mapping[str, str]:
    from simplemma.strategies.dictionaries import DEFAULT_DICTIONARY_FACTORY

    return DEFAULT_DICTIONARY_FACTORY.get_dictionary(lang)


def _release() -> str:
    from simplemma import __version__

    return __version__


def _mapped(path: Path) -> KeptDictionary | None:
    """The dictionary in a file; None if there is none, or it is damaged."""
    import pyarrow as pa

    try:
        return KeptDictionary(pa.ipc.open_file(pa.memory_map(str(path))).read_all())
    except (OSError, pa.ArrowInvalid, KeyError, IndexError):
        return None


def _write(dictionary: Mapping[str, str], path: Path) -> None:
    """Write so that a reader finds all of it or nothing; it can be made again, so is not synced."""
    import pyarrow as pa

    entries = sorted((word.encode(), dictionary[word].encode()) for word in dictionary)
    words, lemmas = zip(*entries, strict=True)
    table = pa.table({"word": pa.array(words, pa.binary()), "lemma": pa.array(lemmas, pa.binary())})
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with pa.OSFile(str(fresh), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
        fresh.replace(path)
    except OSError:
        fresh.unlink(missing_ok=True)
        raise
