"""Where what a variant is made of lies: tables are addressed by the settings that make them.

The name of a table is what it holds, the names of its recipe, for people, and a hash of the
settings that its rows depend on: `chunks__pymupdf__fixed_256-5d0b7c1e2f3a`. What it holds and the
hash are its address (see `catalog`). So an edit of a recipe begins other tables and leaves those
that serve alone, and a recipe under a new name finds the tables that it has.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rag_assets.config.documents import Chunking
from rag_assets.identity import Canonical, fingerprint
from rag_assets.schemas import VariantTables

if TYPE_CHECKING:
    from rag_assets.config.recipes import SerializerName, Variant
    from rag_assets.config.sections import Config

DIGITS = 12
"""Of the hash: two recipes of one project never share them."""


def tables_of(config: "Config", recipe: "Variant") -> VariantTables:
    """The tables of a variant with this `recipe`, be it in the config or not."""
    parser, chunking, serializer = recipe.parser, recipe.chunking, recipe.serializer
    chunks = _chunks(config, parser, chunking)
    rows = serialization_settings(config, serializer)
    encoder = embedding_settings(config, recipe.model)
    return VariantTables(
        elements=elements_table(config, parser),
        accounts=accounts_table(config, parser),
        descriptions=descriptions_table(config, parser),
        chunks=chunks_table(config, parser, chunking),
        serialized_rows=serialized_rows_table(config, serializer),
        documents=_name("documents", parser, chunking, recipe.model, of=[chunks, encoder]),
        rows=_name("rows", serializer, recipe.model, of=[rows, encoder]),
        joint=_name(
            "joint", parser, chunking, serializer, recipe.model, of=[chunks, rows, encoder]
        ),
    )


def elements_table(config: "Config", parser: str) -> str:
    """The table of elements that `parser` (its name in the config) finds."""
    return _name("elements", parser, of=parsing_settings(config, parser))


def accounts_table(config: "Config", parser: str) -> str:
    """The table that tells what became of each document under `parser`."""
    return _name("accounts", parser, of=parsing_settings(config, parser))


def descriptions_table(config: "Config", parser: str) -> str:
    """The table of descriptions of the figures that `parser` finds."""
    return _name(
        "descriptions", parser, of=[parsing_settings(config, parser), figure_settings(config)]
    )


def chunks_table(config: "Config", parser: str, chunking: str) -> str:
    """The table of chunks that `chunking` cuts from the elements of `parser`."""
    return _name("chunks", parser, chunking, of=_chunks(config, parser, chunking))


def serialized_rows_table(config: "Config", serializer: "SerializerName") -> str:
    """The table of rows as `serializer` writes them."""
    return _name("serialized_rows", serializer, of=serialization_settings(config, serializer))


def seed_of(chunking: Chunking, *, tokenizer: str, shipped: Mapping[str, Chunking]) -> str:
    """What the ids of chunks follow beside their document and text: no name that a user may change.

    Settings that ship have the name under which they do; any others have a hash.

    Args:
        chunking: How the elements are cut.
        tokenizer: Hash of its tokenizer's file, which is the same wherever that lies.
        shipped: Chunkings by their names.
    """
    for name, known in shipped.items():
        if chunking == known:
            return name
    settings = chunking.model_dump(mode="json", exclude={"tokenizer"})
    return fingerprint(settings, tokenizer)[:DIGITS]


def parsing_settings(config: "Config", parser: str) -> Canonical:
    """What the elements depend on, limits aside: a file that meets one is in quarantine.

    Programs are told apart by where they lie: two may be of different versions, and would take
    turns at building one table.
    """
    settings = config.parsers[parser]
    engines = dict.fromkeys([settings.engine, *settings.fallback])
    reading: dict[str, Canonical] = {"engines": [*engines], "ocr": settings.ocr}
    if settings.python is not None:
        reading["python"] = str(settings.python)
    if "docling" in engines:
        reading["docling"] = settings.docling.model_dump(mode="json")
    if "marker" in engines:
        reading["marker"] = settings.marker.model_dump(mode="json")
        reading["levels"] = {str(level): to for level, to in settings.heading_levels.items()}
    if settings.ocr == "tesseract":
        reading["tesseract"] = [settings.tesseract, *settings.ocr_languages]
    return reading


def figure_settings(config: "Config") -> Canonical:
    """What the words of a vision model depend on; wherever it runs, it says the same."""
    model = config.figures.vision_model
    if model is None:
        return None
    return [model.model, model.prompt, model.max_tokens, config.figures.min_pixels]


def _chunks(config: "Config", parser: str, chunking: str) -> Canonical:
    return [
        parsing_settings(config, parser),
        figure_settings(config),
        *chunking_settings(config, chunking),
    ]


def chunking_settings(config: "Config", chunking: str) -> list[Canonical]:
    """How elements are cut, and which fields of documents become columns."""
    return [config.chunkings[chunking].model_dump(mode="json"), _header_fields(config)]


def _header_fields(config: "Config") -> Canonical:
    rules = config.documents.header_fields
    has_rules = bool(rules.fields or rules.presets)
    return rules.model_dump(mode="json") if has_rules else None


def serialization_settings(config: "Config", serializer: "SerializerName") -> Canonical:
    """How rows are written."""
    return [serializer, config.tables.empty_cells]


def embedding_settings(config: "Config", model: str) -> Canonical:
    """What vectors depend on, or those of the queries that they are compared with."""
    return config.models[model].model_dump(mode="json", exclude={"batch_tokens"})


def _name(kind: str, *recipe: str, of: Canonical) -> str:
    told = "__".join(re.sub(r"[^\w-]", "_", name, flags=re.ASCII) for name in recipe)
    return f"{kind}__{told}-{fingerprint(of)[:DIGITS]}"
