"""Runs a recorded experiment again, to see whether it gives the same scores."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa
from pydantic import TypeAdapter

from rag_assets.change.data_versions import current_version
from rag_assets.config import Config, RerankerSettings, Retrieval, Retriever
from rag_assets.config.base import Section
from rag_assets.evaluation.experiment_runs import RunRecord
from rag_assets.evaluation.questions import Question
from rag_assets.evaluation.scores import labels_of
from rag_assets.laboratory.experiments import runs
from rag_assets.laboratory.experiments.design import Design, ExperimentError
from rag_assets.laboratory.experiments.designs import design_of, questions_of
from rag_assets.laboratory.experiments.run import runner_of, versions
from rag_assets.store import Store


@dataclass(frozen=True, slots=True)
class Replay:
    """An experiment that was run again from its record."""

    record: RunRecord
    differing: Mapping[str, int]
    """For each arm the number of questions with another score."""
    largest: float
    """The largest difference of a mean, over all arms and metrics."""
    package_changes: Mapping[str, str]
    """Packages with another version than then: `then -> now`."""
    seconds: float


def replay(
    store: Store,
    config: Config,
    name: str,
    *,
    run_id: str,
    log: Callable[[str], None],
) -> Replay:
    """Run the arms of a recorded experiment again, without stored results, and compare scores.

    The settings are those of the record. The indexes must have the same units as then.

    Raises:
        UnknownIdError: There is no such record, or more than one.
        ExperimentError: Units, questions or arms have changed since.
    """
    started = time.monotonic()
    record, scores = runs.recorded(store, name, run_id=run_id)
    then = _config_of(config, record)
    for variant, recorded in record.variants.items():
        now = current_version(store, str(recorded["table"]), key="unit_id")
        if now != recorded["data_version"]:
            raise ExperimentError(
                f"the index of variant {variant} has changed since {record.evaluated_at} (data "
                f"version {recorded['data_version']}, now {now}): a replay needs the same sources "
                "and settings"
            )
    questions = questions_of(store, then, name)
    design = design_of(store, then, name, questions=questions)
    runner = runner_of(store, then, design, questions=questions, log=log)
    _require_same(record, scores, design=design, questions=runner.questions)
    found = pa.concat_tables(
        runner.measure(arm, index=runner.index_of(arm.variant).without_cache()).scores
        for arm in design.arms
    )
    differing, largest = runs.differences_of(scores, found)
    now = versions()
    return Replay(
        record=record,
        differing=differing,
        largest=largest,
        package_changes={
            package: f"{before} -> {now.get(package, 'not installed')}"
            for package, before in record.versions.items()
            if now.get(package) != before
        },
        seconds=time.monotonic() - started,
    )


def _require_same(
    record: RunRecord, scores: pa.Table, *, design: Design, questions: Sequence[Question]
) -> None:
    """Check, before anything is computed, that questions and arms are the same."""
    columns = (scores[name].to_pylist() for name in ("question_id", "question", "gold"))
    then = {key: (text, gold) for key, text, gold in zip(*columns, strict=True)}
    now = {one.question_id: (one.text, labels_of(one)) for one in questions}
    if then != now:
        changed = sum(then[key] != now[key] for key in then.keys() & now.keys())
        raise ExperimentError(
            f"the questions have changed since {record.evaluated_at}: {len(now.keys() - then)} "
            f"are new, {len(then.keys() - now)} are gone and {changed} changed: a replay needs "
            "the same"
        )
    if [arm.name for arm in design.arms] != [*record.arms]:
        raise ExperimentError(
            f"the arms have changed since {record.evaluated_at}: a replay needs the same files and "
            "the same release"
        )


class _Entries(Section):
    """The entries of a section `retrieval`, none of them changed by a default."""

    retrievers: dict[str, Retriever]
    rerankers: dict[str, RerankerSettings]


def retrieval_of(recorded: object) -> Retrieval:
    """The section `retrieval` that a record holds.

    Its retrievers and rerankers take nothing from the defaults of this release, which a file would
    change: what a record leaves out was not used.
    """
    section = TypeAdapter(dict[str, object]).validate_python(recorded)
    entries = _Entries.from_record({key: section[key] for key in _Entries.model_fields})
    return Retrieval.from_record(section | dict(entries))


def _config_of(config: Config, record: RunRecord) -> Config:
    """`config` with the settings of `record`; sources and folders stay as they are."""
    settings = record.settings
    fresh = Config.from_record(
        {
            "state_dir": config.state_dir,
            "retrieval": retrieval_of(settings["retrieval"]),
            "models": settings["models"],
            "language_models": {
                name: one.model_dump(mode="json", exclude={"sources"})
                for name, one in config.language_models.items()
            },
            "chunkings": {name: one.model_dump() for name, one in config.chunkings.items()},
            "parsers": {name: one.model_dump() for name, one in config.parsers.items()},
            "variants": settings["variants"],
            "index": settings["index"],
            "experiments": {record.name: settings["experiment"]},
        }
    )
    return config.model_copy(
        update={
            name: getattr(fresh, name)
            for name in ("retrieval", "models", "variants", "index", "experiments")
        }
    )
