"""Chunks of whole sentences: where they begin and end, what stays together, what is left out."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rag_assets.documents.elements.element import cleaned_cells, markdown_of
from rag_assets_tests.documents.chunks.test_chunking import (
    block,
    byte_pairs,
    cut,
    header_of,
    word_piece,
)
from rag_assets_tests.documents.test_stability import blocks_of


def sentences(blocks, **options):
    return cut(blocks, **{"strategy": "sentences", "overlap": 0, **options})


def begins(text, **options):
    """With what each of the smallest chunks of a text begins: they hold about one sentence each."""
    options = {"size": 24, **options}
    return [chunk.text[:24] for chunk in sentences([block(0, text)], **options)]


def parts(text, *, size=24):
    return [chunk.text for chunk in sentences([block(0, text)], size=size)]


FILLER = "the plate was bent at the weld until it broke in two"
"""Between two marks: long enough that two of them do not fit a chunk of 24 tokens."""


@pytest.mark.parametrize(
    ("end", "begin"),
    [
        ("again.", "The"),
        ("again?", "The"),
        ("again!", "The"),
        ("again.)", "The"),
        ("\u201dagain.\u201d", "The"),
        ("again.[12]", "The"),
        ("**again.**", "The"),
        ("again.", "(The"),
        ("again.", "Ångström"),
        ("again.", "3 plates"),
        ("again.", "pH"),
        ("EN 10025-2.", "The"),
        ("in 1998.", "The"),
        ("av 5 mm.", "Den"),
        ("skruvar m.m.", "Den"),
        ("bolts etc.", "The"),
        ("AGAIN.", "THE"),
    ],
)
def test_a_chunk_begins_with_a_sentence(end, begin):
    text = f"At first {FILLER} {end} {begin} {FILLER}"
    assert parts(text) == [f"At first {FILLER} {end}", f"{begin} {FILLER}"]


@pytest.mark.parametrize(
    ("end", "begin"),
    [
        ("approx.", "3.5 mm"),
        ("see Fig.", "3 where"),
        ("see Figs.", "A and B where"),
        ("e.g.", "The"),
        ("t.ex.", "Den"),
        ("bl.a.", "Den"),
        ("by Dr.", "Smith"),
        ("by J.", "Smith"),
        ("Smith et al.", "[3]"),
        ("bolts etc.", "that"),
        ("in the U.S.", "Army"),
        ("kl. 3 min.", "5"),
        ("enl.", "SS-EN"),
        ("alloy no.", "5"),
        ("10 Co.", "Ltd"),
        ("again.", "and"),
    ],
)
def test_an_abbreviation_ends_no_sentence(end, begin):
    """The second sentence fits a chunk of its own, and no more."""
    first, second = f"At first {FILLER}, {FILLER}.", f"Then {FILLER} {end} {begin} {FILLER}."
    assert parts(f"{first} {second}", size=word_piece().count(second) + 1) == [first, second]


def test_the_number_of_an_item_ends_no_sentence_and_an_item_begins_one():
    items = [f"{number}. Then {FILLER}" for number in range(1, 4)]
    assert parts("\n".join(items)) == items
    assert parts("\n".join(f"- {item[3:]}" for item in items)) == [f"- {one[3:]}" for one in items]


def test_a_line_break_ends_no_sentence():
    wrapped = f"At first\n{FILLER}.\nThen {FILLER.replace('until', chr(10) + 'Until')}"
    first, second = parts(wrapped)
    assert first.endswith("two.")
    assert second.startswith("Then")


def test_sentences_of_chinese_and_japanese_end_without_a_blank():
    text = "焊接接头的疲劳强度取决于焊缝。板材在焊缝处弯曲直到断裂\uff01其后再次进行试验。"
    found = parts(text, size=20)
    assert "".join(found) == text
    assert all(part[-1] in "。\uff01" for part in found)
    mixed = "使用 Python 3 进行试验的板材断裂。使用 S355 钢材进行试验的板材没有断裂。"
    assert [part[-1] for part in parts(mixed, size=24)] == ["。", "。"]


def test_a_sentence_that_does_not_fit_is_cut_between_its_clauses():
    clause = "the plate was bent at the weld"
    text = f"It broke. When {clause}, and {clause}, and {clause}, and {clause}. Then it held."
    found = parts(text, size=24)
    assert found[0] == "It broke."
    assert found[-1] == "Then it held."
    assert all(part.endswith((",", ".")) for part in found)


def test_a_text_without_punctuation_is_cut_between_words_into_parts_of_some_size():
    counter = word_piece()
    found = sentences([block(0, "word " * 400)], size=64)
    assert all(16 <= counter.count(chunk.text) <= 64 for chunk in found)


def test_no_chunk_reaches_into_the_next_section():
    sections = [[(f"It broke {number}.", "text")] for number in range(3)]
    chunks = sentences(blocks_of(sections), size=256)
    assert [chunk.section_path for chunk in chunks] == [(f"{number} Head",) for number in range(3)]


def test_a_chunk_carries_the_title_and_the_section_that_it_does_not_show():
    path = ("2 Tests",)
    blocks = [
        block(0, "It was rolled.", path=("1 Scope",)),
        block(1, "2 Tests", kind="heading", path=path),
        block(2, f"At first {FILLER}. Then {FILLER}.", path=path),
    ]
    _, first, second = sentences(blocks, size=32, header="section", name="a report")
    assert (header_of(first), header_of(second)) == ("a report\n", "a report > 2 Tests\n")


PAIRS = "Grade: S355J2\nThickness: 12 mm\nHeat: 4711\nYield: 355 MPa\nStrength: 490 MPa"
DEFINITION = "**Fatigue limit**: The range that a part bears. It holds for ever. No part breaks."
CODE = "startTime 0;\nendTime 0.5;\ndeltaT 0.005;\nwriteInterval 20;"


@pytest.mark.parametrize(
    ("text", "kind"), [(PAIRS, "text"), (PAIRS, "list"), (DEFINITION, "text"), (CODE, "code")]
)
@pytest.mark.parametrize("before", range(1, 9))
def test_key_values_definitions_and_code_that_fit_stay_whole(text, kind, before):
    around = "It was bent at the weld. "
    blocks = [
        block(0, (around * before).strip()),
        block(1, text, kind=kind),
        block(2, (around * 4).strip()),
    ]
    assert [chunk for chunk in sentences(blocks, size=64) if text in chunk.text]


def test_a_key_value_list_that_does_not_fit_is_cut_between_its_pairs():
    pairs = "\n".join(f"Grade {number}: S{number} with a yield of {number}" for number in range(20))
    found = parts(pairs, size=48)
    assert len(found) > 3
    assert {line for part in found for line in part.split("\n")} == set(pairs.split("\n"))


def test_a_sentence_that_a_page_or_a_formula_divides_is_cut_last():
    blocks = [
        block(0, f"At first {FILLER}. Then the plate was", page=1),
        block(1, f"bent again. It held and {FILLER}.", page=2),
        block(2, "The stress is", page=2),
        block(3, "$$ s = F / A $$", kind="formula", page=2),
        block(4, f"where F is the force. So {FILLER}.", page=2),
    ]
    starts = [chunk.text.split()[0] for chunk in sentences(blocks, size=40)]
    assert not {"bent", "$$", "where"} & set(starts)


def test_a_sentence_goes_on_after_a_footnote():
    blocks = [
        block(0, f"At first {FILLER}. Then the plate was", page=1),
        block(1, "1 By the second laboratory.", kind="footnote", page=1),
        block(2, f"bent again. It held and {FILLER}.", page=2),
    ]
    for size in range(32, 80, 4):
        starts = [chunk.text.split()[0] for chunk in sentences(blocks, size=size)]
        assert not {"1", "bent"} & set(starts)


def test_a_word_that_is_divided_at_the_end_of_a_line_is_not_parted():
    text = f"At first {FILLER} once more. Then the lami-\nnated {FILLER}."
    assert parts(text, size=28)[1].startswith("Then the lami-\nnated")


def test_what_a_colon_introduces_stays_with_it():
    blocks = [
        block(0, f"It broke. Then {FILLER}. These were tried:"),
        block(1, "- bolts\n- rivets", kind="list"),
    ]
    assert parts_of(blocks, size=32)[-1].endswith("These were tried:\n\n- bolts\n- rivets")


def parts_of(blocks, **options):
    return [chunk.text for chunk in sentences(blocks, **options)]


def test_the_overlap_repeats_whole_sentences():
    text = " ".join(f"It broke at {number}." for number in range(60))
    chunks = sentences([block(0, text)], size=40, overlap=12)
    for chunk, following in pairwise(chunks):
        shared = text[following.char_start : chunk.char_end]
        assert shared.startswith("It broke")
        assert shared.endswith(".")
        assert 0 < word_piece().count(shared) - 2 <= 12
    assert all(chunk.text.startswith("It") and chunk.text.endswith(".") for chunk in chunks)


def test_each_part_of_a_long_table_is_a_table():
    cells = [["grade", "a|b"], *([f"S{number}", str(number)] for number in range(40))]
    table = markdown_of(cleaned_cells(cells))
    caption = block(0, "Table 1. Strength.", kind="caption")
    first, *others = sentences([caption, block(1, table, kind="table")], size=64)
    assert len(others) > 2
    assert first.text.startswith(f"Table 1. Strength.\n\n{table[:30]}")
    for chunk in others:
        assert header_of(chunk) == "Table 1. Strength.\n| grade | a\\|b |\n|-|-|\n"


@pytest.mark.parametrize(
    "nothing",
    [
        "Home",
        "\ue80a",
        "Page 3",
        "Sida 3 av 10",
        "3 / 10",
        "- 7 -",
        "* * *",
        "►",
        "12",
        "Products | Coating centres | Contact",
        "Home » Docs » Read me",
        "- [Home](index.html)\n- [News](news.html)\n- [Contact](mailto:a@example.org)",
    ],
)
def test_what_says_nothing_is_no_chunk(nothing):
    blocks = [
        block(0, nothing, path=("A",)),
        block(1, "2 Tests", kind="heading", path=("2 Tests",)),
        block(2, "It broke.", path=("2 Tests",)),
    ]
    assert parts_of(blocks) == ["2 Tests\n\nIt broke."]
    assert parts_of(blocks[:1], size=256) == [nothing]  # the document has nothing else


def test_an_icon_is_no_chunk_and_a_figure_that_is_described_is_one():
    text, icon = block(0, "It broke."), block(1, "Logo", kind="figure", image="aa")
    assert parts_of([text, icon]) == ["It broke."]
    assert len(parts_of([text, icon._replace(description="A curve that falls.")])) == 2
    assert len(parts_of([text, icon, block(2, "Figure 1", kind="caption")])) == 2


@pytest.mark.parametrize(
    "something",
    [
        "S355J2+N",
        "355 MPa",
        "焊接接头",
        "It broke",
        "Nej.",
        "PA66 | PA6 | PP",
        "- [Results](a.html) of the test\n- [Steel](b.html)\n- [Iron](c.html)",
        "การเชื่อมแผ่นเหล็กกล้าจนกระทั่งแตกหักเสียหาย",
    ],
)
def test_a_short_text_that_says_something_is_a_chunk(something):
    blocks = [
        block(0, something, path=("A",)),
        block(1, "2 Tests", kind="heading", path=("2 Tests",)),
        block(2, "It broke.", path=("2 Tests",)),
    ]
    assert parts_of(blocks)[0] == something


WORD = st.sampled_from("plate weld S355 broke was e.g. 3.5 mm Fig. BENT 焊接 pH (see bl.a.".split())  # noqa: SIM905
SENTENCE = st.lists(WORD, min_size=3, max_size=8).map(lambda words: f"It {' '.join(words)} ends.")
TEXT = st.lists(SENTENCE, min_size=1, max_size=12)


@given(paragraphs=st.lists(TEXT, min_size=1, max_size=6), size=st.integers(48, 120))
@pytest.mark.parametrize("counter", [word_piece, byte_pairs])
def test_each_sentence_that_fits_is_whole_in_a_chunk(counter, paragraphs, size):
    blocks = [block(place, " ".join(text)) for place, text in enumerate(paragraphs)]
    chunks = parts_of(blocks, size=size, counter=counter())
    sentences = [one for text in paragraphs for one in text]
    fitting = [one for one in sentences if counter().count(one) <= size]
    assert all(any(one in chunk for chunk in chunks) for one in fitting)
    if len(fitting) == len(sentences):
        assert all(chunk.startswith("It") and chunk.endswith("ends.") for chunk in chunks)


@pytest.mark.parametrize("text", [".", "(.) ", "[a](b) ", "key: v\n", "x, ", "a | ", "\u3002"])
def test_any_text_is_cut_in_steps_that_grow_with_its_length(text):
    """Where they grow with its square or worse, this does not come to an end."""
    chunks = sentences([block(0, (text * 30_000).strip())], size=64)
    assert len(chunks) > 100
