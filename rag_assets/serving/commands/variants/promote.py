"""`rag-assets variants promote`: let another index serve, if the gate lets it pass."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from rag_assets.serving.replies import FAILED, OK, CommandError, Json, Reply, project_of, say

if TYPE_CHECKING:
    from rag_assets.operations.serving_index.promotion import PromotionResult

SUMMARY = "let a variant serve, if it is complete and no worse than what serves"
EXAMPLES = """\
  rag-assets variants promote long_chunks
  rag-assets variants promote long_chunks --json
  rag-assets variants promote long_chunks --override "the new parser is needed for the audit"
  rag-assets variants promote small_model --accept-dense "people ask in the words of our texts" """


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("variant", help="variant that is to serve; build it with backfill first")
    command.add_argument(
        "--override",
        metavar="REASON",
        help="serve it whatever the gate says; the reason is recorded",
    )
    command.add_argument(
        "--accept-dense",
        nargs="?",
        const="",
        metavar="REASON",
        help="serve it although dense search alone finds less, if nothing else speaks against it; "
        "recorded",
    )


def run(options: argparse.Namespace) -> Reply:
    """Judge the variant and move the serving pointer, or say why not."""
    from rag_assets.answering.record.recalling import recall
    from rag_assets.operations.serving_index.candidates import NotReadyError
    from rag_assets.operations.serving_index.promotion import promote

    config, store = project_of(options)
    if options.override is not None and not options.override.strip():
        raise CommandError("--override needs a reason, which the history records")
    try:
        done = promote(
            store,
            config,
            options.variant,
            override=options.override,
            accept_dense=options.accept_dense,
            log=say,
        )
    except NotReadyError as error:
        build = f"`rag-assets variants backfill {options.variant}`"
        raise CommandError(f"{error} Run {build} first") from error
    if done.status == "moved":
        recall(store, config, log=say)
    return Reply(_record(done), _text(done), code=FAILED if done.status == "held" else OK)


def _record(done: "PromotionResult") -> dict[str, Json]:
    from rag_assets.operations.gate.verdict_wording import measured_rows

    pointer = done.pointer
    return {
        "status": done.status,
        "variant": done.variant,
        "serves": pointer.variant if pointer else None,
        "number": pointer.number if pointer else None,
        "verdict": done.verdict.words if done.verdict else None,
        "reasons": list(done.reasons),
        "measured": measured_rows(done.verdict) if done.verdict else [],
        "remedy": done.remedy,
    }


def _text(done: "PromotionResult") -> str:
    from rag_assets.operations.gate.verdict_wording import verdict_text

    pointer = done.pointer
    if done.status == "unchanged" and pointer:
        return f"Variant {done.variant} serves already (number {pointer.number})."
    verdict = [verdict_text(done.verdict)] if done.verdict else []
    if done.status == "held":
        serves = f"{pointer.variant} (number {pointer.number})" if pointer else "what served"
        head = f"Variant {done.variant} does not serve; {serves} still does."
        return "\n\n".join([head, *verdict])
    assert pointer is not None, "it has just moved"
    how = "by an override: " if pointer.by == "override" else ""
    by = f", {how}{pointer.reason}" if pointer.reason else ""
    verdict = [verdict_text(replace(done.verdict, remedy=""))] if done.verdict else []
    head = f"Variant {done.variant} serves now (number {pointer.number}{by})."
    return "\n\n".join([head, *verdict])
