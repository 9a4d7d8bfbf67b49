"""A small project that is broken on purpose: documents, a database and a folder of CSV files."""

import csv
import os
import sqlite3
import time
from dataclasses import dataclass
from pathlib import Path

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.store import Store

CONFIG = """\
state_dir: state
sources:
  documents: documents
  tables:
    - {name: laboratory, url: "sqlite:///laboratory.sqlite"}
    - {name: lists, url: lists}
chunkings:
  small: {size: 48, overlap: 0}
  tiny: {size: 24, overlap: 0}
variants:
  default: {parser: pdfium, chunking: small}
  other: {parser: pdfium, chunking: tiny, serializer: json}
retrieval: {retriever: bm25}
gate: {queries: 50}
"""
"""Its gate loads no model and asks little."""
SENTENCE = "Specimen {0} of series {1} was tested at {2} degrees and bore {3} MPa. "
PAST = 60.0
"""Seconds: files are as old as this, so that their times are trusted at once."""


@dataclass(frozen=True)
class Project:
    """Where one lies."""

    home: Path

    @property
    def file(self) -> Path:
        return self.home / "rag_assets.yaml"

    @property
    def documents(self) -> Path:
        return self.home / "documents"

    @property
    def database(self) -> Path:
        return self.home / "laboratory.sqlite"

    @property
    def config(self) -> Config:
        return configuration.load(self.file)

    def config_with(self, state: Path) -> Config:
        """The same sources with another state: for a build that nobody disturbed."""
        return self.config.model_copy(update={"state_dir": state})

    @property
    def store(self) -> Store:
        return Store(self.config.state_dir)

    def execute(self, *statements: str) -> None:
        """Change the database."""
        with sqlite3.connect(self.database) as database:
            for statement in statements:
                database.execute(statement)
        age(self.database)

    def write(self, name: str, text: str | bytes) -> Path:
        """Write a document."""
        path = self.documents / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
        age(path)
        return path


def make(home: Path, *, documents: int = 8, rows: int = 24) -> Project:
    """Write a project into `home`."""
    home.mkdir(parents=True, exist_ok=True)
    project = Project(home)
    project.file.write_text(CONFIG)
    for number in range(documents):
        project.write(f"series{number % 3}/report{number}.md", report(number))
    tests = ", ".join(f"({n}, 'steel {n}', {n / 4}, {n % 5})" for n in range(1, rows + 1))
    project.execute(
        "CREATE TABLE tests (id INTEGER PRIMARY KEY, name TEXT, load REAL, grade INTEGER)",
        f"INSERT INTO tests VALUES {tests}",
        "CREATE TABLE grades (id INTEGER PRIMARY KEY, name TEXT)",
        "INSERT INTO grades VALUES (0, 'soft'), (1, 'hard'), (2, 'brittle')",
    )
    lists = home / "lists"
    lists.mkdir()
    with (lists / "suppliers.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "supplier", "city"])
        writer.writerows([n, f"Supplier {n}", f"City {n % 4}"] for n in range(rows // 4))
    age(lists / "suppliers.csv")
    return project


def report(number: int, *, edition: int = 1) -> str:
    """The text of a document: some chunks, the first of which differs between editions."""
    sentences = (
        SENTENCE.format(n, number, 20 + n, 100 + n + (edition - 1 if n == 0 else 0))
        for n in range(6)
    )
    return f"# Report {number}, edition {edition}\n\n" + "\n\n".join(sentences)


def age(path: Path, *, seconds: float = PAST) -> None:
    """Let `path` be written a while ago, but at a time of its own."""
    moment = time.time_ns() - int(seconds * 1e9)
    os.utime(path, ns=(moment, moment))
