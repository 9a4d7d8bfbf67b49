import multiprocessing
import sqlite3
from contextlib import closing

import pytest

from rag_assets.retrieval.cache import Cache
from rag_assets.retrieval.rankings import ranking_of

RANKING = ranking_of([("a", 0.1 + 0.2), ("b", 1 / 3), ("c", -2.5)])


@pytest.fixture
def cache(tmp_path):
    return Cache(tmp_path / "cache" / "retrieval.sqlite")


def test_rankings_come_back_to_the_last_bit_and_down_to_what_was_searched(cache):
    cache.keep_rankings({"key": RANKING}, depth=3)

    assert cache.rankings(["key", "other"], depth=3) == {"key": RANKING}
    assert cache.rankings(["key"], depth=2) == {"key": RANKING.head(2)}
    assert cache.rankings(["key"], depth=4) == {}


def test_that_nothing_was_found_is_kept_too(cache):
    cache.keep_rankings({"key": ranking_of([])}, depth=3)

    assert cache.rankings(["key"], depth=3) == {"key": ranking_of([])}
    assert cache.rankings(["key"], depth=4) == {}


def test_a_deeper_ranking_takes_the_place_of_a_shallow_one(cache):
    cache.keep_rankings({"key": RANKING.head(1)}, depth=1)
    cache.keep_rankings({"key": RANKING}, depth=50)

    assert cache.rankings(["key"], depth=40) == {"key": RANKING}


def test_many_scores_come_back(cache):
    scores = {f"key {place}": place / 7 for place in range(1_200)}
    cache.keep_scores(scores)

    assert cache.scores([*scores, "unknown"]) == scores


def test_a_cache_that_grew_too_large_is_emptied_under_the_eyes_of_others(cache, monkeypatch):
    cache.keep_scores({f"key {place}": 1.0 for place in range(5_000)})
    [file] = cache._path.parent.iterdir()
    node = file.stat().st_ino
    monkeypatch.setattr("rag_assets.retrieval.cache.MOST_BYTES", file.stat().st_size // 2)
    with closing(sqlite3.connect(file)) as other:
        cache.keep_scores({"new": 0.5})
        cache.keep_scores({"newer": 0.25})

        assert other.execute("SELECT count(*) FROM scores").fetchone() == (2,)
    assert cache.scores(["key 1", "new", "newer"]) == {"new": 0.5, "newer": 0.25}
    assert file.stat().st_ino == node


def test_a_cache_that_cannot_be_used_holds_nothing(tmp_path):
    (tmp_path / "file").write_text("in the way")

    for cache in (Cache(None), Cache(tmp_path / "file" / "cache.sqlite")):
        cache.keep_scores({"key": 1.0})
        cache.keep_rankings({"key": RANKING}, depth=3)
        assert cache.scores(["key"]) == {}
        assert cache.rankings(["key"], depth=1) == {}


def overwritten(file, *, start):
    """`file` with nonsense from the byte `start` on, the same size."""
    content = file.read_bytes()
    nonsense = b"no database" * (len(content) // 11 + 1)
    file.write_bytes(content[:start] + nonsense[: len(content) - start])


@pytest.mark.parametrize("start", [0, 4_096])
def test_a_damaged_file_is_found_and_filled_again(cache, start):
    scores = {f"key {place}": 1.0 for place in range(5_000)}
    cache.keep_scores(scores)
    overwritten(cache._path, start=start)

    assert cache.scores(["key 1"]) == {}
    cache.keep_scores({"key 1": 0.5})
    assert cache.scores(["key 1"]) == {"key 1": 0.5}


def test_a_file_that_another_process_has_filled_again_stays(cache):
    cache.keep_scores({"key": 1.0})
    cache._rebuild()

    assert cache.scores(["key"]) == {"key": 1.0}


def test_a_damaged_value_is_a_missing_one(cache):
    cache.keep_rankings({"key": RANKING, "other": RANKING}, depth=3)
    cache.keep_scores({"key": 1.0, "other": 0.5})
    with closing(sqlite3.connect(cache._path)) as database, database:
        [[kept]] = database.execute("SELECT value FROM rankings WHERE key = 'key'")
        turned = bytes([*kept[:30], kept[30] ^ 1, *kept[31:]])
        for table, value in (("rankings", turned), ("scores", b"\x00")):
            database.execute(f"UPDATE {table} SET value = ? WHERE key = 'key'", [value])

    assert cache.rankings(["key", "other"], depth=3) == {"other": RANKING}
    assert cache.scores(["key", "other"]) == {"other": 0.5}


def kept_by(path, process):
    for place in range(20):
        Cache(path).keep_scores({f"{process}/{place}/{n}": 1.0 for n in range(50)})


def test_processes_that_meet_a_damaged_file_fill_one_together(tmp_path):
    path = tmp_path / "retrieval.sqlite"
    path.write_bytes(b"no database" * 1_000)
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=kept_by, args=(path, name)) for name in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    kept = Cache(path).scores([f"{name}/19/{n}" for name in range(3) for n in range(50)])
    assert len(kept) == 150
    with closing(sqlite3.connect(path)) as database:
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
