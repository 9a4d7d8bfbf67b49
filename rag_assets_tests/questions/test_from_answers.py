"""From questions that people really asked to gold, by a person who ticks."""

import json
import sys

import numpy as np
import pytest

from rag_assets.answering.record.answer_rows import Prepared, insert
from rag_assets.answering.record.asked import KeptQuestion, asked_questions
from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.feedback import give
from rag_assets.answering.record.keeping import keep
from rag_assets.answering.record.kept import KeptAnswer, new_id
from rag_assets.answering.record.listing import one
from rag_assets.config import QuestionSet
from rag_assets.evaluation.gold import DocumentGold, RowGold
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.evaluation.questions import parse
from rag_assets.media.json_lines import QuestionsError
from rag_assets.process import clock
from rag_assets.questions.from_answers import (
    DEPTH,
    decided_ids,
    id_of,
    left_with_people,
    open_questions,
)
from rag_assets.serving import question_labels
from rag_assets.serving.replies import UsageError
from rag_assets.store import MissingTableError
from rag_assets.store.complete_sets import set_of
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import HashEncoder, hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.recorded_answers import answer, context
from rag_assets_tests.questions.labellers import Labeller

CODES = 80
ROWS = 10
QUESTIONS = [
    *(f"How many hours does Zq{number:03} bear salt?" for number in range(CODES)),
    *(f"Which load did steel {number} carry?" for number in range(1, ROWS + 1)),
    *(f"Hur många timmar tål Xx{number:03} salt?" for number in range(10)),
]
"""100; what the last ones ask for is nowhere."""
ALPHA, BETA, GAMMA = np.eye(3, dtype=np.float32)


@built_once
def alloys(home):
    """A document on each of many alloys, and ten rows."""
    made = project.make(home, documents=0, rows=ROWS)
    text = made.file.read_text()
    made.file.write_text(f"{text}evaluation: {{retrievers: [baseline, bm25]}}\n")
    for number in range(CODES):
        sentence = (
            f"The alloy Zq{number:03} bears salt for {number + 100} hours at room temperature."
        )
        made.write(f"salt/alloy{number:03}.md", f"# Salt spray\n\n{sentence}\n")
    with hashing():
        refresh(made.config)
    return made


@pytest.fixture
def made(tmp_path):
    return alloys(tmp_path / "project")


@pytest.fixture
def run(made, monkeypatch):
    """Runs the command with a labeller; gives its record."""

    def run(labeller):
        with monkeypatch.context() as patched, hashing():
            patched.setattr(sys, "stdin", labeller)
            patched.setattr(sys, "stderr", labeller.screen)
            return question_labels.from_answers(made.config).record

    return run


def kept(made, *questions, outcome="found", user=None):
    """Keeps an answer to each question; returns their ids."""
    found = []
    with answers_of(made.store).writing() as connection:
        for question in questions:
            at = clock.now()
            each = KeptAnswer(new_id(at), at, answer(question, outcome=outcome), context(user=user))
            insert(connection, Prepared(each))
            found.append(each.answer_id)
    return found


def truth(question, items):
    """Ticks whatever holds what the question asks for."""
    code = next(word for word in question.rstrip("?").split() if any(map(str.isdigit, word)))
    wanted = f"alloy {code} " if code[0] == "Z" else f"name: steel {code};"
    numbers = [str(place) for place, item in enumerate(items, start=1) if wanted in f"{item};"]
    return " ".join(numbers) or "n"


def nobody(question, _items):
    raise AssertionError(f"{question} is asked again")


def people_of(made):
    file = made.config.questions.people_file
    return parse(QuestionSet(name="people", path=file)).questions if file.exists() else []


def test_hundred_kept_questions_become_what_the_labeller_ticked(made, run):
    kept(made, *QUESTIONS, user="quoxite")
    labeller = Labeller(truth)

    record = run(labeller)

    assert sorted(labeller.asked) == sorted(QUESTIONS)
    assert (record["asked"], record["gold"], record["left"]) == (100, 90, 0)
    gold = {question.text: question.gold for question in people_of(made)}
    assert gold.keys() == {*QUESTIONS[: CODES + ROWS]}
    for number, question in enumerate(QUESTIONS[:CODES]):
        [piece] = gold[question]
        assert isinstance(piece, DocumentGold)
        assert piece.uri == f"documents/salt/alloy{number:03}.md"
        assert f"bears salt for {number + 100} hours" in (piece.quote or "")
    for number, question in enumerate(QUESTIONS[CODES : CODES + ROWS], start=1):
        assert gold[question] == (RowGold("laboratory/tests", str(number)),)
    assert "quoxite" not in labeller.screen.getvalue() + "".join(
        file.read_text() for file in made.config.questions.folder.iterdir()
    )

    again = run(Labeller(nobody))

    assert (again["asked"], again["left"]) == (0, 0)


def test_gold_is_found_in_the_index_again(made, run):
    kept(made, QUESTIONS[3], QUESTIONS[CODES])
    run(Labeller(truth))

    gold = [piece for question in people_of(made) for piece in question.gold]
    joint = set_of(made.store, made.config, "default").joint
    found = read_indexed_gold(made.store, made.config, variant="default", joint=joint, gold=gold)

    [chunks] = [units for units in found.quotes.values() if units]
    assert len(chunks) == 1
    assert len(found.rows["laboratory/tests", "1"]) == 1


def test_the_pool_is_blind_the_same_each_time_and_holds_what_was_marked(made, run):
    [answer_id] = kept(made, QUESTIONS[3])
    screens = []

    def look(_question, items):
        screens.append(items)
        return "q"

    run(Labeller(look))
    run(Labeller(look))
    file, joint = answers_of(made.store), set_of(made.store, made.config, "default").joint
    places = " ".join(screens[0])
    units = made.store.read(joint.table, columns=["unit_id", "uri"]).to_pylist()
    marked = next(each["unit_id"] for each in units if each["uri"] not in places)
    with file.writing() as connection:
        feedback = [answer_id, marked, "right_source", 9, "1", "2026-01-01"]
        connection.execute("INSERT INTO feedback VALUES (?, ?, ?, ?, ?, ?)", feedback)
    run(Labeller(look))

    assert screens[0] == screens[1]
    assert DEPTH < len(screens[0]) <= 2 * DEPTH
    assert len(screens[2]) == len(screens[0]) + 1
    assert not any(word in places for word in ("bm25", "baseline", "score", "rank"))


def test_a_question_for_which_nothing_is_found_waits_until_something_is(made, run, monkeypatch):
    monkeypatch.setenv("RAG_ASSETS__EVALUATION__RETRIEVERS", '["bm25"]')
    [gone, _] = kept(made, "Zwetschgen?", QUESTIONS[0])
    with answers_of(made.store).writing() as connection:
        feedback = [gone, "a unit of a purged document", "right_source", 9, "1", "2026-01-01"]
        connection.execute("INSERT INTO feedback VALUES (?, ?, ?, ?, ?, ?)", feedback)
    labeller = Labeller(truth)

    record = run(labeller)

    assert labeller.asked == [QUESTIONS[0]]
    assert (record["gold"], record["left"]) == (1, 1)
    assert decided_ids(made.config.questions) == {id_of(QUESTIONS[0])}


def test_an_interrupt_says_what_is_kept_and_the_next_run_goes_on(made, run, monkeypatch):
    kept(made, *QUESTIONS[:6])
    labeller = Labeller(truth)

    def tire(question, items):
        if len(labeller.asked) == 4:
            raise KeyboardInterrupt
        return truth(question, items)

    labeller.decide = tire
    with pytest.raises(KeyboardInterrupt):
        run(labeller)
    asked_file = made.config.questions.asked_file
    *lines, _ = asked_file.read_bytes().splitlines(keepends=True)
    asked_file.write_bytes(b"".join(lines) + b'{"decision": "tic')  # it died as it wrote the last

    assert "Stopped. All decisions are kept: 3." in labeller.screen.getvalue()
    rest = Labeller(truth)
    record = run(rest)
    assert record["gold"] == 3
    assert sorted([*labeller.asked[:3], *rest.asked]) == sorted(QUESTIONS[:6])
    assert len(people_of(made)) == 6


def test_what_was_passed_over_or_reworded_is_not_asked_again(made, run):
    kept(made, *QUESTIONS[:3])
    lines = iter(["n", "s", "e Vad gäller för legeringen Zq002 i salt och är det bra?", "1"])

    first = run(Labeller(lambda *_: next(lines)))
    second = run(Labeller(nobody))

    assert (first["asked"], first["gold"]) == (3, 1)
    assert second["left"] == 0
    [line] = map(json.loads, made.config.questions.people_file.read_text().splitlines())
    assert line["question"] == "Vad gäller för legeringen Zq002 i salt och är det bra?"
    assert (line["lang"], line["origin"], line["right_source"]) == ("sv", "asked", False)
    assert line["split"] in ("dev", "test")


def test_a_question_of_the_test_set_is_not_asked(made, run):
    kept(made, QUESTIONS[0], QUESTIONS[1])
    file = made.config.questions.people_file
    file.parent.mkdir()
    own = {"id": "mine", "question": QUESTIONS[0], "gold": ["row:tests:1"]}
    file.write_text(json.dumps(own))
    labeller = Labeller(truth)

    run(labeller)

    assert labeller.asked == [QUESTIONS[1]]
    assert file.read_text().startswith(json.dumps(own))
    assert len(people_of(made)) == 2


def test_a_question_that_is_asked_500_times_is_asked_of_a_person_once(made, run):
    kept(made, *[QUESTIONS[0]] * 500)
    labeller = Labeller(truth)

    assert run(labeller)["asked"] == 1


def test_without_kept_answers_there_is_nothing_to_ask(tmp_path, monkeypatch):
    made = project.make(tmp_path / "project", documents=1)

    reply = question_labels.from_answers(made.config)

    assert "No answer is kept yet" in reply.text


def test_without_an_index_it_is_said_what_to_do(tmp_path):
    made = project.make(tmp_path / "project", documents=1)
    kept(made, "What bears salt?")

    with pytest.raises(MissingTableError, match="rag-assets refresh"):
        question_labels.from_answers(made.config)


def test_nobody_to_ask_is_an_error_that_says_what_to_do(made, run):
    kept(made, QUESTIONS[0])
    labeller = Labeller(truth)
    labeller.readline = lambda: ""

    with pytest.raises(UsageError, match="terminal"):
        run(labeller)
    assert not made.config.questions.folder.exists()


def test_a_file_that_cannot_be_read_is_named(made):
    kept(made, QUESTIONS[0])
    made.config.questions.people_file.mkdir(parents=True)

    with pytest.raises(QuestionsError, match=r"people\.jsonl"), hashing():
        question_labels.from_answers(made.config)


def test_follow_ups_are_read_as_they_were_completed_and_the_newest_answer_counts(made):
    store, config = made.store, made.config
    keep(store, config, answer("Density of AlMg3?", outcome="nothing"), context(), purges=0)
    keep(store, config, answer("Density of AlMg3?", outcome="computed"), context(), purges=0)
    after = answer("And of brass?", outcome="found")
    object.__setattr__(after, "read_as", "Density of brass?")
    liked = keep(store, config, after, context(), purges=0)
    file = answers_of(store)

    assert [(each.text, each.times, each.badness[0]) for each in asked_questions(file)] == [
        ("Density of brass?", 1, 1),
        ("Density of AlMg3?", 2, 2),
    ]
    give(file, one(file, liked), "down", unit_id=None, index_version="1")
    assert next(iter(asked_questions(file))).badness[0] == 0


def test_near_equal_questions_are_one_and_those_on_other_things_are_not():
    close = ALPHA * 0.95 + BETA * np.sqrt(1 - 0.95**2)
    vectors = {
        "What is the density of titanium?": ALPHA,
        "densities of titanium": close,
        "What is the density of tantalum?": close,
        "density of titanium at 300 degrees": close,
        "density of titanium at 200 degrees": close,
        "How is it welded?": GAMMA,
    }
    asked = [KeptQuestion(text, 9 - place, (1, 0.0)) for place, text in enumerate(vectors)]

    found = open_questions(asked, test_set=[], decided=set(), embed=embedding(vectors))

    assert [each.text for each in found[0]] == [
        "What is the density of titanium?",
        "densities of titanium",
    ]
    assert len(found) == 5
    decided = {id_of("densities  of TITANIUM")}
    later = open_questions(asked, test_set=[], decided=decided, embed=embedding(vectors))
    assert asked[0] not in [each for wordings in later for each in wordings]


def test_what_was_answered_worst_and_what_is_far_from_the_test_set_take_turns():
    vectors = {"test": ALPHA, "bad": ALPHA, "worse": ALPHA * 0.8 + BETA * 0.6, "far": GAMMA}
    vectors |= {"good": ALPHA * 0.7 + GAMMA * 0.7}
    badness = {"good": (2, 0.5), "bad": (1, 0.1), "worse": (0, 0.0), "far": (2, 0.9)}
    asked = [KeptQuestion(text, 1, badness[text]) for text in badness]

    def texts(test_set):
        found = open_questions(asked, test_set=test_set, decided=set(), embed=embedding(vectors))
        return [wordings[0].text for wordings in found]

    assert texts(["test"]) == ["worse", "far", "bad", "good"]
    assert texts([]) == ["worse", "bad", "good", "far"]


def test_whose_question_was_erased_is_told_where_it_still_stands(made, run):
    kept(made, QUESTIONS[0])
    run(Labeller(truth))
    settings = made.config.questions

    said = left_with_people(settings, [QUESTIONS[0].upper(), QUESTIONS[1]])

    assert str(settings.people_file) in said
    assert id_of(QUESTIONS[0]) in said
    assert left_with_people(settings, [QUESTIONS[1]]) == ""
    assert decided_ids(settings) == {id_of(QUESTIONS[0])}


def embedding(vectors):
    return lambda texts: np.stack([vectors[text] for text in texts])


def test_questions_are_read_by_the_model_of_the_index():
    asked = [KeptQuestion("How is it welded?", 1, (1, 0.0))]
    embed = HashEncoder(None).embed_queries

    assert open_questions(asked, test_set=["a"], decided=set(), embed=embed) == [asked]
