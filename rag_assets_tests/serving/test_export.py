"""`rag-assets tables export` writes what is held of a table, or says why not."""

import csv
import json
from datetime import date
from decimal import Decimal

import pyarrow.parquet as pq
import pytest

from rag_assets import config as configuration
from rag_assets.serving import cli
from rag_assets.store import Store
from rag_assets_tests.tables.exported_tables import HEADINGS, STEEL, write_table


@pytest.fixture
def store(tmp_path, monkeypatch) -> Store:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv(configuration.PATH_VARIABLE, raising=False)
    (tmp_path / "rag_assets.yaml").write_text("state_dir: state\n")
    return Store(tmp_path / "state")


def test_a_table_is_written_sorted_by_key_with_its_headings(store, tmp_path, capsys):
    write_table(store, STEEL[1:])
    write_table(store, STEEL)

    assert cli.main(["tables", "export", "metals", "--json"]) == 0

    assert json.loads(capsys.readouterr().out) == {
        "table": "db/metals",
        "rows": 2,
        "file": "metals.parquet",
    }
    written = pq.read_table(tmp_path / "metals.parquet")
    assert written.to_pylist() == STEEL
    comments = {field.name: field.metadata[b"comment"].decode() for field in written.schema}
    assert comments == {"id": "id", **HEADINGS}
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith((".", "tmp"))]


def test_a_name_that_two_sources_have_or_none_is_told(store, tmp_path, capsys):
    write_table(store, STEEL)
    write_table(store, STEEL, source="other")

    assert cli.main(["tables", "export", "metals"]) == 2
    assert "db/metals and other/metals" in capsys.readouterr().err
    assert cli.main(["tables", "export", "nothing"]) == 2
    assert "the tables there: db/metals, other/metals" in capsys.readouterr().err
    assert cli.main(["tables", "export", "other/metals", "--to", "m.parquet"]) == 0
    assert pq.read_table(tmp_path / "m.parquet").num_rows == 2


def test_a_file_that_cannot_be_written_is_named(store, capsys):
    write_table(store, STEEL)

    assert cli.main(["tables", "export", "metals", "--to", "no/such/folder/m.parquet"]) == 1
    assert "no/such/folder/m.parquet cannot be written" in capsys.readouterr().err


def test_a_file_named_csv_is_one_and_another_ending_is_refused(store, tmp_path, capsys):
    write_table(store, STEEL)

    assert cli.main(["tables", "export", "metals", "--to", "m.csv"]) == 0
    with (tmp_path / "m.csv").open(newline="", encoding="utf-8") as opened:
        written = list(csv.DictReader(opened))
    assert [row["id"] for row in written] == [str(row["id"]) for row in STEEL]
    assert list(written[0]) == list(STEEL[0])
    assert written[1]["yield_strength"] == ""
    assert cli.main(["tables", "export", "metals", "--to", "m.xlsx"]) == 2
    assert "m.xlsx ends in neither .parquet nor .csv" in capsys.readouterr().err
    assert not (tmp_path / "m.xlsx").exists()


def test_cells_of_every_kind_are_written_to_csv(store, tmp_path):
    row = {
        "id": 1,
        "price": Decimal("12.50"),
        "day": date(2026, 5, 1),
        "share": 0.1,
        "is_new": True,
        "notes": 'two\nlines, a "quote" and å',
        "parts": ["a", "b"],
    }
    write_table(store, [row], headings={})

    assert cli.main(["tables", "export", "metals", "--to", "m.csv"]) == 0
    with (tmp_path / "m.csv").open(newline="", encoding="utf-8") as opened:
        [written] = csv.DictReader(opened)
    assert written == {
        "id": "1",
        "price": "12.50",
        "day": "2026-05-01",
        "share": "0.1",
        "is_new": "true",
        "notes": row["notes"],
        "parts": '["a","b"]',
    }


def test_tables_are_listed_and_shown_with_what_was_decided_of_them(store, capsys):
    write_table(store, STEEL)
    assert cli.main(["tables"]) == 0
    assert "db/metals" in capsys.readouterr().out
    assert cli.main(["tables", "metals", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["table"] == "db/metals"
    assert [each["column"] for each in shown["columns"]] == list(STEEL[0])
    assert all(each["examples"] for each in shown["columns"])
    assert cli.main(["tables", "nowhere"]) == 2
    assert "there is no table nowhere" in capsys.readouterr().err
