"""Whether what lies outside the state is as the state and the config have it.

The files of document sources are held against the manifest, by names and sizes. The servers of
language models are asked, which is done only with `--deep`.
"""

from collections.abc import Iterator, Mapping

import pyarrow as pa

from rag_assets import schemas
from rag_assets.columns.keys import ABSENT, KeyIndex
from rag_assets.columns.sql import quoted
from rag_assets.identity import document_ids
from rag_assets.models.language.probing import ProbeFault, probe
from rag_assets.operations.doctor.examined_tables import Practice
from rag_assets.operations.doctor.faults import EXAMPLES, Fault
from rag_assets.sources.files.listing import Listing, look
from rag_assets.sources.files.overlaps import without_rows
from rag_assets.sources.source_locations import SourceError

COLUMNS = ["document_id", "uri", "size"]


def source_file_faults(practice: Practice) -> Iterator[Fault]:
    """What a refresh has to take over, or cannot look at."""
    store = practice.store
    if not store.exists(schemas.DOCUMENT_FILES_TABLE):
        return
    listings: list[Listing] = []
    for source in practice.config.sources.documents:
        try:
            listings.append(look(source, without=practice.config.state_dir))
        except SourceError as error:
            yield Fault(kind="source-moved", subject=source.name, reason=str(error))
    for listing in without_rows(listings, practice.config.sources.tables):
        yield from _moved(practice, listing)


def _moved(practice: Practice, listing: Listing) -> Iterator[Fault]:
    """The files of a source that the manifest lacks, has with another size, or has beyond it."""
    name, entries = listing.source.name, listing.entries
    held = practice.store.read(
        schemas.DOCUMENT_FILES_TABLE, columns=COLUMNS, where=f"source = {quoted(name)}"
    )
    ids = pa.array(document_ids(name, [each.uri for each in entries]), pa.string())
    places = KeyIndex(held["document_id"]).places(ids).tolist()
    sizes = held["size"].to_pylist()
    pairs = list(zip(entries, places, strict=True))
    new = [each.uri for each, at in pairs if at == ABSENT]
    changed = [each.uri for each, at in pairs if at != ABSENT and each.size != sizes[at]]
    is_gone = KeyIndex(ids).places(held["document_id"]) == ABSENT
    gone = held["uri"].filter(pa.array(is_gone)).to_pylist()
    if moved := [*new, *changed, *gone]:
        yield Fault(
            kind="source-moved",
            subject=name,
            count=len(moved),
            examples=moved[:EXAMPLES],
            reason=f"{len(new):,} new, {len(changed):,} of another size, {len(gone):,} gone",
        )


KIND_OF_PROBE: Mapping[ProbeFault, str] = {
    "unreachable": "model-unreachable",
    "key": "key-refused",
    "unknown": "model-unknown",
    "answer": "no-answer",
    "structure": "no-structure",
    "context": "smaller-context",
}


def language_model_faults(practice: Practice) -> Iterator[Fault]:
    """What is wrong with each model behind a server."""
    if not practice.is_deep:
        return
    for name, settings in practice.config.language_models.items():
        if settings.backend != "server":
            continue
        practice.log(f"asking the language model {name}")
        for finding in probe(name, settings):
            yield Fault(
                kind=KIND_OF_PROBE[finding.fault],
                subject=f"language_models.{name}",
                reason=finding.detail,
                remedy=finding.remedy,
            )
