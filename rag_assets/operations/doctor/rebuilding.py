"""The steps of a variant, run one after the other by their own code: what a repair ends with.

A step whose table is whole finds nothing to do. Sources are read again only where what was landed
of them is hurt.
"""

from collections.abc import Callable, Sequence

from rag_assets.change import completing
from rag_assets.change.sync import Report
from rag_assets.config import Config
from rag_assets.documents.chunks import chunk
from rag_assets.documents.elements import parse
from rag_assets.documents.families import rows as family_rows
from rag_assets.documents.figures import describe
from rag_assets.evaluation import questions
from rag_assets.index import embed, joint
from rag_assets.index.indexes import maintain
from rag_assets.operations.doctor.faults import Log
from rag_assets.operations.serving_index.promotion import promote_refreshed
from rag_assets.sources.exports import refresh_exports
from rag_assets.sources.files.manifest import refresh_document_files
from rag_assets.store import Store, serving_pointer
from rag_assets.tables import rows, serialize


def land_again(store: Store, config: Config, *, log: Log) -> None:
    """Read the sources again, as a refresh does."""
    refresh_document_files(
        store,
        config.sources.documents,
        tables=config.sources.tables,
        allow_shrink=False,
        log=log,
    )
    for source in config.sources.tables:
        refresh_exports(store, source, allow_shrink=False, log=log)
    questions.refresh_questions(store, config, log=log)


def rebuild(store: Store, config: Config, *, variants: Sequence[str], log: Log) -> None:
    """Bring the tables of `variants` up to what was landed of the sources.

    Where what serves is among them, the pointer moves on if its gate lets it pass.

    Raises:
        MissingTableError: Nothing was landed yet.
        EncoderError, WeightsError, ParserUnavailableError: As the steps do.
    """
    rows.refresh_rows(store, sources=config.table_sources, log=log)
    for variant in variants:
        for step in _steps(store, config, variant, log=log):
            step()
    completing.record_all(store, config)
    if serving_pointer.serving_variant(store, config) in variants:
        promote_refreshed(store, config, log=log)


def _steps(
    store: Store, config: Config, variant: str, *, log: Log
) -> Sequence[Callable[[], object]]:
    recipe = config.variant(variant)
    parser, describing = recipe.parser, config.describing_model

    def elements() -> Report:
        return parse.refresh_elements(store, config, parser=parser, log=log)

    def families() -> Report:
        return family_rows.refresh_families(store, config, parser=parser, log=log)

    def descriptions() -> Report | None:
        if describing is None:
            return None
        return describe.refresh_descriptions(
            store, config, parser=parser, model=describing, log=log
        )

    def chunks() -> Report:
        return chunk.refresh_chunks(store, config, parser=parser, chunking=recipe.chunking, log=log)

    def texts_of_rows() -> Report:
        return serialize.refresh_serialized_rows(
            store, config, serializer=recipe.serializer, log=log
        )

    def indexed(report: Report) -> None:
        version = report.data_version
        maintain(store, report.target, settings=config.index, data_version=version, log=log)

    def vectors() -> None:
        for refresh in (embed.refresh_documents, embed.refresh_rows):
            indexed(refresh(store, config, variant=variant, log=log).report)

    def union() -> None:
        indexed(joint.refresh_joint(store, config, variant=variant, log=log))

    return (elements, families, descriptions, chunks, texts_of_rows, vectors, union)
