"""Elements as rows of their table: here they get the ids of their document."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

import pyarrow as pa

from rag_assets import schemas
from rag_assets.documents.elements import Cells, Element, Span
from rag_assets.identity import element_ids

CONTENT = pa.schema(
    [field for field in schemas.ELEMENTS if field.name not in schemas.SYSTEM_COLUMNS]
)
"""Columns of the table of elements, without those that `sync` keeps."""


def to_arrow(
    documents: Mapping[str, Sequence[Element]],
    *,
    parser: str,
    engine_of: Callable[[str, int | None], str],
) -> pa.Table:
    """The content columns of `schemas.ELEMENTS` for some documents; languages are not told yet.

    Args:
        documents: For the id of each document its elements in reading order.
        parser: Name of the parser in the config; with the position it gives the element's id.
        engine_of: Says who read a page of a document.
    """
    places = [
        (document, index)
        for document, elements in documents.items()
        for index in range(len(elements))
    ]
    elements = [element for held in documents.values() for element in held]
    columns = {
        "element_id": [
            name
            for document, held in documents.items()
            for name in element_ids(document, parser, count=len(held))
        ],
        "document_id": [document for document, _ in places],
        "index": [index for _, index in places],
        "type": [element.type for element in elements],
        "page": [element.page for element in elements],
        "level": [element.level for element in elements],
        "section_path": [element.section_path for element in elements],
        "box": [element.box for element in elements],
        "text": [element.text for element in elements],
        "cells": [_json(element.cells) for element in elements],
        "spans": [_json(element.spans) for element in elements],
        "image": [element.image.key if element.image else None for element in elements],
        "language": [None] * len(elements),
        "confidence": [element.confidence for element in elements],
        "engine": [
            engine_of(document, element.page)
            for document, held in documents.items()
            for element in held
        ],
        "problem": [element.problem for element in elements],
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


def renamed(rows: pa.Table, *, document: str, parser: str) -> pa.Table:
    """Elements of one document as those of another."""
    ids = pa.array(element_ids(document, parser, count=rows.num_rows), pa.string())
    columns = {
        **{name: rows[name] for name in rows.column_names},
        "element_id": ids.take(rows["index"]),
        "document_id": pa.array([document] * rows.num_rows, pa.string()),
    }
    return pa.table(columns, schema=CONTENT)
