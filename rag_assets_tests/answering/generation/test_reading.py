"""What a model wrote, taken apart."""

import time

import pytest

from rag_assets.answering.generation.markup import plain_answer
from rag_assets.answering.generation.reading import LONGEST_ANSWER, MOST_SENTENCES, read_answer


def read(text: str) -> list[tuple[str, tuple[int, ...]]]:
    return [(each.text, each.numbers) for each in read_answer(text).sentences]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is hard [1].", [("It is hard.", (1,))]),
        ("It is hard. [1] It is red [2, 4-5].", [("It is hard.", (1,)), ("It is red.", (2, 4, 5))]),
        ("It is hard. It is red. [3]", [("It is hard.", (3,)), ("It is red.", (3,))]),
        ("It is hard [1].\n\nIt is red.", [("It is hard.", (1,)), ("It is red.", ())]),
        (
            "# Answer\n\n- It is hard [1]\n- It is red [2]",
            [("It is hard", (1,)), ("It is red", (2,))],
        ),
        ("It is hard [1].\n\nReferences:\n[1] a book, page 3", [("It is hard.", (1,))]),
        ("<think>It may be soft [2].</think>It is hard [1].", [("It is hard.", (1,))]),
        ("<think>It may be soft, and so on without end", []),
        (
            "It is hard [1]. It is red [2]. It is hard [1].",
            [("It is hard.", (1,)), ("It is red.", (2,))],
        ),
        ("", []),
        ("[1]", []),
    ],
)
def test_sentences_and_their_numbers(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "absent", "said"),
    [
        ("NOT IN THE SOURCES: the colour of the paint", ("the colour of the paint",), 0),
        ("**Not in the sources:** the colour.", ("the colour",), 0),
        ("It is hard [1].\nNOT IN THE SOURCES: its price.", ("its price",), 1),
        ("It is hard [1]. NOT IN THE SOURCES: its price.", ("its price",), 1),
        ("- NOT IN THE SOURCES", ("",), 0),
    ],
)
def test_what_the_sources_leave_open_is_no_sentence(text, absent, said):
    found = read_answer(text)
    assert found.absent == absent
    assert len(found.sentences) == said


HARD = [("It is hard.", (1,))]
BOTH = [("It is hard.", (1,)), ("It is red.", (2,))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It is hard\u30101\u3011. It is red \u30102\u2020source\u3011.", BOTH),
        ("It is hard [Source 1]. It is red (source 2).", BOTH),
        ("It is hard [Unit 1]. It is red [#2].", BOTH),
        ("It is hard [[1]]. It is red [2](http://a.b/c).", BOTH),
        ("It is hard<sup>1</sup>. It is red<sup>[2]</sup>.", BOTH),
        ("It is hard.\u00b9 It is red.\u00b2", BOTH),
        ("It is hard \\[1\\]. It is red [^2].", BOTH),
        ("It is hard (1). It is red (2).", BOTH),
        ("It is hard [1, p. 4]. It is red [2, page 7].", BOTH),
        ("It is hard <cite>[1]</cite>.<br>It is red [2].", BOTH),
        ("It is hard ([1]). It is red (Source: [2]).", BOTH),
        ("It is hard \uff3b1\uff3d. It is red [ 2 ].", BOTH),
        ("It is hard.\n\n[1]", [("It is hard.", (1,))]),
        ("According to [1], it is hard.", [("it is hard.", (1,))]),
        ("\u201cIt is hard.\u201d [1]", [("\u201cIt is hard.\u201d", (1,))]),
        ("It is hard [1 and 2].", [("It is hard.", (1, 2))]),
        ("It is hard [1][2].", [("It is hard.", (1, 2))]),
        ("It is hard [Sources 1, 2].", [("It is hard.", (1, 2))]),
    ],
)
def test_every_way_of_citing_is_read(text, expected):
    assert read(text) == expected


def test_a_power_is_no_citation():
    assert read("The area is 5 m\u00b2 (see (1)) [2].") == [
        ("The area is 5 m\u00b2 (see (1)).", (2,))
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[1] It is hard.", HARD),
        ("[1] It is hard. [2] It is red.", BOTH),
        ("- [1] It is hard.\n- [2] It is red.", BOTH),
        ("It is hard [1].\n\n[1] spring.pdf, page 3", HARD),
        ("It is hard [1].\n\n---\n[1]: spring.pdf", HARD),
    ],
)
def test_marks_before_a_sentence_are_its_own_unless_they_list_sources(text, expected):
    assert read(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("**It** is `hard` [1]. __It__ is *red* [2].", BOTH),
        ("1. It is hard. [1]\n2. It is red. [2]", BOTH),
        ("## Answer\n\nIt is hard [1].", HARD),
        ("**Answer:** It is hard [1].", HARD),
        ("```\nIt is hard [1].\n```", HARD),
        ("It is $12\\,\\mathrm{N/mm}$ [1].", [("It is 12 N/mm.", (1,))]),
        ("It is \\(20\\,^{\\circ}\\mathrm{C}\\) [1].", [("It is 20 \u00b0C.", (1,))]),
        ("It costs $5 or $6 [1].", [("It costs $5 or $6.", (1,))]),
        (
            "| part | force |\n|:--|--:|\n| spring | 12 N [1] |",
            [("part: spring; force: 12 N", (1,))],
        ),
        ("The name is a_b_c and 3*4*5 [1].", [("The name is a_b_c and 3*4*5.", (1,))]),
    ],
)
def test_markup_is_no_part_of_a_sentence(text, expected):
    assert read(text) == expected


def test_an_item_is_read_with_what_introduces_it():
    """`welding` alone is in a source that allows it as well as in one that forbids it."""
    text = "It is hard [1]. Never use it for:\n\n- welding [1]\n2. cutting [2]\n\nIt is red [2]."
    assert read(text) == [
        ("It is hard.", (1,)),
        ("Never use it for:", ()),
        ("Never use it for welding", (1,)),
        ("Never use it for cutting", (2,)),
        ("It is red.", (2,)),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "<answer>It is hard [1].</answer>",
        "It is hard [1].\n\nI hope this helps! Let me know if you have questions.",
        "> It is hard [1].",
        "Here are the facts:\n- It is hard. [1]",
        "Sure! Here is the answer:\n\nIt is hard [1].",
        "How hard is it? It is hard [1].",
        "It may be soft [2].\n</think>\n\nIt is hard [1].",
        "<thinking>Soft.</thinking>It is hard [1].",
        "It \x00is\x1b \u202ehard\u200b [1].",
        "<source-0123abcd>It is hard</source-0123abcd> [1].",
        "It is hard [1]. " * 50,
        "It is hard.\n\nIt is hard [1].",
    ],
)
def test_what_says_nothing_is_left_out(text):
    assert read(text) == HARD


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use e.g. 5 mm of Fig. 3, i.e. 2.5 mm [1].", 1),
        ("Der Wert ist z. B. 5 mm, vgl. Abb. 3 [1].", 1),
        ("It was found by Smith et al. 2003 on p. 5 [1].", 1),
        ("\u5b83\u662f\u786c\u7684[1]\u3002\u5b83\u662f\u7ea2\u7684[2]\u3002", 2),
    ],
)
def test_full_stops_that_end_nothing_and_others(text, expected):
    assert len(read(text)) == expected


@pytest.mark.parametrize(
    ("text", "absent"),
    [
        ("The sources do not mention the price [1].", "the price"),
        ("The provided context doesn't contain information about the price.", "the price"),
        ("I cannot answer this question.", "this question"),
        ("Unfortunately, the documents say nothing about the price [1, 2].", "the price"),
        ("The price is not stated in the sources [1].", "The price"),
        ("The price is not in the sources.", "The price"),
        ("There is no information about the price in the sources [1].", "the price"),
        ("K\u00e4llorna anger inte priset [1].", "priset"),
        ("NOT IN THE SOURCES:\nthe price", "the price"),
        ("NOT IN THE SOURCES: the price [1].", "the price"),
    ],
)
def test_a_refusal_in_other_words_is_no_answer(text, absent):
    found = read_answer(text)
    assert (found.sentences, found.absent) == ((), (absent,))


@pytest.mark.parametrize(
    "text",
    [
        "The steel does not contain lead [1].",
        "It is not in the furnace for more than 5 hours [1].",
        "The spring is not specified for use in water [1].",
        "There is no lead in the steel [1].",
    ],
)
def test_what_a_source_denies_is_an_answer(text):
    assert len(read(text)) == 1
    assert not read_answer(text).absent


MANY = 50_000


@pytest.mark.parametrize(
    "text",
    [
        f"NOT IN THE SOURCES: a{'-' * MANY}b{'-' * MANY}c",
        f"- [1] a{' ' * MANY}b",
        f"It is hard [1]{' ' * MANY}x",
        f"a{chr(10) * MANY}b [1].",
        "[1]" * MANY,
        ".[1" * MANY,
        "[1," * MANY,
        "<think>" * MANY,
        "$x" * MANY,
        "I cannot say " * MANY,
        "".join(f"It is {number} mm long [1]. " for number in range(MANY)),
        f"It is hard [1-999]. {'It is hard [1-999] ' * MANY}",
    ],
)
def test_no_answer_takes_long_to_read(text):
    started = time.monotonic()
    found = read_answer(text)
    assert time.monotonic() - started < 5
    assert len(found.sentences) <= MOST_SENTENCES
    assert sum(len(each.text) for each in found.sentences) <= 2 * LONGEST_ANSWER


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("It stands 10**6 cycles [1].", "It stands 10**6 cycles [1]."),
        ("2 ** 3 is x**(n) [1].", "2 ** 3 is x**(n) [1]."),
        ("***Hot*** and **very**(!) hot: **5 bar** [1].", "Hot and very(!) hot: 5 bar [1]."),
    ],
)
def test_powers_are_kept_and_marks_of_emphasis_are_not(written, plain):
    assert plain_answer(written, longest=1_000) == plain
