"""The two sides of the gate: an index with what searches it, and its rankings.

Rankings are what a judgement costs. They are taken from the evaluation of the variant where it is
of this very index; else from those that an earlier judgement kept; and only what is in neither is
searched. So a night evaluates its index once, and finds the rankings of what serves where the
night before left them.
"""

import json
import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import identity, schemas
from rag_assets.change.data_versions import current_version
from rag_assets.config import Config, DomainFusion, Retrieval, Retriever
from rag_assets.evaluation import results
from rag_assets.evaluation.evaluate import compared, depth_of, fingerprint_of, rewrites_of
from rag_assets.evaluation.gold import Gold
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.evaluation.projection import IndexedGold
from rag_assets.evaluation.questions import Question
from rag_assets.process.errors import UnanswerableError
from rag_assets.retrieval.arms import Arms, revisions_of
from rag_assets.store import Store, serving_pointer
from rag_assets.store.atomic import put
from rag_assets.store.catalog import name_of
from rag_assets.store.complete_sets import CompleteSet, set_of
from rag_assets.table_lookup.arm import arms_of

if TYPE_CHECKING:
    from rag_assets.retrieval.search import VariantIndex

FOLDER = "gate"
FILES_KEPT = 18
"""Rankings of so many sides are kept: those of what served the last nights, and of a few others,
each with those of its vectors alone and of its signals."""
DENSE, SIGNALS = "baseline", "signals_alone"
"""The names under which the vectors of a side are searched alone, and the signals of its
retriever."""
ASKED = b"asked"
"""Key of the schema metadata that names all queries, those that found nothing too."""


class UnsearchableError(Exception):
    """A side cannot be searched by its retriever: the message says why (a model is gone, say)."""

    def __init__(self, side: "Side", why: Exception) -> None:
        super().__init__(str(why))
        self.side = side


@dataclass(frozen=True)
class Side:
    """An index, and what searches it."""

    store: Store
    config: Config
    """The config; its section `retrieval` is the one that searches this side."""
    complete_set: CompleteSet
    retriever: str
    opened_as: "Side | None" = None
    """The side that has opened the same tables, so that its model is loaded once."""

    @classmethod
    def of(
        cls,
        store: Store,
        config: Config,
        complete_set: CompleteSet,
        *,
        retrieval: Retrieval | None = None,
        retriever: str | None = None,
    ) -> "Side":
        """The side that is searched by `retrieval`, that of the config unless given."""
        if retrieval is not None:
            config = config.model_copy(update={"retrieval": retrieval})
        name = retriever or config.retrieval.retriever
        return cls(store, config, complete_set, name)

    @property
    def asks_more_than_dense(self) -> bool:
        """Whether its retriever asks the model, and something else that may make up for it."""
        return "dense" in self._chosen.signals and self._chosen != Retriever()

    def dense_alone(self) -> "Side":
        """The index of this side, searched by its vectors and nothing else."""
        return self._searched_by(DENSE, Retriever())

    def signals_alone(self) -> "Side":
        """The index of this side, searched by the signals of its retriever alone.

        Where documents and rows have a model each, they are two lists, which are fused.
        """
        chosen = self._chosen
        plain: dict[str, object] = {"reranker": None, "rerank_fusion": None, "arms": ()}
        if chosen.searches_domains(has_two_models=self.complete_set.row_model is not None):
            plain["domain_fusion"] = chosen.domain_fusion or DomainFusion()
        return self._searched_by(SIGNALS, chosen.model_copy(update=plain))

    @property
    def beside_signals(self) -> Sequence[object]:
        """What else decides the order: the settings of what reads the units, and the arms.

        Those that name no model read with that of the index, which may differ between two sides.
        """
        chosen, known = self._chosen, self.config.retrieval.rerankers
        return [known[chosen.reranker] if chosen.reranker else None, chosen.arms]

    @property
    def _chosen(self) -> Retriever:
        return self.config.retrieval.retrievers[self.retriever]

    def _searched_by(self, name: str, retriever: Retriever) -> "Side":
        retrieval = self.config.retrieval
        known = {"retrievers": retrieval.retrievers | {name: retriever}}
        config = self.config.model_copy(update={"retrieval": retrieval.model_copy(update=known)})
        return replace(self, config=config, retriever=name, opened_as=self)

    @property
    def variant(self) -> str:
        """The variant of the index; if the config has it no more, another one to open it by."""
        name = self.complete_set.variant
        return name if name in self.config.variants else self.config.serving_variant

    @property
    def content(self) -> str:
        """Fingerprint of what its tables hold, wherever they lie."""
        pins = self.complete_set.pins
        return identity.fingerprint([[name_of(pin.table), pin.data_version] for pin in pins])

    @cached_property
    def query_side(self) -> str:
        """Fingerprint of what searches it: the retriever with everything that it uses.

        Search indexes that are by other than the default settings belong to it.
        """
        from rag_assets.models.rerankers import replaceable
        from rag_assets.retrieval.glossary import glossary_of

        retrieval = self.config.retrieval
        chosen = retrieval.retrievers[self.retriever]
        rerankers = {name: retrieval.rerankers[name] for name in chosen.rerankers}
        glossary = glossary_of(self.config) if chosen.glossary else None
        return identity.fingerprint(
            chosen.model_dump(mode="json"),
            [retrieval.top_k, retrieval.depth, retrieval.rrf_k, retrieval.versions],
            {name: settings.model_dump(mode="json") for name, settings in rerankers.items()},
            replaceable(rerankers, home=self.store.encoders),
            rewrites_of(self.store, self.config, [self.retriever]),
            self.config.index.ann_from_rows,
            glossary.content if glossary else None,
            *revisions_of(self.arms, chosen),
            *(self.complete_set.indexes or ()),
            *([ann] if (ann := retrieval.ann.model_dump(exclude_defaults=True)) else []),
        )

    @cached_property
    def arms(self) -> Arms:
        """What its retriever asks beside the signals."""
        return arms_of(self.store, self.config)

    @cached_property
    def index(self) -> "VariantIndex":
        """The open index.

        Raises:
            OutdatedIndexError: Its tables were cleaned up or built anew.
            DamagedTablesError: Files of its tables cannot be read.
        """
        if self.opened_as is not None:
            return self.opened_as.index

        from rag_assets.retrieval.opening import open_index

        return open_index(
            self.store,
            self.config,
            self.variant,
            complete_set=self.complete_set,
            arms=self.arms,
        )

    def gold(self, gold: Iterable[Gold]) -> IndexedGold:
        """The places of `gold` in its index."""
        joint = self.complete_set.joint
        return read_indexed_gold(
            self.store, self.config, variant=self.variant, joint=joint, gold=gold
        )

    def rankings(self, queries: Sequence[str], *, log: Callable[[str], None]) -> pa.Table:
        """What it returns for `queries`: `schemas.RANKINGS`, and `query_index`.

        What no evaluation and no earlier judgement has ranked is searched, and kept.

        Raises:
            UnsearchableError: Its retriever cannot search it.
            OutdatedIndexError: Its tables were cleaned up or built anew.
            DamagedTablesError: Files of its tables cannot be read.
        """
        hashes = [identity.text_hash(query) for query in queries]
        kept = _Kept.read(self._file)
        missing = [
            query
            for text, query in dict(zip(hashes, queries, strict=True)).items()
            if text not in kept.asked
        ]
        if missing:
            name = self.complete_set.variant
            log(f"{name}: searching {len(missing):,} queries with {self.retriever} for the gate")
            ranked = self._searched(missing)
            asked = [identity.text_hash(query) for query in missing]
            kept = kept.with_rankings(ranked, asked=asked)
            kept.write(self._file)
        else:
            self._file.touch()
        return kept.of(hashes)

    def take_over_evaluation(self, questions: Sequence[Question]) -> None:
        """Keep the rankings of the stored evaluation, if it is of this index and retriever.

        The next evaluation of the variant takes its place, and a later judgement may need them.
        """
        folder = results.folder_of(self.store, self.variant)
        known = results.made_from(folder)
        if known is None or known != self._evaluation():
            return
        ranked = results.rankings_in(folder)
        if ranked is None or self.retriever not in pc.unique(ranked["retriever"]).to_pylist():
            return
        measured = {*results.questions_in(folder)["question_id"].to_pylist()}
        asked = [question for question in questions if question.question_id in measured]
        place = {question.question_id: number for number, question in enumerate(asked)}
        ranked = ranked.filter(pc.equal(ranked["retriever"], self.retriever))
        places = [place.get(name, -1) for name in ranked["question_id"].to_pylist()]
        ranked = ranked.drop_columns(["retriever", "question_id"]).add_column(
            0, "query_index", pa.array(places, pa.int32())
        )
        hashes = [identity.text_hash(question.text) for question in asked]
        kept = _Kept.read(self._file)
        if not kept.asked >= {*hashes}:
            kept.with_rankings(ranked, asked=hashes).write(self._file)

    def _searched(self, queries: Sequence[str]) -> pa.Table:
        chosen = self.config.retrieval.retrievers[self.retriever]
        try:
            return self.index.search_many(queries, retriever=chosen, length=self.depth)
        except UnanswerableError as error:
            raise UnsearchableError(self, error) from error

    def _evaluation(self) -> str:
        """What an evaluation of this index, by these questions, would be made from."""
        return fingerprint_of(
            self.store,
            self.config,
            variant=self.variant,
            complete_set=self.complete_set,
            questions=current_version(self.store, schemas.QUESTIONS_TABLE, key="question_id"),
            retrievers=compared(self.config),
            arms=self.arms,
        )

    @property
    def depth(self) -> int:
        """Units of each ranking."""
        return depth_of(self.config)

    @property
    def _file(self) -> Path:
        files = [pin.files for pin in self.complete_set.pins]
        key = identity.fingerprint(self.content, files, self.query_side, self.depth)
        return self.store.root / FOLDER / f"{key[:32]}.parquet"


def serving_side(store: Store, config: Config) -> Side:
    """What answers queries, and how.

    Raises:
        ServingPointerError: The pointer is damaged.
        MissingIndexError: There is no pointer, and no complete index.
    """
    pointer = serving_pointer.current(store)
    if pointer is None:
        return Side.of(store, config, set_of(store, config, config.serving_variant))
    return Side.of(
        store,
        config,
        pointer.complete_set,
        retrieval=pointer.query_side.within(config.retrieval),
        retriever=pointer.query_side.retriever,
    )


@dataclass(frozen=True, slots=True)
class _Kept:
    """Rankings by the hash of their query."""

    table: pa.Table | None
    """`RANKINGS` with the column `query` in place of `query_index`; None: there are none."""
    asked: frozenset[str]

    @classmethod
    def read(cls, file: Path) -> "_Kept":
        """The rankings in `file`; none where it is missing or cannot be read."""
        import pyarrow.parquet as pq

        try:
            table = pq.read_table(file)
            asked = frozenset(json.loads((table.schema.metadata or {})[ASKED]))
        except (OSError, pa.ArrowInvalid, KeyError, ValueError):
            return cls(None, frozenset())
        return cls(table.replace_schema_metadata(None), asked)

    def with_rankings(self, ranked: pa.Table, *, asked: Sequence[str]) -> "_Kept":
        """These and those of other queries, whose hashes are `asked`, by their `query_index`."""
        new = {text: place for place, text in reversed(list(enumerate(asked)))}
        new = {text: place for text, place in new.items() if text not in self.asked}
        ranked = ranked.filter(pc.is_in(ranked["query_index"], pa.array(new.values(), pa.int32())))
        names = pa.array(asked, pa.string()).take(ranked["query_index"].combine_chunks())
        named = ranked.drop_columns("query_index").add_column(0, "query", names)
        named = named.replace_schema_metadata(None)
        tables = [named] if self.table is None else [self.table, named.cast(self.table.schema)]
        return _Kept(pa.concat_tables(tables), self.asked | new.keys())

    def of(self, hashes: Sequence[str]) -> pa.Table:
        """The rankings of the queries with these `hashes`, numbered in their order."""
        assert self.table is not None, "something was asked"
        rows: dict[str, list[int]] = {}
        for number, query in enumerate(self.table["query"].to_pylist()):
            rows.setdefault(query, []).append(number)
        places = [(at, row) for at, text in enumerate(hashes) for row in rows.get(text, [])]
        chosen = self.table.take(pa.array([row for _, row in places], pa.int64()))
        numbers = pa.array([at for at, _ in places], pa.int32())
        return chosen.drop_columns("query").add_column(0, "query_index", numbers)

    def write(self, file: Path) -> None:
        """Write them, and remove what was not used for longest."""
        import pyarrow.parquet as pq

        if self.table is None:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        fresh = file.with_name(f".{file.name}.{os.getpid()}")
        metadata = {ASKED: json.dumps(sorted(self.asked))}
        pq.write_table(self.table.replace_schema_metadata(metadata), fresh, compression="zstd")
        put(fresh, file)
        by_use = sorted(file.parent.glob("*.parquet"), key=lambda each: each.stat().st_mtime_ns)
        for old in by_use[:-FILES_KEPT]:
            old.unlink(missing_ok=True)
