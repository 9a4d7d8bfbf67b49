"""The steps that a unit went through, each with what its table holds of it.

`explain` finds the unit and puts the steps together.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from rag_assets import schemas
from rag_assets.change.steps import variant_steps
from rag_assets.columns.sql import quoted
from rag_assets.config import Config
from rag_assets.store import Store
from rag_assets.store.catalog import folder_of, name_of
from rag_assets.store.complete_sets import CompleteSet
from rag_assets.store.pins import Pin, holds
from rag_assets.store.provenance import Made, made_of, row_of
from rag_assets.store.serving_pointer import ServingPointer

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Row: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class UnitStep:
    """One step of the way: what a table holds of the unit, and what it was made from."""

    asset: str
    """The asset that keeps the table."""
    table: str
    version: int
    """The version that was read."""
    made: Made | None
    """None where the table does not hold it any more: it has moved on since the index was built."""
    facts: Mapping[str, Json]
    would_change: str
    """What would give another row here."""


@dataclass(frozen=True, slots=True)
class UnitWay:
    """The tables that a unit of one variant went through."""

    store: Store
    config: Config
    complete_set: CompleteSet
    unit: Row
    variant: str
    pointer: ServingPointer | None = None
    """What pins elements and chunks too; None: they are read at the newest version."""

    def of_document(self) -> Iterator[UnitStep]:
        """From the file to the searched table."""
        table, version = self._chunks_held
        chunk = row_of(
            self.store, table, key="chunk_id", value=str(self.unit["unit_id"]), version=version
        )
        document = str(self.unit["document_id"])
        yield self._file(document)
        yield self._elements(document, chunk)
        yield self._chunk(chunk)
        yield from self._indexed("chunk_vectors", self.complete_set.documents)

    def of_row(self) -> Iterator[UnitStep]:
        """From the row at its source to the searched table."""
        row = self._row(schemas.TABLE_ROWS_TABLE, "row_id", self.unit["unit_id"])
        yield self._step(
            "table_rows",
            schemas.TABLE_ROWS_TABLE,
            key="row_id",
            value=self.unit["unit_id"],
            facts={
                "source": as_json(self.unit["source"]),
                "table": as_json(self.unit["table"]),
                "row_key": as_json(self.unit["row_key"]),
                "columns": [as_json(pair["column"]) for pair in _pairs(row)],
            },
            would_change="an edit of the row at its source, or of the headings and units of its "
            "columns",
        )
        if table := self._serialized:
            yield self._step(
                "serialized_rows",
                table,
                key="row_id",
                value=self.unit["unit_id"],
                facts={
                    "serializer": self._recipe.get("serializer"),
                    "settings": self._settings("serialized_rows"),
                },
                would_change="another serializer of the variant, or tables.empty_cells",
            )
        yield from self._indexed("row_vectors", self.complete_set.rows)

    def _file(self, document: str) -> UnitStep:
        table = schemas.DOCUMENT_FILES_TABLE
        file = self._row(table, "document_id", document) or {}
        roots = {source.name: source.url for source in self.config.sources.documents}
        names = ("source", "uri", "media_type", "size", "sha256", "modified", "status")
        return self._step(
            table,
            table,
            key="document_id",
            value=document,
            facts={"root": roots.get(str(self.unit["source"])), "document_id": document}
            | {name: as_json(file.get(name)) for name in names},
            would_change="an edit of the file; a rename makes other units of the same text, whose "
            "vectors are kept",
        )

    def _elements(self, document: str, chunk: Row | None) -> UnitStep:
        table, version = self._elements_held
        within = f"document_id = {quoted(document)}"
        if chunk:
            within += f" AND `index` BETWEEN {chunk['element_start']} AND {chunk['element_end']}"
        names = ["element_id", "index", "type", "page", "engine"]
        found = self.store.read(table, columns=names, where=within, version=version)
        rows = found.sort_by("index").to_pylist()
        parser = self._recipe.get("parser")
        return self._step(
            "parsed_documents",
            table,
            key="document_id",
            value=document,
            version=version,
            facts={
                "parser": parser,
                "version": self._parser_version(parser),
                "engines": sorted({str(row["engine"]) for row in rows if row["engine"]}),
                "elements": [row["element_id"] for row in rows],
                "span": [rows[0]["index"], rows[-1]["index"]] if rows else [],
                "types": sorted({row["type"] for row in rows}),
                "pages": sorted({row["page"] for row in rows if row["page"] is not None}),
                "settings": self._settings("parsed_documents"),
            },
            would_change="another parser of the variant, another setting or version of it",
        )

    def _chunk(self, chunk: Row | None) -> UnitStep:
        names = ("index", "tokens", "char_start", "char_end", "text_hash", "pages", "section_path")
        facts = {name: as_json((chunk or {}).get(name)) for name in names}
        own = int(str(self.unit["char_end"])) - int(str(self.unit["char_start"]))
        header = str(self.unit["text"])[: len(str(self.unit["text"])) - own]
        table, version = self._chunks_held
        return self._step(
            "chunks",
            table,
            key="chunk_id",
            value=self.unit["unit_id"],
            version=version,
            facts={"chunking": self._recipe.get("chunking"), "header": header.strip() or None}
            | facts
            | {"settings": self._settings("chunks")},
            would_change="another chunking of the variant, or another size, overlap, header or "
            "tokenizer of it",
        )

    def _indexed(self, asset: str, pin: Pin | None) -> Iterator[UnitStep]:
        """The unit with its vector, and in the table that is searched."""
        is_row = self.unit["domain"] == "table"
        complete_set = self.complete_set
        settings = complete_set.row_settings if is_row else None
        vectors: dict[str, Json] = {
            "model": (complete_set.row_model if is_row else None) or complete_set.model,
            "encoder_id": as_json(self.unit["encoder_id"]),
            "windows": as_json(self.unit["windows"]),
            "settings": as_json(settings or complete_set.settings),
        }
        if pin:
            yield self._step(
                asset,
                pin.table,
                key="unit_id",
                value=self.unit["unit_id"],
                version=pin.version,
                facts=vectors,
                would_change="another model of the variant: other weights, prefixes, pooling, "
                "normalisation or dimensions",
            )
        yield self._step(
            "joint_index",
            complete_set.joint.table,
            key="unit_id",
            value=self.unit["unit_id"],
            version=complete_set.joint.version,
            facts={
                "data_version": complete_set.joint.data_version,
                "recorded_at": complete_set.recorded_at or None,
            },
            would_change="nothing of its own: it follows the tables of documents and rows",
        )

    def _step(
        self,
        asset: str,
        table: str,
        *,
        key: str,
        value: object,
        facts: Mapping[str, Json],
        would_change: str,
        version: int | None = None,
    ) -> UnitStep:
        at = version or self.store.version(table)
        is_there = row_of(self.store, table, key=key, value=str(value), version=at) is not None
        return UnitStep(
            asset=asset,
            table=folder_of(self.store.generation(table)),
            version=at,
            made=made_of(self.store, table, key=key, value=str(value), version=at)
            if is_there
            else None,
            facts=facts,
            would_change=would_change,
        )

    @property
    def _elements_held(self) -> tuple[str, int | None]:
        pin = self.pointer.elements if self.pointer else None
        return self._held(self.complete_set.elements, pin)

    @property
    def _chunks_held(self) -> tuple[str, int | None]:
        pin = self.pointer.chunks if self.pointer else None
        return self._held(self.complete_set.chunks, pin)

    def _held(self, table: str, pin: Pin | None) -> tuple[str, int | None]:
        """A table at the version that serves while that is kept, else at the newest."""
        if pin is not None and holds(self.store, pin):
            return pin.table, pin.version
        return table, None

    def _row(self, table: str, key: str, value: object) -> Row | None:
        return row_of(self.store, table, key=key, value=str(value))

    @property
    def _is_as_configured(self) -> bool:
        """Whether the config still has the recipe that made the unit."""
        if self.variant not in self.config.variants:
            return False
        return self.complete_set.is_of(self.store, self.config.tables_of(self.variant))

    @property
    def _recipe(self) -> Mapping[str, str]:
        """The names of parser, chunking and serializer, as the config or the table's name has."""
        if self._is_as_configured:
            chosen = self.config.variant(self.variant)
            names = (chosen.parser, chosen.chunking, chosen.serializer)
        else:
            names = name_of(self.complete_set.joint.table).rpartition("-")[0].split("__")[1:4]
        return dict(zip(("parser", "chunking", "serializer"), names, strict=False))

    def _settings(self, asset: str) -> Json:
        """The settings of a step by content; None where the config has others by now."""
        if not self._is_as_configured:
            return None
        return as_json(variant_steps(self.config, self.variant)[asset].recipe)

    @property
    def _serialized(self) -> str | None:
        """The table of the rows' texts; None where the config tells of another recipe."""
        if not self._is_as_configured:
            return None
        return self.config.tables_of(self.variant).serialized_rows

    def _parser_version(self, parser: str | None) -> str | None:
        """The version of the parser as it is installed here; None if it is not."""
        from rag_assets.documents.parsers import parsers_of
        from rag_assets.documents.parsers.description import ParserUnavailableError

        file = self._row(schemas.DOCUMENT_FILES_TABLE, "document_id", self.unit["document_id"])
        if file is None or parser not in self.config.parsers:
            return None
        try:
            parsers = parsers_of(self.config.parsers[parser], name=parser)
            return parsers[str(file["media_type"])].version
        except (KeyError, ParserUnavailableError):
            return None


def _pairs(row: Row | None) -> Sequence[Mapping[str, object]]:
    pairs = (row or {}).get("pairs")
    return pairs if isinstance(pairs, list) else []


def as_json(value: object) -> Json:
    """`value` as JSON has it; a time as text."""
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, Mapping):
        return {str(name): as_json(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(one) for one in value]
    return str(value)
