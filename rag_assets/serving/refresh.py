"""`rag-assets refresh`: the nightly job for one variant, in this process."""

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.serving import disk, evaluate, runs
from rag_assets.serving.checks import Standing, standing
from rag_assets.serving.command import OK, PARTLY, Answer, Json, say, table
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically

if TYPE_CHECKING:
    import dagster as dg

SUMMARY = "bring the index up to its sources: only what changed is worked on"
EXAMPLES = """\
  rag-assets refresh
  rag-assets refresh --variant long_chunks --json
  rag-assets refresh --allow-shrink        accept that a source lost most of its items
  rag-assets refresh --retry-failed        also try again what waits: for a change, or for a day
  rag-assets refresh --accept-drift        take tables that drifted for normal from now on"""

LOCK = "index"
NIGHTLY_JOB = "nightly_refresh"
"""`automation.NIGHTLY_JOB`, named here because that module imports Dagster."""
EVALUATION = "retrieval_evaluation"
LAST = "last_refresh.json"
"""File of the state folder that holds the answer to the last refresh."""
COUNTS = ("added", "changed", "removed", "unchanged", "failed")
SHOWN = (*COUNTS, "embedded", "seconds")
"""Numbers of an asset's metadata that a person wants to see."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one refresh did."""

    variant: str
    assets: Mapping[str, Mapping[str, float]]
    """Counts and seconds of each asset that was materialised, by its key."""
    tables: Sequence[str]
    """The tables that the run brought up to date."""
    errors: Mapping[str, str]
    """Why a step failed, by its name."""
    warnings: Sequence[str]
    """Expectations that do not hold, errors included."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("--variant", help="the variant that serves unless given")
    command.add_argument("--allow-shrink", action="store_true", help="accept large deletions")
    command.add_argument(
        "--retry-failed", action="store_true", help="try now what failed and waits"
    )
    command.add_argument("--accept-drift", action="store_true", help="accept drift of tables")


def run(options: argparse.Namespace) -> Answer:
    """Refresh, one at a time; a second refresh waits for the first."""
    started = time.monotonic()
    config = configuration.load()
    variant = options.variant or config.serving_variant
    config.variant(variant)
    store = Store.of(config)
    with disk.writing(config.state_dir):
        with store.lock(LOCK, log=say):
            outcome = refresh(
                config,
                variant=variant,
                allow_shrink=options.allow_shrink,
                retry_failed=options.retry_failed,
                accept_drift=options.accept_drift,
            )
        answer = _answer(
            outcome,
            standing=standing(store),
            quarantine=quarantine_of(store, outcome),
            evaluation=_evaluation_of(store, config, outcome),
            seconds=time.monotonic() - started,
        )
        write_atomically(config.state_dir / LAST, json.dumps(answer.record))
    return answer


def refresh(
    config: Config,
    *,
    variant: str,
    allow_shrink: bool,
    retry_failed: bool,
    accept_drift: bool = False,
    job_name: str = NIGHTLY_JOB,
) -> Outcome:
    """Run a job for `variant` in this process, recorded where the UI shows it.

    The nightly job unless another one is named.
    """
    result = runs.execute(
        config,
        job_name,
        variant=variant,
        wishes=(
            {"allow_shrink": allow_shrink, "retry_failed": retry_failed},
            {"accept_drift": accept_drift},
        ),
    )
    return _outcome(result, variant=variant, state_dir=config.state_dir)


def quarantine_of(store: Store, outcome: Outcome) -> list[dict[str, Json]]:
    """What stands in quarantine for the tables of this run; not read where nothing failed."""
    from rag_assets.change import sync

    if not any(counts.get("failed") for counts in outcome.assets.values()):
        return []
    targets = dict.fromkeys(
        target
        for name in outcome.tables
        for target in sync.quarantined_targets(store)
        if target == name or target.startswith(f"{name}/")  # a pattern exports several tables
    )
    return [
        {
            "target": target,
            "what": failure.label,
            "reason": failure.reason,
            "kind": failure.kind,
            "attempts": failure.attempts,
            "tried_again": str(failure.tried_again) if failure.tried_again else None,
        }
        for target in targets
        for failure in sync.quarantined(store, target)
    ]


def _outcome(result: "dg.ExecuteInProcessResult", *, variant: str, state_dir: Path) -> Outcome:
    materializations = [
        event.materialization for event in result.get_asset_materialization_events()
    ]
    warnings = [
        f"{check.asset_key.to_user_string()}: {name} does not hold ({found})"
        for check in result.get_asset_check_evaluations()
        for name, found in _failed(check).items()
    ]
    return Outcome(
        variant=variant,
        assets={
            found.asset_key.to_user_string(): {
                name: value
                for name in SHOWN
                if isinstance(value := _value(found.metadata.get(name)), (int, float))
            }
            for found in materializations
        },
        tables=[
            value
            for found in materializations
            if isinstance(value := _value(found.metadata.get("table")), str)
        ],
        errors=runs.errors_of(result, state_dir=state_dir),
        warnings=warnings,
    )


def _failed(check: "dg.AssetCheckEvaluation") -> Mapping[str, str]:
    """The expectations that do not hold, each with what was found."""
    failed = _value(check.metadata.get("failed"))
    return failed if isinstance(failed, dict) else {}


def _value(entry: "dg.MetadataValue | None") -> object:
    return entry.value if entry is not None else None


def _evaluation_of(store: Store, config: Config, outcome: Outcome) -> str | None:
    """The evaluation that the run made or found unchanged, for people."""
    from rag_assets.evaluation.evaluate import evaluate_variant

    if EVALUATION not in outcome.assets:
        return None
    result = evaluate_variant(store, config, variant=outcome.variant, log=say)
    return evaluate.scores(result) if result else None


def _answer(
    outcome: Outcome,
    *,
    standing: Standing,
    quarantine: Sequence[Mapping[str, Json]],
    evaluation: str | None,
    seconds: float,
) -> Answer:
    record: dict[str, Json] = {
        "variant": outcome.variant,
        "assets": outcome.assets,
        "quarantine": quarantine,
        "errors": outcome.errors,
        "warnings": outcome.warnings,
        "checks": standing.record,
        "seconds": round(seconds, 3),
    }
    paragraphs = _paragraphs(outcome, quarantine, evaluation, standing.text, seconds)
    code = _code(outcome, is_partial=bool(quarantine))
    return Answer(record=record, text="\n\n".join(paragraphs), code=code)


def _code(outcome: Outcome, *, is_partial: bool) -> int:
    failed = any(counts.get("failed") for counts in outcome.assets.values())
    return runs.code_of(outcome.errors) or (PARTLY if is_partial or failed else OK)


def _named(what: str, reason: str) -> str:
    return reason if what in reason else f"{what}: {reason}"


def _in_short(reason: str) -> str:
    """The reason of a failed step; what a check found stands among the checks already."""
    return reason.partition("\n")[0] if reason.startswith(runs.BLOCKED) else reason


def _paragraphs(
    outcome: Outcome,
    quarantine: Sequence[Mapping[str, Json]],
    evaluation: str | None,
    judged: str,
    seconds: float,
) -> Iterator[str]:
    rows = [{"asset": key, **counts} for key, counts in outcome.assets.items()]
    if rows:
        yield table(rows, columns=["asset", *SHOWN])
    if evaluation:
        yield evaluation
    if quarantine:
        said = (f"  {_named(str(entry['what']), str(entry['reason']))}" for entry in quarantine)
        lines = dict.fromkeys(said)  # a file may fail on the way to several tables
        yield "\n".join(["In quarantine (left out of the index):", *lines])
    yield judged
    if outcome.errors:
        lines = [f"  {step}: {_in_short(reason)}" for step, reason in outcome.errors.items()]
        yield "\n".join(["Failed:", *lines])
    done = "The refresh failed" if outcome.errors else "Done"
    yield f"{done} after {seconds:,.1f} s: variant {outcome.variant}."
