"""Worker processes: whatever a task does, the pool goes on and nothing is left behind."""

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from rag_assets.workers import Done, Failed, Pool, Task, pool

TASKS = "rag_assets_tests.workers.worker_tasks"


@pytest.fixture(autouse=True)
def _no_warm_up(monkeypatch):
    monkeypatch.setattr(pool, "WARM_UP_SECONDS", 0.0)


def call(function, *, key="task", seconds=30.0, **arguments):
    return Task(key=key, function=f"{TASKS}:{function}", arguments=arguments, seconds=seconds)


def outcomes(pool, *tasks):
    for task in tasks:
        pool.submit(task)
    return {task.key: outcome for task, outcome in pool.finished()}


def is_alive(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@contextmanager
def soon(seconds=10):
    """Retry the block's assertion-like lambda until it holds."""
    end = time.monotonic() + seconds

    def until(condition):
        while not condition():
            assert time.monotonic() < end, "did not happen in time"
            time.sleep(0.05)

    yield until


def test_a_task_that_is_offline_reaches_no_other_machine_and_the_next_one_does():
    tasks = [
        replace(
            call("reach", key="reach", address=["127.0.0.1", 9], family="internet"), offline=True
        ),
        replace(call("look_up", key="look up"), offline=True),
        replace(call("reach", key="file", address="/no/such/socket", family="file"), offline=True),
        call("look_up", key="online"),
    ]
    with Pool(size=1) as pool:
        found = outcomes(pool, *tasks)
    for key in ("reach", "look up"):
        assert (found[key].kind, found[key].error) == ("error", "NetworkRefusedError")
    assert found["reach"].reason == (
        "it tried to reach ('127.0.0.1', 9) over the network, which is not allowed here"
    )
    assert found["file"].error == "FileNotFoundError", "the name of a file is no other machine"
    assert found["online"] == Done(True)


def test_values_come_back_with_their_task():
    with Pool(size=2) as pool:
        found = outcomes(pool, *(call("echo", key=str(n), value={"å": [n]}) for n in range(20)))
    assert found == {str(n): Done({"å": [n]}) for n in range(20)}


def test_bytes_come_back_as_they_are():
    with Pool(size=1) as pool:
        assert outcomes(pool, call("raw", size=3_000_000))["task"] == Done(b"\x00\xff" * 3_000_000)


def test_output_and_input_of_a_task_never_touch_the_pipes():
    with Pool(size=1) as pool:
        found = outcomes(pool, *(call("noisy", key=str(n), value=n) for n in range(3)))
    assert found == {str(n): Done(n) for n in range(3)}


def test_an_exception_is_a_value_and_the_worker_lives_on():
    with Pool(size=1) as pool:
        before = outcomes(pool, call("process_id"))
        assert outcomes(pool, call("fail", message="no")) == {
            "task": Failed("error", "no", "ValueError")
        }
        assert outcomes(pool, call("leave"))["task"] == Failed("error", "3", "SystemExit")
        missing = outcomes(pool, call("read_missing"))["task"]
        assert isinstance(missing, Failed)
        assert (missing.kind, missing.error) == ("system", "FileNotFoundError")
        assert outcomes(pool, call("process_id")) == before


def test_a_function_that_does_not_exist_is_an_error_that_names_it():
    with Pool(size=1) as pool:
        outcome = outcomes(pool, call("nonsense"))["task"]
    assert isinstance(outcome, Failed)
    assert "nonsense" in outcome.reason


@pytest.mark.parametrize(
    ("number", "said"), [(signal.SIGSEGV, "SIGSEGV"), (signal.SIGRTMIN + 3, "signal 37")]
)
def test_a_crash_costs_one_task_and_says_how_it_ended(number, said):
    tasks = [call("echo", key=str(n), value=n) for n in range(6)]
    with Pool(size=2) as pool:
        found = outcomes(pool, *tasks[:3], call("crash", key="bad", number=number), *tasks[3:])
    crashed = found.pop("bad")
    assert isinstance(crashed, Failed)
    assert crashed.kind == "crash"
    assert said in crashed.reason
    assert found == {str(n): Done(n) for n in range(6)}


@pytest.mark.parametrize("function", ["hang", "hang_deaf"])
def test_a_hang_is_killed_at_its_limit_while_others_go_on(function):
    tasks = [call("echo", key=str(n), value=n) for n in range(6)]
    started = time.monotonic()
    with Pool(size=2) as pool:
        found = outcomes(pool, call(function, key="bad", seconds=1), *tasks)
    assert time.monotonic() - started < 15
    assert found.pop("bad") == Failed("timeout", "took longer than 1 s")
    assert found == {str(n): Done(n) for n in range(6)}


def test_a_timeout_kills_what_the_task_started(tmp_path):
    pid_file = tmp_path / "pid"
    with Pool(size=1) as pool:
        outcomes(pool, call("echo", value=0))  # started
        outcomes(pool, call("hang_with_child", seconds=2, pid_file=str(pid_file)))
    with soon() as until:
        until(lambda: not is_alive(int(pid_file.read_text())))


def test_memory_is_limited():
    with Pool(size=1, memory_bytes=1 << 30) as pool:
        found = outcomes(pool, call("hog", key="bad"), call("echo", key="good", value=1))
    bad = found["bad"]
    assert isinstance(bad, Failed)
    assert bad.kind == "memory"
    assert found["good"] == Done(1)


def test_one_task_starts_one_process_and_none_start_none():
    with Pool(size=4) as pool:
        assert list(pool.finished()) == []
        assert pool.processes == []
        outcomes(pool, call("echo", value=1))
        assert len(pool.processes) == 1


def test_a_process_is_replaced_after_its_share_of_tasks():
    with Pool(size=1, tasks_per_process=2) as pool:
        found = outcomes(pool, *(call("process_id", key=str(n)) for n in range(4)))
    assert found["0"] == found["1"] != found["2"] == found["3"]


def test_a_worker_keeps_to_the_functions_it_has_loaded():
    """Heavy imports happen in one worker while another kind of work goes to the other."""
    tasks = [call("process_id", key=f"a{n}") for n in range(4)]
    others = [call("slow", key=f"b{n}", value=n) for n in range(4)]
    with Pool(size=2) as pool:
        found = outcomes(pool, *tasks, *others)
    assert len({outcome.value for key, outcome in found.items() if key[0] == "a"}) == 1


def test_another_interpreter_finds_this_package_and_no_other_of_ours(tasks_elsewhere):
    with Pool(size=1) as pool:
        found = outcomes(pool, *tasks_elsewhere)
    assert [element["text"] for element in found["a.txt"].value] == ["One.", "Two."]
    assert found["a.md"].kind == "system"
    assert "markdown_it" in found["a.md"].reason


def test_tasks_of_two_interpreters_share_the_pool(tasks_elsewhere):
    there, _ = tasks_elsewhere
    with Pool(size=1) as pool:
        for turn in range(3):
            found = outcomes(
                pool, replace(there, key=f"there {turn}"), call("echo", key="here", value=turn)
            )
            assert found["here"] == Done(turn)
            assert isinstance(found[f"there {turn}"], Done)
            if turn == 0:
                first = set(pool.processes)
        assert set(pool.processes) == first, "each keeps what it has loaded"
        assert len(first) == 2


def test_the_environment_of_a_pool_reaches_its_tasks():
    with Pool(size=1, environment={"RAG_ASSETS_TEST": "seen"}) as pool:
        found = outcomes(pool, call("environment", name="RAG_ASSETS_TEST"))
    assert found["task"] == Done("seen")


def test_tasks_may_be_added_while_others_finish():
    seen = []
    with Pool(size=2) as pool:
        pool.submit(call("echo", key="0", value=0))
        for task, _ in pool.finished():
            seen.append(task.key)
            if len(seen) < 5:
                pool.submit(call("echo", key=str(len(seen)), value=0))
    assert seen == ["0", "1", "2", "3", "4"]


def test_an_idle_worker_that_dies_is_replaced():
    with Pool(size=1) as pool:
        first = outcomes(pool, call("process_id"))["task"]
        os.kill(pool.processes[0], 9)
        with soon() as until:
            until(lambda: not is_alive(first.value))
        second = outcomes(pool, call("process_id"))["task"]
    assert isinstance(second, Done)
    assert second != first


def test_a_task_whose_worker_died_before_taking_it_up_goes_to_another():
    with Pool(size=1) as pool:
        first = outcomes(pool, call("process_id"))["task"]
        os.kill(first.value, signal.SIGSTOP)
        pool.submit(call("process_id"))
        pool._assign()
        os.kill(first.value, signal.SIGKILL)
        [(_, second)] = pool.finished()
    assert isinstance(second, Done)
    assert second != first


def test_a_process_that_cannot_even_start_is_a_crash():
    with Pool(size=1, memory_bytes=1) as pool:
        outcome = outcomes(pool, call("echo", value=0))["task"]
    assert isinstance(outcome, Failed)
    assert outcome.kind == "crash"


LONG = 3_000_000


@pytest.mark.parametrize(
    ("function", "arguments", "answer"),
    [("slow", {"value": 2}, 2), ("slow_raw", {"size": LONG}, b"\x00\xff" * LONG)],
    ids=["short", "longer than the pipe, which the worker fills until somebody reads"],
)
def test_a_task_that_was_done_in_time_is_not_late_because_nobody_looked(
    function, arguments, answer
):
    with Pool(size=2) as pool:
        outcomes(pool, *(call("slow", key=str(n), value=n) for n in range(2)))  # both started
        pool.submit(call("echo", key="first", value=1))
        pool.submit(call(function, key="second", seconds=3, **arguments))
        finished = pool.finished()
        found = [next(finished)]
        time.sleep(3.5)
        found += finished
    assert {task.key: outcome for task, outcome in found} == {
        "first": Done(1),
        "second": Done(answer),
    }


def test_closing_leaves_no_process():
    with Pool(size=2) as pool:
        for n in range(2):
            pool.submit(call("hang", key=str(n)))
        pool.submit(call("echo", value=1))
        pool._assign()
        pids = pool.processes
        assert len(pids) == 2
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.parametrize(("function", "within"), [("hang", 5), ("hang_deaf", 12)])
def test_workers_of_a_killed_parent_end(function, within, tmp_path):
    parent = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys\n"
            "from rag_assets.workers import Pool, Task, pool\n"
            "pool.WARM_UP_SECONDS = 0\n"
            "pool = Pool(size=1)\n"
            f"pool.submit(Task('t', '{TASKS}:process_id', {{}}, 30))\n"
            "print(next(pool.finished())[1].value, flush=True)\n"
            f"pool.submit(Task('t', '{TASKS}:{function}', {{}}, 3))\n"
            "list(pool.finished())\n",
        ],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    worker = int(parent.stdout.readline())
    time.sleep(1)
    assert is_alive(worker)
    parent.kill()
    parent.wait()
    parent.stdout.close()
    with soon(within) as until:
        until(lambda: not is_alive(worker))
