"""What must hold of the names in units before searches follow them."""

import dagster as dg

from rag_assets import asset_checks, quality
from rag_assets.change.steps import Step
from rag_assets.columns.arrow_sql import query
from rag_assets.config import Config
from rag_assets.knowledge.steps import UNIT_LINKS
from rag_assets.quality import Profiler, Subject, TableMeasures, Tally
from rag_assets.store import Store
from rag_assets.store.unit_links import BY_KEY, MOST_THINGS

KEY = "unit_id"
_HUBS = """
SELECT m.kind AS kind, m.name AS name, count(DISTINCT coalesce(document_id, unit_id)) AS things
FROM (SELECT unit_id, document_id, unnest(mentions) AS m FROM units) WHERE m.defines AND {by_key}
GROUP BY ALL HAVING things > {most} ORDER BY things DESC, name"""


def definitions(config: Config) -> dg.Definitions:
    """The checks of this room."""
    return asset_checks.definitions(config, *subjects(config))


def subjects(config: Config) -> list[Subject]:
    """The table of this room, if there is one, and what must hold of it."""
    if not UNIT_LINKS.is_made(config):
        return []
    return [
        quality.of_step(
            config,
            UNIT_LINKS,
            stage="links",
            measure=lambda store, step, _: _measured(store, step),
        )
    ]


def _measured(store: Store, step: Step) -> TableMeasures:
    name = step.table
    tally = Tally("duplicate_ids")
    profiler = Profiler(expected_rows=store.count(name))
    for batch in store.batches(name, columns=[KEY]):
        profiler.rows(batch)
        tally.keys(batch[KEY])
    units = store.read(name, columns=[KEY, "document_id", "mentions"])
    hubs = query(_HUBS.format(most=MOST_THINGS, by_key=BY_KEY), units=units)
    tally.put("hubs", len(hubs), examples=hubs.slice(0, quality.EXAMPLES_SHOWN).to_pylist())
    profile = profiler.profile()
    count, examples = quality.missing_inputs(
        store, wanted=step.sources, table=(name, KEY), rows=profile.rows
    )
    tally.put("unaccounted_units", count, examples=examples)
    return tally.measures(profile)
