import json
import os
from pathlib import Path

import pytest

from rag_assets.change.sync import Report
from rag_assets.config import Config, Evaluation, QuestionSet
from rag_assets.evaluation.gold import DocumentGold, RowGold
from rag_assets.evaluation.questions import parse, read_questions, refresh_questions
from rag_assets.media.json_lines import QuestionsError
from rag_assets.store import Store

SHARED = Path(
    os.environ.get("RAG_ASSETS_SHARED_DATA")
    or Path(__file__).resolve().parents[3] / "shared" / "data"
)


def question(identifier: str = "q1", **fields) -> dict:
    return {
        "id": identifier,
        "question": "How strong is S355?",
        "domain": "doc",
        "gold": ["doc:steel"],
        "support": [],
        "answer": "355 MPa",
        "split": "dev",
    } | fields


def write(path: Path, *lines: dict | str) -> Path:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("".join(f"{text}\n" for text in texts), "utf-8")
    return path


def config_of(tmp_path: Path, *sets: QuestionSet) -> Config:
    return Config(state_dir=tmp_path / "state", evaluation=Evaluation(questions=list(sets)))


def imported(store: Store, config: Config, **settings) -> Report:
    return refresh_questions(store, config, log=lambda _: None, **settings)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "state")


def test_a_question_keeps_its_gold_anchored_to_the_source(tmp_path: Path, store: Store) -> None:
    path = write(
        tmp_path / "own.jsonl",
        question(
            gold=["doc:steel#page=3", "doc:notes/oil.md", "row:steels:a:b", r"row:a\:b:c:d"],
            evidence=[
                {"doc_id": "steel", "page": 3, "text": "yield strength"},
                {"doc_id": "steel", "page": 4, "text": "of another page"},
                {"doc_id": "notes/oil.md"},
            ],
            lang="sv",
        ),
    )
    documents = write(tmp_path / "documents.jsonl", {"doc_id": "steel", "path": "docs/steel.pdf"})
    config = config_of(tmp_path, QuestionSet(name="own", path=path, documents=documents))
    assert imported(store, config).added == 1
    (read,) = read_questions(store)
    assert read.gold == (
        DocumentGold("docs/steel.pdf", 3, "yield strength"),
        DocumentGold("notes/oil.md"),
        RowGold("steels", "a:b"),
        RowGold("a:b", "c:d"),
    )
    assert (read.domain, read.language, read.split) == ("combined", "sv", "dev")
    assert (read.question_id, read.id) == ("own/q1", "q1")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{not json", "not JSON"),
        ("[1, 2]", "not a JSON object"),
        (question(gold=[]), "gold is empty"),
        (question(gold=["steel.pdf"]), "gold[0] = 'steel.pdf': write doc:<id>"),
        (question(gold=["row:steels"]), "gold[0] = 'row:steels'"),
        (question(gold="doc:steel"), "gold = 'doc:steel': write a list"),
        (question(split="all"), "split = 'all': it stands for all questions"),
        (question(split=3), "split = 3: write a text"),
        (question(question="  "), "question = '  ': write a text"),
        (question(identifier=None), "id = None"),
        (question(evidence=["text"]), "evidence[0] = 'text'"),
        (question(identifier="q0"), "line 1 has the same id"),
        (question(question="half of \ud83d"), "half of a character, '\\ud83d'"),
        (question(gold=["row:steels:\ud83d"]), "half of a character"),
        (question(evidence=[{"doc_id": "steel", "text": "\udc00"}]), "half of a character"),
        (question(gold=["doc:steel#page=0"]), "gold[0] = 'doc:steel#page=0': pages count from 1"),
        (question(gold=["doc:steel#page=iv"]), "pages count from 1"),
        (question(gold=[f"doc:steel#page={'9' * 5000}"]), "pages count from 1"),
        ("[" * 100_000, "not JSON"),
        ('{"id": ' + "9" * 5_000 + "}", "not JSON"),
    ],
)
def test_a_bad_line_is_named_with_its_remedy_and_the_rest_goes_on(
    tmp_path: Path, store: Store, line: dict | str, problem: str
) -> None:
    path = write(tmp_path / "own.jsonl", question("q0"), "", line, question("q2"))
    config = config_of(tmp_path, QuestionSet(path=path))
    report = imported(store, config)
    assert (report.added, report.failed) == (2, 1)
    (failure,) = report.failures
    assert failure.reason.startswith("own.jsonl line 3: ")
    assert problem in failure.reason
    assert [question.id for question in read_questions(store)] == ["q0", "q2"]


def test_a_question_may_be_called_like_a_line_that_is_none(tmp_path: Path, store: Store) -> None:
    path = write(tmp_path / "own.jsonl", question("line 2"), "{not json", question("q3"))
    report = imported(store, config_of(tmp_path, QuestionSet(path=path)))
    assert (report.added, report.failed) == (2, 1)
    assert [one.id for one in read_questions(store)] == ["line 2", "q3"]
    again = imported(store, config_of(tmp_path, QuestionSet(path=path)))
    assert (again.unchanged, again.failed) == (2, 1)


def test_bytes_that_are_not_utf8_are_a_bad_line(tmp_path: Path) -> None:
    path = tmp_path / "own.jsonl"
    path.write_bytes(b'{"id": "\xff"}\n' + json.dumps(question()).encode())
    parsed = parse(QuestionSet(path=path))
    assert len(parsed.rows) == 1
    assert "line 1" in next(iter(parsed.failures.values())).reason


def test_nothing_is_read_again_until_a_file_changes(tmp_path: Path, store: Store) -> None:
    path = write(tmp_path / "own.jsonl", question("q1"), question("q2"), "broken")
    config = config_of(tmp_path, QuestionSet(path=path))
    first = imported(store, config)
    again = imported(store, config)
    assert (again.added, again.unchanged, again.failed) == (0, 2, 1)
    assert again.data_version == first.data_version

    write(path, question("q1"), question("q2", split="test"), question("q3"))
    edited = imported(store, config)
    assert (edited.added, edited.changed, edited.removed) == (1, 1, 0)
    assert (edited.unchanged, edited.failed) == (1, 0)

    write(path, question("q3"))
    assert imported(store, config).removed == 2


def test_a_document_that_moved_changes_its_questions(tmp_path: Path, store: Store) -> None:
    path = write(tmp_path / "own.jsonl", question("q1"), question("q2", gold=["row:steels:1"]))
    documents = write(tmp_path / "documents.jsonl", {"doc_id": "steel", "path": "steel.pdf"})
    config = config_of(tmp_path, QuestionSet(path=path, documents=documents))
    imported(store, config)
    write(documents, {"doc_id": "steel", "path": "new/steel.pdf"})
    assert imported(store, config).changed == 1
    assert read_questions(store)[0].gold == (DocumentGold("new/steel.pdf"),)


def test_two_sets_may_use_the_same_ids(tmp_path: Path, store: Store) -> None:
    sets = [
        QuestionSet(name=name, path=write(tmp_path / f"{name}.jsonl", question(1)))
        for name in ("own", "other")
    ]
    assert imported(store, config_of(tmp_path, *sets)).added == 2
    assert [one.question_id for one in read_questions(store)] == ["other/1", "own/1"]


def test_without_question_sets_there_are_no_questions(tmp_path: Path, store: Store) -> None:
    report = imported(store, config_of(tmp_path))
    assert (report.added, report.failed, report.rows) == (0, 0, 0)
    assert read_questions(store) == []


def test_a_file_that_was_emptied_is_named_beside_another_that_was_not(
    tmp_path: Path, store: Store
) -> None:
    paths = [write(tmp_path / f"{name}.jsonl", question()) for name in ("own", "other")]
    config = config_of(tmp_path, *(QuestionSet(name=path.stem, path=path) for path in paths))
    imported(store, config)
    paths[0].write_text("\n")
    for _ in range(2):
        report = imported(store, config)
        assert (report.failed, report.rows) == (1, 1)
        assert "own.jsonl holds no question" in report.failures[0].reason
    write(paths[0], question())
    assert imported(store, config).failed == 0


def test_a_missing_file_is_named_and_deletes_nothing(tmp_path: Path, store: Store) -> None:
    path = write(tmp_path / "own.jsonl", question())
    config = config_of(tmp_path, QuestionSet(name="own", path=path))
    imported(store, config)
    path.unlink()
    with pytest.raises(QuestionsError, match=r"question set own: .*own\.jsonl cannot be read"):
        imported(store, config)
    assert len(read_questions(store)) == 1


@pytest.mark.parametrize(("name", "count"), [("materials_demo", 270), ("ottqa", 504)])
def test_every_question_of_the_shared_data_is_imported(
    tmp_path: Path, store: Store, name: str, count: int
) -> None:
    folder = SHARED / name
    if not folder.is_dir():
        pytest.skip(f"no shared data at {folder}: set RAG_ASSETS_SHARED_DATA")
    questions = QuestionSet(path=folder / "questions.jsonl", documents=folder / "documents.jsonl")
    report = imported(store, config_of(tmp_path, questions))
    assert (report.added, report.failed) == (count, 0)
    paths = {
        piece.uri
        for one in read_questions(store)
        for piece in one.gold
        if isinstance(piece, DocumentGold)
    }
    assert all((folder / path).is_file() for path in paths)


def test_the_harder_questions_of_the_demo_are_others_and_resolve():
    data = Path(__file__).resolve().parents[2] / "data"
    known, hard = (
        parse(QuestionSet(name=name, path=data / f"{name}.jsonl"))
        for name in ("questions", "hard_questions")
    )
    assert not hard.failures
    asked = {each.text for each in hard.questions}
    assert len(asked) == 20
    assert asked.isdisjoint(each.text for each in known.questions)
    for each in hard.questions:
        assert all((data / "documents" / gold.uri).is_file() and gold.quote for gold in each.gold)


def test_a_share_of_places_is_trained_on_and_never_a_part_of_one(tmp_path: Path) -> None:
    """A person need not give each line its split; a question of two places needs both."""
    lines = [question(f"q{n}", gold=[f"doc:{n % 10}.md"]) for n in range(40)]
    lines += [question("both", gold=[f"doc:{n}.md" for n in range(10)])]
    path = write(tmp_path / "own.jsonl", *lines)

    splits: dict[str, set[str]] = {}
    divided = parse(QuestionSet(name="own", path=path, train=0.5)).questions
    for one in divided[1:]:
        splits.setdefault(one.gold[0].label, set()).add(one.split)
    assert sorted(map(len, splits.values())) == [1] * 10
    assert set.union(*splits.values()) == {"train", "dev"}
    assert divided[0].split == "dev", "some of its places are measured"
    assert {one.split for one in parse(QuestionSet(name="own", path=path)).questions} == {"dev"}
    every = parse(QuestionSet(name="own", path=path, train=1)).questions
    assert {one.split for one in every} == {"train"}
