"""The English and Swedish words that the checks know: see `compared_words.toml`."""

import tomllib
from dataclasses import dataclass
from importlib import resources

from pydantic import TypeAdapter


@dataclass(frozen=True)
class _Lists:
    """The sections of the file, each with its lists by name."""

    words: dict[str, str]
    phrases: dict[str, tuple[str, ...]]
    numbers: dict[str, dict[str, float]]
    names: dict[str, dict[str, tuple[str, ...]]]
    """What each thing is called."""


_TEXT = resources.files(__package__ or "").joinpath("compared_words.toml").read_text("utf-8")
_LISTS = TypeAdapter(_Lists).validate_python(tomllib.loads(_TEXT))
_WORDS = {name: frozenset(text.split()) for name, text in _LISTS.words.items()}


def _things_by_name(name: str) -> dict[str, str]:
    things = _LISTS.names[name].items()
    return {called: thing for thing, names in things for called in names}


ENGLISH, SWEDISH, GERMAN = _WORDS["english"], _WORDS["swedish"], _WORDS["german"]
FILLERS = ENGLISH | SWEDISH | _WORDS["fillers"]
"""Words that carry no content of their own."""
NEGATORS = _WORDS["negators"]
SHARED_NEGATORS = _WORDS["shared_negators"]
"""Negators that reach over a whole sentence."""
ENDINGS = _WORDS["endings"] | {""}
"""Endings of English words that make another word of the same stem."""
HEDGES = _WORDS["hedges"]
LOWEST, HIGHEST = _WORDS["lowest"], _WORDS["highest"]
"""Words by which a heading is that of an end of a range."""

LESS = _LISTS.phrases["less"]
MORE = _LISTS.phrases["more"]
AT_MOST = _LISTS.phrases["at_most"]
AT_LEAST = _LISTS.phrases["at_least"]
JUST_OVER = _LISTS.phrases["just_over"]
JUST_UNDER = _LISTS.phrases["just_under"]
SAME_MEANING = {
    word: number
    for number, group in enumerate(_LISTS.phrases["same_meaning"])
    for word in group.split()
}
"""The number of a word's group: words of one group stand for one thing."""

NUMBER_WORDS = _LISTS.numbers["number_words"]
SCALES = {word: int(power) for word, power in _LISTS.numbers["scales"].items()}
"""Powers of ten behind a number in digits: `5.2 million`."""
FRACTION_WORDS = _LISTS.numbers["fraction_words"]
UNITS = _things_by_name("units")
PREFIXES = _things_by_name("prefixes")
