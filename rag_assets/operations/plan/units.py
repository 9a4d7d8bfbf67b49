"""What is to be embedded: units that are missing or other, and how many of their texts are new.

Where the texts are complete, as after a change of the model, all is counted. What follows from a
changed source comes on top: `documents` and `rows` tell it.
"""

from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.change.deciding import Plan, decide
from rag_assets.columns.keys import digests
from rag_assets.config import ConfigError, EmbeddingModel
from rag_assets.documents.chunks.tokens import TokenCounter, tokenizer_file
from rag_assets.index import embed
from rag_assets.index.encoders import IndexEncoder
from rag_assets.index.parts import TEXT, text_starts, texts_of
from rag_assets.index.reusable_vectors import lack_vectors, planned
from rag_assets.index.units import TextSource
from rag_assets.models.weights import is_here
from rag_assets.operations.plan.amounts import Amount, Changes, Embedding
from rag_assets.store import ROW_ID, Store

TEXTS_AT_ONCE = 8_192
BYTES_PER_TOKEN = (6.0, 4.0, 2.5)
"""The bytes of a token where the tokenizer is not known: for few, the usual number and many
tokens."""


@dataclass(frozen=True)
class ModelTokens:
    """Counts the tokens that go through one model."""

    model: EmbeddingModel
    max_tokens: float
    """The model's window, if it is known."""

    @classmethod
    def of(cls, model: EmbeddingModel, encoder: IndexEncoder | None) -> Self:
        """The counter of the config's `model`, of which the state knows the `encoder`."""
        return cls(model, encoder.max_tokens if encoder else model.max_tokens or inf)

    def of_texts(self, texts: pa.ChunkedArray) -> np.ndarray:
        """For each text its tokens (n,), prefix and special tokens included.

        They are estimated for a model whose tokenizer is not on this machine.
        """
        if self._counter is None:
            sizes = pc.binary_length(texts).to_numpy()
            return sizes / BYTES_PER_TOKEN[1]
        words = self._counter.words(texts.to_pylist())
        alone = np.array([each.before[-1] - each.before[0] for each in words], float)
        around = self._counter.count(self.model.passage_prefix)
        if self.model.long_texts == "cut":
            return np.minimum(alone + around, self.max_tokens)
        windows = np.ceil(np.maximum(alone, 1) / max(self.max_tokens - around, 1))
        return alone + windows * around

    def bounded(self, tokens: Amount) -> Amount:
        """An amount of tokens, wider where they could only be estimated."""
        if self._counter is not None:
            return tokens
        few, usual, many = BYTES_PER_TOKEN
        return Amount(tokens.expected, tokens.low * usual / few, tokens.high * usual / many)

    @cached_property
    def _counter(self) -> TokenCounter | None:
        if self.model.endpoint or not is_here(self.model):
            return None
        try:
            return TokenCounter.from_file(tokenizer_file(self.model.path))
        except ConfigError:
            return None


@dataclass(frozen=True, slots=True)
class UnitsPlan:
    """What will become of one table of units, before its texts change."""

    plan: Plan | None
    """The plan as the texts stand; None where there are none yet, or the state does not know the
    model."""
    changes: Changes
    embedding: Embedding
    is_new: bool
    """Whether no unit has a vector of this model yet."""
    units: int
    """Texts that are there."""


def units_plan(
    store: Store,
    *,
    source: TextSource,
    target: str,
    encoder: IndexEncoder | None,
    tokens: ModelTokens,
) -> UnitsPlan:
    """What a refresh would do to the table `target`, its texts as they stand."""
    if not store.exists(source.name):
        return UnitsPlan(None, Changes(), Embedding(), is_new=True, units=0)
    count = store.count(source.name)
    if encoder is None:
        keys = store.read(source.name, columns=[source.key])[source.key]
        embedding = _embedding(store, source, target, keys, encoder=None, tokens=tokens)
        return UnitsPlan(None, Changes.of(count, 0, 0), embedding, is_new=True, units=count)
    plan = decide(embed.derivation(store, source=source, target=target, encoder=encoder))
    changes = Changes.of(plan.added, plan.changed, len(plan.removed))
    embedding = Embedding()
    if plan.pending is not None and plan.pending.num_rows:
        keys = plan.pending["key"]
        embedding = _embedding(store, source, target, keys, encoder=encoder, tokens=tokens)
    is_new = not store.exists(target) or plan.rebuild_reason is not None
    return UnitsPlan(plan, changes, embedding, is_new=is_new, units=count)


def _embedding(
    store: Store,
    source: TextSource,
    target: str,
    keys: pa.ChunkedArray,
    *,
    encoder: IndexEncoder | None,
    tokens: ModelTokens,
) -> Embedding:
    """How many texts of the units with these `keys` have no vector, and how long they are."""
    name = store.generation(source.name)
    version = store.version(name)
    found = planned(store, source, keys, name=name, version=version)
    units = found.num_rows
    if encoder is not None:
        is_missing = lack_vectors(
            store, texts_of(found), target=target, encoder_id=encoder.encoder_id
        )
        found = found.filter(pa.array(is_missing))
    ordered = found.sort_by([(column, "ascending") for column in TEXT])
    row_ids = ordered[ROW_ID].to_numpy()[text_starts(ordered)]
    parts = (
        tokens.of_texts(store.take(name, some, columns=["text"], version=version)["text"])
        for some in np.array_split(row_ids, len(row_ids) // TEXTS_AT_ONCE + 1)
    )
    counted = sum(float(part.sum()) for part in parts)
    return Embedding(
        texts=Amount.of(len(row_ids)),
        reused=Amount.of(units - len(row_ids)),
        tokens=tokens.bounded(Amount.of(counted)),
    )


def first_without_vectors(
    store: Store, texts: pa.ChunkedArray, *, target: str, encoder: IndexEncoder | None
) -> np.ndarray:
    """For each text, given by its hash, whether it is to be embedded: once, if nobody has it."""
    is_first = np.zeros(len(texts), bool)
    hashes = texts.combine_chunks()
    is_first[pc.index_in(pc.unique(hashes), hashes).to_numpy()] = True
    if encoder is not None and is_first.any():
        wanted = digests(hashes.filter(pa.array(is_first)))
        is_first[is_first] = lack_vectors(
            store, wanted, target=target, encoder_id=encoder.encoder_id
        )
    return is_first
