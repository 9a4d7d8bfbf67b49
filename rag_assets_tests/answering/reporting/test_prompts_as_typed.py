"""Prompts as people type them: letters, lists of every kind, wishes on the form, other reports."""

import pytest

from rag_assets.answering.reporting.decomposition import decomposed

LETTER = """\
Hi team,

hope you are all well. I need a report on welding of steel for our client meeting on Friday. It
should cover preheating, electrodes and testing. Thanks!

Best regards,
Anna Lindqvist
Senior Process Engineer, +46 70 123 45 67
"""
SWEDISH_LETTER = """\
Ämne: rapport

Hej!

Kan du ta fram en rapport om svetsning? Den ska täcka förvärmning, elektroder och provning. Max två
sidor, gärna i tabellform.

Tack på förhand
Med vänliga hälsningar
Erik
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

The report must not exceed two pages. Also include costs.
"""
DASHES = "Report on welding.\n\u2013 preheating\n\u2013 electrodes\n\u2013 testing, etc."
HEADINGS = "# Report on welding\n\n## Electrodes\nWhich kinds exist?\n\n## Testing\n"


@pytest.mark.parametrize(
    ("prompt", "topic", "parts"),
    [
        (LETTER, "Welding of steel", ["Preheating", "Electrodes", "Testing"]),
        (LETTER.replace("\n", "\r\n"), "Welding of steel", ["Preheating", "Electrodes", "Testing"]),
        (SWEDISH_LETTER, "Svetsning", ["Förvärmning", "Elektroder", "Provning"]),
        (DASHES, "Welding", ["Preheating", "Electrodes", "Testing"]),
        (HEADINGS, "Welding", ["Welding", "Electrodes: Which kinds exist", "Testing"]),
        (
            NESTED,
            "Welding",
            [
                "Preparation: cleaning, preheating",
                "Testing: by X-ray, by ultrasound",
                "Repair",
                "Costs",
            ],
        ),
        (
            TABLE,
            "Preheating: steel and copper, Testing: by X-ray",
            ["Preheating: steel and copper", "Testing: by X-ray"],
        ),
        (
            "Topics:\n* preheating\n* electrodes\n* testing",
            "Preheating, electrodes, testing",
            ["Preheating", "Electrodes", "Testing"],
        ),
        (
            "Hello, could you please help me write a report on wire gauges and pipe schedules? "
            "Thanks!",
            "Wire gauges and pipe schedules",
            ["Wire gauges", "Pipe schedules"],
        ),
        (
            "Report: wire gauges / pipe schedules / tanks, etc.",
            "Wire gauges, pipe schedules, tanks",
            ["Wire gauges", "Pipe schedules", "Tanks"],
        ),
        (
            "You are an expert. Your task is to write a report about welding. It must include "
            "preheating, electrodes and a section on testing. Do not make anything up.",
            "Welding",
            ["Preheating", "Electrodes", "Testing"],
        ),
        (
            "I would like to have a report on welding. In particular I am interested in "
            "preheating, electrodes and testing. My boss wants to see it tomorrow.",
            "Welding",
            ["Preheating", "Electrodes", "Testing"],
        ),
        (
            "What changed in 1.2? Report on the migration, covering new fields and namespaces.",
            "What changed in 1.2",
            ["What changed in 1.2"],
        ),
        (
            "Summarise the welding handbook, chapters 4 and 5, and the manual.",
            "Welding handbook, chapters 4 and 5, and the manual",
            ["Welding handbook", "Chapters 4 and 5", "Manual"],
        ),
    ],
)
def test_the_topic_and_parts_of_what_people_type(prompt, topic, parts):
    found = decomposed(prompt)
    assert found.title == topic
    assert [part.title for part in found.parts] == parts


def test_wishes_on_the_form_are_no_topics_and_are_not_searched():
    found = decomposed(
        "Create a two-page report in table form on welding of steel. It should be no longer than "
        "two pages. Please use bullet points. Include an introduction, a conclusion and references."
    )
    assert found.title == "Welding of steel"
    [part] = found.parts
    assert part.question == "Create a two-page report in table form on welding of steel."


def test_greeting_and_signature_are_not_searched():
    assert "Anna" not in decomposed(LETTER).prompt
    assert "Hej" not in decomposed(SWEDISH_LETTER).prompt


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
    [part] = decomposed(prompt).parts
    assert part.question.split()[-1] == prompt.strip(" |").split()[-1]


def test_two_reports_in_one_prompt_are_both_written():
    found = decomposed(
        "Write a report on welding, covering electrodes and testing. "
        "Write a second report on paint of cars, covering colours and wear."
    )
    assert found.title == "Welding and Paint of cars"
    assert [part.title for part in found.parts][-1] == "Paint of cars: Colours, wear"
    assert found.parts[-1].question == "colours, wear (paint of cars)"
