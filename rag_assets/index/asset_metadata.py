"""What is shown of tables of units and of their search indexes beside the counts of a pass."""

from collections.abc import Mapping

from rag_assets.index.embed import EmbeddingReport
from rag_assets.index.indexes import IndexReport
from rag_assets.reports.metadata_values import ShownRows, Value

PREVIEW = "preview"


def embedding(done: EmbeddingReport) -> Mapping[str, Value]:
    """What went through the model, and how fast."""
    shown: dict[str, Value] = {
        "embedded": done.embedded,
        "reused": done.reused,
        "windowed": done.windowed,
    }
    if done.embedded:
        seconds = max(done.seconds, 1e-9)
        shown["texts_per_second"] = round(done.embedded / seconds, 1)
        shown["tokens_per_second"] = round(done.tokens / seconds)
    if done.norms:
        least, largest = done.norms
        shown["norms"] = f"{least:.6f} to {largest:.6f}"
    return shown


def search_index(index: IndexReport, *, previews: bool) -> Mapping[str, Value]:
    """The search indexes of a table, and its first rows where `previews` are asked for."""
    shown: dict[str, Value] = {
        "vector_search": index.vector_index or "exact",
        "unindexed_rows": index.vector_unindexed,
        "units_in_windows": index.windowed,
        "fragments": index.fragments,
        "index_maintenance": "; ".join(index.done) or "nothing was due",
    }
    if index.recall is not None:
        shown["recall@20"] = round(index.recall, 4)
    if previews and index.preview:
        shown[PREVIEW] = ShownRows(index.preview)
    return shown
