"""A prompt is taken apart by the list that it gives itself; without one it stays whole."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rag_assets.answering.reporting.decomposition import MOST_PARTS, ONE_TOPIC, as_listed

LETTER = """\
Hi team,

I need a report on welding of steel:
- preheating
- electrodes
- testing

Thanks!

Best regards,
Anna Lindqvist
"""
TABLE = """\
Write a report with these sections:

| Section | Content |
|---|---|
| Preheating | steel and copper |
| Testing | by X-ray |
"""
NESTED = """\
Report on welding:
1. Preparation
   1.1 cleaning
   1.2 preheating
2. Testing
   a) by X-ray
   b) by ultrasound
3. Repair

The report must not exceed two pages.
"""
HEADINGS = "# Report on welding\n\n## Electrodes\nWhich kinds exist?\n\n## Testing\n"


@pytest.mark.parametrize(
    ("prompt", "topic", "parts"),
    [
        (LETTER, "Welding of steel", ["Preheating", "Electrodes", "Testing"]),
        (LETTER.replace("\n", "\r\n"), "Welding of steel", ["Preheating", "Electrodes", "Testing"]),
        (HEADINGS, "Welding", ["Electrodes: Which kinds exist", "Testing"]),
        (
            NESTED,
            "Welding",
            ["Preparation: cleaning, preheating", "Testing: by X-ray, by ultrasound", "Repair"],
        ),
        (
            TABLE,
            "Preheating: steel and copper, Testing: by X-ray",
            ["Preheating: steel and copper", "Testing: by X-ray"],
        ),
        (
            "Sammanfatta kraven på ytbehandling: (1) skikttjocklek, (2) vidhäftning (3) provning",
            "Kraven på ytbehandling",
            ["Skikttjocklek", "Vidhäftning", "Provning"],
        ),
        (
            "Topics:\n\u2013 preheating\n\u2013 electrodes",
            "Preheating, electrodes",
            ["Preheating", "Electrodes"],
        ),
    ],
)
def test_the_topic_and_the_parts_that_a_prompt_lists(prompt, topic, parts):
    found = as_listed(prompt)
    assert found.title == topic
    assert [part.title for part in found.parts] == parts
    assert found.note == ""


def test_the_topic_is_carried_into_each_part():
    found = as_listed("Write a report on welding of steel:\n- preheating\n- welding steel")
    assert [part.question for part in found.parts] == [
        "preheating (welding of steel)",
        "welding steel",
    ]


@pytest.mark.parametrize(
    ("prompt", "title"),
    [
        ("Write a report on fatigue of welded joints.", "Fatigue of welded joints"),
        ("How is hardness measured?", "How is hardness measured"),
        ("Skriv en rapport om utmattning.", "Utmattning"),
        (
            "Report on steel covering causes, protection and testing.",
            "Steel covering causes, protection and testing",
        ),
    ],
)
def test_a_prompt_that_lists_nothing_stays_one_question_and_says_so(prompt, title):
    found = as_listed(prompt)
    [part] = found.parts
    assert (found.title, part.question, found.note) == (title, prompt, ONE_TOPIC)


def test_parts_that_every_report_may_have_are_no_topics():
    found = as_listed("Report on steel:\n1. Introduction\n2. Welding\n3. Fatigue\n4. References\n")
    assert [part.title for part in found.parts] == ["Welding", "Fatigue"]


def test_greeting_and_signature_are_not_searched():
    assert "Anna" not in as_listed(LETTER).prompt
    assert "team" not in as_listed(LETTER).prompt


@pytest.mark.parametrize(
    "prompt",
    [
        "Hi-res imaging of welds",
        "Hello, world",
        "Best practices for welding",
        "Thanks",
        "Dear",
        "Regards",
        "Subject: welds",
        "| a |",
        "# Welds",
    ],
)
def test_what_only_looks_like_a_letter_or_a_layout_is_kept(prompt):
    [part] = as_listed(prompt).parts
    assert part.question.split()[-1] == prompt.strip(" |").split()[-1]


def test_too_many_parts_are_joined_with_their_neighbours():
    items = ["spatial schemes", "the dictionary", "gradient", "divergence", "interpolation", "time"]
    found = as_listed("Discretization:\n" + "\n".join(f"- {item}" for item in items))
    assert len(found.parts) == MOST_PARTS
    assert "The dictionary, gradient" in [part.title for part in found.parts]


WORDS = ["and", "A", "\n- ", ",", ":", "(1)", "(2)", "the", "# ", "|", "?", "report on", "\n2."]


@example("report on \n- \n2. the")
@given(st.lists(st.sampled_from(WORDS), max_size=60).map(" ".join))
def test_no_prompt_gives_none_or_too_many_parts(prompt):
    found = as_listed(prompt)
    assert 1 <= len(found.parts) <= MOST_PARTS
    assert all(part.question.strip() for part in found.parts) or not prompt.strip()
