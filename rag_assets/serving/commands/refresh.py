"""`rag-assets refresh`: the nightly job for one variant, in this process."""

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.findings.finding import Finding
from rag_assets.findings.telling import lines_of, record_of
from rag_assets.operations.problems import run_errors
from rag_assets.operations.problems.current import source_problems
from rag_assets.operations.problems.skipped_inputs import EXPORTS, left_out
from rag_assets.reports.text_tables import table
from rag_assets.schemas import DOCUMENT_FILES_TABLE, GENERATED_QUESTIONS_TABLE
from rag_assets.serving import alerting, disk_errors, job_runs, refresh_run
from rag_assets.serving.check_summary import check_summary
from rag_assets.serving.evaluation_text import scores
from rag_assets.serving.refresh_run import RefreshOutcome
from rag_assets.serving.replies import (
    OK,
    PARTLY,
    Json,
    Reply,
    UsageError,
    add_variant,
    project_of,
    say,
)
from rag_assets.store import MissingIndexError, Store, serving_pointer
from rag_assets.store.serving_pointer import ServingPointerError, serving_variant

if TYPE_CHECKING:
    from rag_assets.operations.plan.planning import VariantPlan

SUMMARY = "build the index, or bring it up to date: only what changed is worked on"
EXAMPLES = """\
  rag-assets refresh
  rag-assets refresh --json
  rag-assets refresh --dry-run             tell what it would do and cost, without doing it
  rag-assets refresh --plan                tell that first, and then what came of it
  rag-assets refresh --allow-shrink        accept that a source lost most of its items
  rag-assets refresh --retry-failed        also try again what failed before
  rag-assets refresh --accept-drift        accept tables that drifted as the new normal"""

EVALUATION = "retrieval_evaluation"
NO_SOURCE = (
    "the config names no source: add `sources: {documents: FOLDER}` for files, or "
    "`sources: {tables: [{name: NAME, url: URL}]}` for a database, and refresh again"
)


NEXT = (
    'Next: `rag-assets ask "..."` or `rag-assets search "..."`, or `rag-assets serve` for the page '
    "in a browser."
)
MEASURE = " `rag-assets questions make`, then `rag-assets evaluate`, measures it."


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    add_variant(command)
    plan = command.add_mutually_exclusive_group()
    plan.add_argument(
        "--dry-run",
        action="store_true",
        help="only tell what a refresh would do and cost; nothing is written",
    )
    plan.add_argument(
        "--plan",
        action="store_true",
        help="tell that first, and at the end what came out otherwise",
    )
    command.add_argument(
        "--allow-shrink",
        action="store_true",
        help="accept that a source lost more than half of its items",
    )
    command.add_argument(
        "--retry-failed",
        action="store_true",
        help="try again now everything that failed, without waiting for its day or for a change",
    )
    command.add_argument(
        "--accept-drift",
        action="store_true",
        help="accept tables that drifted (see should_hold) as the new normal",
    )
    command.add_argument(
        "--take-over-tables",
        action="store_true",
        help="write the tables at tables_url from this state folder, though another one did",
    )


def run(options: argparse.Namespace) -> Reply:
    """Refresh, one at a time: a second refresh waits for the first; or only plan it."""
    config, store = project_of(options)
    variant = options.variant or serving_variant(store, config)
    if options.dry_run:
        from rag_assets.serving.plan_text import planned

        return planned(store, config, variant=variant, allow_shrink=options.allow_shrink)[1]
    if options.take_over_tables:
        if config.tables_url is None:
            raise UsageError("--take-over-tables: tables_url is not set, so nobody else has them")
        store.own(takes_over=True)
    return refreshed(
        config,
        variant=variant,
        with_plan=options.plan,
        allow_shrink=options.allow_shrink,
        retry_failed=options.retry_failed,
        accept_drift=options.accept_drift,
    )


def refreshed(
    config: Config,
    *,
    variant: str,
    job: Callable[[Store], str] = lambda _: refresh_run.NIGHTLY_JOB,
    with_plan: bool = False,
    allow_shrink: bool = False,
    retry_failed: bool = False,
    accept_drift: bool = False,
) -> Reply:
    """Run a job for `variant` once no other command changes the index, and tell what it did.

    Raises:
        UsageError: The config names no source.
    """
    began = datetime.now(UTC)
    config.variant(variant)
    if not (config.sources.documents or config.sources.tables):
        raise UsageError(NO_SOURCE)
    store = Store.of(config)
    with alerting.telling(config, variant=variant), disk_errors.writing(config.state_dir):
        with store.lock(refresh_run.LOCK, log=say):
            plan = _planned(store, config, variant, allow_shrink) if with_plan else None
            outcome = refresh_run.refresh(
                config,
                variant=variant,
                allow_shrink=allow_shrink,
                retry_failed=retry_failed,
                accept_drift=accept_drift,
                job_name=job(store),
            )
        return _answer(store, config, outcome, plan=plan, began=began)


def _planned(store: Store, config: Config, variant: str, allow_shrink: bool) -> "VariantPlan":
    """The plan of this refresh, which is shown at once."""
    from rag_assets.serving.plan_text import planned

    plan, reply = planned(store, config, variant=variant, allow_shrink=allow_shrink)
    say(f"{reply.text}\n")
    return plan


def _evaluation_of(store: Store, config: Config, outcome: RefreshOutcome) -> str | None:
    """The evaluation that the run made or found unchanged, as text."""
    from rag_assets.evaluation.evaluate import evaluate_variant
    from rag_assets.table_lookup.arm import arms_of

    if EVALUATION not in outcome.assets:
        return None
    arms = arms_of(store, config)
    with suppress(MissingIndexError):  # which the run itself has told
        result = evaluate_variant(store, config, variant=outcome.variant, arms=arms, log=say)
        return scores(result) if result else None
    return None


def _answer(
    store: Store,
    config: Config,
    outcome: RefreshOutcome,
    *,
    plan: "VariantPlan | None",
    began: datetime,
) -> Reply:
    if not outcome.conclusion:
        outcome = replace(outcome, conclusion=_still_serving(store))
    checks = check_summary(store, config)
    unknown = refresh_run.quarantine_of(store, outcome)
    is_read = any(name.startswith((DOCUMENT_FILES_TABLE, EXPORTS)) for name in outcome.assets)
    sources = source_problems(store, config) if is_read else ()
    missing = [*sources, *left_out(store, config, unknown)]
    evaluation = _evaluation_of(store, config, outcome)
    seconds = (datetime.now(UTC) - began).total_seconds()
    record: dict[str, Json] = {
        "variant": outcome.variant,
        "assets": outcome.assets,
        "missing": [record_of(each) for each in missing],
        "quarantine": refresh_run.records_of(unknown),
        "errors": outcome.errors,
        "checks": checks.record,
        "conclusion": outcome.conclusion,
        "seconds": round(seconds, 3),
        "seconds_of": {key: round(each, 3) for key, each in outcome.seconds_of(seconds).items()},
    }
    kept = ""
    if plan is not None:
        from rag_assets.serving.plan_text import outcome_record, outcome_text

        record["plan"] = outcome_record(plan, outcome.assets)
        kept = outcome_text(plan, outcome.assets)
    checked = checks.text_of_run(outcome.variant, began=began)
    judged = "\n\n".join(part for part in (kept, checked) if part)
    outcome = replace(outcome, conclusion=_with_next(store, config, outcome))
    paragraphs = _paragraphs(outcome, missing, evaluation, judged, seconds)
    code = job_runs.code_of(outcome.errors) or (PARTLY if missing else OK)
    return Reply(record=record, text="\n\n".join(paragraphs), code=code)


def _still_serving(store: Store) -> str:
    """What serves, and what to do next, after a run that ended before the gate was asked."""
    try:
        pointer = serving_pointer.current(store)
    except ServingPointerError as error:
        return str(error)
    serves = (
        f"{pointer.variant} (number {pointer.number}) still serves"
        if pointer
        else "Nothing serves yet"
    )
    return f"{serves}. Next: mend what failed, and run this again: it goes on from here."


def _with_next(store: Store, config: Config, outcome: RefreshOutcome) -> str:
    """The conclusion, and what to do next where it does not say."""
    if outcome.errors or "Next:" in outcome.conclusion:
        return outcome.conclusion
    is_measured = config.question_files or store.exists(GENERATED_QUESTIONS_TABLE)
    return f"{outcome.conclusion}\n{NEXT}{'' if is_measured else MEASURE}"


def _in_short(reason: str) -> str:
    """The reason of a failed step; for a failed check one line: the details are shown above."""
    return reason.partition("\n")[0] if reason.startswith(run_errors.BLOCKED) else reason


def _paragraphs(
    outcome: RefreshOutcome,
    missing: Sequence[Finding],
    evaluation: str | None,
    judged: str,
    seconds: float,
) -> Iterator[str]:
    rows = [{"asset": key, **counts} for key, counts in outcome.assets.items()]
    if rows:
        beside = outcome.seconds_of(seconds)
        rows += [{"asset": key, "seconds": each} for key, each in beside.items()]
        yield table(rows, columns=["asset", *refresh_run.SHOWN])
    if evaluation:
        yield evaluation
    if missing:
        yield "\n".join(["Not in the index as it should be:", *lines_of(missing)])
    yield judged
    if outcome.errors:
        lines = [f"  {step}: {_in_short(reason)}" for step, reason in outcome.errors.items()]
        yield "\n".join(["Failed:", *lines])
    reasons = outcome.errors.values()
    is_held = all(reason.startswith(run_errors.HELD_BACK) for reason in reasons)
    failed = "The index is built and held back" if is_held else "The refresh failed"
    ended = f"{failed if reasons else 'Done'} after {seconds:,.1f} s: variant {outcome.variant}."
    yield "\n".join(filter(None, (ended, outcome.conclusion)))
