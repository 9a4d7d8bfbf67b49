"""Dagster asset checks: two for each table, for any number of expectations.

`must_hold` combines the expectations of severity `error`: if one fails, nothing downstream runs,
and automation waits. `should_hold` combines the warnings, which block nothing. Each asset check
costs Dagster three events, most of the cost of checks in a refresh without work. That is why there
are only two; their metadata and the page of all checks show the single expectations.
"""

from collections.abc import Iterator, Sequence

import dagster as dg

from rag_assets import lineage, resources
from rag_assets.config import Config
from rag_assets.process.interrupts import stoppable
from rag_assets.quality import (
    Expectation,
    Result,
    Severity,
    Subject,
    delete_unused_results,
    example_line,
    judged_by,
    page_file,
    result_of,
)
from rag_assets.quality.results import EXAMPLES_EXPLAINED
from rag_assets.reports.text_tables import markdown_table
from rag_assets.store import Store

CHARACTERS = 1_000
"""The most characters of a cell of the table of examples: a remedy is shown whole."""
BEFORE_OTHERS = {"dagster/priority": "1"}
"""A table is judged at once: a run that is killed later leaves its checks as they are."""
CHECKS: dict[Severity, str] = {"error": "must_hold", "warning": "should_hold"}


def definitions(config: Config, *subjects: Subject) -> dg.Definitions:
    """The asset checks of `subjects`; none for a subject whose expectations are all off."""
    return dg.Definitions(
        asset_checks=[_checks(subject, config=config) for subject in subjects if subject.suite]
    )


def _checks(subject: Subject, *, config: Config) -> dg.AssetChecksDefinition:
    expectations = subject.suite
    asset = lineage.key_of(config, *subject.asset.split("/"))
    variants = lineage.variants(config) if subject.has_variants else None

    @dg.multi_asset_check(
        name=config.dagster.name(f"check_{subject.asset.replace('/', '__')}"),
        specs=[
            dg.AssetCheckSpec(
                CHECKS[severity],
                asset=asset,
                description=_description(of_severity),
                blocking=severity == "error",
                partitions_def=variants,
            )
            for severity in CHECKS
            if (of_severity := [item for item in expectations if item.severity == severity])
        ],
        can_subset=True,
        required_resource_keys=resources.keys_of(config),
        op_tags=BEFORE_OTHERS,
        config_schema={
            "accept_drift": dg.Field(
                bool,
                default_value=False,
                description="Accept the table as it is: later runs are compared with it.",
            )
        },
    )
    def check(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        store = Store.of(resources.of_run(context.op_execution_context.resources, config))
        with stoppable():
            result = result_of(
                subject,
                store=store,
                log=context.log.info,
                partition=context.partition_key if variants else None,
                accept_drift=context.op_execution_context.op_config["accept_drift"],
            )
            delete_unused_results(
                subject, store=store, besides=list(config.variants) if variants else [None]
            )
        wanted = {key.name for key in context.selected_asset_check_keys}
        for severity, name in CHECKS.items():
            if name in wanted:
                yield _answer(result, store=store, asset=asset, severity=severity)

    return check


def _description(expectations: Sequence[Expectation]) -> str:
    return "\n".join(f"- {item.name}: {item.description}" for item in expectations)


def _answer(
    result: Result, *, store: Store, asset: dg.AssetKey, severity: Severity
) -> dg.AssetCheckResult:
    expectations = [item for item in result.expectations if item.severity == severity]
    failed = [item for item in result.failed if item.severity == severity]
    metadata: dict[str, dg.MetadataValue] = {
        **({"failed": _failed(result, failed)} if failed else {}),
        "expectations": dg.MetadataValue.md(_table(result, expectations)),
        "rows": dg.MetadataValue.int(result.rows),
        "judged at": dg.MetadataValue.text(result.at),
        "report": dg.MetadataValue.path(str(page_file(store))),
    }
    return dg.AssetCheckResult(
        passed=not failed,
        asset_key=asset,
        check_name=CHECKS[severity],
        severity=dg.AssetCheckSeverity.ERROR if severity == "error" else dg.AssetCheckSeverity.WARN,
        metadata=metadata,
        description=lineage.lines_in_markdown(
            line for item in failed for line in result.explain(item)
        )
        or None,
    )


def _failed(result: Result, failed: Sequence[Expectation]) -> dg.MetadataValue:
    """What does not hold, as the one kind of metadata that the UI shows without a click."""
    rows = [
        {
            "expectation": item.name,
            "found": result.outcomes[item.name].summary,
            "examples": "; ".join(
                example_line(each)
                for each in result.outcomes[item.name].examples[:EXAMPLES_EXPLAINED]
            ),
            "what to do": result.remedy(item),
        }
        for item in failed
    ]
    return lineage.records_of(rows, characters=CHARACTERS)


def _table(result: Result, expectations: Sequence[Expectation]) -> str:
    """The expectations as Markdown, which Dagster stores faster than table records."""
    rows = [
        {
            "expectation": item.name,
            "holds": "yes" if result.outcomes[item.name].passed else "**no**",
            "found": result.outcomes[item.name].summary,
            "judged by": judged_by(item),
        }
        for item in expectations
    ]
    return "\n".join(markdown_table(rows))
