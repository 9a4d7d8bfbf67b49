"""Hits and rows for tests, as a search finds them."""

from collections.abc import Sequence

import numpy as np

from rag_assets.models.embedding import Embedded
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.row_cells import FilledCell, RowCells


class LastIsNearest:
    """An encoder to which the last of several texts, embedded as passages, is nearest by `much`."""

    model_id = encoder_id = "fake"

    def __init__(self, much: float = 0.0) -> None:
        self.much = much

    def embed_queries(self, texts: Sequence[str], /) -> np.ndarray:
        assert len(texts) == 1, "a question is a query, and a passage is none"
        return np.ones((1, 1), np.float32)

    def embed_passages(self, texts: Sequence[str], /) -> Embedded:
        vectors = np.zeros((len(texts), 1), np.float32)
        vectors[-1] = self.much
        return Embedded(vectors, np.ones(len(texts), np.int32), {}, len(texts))


def document(
    unit_id: str, text: str, *, rank: int = 1, title: str = "", pages: tuple[int, ...] = ()
) -> Hit:
    """A chunk of a document."""
    return _hit(unit_id, text, rank=rank, domain="document", title=title or unit_id, pages=pages)


def row(unit_id: str, *, rank: int = 1, text: str = "a row") -> Hit:
    """A row of a table, of which `cells_of` has the cells."""
    return _hit(unit_id, text, rank=rank, domain="table", title="Beams")


def cells_of(unit_id: str, cells: dict[str, str | float]) -> RowCells:
    """The cells of a row: heading to value."""
    return RowCells(
        row_id=unit_id,
        source="shop",
        table="beams",
        title="Beams",
        row_key=f"key of {unit_id}",
        cells=tuple(
            FilledCell(heading.lower(), heading, f"{value}", not isinstance(value, str))
            for heading, value in cells.items()
        ),
    )


def _hit(
    unit_id: str,
    text: str,
    *,
    rank: int,
    domain: str,
    title: str,
    pages: tuple[int, ...] = (),
) -> Hit:
    is_row = domain == "table"
    return Hit(
        unit_id=unit_id,
        rank=rank,
        score=1 / rank,
        domain=domain,
        source="shop",
        uri="shop/beams" if is_row else f"{unit_id}.md",
        document_id=None if is_row else unit_id,
        title=title,
        section="",
        pages=pages,
        table="beams" if is_row else None,
        row_key=f"key of {unit_id}" if is_row else None,
        type=None if is_row else "text",
        language="en",
        image=None,
        fields=(),
        text=text,
        text_hash=f"hash of {unit_id}",
        context=text,
        version=None,
        is_superseded=False,
        arms={},
    )
