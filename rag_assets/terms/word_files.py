"""Files of words beside the code: sections of words, of phrases, and of either by a key."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

PACKAGE, FOLDER = "rag_assets.table_lookup", "words"
PHRASE = "|"
"""Parts phrases; blanks part words."""


def words_in(text: str) -> frozenset[str]:
    """The words of `text`, which blanks part."""
    return frozenset(text.split())


@dataclass(frozen=True, slots=True)
class WordFile:
    """`words/NAME.txt`: a line `[section]` before each section, `#` before a remark."""

    name: str

    def words(self, section: str) -> frozenset[str]:
        """The words of a section."""
        return words_in(self._text(section))

    def phrases(self, section: str) -> tuple[str, ...]:
        """The phrases of a section, in order."""
        return _phrases(self._text(section))

    def phrases_by_key(self, section: str) -> Mapping[str, tuple[str, ...]]:
        """Lines of `key: phrase | phrase`."""
        return {key: _phrases(rest) for key, rest in self._lines(section)}

    def keys_by_phrase(self, section: str) -> Mapping[str, str]:
        """The same lines, from each phrase to its key."""
        return {each: key for key, rest in self._lines(section) for each in _phrases(rest)}

    def words_by_word(self, section: str) -> Mapping[str, tuple[str, ...]]:
        """Lines of `word word: word word`: what stands behind, by each word before."""
        return {
            word: tuple(rest.split()) for key, rest in self._lines(section) for word in key.split()
        }

    def templates(self, section: str) -> dict[str, str]:
        """Lines of `name: template`."""
        return {key: rest.strip() for key, rest in self._lines(section)}

    def _text(self, section: str) -> str:
        return _sections(self.name)[section]

    def _lines(self, section: str) -> Iterator[tuple[str, str]]:
        for line in self._text(section).strip().splitlines():
            key, _, rest = line.partition(":")
            yield key.strip(), rest


def _phrases(text: str) -> tuple[str, ...]:
    return tuple(" ".join(each.split()) for each in text.split(PHRASE))


@cache
def _sections(name: str) -> Mapping[str, str]:
    text = files(PACKAGE).joinpath(FOLDER, f"{name}.txt").read_text("utf-8")
    found: dict[str, str] = {}
    for part in f"\n{text}".split("\n[")[1:]:
        title, _, content = part.partition("]\n")
        found[title] = content
    return found
