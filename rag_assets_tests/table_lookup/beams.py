"""A small catalogue for tests: beams, with their measures, keys and empty cells."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from rag_assets.retrieval.glossary import Glossary
from rag_assets.table_lookup.tables.catalogue import Catalogue, TableContents, contents_of
from rag_assets.table_lookup.tables.cells import ColumnCells

SOURCE = "shop"
BEAMS: Mapping[str, Sequence[str | None]] = {
    "id": ["1", "2", "3", "4", "5", "10"],
    "name": ["HEA 100", "HEA 120", "IPE 200", "IPE 220", "UNP 80", "UNP 80"],
    "mill": ["Northern Mill", "northern  mill", "Southern", "Southern", "Southern", None],
    "mass": ["16.7", "19.9", "22.4", "26.2", "8.64", "9.1"],
    "stock": ["12", "0", "7", None, "40", "280 max"],
}
HEADINGS = {
    "id": "id",
    "name": "Section",
    "mill": "Mill",
    "mass": "Mass per metre (kg/m)",
    "stock": "In stock",
}


def contents(
    columns: Mapping[str, Sequence[str | None]] = BEAMS,
    *,
    table: str = "beams",
    title: str = "Steel beams",
    headings: Mapping[str, str] = HEADINGS,
    hidden: Sequence[str] = ("id",),
    keys: Sequence[str] | None = None,
) -> TableContents:
    """A table of texts; the first column is its key unless given."""
    first = next(iter(columns))
    named = [str(key) for key in (keys or columns[first])]
    cells = [
        ColumnCells(
            name,
            headings.get(name, name),
            name in hidden,
            pa.array(values, pa.string()),
            pa.repeat(False, len(values)),
        )
        for name, values in columns.items()
    ]
    return contents_of(
        (SOURCE, table, title),
        row_ids=pa.array([f"{table}-{key}" for key in named]),
        row_keys=pa.array(named),
        text_hashes=pa.array([f"hash of {key}" for key in named]),
        cells=cells,
    )


def catalogue(
    *tables: TableContents, data_version: str = "v1", glossary: Glossary | None = None
) -> Catalogue:
    """A catalogue of these tables; of the beams unless given."""
    held = tables or (contents(),)
    by_name = {(each.info.source, each.info.table): each for each in held}
    return Catalogue(data_version=data_version, load=lambda: (by_name, ()), glossary=glossary)
