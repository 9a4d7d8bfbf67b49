"""A person says which units a sentence refers to; each counts as a sentence with its source."""

from dataclasses import replace

import pyarrow as pa
import pytest

from rag_assets.answering.answer import Shown
from rag_assets.questions.judging.labels import read_labels, sample_of, task_of
from rag_assets.questions.judging.verdicts import item_id
from rag_assets.questions.labelling import label
from rag_assets.questions.matching_labels import left_to_match, screens, sentences_to_match
from rag_assets_tests.questions.judged import said, source, written
from rag_assets_tests.questions.labellers import Labeller

UNITS = {f"unit{number}": source(number) for number in range(3)}


class FakeIndex:
    """Stands in for the index: it has the texts of three units, and of no other."""

    def read(self, ids, columns):
        rows = [{"unit_id": each, "text": UNITS[each]} for each in ids if each in UNITS]
        whole = {"table": None, "uri": "salt.md", "char_start": 0}
        filled = [{**whole, "char_end": len(row["text"]), **row} for row in rows]
        return pa.Table.from_pylist([dict.fromkeys(columns) | row for row in filled])


@pytest.fixture
def every():
    shown = tuple(
        Shown(unit, "h", rank, 1.0, "document", "salt.md")
        for rank, unit in enumerate([*UNITS, "gone"], start=1)
    )
    answers = [replace(written(number), shown=shown) for number in range(2)]
    return [*sentences_to_match(answers, FakeIndex(), about=lambda answer: answer.question)]


def test_each_unit_that_was_shown_is_said_of(every, tmp_path):
    """P1, figure 23: several units may be ticked, and none of them."""
    file = tmp_path / "labels.jsonl"
    asked = left_to_match(every, file, "anna")
    assert [each.sentence for each in asked] == [said(0), said(1)]
    person = Labeller(lambda text, _units: "1 3" if text.startswith(said(0)) else "0")

    label(
        screens(asked, file, "anna"),
        count=2,
        answers=person,
        say=lambda line: print(line, file=person.screen),
    )

    labels = read_labels(file).on(task_of("sentence").of)
    given = {each.item: each.label for each in labels}
    for sentence, expected in ((said(0), ("yes", "no", "yes")), (said(1), ("no", "no", "no"))):
        for text, wanted in zip(UNITS.values(), expected, strict=True):
            assert given[item_id("sentence", {"source": text, "sentence": sentence})] == wanted
    assert len(labels) == 6, "the unit that is gone is not asked about"
    assert not sample_of(labels), "they were not drawn by chance"
    assert not left_to_match(every, file, "anna"), "nothing is asked twice"
    assert len(left_to_match(every, file, "bo")) == 2
