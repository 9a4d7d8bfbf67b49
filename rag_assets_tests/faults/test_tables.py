"""Tables whose columns change, that are wide, or that hold hostile texts or keys that repeat."""

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rag_assets.change.sync import Report
from rag_assets.sources.exports import refresh_exports
from rag_assets.sources.outcomes import Export
from rag_assets.store import Store
from rag_assets.tables.serialize import refresh_serialized_rows
from rag_assets.tables.table_rows import refresh_rows
from rag_assets_testing.faults import comparing, project
from rag_assets_testing.faults.project import Project

CELL = 10_000_000


@dataclass(frozen=True)
class Done:
    """What one refresh of the tables did."""

    exports: Sequence[Export]
    reports: Sequence[Report]

    @property
    def changes(self) -> str:
        return "; ".join(change for export in self.exports for change in export.schema_changes)

    @property
    def failures(self) -> str:
        reports = [*(export.report for export in self.exports), *self.reports]
        return "; ".join(item.reason for report in reports for item in report.failures)


def refresh(made: Project, state: Path | None = None, *, allow_shrink: bool = False) -> Done:
    """All steps from the sources to the texts of rows."""
    store, config = Store(state or made.home / "state"), made.config
    quiet = {"log": lambda _: None}
    exports = [
        export
        for source in config.sources.tables
        for export in refresh_exports(store, source, allow_shrink=allow_shrink, **quiet)
    ]
    return Done(
        exports,
        [
            refresh_rows(store, sources=config.table_sources, **quiet),
            refresh_serialized_rows(store, config, serializer="full_semantic", **quiet),
        ],
    )


def is_like_fresh(made: Project) -> bool:
    fresh = made.home / f"fresh{len(list(made.home.glob('fresh*')))}"
    refresh(made, fresh)
    return comparing.contents(made.home / "state") == comparing.contents(fresh)


def texts(made: Project, containing: str) -> list[str]:
    rows = made.store.read(made.config.tables_of("default").serialized_rows, columns=["text"])
    return sorted(text for text in rows["text"].to_pylist() if containing in text)


@pytest.fixture
def made(tmp_path) -> Project:
    return project.make(tmp_path, documents=0, rows=8)


DRIFT = [
    (
        ["ALTER TABLE tests ADD COLUMN hardness REAL", "UPDATE tests SET hardness = id * 1.5"],
        "column hardness was added",
    ),
    (["ALTER TABLE tests RENAME COLUMN hardness TO hv"], "column hardness was renamed to hv"),
    (["ALTER TABLE tests DROP COLUMN load"], "column load was removed"),
    (["UPDATE tests SET grade = 'unknown' WHERE id = 3"], "type from int64 to string"),
    (["UPDATE tests SET grade = 7 WHERE id = 3"], "type from string to int64"),
    (["CREATE TABLE news (id INTEGER PRIMARY KEY, name TEXT)"], ""),
    (["ALTER TABLE news RENAME TO olds", "INSERT INTO olds VALUES (1, 'old')"], ""),
    (
        [
            "ALTER TABLE tests RENAME TO tests_of_2026",
            "CREATE TABLE tests (id INTEGER PRIMARY KEY, hv REAL, name TEXT)",
            "INSERT INTO tests SELECT id, hv, name FROM tests_of_2026",
        ],
        "column grade was removed",
    ),
    (["DROP TABLE tests_of_2026"], ""),
]


def test_every_kind_of_drift_ends_like_a_fresh_build(made):
    refresh(made)
    for statements, change in DRIFT:
        made.execute(*statements)
        done = refresh(made, allow_shrink=True)
        assert change in done.changes, statements
        assert done.failures == "", statements
    assert is_like_fresh(made)


def test_other_columns_order_key_and_header_of_a_list_are_taken_over(made):
    path = made.home / "lists/suppliers.csv"
    refresh(made)
    for lines in (
        ["city,id,supplier", "City 1,1,Supplier 1", "City 2,2,Supplier 2"],
        ["City,id,supplier", "City 1,1,Supplier 1", "City 2,2,Supplier 2"],
        ["City,id,supplier", "City 1,1,Supplier 1", "City 2,1,Supplier 2"],
        ["City,id,supplier", "City 1,x1,Supplier 1", "City 2,2,Supplier 2"],
        ["City;id;supplier", "City 1;1;Supplier 1", "City 2;2;Supplier 2"],
    ):
        path.write_text("\n".join(lines) + "\n")
        project.age(path)
        assert refresh(made).failures == "", lines
        assert texts(made, "Supplier 2")
    assert is_like_fresh(made)


@pytest.mark.parametrize(
    "width", [150, pytest.param(500, marks=pytest.mark.nightly(guards=["rag_assets/sources"]))]
)
def test_a_wide_table_is_read_from_a_database_and_from_a_list(made, width):
    names = [f"c{number}" for number in range(width - 1)]
    columns = ", ".join(f"{name} {'REAL' if n % 2 else 'TEXT'}" for n, name in enumerate(names))
    made.execute(
        f"CREATE TABLE wide (id INTEGER PRIMARY KEY, {columns})",
        f"INSERT INTO wide VALUES (1, {', '.join(map(str, range(width - 1)))})",
    )
    records = (",".join(str(n * r) for n in range(width)) for r in (1, 2))
    lines = [",".join(["id", *names]), *records]
    (made.home / "lists/broad.csv").write_text("\n".join(lines) + "\n")

    assert refresh(made).failures == ""
    last = width - 2
    assert f"c{last} is {last}" in texts(made, "Item in wide")[0]
    assert any(f"c{last} is {2 * last + 2}" in text for text in texts(made, "Item in broad"))
    assert not any(report.touched for report in refresh(made).reports)


def test_hostile_cells_cost_nothing_but_themselves(made):
    cells = ["nul \0 needle", "עברית \u202eאבג\u202c needle", "👩‍👩‍👧‍👦 needle e\u0301", "\0"]
    with sqlite3.connect(made.database) as database:
        database.execute("CREATE TABLE odd (id INTEGER PRIMARY KEY, name TEXT, note BLOB)")
        database.executemany("INSERT INTO odd (name) VALUES (?)", [[cell] for cell in cells])
        database.execute("INSERT INTO odd (name) VALUES (CAST(x'eda0806e6565646c65ff' AS TEXT))")
        database.execute("INSERT INTO odd (name, note) VALUES ('blob needle', x'00ff')")
        database.execute("INSERT INTO odd (name) VALUES ('needle ' || ?)", ["x yz " * (CELL // 5)])
        database.execute(
            'CREATE TABLE "t 👩‍👩‍👧 "";--" (id INTEGER PRIMARY KEY, "c ""\x01 é" TEXT)'
        )
        database.execute('INSERT INTO "t 👩‍👩‍👧 "";--" VALUES (1, \'named needle\')')
    project.age(made.database)
    (made.home / "lists/bytes.csv").write_bytes(
        b"id,name\n1,list needle \xed\xa0\x80\xff\n2,\x00\n"
    )
    big = "y" * CELL
    (made.home / "lists/big.csv").write_text(f"id,name\n1,big needle {big}\n2,small needle\n")
    broken = pa.Array.from_buffers(
        pa.string(),
        2,
        [
            None,
            pa.py_buffer(b"\0\0\0\0\x08\0\0\0\x0e\0\0\0"),
            pa.py_buffer(b"needle\xff\xfeneedle"),
        ],
    )
    pq.write_table(pa.table({"id": [1, 2], "name": broken}), made.home / "lists/broken.parquet")

    done = refresh(made)

    assert done.failures.startswith("lists/bytes.csv: its encoding is uncertain")
    found = texts(made, "needle")
    for words in ("nul \0", "עברית", "👩‍👩‍👧‍👦", "\ufffdneedle\ufffd", "blob", "named", "small"):
        assert any(words in text for text in found), words
    assert sum(len(text) > CELL for text in found) == 2
    assert sum("needle\ufffd\ufffd" in text for text in found) == 1
    assert not any(report.touched for report in refresh(made).reports)


def test_keys_that_are_not_unique_are_named_and_one_row_is_kept(made):
    made.execute(
        "CREATE TABLE twins (code TEXT, name TEXT)",
        "INSERT INTO twins VALUES ('a', 'first'), ('a', 'second'), ('b', 'third'), (NULL, 'x')",
        "CREATE TABLE loose (id INTEGER, name TEXT)",
        "INSERT INTO loose VALUES (1, 'first'), (1, 'second'), (1, 'second')",
    )
    text = made.file.read_text()
    made.file.write_text(
        text.replace(
            'url: "sqlite:///laboratory.sqlite"}',
            'url: "sqlite:///laboratory.sqlite", tables: [{name: twins, key: [code]}, "*"]}',
        )
    )
    done = refresh(made)
    assert "2 rows of laboratory/twins have the key code" in done.failures
    assert "make the key unique" in done.failures
    assert len(texts(made, "Item in twins")) == 3
    assert len(texts(made, "Item in loose")) == 3, "no key is declared: the whole row is"

    made.execute("UPDATE twins SET code = 'c' WHERE name = 'second'")
    assert refresh(made).failures == ""
    assert is_like_fresh(made)
