"""Questions that people bring are taken in once, and a bad line is told with its remedy."""

import json
import re

import pytest

from rag_assets.config import QuestionSet
from rag_assets.evaluation.gold import DocumentGold, RowGold
from rag_assets.evaluation.questions import parse
from rag_assets.media.json_lines import QuestionsError
from rag_assets.questions.draft import split_of
from rag_assets.questions.importing import import_questions


@pytest.fixture
def people(tmp_path):
    return tmp_path / "questions" / "people.jsonl"


def write(file, *lines):
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    file.write_text("".join(f"{text}\n" for text in texts))
    return file


def kept(people):
    return {one.text: one for one in parse(QuestionSet(name="people", path=people)).questions}


def test_good_lines_are_appended_and_bad_ones_are_named(tmp_path, people):
    file = write(
        tmp_path / "mine.jsonl",
        {"id": "a", "question": "Which steel?", "gold": ["doc:a.md#page=2"], "split": "dev"},
        {"question": "How dense is brass?", "gold": ["row:alloys:3"]},
        {"question": "No gold?", "gold": []},
        "{not json",
    )
    found = import_questions(file, into=people, split_by=str)

    assert (found.added, found.known) == (2, 0)
    assert found.problems[0] == "mine.jsonl line 3: gold is empty: name what must be found"
    assert found.problems[1].startswith("mine.jsonl line 4: it is not JSON")
    assert kept(people)["Which steel?"].gold == (DocumentGold("a.md", 2),)
    assert kept(people)["Which steel?"].split == "dev"
    assert kept(people)["How dense is brass?"].split == split_of(str(RowGold("alloys", "3")))
    lines = [json.loads(line) for line in people.read_text().splitlines()]
    assert {line["origin"] for line in lines} == {"imported"}


def test_a_second_import_adds_nothing_and_changes_no_line(tmp_path, people):
    file = write(tmp_path / "mine.jsonl", {"question": "Which steel?", "gold": ["doc:a.md"]})
    import_questions(file, into=people, split_by=str)
    before = people.read_bytes()

    again = import_questions(file, into=people, split_by=str)

    assert (again.added, again.known) == (0, 1)
    assert people.read_bytes() == before


def test_another_question_of_an_id_is_a_bad_line(tmp_path, people):
    line = {"id": "a", "question": "Which steel?", "gold": ["doc:a.md"]}
    file = write(tmp_path / "mine.jsonl", line, {**line, "question": "Which brass?"})

    found = import_questions(file, into=people, split_by=str)

    assert found.added == 1
    assert "line 2: another question has the id a: give it one of its own" in found.problems[0]


def test_a_csv_file_needs_no_more_than_question_and_gold(tmp_path, people):
    file = write(
        tmp_path / "mine.csv",
        "question,gold,lang",
        '"Which steel, and why?",doc:a.md; row:alloys:3,en',
        "Without gold?,,en",
    )
    found = import_questions(file, into=people, split_by=str)

    gold = kept(people)["Which steel, and why?"].gold
    assert gold == (DocumentGold("a.md"), RowGold("alloys", "3"))
    assert found.problems == ["mine.csv line 3: gold is empty: name what must be found"]


@pytest.mark.parametrize("sign", [";", "\t"])
def test_a_csv_file_of_a_spreadsheet_in_europe_is_read(tmp_path, people, sign):
    lines = [["Question", "gold"], ["Är 2,5 kg mycket?", '"doc:a.md; row:alloys:3"'], ["", ""]]
    file = tmp_path / "mine.csv"
    file.write_bytes("\r\n".join(map(sign.join, lines)).encode("utf-8-sig"))

    found = import_questions(file, into=people, split_by=str)

    assert (found.added, found.problems) == (1, [])
    assert kept(people)["Är 2,5 kg mycket?"].gold == (DocumentGold("a.md"), RowGold("alloys", "3"))


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.csv", "Fråga,gold\nVarför?,doc:a.md\n", "its columns are fråga, gold"),
        ("a.xlsx", "PK\n", ".xlsx is no text"),
    ],
)
def test_a_file_without_the_columns_is_refused_with_a_remedy(tmp_path, people, name, content, why):
    file = tmp_path / name
    file.write_text(content)

    with pytest.raises(QuestionsError, match=re.escape(why)):
        import_questions(file, into=people, split_by=str)


def test_a_file_of_another_name_is_said_to_be_missing(tmp_path, people):
    with pytest.raises(QuestionsError, match="No such file or directory\\): make it readable"):
        import_questions(tmp_path / "no.csv", into=people, split_by=str)


def test_a_file_that_is_no_csv_is_refused_with_a_remedy(tmp_path, people):
    file = tmp_path / "mine.csv"
    file.write_bytes(b"question,gold\n\xff\xfe,doc:a.md\n")

    with pytest.raises(QuestionsError, match="save it as CSV in UTF-8"):
        import_questions(file, into=people, split_by=str)
    assert not people.exists()


def test_ids_of_documents_become_paths(tmp_path, people):
    write(tmp_path / "documents.jsonl", {"doc_id": "steel", "path": "docs/steel.pdf"})
    evidence = [{"doc_id": "steel", "page": 3, "text": "yield strength"}]
    line = {"question": "How strong?", "gold": ["doc:steel#page=3"], "evidence": evidence}

    import_questions(write(tmp_path / "mine.jsonl", line), into=people, split_by=str)

    gold = kept(people)["How strong?"].gold
    assert gold == (DocumentGold("docs/steel.pdf", 3, "yield strength"),)
