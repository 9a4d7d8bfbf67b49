"""Words that say what a number or a date means, and rules that read them: `words.toml`."""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from functools import cache
from importlib import resources

import pydantic


class HeadWords(pydantic.BaseModel):
    """The words of `words.toml`, which says what each of its tables is."""

    months: Sequence[Sequence[str]]
    ordinals: Sequence[str]
    names: Mapping[str, str]
    labels: Mapping[str, str]
    standard: Mapping[str, Sequence[str]]


@cache
def head_words() -> HeadWords:
    """The words as the file has them."""
    file = resources.files(__package__ or "").joinpath("words.toml")
    return HeadWords.model_validate(tomllib.loads(file.read_text("utf-8")))


@cache
def words_for(kind: str) -> frozenset[str]:
    """The words of one kind in names of documents: a table `names` of the file."""
    return frozenset(head_words().names[kind].split())


def have_any(words: Collection[str], kind: str) -> bool:
    """Whether one of `words` is of a kind: see `words_for`."""
    return not words_for(kind).isdisjoint(words)
