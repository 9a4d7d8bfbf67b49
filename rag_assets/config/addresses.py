"""The names of the tables of a variant: a table is addressed by the settings that make it.

The name of a table says what it holds, then (for people) the names of its recipes, and ends with a
hash of the settings that its rows depend on: `chunks__pymupdf__fixed_256-5d0b7c1e2f3a`. Its address
is what it holds and the hash (see `store.catalog`). So an edited recipe begins new tables and
leaves alone those that serve, and a renamed recipe finds the tables that it had.
"""

import re
from collections.abc import Mapping
from typing import Protocol

from rag_assets.api import CustomChunker, CustomEmbedder, CustomParser, CustomSerializer
from rag_assets.config.custom import revised
from rag_assets.config.documents import Chunking, Documents
from rag_assets.config.figures import Figures
from rag_assets.config.language_models import LanguageModelSettings
from rag_assets.config.links import LinkSettings
from rag_assets.config.models import EmbeddingModel
from rag_assets.config.named_models import DescribingModel
from rag_assets.config.parsers import ParserSettings
from rag_assets.config.recipes import SerializerName, Tables, Variant
from rag_assets.config.training import place_in_state
from rag_assets.identity import Canonical, fingerprint
from rag_assets.schemas import VariantTables

DIGITS = 12
"""Length of the hash in a name: enough that no two recipes of a project share it."""


TWO_MODELS = "two_models"
"""What stands for both models in a name: the names of two might be too long for a folder."""


class Recipes(Protocol):
    """The sections of the config that decide what tables hold; a `Config` has them all."""

    @property
    def parsers(self) -> Mapping[str, ParserSettings]:
        """The parsers by name."""
        ...

    @property
    def chunkings(self) -> Mapping[str, Chunking]:
        """The chunkings by name."""
        ...

    @property
    def models(self) -> Mapping[str, EmbeddingModel]:
        """The embedding models by name."""
        ...

    @property
    def documents(self) -> Documents:
        """Rules for all documents."""
        ...

    @property
    def figures(self) -> Figures:
        """The rules that say which figures are described."""
        ...

    @property
    def describing_model(self) -> DescribingModel | None:
        """Who describes them."""
        ...

    @property
    def linking_model(self) -> tuple[str, LanguageModelSettings] | None:
        """The entry that finds entities and relations, with its name."""
        ...

    @property
    def tables(self) -> Tables:
        """How rows become text."""
        ...

    @property
    def links(self) -> LinkSettings:
        """The rules that say which names of units are kept."""
        ...


def tables_of(config: Recipes, recipe: Variant) -> VariantTables:
    """The tables of a variant with this `recipe`, whether or not the config has such a variant."""
    parser, chunking, serializer = recipe.parser, recipe.chunking, recipe.serializer
    chunks = _chunks(config, parser, chunking)
    rows = serialization_settings(config, serializer)
    of_documents = embedding_settings(config, recipe.document_model)
    of_rows = embedding_settings(config, recipe.table_model)
    is_one = len(recipe.models) == 1
    units = [chunks, rows, of_documents if is_one else [of_documents, of_rows]]
    return VariantTables(
        elements=elements_table(config, parser),
        accounts=accounts_table(config, parser),
        families=families_table(config, parser),
        descriptions=descriptions_table(config, parser),
        chunks=chunks_table(config, parser, chunking),
        serialized_rows=serialized_rows_table(config, serializer),
        documents=_name(
            "documents", parser, chunking, recipe.document_model, of=[chunks, of_documents]
        ),
        rows=_name("rows", serializer, recipe.table_model, of=[rows, of_rows]),
        joint=_name(
            *("joint", parser, chunking, serializer),
            recipe.document_model if is_one else TWO_MODELS,
            of=units,
        ),
        unit_links=_name(
            *("unit_links", parser, chunking, serializer), of=[units, link_settings(config)]
        ),
    )


def elements_table(config: Recipes, parser: str) -> str:
    """The table of elements that `parser` (its name in the config) finds."""
    return _name("elements", parser, of=parsing_settings(config, parser))


def accounts_table(config: Recipes, parser: str) -> str:
    """The table that tells what became of each document under `parser`."""
    return _name("accounts", parser, of=parsing_settings(config, parser))


def families_table(config: Recipes, parser: str) -> str:
    """The table that tells which documents, as `parser` reads them, are versions of one."""
    return _name("families", parser, of=parsing_settings(config, parser))


def descriptions_table(config: Recipes, parser: str) -> str:
    """The table of descriptions of the figures that `parser` finds."""
    return _name(
        "descriptions", parser, of=[parsing_settings(config, parser), figure_settings(config)]
    )


def chunks_table(config: Recipes, parser: str, chunking: str) -> str:
    """The table of chunks that `chunking` cuts from the elements of `parser`."""
    return _name("chunks", parser, chunking, of=_chunks(config, parser, chunking))


def serialized_rows_table(config: Recipes, serializer: SerializerName) -> str:
    """The table of rows as `serializer` writes them."""
    return _name("serialized_rows", serializer, of=serialization_settings(config, serializer))


def seed_of(chunking: Chunking, *, tokenizer: str, shipped: Mapping[str, Chunking]) -> str:
    """What stands for a chunking in the ids of its chunks: no name, since a user may change it.

    Settings that come with this package are named as they are here; all others by a hash.

    Args:
        chunking: How the elements are cut.
        tokenizer: Hash of its tokenizer's file, the same wherever that file lies.
        shipped: The chunkings that come with this package, by name.
    """
    for name, known in shipped.items():
        if chunking == known:
            return name
    settings = chunking.model_dump(mode="json", exclude={"tokenizer"})
    return fingerprint(settings, tokenizer)[:DIGITS]


def parsing_settings(config: Recipes, parser: str) -> Canonical:
    """The settings that elements depend on. Limits are not: a file that exceeds one gives none.

    Interpreters and programs are named by their paths: two may be of different versions, and would
    otherwise build one table in turns.
    """
    settings = config.parsers[parser]
    engines = dict.fromkeys([settings.engine, *settings.fallback])
    reading: dict[str, Canonical] = {
        "engines": [revised(engine, CustomParser) for engine in engines],
        "ocr": settings.ocr,
    }
    if settings.python is not None:
        reading["python"] = str(settings.python)
    if "docling" in engines:
        reading["docling"] = settings.docling.model_dump(mode="json")
    if "marker" in engines:
        reading["marker"] = settings.marker.model_dump(mode="json")
        reading["levels"] = {str(level): to for level, to in settings.heading_levels.items()}
    if settings.ocr == "tesseract":
        reading["tesseract"] = [settings.tesseract, *settings.ocr_languages]
    if settings.hidden != "leave_out":
        reading["hidden"] = settings.hidden
    return reading


def figure_settings(config: Recipes) -> Canonical:
    """The settings that descriptions of figures depend on; the endpoint's address is not one."""
    model = config.describing_model
    if model is None:
        return None
    return [model.settings.model, model.prompt, model.max_tokens, config.figures.min_pixels]


def _chunks(config: Recipes, parser: str, chunking: str) -> Canonical:
    return [
        parsing_settings(config, parser),
        figure_settings(config),
        *chunking_settings(config, chunking),
    ]


def chunking_settings(config: Recipes, chunking: str) -> list[Canonical]:
    """How elements are cut, and which fields of documents become columns."""
    chosen = config.chunkings[chunking]
    settings = chosen.model_dump(mode="json")
    settings["strategy"] = revised(chosen.strategy, CustomChunker)
    return [settings, _header_fields(config)]


def _header_fields(config: Recipes) -> Canonical:
    rules = config.documents.header_fields
    has_rules = bool(rules.fields or rules.presets)
    return rules.model_dump(mode="json") if has_rules else None


def serialization_settings(config: Recipes, serializer: SerializerName) -> Canonical:
    """How rows are written."""
    return [revised(serializer, CustomSerializer), config.tables.empty_cells]


def link_settings(config: Recipes) -> Canonical:
    """The settings of names in units: which are kept, what names things, identifiers, who reads."""
    links = config.links
    entities = {table: sorted(columns) for table, columns in links.entities.items() if columns}
    listed: list[Canonical] = [sorted(links.kinds), sorted(links.identifiers.values())]
    if config.linking_model:
        _, model = config.linking_model
        allowed = model.allowed_sources
        read_by: dict[str, Canonical] = {"model": model.model}
        read_by |= {} if allowed is None else {"sources": sorted(allowed)}
        listed = [*listed, read_by]
    return [*listed, entities] if entities else listed


def embedding_settings(config: Recipes, model: str) -> Canonical:
    """The settings that vectors depend on, those of texts and those of queries.

    A server's address is not one: the model's own answers tell whether it is the same. Nor is the
    place of a state, in which trained weights lie.
    """
    chosen = config.models[model]
    settings = chosen.model_dump(mode="json", exclude={"batch_tokens", "endpoint"})
    if place := place_in_state(chosen.path):
        settings["path"] = place.as_posix()
    if chosen.backend == "custom":
        settings["path"] = revised(chosen.path, CustomEmbedder)
    return settings | ({"dimensions": chosen.endpoint.dimensions} if chosen.endpoint else {})


def _name(kind: str, *recipe: str, of: Canonical) -> str:
    names = "__".join(re.sub(r"[^A-Za-z0-9-]+", "_", name) for name in recipe)
    return f"{kind}__{names}-{fingerprint(of)[:DIGITS]}"
