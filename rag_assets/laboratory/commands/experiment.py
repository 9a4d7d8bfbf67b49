"""`rag-assets experiment`: compare retrieval settings or answers, and replay a comparison."""

import argparse
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

from rag_assets.change.completing import is_up_to_date
from rag_assets.config import NOBODY, Config
from rag_assets.graph import STEPS
from rag_assets.reports.text_tables import table
from rag_assets.serving import job_runs, refresh_run
from rag_assets.serving.language_model_costs import (
    Calls,
    added,
    of_answers,
    of_judges,
    say_expected,
)
from rag_assets.serving.replies import CommandError, Json, Reply, project_of, say
from rag_assets.store import Store

if TYPE_CHECKING:
    import dagster as dg

    from rag_assets.evaluation.experiment_runs import Run, RunRecord
    from rag_assets.laboratory.answers.run import AnswerExperimentRecord
    from rag_assets.laboratory.experiments.replay import Replay

SUMMARY = "compare settings, or answers, on these questions"
EXAMPLES = """\
  rag-assets experiment                        list the experiments of the config
  rag-assets experiment serializers            build what it compares, run it, show the result
  rag-assets experiment --all --json
  rag-assets experiment serializers --replay 3f2a9c41d07e"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "name", nargs="*", metavar="NAME", help="experiments to run; none: list all"
    )
    command.add_argument("--all", action="store_true", help="run all experiments of the config")
    command.add_argument(
        "--replay",
        metavar="ID",
        help="repeat run ID without stored results, and compare scores",
    )


def run(options: argparse.Namespace) -> Reply:
    """Run, list or replay."""
    from rag_assets.laboratory.experiments.designs import experiment_of

    config, store = project_of(options)
    every = [*config.experiments, *config.answer_experiments]
    names = every if options.all else options.name
    for name in names:
        if name not in config.answer_experiments:
            experiment_of(config, name)
    if options.replay and (len(names) != 1 or names[0] in config.answer_experiments):
        raise CommandError("--replay needs the name of one experiment on retrieval")
    if not names:
        return _listed(store, config)
    if options.replay:
        return _replayed(store, config, names[0], run_id=options.replay)
    return _run(config, names)


def _run(config: Config, names: Sequence[str]) -> Reply:
    from rag_assets.evaluation.experiment_runs import runs_of
    from rag_assets.laboratory.answers.report import experiment_report
    from rag_assets.laboratory.answers.run import file_of, read_record
    from rag_assets.laboratory.experiments.assets import ANSWERS_JOB, JOB, questions_key

    started = time.monotonic()
    of_retrieval = [name for name in names if name in config.experiments]
    of_answers = [name for name in names if name in config.answer_experiments]
    expected = [_expected(config, name) for name in of_answers]
    expected += [_expected_of_retrieval(config, name) for name in of_retrieval]
    say_expected(config, added(*expected))
    with refresh_run.alone(config) as store:
        build(store, config, of_retrieval)
        done, errors = _materialized(config, JOB, of_retrieval, before=[questions_key(config)])
        _, failed = _materialized(config, ANSWERS_JOB, of_answers)
    found = [
        replace(one, is_new=done[one.record.id])
        for name in of_retrieval
        for one in runs_of(store, name)
        if one.record.id in done
    ]
    read = [read_record(store, name) for name in of_answers if name not in failed]
    written = [record for record in read if record is not None]
    errors |= failed
    paragraphs = [
        *(f"{one.markdown.strip()}\nReport: {one.report}" for one in found),
        *(f"{experiment_report(one)}\n\nRecord: {file_of(store, one.name)}" for one in written),
        *(f"Failed: {name}: {reason}" for name, reason in errors.items()),
    ]
    seconds = time.monotonic() - started
    return Reply(
        record={
            "experiments": [_record(one) for one in found],
            "answer_experiments": [json.loads(json.dumps(asdict(one))) for one in written],
            "errors": errors,
            "seconds": round(seconds, 3),
        },
        text="\n\n".join([*paragraphs, f"Done after {seconds:,.1f} s."]),
        code=job_runs.code_of(errors),
    )


def _expected(config: Config, name: str) -> Calls:
    """What an experiment on answers asks: each arm of its writer, and each answer of the judges."""
    from rag_assets.laboratory.answers.arms import ARMS
    from rag_assets.laboratory.answers.run import writers_of

    experiment = config.answer_experiments[name]
    writers, questions = writers_of(config, experiment), experiment.most_questions
    arms = len(writers) if experiment.writers else ARMS[experiment.design]
    each = 2 if experiment.writers else arms + 1
    return added(
        dict.fromkeys(writers, (0, each * questions)),
        {judge: (0, most * arms) for judge, (_, most) in of_judges(config, questions).items()},
    )


def _expected_of_retrieval(config: Config, name: str) -> Calls:
    """What an experiment on retrieval asks: rewrites of each query, or reports and their judges."""
    from rag_assets.evaluation.questions import read_questions
    from rag_assets.laboratory.experiments.report_design import report_questions

    experiment = config.experiments[name]
    if experiment.design == "rewriting":
        model = config.language_model(experiment.named("language_model").get("model"))[0]
        strategies = len(experiment.value("strategies", list))
        return {model: (0, strategies * len(read_questions(Store.of(config))))}
    if experiment.design == "graph_retrieval":
        return _expected_of_systems(config, experiment.value("most_questions", int))
    if experiment.design == "report_retrieval" and config.evaluation.judges:
        reports = 2 * len(report_questions(experiment))
        return added(of_answers(config, reports, reports=True), of_judges(config, reports))
    return {}


def _expected_of_systems(config: Config, questions: int) -> Calls:
    """What answers of the three systems of P3 take; nothing where nobody writes, or judges."""
    from rag_assets.laboratory.experiments.graph_answers import METRICS, SYSTEMS

    writer = config.answering.writer
    judges = of_judges(config, questions, rubrics=len(METRICS))
    asked = [{writer: (0, questions)}, judges] if writer not in (None, NOBODY) and judges else []
    return added(*asked * len(SYSTEMS))


def build(store: Store, config: Config, names: Sequence[str]) -> None:
    """Build the variants that the experiments compare, unless they are up to date.

    The sources are not read again, so that all variants have the same content. If they were never
    read, they are read first.

    Raises:
        CommandError: A variant cannot be built.
    """
    import dagster as dg

    from rag_assets.laboratory.experiments.designs import buildable

    wanted = dict.fromkeys(one for name in names for one in buildable(config, name))
    for place, variant in enumerate(wanted):
        if is_up_to_date(store, config, STEPS, variant=variant):
            continue
        job = refresh_run.backfill_job(store)
        own = (config.dagster.path(asset) for asset in STEPS.of_variant(config, variant))
        steps = [dg.AssetKey(path) for path in own]
        say(f"building variant {variant} ({place + 1} of {len(wanted)})")
        outcome = refresh_run.refresh(
            config,
            variant=variant,
            allow_shrink=False,
            retry_failed=False,
            job_name=job,
            assets=steps if job == refresh_run.BACKFILL_JOB else None,
        )
        if outcome.errors:
            step, reason = next(iter(outcome.errors.items()))
            raise CommandError(f"variant {variant} cannot be built: {step}: {reason}")


def _materialized(
    config: Config, job: str, names: Sequence[str], *, before: Sequence["dg.AssetKey"] = ()
) -> tuple[dict[str, bool], dict[str, str]]:
    """Run the assets of experiments in this process, recorded where the UI shows them.

    Returns:
        Whether each run on retrieval is new, by its id; and why experiments failed, by name.
    """
    from rag_assets.laboratory.experiments.assets import asset_key

    if not names:
        return {}, {}
    wanted = [*before, *(asset_key(config, name) for name in names)]
    result = job_runs.execute(config, job, assets=wanted)
    errors = {
        config.dagster.own_name(step).removeprefix("experiments__"): reason
        for step, reason in job_runs.errors_of(result, state_dir=config.state_dir).items()
    }
    shown = [each.materialization.metadata for each in result.get_asset_materialization_events()]
    done = {
        str(each["run"].value): bool(each["is new"].value) for each in shown if "is new" in each
    }
    return done, errors


def _record(one: "Run") -> Mapping[str, Json]:
    record = one.record
    return {
        "experiment": record.name,
        "run": record.id,
        "split": record.split,
        "reference": record.reference,
        "chosen": record.chosen,
        "arms": len(record.arms),
        "is_new": one.is_new,
        "summary": one.summary().to_pylist(),
        "differences": one.differences().to_pylist(),
        "report": str(one.report),
    }


def _listed(store: Store, config: Config) -> Reply:
    from rag_assets.evaluation.experiment_runs import runs_of
    from rag_assets.laboratory.answers.run import read_record

    if not config.experiments and not config.answer_experiments:
        return Reply(
            record={"experiments": []},
            text="The config has no experiments: add `experiments:` with `serializers:` below it, "
            "or see docs/experiments.md.",
        )
    rows: list[dict[str, Json]] = []
    for name, experiment in config.experiments.items():
        newest = next(iter(runs_of(store, name)), None)
        record = newest.record if newest else None
        chosen = "; ".join(record.chosen.values()) if record else ""
        rows.append(_row(name, experiment.design, record, chosen=chosen))
    for name, experiment in config.answer_experiments.items():
        rows.append(_row(name, experiment.design, read_record(store, name)))
    return Reply(record={"experiments": rows}, text=table(rows, columns=list(rows[0])))


def _row(
    name: str,
    design: str,
    record: "RunRecord | AnswerExperimentRecord | None",
    *,
    chosen: str = "",
) -> dict[str, Json]:
    return {
        "experiment": name,
        "design": design,
        "last run": record.made_from[:12] if record else "never",
        "at": record.evaluated_at if record else "",
        "arms": len(record.arms) if record else None,
        "chosen on dev": chosen,
    }


def _replayed(store: Store, config: Config, name: str, *, run_id: str) -> Reply:
    from rag_assets.laboratory.experiments.replay import replay

    found = replay(store, config, name, run_id=run_id, log=say)
    differing = {arm: count for arm, count in found.differing.items() if count}
    return Reply(
        record={
            "experiment": name,
            "run": run_id,
            "differing": found.differing,
            "largest_difference": found.largest,
            "packages": found.package_changes,
            "seconds": round(found.seconds, 3),
        },
        text="\n".join(_replay_lines(found, differing)),
        code=3 if differing else 0,
    )


def _replay_lines(found: "Replay", differing: Mapping[str, int]) -> Iterator[str]:
    record = found.record
    arms = len(record.arms)
    yield f"Run {record.id} of {record.name}, {record.evaluated_at}: {arms} arms run again."
    if differing:
        lines = [{"arm": arm, "questions with another score": n} for arm, n in differing.items()]
        yield table(lines, columns=list(lines[0]))
        yield f"Largest difference of a mean: {found.largest:.4f}."
    else:
        yield "Every question has the same score as before."
    for package, change in found.package_changes.items():
        yield f"{package}: {change}"
