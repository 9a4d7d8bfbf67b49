"""Units with their vectors: each text goes through the model once, whatever the tables do.

A unit's row follows its chunk or serialized row (`row_fingerprint`) and the encoder; its vector
follows the text alone. A text that any units table of the state already holds under the same
encoder keeps that vector, so that a shifted page number, a rename, a second variant with the same
text or a duplicate embeds nothing. New texts are sorted by length over the whole change and
committed part by part: a killed run goes on where it stopped.
"""

import time
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change.data_versions import current_version
from rag_assets.change.row_inputs import RowInputs
from rag_assets.change.sync import (
    Batch,
    Derivation,
    Failure,
    PartDone,
    Report,
    Target,
    Work,
    refresh,
    refresh_part,
)
from rag_assets.change.throughput import note
from rag_assets.columns.keys import ABSENT
from rag_assets.config import Config, Execution
from rag_assets.index.encoders import IndexEncoder, encoder_of
from rag_assets.index.parts import TEXT, Progress, parts_of_plan, text_starts
from rag_assets.index.reusable_vectors import (
    places_of_vectors,
    planned,
    tables_with_vectors,
    texts_of,
)
from rag_assets.index.step_tables import EMBEDDING
from rag_assets.index.units import TextSource, chunk_source, row_source
from rag_assets.models.embedding import Embedded
from rag_assets.models.lexical_weights import column_of
from rag_assets.models.replicas import EncoderError
from rag_assets.models.tasks import part_of
from rag_assets.models.weights import WeightsError
from rag_assets.process.memory import release_memory
from rag_assets.process.overlap import read_ahead
from rag_assets.store import ROW_ID, Store
from rag_assets.store.damage import DamagedTablesError
from rag_assets.workers import Failed, Task
from rag_assets.workers.executors import for_embedding, outcomes

LONGEST_FIRST = [("bytes", "descending"), *((name, "ascending") for name in TEXT)]
"""The order of a plan: equal texts stand side by side."""
MOST_LOST = 3
"""So many workers lost one after another are no accident."""

Log = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EmbeddingReport:
    """What one pass did to a units table."""

    report: Report
    encoder_id: str
    units: pa.Schema
    """The schema of the table."""
    embedded: int = 0
    """Texts that went through the model."""
    reused: int = 0
    """Units that took the vector of an equal text."""
    windowed: int = 0
    """Embedded texts that were longer than the model's window: pooled, not cut."""
    tokens: int = 0
    """Tokens that went through the model."""
    seconds: float = 0.0
    """Time that embedding took, loading the model excluded."""
    norms: tuple[float, float] | None = None
    """Least and largest length of the new vectors."""


@dataclass(frozen=True, slots=True)
class EmbeddedAhead:
    """What was embedded of a units table before the rest."""

    table: str
    """The generation that holds the vectors: see `sync.PartDone`."""
    embedded: int
    """Texts that went through the model."""
    reused: int
    """Units that took the vector of an equal text."""
    tokens: int
    failures: Sequence[Failure]


def refresh_documents(
    store: Store, config: Config, *, variant: str, log: Log, retry: bool = False
) -> EmbeddingReport:
    """Bring the vectors of the variant's chunks up to date: see `refresh_units`."""
    recipe, tables = config.variant(variant), config.tables_of(variant)
    return refresh_units(
        store,
        source=chunk_source(tables.chunks),
        target=tables.documents,
        encoder=encoder_of(store, config, model=recipe.document_model),
        execution=config.execution,
        log=log,
        retry=retry,
    )


def refresh_rows(
    store: Store, config: Config, *, variant: str, log: Log, retry: bool = False
) -> EmbeddingReport:
    """Bring the vectors of the variant's serialized rows up to date: see `refresh_units`."""
    recipe, tables = config.variant(variant), config.tables_of(variant)
    return refresh_units(
        store,
        source=row_source(tables.serialized_rows),
        target=tables.rows,
        encoder=encoder_of(store, config, model=recipe.table_model),
        execution=config.execution,
        log=log,
        retry=retry,
    )


def refresh_units(
    store: Store,
    *,
    source: TextSource,
    target: str,
    encoder: IndexEncoder,
    execution: Execution,
    log: Log,
    retry: bool = False,
) -> EmbeddingReport:
    """Bring the table `target` up to the texts of `source` under `encoder`.

    Raises:
        MissingTableError: The source was never built.
        WeightsError: The model's weights are missing or broken.
        EncoderError: The model cannot compute where texts are embedded.
        ClusterError: Texts are embedded on a Ray cluster that cannot be used.
    """
    encoder.confirm(log)
    work = _EmbeddingPass(
        store, source=source, target=target, encoder=encoder, execution=execution, log=log
    )
    done = work.report(refresh(work.work, log=log, retry=retry))
    note(store, encoder.encoder_id, items=done.tokens, seconds=done.seconds)
    return done


def embed_ahead(
    store: Store,
    *,
    source: TextSource,
    target: str,
    encoder: IndexEncoder,
    execution: Execution,
    units: Collection[str],
    log: Log,
) -> EmbeddedAhead:
    """Embed some `units` of `source` alone; the next refresh takes the vectors over.

    Raises:
        MissingTableError, WeightsError, EncoderError, ClusterError: As `refresh_units`.
    """
    encoder.confirm(log)
    part = _EmbeddingPass(
        store, source=source, target=target, encoder=encoder, execution=execution, log=log
    )
    return part.done(refresh_part(part.work, keys=units, log=log))


def derivation(
    store: Store, *, source: TextSource, target: str, encoder: IndexEncoder
) -> Derivation:
    """The table `target` of units with vectors of `encoder`, made from the texts of `source`."""
    recipe = _recipe(encoder)
    return Derivation(
        store=store,
        target=Target(name=target, schema=encoder.units, key="unit_id", group="unit_id"),
        made_from=lambda: {
            source.asset: current_version(store, source.name, key=source.key),
            "recipe": recipe,
        },
        recipe={"encoder": encoder.encoder_id},
        inputs=lambda: _inputs(store, source, recipe=recipe),
    )


def _recipe(encoder: IndexEncoder) -> str:
    return f"{EMBEDDING}/{encoder.encoder_id}"


def _inputs(store: Store, source: TextSource, *, recipe: str) -> RowInputs:
    return RowInputs.of(store, source.name, key=source.key, recipe=recipe)


class _EmbeddingPass:
    """One pass over a units table: which vectors it finds, which it computes, and the tally."""

    def __init__(
        self,
        store: Store,
        *,
        source: TextSource,
        target: str,
        encoder: IndexEncoder,
        execution: Execution,
        log: Log,
    ) -> None:
        self._store = store
        self._source = source
        self._target = target
        self._encoder = encoder
        self._execution = execution
        self._log = log
        self._texts_at: tuple[str, int] | None = None
        self._units = self._embedded = self._windowed = self._tokens = self._lost = 0
        self._seconds = 0.0
        self._norms: list[float] = []

    @property
    def work(self) -> Work:
        """The pass as `refresh` takes it."""
        of_texts = derivation(
            self._store, source=self._source, target=self._target, encoder=self._encoder
        )
        return Work(
            store=self._store,
            target=of_texts.target,
            made_from=of_texts.made_from,
            recipe=of_texts.recipe,
            inputs=self.inputs,
            transform=self.transform,
        )

    def inputs(self) -> RowInputs:
        """The rows of the source, which is read at this version from now on."""
        rows = _inputs(self._store, self._source, recipe=_recipe(self._encoder))
        [self._texts_at] = rows.tables.items()
        return rows

    @property
    def _pinned(self) -> tuple[str, int]:
        """The generation and version of the source that is read."""
        assert self._texts_at is not None, "the inputs are read first"
        return self._texts_at

    def transform(self, changed: pa.Table) -> Iterator[Batch]:
        """Rows whose text is found in a table first, then new texts, the longest first."""
        keys = changed["key"]
        del changed  # a million keys and fingerprints as text: each is let go of once it was used
        name, version = self._pinned
        plan = planned(self._store, self._source, keys, name=name, version=version)
        del keys
        plan = plan.sort_by(LONGEST_FIRST)
        for table in tables_with_vectors(self._store, target=self._target, log=self._log):
            if plan.num_rows == 0:
                return
            if self._store.count(table):
                plan = yield from self._reused(plan, table=table)
        if plan.num_rows:
            release_memory(rows=plan.num_rows)
            yield from self._computed(plan)

    def _reused(self, plan: pa.Table, *, table: str) -> Generator[Batch, None, pa.Table]:
        """The units of `plan` whose vectors `table` holds; returns what is left of the plan.

        What turns out to be damaged there is computed anew: nobody else may need that table.
        """
        version = self._store.version(table)
        try:
            encoder_id = self._encoder.encoder_id
            found = places_of_vectors(
                self._store, table, texts_of(plan), encoder_id=encoder_id, version=version
            )
        except DamagedTablesError as error:
            self._pass_over(table, error)
            return plan
        is_found = found != ABSENT
        copies = plan.append_column("found", pa.array(found)).filter(pa.array(is_found))
        left = [plan.filter(pa.array(~is_found))]
        for part in parts_of_plan(copies):
            try:
                batch = self._copied(part, table=table, version=version)
            except DamagedTablesError as error:
                self._pass_over(table, error)
                left.append(part.drop_columns("found"))
            else:
                yield batch
        return left[0] if len(left) == 1 else pa.concat_tables(left).sort_by(LONGEST_FIRST)

    def _pass_over(self, table: str, error: DamagedTablesError) -> None:
        if table == self._store.generation(self._target):
            raise error
        self._log(f"a damaged table is not used: {error}")

    def report(self, report: Report) -> EmbeddingReport:
        """The tally of the pass that gave `report`."""
        return EmbeddingReport(
            report=report,
            encoder_id=self._encoder.encoder_id,
            units=self._encoder.units,
            embedded=self._embedded,
            reused=self._units - self._embedded,
            windowed=self._windowed,
            tokens=self._tokens,
            seconds=self._seconds,
            norms=(min(self._norms), max(self._norms)) if self._norms else None,
        )

    def done(self, part: PartDone) -> EmbeddedAhead:
        """The tally of a part of a pass."""
        return EmbeddedAhead(
            table=part.table,
            embedded=self._embedded,
            reused=self._units - self._embedded,
            tokens=self._tokens,
            failures=part.failures,
        )

    def _rows(self, part: pa.Table) -> pa.Table:
        name, version = self._pinned
        return self._store.take(
            name, part[ROW_ID].to_numpy(), columns=self._source.columns, version=version
        )

    def _copied(self, part: pa.Table, *, table: str, version: int) -> Batch:
        columns = ["windows", "vector", *([schemas.SPARSE] if self._encoder.is_sparse else [])]
        found = self._store.take(table, part["found"].to_numpy(), columns=columns, version=version)
        units = self._source.units(self._rows(part))
        return self._batch(units, {name: found[name] for name in columns})

    def _computed(self, plan: pa.Table) -> Iterator[Batch]:
        sizes = plan["bytes"].to_numpy()[text_starts(plan)]
        texts_in_all, size_in_all = len(sizes), int(sizes.sum())
        del sizes
        progress: Progress | None = None
        parts: dict[str, _Texts] = {}

        def tasks() -> Iterator[Task]:
            cut = parts_of_plan(plan, tokens=self._encoder.part_tokens)
            for number, part in enumerate(cut):
                texts = _distinct(self._rows(part))
                task = self._encoder.task(str(number), texts.texts)
                parts[task.key] = texts
                yield task

        with for_embedding(self._execution, device=self._encoder.device) as executor:
            for task, outcome in outcomes(executor, read_ahead(tasks())):
                texts = parts.pop(task.key)
                if isinstance(outcome, Failed):
                    yield self._not_embedded(texts, outcome)
                    continue
                self._lost = 0
                part = part_of(outcome.value)
                progress = progress or Progress(
                    self._target,
                    texts=texts_in_all,
                    size=size_in_all,
                    started=time.monotonic() - part.seconds,
                    log=self._log,
                )
                self._count(part.embedded)
                yield self._placed(texts, part.embedded)
                progress.advance(
                    texts=len(texts.texts), size=texts.size, tokens=part.embedded.tokens
                )
                self._seconds = progress.seconds

    def _not_embedded(self, texts: "_Texts", failed: Failed) -> Batch:
        """Texts whose worker was lost: they are tried again at the next refresh.

        Raises:
            WeightsError: The weights are missing or broken where texts are embedded.
            EncoderError: The model fails on any text, or one worker after the other is lost.
        """
        if failed.error == WeightsError.__name__:
            raise WeightsError(failed.reason)
        if failed.error == EncoderError.__name__:
            raise EncoderError(failed.reason)
        if failed.kind in ("error", "system"):
            raise EncoderError(f"texts cannot be embedded: {failed.error}: {failed.reason}")
        self._lost += 1
        if self._lost == MOST_LOST:
            raise EncoderError(f"worker after worker is lost: {failed.kind}: {failed.reason}")
        units = self._source.units(texts.rows)
        reason = f"its worker was lost ({failed.kind}: {failed.reason}); it is tried again"
        return Batch(
            rows=self._encoder.units.empty_table(),
            done=(),
            failed=[
                Failure(unit["unit_id"], reason, self._source.label(unit), "environment")
                for unit in units.to_pylist()
            ],
        )

    def _placed(self, texts: "_Texts", embedded: Embedded) -> Batch:
        """The units of some texts with their vectors; those of a failed text as failures."""
        units = self._source.units(texts.rows)
        is_good = np.isin(texts.places, list(embedded.failed), invert=True)
        good = texts.places[is_good]
        bad = units.filter(pa.array(~is_good)).to_pylist()
        failures = [
            Failure(
                key=unit["unit_id"],
                reason=embedded.failed[place],
                label=self._source.label(unit),
            )
            for unit, place in zip(bad, texts.places[~is_good].tolist(), strict=True)
        ]
        return self._batch(
            units.filter(pa.array(is_good)),
            {
                "windows": pa.array(embedded.windows[good], pa.int32()),
                "vector": pa.FixedSizeListArray.from_arrays(
                    pa.array(embedded.vectors[good].ravel(), pa.float32()), self._encoder.dimension
                ),
                **self._weights(embedded, good),
            },
            failures=failures,
        )

    def _weights(self, embedded: Embedded, good: np.ndarray) -> Mapping[str, pa.Array]:
        if not self._encoder.is_sparse:
            return {}
        assert embedded.sparse is not None, "the task's encoder is that of the index"
        return {schemas.SPARSE: column_of([embedded.sparse[place] for place in good.tolist()])}

    def _batch(
        self,
        units: pa.Table,
        columns: Mapping[str, pa.Array | pa.ChunkedArray],
        *,
        failures: Sequence[Failure] = (),
    ) -> Batch:
        """The `units` with what the encoder gives of them: all but its id in `columns`."""
        encoder = pa.repeat(pa.scalar(self._encoder.encoder_id), units.num_rows)
        for name, values in {"encoder_id": encoder, **columns}.items():
            units = units.append_column(name, values)
        self._units += units.num_rows
        return Batch(rows=units, done=units["unit_id"].to_pylist(), failed=failures)

    def _count(self, embedded: Embedded) -> None:
        is_good = np.isin(np.arange(len(embedded.vectors)), list(embedded.failed), invert=True)
        vectors = embedded.vectors
        norms = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[is_good]  # without a copy
        self._embedded += int(is_good.sum())
        self._windowed += int((embedded.windows[is_good] > 1).sum())
        self._tokens += embedded.tokens
        if len(norms):
            self._norms += [float(norms.min()), float(norms.max())]


@dataclass(frozen=True, slots=True)
class _Texts:
    """Rows of a source and their distinct texts."""

    rows: pa.Table
    texts: list[str]
    places: np.ndarray
    """(rows,): position of each row's text in `texts`."""
    size: int
    """The bytes of all texts."""


def _distinct(rows: pa.Table) -> _Texts:
    hashes = rows["text_hash"].combine_chunks().dictionary_encode()
    firsts = pc.index_in(hashes.dictionary, rows["text_hash"].combine_chunks())
    texts = rows["text"].take(firsts)
    return _Texts(
        rows=rows,
        texts=texts.to_pylist(),
        places=hashes.indices.to_numpy(),
        size=pc.sum(pc.binary_length(texts)).as_py(),
    )
