"""A small project that is built for real: two documents, two database tables, two questions."""

import json
import os
import sqlite3
import time
from pathlib import Path

HEAVY = (
    "torch",
    "transformers",
    "sentence_transformers",
    "FlagEmbedding",
    "datasets",
    "great_expectations",
    "lancedb",
    "lance",
    "dlt",
    "docling",
    "pymupdf",
    "pypdfium2",
)
"""What neither loading the definitions nor a refresh without work may import."""

CONFIG = """\
state_dir: state
owner: team:materials
sources:
  documents: documents
  tables:
    - name: laboratory
      url: sqlite:///laboratory.sqlite
      tables: [alloys, "test_*"]
variants:
  default: {parser: pdfium, chunking: fixed_256, model: minilm}
  json_rows: {parser: pdfium, chunking: fixed_256, serializer: json, model: minilm}
evaluation:
  questions:
    - path: questions.jsonl
"""

QUESTIONS = [
    {"id": "q1", "question": "Which alloy bears salt?", "domain": "doc", "gold": ["doc:salt.md"]},
    {"id": "q2", "question": "density of invar", "domain": "table", "gold": ["row:alloys:2"]},
]


def make(home: Path) -> Path:
    """Write the project into `home`."""
    (home / "rag_assets.yaml").write_text(CONFIG)
    documents = home / "documents"
    documents.mkdir(exist_ok=True)
    (documents / "salt.md").write_text(
        "# Salt spray\n\nThe alloy AlMg3 bears salt for 500 hours.\n"
    )
    (documents / "heat.md").write_text("# Heat\n\nInvar hardly expands up to 200 degrees.\n")
    with sqlite3.connect(home / "laboratory.sqlite") as database:
        database.execute("CREATE TABLE alloys (id INTEGER PRIMARY KEY, name TEXT, density REAL)")
        database.executemany(
            "INSERT INTO alloys VALUES (?, ?, ?)",
            [(1, "AlMg3", 2.66), (2, "Invar", 8.05), (3, "Brass", None)],
        )
        database.execute("CREATE TABLE test_salt (id INTEGER PRIMARY KEY, hours INTEGER)")
        database.execute("INSERT INTO test_salt VALUES (1, 500)")
    lines = [json.dumps({**question, "split": "test"}) for question in QUESTIONS]
    (home / "questions.jsonl").write_text("\n".join(lines) + "\n")
    a_while_ago = time.time() - 60  # a look trusts the time of a file that was not written just now
    for path in filter(Path.is_file, home.rglob("*")):
        os.utime(path, (a_while_ago, a_while_ago))
    return home
