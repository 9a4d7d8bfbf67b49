"""The file of answers: written by many at once, never torn, never lost."""

import multiprocessing
import os
import signal
import sqlite3
import time
from contextlib import closing
from threading import Thread

import pytest

from rag_assets.answering.record.answer_rows import Prepared, delete, select
from rag_assets.answering.record.database import AnswersFile, AnswersFileError
from rag_assets.answering.record.keeping import add
from rag_assets.answering.record.kept import KeptAnswer, new_id
from rag_assets.answering.record.listing import AnswerFilter, find, one
from rag_assets.process import clock
from rag_assets.store import records_file
from rag_assets_testing.recorded_answers import answer, context

pytestmark = pytest.mark.filterwarnings("ignore:lance is not fork-safe")

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def file(tmp_path):
    return AnswersFile(tmp_path / "answers" / "answers.sqlite")


def kept(*texts, question="What is it?", user=None):
    at = clock.now()
    return KeptAnswer(new_id(at), at, answer(question, *texts), context(user=user))


def everything(file):
    with file.reading() as connection:
        return select(connection, where="true", values=[], limit=None)


def write_until_killed(path, told):
    """Keep answers, and tell the id of each once it was committed."""
    file = AnswersFile(path)
    while True:
        each = kept(*(f"sentence {place} " * 50 for place in range(4)))
        add(file, Prepared(each))
        os.write(told, f"{each.answer_id}\n".encode())


def started(path):
    reads, writes = os.pipe()
    process = FORK.Process(target=write_until_killed, args=(path, writes))
    process.start()
    os.close(writes)
    return process, reads


def killed(process, reads):
    """The ids that the process told before it died."""
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    with os.fdopen(reads) as told:
        return [line.strip() for line in told if line.endswith("\n")]


def test_what_was_committed_survives_the_kill_of_its_writers(file):
    writers = [started(file.path) for _ in range(3)]
    time.sleep(1.5)
    told = [answer_id for writer in writers for answer_id in killed(*writer)]

    found = everything(file)

    assert len(told) > 20
    assert {*told} <= {each.answer_id for each in found}
    assert {len(each.answer.sentences) for each in found} == {4}
    with file.reading() as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_threads_share_a_file(file):
    made = [[kept(f"{thread} {number}") for number in range(20)] for thread in range(4)]

    def write(part):
        for each in part:
            add(file, Prepared(each))

    threads = [Thread(target=write, args=(part,)) for part in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    wanted = {each.answer_id for part in made for each in part}
    assert {each.answer_id for each in everything(file)} == wanted


def test_a_fork_of_a_process_that_writes_writes_too(file):
    add(file, Prepared(kept("before")))
    child = FORK.Process(target=lambda: add(file, Prepared(kept("in the child"))))
    child.start()
    child.join()
    add(file, Prepared(kept("after")))

    assert child.exitcode == 0
    assert len(everything(file)) == 3


def test_an_error_undoes_the_whole_transaction(file):
    first = kept("kept")
    add(file, Prepared(first))

    def tear():
        with file.writing() as connection:
            delete(connection, [first.answer_id])
            connection.execute("INSERT INTO answers (answer_id) VALUES ('torn')")

    with pytest.raises(sqlite3.IntegrityError):
        tear()

    assert everything(file) == [one(file, first.answer_id)]


def test_a_file_that_was_put_in_its_place_is_written_to(file, tmp_path):
    """As when a backup is restored below a server."""
    add(file, Prepared(kept("before")))
    other = AnswersFile(tmp_path / "backup.sqlite")
    restored = kept("of the backup")
    add(other, Prepared(restored))
    other.close()
    other.path.rename(file.path)
    for suffix in records_file.BESIDE:
        file.path.with_name(f"{file.path.name}{suffix}").unlink(missing_ok=True)

    fresh = kept("afterwards")
    add(file, Prepared(fresh))

    ids = {each.answer_id for each in everything(file)}
    assert ids == {restored.answer_id, fresh.answer_id}


@pytest.mark.parametrize("version", [1, 2, 6])
def test_a_file_of_another_schema_is_refused(file, version):
    add(file, Prepared(kept("of another release")))
    file.close()
    with closing(sqlite3.connect(file.path)) as opened:
        opened.execute(f"PRAGMA user_version = {version}")

    for open_file in (file.reading, file.writing):
        said = rf"another release \(schema {version}, and"
        with pytest.raises(AnswersFileError, match=said), open_file():
            pass


def test_a_file_whose_maker_was_killed_is_made_by_the_next_reader(file):
    file.path.parent.mkdir(parents=True)
    file.path.touch()
    with file.reading() as connection:
        assert connection.execute("SELECT count(*) FROM answers").fetchone() == (0,)


def test_a_schema_that_fails_leaves_no_half_of_it(file, monkeypatch):
    monkeypatch.setattr(AnswersFile, "schema", "CREATE TABLE half (a); CREATE TABLE half (a);")

    with pytest.raises(LookupError), file.writing():
        pass

    with closing(sqlite3.connect(file.path)) as opened:
        assert opened.execute("SELECT name FROM sqlite_master").fetchall() == []


def test_nothing_deleted_is_left_in_the_file_or_beside_it(file):
    gone = kept("zwetschgen " * 500, question="Why zwetschgen?")
    add(file, Prepared(gone))
    add(file, Prepared(kept("it stays")))

    with file.writing() as connection:
        delete(connection, [gone.answer_id])
    file.shrink()

    for part in file.path.parent.iterdir():
        assert b"zwetschgen" not in part.read_bytes()
    assert len(everything(file)) == 1


def test_a_reader_does_not_wait_for_a_writer(file):
    add(file, Prepared(kept("before")))
    with file.writing() as connection:
        connection.execute("DELETE FROM answers")
        assert len(everything(file)) == 1

    assert everything(file) == []


def test_answers_are_found_by_what_they_are(file):
    swedish = kept("Stålet håller 355 MPa.", question="Hur starkt är stålet?", user="Åsa")
    english = kept("It bears 355 MPa.", question="How strong is it?")
    for each in (swedish, english):
        add(file, Prepared(each))

    def ids(**wanted):
        found = find(file, AnswerFilter(**wanted), served=None, limit=10)
        return [each.kept.answer_id for each in found]

    newest_first = sorted((english.answer_id, swedish.answer_id), reverse=True)
    assert ids() == newest_first  # within a millisecond either may be
    assert ids(user="Åsa") == [swedish.answer_id]
    assert ids(text="STÅLET HÅLLER") == [swedish.answer_id]
    assert ids(text="355 mpa") == newest_first
    assert ids(text="100%") == []
    assert ids(outcome="nothing") == []
    assert ids(since=clock.today()) == newest_first
    assert ids(before=newest_first[0]) == newest_first[1:]


def test_a_list_goes_on_after_its_last_answer(file):
    made = [kept(str(number)) for number in range(7)]
    for each in made:
        add(file, Prepared(each))
    wanted = sorted((each.answer_id for each in made), reverse=True)

    seen, before = [], None
    while page := find(file, AnswerFilter(before=before), served=None, limit=3):
        seen += [each.kept.answer_id for each in page]
        before = seen[-1]

    assert seen == wanted


def test_a_file_that_is_not_there_holds_no_answers(file):
    assert find(file, AnswerFilter(), served=None, limit=3) == []
    assert not file.path.parent.exists()
