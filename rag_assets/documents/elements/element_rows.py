"""Elements as rows of their table, with ids that depend on their document, and languages."""

import json
from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.columns.id_columns import element_ids
from rag_assets.documents.elements.element import Cells, Element, Span
from rag_assets.quality.languages import language_of_each

CONTENT = pa.schema(
    [field for field in schemas.ELEMENTS if field.name not in schemas.SYSTEM_COLUMNS]
)
"""Columns of the table of elements, without those that `sync` keeps."""
_AS_THEY_ARE = ("type", "page", "level", "section_path", "box", "text", "confidence", "problem")
"""Fields of elements that are columns of the same name."""


def to_arrow(
    documents: Mapping[str, Sequence[Element]],
    *,
    engine: str,
    engines: Iterable[str],
) -> pa.Table:
    """The content columns of `schemas.ELEMENTS` for some documents, without languages yet.

    Args:
        documents: For the id of each document its elements in reading order.
        engine: The parser's engine: part of the elements' ids, with their positions.
        engines: For each element the engine that read it.
    """
    counts = [len(elements) for elements in documents.values()]
    owners = pa.array(np.repeat(np.arange(len(counts)), counts))
    rows = list(chain.from_iterable(documents.values()))
    values = dict(zip(Element._fields, zip(*rows, strict=True), strict=True)) if rows else {}
    columns = {
        "element_id": element_ids(list(documents), engine, counts=counts),
        "document_id": pa.array(list(documents), pa.string()).take(owners),
        "index": list(chain.from_iterable(map(range, counts))),
        **{name: values.get(name, ()) for name in _AS_THEY_ARE},
        "cells": [_json(cells) for cells in values.get("cells", ())],
        "spans": [_json(spans) for spans in values.get("spans", ())],
        "image": [image.key if image else None for image in values.get("image", ())],
        "language": pa.nulls(len(rows), pa.string()),
        "engine": list(engines),
    }
    return pa.table(columns, schema=CONTENT)


def _json(value: Cells | tuple[Span, ...] | None) -> str | None:
    return None if value is None else json.dumps(value, ensure_ascii=False)


def pictures(elements: Iterable[Element]) -> pa.Table:
    """The pictures of some elements (`schemas.IMAGES`)."""
    shown = [element.image for element in elements if element.image]
    columns = {
        "image": [image.key for image in shown],
        "media_type": [image.media_type for image in shown],
        "width": [image.width for image in shown],
        "height": [image.height for image in shown],
        "data": [image.data for image in shown],
    }
    return pa.table(columns, schema=schemas.IMAGES)


def renamed(rows: pa.Table, *, document: str, engine: str) -> pa.Table:
    """Elements of one document as those of another."""
    ids = element_ids([document], engine, counts=[rows.num_rows])
    columns = {
        **{name: rows[name] for name in rows.column_names},
        "element_id": ids.take(rows["index"]),
        "document_id": pa.array([document] * rows.num_rows, pa.string()),
    }
    return pa.table(columns, schema=CONTENT)


def with_languages(table: pa.Table) -> pa.Table:
    """Elements with their languages, where their text is long enough to tell."""
    if not table.num_rows:
        return table
    place = table.schema.get_field_index("language")
    languages = language_of_each(table["text"].combine_chunks())
    return table.set_column(place, CONTENT.field(place), languages)


def language_of_documents(table: pa.Table) -> dict[str, str]:
    """For each document the language of most of its text."""
    letters = table.select(["document_id", "language"]).append_column(
        "letters", pc.utf8_length(table["text"])
    )
    letters = letters.filter(pc.is_valid(letters["language"]))
    sums = letters.group_by(["document_id", "language"]).aggregate([("letters", "sum")])
    rows = sums.sort_by([("letters_sum", "ascending"), ("language", "descending")])
    return dict(zip(rows["document_id"].to_pylist(), rows["language"].to_pylist(), strict=True))
