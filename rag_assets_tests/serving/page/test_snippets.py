"""Snippets: the part that fits, its rows and formulas, the words of the query; all else is text."""

import pytest
from markupsafe import Markup

from rag_assets.serving.http.bodies import HitReply
from rag_assets.serving.http.page import snippets
from rag_assets.serving.http.page.snippets import LENGTH

TABLE = """\
Alloys of this shop.

| name | density |
| --- | --- |
| Brass | 8.4 |
| Invar <x> | 8.05 |
| Copper | 8.9 |
| Zinc | 7.1 |
| Lead | 11.3 |

They are sold by weight."""


def snippet_of(text, query, **place):
    place = {"title": "Wares", "section": "2 Stock", "uri": "wares.md", **place}
    return snippets.snippet_of(HitReply.model_construct(text=text, **place), query)


def test_the_header_of_a_chunk_is_left_out_as_it_stands_above():
    text = "Wares > 2 Stock\n\nWares are sold."
    assert snippet_of(text, "ware") == "<mark>Wares</mark> are sold."
    assert snippet_of("Wares > 2 Stock", "ware") == "<mark>Wares</mark> &gt; 2 Stock"


def test_rows_stand_below_their_header_from_the_one_that_fits_on():
    assert snippet_of(TABLE, "density of Invar") == [
        ["name", "<mark>density</mark>"],
        ["<mark>Invar</mark> &lt;x&gt;", "8.05"],
        ["Copper", "8.9"],
        ["Zinc", "7.1"],
    ]


def test_a_text_ends_where_a_table_begins_and_says_that_more_is_there():
    assert snippet_of(TABLE, "shops") == "Alloys of this <mark>shop</mark>. …"
    assert snippet_of(TABLE, "sold") == "… They are <mark>sold</mark> by weight."


@pytest.mark.parametrize(
    ("text", "query", "shown"),
    [
        ("The welds are ground.", "How is a weld ground?", "The {welds} are {ground}."),
        ("Svetsarna slipas.", "slipa svetsar", "{Svetsarna} {slipas}."),
        ("Of 1040, not 10400 or 104.", "1040", "Of {1040}, not 10400 or 104."),
        ("It bears 12,5 kN.", "12,5", "It bears {12,5} kN."),
        ("Nothing of it.", "quibblezorp", "Nothing of it."),
        ("", "steel", ""),
    ],
)
def test_words_are_marked_in_any_form_and_numbers_as_they_are(text, query, shown):
    wanted = shown.replace("{", "<mark>").replace("}", "</mark>")
    assert snippet_of(text, query) == wanted


def test_what_a_source_says_stays_text():
    shown = snippet_of('<img src=x onerror="a"> $$\\text{<script>}$$ & steel', "steel img")
    assert shown == (
        "&lt;<mark>img</mark> src=x onerror=&#34;a&#34;&gt; &lt;script&gt; &amp; <mark>steel</mark>"
    )
    assert isinstance(shown, Markup)


def test_formulas_and_headings_are_shown_without_their_marks():
    text = "# Stress\n\nThe stress is $$\\sigma_{max} = \\frac{F}{A}$$ in a bar."
    assert "\u03c3_max = F/A" in snippet_of(text, "bar")
    assert not {"$", "#"} & {*snippet_of(text, "bar")}
    assert snippet_of("It costs $5 and $$\\frac{$$.", "cost")


def test_a_long_sentence_is_shown_from_where_it_fits():
    shown = snippet_of(f"{'many words ' * 80}about steel {'and more ' * 80}.", "steel")
    assert "<mark>steel</mark>" in shown
    assert shown.startswith("… ")
    assert shown.endswith(" …")
    assert len(shown) < LENGTH + 20
