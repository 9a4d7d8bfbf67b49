"""What people are asked to label: from kept answers and from an evaluation."""

import json
from dataclasses import replace

import pytest

from rag_assets.answering.answer import Generation
from rag_assets.answering.assistant import Assistant
from rag_assets.evaluation.evaluate import evaluate_variant
from rag_assets.evaluation.questions import refresh_questions
from rag_assets.laboratory.judges.judged_means import JudgedRow, save_items
from rag_assets.questions.items_to_label import GOLD, ItemSources, Labelling
from rag_assets.questions.judging.labels import read_labels, task_of
from rag_assets.questions.judging.verdicts import JudgedItem
from rag_assets.table_lookup.arm import arms_of
from rag_assets_testing.built_once import built_once
from rag_assets_testing.faults import project
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_tests.questions.judged import kept, said, source, worded, written


@built_once
def evaluated(home):
    """Five documents, a question to each, and what two retrievers found."""
    made = project.make(home, documents=0, rows=2)
    made.file.write_text(f"{made.file.read_text()}evaluation: {{retrievers: [baseline, bm25]}}\n")
    for number in range(5):
        made.write(f"alloy{number}.md", f"# Salt spray {number}\n\n{source(number)}\n")
    lines = [
        {
            "id": str(number),
            "question": f"How many hours does Zq{number:03} bear salt?",
            "gold": [f"doc:documents/alloy{number}.md"],
        }
        for number in range(5)
    ]
    file = made.config.questions.people_file
    file.parent.mkdir(parents=True)
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    with hashing():
        refresh(made.config)
        refresh_questions(made.store, made.config, log=lambda _line: None)
        arms = arms_of(made.store, made.config)
        evaluate_variant(
            made.store, made.config, variant="default", arms=arms, log=lambda _line: None
        )
    return made


@pytest.fixture
def made(tmp_path):
    return evaluated(tmp_path / "project")


@pytest.fixture
def sources(made):
    with hashing():
        yield ItemSources.of(made.config, lambda: Assistant(made.store, made.config).index)


def labelling(made, sources, name, labeller="anna"):
    task = task_of(name)
    file = made.config.questions.labels_file
    return Labelling(task, sources.items(task), file, labeller)


def test_hits_are_what_each_retriever_found_first_and_disputed_where_it_is_not_gold(sources):
    hits = [*sources.items(task_of("hit")).values()]

    assert {each.item.parts["question"] for each in hits} == {
        f"How many hours does Zq{number:03} bear salt?" for number in range(5)
    }
    for each in hits:
        number = each.item.parts["question"].split("Zq")[1][:3]
        is_right = source(int(number)) in each.item.parts["context"]
        assert each.scores[GOLD] == 2 * is_right
        assert each.is_disputed is not is_right
        assert each.item.sources <= {"documents", "laboratory"}
    assert {each.is_disputed for each in hits} == {True, False}


def test_pairs_are_the_first_units_of_two_retrievers_and_answers_that_differ(made, sources):
    kept(made.store, [written(1), worded(written(1), "It bears salt."), written(2)])

    pairs = [each.item.parts for each in sources.items(task_of("pair")).values()]
    units = [each for each in pairs if each["question"].startswith("How many")]
    [answers] = [each for each in pairs if each["question"].startswith("How long")]

    assert {answers["answer 1"], answers["answer 2"]} == {said(1), "It bears salt."}
    assert all(each["answer 1"] != each["answer 2"] for each in units)
    assert 1 <= len(units) <= 5


def test_sentences_are_those_of_a_model_and_disputed_where_the_judge_says_no(made, sources):
    kept(made.store, [written(1, judged=False), written(2, judged=True), written(3)])
    kept(made.store, [worded(written(9), "x"), written(1, judged=False)])

    items = sources.items(task_of("sentence")).values()
    found = {each.item.parts["sentence"]: each for each in items}

    assert found.keys() == {said(1), said(2), said(3), "x"}
    assert [name for name, each in found.items() if each.is_disputed] == [said(1)]
    assert found[said(1)].item.parts["source"].startswith(source(1))
    assert found[said(1)].item.writers == {"writer 1"}
    assert found[said(1)].item.sources == {"documents"}
    assert len({each.about for each in found.values()}) == 4


def test_what_a_judge_was_asked_about_can_be_labelled(made, sources):
    parts = {"question": "How stiff?", "reference": "12 N/mm", "answer": "It is 12 N/mm."}
    item, other = JudgedItem("answer", parts), JudgedItem("answer", {**parts, "answer": "No."})
    rows = [JudgedRow("s", "g", [[item, other]])]
    save_items(made.store, "answers__default", rows, {item.item_id})
    (made.store.root / "judged_items" / "old.json").write_text("[[1, 2]]")

    asked = labelling(made, sources, "answer_scores/correctness")
    screen = asked.screen(item.item_id)

    assert asked.items.keys() == {item.item_id}
    assert screen.question == "How stiff?"
    assert [(each.title, each.text) for each in screen.items] == [
        ("reference", "12 N/mm"),
        ("answer", "It is 12 N/mm."),
    ]
    assert screen.decisions == {name: name for name in "12345"}


def test_nobody_is_asked_what_a_rubric_does_not_apply_to(made, sources):
    lacking = JudgedItem("answer", {"question": "How stiff?", "reference": "", "answer": "12"})
    rows = [JudgedRow("s", "g", [[lacking]])]
    save_items(made.store, "answers__default", rows, {lacking.item_id})

    assert not labelling(made, sources, "answer_scores/correctness").items
    assert labelling(made, sources, "correctness/correctness").items.keys() == {lacking.item_id}


def test_two_answers_side_by_side_have_two_writers(made, sources):
    other = Generation("other", "writer 2", {}, 1, 0, 10, 10, None, False, ())
    kept(made.store, [replace(worded(written(7), "It bears salt."), generation=other), written(7)])

    pairs = [each.item for each in sources.items(task_of("pair")).values()]
    [answers] = [each for each in pairs if each.parts["question"].startswith("How long")]

    assert answers.writers == {"writer 1", "writer 2"}


def test_a_label_names_no_document_and_no_row(made, sources):
    item = JudgedItem("answer", {"question": "How stiff?", "reference": "12", "answer": "12"})
    gold = "hr/Layoffs of Anna Berg.pdf p. 3"
    save_items(made.store, "answers__default", [JudgedRow("s", gold, [[item]])], {item.item_id})

    labelling(made, sources, "answer_scores/correctness").keep(item.item_id, "5", drawn=True)

    assert "Berg" not in made.config.questions.labels_file.read_text()


def test_sides_of_a_pair_are_blind_and_what_is_kept_is_not(made, sources):
    for labeller in ("anna", "bo", "cy", "di"):
        asked = labelling(made, sources, "pair", labeller)
        for item, each in asked.items.items():
            screen = asked.screen(item)
            left, right = screen.items
            assert (left.title, right.title) == ("left", "right")
            assert screen.decisions == {"1": "left", "2": "right", "3": "both", "4": "neither"}
            asked.keep(item, "left", drawn=True)
            is_first = left.text == each.item.parts["answer 1"]
            assert is_first or left.text == each.item.parts["answer 2"]
            [kept_label] = [one for one in asked.said() if one.item == item]
            assert kept_label.label == ("first" if is_first else "second")
    given = {each.label for each in read_labels(made.config.questions.labels_file).labels}
    assert given == {"first", "second"}


def test_a_label_that_is_not_on_the_screen_is_refused(made, sources):
    asked = labelling(made, sources, "hit")
    item = next(iter(asked.items))
    with pytest.raises(ValueError, match="write 0, 1, 2 or skip"):
        asked.keep(item, "yes", drawn=True)
    with pytest.raises(KeyError):
        asked.keep("nothing", "1", drawn=True)
