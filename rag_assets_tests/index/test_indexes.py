from itertools import chain

import lancedb
import numpy as np
import pyarrow as pa
import pytest
from lancedb import Session
from lancedb.index import FTS
from lancedb.query import MatchQuery

from rag_assets import schemas
from rag_assets.config import AnnSearch, IndexSettings, TextIndexSettings, VectorIndexSettings
from rag_assets.index.indexes import maintain, measured_recall
from rag_assets.retrieval import lexical
from rag_assets.retrieval.units import UnitTable
from rag_assets.store import PassRecord, Store, clean_up, search_indexes, text_parts
from rag_assets.store.ann import vector_query
from rag_assets.store.search_indexes import text_index_name, vector_index_name
from rag_assets.store.text_parts import text_index
from rag_assets.terms.spelling import sought_text

TABLE = "documents__test"
DIMENSION = 16
SCHEMA = schemas.units(DIMENSION)
EXACT = IndexSettings()
ANN = IndexSettings(ann_from_rows=500)
DEFAULT_TEXT_INDEX = text_index_name(EXACT.text)


@pytest.fixture
def store(tmp_path) -> Store:
    return Store(tmp_path)


def add(store: Store, first: int, last: int, text: str = "words of unit{n}") -> None:
    count = last - first
    random = np.random.default_rng(first)
    vectors = random.standard_normal((count, DIMENSION)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    columns = {
        field.name: pa.array([""] * count, pa.string())
        if pa.types.is_string(field.type)
        else pa.nulls(count, field.type)
        for field in SCHEMA
    } | {
        "unit_id": [f"u{n}" for n in range(first, last)],
        "domain": ["document"] * count,
        "text": [text.format(n=n) for n in range(first, last)],
        "pages": pa.array([[1]] * count, pa.list_(pa.int32())),
        "windows": pa.array([1 + n % 2 for n in range(first, last)], pa.int32()),
        "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), DIMENSION),
    }
    store.append(TABLE, pa.table(columns).cast(SCHEMA), schema=SCHEMA)


def care(store: Store, settings: IndexSettings = EXACT, *, version: str = "v1"):
    return maintain(store, TABLE, settings=settings, data_version=version, log=lambda _: None)


def parts(store: Store) -> list[int]:
    """Rows of each part of the full-text index."""
    held = text_index(store.open(TABLE).to_lance(), name=DEFAULT_TEXT_INDEX)
    assert held.is_exact
    return sorted(part.rows for part in held.parts)


def names(store: Store) -> list[str]:
    return [index.name for index in store.open(TABLE).list_indices()]


def found(store: Store, query: str) -> list[str]:
    search = store.open(TABLE).search(MatchQuery(query, "text"), query_type="fts")
    return search.select(["unit_id", "_score"]).limit(10).to_arrow()["unit_id"].to_pylist()


def test_a_small_table_gets_full_text_only(store):
    add(store, 0, 50)
    report = care(store)
    assert (report.rows, report.vector_index, report.recall) == (50, None, None)
    assert report.windowed == 25
    assert text_index(store.open(TABLE).to_lance(), name=DEFAULT_TEXT_INDEX).is_exact
    assert [index.columns for index in store.open(TABLE).list_indices()] == [["text"]]
    texts = [row["text"] for row in report.preview]
    assert texts == [f"words of unit{number}" for number in (0, 12, 24, 36)], "from all over it"
    assert "vector" not in report.preview[0]


def test_nothing_is_written_or_read_when_nothing_moved(store, monkeypatch):
    add(store, 0, 50)
    first = care(store)
    version = store.version(TABLE)
    monkeypatch.setattr(Store, "open", None)
    again = care(store)
    monkeypatch.undo()
    assert (again.done, again.rows, list(again.preview)) == ((), 50, list(first.preview))
    assert store.version(TABLE) == version


def test_a_table_built_anew_with_the_same_content_gets_its_indexes(store):
    for n in range(2):
        add(store, 0, 50)
        store.complete(TABLE, PassRecord("inputs", "v1", 50, 50, 0, bits=0, files=f"of build {n}"))
        assert care(store).done, n
        store.drop(TABLE)


def test_few_new_rows_are_counted_by_the_full_text_index_and_wait_for_the_others(store):
    add(store, 0, 600)
    care(store, ANN)
    add(store, 600, 604)
    report = care(store, ANN, version="v2")
    assert (report.rows, report.vector_unindexed) == (604, 4)
    assert [line.split(" in ")[0] for line in report.done] == ["full-text index brought up to date"]
    assert parts(store) == [604], "so few rows are not worth a part of their own"
    assert found(store, "unit602") == ["u602"]


def test_the_other_indexes_take_in_rows_past_the_threshold(store):
    add(store, 0, 600)
    care(store, ANN)
    add(store, 600, 700)
    report = care(store, ANN, version="v2")
    assert report.vector_unindexed == 0
    assert "indexes brought up to date" in report.done[-1]


def test_a_part_in_which_nothing_was_deleted_stays_as_it_is(store, monkeypatch):
    monkeypatch.setattr(text_parts, "FEW_ROWS", 0)
    monkeypatch.setattr(text_parts, "WORTH", 1)
    held = []
    for version, (first, last) in enumerate([(0, 50), (50, 60), (60, 65), (65, 90)]):
        add(store, first, last)
        care(store, version=f"v{version}")
        held.append(parts(store))
        assert found(store, f"unit{first + 2}") == [f"u{first + 2}"]
    assert held == [[50], [10, 50], [5, 10, 50], [40, 50]]
    store.delete(TABLE, column="unit_id", keys=["u7"])
    care(store, version="deleted")
    assert parts(store) == [89], "a part is counted anew, and with it what is small beside it"
    assert found(store, "unit7") == []


def test_an_unsettled_pass_that_wrote_the_same_content_anew_is_looked_at(store):
    for n in range(2):
        add(store, 0, 50)
        left = PassRecord(
            "inputs", "v1", 50, 50, 1, bits=0, files=f"of build {n}", is_settled=False
        )
        store.complete(TABLE, left)
        assert care(store).done, n
        store.drop(TABLE)


def test_deleted_and_replaced_texts_are_not_found(store):
    add(store, 0, 50)
    care(store)
    store.delete(TABLE, column="unit_id", keys=["u7"])
    assert found(store, "unit7") == []


def test_words_are_found_in_both_languages(store):
    add(store, 0, 1, text="Härdning och anlöpning av seghärdat stål")
    add(store, 1, 2, text="The hardening of steel")
    care(store)
    assert found(store, "härdning") == found(store, "hardning") == ["u0"]
    assert found(store, "the och av") == [], "stop words of both languages carry nothing"


def test_an_empty_table_can_be_searched(store):
    store.append(TABLE, SCHEMA.empty_table(), schema=SCHEMA)
    assert care(store).rows == 0
    assert found(store, "anything") == []


def test_an_ann_index_is_built_from_the_configured_size(store):
    add(store, 0, 499)
    assert care(store, ANN).vector_index is None
    add(store, 499, 600)
    report = care(store, ANN, version="v2")
    assert (report.vector_index, report.vector_unindexed) == ("IVF_FLAT", 0)
    assert report.recall == pytest.approx(1, abs=0.1)
    assert care(store, ANN, version="v3").recall == report.recall, "measured once, shown again"


def test_an_ann_index_is_not_kept_in_memory_once_its_recall_is_measured(store, tmp_path):
    add(store, 0, 5_000)
    kept = Session()
    store._database = lancedb.connect(tmp_path / "lance", session=kept)

    assert care(store, ANN).recall > 0.5

    assert kept.size_bytes < 5_000 * DIMENSION * 4
    measured_recall(store.open(TABLE), search=AnnSearch())
    assert kept.size_bytes > 5_000 * DIMENSION * 4, "whoever searches it keeps it"


def test_an_ann_index_is_built_where_the_vectors_are_not_held_in_memory(store, monkeypatch):
    add(store, 0, 600)
    monkeypatch.setattr("rag_assets.store.ann.EXACT_BYTES", 600 * DIMENSION * 4)
    assert care(store).vector_index is None

    monkeypatch.setattr("rag_assets.store.ann.EXACT_BYTES", 600 * DIMENSION * 4 - 1)
    assert care(store, version="v2").vector_index == "IVF_FLAT"

    monkeypatch.undo()
    report = care(store, version="v3")
    assert report.vector_index is None
    assert "ANN index removed" in report.done[0]


def test_each_unit_is_found_in_the_one_list_that_is_nearest(store):
    add(store, 0, 3_000)
    store.delete(TABLE, column="unit_id", keys=[f"u{n}" for n in range(0, 3_000, 7)])
    settings = IndexSettings(ann_from_rows=500, vectors=VectorIndexSettings(partitions=8))
    assert care(store, settings).vector_unindexed == 0

    assert all(found_by_own_vector(store))

    add(store, 3_000, 3_600)
    assert care(store, settings, version="v2").vector_unindexed == 0
    assert all(found_by_own_vector(store)), "rows that come later are put into the same lists"


def found_by_own_vector(store: Store) -> list[bool]:
    """Whether a search of one list finds a unit by its own vector, for every eleventh unit."""
    table = store.open(TABLE)
    units = table.to_arrow()[::11]
    found = []
    for unit, vector in zip(units["unit_id"].to_pylist(), units["vector"], strict=True):
        query = vector_query(table, vector.values.to_numpy(), search=AnnSearch(probes=1)).limit(1)
        nearest = query.select(["unit_id", "_distance"]).to_arrow()["unit_id"].to_pylist()
        found.append(nearest == [unit])
    return found


def test_an_ann_index_of_vectors_that_are_all_the_same_finds_each(store):
    add(store, 0, 2_000)
    table = store.open(TABLE)
    table.update(values={"vector": [1.0] + [0.0] * (DIMENSION - 1)})
    care(store, IndexSettings(ann_from_rows=500, vectors=VectorIndexSettings(partitions=4)))

    query = vector_query(store.open(TABLE), np.eye(1, DIMENSION)[0], search=AnnSearch())
    assert query.limit(5_000).select(["_distance"]).to_arrow().num_rows == 2_000


def test_recall_is_the_share_of_exact_neighbours_found(store, monkeypatch):
    add(store, 0, 600)
    table = store.open(TABLE)
    assert measured_recall(table, search=AnnSearch()) == 1, "without an index, search is exact"

    from lancedb.query import LanceVectorQueryBuilder

    limit = LanceVectorQueryBuilder.limit
    monkeypatch.setattr(LanceVectorQueryBuilder, "limit", lambda self, n: limit(self, 11))
    assert measured_recall(table, search=AnnSearch()) == 0.5, "itself and 10 of 20 neighbours"


def test_small_fragments_are_merged(store, monkeypatch):
    monkeypatch.setattr(clean_up, "SMALL_FRAGMENTS", 3)
    for n in range(5):
        add(store, 10 * n, 10 * n + 10)
    report = care(store)
    assert report.fragments == 1
    assert "fragments merged" in report.done[0]
    assert found(store, "unit33") == ["u33"]


def test_a_full_text_index_of_other_settings_is_replaced(store):
    add(store, 0, 50, text="running{n} cars")
    care(store)
    assert found(store, "car") == []

    stemmed = TextIndexSettings(stem=True)
    care(store, IndexSettings(text=stemmed))
    assert len(found(store, "car")) == 10
    assert names(store) == [text_index_name(stemmed)]
    care(store)
    assert names(store) == [DEFAULT_TEXT_INDEX]


def test_an_ann_index_of_other_settings_is_replaced(store):
    add(store, 0, 600)
    care(store, ANN)
    settings = VectorIndexSettings(type="ivf_pq", partitions=4)
    report = care(store, IndexSettings(ann_from_rows=500, vectors=settings))

    assert report.vector_index == "IVF_PQ"
    assert report.recall is not None
    assert report.recall < 1, "codes are no whole vectors"
    assert {*names(store)} == {DEFAULT_TEXT_INDEX, vector_index_name(settings)}
    again = care(store, IndexSettings(ann_from_rows=500, vectors=settings))
    assert again.done == ()


def test_settings_that_give_no_ann_index_of_a_table_say_why(store):
    add(store, 0, 600)
    settings = VectorIndexSettings(type="ivf_pq", partitions=601)
    with pytest.raises(ValueError, match="partitions = 601 is more than its 600 units"):
        care(store, IndexSettings(ann_from_rows=500, vectors=settings))


def test_a_run_killed_before_the_indexes_were_made_catches_up(store):
    add(store, 0, 50)
    care(store)
    store.drop(TABLE)
    add(store, 0, 50)
    (store.root / "indexes" / f"{TABLE}.json").write_text("{", "utf-8")
    assert "full-text index built" in care(store).done[0]


def test_words_are_found_by_any_spelling_and_texts_stay_as_they_are(store):
    written = [
        "gas\u200bket",
        "\u00b5strain",
        "12\u202f500 mm",
        "\uff21\uff22\uff397",
        "10² m²",
        "5½",
    ]
    for number, text in enumerate(written):
        add(store, number, number + 1, text)
    add(store, 10, 13, "plain {n}")
    store.delete(TABLE, column="unit_id", keys=["u11"])
    care(store)
    for query, unit in (
        ("gasket", "u0"),
        ("\u03bcstrain", "u1"),
        ("12500", "u2"),
        ("12 500", "u2"),
        ("aby7", "u3"),
        ("m2", "u4"),
        ("1/2", "u5"),
    ):
        assert unit in found(store, sought_text(query)), query
    numbers = (found(store, sought_text(number)) for number in ("102", "512", "12"))
    assert not {"u4", "u5"} & {*chain.from_iterable(numbers)}
    add(store, 20, 21, "gas\u00adket")
    care(store, version="v2")
    assert {*found(store, "gasket")} == {"u0", "u20"}
    clean_up.merge(store, TABLE)
    assert {*found(store, "gasket")} == {"u0", "u20"}
    texts = store.read(TABLE, columns=["unit_id", "text"]).to_pylist()
    assert {"unit_id": "u0", "text": written[0]} in texts


def test_an_index_of_an_older_release_is_asked_in_the_spelling_that_it_has(store):
    add(store, 0, 1, "a gap of 5\u00bd")
    add(store, 1, 2, "a gap of 5 1/2 and no more")
    table = store.open(TABLE)
    table.create_index("text", config=FTS(stem=False), name="text_unstemmed_5e7ff880")
    assert [*lexical.best_matches(UnitTable(table), "5\u00bd", depth=1).unit_ids] == ["u0"]


@pytest.mark.parametrize(("name", "revision"), [("text_5e83222e", 2), ("text_5e83222e_r3", 3)])
def test_the_name_of_an_index_says_its_revision_and_its_settings_apart(name, revision):
    assert search_indexes.revision_of(name) == revision
    assert search_indexes.settings_named(name) == "text_5e83222e"
