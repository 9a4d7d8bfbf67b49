"""German questions in the words that the reading knows; what tables hold stays as it is."""

import pytest

from rag_assets.table_lookup.looking_up import look_up
from rag_assets.table_lookup.words.phrases import language_of
from rag_assets.table_lookup.words.translating import in_english
from rag_assets_tests.table_lookup.beams import catalogue, contents

PARTS = {
    "name": ["Bolzen", "Mutter", "Welle"],
    "weight": ["1.5", "0.5", "1200"],
    "origin": ["Germany", "Sweden", "Germany"],
}
HEADINGS = {"name": "Name", "weight": "Weight (kg)", "origin": "Origin"}
HELD = catalogue(contents(PARTS, table="parts", title="Parts", headings=HEADINGS, hidden=()))


@pytest.mark.parametrize(
    ("german", "english"),
    [
        ("Wie viele Autos haben mehr als 1.000 kg?", "how many car have more than 1000 kg?"),
        ("Was ist das Durchschnittsgewicht?", "what is the average weight?"),
        ("Welche Dichte ist größer als 2,5?", "which density is more than 2.5?"),
        ("Wie hoch ist der Preis von ABC-12?", "how high is the price of ABC-12?"),
    ],
)
def test_phrases_nouns_compounds_and_numbers_are_put_into_english(german, english):
    assert in_english(german, is_held=lambda word: False) == english


def test_what_a_table_holds_is_not_translated():
    assert in_english("Gewicht je Land", is_held={"Land"}.__contains__) == "weight per Land"


@pytest.mark.parametrize(
    ("question", "value"),
    [
        ("Wie viele Teile sind schwerer als 1 kg?", "2"),
        ("Wie schwer ist die Welle?", "1200 kg"),
        ("Was ist das höchste Gewicht?", "1200 kg"),
    ],
)
def test_a_german_question_is_answered_in_german(question, value):
    found = look_up(question, HELD)
    assert language_of(question) == "de"
    assert found.outcome == "answered", found.reason
    assert value in found.sentences[0].text


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("What was the average price in the United States?", "en"),
        ("median house price Dallas", "en"),
        ("Vad är den högsta temperaturen om man kör fort?", "sv"),
        ("Welches Modul hat die größte Fläche?", "de"),
        ("Durchschnittlicher Verbrauch der Anlagen in Watt?", "de"),
    ],
)
def test_a_language_is_told_by_its_words(text, language):
    assert language_of(text) == language
