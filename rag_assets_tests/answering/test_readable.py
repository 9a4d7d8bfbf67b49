"""What a report does not quote though a parser takes it for sentences, and what it does."""

import pytest

from rag_assets.answering.choosing import QuotingLimits
from rag_assets.answering.extracting import extract
from rag_assets.answering.refusal.terms import terms_of
from rag_assets_tests.answering.found import document

REFERENCES = (
    "PrimdahlS.MogensenM. Gas diffusion in fuel cell anodes J. Electrochem. Soc. 1999 146 2827 "
    "2833 10.1149/1.1392015 136. KlemensoeT. In situ observations of fuel cell anodes Solid State "
    "Lett. 2006 9 403 406. VohsJ. Materials for fuel cell technologies. Nature 414, 345\u2013352 "
    "(2001)."
)
PROSE = "The anode of a fuel cell is made of nickel. Its pores let the gas in."
LIMITS = QuotingLimits(units=5, readable=True)


def quoted(*texts: str, question: str = "fuel cell anodes", limits: QuotingLimits = LIMITS):
    hits = [document(f"unit{rank}", text, rank=rank) for rank, text in enumerate(texts, start=1)]
    return [sentence.text for sentence in extract(question, hits, most=6, limits=limits)]


def test_no_entry_of_a_bibliography_is_quoted_though_it_names_what_is_asked():
    assert quoted(REFERENCES, PROSE) == PROSE.replace(". ", ".|").split("|")
    assert quoted(REFERENCES) == []


@pytest.mark.parametrize(
    "text",
    [
        "| Fuel cell anodes | . . . . . | P-28 |\n|---|---|---|\n| Anodes . . . . . | 3 | 4 |",
        "Fuel cell anodes ........................ 12.",
    ],
)
def test_no_line_of_contents_is_quoted(text):
    assert quoted(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "Figure 1.1: Overview of fuel cell anodes.",
        "Fig. 3 Fuel cell anodes after use.",
        "Table A-2: Anodes of fuel cells.",
        "Bild 3: Fuel cell anodes.",
        "-DanodeMachine -Wall -O2 -I../lnInclude -lm -o anode.o.",
    ],
)
def test_captions_and_code_are_quoted_only_where_there_is_nothing_else(text):
    assert text not in quoted(f"{text}\n\n{PROSE}")
    assert quoted(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "Figure 3 shows fuel cell anodes.",
        "Between 2010 and 2015, 12 fuel cell anodes were tested at 700, 750 and 800 degrees.",
        "Fuel cell anodes fail [3, 5-7].",
        "Anodes (10-20 %) last 3, 4 or 5-6 years.",
    ],
)
def test_prose_with_numbers_is_quoted(text):
    assert text in quoted(f"{text} {PROSE}")


def test_sentences_that_name_nothing_of_the_topic_are_left_out():
    text = "The fuel cell works at 700 degrees. Sulfur harms it. A fuel cell needs fuel."
    limits = QuotingLimits(units=5, readable=True, about=terms_of("Sulfur poisoning"))
    assert quoted(text, question="sulfur poisoning (fuel cell)", limits=limits) == [
        "Sulfur harms it."
    ]


def test_they_are_kept_where_no_sentence_names_it():
    limits = QuotingLimits(units=5, readable=True, about=terms_of("Creep"))
    assert len(quoted(PROSE, limits=limits)) == 2
