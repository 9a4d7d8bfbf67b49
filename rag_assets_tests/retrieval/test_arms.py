import logging
import time

import pytest

from rag_assets.config import Config, Retriever
from rag_assets.retrieval import arms
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.opening import open_index
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet
from rag_assets_tests.retrieval.corpus import VARIANT, chunk, index_text, random_vectors, row, write

UNITS = [
    *(chunk(f"steel sheet number {place}", index=place) for place in range(6)),
    *(row(f"steel grade {key}", table="grades", key=key) for key in ("a", "b", "c")),
]
A, B, C = (unit["unit_id"] for unit in UNITS if unit["domain"] == "table")
BY_WORDS = Retriever(signals=["bm25"], arms=("lookup",))
QUERY = "steel sheet number 3"


class Fixed:
    """An arm that finds the same units for each query."""

    def __init__(
        self, *found: str, waits: float = 0.0, fails: type[Exception] | None = None
    ) -> None:
        self.found, self.waits, self.fails = found, waits, fails
        self.asked = 0

    def prepare(self, pins: CompleteSet) -> None:
        """Nothing to read."""

    def find(self, query: str, *, filters: Filters | None, pins: CompleteSet, depth: int):
        """`found`, whatever is asked."""
        self.asked += 1
        time.sleep(self.waits)
        if self.fails:
            raise self.fails("as it happens")
        return [(unit, 1 / rank) for rank, unit in enumerate(self.found[:depth], start=1)]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> tuple[Store, Config]:
    store, config = Store(tmp_path_factory.mktemp("state")), Config()
    write(store, config, UNITS, random_vectors(len(UNITS)))
    index_text(store, config)
    return store, config


def ranked(built, arm: arms.Arm | None, *, filters: Filters | None = None, **settings):
    index = open_index(*built, VARIANT, arms={"lookup": arm} if arm else None)
    retriever = BY_WORDS.model_copy(update=settings)
    return index.search(QUERY, retriever=retriever, filters=filters)


def ids(results) -> list[str]:
    return [hit.unit_id for hit in results]


def test_what_an_arm_finds_comes_first_in_its_order(built):
    plain = ids(ranked(built, Fixed(), arms=()))
    found = ranked(built, Fixed(C, A))
    assert ids(found)[:2] == [C, A]
    assert ids(found)[2:] == [unit for unit in plain if unit not in (C, A)]
    scores = [hit.score for hit in found]
    assert scores == sorted(scores, reverse=True)
    assert found[0].arms["lookup"].rank == 1
    assert "bm25" in found[2].arms


def test_an_arm_that_finds_nothing_leaves_units_and_scores_alone(built):
    plain = ranked(built, Fixed(), arms=())
    assert [(hit.unit_id, hit.score) for hit in ranked(built, Fixed())] == [
        (hit.unit_id, hit.score) for hit in plain
    ]


def test_filters_hold_for_what_an_arm_finds(built):
    documents = ranked(built, Fixed(A, B), filters=Filters(domain="document"))
    assert not {A, B} & set(ids(documents))
    other = ranked(built, Fixed(A, B), filters=Filters(table="others"))
    assert ids(other) == []


def test_units_that_the_index_lacks_are_left_out(built):
    assert ids(ranked(built, Fixed("no such unit", B)))[0] == B


def test_one_search_and_many_rank_alike(built):
    index = open_index(*built, VARIANT, arms={"lookup": Fixed(B)})
    one = ids(index.search(QUERY, retriever=BY_WORDS))
    many = index.search_many([QUERY, "grade"], retriever=BY_WORDS).to_pylist()
    assert [line["unit_id"] for line in many if line["query_index"] == 0] == one


@pytest.mark.parametrize("error", [ZeroDivisionError, TimeoutError])
def test_an_arm_that_fails_fails_no_search_and_is_told_once(built, caplog, error):
    """One whose own work timed out, such as a server, did not take too long itself."""
    failing = Fixed(A, fails=error)
    index = open_index(*built, VARIANT, arms={"lookup": failing})
    plain = ids(ranked(built, Fixed(), arms=()))
    with caplog.at_level(logging.WARNING):
        assert ids(index.search(QUERY, retriever=BY_WORDS)) == plain
        assert ids(index.search(QUERY, retriever=BY_WORDS)) == plain
    told = [record.getMessage() for record in caplog.records if "lookup" in record.getMessage()]
    name = error.__name__
    assert told == [f"searches go on without the arm lookup: {name}: as it happens"]
    assert failing.asked == 2, "it is asked again"


def test_an_arm_that_takes_too_long_is_not_asked_again(built, caplog):
    slow = Fixed(A, waits=1.0)
    index = open_index(*built, VARIANT, arms={"lookup": slow})
    index._arms.seconds = 0.05
    plain = ids(ranked(built, Fixed(), arms=()))
    with caplog.at_level(logging.WARNING):
        assert ids(index.search(QUERY, retriever=BY_WORDS)) == plain
        assert ids(index.search(QUERY, retriever=BY_WORDS)) == plain
    assert slow.asked == 1
    assert "took longer than 0.05 s" in caplog.text


def test_what_measures_waits_for_an_arm_that_a_search_has_left_out(built):
    """A busy machine must not decide what a retriever is worth."""
    slow = Fixed(A, waits=0.2)
    index = open_index(*built, VARIANT, arms={"lookup": slow})
    index._arms.seconds = 0.05
    index.search(QUERY, retriever=BY_WORDS)

    [ranking] = index.rank([QUERY], retriever=BY_WORDS).rankings

    assert ranking.unit_ids[0] == A
    assert slow.asked == 2


def test_all_retrievers_that_are_measured_share_what_an_arm_found(built):
    arm = Fixed(A)
    index = open_index(*built, VARIANT, arms={"lookup": arm})
    deeper = BY_WORDS.model_copy(update={"depth": 50})

    found = [index.rank([QUERY], retriever=one).rankings for one in (BY_WORDS, deeper)]

    assert arm.asked == 1
    assert [ranking.unit_ids[0] for [ranking] in found] == [A, A]
    index.search(QUERY, retriever=BY_WORDS)
    assert arm.asked == 2, "a search asks for itself"


def test_an_arm_that_nobody_handed_in_finds_nothing(built, caplog):
    with caplog.at_level(logging.INFO):
        assert ids(ranked(built, None)) == ids(ranked(built, Fixed(), arms=()))
    assert "did not hand it in" in caplog.text


def test_a_retriever_without_arms_keeps_its_fingerprint():
    dumped = Retriever(signals=["bm25"]).model_dump(mode="json")
    assert "arms" not in dumped
    assert Retriever.from_record(dumped) == Retriever(signals=["bm25"])
    assert BY_WORDS.model_dump(mode="json")["arms"] == ["lookup"]


@pytest.mark.parametrize(
    "settings",
    [
        {"arms": ["lookup", "lookup"]},
        {"arms": ["graph"]},
    ],
)
def test_arms_that_do_not_fit_are_refused(settings):
    with pytest.raises(ValueError, match="arm"):
        Retriever.model_validate(settings)
