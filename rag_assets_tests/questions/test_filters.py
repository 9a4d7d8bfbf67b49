"""Why a question that a model wrote is left out, by its words."""

import pytest

from rag_assets.questions import filters
from rag_assets.terms.words import place_of

CHUNK = """\
STD 1234 Zinc flake coatings > 4 Salt spray
Bolts with the coating ZF 480 bear salt spray for 720 hours without red rust. The torque is checked
on ten bolts of each batch, at 23 °C, before the coating is 24 hours old."""
SPAN = "Bolts with the coating ZF 480 bear salt spray for 720 hours without red rust."


def wording(question, *, language="en", about=CHUNK):
    return filters.fault_of_wording(question, about=about, language=language)


@pytest.mark.parametrize(
    "question",
    [
        "How long do bolts with the coating ZF 480 bear salt spray?",
        "How many bolts of a batch are checked for torque?",
        "Which bolts bear more than 480 hours above 400 MPa?",
        "When must the torque of bolts with zinc flake coatings be checked?",
    ],
)
def test_a_question_that_stands_alone_is_kept(question):
    assert wording(question) == ""


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("How long does this coating bear salt spray?", "this"),
        ("What does the document say about salt spray of bolts?", "the document"),
        ("According to the text, how long do bolts bear salt spray?", "the text"),
        ("Which torque of bolts is given below in hours?", "given below"),
        ("How many hours of salt spray does Table 4 require of bolts?", "Table 4"),
        ("Which bolts are mentioned for the coating ZF 480?", "mentioned"),
        ("Hur länge tål denna beläggning saltspray enligt provet?", "denna"),
        ("Vilka värden för bultar anges i tabellen för saltspray?", "tabellen"),
    ],
)
def test_a_question_that_leans_on_its_text_is_named_with_the_words(question, word):
    assert wording(question, language="sv" if "ä" in question else "en") == (
        f"it makes sense only beside its text: {word!r}"
    )


@pytest.mark.parametrize(
    "question",
    [
        "How long does it take until rust?",
        "What are they checked for then?",
        "Vad är det som gäller?",
    ],
)
def test_a_question_needs_a_name_or_words_of_its_text(question):
    assert wording(question, language="") == "it does not name what it is about"


@pytest.mark.parametrize("question", ["Salt spray?", "word " * 61, "Which coating?\nOr which one?"])
def test_a_question_is_a_line_of_some_words(question):
    assert wording(question) == "it is no question of 4 to 60 words on one line"


def test_the_language_is_the_one_that_was_asked_for():
    swedish = "Hur länge ska bultar med ytan ZF 480 tåla saltspray och vad är det som avses?"

    assert wording(swedish) == "it is in sv, not in en"
    assert wording(swedish, language="sv") == ""
    assert wording("Salt spray hours ZF 480?", language="sv") == "", "too short to tell"


def answered(question, answer, span=SPAN):
    return filters.fault_of_answer(question, answer, span)


QUESTION = "How long do bolts with zinc flake coatings resist red rust?"


def test_an_answer_that_its_span_says_is_kept():
    assert answered(QUESTION, "720 hours of salt spray") == ""
    assert answered(QUESTION, "They bear 720 h of salt spray without rust") == ""


@pytest.mark.parametrize("answer", ["480 hours in the humidity chamber", "721 hours of salt spray"])
def test_an_answer_says_no_more_than_its_span(answer):
    assert answered(QUESTION, answer) == "its span alone does not say the answer"


def test_a_question_does_not_give_its_answer_away():
    assert answered("Do bolts bear 720 hours?", "720 hours") == "it gives its answer away"
    assert answered(f"Is it so that {SPAN}", "red rust of bolts") == "it gives its answer away"
    assert answered("Why 17200 hours?", "720 hours") == "", "720 is no word of it"


def test_there_is_an_answer_and_a_span_of_some_words():
    assert answered(QUESTION, " ") == "it has no answer"
    assert answered(QUESTION, "720 hours", "720 hours") == "its span has fewer than 3 words"


def test_a_chunk_that_holds_answer_and_question_as_well_is_a_rival():
    question, answer = "How long do bolts with the coating ZF 480 bear salt spray?", "720 hours"
    same_value = "Seals are stored for 720 hours at 40 °C."
    other_value = CHUNK.replace("720", "480")
    copy = f"In short: {SPAN}"

    def rival(*others):
        return filters.is_answered_by(others, question, answer, gold=CHUNK)

    assert not rival()
    assert not rival(same_value, other_value)
    assert rival(same_value, copy)
    assert not filters.is_answered_by([copy], question, "yes, it is", gold=CHUNK)


def test_near_duplicates_have_nearly_the_same_words():
    question = "How long do bolts with the coating ZF 480 bear salt spray?"

    assert filters.is_near_duplicate(f"{question[:-1]} in it?", ["Something else?", question])
    assert filters.is_near_duplicate(question.replace("bear", "resist"), [question])
    assert not filters.is_near_duplicate(question.replace("480", "720"), [question])
    assert not filters.is_near_duplicate("How long do bolts of ZF 480 bear heat?", [question])
    assert not filters.is_near_duplicate(question, [])


@pytest.mark.parametrize(
    ("span", "found"),
    [
        ("red rust.  The torque", "red rust. The torque"),
        ("RED RUST the torque is checked on ten", "red rust. The torque is checked\non ten"),
        ("at 23°C", "at 23 °C"),
        ("at 24 °C", ""),
        ("", ""),
        ("...", ""),
    ],
)
def test_a_span_is_found_by_letters_and_digits_and_is_what_stands_there(span, found):
    place = place_of(span, CHUNK)

    assert CHUNK[place.start : place.stop] == found


def test_a_span_is_found_where_a_character_stands_for_several():
    place = place_of("the ﬂake", "On the flake ﬁlm")

    assert (place.start, place.stop) == (3, 12)
    assert place_of("film", "On the flake ﬁlm") == range(13, 16)
