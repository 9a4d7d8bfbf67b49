"""What must hold of the manifest of source files, and whether each source could be read."""

from collections.abc import Iterator, Sequence

import dagster as dg
import pyarrow.compute as pc

from rag_assets import asset_checks, lineage, quality, resources
from rag_assets.change import sync
from rag_assets.config import Config, asset_path
from rag_assets.quality import Profiler, Subject, TableMeasures, Tally
from rag_assets.schemas import DOCUMENT_FILES_TABLE, UNREAD
from rag_assets.sources import readability
from rag_assets.sources.readability import Outage
from rag_assets.sources.steps import DOCUMENT_FILES
from rag_assets.store import Store

KEY = "document_id"
COLUMNS = (KEY, "uri", "status", "media_type", "sha256", "reason")
NULLABLE = ("media_type", "sha256")


def definitions(config: Config) -> dg.Definitions:
    """The checks of this room."""
    readable = [_source_readable(config, DOCUMENT_FILES_TABLE, [DOCUMENT_FILES_TABLE])]
    for source in config.sources.tables:
        keys = dict.fromkeys("/".join(asset_path(source, spec)) for spec in source.tables)
        readable.append(_source_readable(config, source.name.replace("-", "_"), [*keys]))
    return dg.Definitions.merge(
        asset_checks.definitions(config, *subjects(config)), dg.Definitions(asset_checks=readable)
    )


def subjects(config: Config) -> list[Subject]:
    """The tables of this room and what must hold of them."""
    return [_document_files(config)]


def _source_readable(config: Config, name: str, assets: Sequence[str]) -> dg.AssetChecksDefinition:
    """The check of the assets (by their keys) that read one source, in one step."""

    @dg.multi_asset_check(
        name=config.dagster.name(f"{readability.CHECK}_{name}"),
        specs=[
            dg.AssetCheckSpec(
                readability.CHECK,
                asset=lineage.key_of(config, *asset.split("/")),
                description=f"- {readability.CHECK}: The last refresh could read the source. It "
                "is a warning at first, and an error once "
                f"{config.checks.sources.fails_after} refreshes in a row could not. It never "
                "blocks.",
            )
            for asset in assets
        ],
        can_subset=True,
        op_tags=asset_checks.BEFORE_OTHERS,
        required_resource_keys=resources.keys_of(config),
    )
    def source_readable(context: dg.AssetCheckExecutionContext) -> Iterator[dg.AssetCheckResult]:
        of_run = resources.of_run(context.op_execution_context.resources, config)
        outages = readability.outages_of_assets(Store.of(of_run), of_run)
        for key in sorted(context.selected_asset_check_keys):
            found = outages[lineage.own_name(config, key.asset_key)]
            yield _judged(key, found, fails_after=config.checks.sources.fails_after)

    return source_readable


def _judged(
    key: dg.AssetCheckKey, outages: Sequence[Outage], *, fails_after: int
) -> dg.AssetCheckResult:
    severities = {each.severity(fails_after=fails_after) for each in outages}
    is_error = "error" in severities
    sentences = [each.sentence for each in outages]
    metadata: dict[str, dg.MetadataValue] = {}
    if outages:
        metadata = {
            "failed": lineage.records_of(
                [{"expectation": readability.CHECK, "found": "; ".join(sentences)}]
            ),
            "unreadable since": dg.MetadataValue.timestamp(min(each.since for each in outages)),
            "misses in a row": dg.MetadataValue.int(max(each.misses for each in outages)),
            "what to do": dg.MetadataValue.text(readability.REMEDY),
        }
    return dg.AssetCheckResult(
        passed=not outages,
        asset_key=key.asset_key,
        check_name=key.name,
        severity=dg.AssetCheckSeverity.ERROR if is_error else dg.AssetCheckSeverity.WARN,
        metadata=metadata,
        description=lineage.lines_in_markdown([*sentences, f"what to do: {readability.REMEDY}"])
        if outages
        else None,
    )


def _document_files(config: Config) -> Subject:
    return quality.of_step(
        config,
        DOCUMENT_FILES,
        stage="documents",
        measure=lambda store, *_: _measured(store),
    )


def _measured(store: Store) -> TableMeasures:
    tally = Tally("duplicate_ids", "unusable_files")
    profiler = Profiler(expected_rows=store.count(DOCUMENT_FILES_TABLE))
    for batch in store.batches(DOCUMENT_FILES_TABLE, columns=COLUMNS):
        profiler.rows(batch, nullable=NULLABLE)
        tally.keys(batch[KEY])
        is_unusable = pc.not_equal(batch["status"], "ok")
        tally.count("unusable_files", is_unusable, shown=batch.select(["uri", "status", "reason"]))
    profile = profiler.profile()
    tally.share("unusable_share", of="unusable_files", among=profile.rows)
    stale = [
        {"uri": each.label, "status": "stale", "reason": each.reason}
        for each in sync.quarantined(store, DOCUMENT_FILES_TABLE)
        if each.key.endswith(UNREAD)
    ]
    tally.put(
        "failed_files",
        tally.totals["unusable_files"] + len(stale),
        examples=[*stale, *tally.examples.get("unusable_files", ())],
    )
    return tally.measures(profile)
