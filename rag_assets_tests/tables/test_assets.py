import dagster as dg
import pytest

from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.resources import resources_of
from rag_assets.store import Store
from rag_assets.tables import assets
from rag_assets_tests.tables.exported_tables import STEEL, write_table


@pytest.fixture
def config(tmp_path):
    return Config(
        state_dir=tmp_path,
        sources={
            "tables": [
                {"name": "db", "url": "sqlite:///x.db", "tables": ["metals", "steel_*", "a*"]},
                {"name": "files", "url": "folder"},
            ]
        },
        variants={"default": {}, "as_json": {"serializer": "json"}},
    )


def test_rows_depend_on_every_export(config):
    graph = dg.Definitions.merge(
        assets.definitions(config, STEPS), dg.Definitions(resources=resources_of(config))
    ).resolve_asset_graph()

    rows = graph.get(dg.AssetKey("table_rows"))
    assert rows.parent_keys == {
        dg.AssetKey(["exports", "db", "metals"]),
        dg.AssetKey(["exports", "db"]),
        dg.AssetKey(["exports", "files"]),
    }
    texts = graph.get(dg.AssetKey("serialized_rows"))
    assert texts.parent_keys == {dg.AssetKey("table_rows")}
    assert texts.partitions_def.get_partition_keys() == ["default", "as_json"]
    for asset in (rows, texts):
        assert asset.group_name == "tables"
        assert asset.description
        assert asset.owners == ["team:data"]


def test_a_run_shows_counts_previews_and_lengths_and_a_second_one_does_nothing(config):
    store = Store(config.state_dir)
    write_table(store, STEEL)

    rows, texts = _materialized(config)

    assert rows["added"].value == texts["added"].value == 2
    table = rows["tables"].records[0].data
    assert (table["table"], table["rows"], table["null rate"]) == ("db/metals", 2, 0.125)
    assert "Steel" in texts["preview"].records[0].data["text"]
    assert texts["rows_by_table"].records[0].data == {"table": "db/metals", "rows": 2}
    assert texts["text_lengths"].value.startswith("![plot](data:image/svg+xml;base64,")
    assert texts["serializer"].value == "json"

    rows, texts = _materialized(config)

    assert rows["unchanged"].value == texts["unchanged"].value == 2


def test_what_the_tables_hold_is_still_shown_after_a_run_that_had_nothing_to_do(config):
    write_table(Store(config.state_dir), STEEL)
    with dg.DagsterInstance.ephemeral() as instance:
        first, second = (_materialized(config, instance=instance) for _ in range(2))
    for before, after in zip(first, second, strict=True):
        assert after["unchanged"].value == 2
        assert after["preview"] == before["preview"]
    assert second[1]["text_lengths"] == first[1]["text_lengths"]


def test_rows_are_shown_in_plain_words_without_hidden_columns_and_keys(config):
    write_table(Store(config.state_dir), STEEL)
    rows, texts = (shown["preview"].records[0].data for shown in _materialized(config))
    in_words = "Material: Steel A; Melting point: 1340; Yield strength: 240 MPa"
    assert rows == {"table": "metals", "title": "Metal properties", "row": in_words}
    assert texts.keys() == {"table", "text"}


def test_without_previews_no_row_is_shown(config):
    write_table(Store(config.state_dir), STEEL)
    for shown in _materialized(config.model_copy(update={"previews": False})):
        assert "preview" not in shown


def _materialized(config, *, instance=None):
    assets_of_room = list(assets.definitions(config, STEPS).assets)
    result = dg.materialize(
        assets_of_room, partition_key="as_json", instance=instance, resources=resources_of(config)
    )
    return [
        result.asset_materializations_for_node(name)[0].metadata
        for name in ("table_rows", "serialized_rows")
    ]
