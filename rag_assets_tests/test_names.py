"""Names from real life: whatever a table, a column, a file, an owner or a source is called."""

import csv
import os
import re
import sqlite3
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path

import dagster as dg
import openpyxl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rag_assets import config as configuration
from rag_assets.change import sync
from rag_assets.columns.sql import quoted, quoted_name
from rag_assets.config import Config, ConfigError, TableSource
from rag_assets.config.nodes import node_of
from rag_assets.definitions import definitions
from rag_assets.graph import STEPS
from rag_assets.resources import resources_of
from rag_assets.sources import assets as sources
from rag_assets.sources.exports import refresh_exports
from rag_assets.store import Store
from rag_assets.store.exports import ExportedTable
from rag_assets.store.file_names import name_of, path_of
from rag_assets_testing.exported import rows_of as rows
from rag_assets_testing.exported import table_in
from rag_assets_testing.exported import tables as tables_in
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_tests.real_names import LONG, NAMES, TELLING
from rag_assets_tests.sources.conftest import Sandbox, postgres, sandbox

__all__ = ["postgres", "sandbox"]  # fixtures

EVERY_NAME = (*NAMES, *LONG)
A_WHILE_AGO = 1_700_000_000
CASES = ("Parts", "PARTS", "parts")
ALL_OF_THEM = pytest.mark.nightly(
    guards=[
        "rag_assets/columns",
        "rag_assets/sources",
        "rag_assets/store/exports.py",
        "rag_assets/store/file_names.py",
    ]
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "state")


def apart(names: Iterable[str]) -> list[str]:
    """`names` without those that SQLite takes for another: it ignores the case of ASCII."""
    folded = {re.sub("[A-Z]", lambda letter: letter[0].lower(), name): name for name in names}
    return list(folded.values())


def export(store: Store, source: TableSource) -> dict[str, ExportedTable | None]:
    """Refresh `source`, of which nothing may fail; what is held of each table."""
    done = refresh_exports(store, source, allow_shrink=False, log=lambda _: None)
    assert [failure.reason for item in done for failure in item.report.failures] == []
    return {item.table: item.exported for item in done}


def key_of(names: Iterable[str]) -> str:
    """A name for the key column that is none of `names`, whatever the case."""
    return "key" if "key" not in {name.lower() for name in names} else "the key"


def filled_sqlite(path: Path, names: Iterable[str]) -> dict[str, dict[str, object]]:
    """A table for each of `names`, with a column of the same name; the row of each."""
    held: dict[str, dict[str, object]] = {}
    with sqlite3.connect(path) as database:
        for number, name in enumerate(names):
            key = key_of([name])
            database.execute(
                f"CREATE TABLE {quoted_name(name)} "
                f"({quoted_name(key)} INTEGER PRIMARY KEY, {quoted_name(name)} TEXT)"
            )
            insert = f"INSERT INTO {quoted_name(name)} VALUES (1, ?)"
            database.execute(insert, [f"value of {number}"])
            held[name] = {key: 1, name: f"value of {number}"}
    database.close()
    os.utime(path, (A_WHILE_AGO, A_WHILE_AGO))
    return held


def test_there_are_enough_names():
    assert len(EVERY_NAME) >= 200
    assert max(map(len, EVERY_NAME)) == 200
    assert {*TELLING} < {*NAMES}


@pytest.mark.parametrize(
    ("names", "long"),
    [
        pytest.param(TELLING, LONG[3:], id="some"),
        pytest.param(NAMES, LONG, id="all", marks=ALL_OF_THEM),
    ],
)
def test_tables_of_any_name_are_exported_indexed_and_known_by_it(tmp_path, names, long):
    """With documents of any name beside them: from the sources to the joint table."""
    tables = filled_sqlite(tmp_path / "lab.sqlite", apart([*names[::2], *long]))
    documents = tmp_path / "documents"
    documents.mkdir()
    files = [name for name in (*names, *long) if "/" not in name and len(name.encode()) < 250]
    files = [name for name in files if not name.startswith(".")]
    for number, name in enumerate([*files, "new\nline"]):
        (documents / f"{name}.md").write_text(f"# Document {number}\n\nIt is about {number}.")
    named = [{"name": name, "title": f"Title {n}"} for n, name in enumerate(tables) if n % 4 == 0]
    config = Config.model_validate(
        {
            "state_dir": tmp_path / "state",
            "sources": {
                "documents": str(documents),
                "tables": {
                    "name": "lab",
                    "url": str(tmp_path / "lab.sqlite"),
                    "tables": [*named, "*"],
                },
            },
            "parsers": {"pymupdf": {"engine": "pdfium"}},
            "execution": {"parsing": "in_process"},
        }
    )
    with hashing():
        first = refresh(config)
        again = refresh(config)

    failures = [failure.reason for report in first for failure in report.failures]
    assert failures == []
    assert not any(report.touched for report in again)
    store = Store(config.state_dir)
    snapshots = {table: rows(table_in(store, source, table)) for source, table in tables_in(store)}
    assert snapshots == {name: [row] for name, row in tables.items()}
    joint = store.read(config.tables_of("default").joint).to_pylist()
    units = {unit["table"]: unit for unit in joint if unit["domain"] == "table"}
    assert units.keys() == tables.keys()
    for name, row in tables.items():
        assert units[name]["row_key"] == "1"
        assert row[name] in units[name]["text"]
    uris = {unit["uri"] for unit in joint if unit["domain"] == "document"}
    shown = {unicodedata.normalize("NFC", f"{name}.md") for name in [*files, "new\nline"]}
    assert uris == shown
    definitions(config).get_repository_def()


@pytest.mark.parametrize(
    "names", [pytest.param(TELLING, id="some"), pytest.param(NAMES, id="all", marks=ALL_OF_THEM)]
)
def test_tables_of_a_postgresql_may_have_any_name(store, sandbox: Sandbox, names):
    names = [*names[1::2], *CASES]
    for number, name in enumerate(names):
        key, table = quoted_name(key_of([name])), quoted_name(name)
        column = quoted_name("a system column" if name == "ctid" else name)
        sandbox.execute(
            f"CREATE TABLE {table} ({key} int PRIMARY KEY, {column} text)".replace("%", "%%"),
            f"INSERT INTO {table} VALUES (1, {quoted(f'value of {number}')})".replace("%", "%%"),
        )
    source = TableSource(url=sandbox.url, schema=sandbox.schema)

    held = {table: rows(file) for table, file in export(store, source).items()}

    assert {table: list(row.values()) for table, [row] in held.items()} == {
        name: [1, f"value of {number}"] for number, name in enumerate(names)
    }
    done = refresh_exports(store, source, allow_shrink=False, log=lambda _: None)
    assert not any(item.report.touched or item.rows_read for item in done)


def columns_of(names: Iterable[str]) -> dict[str, object]:
    """A row with a column for each of `names`."""
    return {key_of(names): 1} | {name: f"value of {n}" for n, name in enumerate(names)}


@pytest.mark.parametrize(
    ("names", "long"),
    [
        pytest.param(TELLING, LONG[3:], id="some"),
        pytest.param(NAMES, LONG, id="all", marks=ALL_OF_THEM),
    ],
)
def test_columns_may_have_any_name(store, sandbox: Sandbox, tmp_path, names, long):
    """In a database, in Parquet, in a CSV file and in a workbook."""
    folder = tmp_path / "files"
    folder.mkdir()
    (wide, narrow) = columns_of([*names, *CASES]), columns_of(apart([*names, *long]))
    pq.write_table(pa.Table.from_pylist([wide]), folder / "parquet.parquet")
    spelled = {name.strip(): value for name, value in wide.items()}
    with (folder / "csv.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_ALL)
        writer.writerows([spelled.keys(), spelled.values()])
    book = openpyxl.Workbook()
    book.worksheets[0].append(list(spelled))
    book.worksheets[0].append(list(spelled.values()))
    book.save(folder / "workbook.xlsx")
    for path in folder.iterdir():
        os.utime(path, (A_WHILE_AGO, A_WHILE_AGO))
    taken = {name: value for name, value in wide.items() if name != "ctid"}  # PostgreSQL's own
    typed = (
        f"{quoted_name(name)} {'int' if value == 1 else 'text'}" for name, value in taken.items()
    )
    sandbox.execute(
        f"CREATE TABLE wide ({', '.join(typed)})".replace("%", "%%"),
        f"INSERT INTO wide VALUES ({', '.join(quoted(str(value)) for value in taken.values())})",
    )
    with sqlite3.connect(tmp_path / "narrow.sqlite") as database:
        columns = ", ".join(map(quoted_name, narrow))
        database.execute(f"CREATE TABLE narrow ({columns})")
        marks = ", ".join("?" * len(narrow))
        database.execute(f"INSERT INTO narrow VALUES ({marks})", list(map(str, narrow.values())))
    database.close()

    files = export(store, TableSource(name="files", url=str(folder)))
    server = export(store, TableSource(name="server", url=sandbox.url, schema=sandbox.schema))
    lite = export(store, TableSource(name="lite", url=str(tmp_path / "narrow.sqlite")))

    assert rows(files["parquet"]) == [wide]
    assert rows(files["csv"]) == [spelled]
    assert rows(files["workbook"]) == [spelled]
    assert rows(server["wide"]) == [taken]
    assert rows(lite["narrow"]) == [{name: str(value) for name, value in narrow.items()}]


def test_keys_cursors_and_headings_may_name_any_column(store, sandbox: Sandbox):
    columns = ["it's", 'say "hi"', "Größe", "%(x)s"]
    one, two, moved, text = map(quoted_name, columns)
    sandbox.execute(
        f"CREATE TABLE mess ({one} text, {two} int, {moved} int, {text} text)".replace("%", "%%"),
        "INSERT INTO mess VALUES ('a|b', 1, 1, 'first'), ('a', 2, 2, 'second')",
    )
    entry = {
        "name": "mess",
        "key": columns[:2],
        "cursor": columns[2],
        "headings": {columns[3]: "Words"},
    }
    source = TableSource(url=sandbox.url, schema=sandbox.schema, tables=[entry])
    export(store, source)
    sandbox.execute(
        "INSERT INTO mess VALUES ('b', 3, 3, 'third')",
        f"UPDATE mess SET {moved} = 4 WHERE {two} = 2",
        f"DELETE FROM mess WHERE {two} = 1",
    )

    [done] = refresh_exports(store, source, allow_shrink=False, log=lambda _: None)

    assert (done.report.added, done.report.changed, done.report.removed) == (1, 1, 1)
    assert [row[columns[3]] for row in rows(done.exported)] == ["second", "third"]


FILES = (
    *("[x]", "x", "star*", "star1", "e\u0301", "q\"u'o", "back\\slash", "new\nline"),
    *("Test Results", "test_results"),
)
OTHER_FILES = ("what?", "a b", "mått", "c=d", "rowid", "😀" * 12, "%s", "-rf")


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(FILES, id="some"),
        pytest.param([*FILES, *OTHER_FILES], id="all", marks=ALL_OF_THEM),
    ],
)
def test_files_of_tables_may_have_any_name(store, tmp_path, names):
    folder = tmp_path / "k=v [a-z]*"
    folder.mkdir()
    for name in names:
        (folder / f"{name}.csv").write_text(f"id,rowid\n1,{names.index(name)}\n", "utf-8")
        os.utime(folder / f"{name}.csv", (A_WHILE_AGO, A_WHILE_AGO))

    held = export(store, TableSource(url=str(folder)))

    assert {table: rows(file) for table, file in held.items()} == {
        unicodedata.normalize("NFC", name): [{"id": 1, "rowid": number}]
        for number, name in enumerate(names)
    }


def test_an_asset_of_a_table_is_materialised_and_shows_its_name(tmp_path):
    names = ["Test Results", "mått", "a/b", "😀" * 200, "plain"]
    filled_sqlite(tmp_path / "lab.sqlite", names)
    (tmp_path / "rag_assets.yaml").write_text(
        yaml.safe_dump(
            {"sources": {"tables": {"name": "lab", "url": "lab.sqlite", "tables": [*names, "?"]}}}
        ),
        "utf-8",
    )
    config = configuration.load(tmp_path / "rag_assets.yaml")
    assets = list(sources.definitions(config, STEPS).assets or ())

    result = dg.materialize(
        [item for item in assets if isinstance(item, dg.AssetsDefinition)],
        resources=resources_of(config),
    )

    made = {
        event.asset_key.path[-1]: event.materialization.metadata["table"].value
        for event in result.get_asset_materialization_events()
        if event.asset_key and event.asset_key.path[0] == "exports"
    }
    assert made == {node_of(name, names): f"exports/lab/{name}" for name in names}
    [nothing] = [event for event in result.all_events if event.is_asset_observation]
    assert nothing.asset_key == dg.AssetKey(["exports", "lab"]), "no table fits its pattern"
    observation = nothing.asset_observation_data.asset_observation
    assert observation.metadata["table"].value == "exports/lab"
    assert made["plain"] == "exports/lab/plain"
    described = {spec.key.path[-1]: spec.description for spec in config_specs(config)}
    assert all(name in (described[node_of(name, names)] or "") for name in names)


def config_specs(config: Config) -> list[dg.AssetSpec]:
    return list(
        dg.Definitions.merge(
            sources.definitions(config, STEPS), dg.Definitions(resources=resources_of(config))
        ).resolve_all_asset_specs()
    )


def test_no_two_names_share_a_node():
    nodes = {node_of(name, EVERY_NAME) for name in EVERY_NAME}
    assert len(nodes) == len(EVERY_NAME)
    assert all(re.fullmatch(r"[A-Za-z0-9_]{1,80}", node) for node in nodes)
    names = ("Test_Results_f3a36f563f8c", "Test Results", "Test_Results")
    assert len({node_of(name, names) for name in names}) == 3


def test_a_node_is_called_as_its_table_and_a_hash_tells_apart_what_is_called_alike():
    assert node_of("Service Orders", ["Service Orders", "parts"]) == "Service_Orders"
    assert node_of("mått", ["mått", "parts"]) == "matt"
    alike = ["Service Orders", "Service-Orders", "Service_Orders"]
    first, second, third = (node_of(name, alike) for name in alike)
    assert first != second
    assert first.startswith("Service_Orders_")
    assert third == "Service_Orders", "the name of the table itself"
    assert re.fullmatch(r"table_\w{12}", node_of("测试", ["测试"])), "no letter of it is allowed"


@given(st.text(max_size=300) | st.sampled_from(EVERY_NAME), st.sampled_from(["", ".parquet"]))
def test_every_name_has_a_path_of_its_own(name, suffix):
    path = path_of(name, suffix=suffix)
    assert name_of(path, suffix=suffix) == name
    assert not path.is_absolute()
    assert not {"", ".", ".."}.intersection(path.parts)
    assert max(len(part.encode()) for part in path.parts) <= 255 - len("..12345678")


def test_a_table_whose_name_is_too_long_is_left_out_and_named(store, tmp_path):
    with sqlite3.connect(tmp_path / "lab.sqlite") as database:
        for name in ("good", "x" * 256, "😀" * 2_000):
            database.execute(f"CREATE TABLE {quoted_name(name)} (id INTEGER PRIMARY KEY)")
            database.execute(f"INSERT INTO {quoted_name(name)} VALUES (1)")
    database.close()

    source = TableSource(url=str(tmp_path / "lab.sqlite"))
    for _ in range(2):
        done = refresh_exports(store, source, allow_shrink=False, log=lambda _: None)

    reasons = [failure.reason for item in done for failure in item.report.failures]
    assert [re.findall("has a name of [0-9,]+ characters", reason) for reason in reasons] == [
        ["has a name of 256 characters"],
        ["has a name of 2,000 characters"],
    ]
    assert [table for _, table in tables_in(store)] == ["good"]
    assert len(sync.quarantined(store)) == 2


KEYS = {
    "owner": lambda name: {"owner": name},
    "sources.documents.0.name": lambda name: {
        "sources": {"documents": [{"name": name, "url": "x"}]}
    },
    "sources.tables.0.name": lambda name: {"sources": {"tables": [{"name": name, "url": "x"}]}},
    "sources.tables.0.tables": lambda name: {
        "sources": {"tables": [{"url": "x", "tables": [name]}]}
    },
    "variants": lambda name: {"variants": {name: {}}},
    "experiments": lambda name: {"experiments": {name: {"design": "serializers"}}},
    "schedule.cron": lambda name: {"schedule": {"cron": name}},
    "schedule.timezone": lambda name: {"schedule": {"timezone": name}},
    "execution.steps": lambda name: {"execution": {"steps": name}},
}


def refused(home: Path, settings: Mapping[str, object]) -> str | None:
    """Why `settings` cannot be used; None if the whole graph loads with them."""
    path = home / "rag_assets.yaml"
    path.write_text(yaml.safe_dump(dict(settings), allow_unicode=True), "utf-8")
    try:
        definitions(configuration.load(path)).get_repository_def()
    except ConfigError as error:
        return str(error)
    return None


ANY_TEXT = ("owner", "sources.documents.0.name")


@pytest.mark.parametrize(
    ("key", "names"),
    [
        *((key, TELLING[::2] if key in ANY_TEXT else TELLING[::4]) for key in KEYS),
        *(
            pytest.param(
                key,
                EVERY_NAME,
                marks=pytest.mark.nightly(guards=["rag_assets/config", "rag_assets/automation.py"]),
            )
            for key in ANY_TEXT
        ),
    ],
)
def test_any_value_is_used_or_refused_in_one_sentence_with_its_key(tmp_path, key, names):
    for name in (*names, "", " ", "a" * 300, "team:", "team:é", "\ud800", "\x00", "a\nb"):
        message = refused(tmp_path, KEYS[key](name))
        if message is not None:
            assert key in message, name
            assert "Traceback" not in message
            assert len(message.replace(repr(name), "").replace(name, "")) < 500
