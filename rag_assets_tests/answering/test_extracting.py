"""Extractive answers: quoted exactly, in reading order, from few units."""

from hypothesis import given
from hypothesis import strategies as st

from rag_assets.answering.citations import Cell, Span
from rag_assets.answering.extracting import extract
from rag_assets.answering.quoting_limits import QuotingLimits
from rag_assets_tests.answering.found import cells_of, document, row

SPRING = document(
    "springs",
    "Springs\n\nA spring stores energy. Its stiffness is 12 N/mm at room temperature. "
    "It was painted red.",
    pages=(4,),
)
OTHER = document("paint", "Paint is applied twice. It dries in the shade.", rank=2)
BEAM = cells_of("beam", {"Section": "HEA 100", "Mass per metre (kg/m)": 16.7, "Mill": "North"})
SMALL = cells_of("small", {"Section": "UNP 80", "Mass per metre (kg/m)": 8.64, "Mill": "South"})


def test_the_sentence_that_answers_is_quoted_with_its_place():
    [sentence] = extract("What is the stiffness of the spring?", [SPRING, OTHER], most=1)
    [citation] = sentence.citations
    assert sentence.text == "Its stiffness is 12 N/mm at room temperature."
    assert sentence.compared == "verbatim"
    assert isinstance(citation, Span)
    assert SPRING.text[citation.start : citation.end] == citation.text == sentence.text
    assert (citation.uri, citation.pages) == ("springs.md", (4,))


def test_sentences_stand_in_reading_order():
    found = extract("Which energy and stiffness does a painted spring have?", [SPRING], most=4)
    starts = [each.start for one in found for each in one.citations if isinstance(each, Span)]
    assert len(found) == 3
    assert starts == sorted(starts)


def test_what_two_units_say_alike_is_said_once():
    again = document("copy", SPRING.text, rank=2)
    found = extract("What is the stiffness of the spring?", [SPRING, again], most=4)
    texts = [sentence.text for sentence in found]
    assert len(texts) == len(set(texts))


def test_a_row_is_told_by_the_cells_that_are_asked_for():
    rows = {"beam": BEAM, "small": SMALL}
    hits = [row("small"), row("beam", rank=2)]
    found = extract("What is the mass of HEA 100?", hits, most=4, rows=rows)
    told = {sentence.text for sentence in found}
    assert "Section: HEA 100; Mass per metre: 16.7 kg/m." in told
    cells = [each for one in found for each in one.citations if isinstance(each, Cell)]
    assert ("beam", "Mass per metre", 16.7, "kg/m") in {
        (cell.unit_id, cell.heading, cell.value, cell.unit) for cell in cells
    }


def test_a_row_without_cells_is_quoted():
    [sentence] = extract("mass", [row("beam", text="HEA 100 has a mass of 16.7 kg/m")], most=1)
    assert sentence.text == "HEA 100 has a mass of 16.7 kg/m"


def test_a_row_and_a_document_that_is_named_by_it_carry_a_part_each():
    about = document("hea", "HEA 100 is rolled in two passes.", rank=3, title="HEA 100.md")
    hits = [row("small"), row("beam", rank=2), about]
    rows = {"beam": BEAM, "small": SMALL}
    found = extract("How is the beam with mass 16.7 rolled?", hits, most=4, rows=rows)
    kinds = {citation.kind for sentence in found for citation in sentence.citations}
    assert kinds == {"cell", "span"}
    assert {getattr(each, "unit_id", "") for one in found for each in one.citations} == {
        "beam",
        "hea",
    }


def test_nothing_is_said_where_nothing_was_found():
    assert extract("What is the stiffness?", [], most=4) == ()


@given(
    st.lists(st.text(alphabet="ab .|\n-:1", max_size=60), min_size=1, max_size=4),
    st.text(alphabet="ab ?1", max_size=20),
    st.integers(1, 5),
)
def test_every_citation_is_exact_and_there_are_never_too_many(
    texts: list[str], question: str, most: int
):
    hits = [document(f"unit {n}", text, rank=n) for n, text in enumerate(texts, start=1)]
    found = extract(question, hits, most=most)
    by_unit = {hit.unit_id: hit for hit in hits}
    assert len(found) <= most
    for sentence in found:
        for citation in sentence.citations:
            assert isinstance(citation, Span)
            text = by_unit[citation.unit_id or ""].text
            assert text[citation.start : citation.end] == citation.text


def test_a_limit_lets_more_units_speak():
    more = document(
        "steel", "The stiffness of a steel spring is high. Stiffness is tested.", rank=2
    )
    limits = QuotingLimits(units=2, each=1)
    found = extract("stiffness of the spring", [SPRING, more], most=4, limits=limits)
    assert [one.citations[0].unit_id for one in found] == ["springs", "steel"]


def test_what_reads_like_no_sentence_is_left_out_where_there_is_another():
    listed = document(
        "list",
        "Springs in cars J. Power Sources 2011 196 3089 3094. The stiffness of a spring is high."
        "\n\nstiffness of springs in cars and\n\nCars 47.",
    )
    readable = QuotingLimits(readable=True)
    found = extract("stiffness of springs in cars", [listed], most=4, limits=readable)
    assert [one.text for one in found] == ["The stiffness of a spring is high."]
    half = document("half", "the stiffness of a spring that is")
    assert extract("stiffness", [half], most=1, limits=readable)


def test_a_long_text_that_nobody_asked_for_is_not_told():
    noted = cells_of("noted", {"Section": "HEA 100", "Note": "x" * 5_000, "Mill": "North"})
    [sentence] = extract("HEA 100", [row("noted")], most=1, rows={"noted": noted})
    assert sentence.text == "Section: HEA 100; Mill: North."
