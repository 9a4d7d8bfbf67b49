"""Adjectives and what they measure, and words that mean nearly the same, in English and Swedish.

They stand in `en.toml` and `sv.toml`.
"""

from typing import Final

from rag_assets.table_lookup.words.word_lists import keys_by_phrase, phrases, words_by_word

HIGH: Final = words_by_word("high")
"""Adjectives whose superlative asks for the highest value, and the nouns of what they measure."""
LOW: Final = words_by_word("low")
"""Adjectives whose superlative asks for the lowest value."""
IRREGULAR: Final = keys_by_phrase("irregular")
"""Comparatives and superlatives whose adjective no ending tells."""
SAME: Final = words_by_word("same")
"""Words that mean nearly the same; either one finds a heading with the other."""
PEOPLE: Final = phrases("people")
"""Headings that `who` asks for."""
PARTIES: Final = phrases("parties")
"""Other headings and titles that say who is meant."""
AMOUNTS: Final = phrases("amounts")
"""Headings that `how much` asks for."""
DATES: Final = phrases("dates")
"""Words in a heading that say that it is a date, and no more."""
