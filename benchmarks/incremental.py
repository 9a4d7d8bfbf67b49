"""A refresh after edits embeds exactly the new texts and ends equal to a build from scratch.

usage: incremental.py [--rounds 3] [--share 0.01] [--seed 0]

Copies documents and tables of the shared dataset materials_demo, builds the index, and then, in
each round, edits, renames and deletes that share of the documents, inserts, updates and deletes
that share of the rows, and refreshes. A text is new if no unit held it before the round.
"""

import argparse
import random
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from bounds import at_least, at_most, dataset, equal, finish, rag_assets

from rag_assets import config as configuration
from rag_assets.store import Store

CONFIG = """\
state_dir: state
sources:
  documents: documents
  tables: sqlite:///tables.sqlite
variants: {default: {chunking: fixed_256, model: minilm}}
"""
FOLDERS = ("fluids", "syntheses")
TABLES = ("elements", "epd_indicators", "material_standards")


def copy_sources(data: Path, folder: Path) -> None:
    for name in FOLDERS:
        shutil.copytree(data / "docs" / name, folder / "documents" / name)
    for path in (data / "docs").glob("epd_*"):
        shutil.copy(path, folder / "documents")
    shutil.copy(data / "tables.sqlite", folder / "tables.sqlite")
    with sqlite3.connect(folder / "tables.sqlite") as database:
        names = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        for (name,) in names:
            if name not in TABLES:
                database.execute(f'DROP TABLE "{name}"')


def edit(folder: Path, *, share: float, random_: random.Random, round_: int) -> None:
    """Change `share` of the documents and of the rows in each of three ways."""
    documents = sorted((folder / "documents").rglob("*.md"))
    count = max(1, round(len(documents) * share))
    chosen = random_.sample(documents, 3 * count)
    for path in chosen[:count]:
        words = path.read_text().split(" ")
        words.insert(random_.randrange(len(words)), f"(amended in round {round_})")
        path.write_text(" ".join(words))
    for path in chosen[count : 2 * count]:
        path.rename(path.with_name(f"renamed_{round_}_{path.name}"))
    for path in chosen[2 * count :]:
        path.unlink()
    with sqlite3.connect(folder / "tables.sqlite") as database:
        for table in TABLES:
            edit_rows(database, table, share=share, random_=random_, round_=round_)


def edit_rows(
    database: sqlite3.Connection, table: str, *, share: float, random_: random.Random, round_: int
) -> None:
    keys = [key for (key,) in database.execute(f'SELECT row_id FROM "{table}" ORDER BY row_id')]
    count = max(1, round(len(keys) * share))
    chosen = random_.sample(keys, 3 * count)
    columns = [
        name
        for _, name, kind, *_ in database.execute(f'PRAGMA table_info("{table}")')
        if name != "row_id" and kind.lower() == "text"
    ]
    for key in chosen[:count]:
        text = f"changed in round {round_}"
        database.execute(f'UPDATE "{table}" SET "{columns[0]}" = ? WHERE row_id = ?', (text, key))
    for key in chosen[count : 2 * count]:
        database.execute(f'DELETE FROM "{table}" WHERE row_id = ?', (key,))
    for number, key in enumerate(chosen[2 * count :]):
        row = database.execute(f'SELECT * FROM "{table}" WHERE row_id = ?', (key,)).fetchone()
        row = (f"{max(keys)}{round_}{number}", *row[1:])
        marks = ", ".join("?" for _ in row)
        database.execute(f'INSERT INTO "{table}" VALUES ({marks})', row)


def units(config: Path, *, state: Path) -> dict[str, pa.Table]:
    """The three searched tables, sorted by unit."""
    store = Store(state)
    tables = configuration.load(config).tables_of("default")
    return {
        name: store.read(getattr(tables, name)).sort_by("unit_id")
        for name in ("documents", "rows", "joint")
    }


def texts(tables: dict[str, pa.Table]) -> set[str]:
    return {value for table in tables.values() for value in table["text_hash"].to_pylist()}


def differences(ours: dict[str, pa.Table], fresh: dict[str, pa.Table]) -> Iterator[str]:
    for name, table in ours.items():
        for column in ("unit_id", "fingerprint", "row_fingerprint", "text", "uri", "pages"):
            if table[column].to_pylist() != fresh[name][column].to_pylist():
                yield f"{name}.{column}"


def least_cosine(ours: dict[str, pa.Table], fresh: dict[str, pa.Table]) -> float:
    least = 1.0
    for name, table in ours.items():
        left, right = (np.stack(part["vector"].to_numpy()) for part in (table, fresh[name]))
        least = min(least, float((left * right).sum(axis=1).min()))
    return least


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    random_ = random.Random(arguments.seed)
    data = dataset("materials_demo")
    bounds = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        config = folder / "rag_assets.yaml"
        config.write_text(CONFIG)
        copy_sources(data, folder)
        cold = rag_assets("refresh", "--json", config=config)
        print(f"cold build {cold.seconds:.0f} s")
        for round_ in range(arguments.rounds):
            before = texts(units(config, state=folder / "state"))
            edit(folder, share=arguments.share, random_=random_, round_=round_)
            done = rag_assets("refresh", "--json", config=config)
            embedded = sum(c.get("embedded", 0) for c in done.json["assets"].values())
            new = texts(units(config, state=folder / "state")) - before
            print(f"round {round_}: {embedded} embedded, {len(new)} new, {done.seconds:.1f} s")
            bounds.append(equal(f"round {round_}: texts embedded = new texts", embedded, len(new)))
        environment = {"RAG_ASSETS__STATE_DIR": str(folder / "fresh")}
        rag_assets("refresh", "--json", config=config, environment=environment)
        ours = units(config, state=folder / "state")
        fresh = units(config, state=folder / "fresh")
        unequal = list(differences(ours, fresh))
        print(f"columns that differ from a build from scratch: {unequal}")
        bounds += [
            equal("columns that differ from a build from scratch", len(unequal), 0),
            at_least("least cosine between the two builds", least_cosine(ours, fresh), 0.9999),
            at_most("last refresh / cold build, seconds", done.seconds / cold.seconds, 0.5),
        ]
    finish("incremental", bounds)


if __name__ == "__main__":
    main()
