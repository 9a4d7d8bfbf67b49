"""`rag-assets preview`: what another model can reach at most, before its index is built."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from rag_assets import config as configuration
from rag_assets.process.priority import yield_to_others
from rag_assets.serving import disk_errors, refresh_run
from rag_assets.serving.replies import FAILED, OK, Json, Reply, say, search_errors
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.operations.model_preview.previewing import ModelPreview

SUMMARY = "say whether a variant's model is worth a backfill, from a few of its vectors"
EXAMPLES = """\
  rag-assets preview small_model
  rag-assets preview small_model && rag-assets backfill small_model"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("variant", help="variant to look at; it need not be built")


def run(options: argparse.Namespace) -> Reply:
    """Embed the questions, their gold and what stands near; the backfill reuses the vectors."""
    config = configuration.load()
    config.variant(options.variant)
    yield_to_others()

    from rag_assets.operations.model_preview.previewing import NoPreviewError, preview

    store = Store.of(config)
    with (
        disk_errors.writing(config.state_dir),
        store.lock(refresh_run.LOCK, log=say),
        search_errors(),
    ):
        try:
            found = preview(store, config, variant=options.variant, log=say)
        except NoPreviewError as error:
            text = f"No preview: {error}."
            record = {"variant": options.variant, "outcome": "none", "reason": str(error)}
            return Reply(record=record, text=text)
    return Reply(
        record=_record(found),
        text="\n".join(_lines(found)),
        code=FAILED if found.is_refused else OK,
    )


def _record(found: "ModelPreview") -> dict[str, Json]:
    outcome = "refused" if found.is_refused else "worse" if found.is_worse else "open"
    return {"outcome": outcome, **asdict(found)}


def _lines(found: "ModelPreview") -> Iterator[str]:
    yield _verdict(found)
    shown = found.difference
    alone = " by dense search alone" if found.basis == "dense alone" else ""
    yield (
        f"{found.metric} of {shown.questions:,} questions{alone}: {found.serving_hits:.3f} now, at "
        f"most {found.bound:.3f} with {found.variant} (difference {shown.estimate:+.3f}, "
        f"{shown.low:+.3f} to {shown.high:+.3f}; margin {found.margin:.3f})."
    )
    if found.left_out:
        yield f"Left out: {found.left_out:,} questions whose gold is not in both."
    if found.lost:
        yield "Found now, and out of reach then:"
        yield from (f"  {text}" for text in found.lost)
    yield (
        f"Embedded: {found.embedded:,} texts ({found.tokens:,} tokens) for a pool of "
        f"{found.pool:,} of {found.units:,} units; the backfill reuses them."
    )


def _verdict(found: "ModelPreview") -> str:
    if found.is_refused:
        return (
            f"REFUSED: the gate could not pass {found.variant}, as even its bound is worse than "
            f"{found.serving} by more than the margin. Do not build it."
        )
    if found.is_worse:
        return (
            f"WARNING: {found.variant} is worse at dense search by more than the margin. What the "
            f"retriever {found.retriever} makes of that is not bounded; only the gate can tell, "
            f"after `rag-assets backfill {found.variant}`."
        )
    return (
        f"OPEN: nothing speaks against {found.variant} so far, and that is no pass. Build it with "
        f"`rag-assets backfill {found.variant}`; the gate judges it."
    )
