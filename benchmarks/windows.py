"""Coherent windows of many chunks: their time and memory, and their numbers against all pairs.

usage: windows.py [--chunks 300000] [--dimensions 384]

An index of so many chunks is written, in documents of 1 to 20,000 chunks; one chunk in fifty has a
text that many documents share, one in a hundred a vector of zeros, and one in a hundred copies the
chunk before it. Then the windows of all documents are chosen and read as the making of questions
does it, in a process of its own. Their coherence is held against the sum over all pairs of chunks,
on windows that are drawn at random.
"""

import argparse
import itertools
import multiprocessing
import resource
import shutil
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
from bounds import at_most, finish

from rag_assets import config as configuration
from rag_assets import schemas
from rag_assets.identity import document_id
from rag_assets.questions.indexed_passages import IndexedPassages
from rag_assets.questions.windows import coherences, unit_vectors, windows_of
from rag_assets.store import Store

SECONDS, MEMORY = 10.0, 512e6
ROUNDING = 1e-6
SIZE, PER_DOCUMENT = 5, 2
DRAWN = 20_000
"""Windows whose pairs are summed one by one."""
SIZES = (20_000, 3_000, 500, 120, 40, 12, 4, 1)
"""Chunks of documents, in turn."""
ROWS = 4_096
"""Chunks that are written at once."""
WORDS = (
    "steel",
    "fatigue",
    "weld",
    "coating",
    "salt",
    "hours",
    "bearing",
    "torque",
    "seal",
    "test",
)
Found = TypeVar("Found")
CONFIG = """\
state_dir: state
sources: {documents: documents}
variants: {default: {chunking: fixed_256, model: minilm}}
"""


def sizes_of(chunks: int) -> list[int]:
    """Chunks of each document: each of `SIZES` in turn, until there are so many."""
    found: list[int] = []
    for size in itertools.cycle(SIZES):
        found.append(min(size, chunks - sum(found)))
        if sum(found) == chunks:
            return found
    raise AssertionError


def vectors_of(numbers: np.ndarray, *, dimensions: int, seed: int) -> np.ndarray:
    """Vectors around one of each document, that drift from chunk to chunk."""
    random = np.random.default_rng(seed)
    centres = np.stack(
        [np.random.default_rng(number).normal(size=dimensions) for number in np.unique(numbers)]
    )
    own = centres[np.searchsorted(np.unique(numbers), numbers)]
    vectors = own + random.normal(size=own.shape) * random.uniform(0.2, 1.5, (len(own), 1))
    copies = np.flatnonzero(random.random(len(own)) < 0.01)
    vectors[copies] = vectors[copies - 1] + 0.001
    vectors[random.random(len(own)) < 0.01] = 0
    return unit_vectors(vectors.astype(np.float32))


def rows_of(numbers: np.ndarray, places: np.ndarray, *, dimensions: int, seed: int) -> pa.Table:
    """The units of some chunks: the numbers of their documents, and their places in these."""
    random = np.random.default_rng(seed)
    texts = [
        " ".join(random.choice(WORDS, 110)) + f" {seed} {place}" for place in range(len(numbers))
    ]
    shared = random.random(len(numbers)) < 0.02
    texts = [
        "all rights reserved" if each else text for text, each in zip(texts, shared, strict=True)
    ]
    documents = [document_id("documents", f"{number}.md") for number in numbers.tolist()]
    kinds = random.choice(schemas.UNIT_TYPES, len(numbers), p=[0.85, 0.1, 0.03, 0.02])
    vectors = vectors_of(numbers, dimensions=dimensions, seed=seed)
    filled = {
        "unit_id": [f"{number}-{place}" for number, place in zip(numbers, places, strict=True)],
        "domain": ["document"] * len(numbers),
        "source": ["documents"] * len(numbers),
        "uri": [f"{number}.md" for number in numbers.tolist()],
        "document_id": documents,
        "title": ["a document"] * len(numbers),
        "section": [f"section {place // 20}" for place in places.tolist()],
        "pages": [[]] * len(numbers),
        "index": places,
        "char_start": [0] * len(numbers),
        "char_end": [len(text) for text in texts],
        "text": texts,
        "text_hash": [""] * len(numbers),
        "encoder_id": [""] * len(numbers),
        "windows": [1] * len(numbers),
        "vector": list(vectors),
        "type": kinds.tolist(),
        "language": ["en"] * len(numbers),
        "fingerprint": [""] * len(numbers),
        "row_fingerprint": [""] * len(numbers),
    }
    empty = pa.nulls(len(numbers))
    schema = schemas.units(dimensions)
    columns = [pa.array(filled.get(item.name, empty), item.type) for item in schema]
    return pa.Table.from_arrays(columns, schema=schema)


def write(home: Path, chunks: int, dimensions: int) -> None:
    """An index as a refresh leaves it, as far as windows are read from it."""
    config = configuration.load(home / "rag_assets.yaml")
    store, tables = Store.of(config), config.tables_of(config.serving_variant)
    sizes = sizes_of(chunks)
    numbers = np.repeat(np.arange(len(sizes)), sizes)
    places = np.concatenate([np.arange(size) for size in sizes])
    schema = schemas.units(dimensions)
    for start in range(0, chunks, ROWS):
        part = slice(start, start + ROWS)
        rows = rows_of(numbers[part], places[part], dimensions=dimensions, seed=start)
        store.append(tables.documents, rows, schema=schema)
    store.append(tables.joint, schema.empty_table(), schema=schema)
    documents = [document_id("documents", f"{number}.md") for number in range(len(sizes))]
    accounts = pa.table({"document_id": documents, "language": ["en"] * len(sizes)})
    store.append(tables.accounts, accounts, schema=accounts.schema)


def measured(home: Path) -> dict[str, float]:
    """Choose and read the windows of all documents."""
    config = configuration.load(home / "rag_assets.yaml")
    store = Store.of(config)
    names = store.read(config.tables_of(config.serving_variant).accounts, columns=["document_id"])
    documents = names["document_id"].to_pylist()
    indexed = IndexedPassages.of(store, config)
    assert indexed is not None
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    started, began = time.monotonic(), time.process_time()
    windows = chunks = 0
    for group in indexed.passages(documents, most=PER_DOCUMENT):
        windows += sum(len(each.windows) for each in group)
        chunks += sum(len(window) for each in group for window in each.windows)
    return {
        "cpu": time.process_time() - began,
        "seconds": time.monotonic() - started,
        "grown": (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1_024,
        "documents": len(documents),
        "windows": windows,
        "chunks": chunks,
    }


def apart(work: Callable[..., Found], *given: object) -> Found:
    """What a function returns in a process of its own, whose memory begins small."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *given).result()


def pairs_summed(vectors: np.ndarray) -> float:
    """The mean cosine of the pairs of a window, pair by pair."""
    exact = vectors.astype(np.float64)
    lengths = np.linalg.norm(exact, axis=1)
    cosines = (exact @ exact.T) / np.outer(lengths, lengths)
    count = len(exact)
    return float((cosines.sum() - np.trace(cosines)) / (count * (count - 1)))


def largest_difference(dimensions: int) -> tuple[float, int]:
    """Between the coherence of windows and the sum over their pairs."""
    numbers = np.repeat(np.arange(len(SIZES)), SIZES)
    vectors = vectors_of(numbers, dimensions=dimensions, seed=0)
    told = np.any(vectors, axis=1)
    vectors, numbers = vectors[told], numbers[told]
    starts, ends = windows_of(numbers, size=SIZE)
    found = coherences(vectors, starts, ends)
    several = np.flatnonzero(ends - starts > 1)
    drawn = np.random.default_rng(1).choice(several, min(DRAWN, len(several)), replace=False)
    worst = max(
        abs(found[each] - pairs_summed(vectors[starts[each] : ends[each]])) for each in drawn
    )
    return float(worst), len(drawn)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunks", type=int, default=300_000)
    parser.add_argument("--dimensions", type=int, default=384)
    arguments = parser.parse_args()
    worst, drawn = largest_difference(arguments.dimensions)
    print(f"{drawn:,} windows against the sum over their pairs: at most {worst:.1e} apart")
    home = Path(tempfile.mkdtemp(prefix="windows-"))
    try:
        (home / "rag_assets.yaml").write_text(CONFIG)
        (home / "documents").mkdir()
        apart(write, home, arguments.chunks, arguments.dimensions)
        done = apart(measured, home)
    finally:
        shutil.rmtree(home)
    print(
        f"{arguments.chunks:,} chunks of {arguments.dimensions} dimensions, {done['documents']:,} "
        f"documents: {done['windows']:,} windows of {done['chunks']:,} chunks in {done['cpu']:.1f} "
        f"CPU s ({done['seconds']:.1f} s), {done['grown'] / 1e6:,.0f} MB more memory"
    )
    finish(
        "windows",
        [
            at_most("coherence against the sum over pairs, millionths", worst / ROUNDING, 1),
            at_most(f"windows of {arguments.chunks:,} chunks, CPU s", done["cpu"], SECONDS),
            at_most("memory, bytes", done["grown"], MEMORY),
        ],
    )


if __name__ == "__main__":
    main()
