"""The job `explain`: the way of one unit, shown in the UI as metadata of its run."""

import dagster as dg

from rag_assets import lineage
from rag_assets.config import Config
from rag_assets.identity import UnknownIdError
from rag_assets.store import Store

JOB = "explain"
CHARACTERS = 1_000
"""The most characters of a cell: what a step was made from is shown whole."""


class ExplainConfig(dg.Config):
    """Which unit to explain."""

    unit_id: str
    """The id of a search hit, or its beginning."""
    variant: str = ""
    """The one that serves unless given."""


def explain_job(project: Config) -> dg.JobDefinition:
    """The job that explains a unit."""

    @lineage.one_op_job(
        project,
        JOB,
        description="Shows where a search hit comes from, step by step: give its unit_id.",
        opens_with={"unit_id": "the unit_id of a search hit, or how it begins"},
        op="Reads where a unit comes from: source, parser, chunking, model, runs.",
    )
    def explain_unit(context: dg.OpExecutionContext, config: ExplainConfig) -> None:
        from rag_assets.operations.explain.explaining import explain, rows_of

        try:
            found = explain(
                Store.of(project),
                project,
                unit_id=config.unit_id,
                variant=config.variant or None,
            )
        except UnknownIdError as error:
            raise dg.Failure(str(error), allow_retries=False) from error
        context.add_output_metadata(
            {
                "unit": dg.MetadataValue.text(found.unit_id),
                "place": dg.MetadataValue.text(found.place),
                "text": dg.MetadataValue.md(found.text),
                "lineage": lineage.records_of(rows_of(found), characters=CHARACTERS),
                "record": dg.MetadataValue.json(found.record()),
            }
        )

    return explain_unit
