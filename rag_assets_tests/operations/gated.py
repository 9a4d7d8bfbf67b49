"""A project with as many questions as a gate needs, on alloys with a word of their own each."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from rag_assets.config import Config
from rag_assets.evaluation.evaluate import evaluate_variant
from rag_assets.evaluation.questions import refresh_questions
from rag_assets.operations.gate.judging import judge
from rag_assets.operations.gate.verdicts import Verdict
from rag_assets.retrieval import opening
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet, set_of
from rag_assets.table_lookup.arm import arms_of
from rag_assets_testing.faults import pipeline
from rag_assets_testing.faults.hashing import HashEncoder, hashing
from rag_assets_testing.faults.project import Project, age

ALLOYS = 120
CONFIG = """\
state_dir: state
sources:
  documents: documents
  tables:
    - {name: laboratory, url: "sqlite:///laboratory.sqlite"}
chunkings:
  small: {size: 48, overlap: 0}
  tiny: {size: 24, overlap: 0}
variants:
  default: {parser: pdfium, chunking: small}
  json_rows: {parser: pdfium, chunking: small, serializer: json}
  tiny: {parser: pdfium, chunking: tiny}
retrieval: {retriever: bm25}
evaluation:
  retrievers: [bm25]
  bootstrap_samples: 100
  questions:
    - path: questions.jsonl
gate: {queries: 60}
"""


def name_of(number: int) -> str:
    """The word of an alloy, which no other text has."""
    return f"zorium{number:03d}"


def text_of(number: int, *, strength: int | None = None) -> str:
    """The document on an alloy."""
    return (
        f"# The alloy {name_of(number)}\n\n"
        f"The alloy {name_of(number)} bears {strength or 200 + number} MPa at room temperature.\n\n"
        f"It was cast in the year {1900 + number} for the bridge of the town Ville{number}.\n"
    )


def quote_of(number: int) -> str:
    """What answers the question on a document."""
    return f"{name_of(number)} bears {200 + number} MPa at room temperature"


def make(home: Path) -> Project:
    """Write the project, without questions."""
    made = Project(home)
    home.mkdir(parents=True, exist_ok=True)
    made.file.write_text(CONFIG)
    (home / "questions.jsonl").write_text("")
    for number in range(ALLOYS):
        made.write(f"alloy{number:03d}.md", text_of(number))
    rows = ", ".join(f"({n}, '{name_of(n)}x', {n / 8})" for n in range(ALLOYS))
    made.execute(
        "CREATE TABLE densities (id INTEGER PRIMARY KEY, alloy TEXT, density REAL)",
        f"INSERT INTO densities VALUES {rows}",
    )
    return made


def questions(documents: int, rows: int) -> list[dict]:
    """So many questions on documents, every tenth in Swedish, and on rows."""
    on_documents = [
        {
            "id": f"d{n}",
            "question": f"How much does {name_of(n)} bear?",
            "gold": [f"doc:alloy{n:03d}.md"],
            "evidence": [{"doc_id": f"alloy{n:03d}.md", "text": quote_of(n)}],
            "lang": "sv" if n % 10 == 0 else "en",
        }
        for n in range(documents)
    ]
    on_rows = [
        {"id": f"r{n}", "question": f"density of {name_of(n)}x", "gold": [f"row:densities:{n}"]}
        for n in range(rows)
    ]
    return [*on_documents, *on_rows]


def ask(made: Project, asked: Sequence[dict]) -> None:
    """Let these be the questions of the project."""
    file = made.home / "questions.jsonl"
    file.write_text("".join(f"{json.dumps(one)}\n" for one in asked))
    age(file, seconds=30)
    refresh_questions(made.store, made.config, log=lambda _: None)


def build(made: Project, variant: str = "default") -> CompleteSet:
    """Refresh a variant, and promote nothing; its complete set."""
    with hashing(), patch.object(pipeline, "promote_refreshed"):
        pipeline.refresh(made.config, variant=variant)
    return set_of(made.store, made.config, variant)


@contextmanager
def hashed_queries() -> Iterator[None]:
    """Let queries be embedded as the index was, by hashes: what dense search finds is chance."""
    with patch.object(opening, "load_for_queries", lambda *_, **__: HashEncoder(None)):
        yield


def evaluated(made: Project, variant: str = "default") -> None:
    """Evaluate a variant, as the night does before the gate."""
    with hashed_queries():
        evaluate_variant(
            made.store,
            made.config,
            variant=variant,
            arms=arms_of(made.store, made.config),
            log=lambda _: None,
        )


def judged(
    made: Project,
    serving: CompleteSet | None,
    candidate: CompleteSet,
    *,
    config: Config | None = None,
    log: Callable[[str], None] = lambda _: None,
    **serving_side: object,
) -> Verdict:
    """What the gate says."""
    with hashed_queries():
        return judge(
            Store.of(config or made.config),
            config or made.config,
            serving=serving,
            candidate=candidate,
            log=log,
            **serving_side,
        )
