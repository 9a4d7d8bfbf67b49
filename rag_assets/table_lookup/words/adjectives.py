"""Adjectives and what they measure, and words that mean nearly the same, in English and Swedish.

They stand in `words/adjectives.txt`.
"""

from typing import Final

from rag_assets.terms.word_files import WordFile

_FILE = WordFile("adjectives")

HIGH: Final = _FILE.words_by_word("high")
"""Adjectives whose superlative asks for the highest value, and the nouns of what they measure."""
LOW: Final = _FILE.words_by_word("low")
"""Adjectives whose superlative asks for the lowest value."""
IRREGULAR: Final = _FILE.keys_by_phrase("irregular")
"""Comparatives and superlatives whose adjective no ending tells."""
SAME: Final = _FILE.words_by_word("same")
"""Words that mean nearly the same; either one finds a heading with the other."""
PEOPLE: Final = _FILE.phrases("people")
"""Headings that `who` asks for."""
AMOUNTS: Final = _FILE.phrases("amounts")
"""Headings that `how much` asks for."""
DATES: Final = _FILE.phrases("dates")
"""Words of a heading of a date that say no more than that."""
