"""The assets of the room, materialised for real."""

import dagster as dg
import pytest

from rag_assets.config import Config, Variant
from rag_assets.documents import assets
from rag_assets.graph import STEPS
from rag_assets.resources import resources_of


@pytest.fixture
def definitions(project):
    config = project.config.model_copy(
        update={
            "variants": {
                "plain": Variant(parser="plain", chunking="fixed_256"),
                "other": Variant(parser="plain", chunking="fixed_256"),
            }
        }
    )
    assert isinstance(config, Config)
    return dg.Definitions.merge(
        assets.definitions(config, STEPS), dg.Definitions(resources=resources_of(config))
    )


def materialize(definitions, *, partition="plain"):
    """Metadata of each asset by its key."""
    result = dg.materialize(
        [*definitions.assets], partition_key=partition, resources=definitions.resources
    )
    assert result.success
    return {
        event.asset_key.to_user_string(): event.step_materialization_data.materialization.metadata
        for event in result.get_asset_materialization_events()
    }


def test_the_graph_of_the_room(definitions):
    graph = definitions.resolve_asset_graph()
    parsed, chunks = dg.AssetKey("parsed_documents"), dg.AssetKey("chunks")
    assert graph.get(parsed).parent_keys == {dg.AssetKey("document_files")}
    assert graph.get(chunks).parent_keys == {parsed}
    for key in (parsed, chunks):
        node = graph.get(key)
        assert node.group_name == "documents"
        assert node.partitions_def.get_partition_keys() == ["plain", "other"]
        assert node.description
        assert node.owners
    assert graph.get(parsed).kinds == {"lancedb", "pdfium"}


def test_metadata_says_what_was_done_and_a_second_run_does_nothing(project, definitions):
    project.write("a.md", "# Title\n\nOne.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n")
    project.write("b.md", "<!-- -->")
    project.list_files()
    found = materialize(definitions)
    parsed, chunks = found["parsed_documents"], found["chunks"]
    assert (parsed["added"].value, parsed["failed"].value) == (1, 1)
    assert parsed["files parsed"].value == 2
    assert parsed["pages parsed"].value == 0
    kinds = {record.data["type"] for record in parsed["elements by type"].records}
    assert kinds == {"heading", "text", "table"}
    assert "holds no text" in parsed["quarantine"].records[0].data["reason"]
    assert chunks["dagster/row_count"].value == 2  # a table shares no chunk with prose
    assert "data:image/svg+xml" in chunks["chunk lengths"].value
    assert chunks["preview"].records[0].data["uri"] == "a.md"

    again = materialize(definitions, partition="other")
    assert again["parsed_documents"]["unchanged"].value == 1
    assert again["chunks"]["unchanged"].value == 1
    assert again["chunks"]["preview"] == chunks["preview"], "still there to be seen"
    assert again["parsed_documents"]["pages"] == parsed["pages"]
