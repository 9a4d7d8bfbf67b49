"""Words that nothing explains: left out and told where they turn nothing, else the end of it."""

import pytest

from rag_assets.table_lookup.looking_up import look_up
from rag_assets_tests.table_lookup.beams import catalogue, contents

SESSIONS = {
    "id": ["1", "2", "3", "4"],
    "day": ["Friday", "Monday", "Friday", "Sunday"],
    "energy": ["5.5", "6.5", "2", "10"],
    "hours": ["1", "2", "3", "4"],
    "fee": ["0", "1", "1", "2"],
}
HEADINGS = {"day": "Weekday", "energy": "Energy (kWh)", "hours": "Duration (h)", "fee": "Fee (USD)"}
HELD = catalogue(contents(SESSIONS, table="sessions", title="Sessions", headings=HEADINGS))


@pytest.mark.parametrize(
    ("question", "words", "value"),
    [
        ("What is the mean energy per session?", ("per",), "6 kWh"),
        ("What is the average fee of a customer?", ("customer",), "1 USD"),
        ("Which car has the highest energy?", ("car",), "10 kWh"),
        ("What is the highest battery energy?", ("battery",), "10 kWh"),
        ("Hur stor är den genomsnittliga energin per session?", ("per",), "6 kWh"),
    ],
)
def test_a_word_that_turns_nothing_is_left_out_and_named(question, words, value):
    found = look_up(question, HELD)
    assert (found.outcome, found.left_out) == ("proposed", words)
    assert found.sentences[0].text.startswith(("Read without", "Läst utan"))
    assert f'"{words[0]}"' in found.sentences[0].text
    assert value in found.sentences[0].text
    assert found.row_ids


@pytest.mark.parametrize(
    "question",
    [
        "What is the mean energy of Tesla?",
        "What is the mean energy in winter?",
        "What is the mean energy of electric sessions?",
        "What is the mean energy per kilometre?",
        "How many sessions have a cable?",
        "How many sessions are free?",
        "What is the second highest energy?",
        "What is the mean energy without losses?",
        "What is the mean energy of big customers on holidays?",
        "What is the mean energy of the EV7 sessions?",
        "Only how many sessions had the highest energy?",
    ],
)
def test_a_word_that_may_turn_the_answer_is_never_left_out(question):
    found = look_up(question, HELD)
    assert found.outcome in ("refused", "none", "closest"), found.sentences
    assert found.left_out == ()
