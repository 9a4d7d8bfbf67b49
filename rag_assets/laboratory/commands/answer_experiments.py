"""Running the experiments on answers from the command line, and listing them."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.serving import job_runs
from rag_assets.serving.replies import Json
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.laboratory.answers.run import AnswerExperimentRecord


def materialized(
    store: Store, config: Config, names: Sequence[str]
) -> "tuple[list[AnswerExperimentRecord], dict[str, str]]":
    """Run the assets of experiments on answers, recorded where the UI shows them.

    Returns:
        The records of those that ran, and why the others did not, by name.
    """
    from rag_assets.laboratory.answers.assets import JOB, experiment_key
    from rag_assets.laboratory.answers.run import read_record

    if not names:
        return [], {}
    keys = [experiment_key(name) for name in names]
    result = job_runs.execute(config, JOB, assets=keys)
    errors = {
        step.removeprefix("experiments__"): reason
        for step, reason in job_runs.errors_of(result, state_dir=config.state_dir).items()
    }
    found = [read_record(store, name) for name in names if name not in errors]
    return [record for record in found if record is not None], errors


def shown(store: Store, record: "AnswerExperimentRecord") -> str:
    """The report of an experiment, and where its record lies."""
    from rag_assets.laboratory.answers.report import experiment_report
    from rag_assets.laboratory.answers.run import file_of

    return f"{experiment_report(record)}\n\nRecord: {file_of(store, record.name)}"


def listed(store: Store, config: Config) -> list[dict[str, Json]]:
    """The experiments on answers as rows of the list of all experiments."""
    from rag_assets.laboratory.answers.run import read_record

    rows: list[dict[str, Json]] = []
    for name, experiment in config.answer_experiments.items():
        record = read_record(store, name)
        rows.append(
            {
                "experiment": name,
                "design": experiment.design,
                "last run": record.made_from[:12] if record else "never",
                "at": record.evaluated_at if record else "",
                "arms": len(record.arms) if record else None,
                "chosen on dev": "",
            }
        )
    return rows
