"""The language of a text, told by its words where there are enough of them."""

import re
from itertools import product
from string import ascii_lowercase

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.quality.languages import STOP_WORDS, language_of_each, languages_of

TEXTS = {
    "en": "The tests were done at room temperature, and the results are listed in the table.",
    "sv": "Proverna gjordes vid rumstemperatur och resultaten anges i tabellen som står nedan.",
    "de": "Die Proben wurden bei Raumtemperatur geprüft und die Ergebnisse sind in der Tabelle.",
    "fr": "Les essais sont faits dans le laboratoire et les valeurs sont dans la table.",
    "es": "Los ensayos se hacen en el laboratorio y los valores son los de la tabla que sigue.",
    "it": "Le prove sono state fatte nel laboratorio e i valori della tabella sono per gli altri.",
    "nl": "De proeven zijn bij kamertemperatuur gedaan en het resultaat wordt in een tabel gezet.",
    "fi": "Kokeet tehtiin huoneessa ja tulokset ovat taulukossa, joka ei ole kuin osa siitä.",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_sentence_tells_its_language(language):
    assert language_of_each(pa.array([TEXTS[language]])).to_pylist() == [language]


def test_what_has_too_few_words_of_any_language_has_none():
    texts = pa.array(["12.5 MPa", "", "Steel S355J2", "grammage - unit kg/m^2"])
    assert language_of_each(texts).to_pylist() == [None] * 4
    assert languages_of(texts) == {"other": 4}


def test_a_draw_is_not_decided():
    assert language_of_each(pa.array(["the of och att"])).to_pylist() == [None]


def test_no_texts_have_no_languages():
    assert languages_of(pa.array([], pa.string())) == {}
    assert language_of_each(pa.array([], pa.string())).to_pylist() == []


def test_no_other_word_of_three_letters_is_taken_for_a_stop_word():
    words = list(map("".join, product(ascii_lowercase, repeat=3)))
    told = language_of_each(pa.array([f"{word} {word}" for word in words])).to_pylist()
    listed = {word for of_language in STOP_WORDS.values() for word in of_language.split()}
    assert {word for word, language in zip(words, told, strict=True) if language} <= listed


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string()])
def test_a_text_is_told_however_arrow_holds_it(kind):
    texts = pa.array([TEXTS["sv"], None, TEXTS["en"]], kind)
    assert language_of_each(texts).to_pylist() == ["sv", None, "en"]


WORDS = sorted({word for words in STOP_WORDS.values() for word in words.split()})
PARTS = [
    *WORDS,
    "The",
    "ENLIGT",
    "of_",
    "3",
    "eightish",
    "x" * 9,
    "\u00e9",
    "-",
    " ",
    "\n",
    "\u00a0",
]
TEXT = st.lists(st.sampled_from(PARTS) | st.just(" "), max_size=12).map("".join)


@given(st.lists(TEXT, max_size=6), st.integers(0, 3))
def test_words_are_told_apart_as_a_regular_expression_would(texts, first):
    def told(text):
        found = re.findall(r"\w+", text.lower(), re.ASCII)
        counts = {code: sum(map(words.split().count, found)) for code, words in STOP_WORDS.items()}
        most = max(counts.values())
        best = [code for code, count in counts.items() if count == most]
        return best[0] if most >= 2 and len(best) == 1 else None

    assert language_of_each(pa.array(texts, pa.string())[first:]).to_pylist() == [
        told(text) for text in texts[first:]
    ]
