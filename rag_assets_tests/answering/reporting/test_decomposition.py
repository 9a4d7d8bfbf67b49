"""A prompt with several topics is taken apart by rules; one with a single topic stays whole."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_assets.answering.reporting.decomposition import MOST_PARTS, decomposed


def titles(prompt: str) -> list[str]:
    return [part.title for part in decomposed(prompt).parts]


@pytest.mark.parametrize(
    ("prompt", "topic", "parts"),
    [
        (
            "Write a report on corrosion of steel covering causes, protection and testing.",
            "Corrosion of steel",
            ["Causes", "Protection", "Testing"],
        ),
        (
            "Skriv en rapport om korrosion av stål som tar upp orsaker, ytskydd och provning.",
            "Korrosion av stål",
            ["Orsaker", "Ytskydd", "Provning"],
        ),
        (
            "Sammanfatta kraven på ytbehandling: (1) skikttjocklek, (2) vidhäftning (3) provning",
            "Kraven på ytbehandling",
            ["Skikttjocklek", "Vidhäftning", "Provning"],
        ),
        (
            "I need a guide to heat treatment:\n1. Quenching\n2. Ageing, natural and artificial\n",
            "Heat treatment",
            ["Heat treatment", "Quenching", "Ageing, natural and artificial"],
        ),
        (
            "Please write a detailed report about solvers, including how a solver is chosen and "
            "how it is run, with attention to residual control",
            "Solvers",
            ["How a solver is chosen", "How it is run", "Residual control"],
        ),
        (
            "Write a review of anodes, including cycling, tolerance and wear, as well as coatings.",
            "Anodes",
            ["Cycling", "Tolerance", "Wear", "Coatings"],
        ),
        (
            "Summarize tensile testing. Include specimens, speed and evaluation. Cite your sources."
            " The audience is new engineers. Also explain how the yield strength is determined.",
            "Tensile testing",
            ["Specimens", "Speed", "Evaluation", "How the yield strength is determined"],
        ),
        (
            "Write about polymers, metals and ceramics in car bodies.",
            "Polymers, metals and ceramics in car bodies",
            ["Polymers", "Metals", "Ceramics in car bodies"],
        ),
        (
            "Summarise wire gauges, and explain pipe schedules and motors.",
            "Wire gauges",
            ["Wire gauges", "Pipe schedules", "Motors"],
        ),
    ],
)
def test_the_topic_and_its_parts(prompt, topic, parts):
    assert decomposed(prompt).title == topic
    assert titles(prompt) == parts


def test_the_topic_is_carried_into_each_part():
    found = decomposed("Write a report on welding of steel covering preheating and welding steel.")
    questions = [part.question for part in found.parts]
    assert questions == ["welding of steel", "preheating (welding of steel)", "welding steel"]


@pytest.mark.parametrize(
    ("prompt", "parts"),
    [
        (
            "Compare docling and marker for parsing PDFs in terms of speed and accuracy.",
            ["Docling", "Marker for parsing PDFs", "Speed", "Accuracy"],
        ),
        (
            "Jämför segjärn och gråjärn med avseende på hållfasthet, kostnad och vikt.",
            ["Hållfasthet", "Kostnad", "Vikt"],
        ),
        ("What is the difference between RANS and LES?", None),
        ("Write a comparison of PLA and ABS.", ["PLA", "ABS"]),
    ],
)
def test_things_that_are_compared(prompt, parts):
    assert titles(prompt) == (parts or [decomposed(prompt).title])


def test_what_is_said_of_both_sides_goes_with_each():
    found = decomposed("Compare docling and marker for parsing PDFs.")
    assert found.parts[0].question == "docling (parsing PDFs)"


@pytest.mark.parametrize(
    "prompt",
    [
        "Write a report on fatigue of welded joints.",
        "Report on gas and oil.",
        "How is hardness measured?",
        "Skriv en rapport om utmattning.",
    ],
)
def test_a_prompt_with_one_topic_stays_one_question(prompt):
    [part] = decomposed(prompt).parts
    assert part.question == prompt


def test_questions_one_after_the_other_are_completed_from_the_first():
    found = decomposed("What is 316L? How dense is it?")
    assert [part.question for part in found.parts] == ["What is 316L?", "How dense is 316L?"]


def test_too_many_parts_are_joined_with_their_neighbours():
    found = decomposed(
        "Write an overview of discretization, covering spatial and temporal schemes, the "
        "dictionary structure, and how users set gradient, divergence, Laplacian, "
        "interpolation, and surface normal gradient schemes."
    )
    assert len(found.parts) == MOST_PARTS
    assert "Divergence, Laplacian, interpolation" in [part.title for part in found.parts]


WORDS = [
    "and",
    "A",
    "covering",
    ",",
    ":",
    "(1)",
    "the",
    "with",
    "?",
    "compare",
    "report on",
    "\n2.",
]


@example(", and compare and", 2)
@given(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join), st.integers(1, 6))
def test_no_prompt_gives_none_or_too_many_parts(prompt, most):
    found = decomposed(prompt, most=most)
    assert 1 <= len(found.parts) <= most
    assert all(part.question.strip() for part in found.parts) or not prompt.strip()


def test_a_long_prompt_takes_no_long_time():
    started = time.monotonic()
    decomposed("Write a report on steel covering " + "a report, and the steel, " * 400)
    assert time.monotonic() - started < 10
