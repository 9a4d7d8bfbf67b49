import pyarrow as pa
import pytest

from rag_assets.config import Config
from rag_assets.config.addresses import serialized_rows_table
from rag_assets.store import Store
from rag_assets.tables import checks, serialize, table_rows
from rag_assets_tests.quality.judging import failures, judged, tamper
from rag_assets_tests.tables.exported_tables import STEEL, write_table

TEXTS = serialized_rows_table(Config(), "full_semantic")


@pytest.fixture
def config(tmp_path):
    return Config(state_dir=tmp_path, sources={"tables": [{"name": "db", "url": "sqlite:///x"}]})


@pytest.fixture
def store(config):
    return Store(config.state_dir)


def build(store, config, data, **options):
    write_table(store, data, **options)
    table_rows.refresh_rows(store, sources=config.table_sources, log=lambda _: None)
    serialize.refresh_serialized_rows(store, config, serializer="full_semantic", log=lambda _: None)


def judge(store, config, asset):
    return judged(checks.subjects(config), store, asset=asset)


def test_a_sound_build_holds(store, config):
    build(store, config, STEEL)

    assert failures(judge(store, config, "table_rows")) == {}
    assert failures(judge(store, config, "serialized_rows")) == {}


def test_a_row_that_did_not_arrive_blocks_and_its_table_is_named(store, config):
    build(store, config, STEEL)
    tamper(store, "table_rows", store.read("table_rows").slice(0, 1))

    result = judge(store, config, "table_rows")

    assert result.blocks
    outcome = failures(result)["rows_complete"]
    assert outcome.observed == 1
    assert outcome.examples == [{"table": "db/metals", "exported": 2, "rows": 1}]


def test_a_row_without_a_text_is_named(store, config):
    build(store, config, STEEL)
    texts = store.read(TEXTS)
    tamper(store, TEXTS, texts.slice(0, 1))

    outcome = failures(judge(store, config, "serialized_rows"))["rows_complete"]

    gone = texts["row_id"][1].as_py()
    assert outcome.examples == [
        {"source": "db", "table": "metals", "row_key": "2", "missing": gone}
    ]


def test_rows_that_another_run_has_brought_since_are_not_missing(store, config):
    build(store, config, STEEL)
    write_table(store, [*STEEL, {**STEEL[0], "id": 3}])
    assert failures(judge(store, config, "table_rows")) == {}

    table_rows.refresh_rows(store, sources=config.table_sources, log=lambda _: None)
    assert failures(judge(store, config, "serialized_rows")) == {}


def test_a_row_that_a_complete_pass_covered_and_the_table_lacks_is_missing(store, config):
    build(store, config, STEEL)
    gone = store.read(TEXTS)["row_id"][0].as_py()
    for table, asset in (("table_rows", "table_rows"), (TEXTS, "serialized_rows")):
        store.delete(table, column="row_id", keys=[gone])
        assert failures(judge(store, config, asset)).keys() == {"rows_complete"}


def test_a_blank_text_is_named(store, config):
    build(store, config, STEEL)
    texts = store.read(TEXTS)
    blank = pa.array(["  "] * texts.num_rows)
    tamper(store, TEXTS, texts.set_column(texts.column_names.index("text"), "text", blank))

    outcome = failures(judge(store, config, "serialized_rows"))["text_present"]

    assert outcome.examples[0] == {"source": "db", "table": "metals", "row_key": "1"}


def test_a_table_of_empty_cells_warns(store, config):
    empty = pa.table({f"c{n}": pa.nulls(9, pa.string()) for n in range(99)} | {"id": range(9)})
    build(store, config, empty, headings={})

    result = judge(store, config, "table_rows")

    assert failures(result).keys() == {"few_cells_empty"}
    (example,) = failures(result)["few_cells_empty"].examples
    assert example == {"table": "db/metals", "largest_empty_share": pytest.approx(0.99)}
    assert not result.blocks


def test_a_column_that_lost_its_values_is_drift(store, config):
    steels = [{"id": n, "material": f"S{n}", "melting": 1_300 + n} for n in range(60)]
    build(store, config, steels)
    assert failures(judge(store, config, "table_rows")) == {}
    build(store, config, [row | {"melting": None if row["id"] % 2 else 1} for row in steels])

    result = judge(store, config, "table_rows")

    assert failures(result).keys() == {"drift_nulls"}
    (example,) = failures(result)["drift_nulls"].examples
    assert example == {"of": "db/metals.melting", "before": 0.0, "now": 0.5}
