"""`rag-assets try-index`: other search indexes over what serves, built beside and judged."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING

from rag_assets import config as configuration
from rag_assets.process.priority import yield_to_others
from rag_assets.serving import disk_errors
from rag_assets.serving.replies import FAILED, OK, Json, Reply, UsageError, say, search_errors
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.operations.index_trial.trying import Trial

SUMMARY = "try other settings of the search indexes on what serves"
EXAMPLES = """\
  rag-assets try-index index.text.stem=true index.text.language=Swedish
  rag-assets try-index index.vectors.type=ivf_pq retrieval.ann.refine=5
  rag-assets try-index retrieval.ann.probes=10 --keep"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "settings",
        nargs="+",
        metavar="KEY=VALUE",
        help="as in the config: keys of index.text, index.vectors and retrieval.ann, and "
        "index.ann_from_rows",
    )
    command.add_argument(
        "--keep",
        action="store_true",
        help="keep the indexes until the next clean-up: another trial of them need not build them",
    )


def run(options: argparse.Namespace) -> Reply:
    """Build the indexes on a branch, compare them with those that serve, and drop the branch."""
    config = configuration.load()

    from rag_assets.operations.index_trial.settings import UnfitSettingsError, settings_of
    from rag_assets.operations.index_trial.trying import try_index

    yield_to_others()
    with disk_errors.writing(config.state_dir), search_errors():
        try:
            settings = settings_of(config, options.settings)
            found = try_index(Store.of(config), config, settings, keep=options.keep, log=say)
        except UnfitSettingsError as error:
            raise UsageError(str(error)) from error
    return Reply(
        record=_record(found),
        text="\n".join(_lines(found)),
        code=OK if found.verdict.allows else FAILED,
    )


def _record(found: "Trial") -> dict[str, Json]:
    return {
        "verdict": found.verdict.words,
        "reasons": list(found.verdict.reasons),
        "remedy": found.verdict.remedy,
        "built": [asdict(one) for one in found.built],
        "latency": {name: asdict(one) for name, one in found.latency.items()},
        "latency_ratio": found.latency_ratio,
        "lines": found.settings.lines,
        "kept": found.is_kept,
    }


def _lines(found: "Trial") -> Iterator[str]:
    from rag_assets.operations.gate.wording import verdict_text
    from rag_assets.operations.index_trial.trying import SERVING, TRIED

    yield verdict_text(found.verdict)
    yield ""
    for one in found.built:
        took = f"built in {one.seconds:.1f} s" if one.seconds else "left by an earlier trial"
        beside = f"{one.bytes_serving / 1e6:.1f} MB" if one.bytes_serving else "none"
        yield (
            f"{one.table}: index of {one.column} {took}, {one.bytes / 1e6:.1f} MB "
            f"(serving: {beside})"
        )
    if ratio := found.latency_ratio:
        now, then = found.latency[SERVING], found.latency[TRIED]
        yield (
            f"One question: {now.p50:.1f} ms now, {then.p50:.1f} ms then (p95 {now.p95:.1f} and "
            f"{then.p95:.1f}; {ratio:.2f} times), over {now.questions} questions in shuffled turns."
        )
    if found.is_kept:
        yield "The indexes stay on their branches until the next `rag-assets clean-up`."
    if found.verdict.allows:
        yield "Put these lines into rag_assets.yaml; the next refresh builds it, and is judged:"
        yield ""
        yield found.settings.lines.rstrip()
    else:
        yield "What serves is as it was."
