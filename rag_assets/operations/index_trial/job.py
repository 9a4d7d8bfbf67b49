"""The job `try_index`: a trial of other search indexes, shown in the UI as metadata of its run."""

from dataclasses import asdict

import dagster as dg

from rag_assets import lineage
from rag_assets.config import Config
from rag_assets.store import Store

JOB = "try_index"


class TrialConfig(dg.Config):
    """What to try."""

    settings: list[str]
    """KEY=VALUE each, by the keys of the config: index.text.stem=true."""
    keep: bool = False
    """Whether the indexes stay until the next clean-up."""


def trial_job(project: Config) -> dg.JobDefinition:
    """The job that tries other search indexes on what serves."""

    @lineage.one_op_job(
        project,
        JOB,
        description="Tries other search indexes on what serves: give settings as in the config.",
        opens_with={"settings": ["index.text.stem=true"]},
        op="Builds indexes on a branch and compares; what serves stays as it is.",
    )
    def try_indexes(context: dg.OpExecutionContext, config: TrialConfig) -> None:
        from rag_assets.operations.gate.wording import verdict_markdown
        from rag_assets.operations.index_trial.settings import UnfitSettingsError, settings_of
        from rag_assets.operations.index_trial.trying import try_index

        try:
            settings = settings_of(project, config.settings)
            found = try_index(
                Store.of(project, run=context.run_id),
                project,
                settings,
                keep=config.keep,
                log=context.log.info,
            )
        except UnfitSettingsError as error:
            raise dg.Failure(str(error), allow_retries=False) from error
        metadata: dict[str, dg.MetadataValue] = {
            "verdict": dg.MetadataValue.md(verdict_markdown(found.verdict)),
            "lines": dg.MetadataValue.md(f"```yaml\n{found.settings.lines}```"),
        }
        if found.built:
            metadata["built"] = lineage.records_of([asdict(one) for one in found.built])
        if found.latency_ratio:
            metadata["latency_ratio"] = dg.MetadataValue.float(round(found.latency_ratio, 3))
        context.add_output_metadata(metadata)

    return try_indexes
