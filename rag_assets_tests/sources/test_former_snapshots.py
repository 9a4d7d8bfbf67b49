"""A state of an earlier release: its Parquet snapshots become tables, and no row is lost."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rag_assets.config import TableSource
from rag_assets.sources import former_snapshots
from rag_assets.sources.exports import refresh_exports
from rag_assets.sources.kinds import ContentError
from rag_assets.sources.outcomes import Export
from rag_assets.store import Store, exports
from rag_assets.tables.rows import refresh_rows
from rag_assets_tests.exported import rows_of, table_in, tables

ROWS = [{"id": 1, "name": "bolt"}, {"id": 2, "name": "nut"}, {"id": 3, "name": None}]
COLUMNS = pa.schema([("id", pa.int64()), ("name", pa.string())])


def snapshot(store: Store, table: str, rows: Sequence[dict] = ROWS) -> Path:
    """Write what the release before left of a table."""
    file = exports.former_snapshot(store, "shop", table)
    file.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(rows, said(table, "base")), file)
    return file


def said(table: str, version: str, schema: pa.Schema = COLUMNS, **books: str) -> pa.Schema:
    about = {
        "source": "shop",
        "table": table,
        "title": table,
        "key": ["id"],
        "hidden": ["id"],
        "headings": {"id": "id", "name": "name"},
        "data_version": version,
    }
    metadata = {former_snapshots.METADATA: json.dumps(about)}
    return schema.with_metadata(metadata | {former_snapshots.BOOKS: json.dumps(books)})


def patch(file: Path, *, base: str) -> None:
    """Beside a snapshot: row 1 was renamed, row 2 removed, row 4 added."""
    columns = pa.schema(
        [
            *(pa.field(f"c{place}", field.type) for place, field in enumerate(COLUMNS)),
            *(pa.field(name, pa.uint64()) for name in ("hash", "high", "low")),
            pa.field("replaces", pa.int64()),
            pa.field("is_removed", pa.bool_()),
        ]
    )
    rows = [
        {"c0": 1, "c1": "screw", "replaces": 0, "is_removed": False},
        {"replaces": 1, "is_removed": True},
        {"c0": 4, "c1": "pin", "is_removed": False},
    ]
    held = pa.Table.from_pylist(rows, said(file.stem, "patched", columns, base=base))
    pq.write_table(held, file.with_suffix(".patch"))


def shop(tmp_path: Path, *names: str) -> TableSource:
    """The source with some tables."""
    path = tmp_path / "shop.sqlite"
    path.unlink(missing_ok=True)
    with sqlite3.connect(path) as connection:
        for name in names:
            connection.execute(f"CREATE TABLE {name} (id INTEGER PRIMARY KEY, name TEXT)")
            connection.executemany(f"INSERT INTO {name} VALUES (:id, :name)", ROWS)
    connection.close()
    return TableSource(name="shop", url=f"sqlite:///{path}")


def unreachable(tmp_path: Path) -> TableSource:
    return TableSource(name="shop", url=f"sqlite:///{tmp_path / 'nowhere.sqlite'}")


def refresh(store: Store, source: TableSource) -> dict[str, Export]:
    done = refresh_exports(store, source, allow_shrink=True, log=lambda _: None)
    return {each.table: each for each in done}


def rows_left(store: Store) -> int:
    """Rows of `table_rows` after a refresh."""
    return refresh_rows(store, sources=["shop"], log=lambda _: None).rows


def rows_before(store: Store, tmp_path: Path, *names: str) -> None:
    """Leave the state of an earlier release: rows in `table_rows`, and snapshots of the tables."""
    refresh(store, shop(tmp_path, *names))
    assert rows_left(store) == len(ROWS) * len(names)
    for name in names:
        exports.remove(store, exports.table_name("shop", name))
        snapshot(store, name)


def test_snapshots_are_taken_over_while_the_source_cannot_be_reached(store, tmp_path):
    rows_before(store, tmp_path, "nuts", "bolts")

    done = refresh(store, unreachable(tmp_path))

    assert {table: (each.report.rows, each.report.failed) for table, each in done.items()} == {
        "bolts": (3, 1),
        "nuts": (3, 1),
    }
    assert rows_left(store) == 6
    assert rows_of(table_in(store, "shop", "nuts")) == ROWS
    assert not (store.root / former_snapshots.FOLDER).exists()


@pytest.mark.parametrize("base", ["base", "of another file"])
def test_a_patch_counts_if_it_is_of_its_snapshot(store, tmp_path, base):
    patch(snapshot(store, "nuts"), base=base)

    refresh(store, unreachable(tmp_path))

    named = {row["id"]: row["name"] for row in rows_of(table_in(store, "shop", "nuts"))}
    was = {row["id"]: row["name"] for row in ROWS}
    assert named == ({1: "screw", 3: None, 4: "pin"} if base == "base" else was)


def test_rows_of_a_damaged_snapshot_stay_until_the_source_can_be_read(store, tmp_path):
    rows_before(store, tmp_path, "nuts", "bolts")
    exports.former_snapshot(store, "shop", "nuts").write_bytes(b"PAR1")

    done = refresh(store, unreachable(tmp_path))

    assert done["nuts"].report.failed == 1
    assert rows_left(store) == 6
    refresh(store, shop(tmp_path, "nuts", "bolts"))
    assert rows_left(store) == 6
    assert len(tables(store)) == 2


@pytest.mark.parametrize("is_excluded", [False, True], ids=["gone", "no longer in the config"])
def test_rows_of_a_damaged_snapshot_go_with_their_table(store, tmp_path, is_excluded):
    rows_before(store, tmp_path, "nuts", "bolts")
    exports.former_snapshot(store, "shop", "nuts").write_bytes(b"PAR1")
    source = shop(tmp_path, "bolts", *(["nuts"] if is_excluded else []))

    refresh(store, source.model_copy(update={"exclude": ["nuts"]} if is_excluded else {}))

    assert rows_left(store) == 3


def test_a_snapshot_that_duckdb_does_not_take_leaves_the_others_alone(store, tmp_path, monkeypatch):
    rows_before(store, tmp_path, "nuts", "bolts")
    export = former_snapshots.export_table

    def refuses(request):
        if request.about.table == "nuts":
            raise ContentError("Conversion Error")
        return export(request)

    monkeypatch.setattr(former_snapshots, "export_table", refuses)
    refresh(store, unreachable(tmp_path))
    assert (tables(store), rows_left(store)) == ([("shop", "bolts")], 6)

    refresh(store, shop(tmp_path, "nuts", "bolts"))
    assert (len(tables(store)), rows_left(store)) == (2, 6)
