"""All steps of a refresh, called as the assets call them, in a process that may die at any time.

`Runs` starts such processes: they are forked from one that has imported everything, so that a run
begins at once and what a kill hits is work and not imports.
"""

import multiprocessing
import os
import resource
import sys
import traceback
from collections.abc import Callable, Sequence
from datetime import timedelta
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Literal
from unittest.mock import patch

import dagster  # noqa: F401 - imported before processes are forked
import dlt  # noqa: F401 - likewise
import duckdb  # noqa: F401 - likewise
import lance  # noqa: F401 - likewise
import lancedb  # noqa: F401 - likewise
import pyarrow as pa

from rag_assets import config as configuration
from rag_assets.change import completing, reclaim, sync
from rag_assets.config import Config
from rag_assets.documents.chunks import chunk
from rag_assets.documents.elements import parse
from rag_assets.documents.elements import reuse as element_reuse
from rag_assets.documents.families import family_rows
from rag_assets.graph import STEPS
from rag_assets.index import embed, joint, parts
from rag_assets.index.indexes import maintain
from rag_assets.knowledge.unit_links import refresh_unit_links
from rag_assets.lineage import open_for_writing
from rag_assets.operations.serving_index.promotion import promote_refreshed
from rag_assets.serving import cli
from rag_assets.serving.replies import say
from rag_assets.sources.exports import refresh_exports
from rag_assets.sources.files.manifest import refresh_document_files
from rag_assets.store import Store, clean_up
from rag_assets.store.serving_pointer import serving_variant
from rag_assets.tables import serialize, table_rows
from rag_assets_testing import embedding
from rag_assets_testing.faults.hashing import HashEncoder, hashing

Log = Callable[[str], None]
SMALL_BATCHES = {
    (parse, "DOCUMENTS_A_BATCH"): 3,
    (element_reuse, "DOCUMENTS_A_BATCH"): 3,
    (chunk, "DOCUMENTS_A_BATCH"): 3,
    (table_rows, "ROWS_PER_BATCH"): 8,
    (parts, "UNITS_PER_PART"): 4,
    (parts, "BYTES_PER_STRETCH"): 512,
    (HashEncoder, "part_tokens"): 64,
}
"""Many commits in little work: more places to die at."""

Kind = Literal["all", "index", "clean up", "command", "purge"]


def refresh(
    config: Config, *, variant: str = "default", log: Log = lambda _: None, **wishes: bool
) -> list[sync.Report]:
    """Every step of the nightly job for `variant`, checks and evaluation apart."""
    store = open_for_writing(config, STEPS)
    recipe = config.variant(variant)
    retry = wishes.get("retry", False)
    done: list[sync.Report] = []
    done.append(
        refresh_document_files(
            store,
            config.sources.documents,
            allow_shrink=wishes.get("allow_shrink", False),
            log=log,
            retry=retry,
        )
    )
    for source in config.sources.tables:
        exports = refresh_exports(
            store, source, allow_shrink=wishes.get("allow_shrink", False), log=log, retry=retry
        )
        done.extend(export.report for export in exports)
    done.append(parse.refresh_elements(store, config, parser=recipe.parser, log=log, retry=retry))
    done.append(family_rows.refresh_families(store, config, parser=recipe.parser, log=log))
    done.append(
        chunk.refresh_chunks(
            store,
            config,
            parser=recipe.parser,
            chunking=recipe.chunking,
            log=log,
            retry=retry,
        )
    )
    done.append(table_rows.refresh_rows(store, sources=config.table_sources, log=log, retry=retry))
    done.append(
        serialize.refresh_serialized_rows(
            store, config, serializer=recipe.serializer, log=log, retry=retry
        )
    )
    done.extend(build_index(config, variant=variant, log=log))
    if variant == serving_variant(store, config):
        promote_refreshed(store, config, log=log)
    return done


def build_index(
    config: Config, *, variant: str = "default", log: Log = lambda _: None
) -> list[sync.Report]:
    """The vectors of both domains, the joint table, and their indexes."""
    store = Store.of(config)
    done: list[sync.Report] = []
    for step in (embedding.refresh_documents, embedding.refresh_rows, joint.refresh_joint):
        made = step(store, config, variant=variant, log=log)
        report = made.report if isinstance(made, embed.EmbeddingReport) else made
        maintain(
            store, report.target, settings=config.index, data_version=report.data_version, log=log
        )
        done.append(report)
    done.append(refresh_unit_links(store, config, variant=variant, log=log))
    completing.record_all(store, config, STEPS)
    return done


def clean_up_at_once(config: Config, *, log: Log = lambda _: None) -> None:
    """Everything that nothing names goes, as if its time had come: stock and versions."""
    now = timedelta(0)
    with patch.object(clean_up, "RUNNING", now), patch.object(reclaim, "RUNNING", now):
        reclaim.clean_up_tables(Store.of(config), config, STEPS, keep_days=0, log=log)


class Runs:
    """Starts runs as processes of their own."""

    def __init__(self) -> None:
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload([__name__])
        self._first = self._context.Process(target=_nothing)
        self._first.start()

    def warm_up(self) -> None:
        """Wait until a run begins as soon as it is started."""
        self._first.join()

    def start(
        self,
        project: Path,
        *,
        kind: Kind = "all",
        ledger: Path | None = None,
        arguments: Sequence[str] = (),
        most_bytes: int | None = None,
        allow_shrink: bool = False,
        small_batches: bool = True,
    ) -> BaseProcess:
        """A run over the project at `project`; what it says goes to `run.log` there.

        No file that it writes may have more than `most_bytes`. Commits are many and small, unless
        `small_batches` is False.
        """
        options = (str(project), kind, ledger, list(arguments), most_bytes, allow_shrink)
        process = self._context.Process(target=_run, args=(*options, small_batches))
        process.start()
        return process


def _nothing() -> None:
    """What the first process does: it waits for the one that all are forked from."""


def _run(
    project: str,
    kind: Kind,
    ledger: Path | None,
    arguments: list[str],
    most_bytes: int | None,
    allow_shrink: bool,
    small_batches: bool,
) -> None:
    """What a forked process does."""
    os.setpgid(0, 0)
    log = os.open(Path(project) / "run.log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(log, 1)
    os.dup2(log, 2)
    if most_bytes is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    os.environ[configuration.PATH_VARIABLE] = str(Path(project) / "rag_assets.yaml")
    if small_batches:
        for (module, name), value in SMALL_BATCHES.items():
            setattr(module, name, value)
        pa.set_cpu_count(1)
    try:
        with hashing(ledger):
            if kind == "command":
                sys.exit(cli.main(["refresh", *arguments]))
            if kind == "purge":
                sys.exit(cli.main(["documents", "purge", "--yes", *arguments]))
            config = configuration.load()
            if kind == "all":
                refresh(config, log=say, allow_shrink=allow_shrink)
            elif kind == "clean up":
                clean_up_at_once(config, log=say)
            else:
                build_index(config, log=say)
    except Exception:
        traceback.print_exc()
        sys.exit(1)
