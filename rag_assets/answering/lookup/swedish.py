"""Swedish words and what they are called in English: measures, materials, trade and time.

Only whole words and parts of compounds that stand in many fields: `words/swedish.txt`. A table with
headings in the question's language does not need them.
"""

from typing import Final

from rag_assets.answering.lookup.word_files import WordFile

ENGLISH: Final = WordFile("swedish").words_by_word("english")
"""A Swedish word in its lemma, to the English words that a heading may have."""
