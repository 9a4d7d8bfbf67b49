"""Units that a language model is shown, made by hand."""

from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.row_cells import FilledCell, RowCells


def chunk(unit_id: str, text: str, **parts) -> Hit:
    fields = {
        "rank": 1,
        "score": 1.0,
        "domain": "document",
        "source": "handbook",
        "uri": f"{unit_id}.pdf",
        "document_id": unit_id,
        "title": "",
        "section": "Springs",
        "pages": (4,),
        "table": None,
        "row_key": None,
        "type": "text",
        "language": "en",
        "image": None,
        "fields": (),
        "text_hash": f"hash of {unit_id}",
        "version": None,
        "is_superseded": False,
        "arms": {},
        "context": text,
    }
    return Hit(unit_id=unit_id, text=text, **{**fields, **parts})


def row(unit_id: str, **cells: str) -> tuple[Hit, RowCells]:
    text = "; ".join(f"{name}: {value}" for name, value in cells.items())
    hit = chunk(
        unit_id,
        text,
        domain="table",
        source="laboratory",
        uri="laboratory/steels",
        title="steels",
        table="steels",
        row_key=unit_id,
        pages=(),
        section="",
    )
    filled = tuple(
        FilledCell(name, name.replace("_", " "), value, value.replace(".", "").isdecimal())
        for name, value in cells.items()
    )
    return hit, RowCells(unit_id, "laboratory", "steels", "steels", unit_id, filled)
