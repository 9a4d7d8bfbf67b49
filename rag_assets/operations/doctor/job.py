"""The job `doctor`: an examination of the state, started in the UI."""

import dagster as dg

from rag_assets import lineage
from rag_assets.config import Config
from rag_assets.store import Store

DOCTOR_JOB = "doctor"
CHARACTERS = 1_000
"""The most characters of a cell of the table of findings: examples and remedies are shown whole."""


def doctor_job(config: Config) -> dg.JobDefinition:
    """The job that reads all tables of all variants, and fails if an error is found."""

    @lineage.one_op_job(
        config,
        DOCTOR_JOB,
        description="Reads all tables and tells what does not agree; `rag-assets doctor --repair` "
        "mends it.",
        op="Reads every table once; nothing is written.",
    )
    def examine_state(context: dg.OpExecutionContext) -> None:
        from rag_assets.operations.doctor.examined_tables import Practice
        from rag_assets.operations.doctor.examining import examine

        practice = Practice(Store.of(config), config, list(config.variants), context.log.info)
        done = examine(practice)
        rows = [{**fault.record, "examples": "; ".join(fault.examples)} for fault in done.faults]
        columns = ("code", "severity", "subject", "says", "detail", "count", "examples", "command")
        shown = [{name: row[name] for name in columns} for row in rows]
        metadata: dict[str, dg.MetadataValue] = {
            "tables": dg.MetadataValue.int(done.tables),
            "rows": dg.MetadataValue.int(done.rows),
        }
        if shown:
            metadata["findings"] = lineage.records_of(shown, characters=CHARACTERS)
        errors = [fault for fault in done.found if fault.rule.gravity == "error"]
        if errors:
            lines = (f"{each.rule.code} {each.subject}: {each.rule.says}" for each in errors)
            raise dg.Failure("\n".join(lines), metadata=metadata, allow_retries=False)
        context.add_output_metadata(metadata)

    return examine_state
