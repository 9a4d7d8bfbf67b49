"""Hyphens at the ends of lines: words are joined where that makes a word, and nowhere else."""

import pytest

from rag_assets.documents.elements.element import LINE_END, Element, clean, prose_of
from rag_assets.documents.elements.line_ends import with_line_ends

SWEDISH = "Det här är en text som handlar om pumpar, och den ska vara på svenska. "
GERMAN = "Das ist der Text von dem die Rede ist, und er ist auf Deutsch mit allem. "
ENGLISH = "This is the text that was written for the test, and it is in English. "


def read(*lines: str) -> str:
    [element] = with_line_ends([Element("text", clean(prose_of(lines)))])
    return element.text


@pytest.mark.parametrize(
    ("language", "first", "second", "expected"),
    [
        (SWEDISH, "vid pumpens in-", "och utlopp", "in- och utlopp"),
        (SWEDISH, "drag-, tryck-", "samt skjuvprov", "tryck- samt skjuvprov"),
        (SWEDISH, "Ett rost-", "skydd", "rostskydd"),
        (SWEDISH, "En temperaturgi-", "vare", "temperaturgivare"),
        (SWEDISH, "Ett PVC-", "rör", "PVC-rör"),
        (SWEDISH, "inom EU-", "och EES-länder", "EU- och EES-länder"),
        (GERMAN, "Schrauben an Ein-", "und Ausgang", "Ein- und Ausgang"),
        (GERMAN, "Der Korrosions-", "schutz", "Korrosionsschutz"),
        (GERMAN, "Von Ost-", "West", "Ost-West"),
        (ENGLISH, "in short-", "and long-term tests", "short- and long-term tests"),
        (ENGLISH, "and two-", "or three-phase", "two- or three-phase"),
        (ENGLISH, "a three-", "phase machine", "three-phase machine"),
        (ENGLISH, "of the micro-", "structure", "microstructure"),
        (ENGLISH, "the rule XQ-", "1090", "XQ-1090"),
        (ENGLISH, "THE MICRO-", "STRUCTURE", "MICROSTRUCTURE"),
        ("", "10.5 in-", "och utlopp", "in- och utlopp"),
    ],
)
def test_a_word_is_joined_where_that_makes_one(language, first, second, expected):
    assert read(f"{language}{first}", f"{second} {language}").count(expected) == 1


def test_the_document_knows_its_own_words():
    assert "the Quadrofit is" in read("Our Quadrofit. And the Quadro-", "fit is new.")
    kept = read(f"{ENGLISH} In a long-term test, in a long-", "term test.")
    assert kept.count("long-term") == 2


def test_a_text_in_several_languages_is_read_by_what_stands_near():
    text = read("Det ska ligga ett rost-", f"skydd på alla bultar och gängor. {ENGLISH * 3}")
    assert "rostskydd" in text


def test_cells_and_the_text_of_tables_agree():
    table = Element("table", f"| rost{LINE_END}skydd |", cells=((f"rost{LINE_END} skydd",),))
    [_, read] = with_line_ends([Element("text", "Ett rostskydd."), table])
    assert (read.text, read.cells) == ("| rostskydd |", (("rostskydd",),))


def test_nothing_is_left_of_what_parsers_write():
    ends = f"in{LINE_END}", f"{LINE_END}", f"2{LINE_END}och", f"x{LINE_END} 12"
    found = with_line_ends([Element("text", text) for text in ends])
    assert [element.text for element in found] == ["in-", "-", "2-och", "x-12"]
