"""What is said of kept answers."""

import pytest

from rag_assets.answering.record.answer_rows import Prepared, delete
from rag_assets.answering.record.database import answers_of
from rag_assets.answering.record.feedback import FeedbackError, feedback_on, give
from rag_assets.answering.record.keeping import add
from rag_assets.answering.record.kept import KeptAnswer, new_id
from rag_assets.process import clock
from rag_assets.store import Store
from rag_assets_testing.recorded_answers import answer, context


@pytest.fixture
def file(tmp_path):
    return answers_of(Store(tmp_path))


@pytest.fixture
def kept(file):
    at = clock.now()
    found = KeptAnswer(new_id(at), at, answer("What bears salt?", "AlMg3 does."), context())
    add(file, Prepared(found))
    return found


def test_the_last_word_about_an_answer_counts_and_goes_with_it(file, kept):
    give(file, kept, "up", unit_id=None, index_version="7")
    given = give(file, kept, "down", unit_id=None, index_version="7")
    assert feedback_on(file, kept.answer_id) == [given]
    with file.writing() as connection:
        delete(connection, [kept.answer_id])
        assert connection.execute("SELECT count(*) FROM feedback").fetchone() == (0,)


@pytest.mark.parametrize(("kind", "unit"), [("up", "u1"), ("right_source", None)])
def test_a_thumb_is_about_the_answer_and_a_source_about_a_unit(file, kept, kind, unit):
    with pytest.raises(FeedbackError, match="names"):
        give(file, kept, kind, unit_id=unit, index_version="7")
