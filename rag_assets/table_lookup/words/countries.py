"""Names and codes of countries: what a question calls them, and what a column has (ISO 3166)."""

import gettext
import re
from functools import cache

from rag_assets.table_lookup.words.word_forms import squashed

SHORTEST_ADJECTIVE, SAME_BEGINNING = 5, 4
"""The fewest letters of an adjective (`German`), and how many of them a name must begin with."""
_ADJECTIVE = re.compile(r"(?:[aei]n|ese|ish|ch|ss|[aeg]ic|sk[at]?)$", re.IGNORECASE)
"""How adjectives of countries end; `Sydamerika` is none of South Africa."""


@cache
def spellings_of(text: str) -> frozenset[str]:
    """All names and codes of the country that `text` names in English or Swedish, squashed."""
    return next((each for each in _countries() if squashed(text) in each), frozenset())


@cache
def spellings_like(word: str) -> frozenset[str]:
    """The spellings of the countries whose name begins like an adjective: `German`, `Swedish`."""
    if len(word) < SHORTEST_ADJECTIVE or not word.isalpha() or not _ADJECTIVE.search(word):
        return frozenset()
    begin = squashed(word)[:SAME_BEGINNING]
    alike = [each for each in _countries() if any(name.startswith(begin) for name in each)]
    return alike[0] if len(alike) == 1 else frozenset()


@cache
def _countries() -> tuple[frozenset[str], ...]:
    import pycountry

    swedish = gettext.translation("iso3166-1", pycountry.LOCALES_DIR, languages=["sv"])
    return tuple(
        frozenset(
            squashed(name)
            for name in (
                *(country.alpha_2, country.alpha_3, country.name, swedish.gettext(country.name)),
                getattr(country, "common_name", country.name),
                getattr(country, "official_name", country.name),
            )
        )
        for country in pycountry.countries
    )
