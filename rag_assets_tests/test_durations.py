"""How long tests take: measured, kept, and used to let the longest files start first."""

import json

import pytest

from rag_assets_tests import durations

TOOK = {"one": 1.0, "two": 4.0}


@pytest.fixture
def stopwatch(tmp_path, monkeypatch):
    """One that has measured two cases of `test_slow`; `durations.json` lies beside the tests."""
    monkeypatch.setattr(durations, "FILE", tmp_path / "durations.json")
    measured = durations.Stopwatch()
    for case, seconds in TOOK.items():
        for when in ("setup", "call"):
            name = f"rag_assets_tests/store/test_locks.py::test_slow[{case}]"
            measured.pytest_runtest_logreport(
                pytest.TestReport(name, ("", 0, ""), {}, "passed", None, when, duration=seconds)
            )
    return measured


def test_what_tests_take_is_the_mean_of_their_cases(stopwatch):
    stopwatch.write()

    assert durations.known() == {"store/test_locks.py::test_slow": 5.0}


def test_a_test_that_did_not_run_keeps_its_line_while_it_is_there(stopwatch, tmp_path):
    (tmp_path / "store").mkdir()
    (tmp_path / "store/test_pages.py").write_text("def test_there(): ...")
    others = {"store/test_pages.py::test_there": 2.0, "store/test_pages.py::test_gone": 3.0}
    durations.FILE.write_text(json.dumps({**others, "store/test_locks.py::test_slow": 9.0}))

    stopwatch.write()

    assert durations.known() == {
        "store/test_locks.py::test_slow": 5.0,
        "store/test_pages.py::test_there": 2.0,
    }


def test_the_longest_file_starts_first_and_its_tests_stay_in_their_order(tmp_path, monkeypatch):
    known = {"b.py::test_y": 3.0, "a.py::test_x": 1.0, "a.py::test_z": 1.0}
    monkeypatch.setattr(durations, "known", lambda: known)
    names = ("a.py::test_x", "a.py::test_z", "b.py::test_x", "b.py::test_y", "c.py::test_new")

    class Item:
        def __init__(self, name):
            self.nodeid, self.path = name, name.partition("::")[0]

    items = [Item(name) for name in names]
    durations.put_longest_first(items)

    assert [item.nodeid for item in items] == [*names[2:4], *names[:2], names[4]]
