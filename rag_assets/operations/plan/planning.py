"""The plan of a variant: what a refresh would do to each of its tables, from the sources on.

Nothing is written, and no lock is taken: a refresh that runs meanwhile is not held up, and what it
commits may already be part of what is seen.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change.deciding import Plan, decide
from rag_assets.change.steps import Step, StepContext, StepKind
from rag_assets.config import Config, DescribingModel
from rag_assets.documents.steps import CHUNKS, FIGURE_DESCRIPTIONS, PARSED_DOCUMENTS
from rag_assets.graph import STEPS
from rag_assets.index import encoders
from rag_assets.index.encoders import IndexEncoder
from rag_assets.index.steps import CHUNK_VECTORS, ROW_VECTORS
from rag_assets.knowledge.steps import UNIT_LINKS
from rag_assets.operations.plan.amounts import Amount, Changes, Embedding
from rag_assets.operations.plan.documents import (
    ChunksPlan,
    DocumentsPlan,
    FilesPlan,
    chunks_plan,
    documents_plan,
    files_plan,
)
from rag_assets.operations.plan.figures import figures_plan
from rag_assets.operations.plan.rows import CAME, RowsPlan, rows_plan
from rag_assets.operations.plan.units import ModelTokens, first_without_vectors, units_plan
from rag_assets.sources.exporting import MOST_PLANNED
from rag_assets.sources.steps import DOCUMENT_FILES
from rag_assets.store import MissingTableError, Store
from rag_assets.store.complete_sets import set_of_recipe
from rag_assets.tables import serialize
from rag_assets.tables.steps import SERIALIZED_ROWS, TABLE_ROWS

TOKENS_A_CELL = (4.0, 8.0, 17.0)
"""The tokens of a cell of a row as text, empty cells counted: few, usual and many."""


CELLS_A_ROW = 20
"""The cells of a row, where the table was not looked at."""


@dataclass(frozen=True, slots=True)
class AssetPlan:
    """What a refresh would do to one asset."""

    asset: str
    counted: str
    """The plural of what its changes count: files, documents, rows or units."""
    changes: Changes
    plan: Plan | None = None
    """What was decided about its table as the tables above stand, if that can be decided."""
    embedding: Embedding | None = None
    """What goes through a model, for an asset that has one."""
    model: str | None = None
    calls: Amount | None = None
    """How often a language model is asked, for an asset that asks one."""


@dataclass(frozen=True, slots=True)
class VariantPlan:
    """What a refresh would do to a variant."""

    variant: str
    assets: Sequence[AssetPlan]
    """The plans of the assets, in the order in which these are made."""
    failures: Sequence[str]
    """Why sources, tables and files cannot be read: what is held of them stays."""
    rows_read: int
    """The number of rows that were read at the sources to tell."""
    documents_estimated: int
    """Documents whose chunks are estimated."""
    is_built: bool
    """Whether the variant has a complete index by its recipe."""

    @property
    def is_nothing(self) -> bool:
        """Whether there is surely nothing to do."""
        return all(each.changes.is_nothing for each in self.assets)

    @property
    def embedding(self) -> Embedding:
        """All that goes through models."""
        parts = [each.embedding for each in self.assets if each.embedding]
        return sum(parts, Embedding())

    def of(self, asset: str) -> AssetPlan:
        """The plan of one asset.

        Raises:
            KeyError: The plan has no such asset.
        """
        for each in self.assets:
            if each.asset == asset:
                return each
        raise KeyError(asset)


def plan_of(
    store: Store, config: Config, *, variant: str, allow_shrink: bool = False
) -> VariantPlan:
    """What a refresh of `variant` would do now.

    Files and tables that moved at the sources are read; nothing is written.

    Raises:
        ConfigError: The config has no such variant, or a tokenizer or headings cannot be found.
        DamagedTablesError: Files of a table cannot be read.
        ParserUnavailableError: A parser is not installed.
        WeightsError: The weights of a model lack what is needed.
    """
    config.variant(variant)
    return _Planning(store, config, variant, allow_shrink=allow_shrink).plan()


class _Planning:
    """One look at everything that a variant is made from."""

    def __init__(self, store: Store, config: Config, variant: str, *, allow_shrink: bool) -> None:
        self._store = store
        self._config = config
        self._variant = variant
        self._recipe = config.variant(variant)
        self._tables = config.tables_of(variant)
        self._allow_shrink = allow_shrink

    def plan(self) -> VariantPlan:
        files = files_plan(self._store, self._config, allow_shrink=self._allow_shrink)
        documents = documents_plan(self._store, self._config, variant=self._variant, files=files)
        cut, chunk_vectors = self._of_documents(files, documents)
        rows = rows_plan(self._store, self._config, allow_shrink=self._allow_shrink)
        serialized, row_vectors = self._of_rows(rows)
        known: dict[StepKind, AssetPlan] = {
            DOCUMENT_FILES: self._plan(DOCUMENT_FILES, files.changes, files.plan),
            PARSED_DOCUMENTS: self._plan(PARSED_DOCUMENTS, documents.parsed, documents.elements),
            CHUNKS: self._plan(CHUNKS, cut.documents, documents.chunks),
            TABLE_ROWS: self._plan(TABLE_ROWS, rows.changes, rows.table_rows),
            SERIALIZED_ROWS: serialized,
            CHUNK_VECTORS: chunk_vectors,
            ROW_VECTORS: row_vectors,
        }
        if model := self._config.describing_model:
            known[FIGURE_DESCRIPTIONS] = self._descriptions(documents, model)
        return VariantPlan(
            variant=self._variant,
            assets=self._in_order(known, rows.exports),
            failures=[*files.failures, *rows.failures],
            rows_read=rows.rows_read,
            documents_estimated=cut.estimated,
            is_built=self._is_built(),
        )

    def _is_built(self) -> bool:
        with suppress(MissingTableError):
            set_of_recipe(self._store, self._config, self._variant)
            return True
        return False

    def _in_order(
        self, known: Mapping[StepKind, AssetPlan], exports: Mapping[str, Changes]
    ) -> list[AssetPlan]:
        """The plans of all steps, in the order in which they are made; exports come first of all.

        What is not `known` follows from its inputs.
        """
        plans = {name: AssetPlan(name, "rows", changes) for name, changes in exports.items()}
        for step in STEPS.in_order(self._config, self._variant).values():
            if step.kind.is_planned:
                plans[step.asset] = known.get(step.kind) or self._by_inputs(step, plans)
        if model := self._config.linking_model:
            plans[UNIT_LINKS.name] = self._read_by(model[0], plans)
        first = plans.pop(DOCUMENT_FILES.name)
        return [first, *plans.values()]

    def _by_inputs(self, step: Step, plans: Mapping[str, AssetPlan]) -> AssetPlan:
        """What follows for a table from the changes of its inputs, one of its own for each."""
        store, kind = self._store, step.kind
        inputs = [name for name, _ in step.sources]
        planned = [plans[each.asset] for each in step.inputs if each.asset in plans]
        more = sum((each.changes for each in planned), Changes())
        if not all(map(store.exists, (step.table, *inputs))):
            held = sum(store.count(name) for name in inputs)
            return self._plan(kind, followed_by(Changes.of(held, 0, 0), more, is_new=True))
        work = StepContext(store=store, config=self._config, variant=self._variant, steps=STEPS)
        derivation = kind.derivation(work)
        if derivation is None:
            return self._plan(kind, more)
        plan = decide(derivation)
        return self._plan(kind, _changes_of(plan) + more, plan)

    def _read_by(self, model: str, plans: Mapping[str, AssetPlan]) -> AssetPlan:
        """The names of units, and the texts that a language model may be asked about."""
        found, documents = plans[UNIT_LINKS.name], plans[CHUNK_VECTORS.name].changes
        held = self._store.count(self._tables.documents)
        if plan := found.plan:  # it counts rows too, which nobody reads
            held = min(held, plan.added + plan.changed)
        calls = documents.added + documents.changed + Amount.of(held)
        return replace(found, model=model, calls=replace(calls, low=0))

    def _plan(self, kind: StepKind, changes: Changes, plan: Plan | None = None) -> AssetPlan:
        return AssetPlan(kind.name, kind.counts, changes, plan)

    def _descriptions(self, documents: DocumentsPlan, model: DescribingModel) -> AssetPlan:
        """What will be described of figures by the model that is set for it."""
        figures = figures_plan(
            self._store,
            self._config,
            variant=self._variant,
            model=model,
            to_parse=len(documents.to_parse),
        )
        found = self._plan(FIGURE_DESCRIPTIONS, figures.changes, figures.plan)
        return replace(found, model=figures.model, calls=figures.calls)

    def _of_documents(
        self, files: FilesPlan, documents: DocumentsPlan
    ) -> tuple[ChunksPlan, AssetPlan]:
        """How chunks will change, and what is to be embedded of them."""
        model = self._recipe.document_model
        encoder, tokens = self._encoder(model)
        cut = chunks_plan(self._store, table=self._tables.chunks, files=files, documents=documents)
        source, target = CHUNK_VECTORS.texts_of(self._config, self._recipe), self._tables.documents
        own = units_plan(self._store, source=source, target=target, encoder=encoder, tokens=tokens)
        changes = followed_by(own.changes, cut.units, is_new=own.is_new)
        embedding = own.embedding + cut.embedding
        found = self._plan(CHUNK_VECTORS, changes, own.plan)
        return cut, replace(found, embedding=embedding, model=model)

    def _of_rows(self, rows: RowsPlan) -> tuple[AssetPlan, AssetPlan]:
        """How rows will be written anew, and what is to be embedded of them."""
        written = self._serialized(rows.changes)
        rows = self._with_unwritten(rows, written.plan)
        model = self._recipe.table_model
        encoder, tokens = self._encoder(model)
        source, target = ROW_VECTORS.texts_of(self._config, self._recipe), self._tables.rows
        own = units_plan(self._store, source=source, target=target, encoder=encoder, tokens=tokens)
        changes = followed_by(own.changes, written.changes, is_new=own.is_new)
        embedding = own.embedding + self._embedding_of(rows, encoder, tokens)
        found = self._plan(ROW_VECTORS, changes, own.plan)
        return written, replace(found, embedding=embedding, model=model)

    def _serialized(self, more: Changes) -> AssetPlan:
        serializer, table = self._recipe.serializer, self._tables.serialized_rows
        plan, own = None, Changes()
        if self._store.exists(schemas.TABLE_ROWS_TABLE):
            plan = decide(serialize.derivation(self._store, self._config, serializer=serializer))
            own = _changes_of(plan)
        is_new = not self._store.exists(table)
        changes = followed_by(own, more, is_new=is_new)
        return self._plan(SERIALIZED_ROWS, changes, plan)

    def _with_unwritten(self, rows: RowsPlan, written: Plan | None) -> RowsPlan:
        """The rows, with those of `table_rows` still to be written where these are few."""
        if written is None or written.pending is None or not written.pending.num_rows:
            return rows
        keys = written.pending["key"]
        if len(keys) > MOST_PLANNED:
            cells = rows.unread_cells + len(keys) * CELLS_A_ROW
            return replace(rows, unread=rows.unread + len(keys), unread_cells=cells)
        held = self._store.read_keys(
            schemas.TABLE_ROWS_TABLE, column="row_id", keys=keys.to_pylist(), columns=CAME.names
        )
        return replace(rows, came=pa.concat_tables([rows.came, held.select(CAME.names).cast(CAME)]))

    def _embedding_of(
        self, rows: RowsPlan, encoder: IndexEncoder | None, tokens: ModelTokens
    ) -> Embedding:
        """What is to be embedded of rows that come from the sources."""
        cells = self._config.tables.empty_cells
        written = serialize.serialized(
            rows.came, serializer=self._recipe.serializer, empty_cells=cells
        ).rows
        is_text = first_without_vectors(
            self._store, written["text_hash"], target=self._tables.rows, encoder=encoder
        )
        counted = float(tokens.of_texts(written["text"].filter(pa.array(is_text))).sum())
        texts = int(is_text.sum())
        known = Embedding(
            Amount.of(texts),
            Amount.of(written.num_rows - texts),
            tokens.bounded(Amount.of(counted)),
        )
        if not rows.unread:
            return known
        is_new = encoder is None  # else a table may hold their texts
        unread = Amount(rows.unread, rows.unread / 2 if is_new else 0, rows.unread)
        long = Amount.of(rows.unread_cells).over([1 / each for each in TOKENS_A_CELL])
        return known + Embedding(unread, Amount.of(rows.unread).less(unread), long)

    def _encoder(self, model: str) -> tuple[IndexEncoder | None, ModelTokens]:
        encoder = encoders.known_encoder(self._store, self._config, model=model)
        return encoder, ModelTokens.of(self._config.models[model], encoder)


def followed_by(own: Changes, more: Changes, *, is_new: bool) -> Changes:
    """What is to be done as the inputs stand, and what their own changes will add to it.

    Of a table that is new, everything is added, as the inputs are by then.
    """
    if not is_new:
        return own + more
    return Changes((own.added + more.added).less(more.removed), own.changed, own.removed)


def _changes_of(plan: Plan) -> Changes:
    return Changes.of(plan.added, plan.changed, len(plan.removed))
