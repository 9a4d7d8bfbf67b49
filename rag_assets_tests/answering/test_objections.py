"""What was quoted and does not answer is told as the closest evidence, with the reason."""

import pytest

from rag_assets.answering.drafting import AnswerDraft, draft_of
from rag_assets.answering.lookup.looking_up import look_up
from rag_assets.retrieval.hits import Hit, Results
from rag_assets.retrieval.rankings import ranked
from rag_assets_tests.answering.found import cells_of, document, row
from rag_assets_tests.answering.lookup.tables import catalogue, contents

BEAMS = catalogue(
    contents({"name": ["B10", "B20", "B30"], "mass": ["16.7", "8.6", "9.1"]}, title="Beams")
)
B10 = cells_of(
    "b10",
    {
        "Section": "B10",
        "Mill": "Northern",
        "Mass per metre (kg/m)": 16.7,
        "Composition": "Fe1 C0.1",
    },
)


def drafted(question: str, *hits: Hit, look: bool = True) -> AnswerDraft:
    scores = [hit.score for hit in hits]
    ranking = ranked([hit.unit_id for hit in hits], scores=scores)
    results = Results(question, "best", hits, "current", 0, ranking, {})
    looked = look_up(question, BEAMS) if look else None
    return draft_of(question, results, rows={"b10": B10}, looked=looked, most=4)


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("Which colour has B10?", "colour"),
        ("Who welded B10?", "welded"),
        ("What humidity was there when B10 was welded?", "humidity"),
        ("Vilken kulör har B10?", "kulör"),
    ],
)
def test_a_row_that_says_nothing_of_what_is_asked_for_is_no_answer(question: str, word: str):
    found = drafted(question, row("b10"))
    assert (found.outcome, found.mode) == ("closest", None)
    assert word in found.reason
    assert found.sentences


def test_a_row_without_the_name_that_is_asked_about_is_no_answer():
    found = drafted("What is the mass of B77?", row("b10"))
    assert found.outcome == "closest"
    assert "B77" in found.reason


def test_nor_is_it_where_no_lookup_was_made():
    found = drafted("What is the mass of B77?", row("b10"), look=False)
    assert (found.outcome, found.reason) == ("closest", "nothing that was found holds 'B77'")


@pytest.mark.parametrize(
    "question",
    [
        "What is the mass of the welded B10?",
        "How is the composition of B10?",
        "What is the mass of C0.1Fe?",
        "What is the mass of the B10-section?",
    ],
)
def test_a_row_that_says_what_is_asked_for_answers(question: str):
    found = drafted(question, row("b10"), look=False)
    assert (found.outcome, found.mode) == ("answered", "extractive")


def test_an_unknown_word_beside_what_is_asked_for_does_no_harm():
    question = "Which mass in the warehouse has the section B10?"
    assert look_up(question, BEAMS).outcome == "refused"
    assert drafted(question, row("b10")).outcome == "answered"


def test_words_of_a_document_answer_what_no_table_knows():
    found = drafted("Which colour has B10?", document("paint", "The colour of B10 is red."))
    assert (found.outcome, found.mode) == ("answered", "extractive")


@pytest.mark.parametrize(("title", "outcome"), [("Northern", "answered"), ("Paint", "closest")])
def test_a_document_that_is_named_by_the_row_may_say_what_no_table_knows(title: str, outcome: str):
    hit = document("paint", "It is known for a warm red.", rank=2, title=f"All about {title}")
    found = drafted("What is the nickname of the section B10?", row("b10"), hit)
    assert found.outcome == outcome
    assert len({type(each) for one in found.sentences for each in one.citations}) == 2


def test_a_document_without_the_name_that_no_table_has_is_no_answer():
    found = drafted("What is the mass of B77?", document("mass", "The mass of B10 is 16.7 kg."))
    assert (found.outcome, found.reason) == ("closest", "nothing that was found holds 'B77'")


def test_nor_is_one_whose_unit_has_not_the_name_that_another_has():
    hits = (
        document("mass", "B10 weighs 16.7 kg. Nobody welded it."),
        document("paint", "B20 is painted.", rank=2),
    )
    found = drafted("How much does B20 weigh, and who welded it?", *hits[:1], look=False)
    assert (found.outcome, found.reason) == ("closest", "nothing that was found holds 'B20'")
    found = drafted("Nobody welded it: does B10 weigh as much as B99?", *hits, look=False)
    assert (found.outcome, found.reason) == ("closest", "nothing that was found holds 'B99'")


def test_a_name_may_stand_beside_what_is_quoted():
    text = "B20 is painted. Its warranty ends after 12 years, and its colour fades."
    found = drafted("When does the warranty of B20 end?", document("paint", text))
    assert found.outcome == "answered"


def test_sentences_that_share_no_word_with_the_question_are_no_answer():
    found = drafted("Where do swallows nest?", document("paint", "Red is a warm tone."), look=False)
    assert (found.outcome, found.mode) == ("closest", None)
    assert found.reason == "what was found shares no word with the question"


@pytest.mark.parametrize(
    ("question", "text", "outcome"),
    [
        ("合金的密度是多少?", "该合金的密度为每立方厘米八克。", "answered"),
        ("海水的颜色是什么?", "该合金的密度为每立方厘米八克。", "closest"),
        ("При какой температуре плавится сталь?", "Сталь плавится при 1500 градусах.", "answered"),
        ("Где гнездятся ласточки?", "Сталь плавится при 1500 градусах.", "closest"),
        ("Was wiegt der Träger?", "Der Träger wiegt 12 kg.", "answered"),
        ("Vad är det som väger mest av alla?", "The heaviest of them is what is red.", "answered"),
        ("合金的密度是多少?", "The alloy has a density of 8 g/cm³.", "answered"),
    ],
)
def test_words_are_compared_in_any_script_but_not_across_languages(
    question: str, text: str, outcome: str
):
    assert drafted(question, document("text", text), look=False).outcome == outcome


@pytest.mark.parametrize("question", ["?!", "🤷 ???", "What is it?"])
def test_a_question_that_names_nothing_has_no_answer(question: str):
    found = drafted(question, document("paint", "Red is a warm tone."), look=False)
    assert (found.outcome, found.reason) == ("closest", "the question names nothing to look for")
