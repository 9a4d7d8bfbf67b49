"""What was asked once is not asked again: not by a second evaluation, not after a kill."""

import hashlib
import multiprocessing
import os
import signal
import stat
import time
from datetime import timedelta

import pytest

from rag_assets.models.language import kept_calls
from rag_assets.models.language.calls import AttachedPicture, Message, Request
from rag_assets.models.language.kept_calls import calls_file
from rag_assets.models.language.opening import open_language_model
from rag_assets.process import clock
from rag_assets_testing.scripted_language_model import (
    ScriptedServer,
    answers,
    cut,
    malformed,
    status,
)
from rag_assets_tests.models.language.conftest import config_of, request

pytestmark = pytest.mark.filterwarnings("ignore:lance is not fork-safe")

FORK = multiprocessing.get_context("fork")
QUESTIONS = [request(f"question {number}") for number in range(20)]


def ask_all(url, state, **settings):
    with open_language_model(config_of(url, **settings), state=state) as model:
        return model.complete_all(QUESTIONS), model.spending


def test_a_second_evaluation_makes_no_call(tmp_path):
    prices = {"per_million_prompt": 1.0, "per_million_completion": 1.0}
    with ScriptedServer(answers("Yes.")) as server:
        first, spent = ask_all(server.url, tmp_path, price=prices)
        again, spent_again = ask_all(server.url, tmp_path, price=prices)
        assert server.calls == len(QUESTIONS)
    assert all(one.is_kept for one in again)
    assert [one.text for one in again] == [one.text for one in first]
    assert (spent.calls, spent.tokens) == (20, 300)
    assert (spent_again.calls, spent_again.kept, spent_again.cost) == (0, 20, 0.0)


def test_what_is_kept_answers_while_the_server_is_away(tmp_path):
    with ScriptedServer(answers("Yes."), stated={"root": "weights-1"}) as server:
        ask_all(server.url, tmp_path)
        url = server.url
    again, _ = ask_all(url, tmp_path)
    assert {(one.outcome, one.is_kept) for one in again} == {("done", True)}


@pytest.mark.parametrize(
    "changed",
    [{"temperature": 0.5}, {"seed": 1}, {"output_tokens": 20}, {"structured_output": "none"}],
)
def test_another_parameter_is_another_call(tmp_path, changed):
    with ScriptedServer(answers("Yes.")) as server:
        ask_all(server.url, tmp_path)
        ask_all(server.url, tmp_path, **changed)
        assert server.calls == 2 * len(QUESTIONS)


def test_another_model_behind_the_same_name_is_asked_anew(tmp_path):
    with ScriptedServer(answers("Yes."), stated={"root": "weights-1"}) as server:
        ask_all(server.url, tmp_path)
        server.stated["root"] = "weights-2"
        ask_all(server.url, tmp_path)
        assert server.calls == 2 * len(QUESTIONS)


@pytest.mark.parametrize(
    ("behaviour", "calls"), [(cut(), 1), (answers(""), 1), (malformed(), 2), (status(422), 2)]
)
def test_an_answer_is_kept_and_a_fault_of_the_server_is_not(tmp_path, behaviour, calls):
    with ScriptedServer(behaviour) as server:
        for _ in range(2):
            config = config_of(server.url, attempts=1)
            with open_language_model(config, state=tmp_path) as model:
                model.complete(QUESTIONS[0])
        assert server.calls == calls


def test_a_killed_run_goes_on_without_asking_twice(tmp_path):
    with ScriptedServer(lambda _: answers("Yes.").after(0.05)) as server:
        process = FORK.Process(target=ask_all, args=[server.url, tmp_path])
        process.start()
        while server.calls < 10:
            time.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        before = server.calls
        again, _ = ask_all(server.url, tmp_path)
        kept = sum(one.is_kept for one in again)
        assert kept >= before - 4, "only the calls that ran when it was killed are made again"
        assert server.calls - before == len(QUESTIONS) - kept


def test_processes_keep_calls_side_by_side(tmp_path):
    with ScriptedServer(answers("Yes.")) as server:
        processes = [FORK.Process(target=ask_all, args=[server.url, tmp_path]) for _ in range(4)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0] * 4
        before = server.calls
        ask_all(server.url, tmp_path)
        assert server.calls == before


def test_the_file_is_for_its_owner_alone_and_a_damaged_one_stops_nothing(tmp_path):
    with ScriptedServer(answers("Yes.")) as server:
        ask_all(server.url, tmp_path)
        file = calls_file(tmp_path)
        assert stat.S_IMODE(file.path.stat().st_mode) == 0o600
        file.close()
        for beside in ("-wal", "-shm"):
            file.path.with_name(file.path.name + beside).unlink(missing_ok=True)
        file.path.write_bytes(b"no database" * 1_000)
        found, _ = ask_all(server.url, tmp_path)
        assert {one.outcome for one in found} == {"done"}
        again, _ = ask_all(server.url, tmp_path)
    assert all(one.is_kept for one in again)


def test_what_is_of_no_use_is_asked_again_on_request(tmp_path):
    with ScriptedServer([cut(), answers("Yes.")]) as server:
        with open_language_model(config_of(server.url), state=tmp_path) as model:
            assert model.complete(QUESTIONS[0]).outcome == "cut"
            assert model.complete(QUESTIONS[0]).outcome == "cut"
            assert model.complete(QUESTIONS[0], retry=True).text == "Yes."
            assert model.complete(QUESTIONS[0], retry=True).is_kept
        assert server.calls == 2


def test_another_picture_is_another_call(tmp_path):
    def shown(data: bytes) -> Request:
        picture = AttachedPicture("image/png", data)
        return Request((Message("user", "What is it?", (picture,)),), max_tokens=10)

    with ScriptedServer(answers("A rotor.")) as server:
        with open_language_model(config_of(server.url), state=tmp_path) as model:
            model.complete_all([shown(b"one"), shown(b"two"), shown(b"one")])
            assert model.complete(shown(b"one")).is_kept
        assert server.calls == 2
        [text, picture] = server.requests[0]["messages"][0]["content"]
    assert text == {"type": "text", "text": "What is it?"}
    assert picture["image_url"]["url"].startswith("data:image/png;base64,")
    told = [texts for _, texts in kept_calls.texts(calls_file(tmp_path))]
    assert hashlib.sha256(b"two").hexdigest() in {text for texts in told for text in texts}


def test_erased_calls_leave_no_byte(tmp_path):
    with ScriptedServer(lambda body: answers(f"about {body['messages'][0]['content']}")) as server:
        ask_all(server.url, tmp_path)
    file = calls_file(tmp_path)
    found = [call for call, texts in kept_calls.texts(file) if "question 7" in texts]
    assert len(found) == 1
    kept_calls.erase(file, found)
    left = b"".join(one.read_bytes() for one in file.path.parent.iterdir())
    assert b"question 7" not in left
    assert b"question 8" in left
    assert len(kept_calls.older_than(file, clock.now() + timedelta(days=1))) == 19
    assert kept_calls.older_than(file, clock.now() - timedelta(days=1)) == []
