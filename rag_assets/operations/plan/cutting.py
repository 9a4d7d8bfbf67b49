"""How chunks will change: some documents are cut in memory, the others are estimated from them.

As many of the changed documents as are cheap to read are cut (`documents.chunks.planned`). What the
others give is scaled up by the size of their files, new documents and changed ones apart, and
each media type apart: a PDF has many more bytes for each chunk than a text. Where none of a kind
could be read, a quick look at the files tells how long their texts are.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.keys import ABSENT, KeyIndex
from rag_assets.config import Config
from rag_assets.documents.chunks.planned import FileLook, looks_at, planned_chunks
from rag_assets.index.encoders import IndexEncoder
from rag_assets.operations.plan.amounts import NOTHING, Amount, Changes, Embedding, total
from rag_assets.operations.plan.documents import DocumentsPlan, FilesPlan
from rag_assets.operations.plan.estimating import scaled_up
from rag_assets.operations.plan.tokens import ModelTokens
from rag_assets.operations.plan.units import first_without_vectors
from rag_assets.store import Store

HELD = ["document_id", "chunk_id", "row_fingerprint"]
NAMED_UP_TO = 1_000
"""Documents; of more, all rows are gone through."""
CHARACTERS_A_CHUNK = (620, 350, 200)
"""Of a text, by a chunking of `USUAL_SIZE` that ends at sections, before its chunks are full: for
few, the usual number and many chunks."""
CHARACTERS_A_TOKEN = (4.6, 3.2, 2.2)
"""The same for tokens, as six corpora have them, some in several languages."""
BYTES_A_CHARACTER = (20, 3, 1)
"""The same of files that nobody could look at."""
USUAL_SIZE = 256
"""Tokens."""
TOKENS_A_CHUNK = (60, 120, 200)
MEASURES = ("added", "changed", "removed", "texts", "tokens")


@dataclass(frozen=True, slots=True)
class CutPlan:
    """How the chunks of a variant will change."""

    documents: Changes
    units: Changes
    """Chunks."""
    embedding: Embedding
    cut: int
    """Documents that were cut to know."""
    estimated: int
    """Documents that were not."""
    parsing: Amount = NOTHING
    """Seconds that it takes to parse them, about, where no document was parsed yet."""


class Cutting:
    """The documents of one variant that will be cut, and those that lose their chunks."""

    def __init__(
        self,
        store: Store,
        config: Config,
        *,
        variant: str,
        files: FilesPlan,
        documents: DocumentsPlan,
        encoder: IndexEncoder | None,
        tokens: ModelTokens,
    ) -> None:
        """Nothing is read yet. `encoder`: what the state knows of the model; `tokens` counts."""
        self._store = store
        self._config = config
        self._recipe = config.variant(variant)
        self._tables = config.tables_of(variant)
        self._documents = documents
        self._encoder = encoder
        self._tokens = tokens
        index = KeyIndex(pa.array(documents.to_cut, pa.string()))
        is_wanted = index.places(files.rows["document_id"]) != ABSENT
        self._files = files.rows.filter(pa.array(is_wanted))

    def planned(self) -> CutPlan:
        """Cut what is cheap to cut, and estimate the rest."""
        gone = self._held_of(self._documents.gone)
        lost = Changes.of(0, 0, gone.num_rows)
        if not self._files.num_rows:
            documents = Changes.of(0, 0, _count(gone))
            return CutPlan(documents, lost, Embedding(tokens=NOTHING), cut=0, estimated=0)
        cut = self._measured()
        amounts = self._scaled_up(cut)
        units = Changes(amounts["added"], amounts["changed"], amounts["removed"])
        texts = amounts["texts"]
        kept = (amounts["added"] + amounts["changed"]).less(texts)
        tokens = self._tokens.bounded(amounts["tokens"])
        is_held = self._is_held
        documents = Changes.of(int((~is_held).sum()), int(is_held.sum()), _count(gone))
        return CutPlan(
            documents,
            units + lost,
            Embedding(texts, kept, tokens),
            cut=int(cut.is_cut.sum()),
            estimated=int((~cut.is_cut).sum()),
            parsing=NOTHING if self._store.exists(self._tables.elements) else self._parsing,
        )

    @cached_property
    def _held(self) -> pa.Table:
        """The chunks that the documents have now (`HELD`)."""
        return self._held_of(self._files["document_id"].to_pylist())

    @cached_property
    def _held_counts(self) -> np.ndarray:
        """For each document how many chunks it has now."""
        owners = KeyIndex(self._files["document_id"]).places(self._held["document_id"])
        return np.bincount(owners, minlength=self._files.num_rows)

    @property
    def _is_held(self) -> np.ndarray:
        return self._held_counts > 0

    def _held_of(self, documents: Sequence[str]) -> pa.Table:
        name = self._tables.chunks
        if not documents or not self._store.exists(name):
            return pa.table([pa.array([], pa.string())] * len(HELD), names=HELD)
        if len(documents) <= NAMED_UP_TO:
            found = self._store.read_keys(name, column="document_id", keys=documents, columns=HELD)
            return found.select(HELD)
        index = KeyIndex(pa.array(documents, pa.string()))
        parts = [
            batch.filter(pa.array(index.places(batch["document_id"]) != ABSENT))
            for batch in self._store.batches(name, columns=HELD, rows=65_536)
        ]
        return pa.Table.from_batches(parts)

    def _measured(self) -> "_Measured":
        """Cut some of the documents, and hold their chunks against those that they have."""
        recipe = self._recipe
        done = planned_chunks(
            self._store,
            self._config,
            parser=recipe.parser,
            chunking=recipe.chunking,
            files=self._files,
            changed=self._documents.to_parse,
        )
        index = KeyIndex(self._files["document_id"])
        count = self._files.num_rows
        is_cut = np.zeros(count, bool)
        is_cut[index.places(pa.array(done.documents, pa.string()))] = True
        fresh = done.chunks
        owners = index.places(fresh["document_id"])
        held_owners = index.places(self._held["document_id"])
        before = KeyIndex(self._held["chunk_id"]).places(fresh["chunk_id"])
        is_new = before == ABSENT
        known = self._held["row_fingerprint"].take(pa.array(before, mask=is_new))
        is_other = pc.fill_null(pc.not_equal(fresh["row_fingerprint"], known), False)
        is_gone = KeyIndex(fresh["chunk_id"]).places(self._held["chunk_id"]) == ABSENT
        is_gone &= is_cut[held_owners]
        is_text = is_new & self._is_without_vector(fresh["text_hash"])
        tokens = self._tokens.of_texts(fresh["text"].filter(pa.array(is_text)))

        def of_documents(places: np.ndarray, weights: np.ndarray | None = None) -> np.ndarray:
            return np.bincount(places, weights, minlength=count)

        return _Measured(
            is_cut,
            {
                "added": of_documents(owners[is_new]),
                "changed": of_documents(owners[np.asarray(is_other, bool)]),
                "removed": of_documents(held_owners[is_gone]),
                "texts": of_documents(owners[is_text]),
                "tokens": of_documents(owners[is_text], tokens),
            },
        )

    def _is_without_vector(self, texts: pa.ChunkedArray) -> np.ndarray:
        """For each text whether it is the first of its kind and no table has its vector."""
        return first_without_vectors(
            self._store, texts, target=self._tables.documents, encoder=self._encoder
        )

    def _scaled_up(self, cut: "_Measured") -> dict[str, Amount]:
        """All measures over all documents: new and changed ones, and media types, apart."""
        sizes = self._files["size"].to_numpy().astype(float)
        types = np.array(self._files["media_type"].to_pylist(), object)
        found: dict[str, list[Amount]] = {name: [] for name in MEASURES}
        for media_type in dict.fromkeys(types):
            for is_part in (self._is_held, ~self._is_held):
                is_of_kind = is_part & (types == media_type)
                seen, others = is_of_kind & cut.is_cut, is_of_kind & ~cut.is_cut
                for name, values in cut.measures.items():
                    amount = scaled_up(values[seen], sizes=sizes[seen], others=sizes[others])
                    found[name].append(amount or self._from_history(name, others))
        return {name: total(amounts) for name, amounts in found.items()}

    def _from_history(self, name: str, others: np.ndarray) -> Amount:
        """A measure over documents of a kind of which none was cut: by their chunks or texts."""
        held = float(self._held_counts[others].sum())
        if name in ("changed", "removed"):
            return Amount(held / 2, 0, held)
        if held:
            told = Amount(held / 2, 0, 2 * held)
            tokens = told.over([1 / each for each in TOKENS_A_CHUNK])
        else:
            chunking = self._config.chunkings[self._recipe.chunking]
            size, is_full = chunking.size, chunking.strategy == "fixed"
            longer = (size / USUAL_SIZE) ** 0.5 * (2 if is_full else 1)
            lengths = zip(CHARACTERS_A_CHUNK, CHARACTERS_A_TOKEN, strict=True)
            characters = self._characters(others)
            told = characters.over([min(of * longer, size * each) for of, each in lengths])
            told = told.at_least(int(others.sum()))
            tokens = characters.over(CHARACTERS_A_TOKEN)
        amount = tokens if name == "tokens" else told
        if name == "added" or self._encoder is None:
            return amount
        return replace(amount, low=0)  # texts of other documents have vectors

    def _characters(self, others: np.ndarray) -> Amount:
        """How long the texts of some files are."""
        sizes = self._files["size"].to_numpy().astype(float)
        looked = np.array([each.characters if each else np.nan for each in self._looks])
        seen, unseen = others & ~np.isnan(looked), others & np.isnan(looked)
        known = scaled_up(looked[seen], sizes=sizes[seen], others=sizes[unseen])
        return known or Amount.of(sizes[others].sum()).over(BYTES_A_CHARACTER)

    @property
    def _parsing(self) -> Amount:
        """Seconds that it takes to parse the files that were looked at, about."""
        return Amount.of(sum(each.seconds for each in self._looks if each))

    @cached_property
    def _looks(self) -> Sequence[FileLook | None]:
        """What a quick look tells of each file."""
        found = looks_at(self._config, self._files, parser=self._recipe.parser)
        return [found.get(each) for each in self._files["document_id"].to_pylist()]


@dataclass(frozen=True, slots=True)
class _Measured:
    """What was found by cutting some of the documents."""

    is_cut: np.ndarray
    """For each document whether it was."""
    measures: Mapping[str, np.ndarray]
    """By name (`MEASURES`) what each document gives, 0 for one that was not cut."""


def _count(chunks: pa.Table) -> int:
    """Number of documents that the chunks are of."""
    return len(pc.unique(chunks["document_id"]))
