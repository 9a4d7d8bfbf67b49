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
    broken = tmp_path / "retrieval.sqlite"
    broken.write_bytes(b"no database" * 100)
    (tmp_path / "file").write_text("in the way")

    for cache in (Cache(None), Cache(broken), Cache(tmp_path / "file" / "cache.sqlite")):
        cache.keep_scores({"key": 1.0})
        cache.keep_rankings({"key": RANKING}, depth=3)
        assert cache.scores(["key"]) == {}
        assert cache.rankings(["key"], depth=1) == {}
