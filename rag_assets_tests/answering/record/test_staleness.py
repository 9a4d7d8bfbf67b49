"""Exactly the sentences are stale whose sources are no longer what was cited."""

from dataclasses import replace

import pytest

from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.listing import AnswerFilter, find, one
from rag_assets.answering.record.staleness import Served
from rag_assets.citations.kinds import Absence, Computed, Rows
from rag_assets.citations.sentences import Sentence
from rag_assets_testing.faults import project
from rag_assets_testing.recorded_answers import asked, build, built


@pytest.fixture
def made(tmp_path):
    return built(tmp_path / "project")


def touched(made, answer_id):
    """The reason for each touched sentence, by its place."""
    kept = one(answers_of(made.store), answer_id)
    return touched_of(made, kept)


def touched_of(made, kept):
    served = Served.now(made.store, made.config)
    assert served is not None
    [found] = served.touched_of([kept])
    return {each.sentence: each.why for each in found}


def cited(made, answer_id):
    """What each sentence cites: the document or table, by its place."""
    sentences = one(answers_of(made.store), answer_id).answer.sentences
    return {place: sentence.citations[0] for place, sentence in enumerate(sentences, start=1)}


def test_nothing_is_stale_while_nothing_changed(made):
    answer_id = asked(made, "specimen tested at degrees")

    assert touched(made, answer_id) == {}
    build(made)
    assert touched(made, answer_id) == {}


def test_an_edit_of_a_document_touches_the_sentences_that_cite_what_changed(made):
    answer_id = asked(made, "specimen 0 of series")
    before = cited(made, answer_id)
    uri = before[1].uri
    number = int(uri.partition("report")[2].partition(".")[0])
    made.write(uri, project.report(number).replace("at 20 degrees", "at 21 degrees"))
    build(made)

    found = touched(made, answer_id)

    edited = {
        place for place, each in before.items() if each.uri == uri and "at 20 degrees" in each.text
    }
    assert edited
    assert edited < {*before}
    assert {*found} == edited
    assert found[1] == f"{uri}: the cited text is gone"


def test_a_document_that_went_touches_all_that_cite_it(made):
    answer_id = asked(made, "specimen 3 of series 1")
    before = cited(made, answer_id)
    uri = before[1].uri
    (made.documents / uri).unlink()
    build(made)

    assert {*touched(made, answer_id)} == {
        place for place, each in before.items() if each.uri == uri
    }


def test_a_row_that_changed_touches_its_cell_and_no_other(made):
    answer_id = asked(made, "hard brittle soft")
    assert {each.row_key for each in cited(made, answer_id).values()} == {"0", "1", "2"}
    made.execute("UPDATE grades SET name = 'harder' WHERE id = 1")
    build(made)

    found = touched(made, answer_id)

    [place] = [place for place, each in cited(made, answer_id).items() if each.row_key == "1"]
    assert found == {place: "laboratory/grades, row 1: it changed or is gone"}


def planned(made, table):
    """An answer with a computed value, rows and an absence of a table."""
    kept = one(answers_of(made.store), asked(made, "hard brittle soft"))
    plan = {"source": "laboratory", "table": table}
    rows = Rows("laboratory", table, plan, ("0",), 1)
    citations = (
        Computed("max", (), 3, plan, "SELECT", 2, None, "data", rows),
        rows,
        Absence(f"table {table}", "green", 3, plan),
    )
    sentences = tuple(Sentence(each.kind, (each,)) for each in citations)
    return replace(kept, answer=replace(kept.answer, sentences=sentences))


def test_plans_are_touched_when_their_own_table_changed(made):
    of_grades, of_tests = planned(made, "grades"), planned(made, "tests")
    made.execute("INSERT INTO grades VALUES (3, 'soft')")
    build(made)

    assert {*touched_of(made, of_grades)} == {1, 2, 3}
    assert touched_of(made, of_tests) == {}


def test_plans_that_give_the_same_on_the_new_rows_are_not_stale(made, monkeypatch):
    kept = planned(made, "grades")
    made.execute("INSERT INTO grades VALUES (3, 'soft')")
    build(made)
    served = Served.now(made.store, made.config)
    monkeypatch.setattr(served, "gives_the_same", lambda citation: citation.kind == "computed")

    [found] = served.touched_of([kept])

    assert [each.text for each in found] == ["rows", "absence"]


def test_words_that_stand_in_other_chunks_are_not_stale(made):
    """A swap of the chunking is no change of a document."""
    answer_id = asked(made, "specimen 2 of series")
    text = made.file.read_text()
    made.file.write_text(text.replace("{size: 48, overlap: 0}", "{size: 96, overlap: 0}"))
    build(made)

    found = touched(made, answer_id)

    assert found == {}
    uri = cited(made, answer_id)[1].uri
    made.write(uri, "# Other\n\nNothing of it is left.")
    build(made)
    assert {*touched(made, answer_id)} == {
        place for place, each in cited(made, answer_id).items() if each.uri == uri
    }


def test_stale_answers_are_found_among_others(made):
    of_rows = asked(made, "hard brittle soft")
    of_documents = asked(made, "specimen 3 of series 1")
    made.execute("UPDATE grades SET name = 'harder' WHERE id = 1")
    build(made)
    served = Served.now(made.store, made.config)

    stale = find(answers_of(made.store), AnswerFilter(), served=served, limit=10, stale_only=True)

    assert [each.kept.answer_id for each in stale] == [of_rows]
    every = find(answers_of(made.store), AnswerFilter(), served=served, limit=10)
    assert [bool(each.touched) for each in every] == [False, True]
    assert every[0].kept.answer_id == of_documents


def test_nothing_is_compared_where_nothing_serves(tmp_path):
    made = project.make(tmp_path / "project", documents=1, rows=4)

    assert Served.now(made.store, made.config) is None
