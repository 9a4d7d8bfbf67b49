"""The peer of search_latency.py: LlamaIndex over LanceDB. It knows nothing of us.

usage: llama_index_lancedb.py UNITS.parquet FOLDER

Builds a table of the units (id, text, vector) as `LanceDBVectorStore.add` writes them, with a
vector index of the same kind as ours; then answers lines of {"queries": [[text, vector], ...],
"top_k": n} with {"seconds": [...], "found": [...]}: hybrid searches by `VectorIndexRetriever`.
"""

import json
import sys
import time

import lancedb
import pyarrow as pa
import pyarrow.parquet as pq
from lancedb.index import IvfFlat
from llama_index.core import VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.schema import QueryBundle, TextNode
from llama_index.core.vector_stores.types import VectorStoreQueryMode
from llama_index.core.vector_stores.utils import node_to_metadata_dict
from llama_index.vector_stores.lancedb import LanceDBVectorStore

ROWS_AT_ONCE = 10_000


def rows_of(batch: pa.RecordBatch) -> pa.Table:
    """The columns that `LanceDBVectorStore.add` writes for a node of each row."""
    metadata = [
        node_to_metadata_dict(TextNode(id_=unit, text=text), flat_metadata=True)
        for unit, text in zip(batch["id"].to_pylist(), batch["text"].to_pylist(), strict=True)
    ]
    return pa.table(
        {
            "id": batch["id"],
            "doc_id": pa.nulls(batch.num_rows, pa.string()),
            "vector": batch["vector"],
            "text": batch["text"],
            "metadata": pa.array(metadata),
        }
    )


def build(parquet: str, folder: str) -> LanceDBVectorStore:
    database = lancedb.connect(folder)
    for batch in pq.ParquetFile(parquet).iter_batches(ROWS_AT_ONCE):
        rows = rows_of(batch)
        if "vectors" in database.table_names():
            database.open_table("vectors").add(rows)
        else:
            database.create_table("vectors", rows)
    table = database.open_table("vectors")
    table.create_index("vector", config=IvfFlat(distance_type="cosine"))
    return LanceDBVectorStore(uri=folder, table_name="vectors", query_type="hybrid", mode="append")


def main() -> None:
    store = build(sys.argv[1], sys.argv[2])
    index = VectorStoreIndex.from_vector_store(store, embed_model=MockEmbedding(embed_dim=384))
    for line in sys.stdin:
        request = json.loads(line)
        retriever = index.as_retriever(
            similarity_top_k=request["top_k"], vector_store_query_mode=VectorStoreQueryMode.HYBRID
        )
        seconds, found = [], []
        for text, vector in request["queries"]:
            bundle = QueryBundle(query_str=text, embedding=vector)
            started = time.perf_counter()
            nodes = retriever.retrieve(bundle)
            seconds.append(time.perf_counter() - started)
            found.append([node.node.node_id for node in nodes])
        print(json.dumps({"seconds": seconds, "found": found}), flush=True)


if __name__ == "__main__":
    main()
