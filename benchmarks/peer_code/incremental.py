"""One edition of a corpus through another framework: JSON in, JSON out; see `pipelines.py`.

Each does what its documentation shows for keeping an index up to date. Chunks come ready-made,
but for the peer that cuts as well, under the model's tokenizer.
"""

import hashlib
import json
import os
import pathlib
import resource
import sys
import time
import typing
from collections.abc import Callable

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("ANONYMIZED_TELEMETRY", "False")
os.environ.setdefault("COCOINDEX_DISABLE_USAGE_TRACKING", "1")
import numpy as np

DIMENSION = 384
BATCH = 500
embedded = 0

Embed = Callable[[list[str]], list[np.ndarray]]
Peer = tuple[Callable[[], object], Callable[[], int]]
"""What brings the index up to date, and what counts its rows."""


def hash_embed(texts: list[str]) -> list[np.ndarray]:
    global embedded
    embedded += len(texts)
    vectors = []
    for text in texts:
        digest = hashlib.shake_128(text.encode()).digest(DIMENSION)
        vector = np.frombuffer(digest, np.uint8).astype(np.float32) - 127.5
        vectors.append(vector / np.linalg.norm(vector))
    return vectors


def model_embed(path: str) -> Embed:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(path, device="cpu")

    def embed(texts: list[str]) -> list[np.ndarray]:
        global embedded
        embedded += len(texts)
        return list(model.encode(list(texts), show_progress_bar=False))

    return embed


def cutter(cutting: dict) -> Callable[[str], list[str]]:
    """LangChain's recursive splitter under the tokenizer of the model."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(cutting["tokenizer"])
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return RecursiveCharacterTextSplitter(
        chunk_size=cutting["size"],
        chunk_overlap=cutting["overlap"],
        length_function=lambda text: len(tokenizer.encode(text).ids),
    ).split_text


def langchain(
    documents: list[dict],
    home: pathlib.Path,
    embed: Embed,
    *,
    store: str,
    cutting: dict | None = None,
) -> Peer:
    import lancedb
    from langchain_classic.indexes import SQLRecordManager
    from langchain_core.documents import Document
    from langchain_core.embeddings import Embeddings
    from langchain_core.indexing import index

    class Embedder(Embeddings):
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [vector.tolist() for vector in embed(texts)]

        def embed_query(self, text: str) -> list[float]:
            return self.embed_documents([text])[0]

    if store == "chroma":
        from langchain_chroma import Chroma

        vectors = Chroma("chunks", Embedder(), persist_directory=str(home / "db"))

        def count() -> int:
            return vectors._collection.count()
    else:
        from langchain_lancedb import LanceDB

        vectors = LanceDB(Embedder(), uri=str(home / "db"), table_name="chunks")

        def count() -> int:
            return lancedb.connect(str(home / "db")).open_table("chunks").count_rows()

    records = SQLRecordManager("chunks", db_url=f"sqlite:///{home}/records.db")
    records.create_schema()
    cut = cutter(cutting) if cutting else None

    def run() -> object:
        pieces = [
            Document(page_content=chunk, metadata={"source": document["id"]})
            for document in documents
            for chunk in (cut(document["text"]) if cut else document["chunks"])
        ]
        return index(
            pieces,
            records,
            vectors,
            cleanup="full",
            source_id_key="source",
            batch_size=BATCH,
            key_encoder="blake2b",
        )

    return run, count


def llama_index(documents: list[dict], home: pathlib.Path, embed: Embed) -> Peer:
    import lancedb
    from llama_index.core import Document
    from llama_index.core.base.embeddings.base import BaseEmbedding
    from llama_index.core.ingestion import DocstoreStrategy, IngestionPipeline
    from llama_index.core.node_parser.interface import TextSplitter
    from llama_index.core.storage.docstore import SimpleDocumentStore
    from llama_index.vector_stores.lancedb import LanceDBVectorStore

    chunks = {document["text"]: document["chunks"] for document in documents}

    class Splitter(TextSplitter):
        def split_text(self, text: str) -> list[str]:
            return chunks[text]

    class Embedder(BaseEmbedding):
        def _get_text_embedding(self, text: str) -> list[float]:
            return embed([text])[0].tolist()

        def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
            return [vector.tolist() for vector in embed(texts)]

        def _get_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

        async def _aget_query_embedding(self, query: str) -> list[float]:
            return self._get_text_embedding(query)

    mode = "append" if (home / "db" / "chunks.lance").exists() else "create"
    pipeline = IngestionPipeline(
        transformations=[Splitter(), Embedder(embed_batch_size=BATCH)],
        vector_store=LanceDBVectorStore(uri=str(home / "db"), table_name="chunks", mode=mode),
        docstore=SimpleDocumentStore(),
        docstore_strategy=DocstoreStrategy.UPSERTS_AND_DELETE,
    )
    if (home / "pipeline").exists():
        pipeline.load(str(home / "pipeline"))

    def run() -> None:
        given = [Document(text=document["text"], id_=document["id"]) for document in documents]
        pipeline.run(documents=given, show_progress=False)
        pipeline.persist(str(home / "pipeline"))

    return run, lambda: lancedb.connect(str(home / "db")).open_table("chunks").count_rows()


def coco_index(documents: list[dict], home: pathlib.Path, embed: Embed) -> Peer:
    from dataclasses import dataclass

    import cocoindex as coco
    import lancedb as plain
    from cocoindex.connectors import lancedb, localfs
    from cocoindex.resources.file import FileLike, PatternFilePathMatcher
    from cocoindex.resources.schema import VectorSchema
    from numpy.typing import NDArray

    source = home / "source"
    source.mkdir(exist_ok=True)
    wanted = {document["id"]: document for document in documents}
    for path in source.iterdir():
        if path.name not in wanted:
            path.unlink()
    for name, document in wanted.items():
        path = source / name
        if not path.exists() or path.read_text() != document["text"]:
            path.write_text(document["text"])
    os.environ["COCOINDEX_DB"] = str(home / "coco.db")
    database = coco.ContextKey[lancedb.LanceAsyncConnection]("database")
    schema = VectorSchema(dtype=np.dtype(np.float32), size=DIMENSION)
    globals().update(NDArray=NDArray, VECTOR=schema, FileLike=FileLike)  # hints are looked up there

    @dataclass
    class Row:
        id: str
        document: str
        text: str
        embedding: typing.Annotated[NDArray, schema]

    @coco.lifespan
    async def connect(builder):  # noqa: ANN001, ANN202 - CocoIndex does not export its types
        builder.provide(database, await lancedb.connect_async(str(home / "db")))
        yield

    @coco.fn(memo=True)
    async def process(file: FileLike, table: typing.Any) -> None:
        name = pathlib.PurePath(file.file_path.path).name
        chunks = wanted[name]["chunks"]
        assert await file.read_text()
        for number, (chunk, vector) in enumerate(zip(chunks, embed(chunks), strict=True)):
            row = Row(id=f"{name}:{number}", document=name, text=chunk, embedding=vector)
            table.declare_row(row=row)

    @coco.fn
    async def main(folder: pathlib.Path) -> None:
        table = await lancedb.mount_table_target(
            database,
            table_name="chunks",
            table_schema=await lancedb.TableSchema.from_class(Row, primary_key=["id"]),
        )
        matcher = PatternFilePathMatcher(included_patterns=["**/*.txt"])
        files = localfs.walk_dir(folder, recursive=True, path_matcher=matcher)
        await coco.mount_each(process, files.items(), table)

    app = coco.App(coco.AppConfig(name="benchmark"), main, folder=source)
    return (
        app.update_blocking,
        lambda: plain.connect(str(home / "db")).open_table("chunks").count_rows(),
    )


def floor(documents: list[dict], home: pathlib.Path, embed: Embed) -> Peer:
    """One hash of each document, one comparison, one upsert, one delete: no framework at all."""
    import lancedb
    import pyarrow as pa

    database = lancedb.connect(str(home / "db"))

    def digest(document: dict) -> str:
        return hashlib.md5(document["text"].encode(), usedforsecurity=False).hexdigest()

    def rows(some: list[dict]) -> pa.Table:
        pieces = [
            (document["id"], f"{document['id']}:{number}", chunk, digest(document))
            for document in some
            for number, chunk in enumerate(document["chunks"])
        ]
        vectors = pa.array(np.concatenate(embed([text for _, _, text, _ in pieces])))
        columns = dict(
            zip(("document", "id", "text", "digest"), zip(*pieces, strict=True), strict=True)
        )
        vector = pa.FixedSizeListArray.from_arrays(vectors, DIMENSION)
        return pa.table(
            {**{name: list(cells) for name, cells in columns.items()}, "vector": vector}
        )

    def named(ids: list[str]) -> str:
        return f"document IN ({', '.join(repr(name) for name in ids)})"

    def run() -> None:
        if not (home / "db" / "chunks.lance").exists():
            database.create_table("chunks", rows(documents))
            return
        table = database.open_table("chunks")
        held = table.search().select(["document", "digest"]).limit(table.count_rows()).to_arrow()
        known = dict(zip(held["document"].to_pylist(), held["digest"].to_pylist(), strict=True))
        wanted = {document["id"] for document in documents}
        new = [document for document in documents if known.get(document["id"]) != digest(document)]
        gone = [name for name in known if name not in wanted]
        if new:
            merge = table.merge_insert("id").when_matched_update_all()
            merge = merge.when_not_matched_insert_all()
            changed = named([document["id"] for document in new])
            merge.when_not_matched_by_source_delete(changed).execute(rows(new))
        if gone:
            table.delete(named(gone))

    return run, lambda: database.open_table("chunks").count_rows()


def cpu_seconds() -> float:
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in used)


def main() -> None:
    request = json.loads(sys.stdin.read())
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what frameworks print is not the answer
    documents = json.loads(pathlib.Path(request["corpus"]).read_text())
    home = pathlib.Path(request["home"])
    embed = model_embed(request["model"]) if request["model"] else hash_embed
    setups = {
        "langchain + lancedb": lambda: langchain(documents, home, embed, store="lancedb"),
        "langchain + lancedb, cutting": lambda: langchain(
            documents, home, embed, store="lancedb", cutting=request["cutting"]
        ),
        "langchain + chroma": lambda: langchain(documents, home, embed, store="chroma"),
        "llama-index + lancedb": lambda: llama_index(documents, home, embed),
        "cocoindex + lancedb": lambda: coco_index(documents, home, embed),
        "floor": lambda: floor(documents, home, embed),
    }
    run, count = setups[request["peer"]]()
    started, before = time.perf_counter(), cpu_seconds()
    try:
        run()
    except Exception as error:  # a peer that cannot do it is told of, not hidden
        answer: dict = {"error": f"{type(error).__name__}: {error}"[:300]}
    else:
        wall, cpu = time.perf_counter() - started, cpu_seconds() - before
        answer = {"wall": wall, "cpu": cpu, "embedded": embedded, "rows": count()}
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
    os._exit(0)  # some leave threads behind that never end


if __name__ == "__main__":
    main()
