import os
import subprocess
import sys
import textwrap
from pathlib import Path

import dagster as dg
import pytest

from rag_assets.config import Config
from rag_assets.graph import STEPS
from rag_assets.lineage import COUNTS
from rag_assets.resources import resources_of
from rag_assets.sources.assets import definitions
from rag_assets.sources.observations import look_at_sources
from rag_assets.store import Store
from rag_assets_testing.exported import tables
from rag_assets_tests.sources.conftest import settle


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    settle(path, seconds=60)


@pytest.fixture
def config(tmp_path) -> Config:
    write(tmp_path / "documents" / "a.md", "# a")
    for table in ("parts", "prices", "stock"):
        write(tmp_path / "tables" / f"{table}.csv", "id,name\n1,x\n")
    return Config.model_validate(
        {
            "state_dir": tmp_path / "state",
            "sources": {
                "documents": str(tmp_path / "documents"),
                "tables": [
                    {
                        "name": "erp-export",
                        "url": str(tmp_path / "tables"),
                        "tables": ["parts", "missing", "p*", "s*"],
                    }
                ],
            },
        }
    )


def materialized(
    config: Config, *keys: str, instance: dg.DagsterInstance | None = None
) -> dict[str, dg.AssetMaterialization | dg.AssetObservation]:
    """What a run says of each asset; one whose source could not be read is only observed."""
    assets = list(definitions(config, STEPS).assets or ())
    selection = [dg.AssetKey.from_user_string(key) for key in keys] or None
    result = dg.materialize(
        assets, selection=selection, instance=instance, resources=resources_of(config)
    )
    assert result.success
    seen = [event for event in result.all_events if event.is_asset_observation]
    observed = [event.asset_observation_data.asset_observation for event in seen]
    return {each.asset_key.to_user_string(): each for each in observed} | {
        event.materialization.asset_key.to_user_string(): event.materialization
        for event in result.get_asset_materialization_events()
    }


def test_a_named_table_has_its_own_node_and_patterns_share_one(config):
    specs = dg.Definitions.merge(
        definitions(config, STEPS), dg.Definitions(resources=resources_of(config))
    ).resolve_all_asset_specs()
    assert {spec.key.to_user_string() for spec in specs} == {
        "document_files",
        "exports/erp-export",
        "exports/erp-export/parts",
        "exports/erp-export/missing",
    }
    assert {spec.group_name for spec in specs} == {"sources"}
    assert all(spec.owners and spec.code_version and spec.description for spec in specs)


def test_of_a_long_manifest_the_first_files_and_few_columns_are_read(config, monkeypatch):
    folder = Path(config.sources.documents[0].url)
    for number in range(20):
        write(folder / f"{number}.md", f"# {number}")
    read, whole = Store.read, []

    def seen(store, name, **options):
        found = read(store, name, **options)
        whole.append(found.column_names)
        return found

    monkeypatch.setattr(Store, "read", seen)
    shown = materialized(config, "document_files")["document_files"].metadata

    assert len(shown["preview"].records) == 8
    assert shown["statuses"].records[0].data["files"] == 21
    assert whole == [["document_id", "modified"], ["media_type", "status"]]


def test_a_run_shows_what_it_did_and_the_next_does_nothing(config):
    first = materialized(config)
    second = materialized(config)
    pattern = first["exports/erp-export"].metadata
    assert pattern["added"].value == 2
    assert [record.data["table"] for record in pattern["tables"].records] == ["prices", "stock"]
    assert first["exports/erp-export/parts"].metadata["dagster/row_count"].value == 1
    assert first["document_files"].metadata["statuses"].records[0].data["status"] == "ok"
    assert first["document_files"].metadata["preview"].records[0].data["uri"] == "a.md"
    missing = first["exports/erp-export/missing"].metadata["quarantine"].records[0]
    assert "no table missing" in missing.data["reason"]
    assert isinstance(first.pop("exports/erp-export/missing"), dg.AssetObservation)
    assert isinstance(second.pop("exports/erp-export/missing"), dg.AssetObservation)
    for key, materialization in second.items():
        assert materialization.metadata["added"].value == 0
        assert (
            materialization.tags["dagster/data_version"]
            == (first[key].tags["dagster/data_version"])
        )


def test_numbers_come_first_columns_on_a_click_and_the_run_says_what_failed(config):
    write(Path(config.sources.documents[0].url) / "b.pdf", "no PDF")
    with dg.DagsterInstance.ephemeral() as instance:
        shown = materialized(config, instance=instance)
        (run,) = instance.get_runs()
    for event in shown.values():
        assert tuple(event.metadata)[: len(COUNTS)] == COUNTS
        assert "dagster/column_schema" not in event.metadata, "the UI shows it above the numbers"
    columns = shown["exports/erp-export/parts"].metadata["schema"].schema.columns
    assert [column.name for column in columns] == ["id", "name"]
    assert run.tags["failed/tables"] == "1", "the list of runs shows it"
    assert "failed/files" not in run.tags


def test_what_a_table_holds_is_still_shown_after_a_run_that_had_nothing_to_do(config):
    with dg.DagsterInstance.ephemeral() as instance:
        first, second = (materialized(config, instance=instance) for _ in range(2))
    for key in ("document_files", "exports/erp-export/parts"):
        assert second[key].metadata["preview"] == first[key].metadata["preview"]
    statuses = second["document_files"].metadata["statuses"]
    assert statuses == first["document_files"].metadata["statuses"]


def test_no_hidden_column_is_shown_also_if_an_earlier_release_showed_it(config, tmp_path):
    key = "exports/erp-export/parts"
    cells = {"id": 1, "name": "x"}
    columns = [dg.TableColumn(name, type="string") for name in cells]
    shown = dg.MetadataValue.table([dg.TableRecord(cells)], schema=dg.TableSchema(columns))
    before = dg.AssetMaterialization(dg.AssetKey.from_user_string(key), metadata={"preview": shown})
    with dg.DagsterInstance.ephemeral() as instance:
        first = materialized(config, key, instance=instance)[key].metadata
        instance.report_runless_asset_event(before)
        second = materialized(config, key, instance=instance)[key].metadata
    assert [record.data for record in first["preview"].records] == [{"name": "x"}]
    assert second["preview"] == first["preview"]
    assert second["unchanged"].value == 1


def test_without_previews_no_row_is_shown(config):
    silent = config.model_copy(update={"previews": False})
    for done in materialized(silent).values():
        assert "preview" not in done.metadata


def test_the_way_of_each_column_into_the_text_is_shown(config):
    key = "exports/erp-export/parts"
    metadata = materialized(config, key)[key].metadata
    rows = [record.data for record in metadata["columns"].records]
    assert [(row["column at the source"], row["in the text"], row["key"]) for row in rows] == [
        ("id", "no", "yes"),
        ("name", "yes", "no"),
    ]
    assert metadata["dagster/table_name"].value.startswith("exports-erp-export-parts-")
    assert Path(metadata["dagster/uri"].value).is_dir()


def test_each_table_of_a_pattern_is_listed_with_its_state(config, tmp_path):
    key, later = "exports/erp-export", "2 added"
    folder = tmp_path / "tables"
    with dg.DagsterInstance.ephemeral() as instance:
        materialized(config, key, instance=instance)
        write(folder / "stock.csv", "id,name\n1,x\n2,y\n3,z\n")
        (folder / "prices.csv").write_bytes(b"\x00\xff\x00")
        settle(folder / "prices.csv", seconds=60)
        found = materialized(config, key, instance=instance)[key].metadata
    unreadable, changed = (record.data for record in found["tables"].records)
    assert (unreadable["table"], unreadable["rows"]) == ("prices", 1)
    assert "prices" in unreadable["state"]
    read = changed.pop("last read")
    assert changed == {"table": "stock", "rows": 3, "state": later, "last changed": read}
    assert unreadable["last read"] <= read
    expected = f"stock | 3 | 2 added | {read} | {read} | id int64, name string"
    assert expected in found["all tables"].value


def test_tables_with_and_without_lines_left_out_are_listed_together(config, tmp_path):
    totalled = "id,name,price\n1,x,2\n2,y,3\n3,z,5\nTotal,,10\n"
    write(tmp_path / "tables" / "prices.csv", totalled)

    run = materialized(config, "exports/erp-export")["exports/erp-export"]

    records = [record.data for record in run.metadata["tables"].records]
    left_out = {each["table"]: each["left out"] for each in records}
    assert "Total" in left_out.pop("prices")
    assert set(left_out.values()) == {""}
    assert "| left out |" in run.metadata["all tables"].value


def test_one_table_can_be_refreshed_by_itself(config, tmp_path):
    done = materialized(config, "exports/erp-export/parts")
    assert set(done) == {"exports/erp-export/parts"}
    assert tables(Store(tmp_path / "state")) == [("erp-export", "parts")]


def test_a_look_at_the_sources_moves_only_with_what_it_looks_at(config, tmp_path):
    before = look_at_sources(config).fingerprints
    assert set(before) == {
        ("document_files",),
        ("exports", "erp-export"),
        ("exports", "erp-export", "parts"),
    }
    assert look_at_sources(config).fingerprints == before
    write(tmp_path / "tables" / "stock.csv", "id,name\n1,y\n2,z\n")
    after = look_at_sources(config).fingerprints
    assert {path for path in after if after[path] != before[path]} == {("exports", "erp-export")}
    (tmp_path / "documents").rename(tmp_path / "away")
    assert ("document_files",) not in look_at_sources(config).fingerprints


@pytest.mark.parametrize("url", ["postgresql://me:secret@here:port/there", "nothing://here"])
def test_a_url_that_is_none_keeps_no_look_at_other_sources_off(url, tmp_path):
    write(tmp_path / "documents" / "a.md", "# A\n")
    broken = {"name": "erp", "url": url, "tables": ["parts"]}
    sources = {"documents": str(tmp_path / "documents"), "tables": [broken]}
    found = look_at_sources(Config(state_dir=tmp_path / "state", sources=sources)).fingerprints
    assert set(found) == {("document_files",)}


def test_a_look_at_postgresql_sees_every_kind_of_edit(sandbox):
    sandbox.execute("CREATE TABLE t (id int PRIMARY KEY, name text)", "INSERT INTO t VALUES (1)")
    table = {"name": "erp", "url": sandbox.url, "schema": sandbox.schema, "tables": ["t"]}
    config = Config.model_validate({"sources": {"tables": [table]}})
    seen = [look_at_sources(config).fingerprints]
    for edit in (
        "INSERT INTO t VALUES (2)",
        "UPDATE t SET name = 'x' WHERE id = 2",
        "UPDATE t SET id = 3 WHERE id = 2",
        "ALTER TABLE t RENAME name TO label",
        "DELETE FROM t WHERE id = 3",
    ):
        sandbox.execute(edit)
        seen.append(look_at_sources(config).fingerprints)
        assert seen[-1] == look_at_sources(config).fingerprints
    assert len({found[("exports", "erp", "t")] for found in seen}) == len(seen)


def test_a_refresh_with_nothing_to_do_imports_nothing_heavy(config, tmp_path):
    materialized(config)
    script = f"""
        import sys
        from pathlib import Path
        from rag_assets.config import DocumentSource, TableSource
        from rag_assets.sources.exports import refresh_exports
        from rag_assets.sources.files.manifest import refresh_document_files
        from rag_assets.store import Store

        root = Path({str(tmp_path)!r})
        store, quiet = Store(root / "state"), lambda _: None
        source = DocumentSource(url=str(root / "documents"))
        report = refresh_document_files(store, [source], allow_shrink=False, log=quiet)
        assert report.unchanged == 1 and not report.touched
        tables, wanted = str(root / "tables"), ["p*", "s*", "missing"]
        source = TableSource(name="erp-export", url=tables, tables=wanted)
        done = refresh_exports(store, source, only=["s*"], allow_shrink=False, log=quiet)
        assert [item.report.unchanged for item in done] == [1]
        heavy = {{"dlt", "lancedb", "pandas", "pypdfium2", "sqlalchemy", "openpyxl", "duckdb"}}
        assert not heavy.intersection(sys.modules), heavy.intersection(sys.modules)
    """
    subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], check=True, env=os.environ.copy()
    )
