"""A subject whose table and measures a test sets by hand."""

from dataclasses import dataclass, field

import pyarrow as pa

from rag_assets import quality
from rag_assets.config.checks import stage_checks
from rag_assets.quality import Profile, Subject, TableMeasures

SUITE = (
    quality.at_most("ids_unique", of="duplicate_ids", description="No two share an id."),
    quality.at_most("tokens_fit", of="oversized_chunks", description="All fit."),
)
PROFILE = Profile(rows=1_000, mean_length=100.0, languages={"en": 0.9, "sv": 0.1})


@dataclass
class Table:
    """What the subject reads, and how often it was measured."""

    version: str = "1"
    totals: dict = field(default_factory=lambda: {"duplicate_ids": 0, "oversized_chunks": 0})
    profile: Profile = PROFILE
    rows: pa.Table = field(
        default_factory=lambda: pa.table({"chunk_id": ["a", "b"], "text": ["one", "two"]})
    )
    measured: int = 0

    def measure(self, *_) -> TableMeasures:
        self.measured += 1
        shown = [{"uri": "a.md", "tokens": 300}]
        examples = {name: shown for name, value in self.totals.items() if value}
        return TableMeasures(self.totals, examples, self.profile)


def subject_of(table: Table, *, expectations=SUITE, **checks) -> Subject:
    settings = stage_checks("chunks").model_validate(
        {"text_present": "off", "spans_valid": "off", "documents_complete": "off", **checks}
    )
    return Subject(
        asset="chunks",
        stage="chunks",
        settings=settings,
        expectations=expectations,
        table=lambda variant: f"chunks__{variant}",
        version=lambda store, variant: table.version,
        state=lambda store, variant: table.version,
        measure=table.measure,
        read=lambda store, variant, columns: table.rows.select(
            list(dict.fromkeys(["chunk_id", *columns]))
        ),
    )
