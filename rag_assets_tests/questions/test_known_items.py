"""Sentences that are cut from texts to find these again."""

from rag_assets.questions.known_items import Rarity, sentences_to_ask

TEXT = """\
Too short.
The salt spray test ran for 500 hours at 35 degrees. It bore that! Was it
| coating | zinc nickel | 8 µm | black |
"""


def test_sentences_stand_in_the_text_as_they_are_and_are_neither_short_nor_long():
    long = " ".join(["word"] * 41)

    found = sentences_to_ask(f"{TEXT}{long}.")

    assert found == [
        "The salt spray test ran for 500 hours at 35 degrees.",
        "| coating | zinc nickel | 8 µm | black |",
    ]
    assert all(sentence in TEXT for sentence in found)


def test_a_sentence_of_words_that_few_texts_have_is_rarer():
    rarity = Rarity(["the part was tested", "the part was welded", "the part was tested again"])

    assert rarity.of("welded") > rarity.of("tested") > rarity.of("part") == 0
    assert rarity.of("") == 0
