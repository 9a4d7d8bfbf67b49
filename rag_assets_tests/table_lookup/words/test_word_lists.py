"""The word lists hold words of languages, none of a trade."""

import csv
from pathlib import Path

from rag_assets.table_lookup.words import adjectives, word_forms

GLOSSARY = Path(__file__).parents[3] / "data" / "glossary.csv"


def test_what_words_of_the_demos_trade_mean_is_said_by_its_glossary_alone():
    with GLOSSARY.open(newline="", encoding="utf-8") as file:
        words = {word for row in csv.DictReader(file) for word in row["synonyms"].split("|")}
    assert "hårdhet" in words
    assert not words & (word_forms.ENGLISH.keys() | adjectives.SAME.keys())
