"""dlt, kept to one job: take batches from a source and land them as Parquet files.

A landing is a folder below the state that lives as long as one pass. dlt's own memory of a
pipeline lies in it and goes with it: what changed is told by the exported table, so a killed run
leaves nothing behind that could lose a row.
"""

import os
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import redacted
from rag_assets.store import Store
from rag_assets.store.table_locations import remove_folder

if TYPE_CHECKING:
    from dlt.extract import DltResource

_DATASET = "rows"


class LandingError(Exception):
    """A source that dlt could not read; the cause says why."""


@contextmanager
def landing(store: Store, name: str) -> Generator[Path]:
    """An empty folder for the pass called `name`; whatever a killed pass left there is removed."""
    folder = store.root / "landing" / name
    remove_folder(folder)
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        remove_folder(folder)


def prepare_dlt() -> None:
    """Let dlt call nobody, leave signals alone, read in order, and keep no row twice."""
    os.environ.setdefault("RUNTIME__DLTHUB_TELEMETRY", "false")
    os.environ.setdefault("RUNTIME__INTERCEPT_SIGNALS", "false")  # or a run could not be stopped
    os.environ.setdefault("EXTRACT__NEXT_ITEM_MODE", "fifo")
    os.environ.setdefault("LOAD__TRUNCATE_STAGING_DATASET", "true")  # or rows lie there twice


def land(resources: "Sequence[DltResource]", *, folder: Path) -> dict[str, list[Path]]:
    """Run `resources` through one dlt pipeline; return the Parquet files of each by its name.

    Resources are read one after another, in their order. The names must be safe as folder names.
    A resource without rows has no files.

    Raises:
        LandingError: A resource could not be read; its cause is the error of the source.
    """
    prepare_dlt()
    import dlt
    from dlt.common.schema import Schema
    from dlt.extract import DltSource
    from dlt.pipeline.exceptions import PipelineStepFailed

    source = DltSource(
        Schema("landing", normalizers={"names": "direct"}), "landing", list(resources)
    )
    destination = dlt.destinations.filesystem(
        bucket_url=str(folder / "files"), warn_unsafe_layout_separators=False
    )
    pipeline = dlt.pipeline(
        "landing",
        pipelines_dir=str(folder / "pipelines"),
        destination=destination,
        dataset_name=_DATASET,
    )
    pipeline.config.restore_from_destination = False
    try:
        pipeline.run(source, loader_file_format="parquet", write_disposition="append")
    except PipelineStepFailed as error:
        cause = root_cause(error)
        raise LandingError(first_line(cause)) from cause
    return {
        resource.name: sorted((folder / "files" / _DATASET / resource.name).glob("*.parquet"))
        for resource in resources
    }


def root_cause(error: BaseException) -> BaseException:
    """The first error of a chain: the one that the source itself raised."""
    while (below := _cause(error)) is not None:
        error = below
    return error


def _cause(error: BaseException) -> BaseException | None:
    """What led to `error`; the end of an iteration is no cause, it only came before."""
    below = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return None if isinstance(below, StopIteration) else below


def first_line(error: BaseException) -> str:
    """The message of an error on one line, without the password of any URL in it.

    What a colon at the end of the line announces is on the next one, and told too.
    """
    first, *others = filter(str.strip, (str(error).strip() or type(error).__name__).splitlines())
    return redacted(
        " ".join([first, others[0].strip()] if first.endswith(":") and others else [first])
    )
