"""The checks of a room, judged for a variant."""

from collections.abc import Iterable

from rag_assets import quality
from rag_assets.quality import Outcome, Result, Subject
from rag_assets.store import Store


def judged(
    subjects: Iterable[Subject], store: Store, *, asset: str, variant: str = "default"
) -> Result:
    (subject,) = [subject for subject in subjects if subject.asset == asset]
    return quality.result_of(
        subject, store=store, log=print, partition=variant if subject.has_variants else None
    )


def failures(result: Result) -> dict[str, Outcome]:
    """The outcomes that did not pass, by the name of their expectation."""
    return {item.name: result.outcomes[item.name] for item in result.failed}


def tamper(store: Store, table: str, rows) -> None:
    """Let the table hold exactly `rows`, as if nobody had noticed."""
    store.drop(table)
    store.append(table, rows, schema=rows.schema)
