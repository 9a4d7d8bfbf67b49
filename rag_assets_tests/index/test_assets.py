import dagster as dg
import pytest

from rag_assets.graph import STEPS
from rag_assets.index.assets import definitions
from rag_assets.resources import resources_of
from rag_assets.store import Store
from rag_assets.store.complete_sets import set_of
from rag_assets.store.pins import opened
from rag_assets.store.search_indexes import text_index_name
from rag_assets.store.text_parts import text_index
from rag_assets_testing.embedding import refresh_documents
from rag_assets_tests.index.corpus import VARIANT, config_at, put_chunks, put_rows, texts


@pytest.fixture
def config(tmp_path):
    return config_at(tmp_path)


def materialize(config) -> dict[str, dict[str, object]]:
    assets = list(definitions(config, STEPS).assets)
    result = dg.materialize(assets, partition_key=VARIANT, resources=resources_of(config))
    return {
        event.asset_key.to_user_string(): {
            name: value.value for name, value in event.materialization.metadata.items()
        }
        | {"data_version": event.materialization.tags["dagster/data_version"]}
        for event in result.get_asset_materialization_events()
    }


def test_the_graph_is_what_the_design_says(config):
    graph = dg.Definitions.merge(
        definitions(config, STEPS), dg.Definitions(resources=resources_of(config))
    ).resolve_asset_graph()
    parents = {
        key.to_user_string(): {parent.to_user_string() for parent in graph.get(key).parent_keys}
        for key in graph.materializable_asset_keys
    }
    assert parents == {
        "chunk_vectors": {"chunks"},
        "row_vectors": {"serialized_rows"},
        "joint_index": {"chunk_vectors", "row_vectors"},
    }
    for asset in definitions(config, STEPS).assets:
        [spec] = asset.specs
        assert spec.group_name == "index"
        assert spec.description
        assert list(spec.owners) == [config.owner]
        is_embedding = spec.key.to_user_string().endswith("_vectors")
        assert asset.op.pool == ("gpu" if is_embedding else None)


def test_a_run_shows_what_was_embedded_and_a_second_one_that_nothing_was(config):
    store = Store(config.state_dir)
    put_chunks(store, config, [*texts(6), "corrosion " * 400])
    put_rows(store, config, [texts(1)[0], "grade is 316L"])
    shown = materialize(config)
    assert (shown["chunk_vectors"]["embedded"], shown["row_vectors"]["embedded"]) == (7, 1)
    assert shown["chunk_vectors"]["windowed"] == 1
    assert shown["row_vectors"]["reused"] == 1
    assert shown["joint_index"]["dagster/row_count"] == 9
    assert shown["chunk_vectors"]["vector_search"] == "exact"
    assert shown["chunk_vectors"]["texts_per_second"] > 0
    preview = shown["chunk_vectors"]["preview"].records
    assert "vector" not in preview[0].data
    shown_domains = [row.data["domain"] for row in shown["joint_index"]["preview"].records]
    assert shown_domains == ["document"] * 4 + ["table"] * 2

    again = materialize(config)
    assert again["chunk_vectors"]["embedded"] == again["row_vectors"]["embedded"] == 0
    for name, metadata in again.items():
        assert metadata["data_version"] == shown[name]["data_version"]
        assert metadata["added"] == metadata["changed"] == metadata["removed"] == 0
        assert metadata["preview"] == shown[name]["preview"], "still there to be seen"


def test_words_are_counted_in_all_tables_of_a_set_whatever_was_killed_before(config):
    store, quiet = Store(config.state_dir), {"variant": VARIANT, "log": lambda _: None}
    put_chunks(store, config, texts(6))
    put_rows(store, config, texts(2))
    materialize(config)
    put_chunks(store, config, texts(4))
    refresh_documents(store, config, **quiet)  # and what follows in its asset is killed

    assets = list(definitions(config, STEPS).assets)
    dg.materialize(
        assets, partition_key=VARIANT, selection="joint_index", resources=resources_of(config)
    )

    held = set_of(store, config, VARIANT)
    assert len(held.unit_pins) == 3
    for pin in held.unit_pins:
        dataset = opened(store, pin).to_lance()
        assert text_index(dataset, name=text_index_name(config.index.text)).is_exact, pin.table
