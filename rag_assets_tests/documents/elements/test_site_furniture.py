"""What repeats at the edges of the pages of a web site is in no chunk."""

import pytest

from rag_assets.documents.chunks.document_texts import texts_of
from rag_assets.documents.chunks.regions import Block
from rag_assets.documents.elements.site_furniture import set_aside

pytestmark = pytest.mark.usefixtures("in_process")


@pytest.fixture
def site(project):
    """Three pages of a site, and what has to be in their chunks."""

    def write(*names):
        for number, name in enumerate(names):
            project.write(
                f"site/{name}.html",
                "<html><body><nav><a href='x'>Manual</a> <a href='y'>Index</a></nav>"
                f"<div><a href='z'>Products</a> and services of the works</div><h1>The {name}</h1>"
                f"<p>Last changed on 2026-03-0{number} by the editors of the manual</p>"
                f"<p>The {name} is checked every week before the work begins.</p>"
                "<p>Warning: disconnect the power before any work on the machine.</p>"
                f"<p>Only then the {name} is opened. It weighs <del>120</del> 95 kg.</p>"
                "<h2>Legal notice</h2><p>All rights are reserved by the Granholm works.</p>"
                "<footer>Imprint and contact</footer></body></html>",
            )
        project.list_files()
        project.parse()
        return project.chunk()

    return write


def texts(project, name):
    return " ".join(row["text"] for row in project.chunks(f"site/{name}.html"))


def test_what_the_pages_of_a_site_repeat_is_in_no_chunk_and_stays_in_the_document(project, site):
    site("pump", "crane", "valve")
    held = texts(project, "pump")

    assert held.startswith("The pump\n\nThe pump is checked")
    assert held.endswith("It weighs 95 kg.")
    assert "Warning: disconnect the power" in held
    elements = " ".join(row["text"] for row in project.elements("site/pump.html"))
    assert "Products and services" in elements
    assert "All rights are reserved" in elements
    assert "Manual | Index" in elements
    assert "120" not in elements


def test_the_text_of_a_page_is_that_which_its_chunks_are_cut_from(project, site):
    site("pump", "crane", "valve")
    own = project.id_of("site/pump.html")
    elements = project.elements_table
    [text] = texts_of(project.store, elements=elements, descriptions=None, documents=[own]).values()

    for chunk in project.chunks("site/pump.html"):
        assert chunk["text"].endswith(text[chunk["char_start"] : chunk["char_end"]])
    assert text.startswith("The pump\n\nThe pump is checked")


def test_what_repeats_is_known_once_there_are_enough_pages_and_others_are_cut_again(project, site):
    site("pump", "crane")
    before = texts(project, "pump")
    report = site("pump", "crane", "valve")

    assert "All rights are reserved" in before
    assert "Imprint" not in before
    assert "All rights are reserved" not in texts(project, "pump")
    assert (report.added, report.changed) == (1, 2)
    assert site("pump", "crane", "valve").touched == 0


def test_names_of_themes_set_aside_lists_of_links_and_footers_alone(project):
    project.write(
        "a.html",
        "<html><body><div class='sidebar'><a href='1'>One</a> <a href='2'>Two</a></div>"
        "<h1>Pumps</h1><div class='sidebar'><p>Fill it before the start, see page 2.</p></div>"
        "<div id='page-footer'>Updated by the works in March</div></body></html>",
    )
    project.list_files()
    project.parse()

    assert [(row["type"], row["text"]) for row in project.elements("a.html")] == [
        ("page_header", "One | Two"),
        ("title", "Pumps"),
        ("text", "Fill it before the start, see page 2."),
        ("page_footer", "Updated by the works in March"),
    ]


def test_data_sheets_of_one_form_keep_their_numbers(project):
    for name, mass in (("pump", 25), ("crane", 900), ("valve", 3)):
        project.write(
            f"site/{name}.html",
            f"<html><body><h1>The {name}</h1><p>Mass: {mass} kg</p><table><tr><th>load</th>"
            f"<th>price</th></tr><tr><td>{mass} kN</td><td>{mass}.50 SEK</td></tr></table>"
            f"<p>Copyright 2026 Granholm works, page {mass}</p></body></html>",
        )
    project.list_files()
    project.parse()
    project.chunk()

    held = texts(project, "crane")
    assert "Mass: 900 kg" in held
    assert "900.50 SEK" in held
    assert "Granholm works" not in held


def test_sentences_of_one_form_with_a_year_keep_their_numbers(project):
    for year, price in ((2021, 250), (2022, 275), (2023, 310)):
        project.write(
            f"site/{year}.html",
            f"<html><body><h1>Prices {year}</h1><p>The oven costs {price} euro in {year}.</p>"
            f"<p>Offer of {year}: {price} euro.</p><p>Updated 3 March {year}, 12:30</p>"
            f"<p>Updated on {year}-03-05</p></body></html>",
        )
    project.list_files()
    project.parse()
    project.chunk()

    held = texts(project, "2022")
    assert "The oven costs 275 euro in 2022." in held
    assert "Offer of 2022: 275 euro." in held
    assert "Updated" not in held


def test_a_page_that_others_repeat_as_a_whole_keeps_its_words():
    blocks = [
        Block(place, kind, text, None, ())
        for place, (kind, text) in enumerate([("title", "Pump"), ("text", "own"), ("text", "end")])
    ]

    assert set_aside(blocks, frozenset({"own", "end"})) == blocks


def test_the_footer_of_a_card_is_no_footer_of_the_page(project):
    cards = "".join(
        f"<div class='card'><h3>{name}</h3><div class='card-footer'>Costs {price} SEK</div></div>"
        for name, price in (("Pump", 250), ("Crane", 900))
    )
    page = f"<h1>Prices</h1>{cards}<div class='page-footer'>Imprint</div>"
    project.write("a.html", f"<html><body>{page}</body></html>")
    project.list_files()
    project.parse()

    held = [row["text"] for row in project.elements("a.html") if row["type"] == "text"]
    assert held == ["Costs 250 SEK", "Costs 900 SEK"]


def test_a_text_between_other_words_is_no_furniture():
    blocks = [
        Block(place, kind, text, None, ())
        for place, (kind, text) in enumerate(
            [
                ("text", "menu"),
                ("title", "Pump"),
                ("text", "own"),
                ("text", "menu"),
                ("text", "end"),
            ]
        )
    ]

    assert [block.type for block in set_aside(blocks, frozenset({"menu"}))] == [
        "page_header",
        "title",
        "text",
        "text",
        "text",
    ]
