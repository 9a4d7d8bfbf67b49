"""What is to be embedded: units that are missing or other, and how many of their texts are new.

Where the texts are complete, as after a change of the model, all is counted. What follows from a
changed source comes on top: `chunks` and `rows` tell it.
"""

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.change.deciding import Plan, decide
from rag_assets.columns.keys import digests
from rag_assets.index import embed
from rag_assets.index.encoders import IndexEncoder
from rag_assets.index.parts import TEXT, text_starts
from rag_assets.index.reusable_vectors import lack_vectors, planned, texts_of
from rag_assets.index.units import TextSource
from rag_assets.operations.plan.amounts import Amount, Changes, Embedding
from rag_assets.operations.plan.tokens import ModelTokens
from rag_assets.store import ROW_ID, Store

TEXTS_AT_ONCE = 8_192


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
