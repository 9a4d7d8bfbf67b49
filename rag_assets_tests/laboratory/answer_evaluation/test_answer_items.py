"""What judges read of an answer: numbered texts, marks that lead to them, and their sources."""

import pytest

from rag_assets.answering.quoting.unit_citations import span_of
from rag_assets.citations.sentences import Sentence
from rag_assets.evaluation.gold import DocumentGold, RowGold
from rag_assets.evaluation.questions import Question
from rag_assets.laboratory.answer_evaluation.answer_items import (
    References,
    ShownText,
    answer_items,
    context_item,
    in_words,
)
from rag_assets.laboratory.answers.run import pair_item
from rag_assets_tests.answering.found import document

SPRING = document("spring", "Its stiffness is 12 N/mm. It is red.")
OTHER = document("other", "Nothing of it.", rank=2)
UNSHOWN = document("unshown", "It bears 500 hours of salt.", rank=3)
SHOWN = [ShownText(hit.unit_id, hit.text, hit.source) for hit in (SPRING, OTHER)]
EVERY = frozenset({"docs", "secret", "laboratory"})


def question(*gold: DocumentGold | RowGold) -> Question:
    return Question("set/one", "set", "How stiff is it?", "document", "en", "test", gold)


def references(answer: str | None = "12 N/mm", **documents: str) -> References:
    keys = {f"{name}.md": [(source, f"{name}.md")] for name, source in documents.items()}
    return References({"set/one": answer}, keys, EVERY)


def cites(hit, text):
    return Sentence(text, (span_of(hit, 0, len(hit.text)),))


ASKED, KNOWN = question(DocumentGold("spring.md")), references(spring="docs")


def item_of(*sentences, asked=ASKED, known=KNOWN):
    [item] = answer_items(asked, sentences, SHOWN, references=known, writer_identity="large")
    return item


def test_marks_lead_to_numbered_texts_also_of_what_was_not_among_the_hits():
    item = item_of(
        cites(SPRING, "It is 12 N/mm."), cites(UNSHOWN, "It bears salt."), Sentence("Good.", ())
    )
    assert item.parts["answer"] == "It is 12 N/mm. [1] It bears salt. [3] Good."
    assert item.parts["context"].startswith("[1] Its stiffness is 12 N/mm. It is red.\n\n[2] Noth")
    assert "[3] It bears 500 hours of salt." in item.parts["context"]
    assert item.writers == {"large"}


def test_sources_are_those_of_all_texts_and_of_the_gold_behind_the_reference():
    gold = question(DocumentGold("spring.md"))
    shown = {SPRING.source, OTHER.source}
    sentence = cites(SPRING, "It is 12 N/mm.")
    assert item_of(sentence, asked=gold, known=references(spring="secret")).sources == {
        *shown,
        "secret",
    }
    assert item_of(sentence, asked=gold, known=references()).sources == EVERY | shown, "unknown"
    rows = question(RowGold("alloys", "1"))
    assert item_of(sentence, asked=rows, known=references()).sources == EVERY | shown


def test_quotes_of_the_gold_stand_in_for_a_reference_answer():
    gold = question(DocumentGold("spring.md", quote="stiffness is 12 N/mm"), RowGold("a", "1"))
    sentence = cites(SPRING, "It is 12 N/mm.")
    assert item_of(sentence, asked=gold).parts["reference"] == "12 N/mm"
    quoted = item_of(sentence, asked=gold, known=references(None))
    assert quoted.parts["reference"] == "stiffness is 12 N/mm"
    bare = question(DocumentGold("spring.md"))
    assert item_of(sentence, asked=bare, known=references(None)).parts["reference"] == ""


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ('[["S650MC", 702], ["S700MC", 720.5]]', "S650MC, 702; S700MC, 720.5"),
        ("[[125]]", "125"),
        ('["2027-01-28", null, true]', "2027-01-28, nothing, yes"),
        ('{"grade": "S700MC", "rows": [1, 2]}', "grade: S700MC, rows: 1, 2"),
        ("12 N/mm", "12 N/mm"),
        ("125", "125"),
        ('"quoted"', '"quoted"'),
        ("[sic] 12", "[sic] 12"),
        (None, None),
    ],
)
def test_a_reference_that_is_a_list_is_words(kept, words):
    assert in_words(kept) == words


def test_a_refusal_is_judged_by_the_words_of_the_model():
    known = references(spring="docs")
    told = {"references": known, "writer_identity": "large"}
    [item] = answer_items(ASKED, (), SHOWN, **told, refusal="I do not know.")
    assert item.parts["answer"] == "I do not know."
    assert item.writers == {"large"}


def test_nothing_is_judged_of_no_answer_and_of_nothing_found():
    known = references(spring="docs")
    asked = question(DocumentGold("spring.md"))
    assert answer_items(asked, (), SHOWN, references=known, writer_identity="") == []
    assert context_item(asked, []) == []
    [context] = context_item(asked, SHOWN)
    assert context.kind == "context"
    assert [*context.parts] == ["question", "context"]


def test_a_pair_shows_no_marks_that_tell_who_had_sources():
    answer, first = item_of(cites(SPRING, "It is 12 N/mm.")), item_of(Sentence("Stiff.", ()))
    pair = pair_item(answer, first, ("It is 12 N/mm.", "Stiff."))
    assert pair.parts["answer 1"] == "It is 12 N/mm."
    assert pair.parts["answer 2"] == "Stiff."
    assert "context" not in pair.parts
    assert pair.sources == answer.sources | first.sources
