"""The table of made questions, brought up to the documents and tables that they are made from.

Each document and each table is one input of the rule of change: an edit makes its questions again,
and no others. What could not be made now, since a language model does not answer or its budget is
used up, is tried again at the next time.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields
from functools import cache
from itertools import islice

import pyarrow as pa

from rag_assets import schemas
from rag_assets.change import sync
from rag_assets.config import Config
from rag_assets.identity import fingerprint
from rag_assets.models.language.opening import open_language_model
from rag_assets.questions.draft import MadeQuestions, Maker, row_of
from rag_assets.questions.step_tables import GENERATED
from rag_assets.store import Store

INPUTS_A_COMMIT = 8
"""Documents and tables whose questions are written at once: a killed run loses no more."""


@dataclass(frozen=True, slots=True)
class MakingReport(sync.Report):
    """What one pass did, and what it used of the language model."""

    spending: Mapping[str, int | float | str] = field(default_factory=dict)
    """What the language model took: see `Spending.record`; empty without one."""


def refresh_generated(
    store: Store,
    config: Config,
    makers: Sequence[Maker],
    *,
    log: Callable[[str], None],
    retry: bool = False,
) -> MakingReport:
    """Make the questions of documents and tables that are new or changed; drop those of others.

    Args:
        store: Holds documents, tables and their index.
        config: Says how many are made, and by which language model.
        makers: The makers of questions, of documents and of tables.
        log: Receives progress, one line at a time.
        retry: Also try again what failed on its own content.
    """
    of_questions = _derivation(store, config, makers)
    name = config.questions.model
    opened = open_language_model(config, name, state=store.root) if name else nullcontext()
    with opened as model:

        def transform(changed: pa.Table) -> Iterator[sync.Batch]:
            for maker in makers:
                keys = [key for key in changed["key"].to_pylist() if maker.is_own(key)]
                made = maker.made(store, config, keys, model)
                while part := list(islice(made, INPUTS_A_COMMIT)):
                    yield _batch(store, part)

        work = sync.Work(
            store=store,
            target=of_questions.target,
            made_from=of_questions.made_from,
            inputs=of_questions.inputs,
            transform=transform,
        )
        report = sync.refresh(work, log=log, retry=retry)
        counted = {item.name: getattr(report, item.name) for item in fields(sync.Report)}
        return MakingReport(**counted, spending=model.spending.record() if model else {})


def _derivation(store: Store, config: Config, makers: Sequence[Maker]) -> sync.Derivation:
    """The questions, made from documents and tables, which are looked at once."""

    @cache
    def inputs() -> pa.Table:
        every = [sync.INPUTS.empty_table(), *(maker.inputs(store, config) for maker in makers)]
        return pa.concat_tables(every)

    def made_from() -> Mapping[str, str]:
        named = inputs().sort_by("key")
        return {"documents and tables": fingerprint(*named.to_pydict().values())}

    return sync.Derivation(
        store=store, target=GENERATED.target(), made_from=made_from, inputs=inputs
    )


def _batch(store: Store, part: Sequence[MadeQuestions]) -> sync.Batch:
    rows = []
    for made in part:
        own: dict[str | None, dict[str, str | None]] = {}
        for draft in made.drafts:
            row = row_of(draft, input_id=made.key)
            own.setdefault(row["question_id"], row)
        rows += [row | {"index": place} for place, row in enumerate(own.values())]
    system = schemas.SYSTEM_COLUMNS
    content = [item for item in schemas.GENERATED_QUESTIONS if item.name not in system]
    failed = {made.key: made.failure for made in part if made.failure}
    labels = _labels(store, list(failed))
    return sync.Batch(
        pa.Table.from_pylist(rows, schema=pa.schema(content)),
        done=[made.key for made in part if not made.failure],
        failed=[
            sync.Failure(key, reason, labels.get(key, key), "environment")
            for key, reason in failed.items()
        ],
    )


def _labels(store: Store, keys: Sequence[str]) -> Mapping[str, str]:
    """The path of each document of `keys`, by its id."""
    if not keys or not store.exists(schemas.DOCUMENT_FILES_TABLE):
        return {}
    found = store.read_keys(
        schemas.DOCUMENT_FILES_TABLE,
        column="document_id",
        keys=keys,
        columns=["document_id", "uri"],
    )
    return dict(zip(found["document_id"].to_pylist(), found["uri"].to_pylist(), strict=True))
