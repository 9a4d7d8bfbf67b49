"""An independent retrieval run to hold the project against: none of the project's code.

Chunks of 220 tokens cut page by page from pdfium text, rows as full-semantic sentences, MiniLM,
`bm25s` and reciprocal rank fusion over one list of all texts. Scored at the gold's own level
(page, document or row) with duplicates collapsed.
"""

import csv
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer
    from transformers import PreTrainedTokenizerBase

DEPTH = 100
CUTOFF = 10


def run(model_folder: Path, data: Path) -> dict[str, dict[str, bool]]:
    """Hits at 10 of each question (by id) for `baseline`, `bm25` and `hybrid`."""
    import bm25s
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(model_folder), device="cpu")
    keys, texts = [], []
    for key, text in units(data, tokenizer=model.tokenizer):
        keys.append(key)
        texts.append(text)
    questions = [json.loads(line) for line in (data / "questions.jsonl").open()]
    queries = [question["question"] for question in questions]
    print(f"reference: {len(texts):,} texts", flush=True)
    dense = ranked(encode(model, queries) @ encode(model, texts).T)
    lexical_index = bm25s.BM25()
    lexical_index.index(
        bm25s.tokenize(texts, stopwords="en", show_progress=False), show_progress=False
    )
    lexical, _ = lexical_index.retrieve(
        bm25s.tokenize(queries, stopwords="en", show_progress=False), k=DEPTH, show_progress=False
    )
    runs = {
        "baseline": dense,
        "bm25": lexical,
        "hybrid": [fused(a, b) for a, b in zip(dense, lexical, strict=True)],
    }
    return {
        name: {
            question["id"]: is_hit(ranking, keys=keys, gold=set(question["gold"]))
            for question, ranking in zip(questions, rankings, strict=True)
        }
        for name, rankings in runs.items()
    }


def encode(model: "SentenceTransformer", texts: Sequence[str]) -> np.ndarray:
    vectors = model.encode(
        list(texts), batch_size=64, normalize_embeddings=True, convert_to_numpy=True
    )
    return vectors.astype(np.float32)


def ranked(scores: np.ndarray) -> np.ndarray:
    return np.argsort(-scores, axis=1)[:, :DEPTH]


def fused(first: Sequence[int], second: Sequence[int]) -> list[int]:
    scores: dict[int, float] = {}
    for ranking in (first, second):
        for rank, unit in enumerate(ranking, start=1):
            scores[unit] = scores.get(unit, 0.0) + 1 / (60 + rank)
    return sorted(scores, key=lambda unit: -scores[unit])


def is_hit(ranking: Sequence[int], *, keys: Sequence[set[str]], gold: set[str]) -> bool:
    at_page = any("#page" in entry for entry in gold)
    seen: set[str] = set()
    for unit in ranking:
        label = (max if at_page else min)(keys[unit], key=len)
        if label in seen:
            continue
        if keys[unit] & gold:
            return True
        seen.add(label)
        if len(seen) >= CUTOFF:
            return False
    return False


def units(data: Path, *, tokenizer: "PreTrainedTokenizerBase") -> Iterator[tuple[set[str], str]]:
    for line in (data / "documents.jsonl").open():
        document = json.loads(line)
        for page, text in pages(data / document["path"]):
            key = {f"doc:{document['doc_id']}"}
            if page:
                key.add(f"doc:{document['doc_id']}#page={page}")
            for chunk in chunks(text, tokenizer=tokenizer):
                yield key, chunk
    for line in (data / "tables.jsonl").open():
        table = json.loads(line)
        names = {c["name"]: c.get("description") or c["name"] for c in table["columns"]}
        with (data / "tables" / f"{table['table']}.csv").open(newline="") as file:
            for row in csv.DictReader(file):
                key = row.pop("row_id")
                facts = " and ".join(f"{names[k]} is {v}" for k, v in row.items() if v)
                text = f"Item in {table.get('title') or table['table']} where {facts}."
                yield {f"row:{table['table']}:{key}"}, text


def pages(path: Path) -> list[tuple[int | None, str]]:
    if path.suffix == ".md":
        return [(None, path.read_text())]
    if path.suffix != ".pdf":
        return []
    import pypdfium2

    document = pypdfium2.PdfDocument(path)
    return [
        (number, page.get_textpage().get_text_bounded()) for number, page in enumerate(document, 1)
    ]


def chunks(
    text: str, *, tokenizer: "PreTrainedTokenizerBase", size: int = 220, overlap: int = 20
) -> Iterator[str]:
    offsets = tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)[
        "offset_mapping"
    ]
    start = 0
    while start < len(offsets):
        end = min(start + size, len(offsets))
        yield text[offsets[start][0] : offsets[end - 1][1]]
        start = end - overlap if end < len(offsets) else end
