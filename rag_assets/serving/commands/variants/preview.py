"""`rag-assets variants preview`: what another model can reach, before it is built."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from rag_assets.process.priority import yield_to_others
from rag_assets.reports.text_tables import table
from rag_assets.serving import refresh_run
from rag_assets.serving.replies import FAILED, OK, Json, Reply, project_of, say

if TYPE_CHECKING:
    from rag_assets.operations.model_preview.previewing import ModelPreview

SUMMARY = "say whether a variant's model is worth building, from a few vectors"
EXAMPLES = """\
  rag-assets variants preview small_model
  rag-assets variants preview small_model && rag-assets variants backfill small_model"""

COLUMNS = ("searched by", "metric", "now", "likely", "at most", "difference")


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("variant", help="variant to look at; it need not be built")


def run(options: argparse.Namespace) -> Reply:
    """Embed the questions, their gold and what stands near; the backfill reuses the vectors."""
    config, store = project_of(options)
    yield_to_others()

    from rag_assets.operations.model_preview.previewing import NoPreviewError, preview

    with store.lock(refresh_run.LOCK, log=say):
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
    yield table([*_rows(found)], columns=COLUMNS)
    yield f"Asked: {found.difference.questions:,} questions; margin {found.margin:.3f}."
    if found.left_out:
        yield f"Left out: {found.left_out:,} questions whose gold is not in both."
    if found.lost:
        yield "Found now, and out of reach then:"
        yield from (f"  {text}" for text in found.lost)
    yield (
        f"Embedded: {found.embedded:,} texts ({found.tokens:,} tokens) for a pool of "
        f"{found.pool:,} of {found.units:,} units; the backfill reuses them."
    )
    if found.is_small:
        yield (
            f"In an index of {found.units:,} units building costs about as much as a preview, and "
            f"the gate then says more: `rag-assets variants backfill {found.variant}`."
        )


def _rows(found: "ModelPreview") -> Iterator[dict[str, Json]]:
    """Dense search alone, then the retriever where that is bounded as well."""
    from rag_assets.operations.gate.verdict_wording import interval_text
    from rag_assets.operations.gate.verdicts import BeforeAndNow

    fused = BeforeAndNow(found.metric, found.serving_hits, found.bound, found.difference)
    rows = [
        ("dense alone", likely, most.candidate)
        for likely, most in zip(found.likely, found.dense, strict=True)
    ]
    if found.basis == "fused":
        rows.append((f"what serves ({found.retriever})", fused, fused.candidate))
    for name, each, most in rows:
        yield {
            "searched by": name,
            "metric": each.metric,
            "now": f"{each.serving:.3f}",
            "likely": f"{each.candidate:.3f}" if each is not fused else "",
            "at most": f"{most:.3f}",
            "difference": interval_text(each.difference),
        }


def _verdict(found: "ModelPreview") -> str:
    from rag_assets.evaluation.non_inferiority import LARGEST_MARGIN
    from rag_assets.operations.gate.known_items import FEW

    if found.is_refused:
        return (
            f"REFUSED: the gate could not pass {found.variant}, as even its bound is worse than "
            f"{found.serving} by more than the margin. Do not build it."
        )
    if found.is_worse:
        now, most = found.likely[-1], found.dense[-1].candidate
        says = "is shown" if found.dense_status == "is worse" else "is what it looks like"
        follows = (
            f"Even where words hide that from the retriever {found.retriever}, the gate holds it "
            f"once it is built (`rag-assets variants backfill {found.variant}`)."
            if found.asks_dense
            else f"The retriever {found.retriever} asks no dense search, so that neither its "
            "searches nor the gate would show that."
        )
        return (
            f"WARNING: {found.variant} is likely to find less by dense search alone: {now.metric} "
            f"{now.serving:.3f} now, about {now.candidate:.3f} with it and at most {most:.3f}; a "
            f"loss beyond the margin {says}. {follows}"
        )
    asked = found.difference.questions
    few = (
        f" Too few decide: {asked:,} questions, of {FEW} that show a loss of {LARGEST_MARGIN}."
        if asked < FEW
        else ""
    )
    return (
        f"OPEN: nothing speaks against {found.variant} so far, and that is no pass.{few} Build it "
        f"with `rag-assets variants backfill {found.variant}`; the gate judges it."
    )
