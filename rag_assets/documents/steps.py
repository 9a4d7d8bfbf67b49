"""The steps of the room: from source files to elements, descriptions of figures, and chunks."""

from typing import ClassVar

from rag_assets import schemas
from rag_assets.change.steps import (
    Domain,
    ShownContent,
    StepContext,
    StepKind,
    StepResult,
    StepTable,
)
from rag_assets.change.tracing import Row, UnitStep, UnitTrace, as_json
from rag_assets.change.work import Derivation
from rag_assets.columns.sql import quoted
from rag_assets.config import Config, DescribingModel, Variant, addresses
from rag_assets.documents.step_tables import FILES, chunks_of, descriptions_of, elements_of
from rag_assets.reports.metadata_values import Settings
from rag_assets.store.complete_sets import CompleteSet

CHUNK_FACTS = ("index", "tokens", "char_start", "char_end", "text_hash", "pages", "section_path")


class DocumentStep(StepKind):
    """What the steps of the room have in common."""

    room = "documents"
    domain: ClassVar[Domain | None] = "document"


class ParsedDocuments(DocumentStep):
    """The elements that the parser of a variant finds."""

    name = "parsed_documents"
    about = "Elements of each document (headings, text, tables, ...), with page, box and section."
    counts = "documents"
    is_retried = True
    fails_beyond_input = True
    would_change = "another parser of the variant, another setting or version of it"

    def table(self, config: Config, recipe: Variant) -> StepTable:
        """The elements of the recipe's parser."""
        return elements_of(config, recipe.parser)

    def refresh(self, work: StepContext) -> StepResult:
        """Parse what changed, and link the versions of documents anew."""
        from rag_assets.documents import asset_metadata
        from rag_assets.documents.elements.parse import refresh_elements
        from rag_assets.documents.families.family_rows import refresh_families

        store, config, parser = work.store, work.config, work.recipe.parser
        report = refresh_elements(store, config, parser=parser, log=work.log, retry=work.retry)
        families = refresh_families(store, config, parser=parser, log=work.log)
        accounts = addresses.accounts_table(config, parser)
        return StepResult(
            report=report,
            schema=schemas.ELEMENTS,
            columns=["type", "page", "section_path", "text"],
            content=ShownContent(
                (
                    *("elements by type", "pages", "pages with trouble"),
                    *("versions of documents", "proposed versions"),
                ),
                lambda: {
                    **asset_metadata.types(store, report.target),
                    **asset_metadata.completeness(store, accounts=accounts),
                    **asset_metadata.versions(store, families.target),
                },
            ),
            about={
                "parser": f"{parser} ({config.parsers[parser].engine})",
                "files parsed": report.contents,
                "pages parsed": report.pages,
                "pages per second": round(report.pages_per_second, 2),
            },
        )

    def derivation(self, work: StepContext) -> Derivation:
        """The elements, made from the files of the manifest."""
        from rag_assets.documents.elements import parse

        return parse.derivation(work.store, work.config, parser=work.recipe.parser)

    def labels_of(self, config: Config) -> frozenset[str]:
        """The labels of the kind, and the PDF engines that the variants use."""
        engines = (
            config.parsers[recipe.parser].engine.rpartition(":")[2]
            for recipe in config.variants.values()
        )
        return self.labels.union(engines)

    def held_in(self, complete_set: CompleteSet) -> str | None:
        """The table of elements."""
        return complete_set.elements

    def traced(self, trace: UnitTrace) -> UnitStep:
        """The elements that the chunk was cut from."""
        table, version = trace.elements
        document, chunk = str(trace.unit["document_id"]), trace.chunk
        within = f"document_id = {quoted(document)}"
        if chunk:
            within += f" AND `index` BETWEEN {chunk['element_start']} AND {chunk['element_end']}"
        names = ["element_id", "index", "type", "page", "engine"]
        found = trace.store.read(table, columns=names, where=within, version=version)
        rows = found.sort_by("index").to_pylist()
        parser = trace.recipe.get("parser")
        return trace.step(
            self.name,
            table,
            key="document_id",
            value=document,
            version=version,
            facts={
                "parser": parser,
                "version": _parser_version(trace, parser),
                "engines": sorted({str(row["engine"]) for row in rows if row["engine"]}),
                "elements": [row["element_id"] for row in rows],
                "span": [rows[0]["index"], rows[-1]["index"]] if rows else [],
                "types": sorted({row["type"] for row in rows}),
                "pages": sorted({row["page"] for row in rows if row["page"] is not None}),
                "settings": trace.settings(self.name),
            },
            would_change=self.would_change,
        )


class FigureDescriptions(DocumentStep):
    """What a language model says of the figures that the parser of a variant finds."""

    name = "figure_descriptions"
    about = "What each figure shows, in the words of a vision model."
    counts = "figures"
    labels = frozenset({"lancedb", "ai"})
    is_optional = True
    is_retried = True
    fails_beyond_input = True

    def is_made(self, config: Config) -> bool:
        """Whether a model is there to describe figures."""
        return config.describing_model is not None

    def table(self, config: Config, recipe: Variant) -> StepTable:
        """The figures of the recipe's parser."""
        return descriptions_of(config, recipe.parser)

    def refresh(self, work: StepContext) -> StepResult:
        """Have new figures described."""
        from rag_assets.documents.figures.describe import refresh_descriptions

        model = self._model(work.config)
        report = refresh_descriptions(
            work.store,
            work.config,
            parser=work.recipe.parser,
            model=model,
            log=work.log,
            retry=work.retry,
        )
        return StepResult(
            report=report,
            schema=schemas.DESCRIPTIONS,
            columns=["image", "description"],
            about={"model": model.settings.model, **report.spending},
        )

    def derivation(self, work: StepContext) -> Derivation:
        """The descriptions, made from the figures among the elements."""
        from rag_assets.documents.figures import describe

        model = self._model(work.config)
        return describe.derivation(work.store, work.config, parser=work.recipe.parser, model=model)

    def traced(self, trace: UnitTrace) -> UnitStep | None:
        """The description of the figure that the unit shows, if it shows one."""
        table, image = trace.table_of(self.name), trace.unit.get("image")
        if table is None or image is None or not trace.store.exists(table):
            return None
        return trace.step(
            self.name,
            table,
            key="image",
            value=image,
            facts={"settings": trace.settings(self.name)},
            would_change="another model for figures, or another prompt",
        )

    def _model(self, config: Config) -> DescribingModel:
        model = config.describing_model
        assert model, "the step is there with a model only"
        return model


class Chunks(DocumentStep):
    """The chunks that the chunking of a variant cuts from its elements."""

    name = "chunks"
    about = "Chunks of each document: exact slices of its text that fit the chunking's limit."
    counts = "documents"
    labels = frozenset({"lancedb", "text"})
    would_change = (
        "another chunking of the variant, or another size, overlap, header or tokenizer of it"
    )

    def table(self, config: Config, recipe: Variant) -> StepTable:
        """The chunks of the recipe's parser and chunking."""
        return chunks_of(config, recipe.parser, recipe.chunking)

    def refresh(self, work: StepContext) -> StepResult:
        """Cut documents whose elements changed."""
        from rag_assets.documents import asset_metadata
        from rag_assets.documents.chunks.chunk import refresh_chunks

        recipe = work.recipe
        report = refresh_chunks(
            work.store,
            work.config,
            parser=recipe.parser,
            chunking=recipe.chunking,
            log=work.log,
            retry=work.retry,
        )
        settings = work.config.chunkings[recipe.chunking]
        return StepResult(
            report=report,
            schema=schemas.CHUNKS,
            columns=["uri", "pages", "tokens", "text"],
            content=ShownContent(
                ("chunk lengths",), lambda: asset_metadata.lengths(work.store, report.target)
            ),
            about={"chunking": Settings(settings.model_dump()), **asset_metadata.edits(report)},
        )

    def derivation(self, work: StepContext) -> Derivation:
        """The chunks, made from the elements."""
        from rag_assets.documents.chunks import chunk

        recipe = work.recipe
        return chunk.derivation(
            work.store, work.config, parser=recipe.parser, chunking=recipe.chunking
        )

    def held_in(self, complete_set: CompleteSet) -> str | None:
        """The table of chunks."""
        return complete_set.chunks

    def traced(self, trace: UnitTrace) -> UnitStep:
        """The chunk that is the unit."""
        table, version = trace.chunks
        chunk: Row = trace.chunk or {}
        text = str(trace.unit["text"])
        own = int(str(trace.unit["char_end"])) - int(str(trace.unit["char_start"]))
        header = text[: len(text) - own].strip() or None
        return trace.step(
            self.name,
            table,
            key="chunk_id",
            value=trace.unit["unit_id"],
            version=version,
            facts={"chunking": trace.recipe.get("chunking"), "header": header}
            | {name: as_json(chunk.get(name)) for name in CHUNK_FACTS}
            | {"settings": trace.settings(self.name)},
            would_change=self.would_change,
        )


PARSED_DOCUMENTS = ParsedDocuments()
FIGURE_DESCRIPTIONS = FigureDescriptions()
CHUNKS = Chunks()


def _parser_version(trace: UnitTrace, parser: str | None) -> str | None:
    """The version of the parser as it is installed here; None if it is not."""
    from rag_assets.documents.parsers.by_media_type import parsers_of
    from rag_assets.documents.parsers.description import ParserUnavailableError

    file = trace.row(FILES.table, FILES.key, trace.unit["document_id"])
    if file is None or parser not in trace.config.parsers:
        return None
    try:
        parsers = parsers_of(trace.config.parsers[parser], name=parser)
        return parsers[str(file["media_type"])].version
    except (KeyError, ParserUnavailableError):
        return None
