"""Tables, figures and formulas: units of their own, whole where they fit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.documents.chunks.regions import DocumentText
from rag_assets.documents.elements.element import cleaned_cells, markdown_of
from rag_assets_tests.documents.chunks.test_chunking import (
    STRATEGIES,
    block,
    cut,
    documents,
    header_of,
    word_piece,
)

ALL = pytest.mark.parametrize("strategy", ["fixed", "headers", "content", "sentences"])
HEAD = "| grade | yield |"
TABLE = markdown_of([["grade", "yield"], ["S355", "355"], ["S420", "420"]])


def long_table(rows):
    cells = [["grade", "yield"], *([f"S{number}", str(number)] for number in range(rows))]
    return markdown_of(cleaned_cells(cells))


def slices(chunks):
    return [chunk.text[len(header_of(chunk)) :] for chunk in chunks]


@ALL
def test_a_table_or_figure_with_its_caption_and_heading_shares_no_chunk_with_prose(strategy):
    blocks = [
        block(0, "Before."),
        block(1, "Results", kind="heading", path=("Results",)),
        block(2, "Table 1. Strength.", kind="caption", path=("Results",)),
        block(3, TABLE, kind="table", path=("Results",)),
        block(4, "Between.", path=("Results",)),
        block(5, "crack grip", kind="figure", path=("Results",)),
        block(6, "Figure 1. A specimen.", kind="caption", path=("Results",)),
        block(7, "After.", path=("Results",)),
    ]
    chunks = cut(blocks, strategy=strategy, size=64)
    assert [(chunk.type, part) for chunk, part in zip(chunks, slices(chunks), strict=True)] == [
        ("text", "Before."),
        ("table", f"Results\n\nTable 1. Strength.\n\n{TABLE}"),
        ("text", "Between."),
        ("figure", "crack grip\n\nFigure 1. A specimen."),
        ("text", "After."),
    ]


def test_a_caption_between_a_table_and_a_figure_goes_with_what_it_names():
    def joined(caption):
        parts = [(TABLE, "table"), (caption, "caption"), ("grip", "figure")]
        chunks = cut([block(place, text, kind=kind) for place, (text, kind) in enumerate(parts)])
        (found,) = (chunk.type for chunk in chunks if caption in chunk.text)
        return found

    assert joined("Table 2. Strength") == "table"
    assert joined("Figure 2. Grip") == "figure"
    assert joined("Tabell 2. Hållfasthet") == "table"


def test_a_figure_without_words_is_shown_by_its_caption_and_without_one_by_nothing():
    blocks = [
        block(0, "Text."),
        block(1, "", kind="figure", image="aa"),
        block(2, "Figure 1. Grip.", kind="caption"),
        block(3, "", kind="figure"),
    ]
    _, figure = cut(blocks)
    assert (figure.type, figure.image, figure.text) == ("figure", "aa", "Figure 1. Grip.")
    assert (figure.element_start, figure.element_end) == (1, 2)


def test_a_figure_stands_below_the_paragraph_that_refers_to_it_or_its_section():
    path = ("2 Tests",)
    figure = block(3, "Fig. 2. Grip.", kind="figure", path=path)
    text = [block(1, "See Figure 12.", path=path), block(2, "Figure 2 shows wedges.", path=path)]
    head = block(0, "2 Tests", kind="heading", path=path)
    assert cut([head, *text, figure])[-1].text == "Figure 2 shows wedges.\nFig. 2. Grip."
    assert cut([head, text[0], figure])[-1].text == "2 Tests\nFig. 2. Grip."


def test_a_figure_is_found_by_what_a_vision_model_says_of_it():
    figure = block(0, "", kind="figure", image="aa", description="A curve that  falls.")
    caption = block(1, "Figure 1. Hardness.", kind="caption", path=("Tests",))
    (chunk,) = cut([figure, caption])
    assert chunk.text == "Tests\nA curve that falls.\nFigure 1. Hardness."


@ALL
def test_a_long_table_is_cut_between_rows_below_its_caption_and_header_row(strategy):
    blocks = [
        block(0, "Table 1. Strength.", kind="caption"),
        block(1, long_table(40), kind="table"),
    ]
    first, *others = cut(blocks, strategy=strategy, size=64)
    assert first.text.startswith(f"Table 1. Strength.\n\n{HEAD}\n")
    lines = long_table(40).split("\n")
    for chunk in others:
        rule = "|-|-|\n" if strategy == "sentences" else ""
        assert header_of(chunk) == f"Table 1. Strength.\n{HEAD}\n{rule}"
        assert set(slices([chunk])[0].split("\n")) <= set(lines[2:])
    held = [line for part in slices([first, *others]) for line in part.split("\n")]
    assert held[2:] == lines


def test_a_header_row_that_is_too_long_is_not_repeated():
    wide = [["a long name of a column"] * 9, *([["x"] * 9] * 20)]
    chunks = cut([block(0, markdown_of(cleaned_cells(wide)), kind="table")], size=64)
    assert len(chunks) > 2
    assert {header_of(chunk) for chunk in chunks} == {""}


@ALL
def test_a_formula_that_fits_is_not_cut(strategy):
    formula = "$$ a = b + c \\cdot d $$"
    for words in range(1, 80):
        blocks = [
            block(0, "word " * words + "end."),
            block(1, formula, kind="formula"),
            block(2, "word " * 40 + "end."),
        ]
        chunks = cut(blocks, strategy=strategy, size=48, overlap=12)
        for chunk in chunks:
            assert formula in chunk.text or not {"$$", "\\cdot", "+"} & set(chunk.text.split())


def test_a_chunk_of_formulas_alone_says_so():
    path = ("1",)
    (chunk,) = cut([block(0, "$$ a = b $$", kind="formula", path=path)])
    assert (chunk.type, chunk.tokens) == ("formula", word_piece().count("$$ a = b $$"))


def test_the_language_of_a_chunk_is_that_of_most_of_its_characters():
    parts = [("en", "Short."), ("sv", "En mycket längre mening."), (None, "?" * 60)]
    blocks = [block(place, text, language=language) for place, (language, text) in enumerate(parts)]
    (chunk,) = cut(blocks, size=128)
    assert chunk.language == "sv"


@given(blocks=documents(), strategy=STRATEGIES, size=st.integers(16, 60))
def test_only_captions_and_headings_stand_beside_a_table_or_figure(blocks, strategy, size):
    document = DocumentText.of(blocks)
    for chunk in cut(blocks, strategy=strategy, size=size):
        kinds = [
            kept.type
            for kept, start in zip(document.blocks, document.starts, strict=True)
            if start < chunk.char_end and start + len(kept.text) > chunk.char_start
        ]
        shown = {"table", "figure"} & set(kinds)
        if chunk.type in ("table", "figure"):
            assert set(kinds) <= {chunk.type, "caption", "heading"}
        else:
            assert not shown
            assert (chunk.type == "formula") == (set(kinds) == {"formula"})
