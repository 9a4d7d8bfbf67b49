"""What a model wrote, taken apart."""

import pytest

from rag_assets.answering.generation.reading import read_answer


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
