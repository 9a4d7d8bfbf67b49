"""Words as data: a file `words.toml` lies beside the code that reads with them."""

import tomllib
from collections.abc import Mapping
from importlib import resources

from pydantic import BaseModel, ConfigDict

FILE = "words.toml"


class WordLists(BaseModel):
    """The words of one room."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    words: Mapping[str, str] = {}
    """By the name of a list, words that blanks part."""
    phrases: Mapping[str, tuple[str, ...]] = {}
    """By the name of a list, phrases, or groups of words that blanks part."""
    numbers: Mapping[str, Mapping[str, float]] = {}
    """By the name of a list, what each word stands for."""

    names: Mapping[str, Mapping[str, tuple[str, ...]]] = {}
    """By the name of a list, what each thing is called."""

    def set_of(self, name: str) -> frozenset[str]:
        """The words of a list."""
        return frozenset(self.words[name].split())

    def things_by_name(self, name: str) -> Mapping[str, str]:
        """What is called so, by each name of a list."""
        return {called: thing for thing, names in self.names[name].items() for called in names}


def read_word_lists(package: str) -> WordLists:
    """The words that lie in a package.

    Raises:
        ValueError: The file is none of this form.
    """
    text = resources.files(package).joinpath(FILE).read_text("utf-8")
    return WordLists.model_validate(tomllib.loads(text))
