"""Tables as tests ask them: made in memory, and what is made of them."""

from collections.abc import Mapping, Sequence

import pyarrow as pa

from rag_assets.config.questions import Questions
from rag_assets.evaluation.gold import RowGold
from rag_assets.questions.draft import QuestionDraft
from rag_assets.questions.from_tables import made_of
from rag_assets.table_lookup.tables.catalogue import TableContents, contents_of
from rag_assets.table_lookup.tables.cells import ColumnCells

Columns = Mapping[str, Sequence[str | None]]

STEELS = [f"{letter}{number}" for letter in "KLM" for number in range(10, 30, 2)]
MILLS = ["Northern Mill", "Southern", "Southern", "Eastern Works", None]
TABLE: Columns = {
    "id": [f"S{number:03d}" for number in range(len(STEELS))],
    "desig": STEELS,
    "suppl": [MILLS[number % 5] for number in range(len(STEELS))],
    "rp02_mpa": [f"{200 + 13 * (number * 7 % 30)}" for number in range(len(STEELS))],
    "rho": [None if number % 4 == 0 else f"7.{60 + number}" for number in range(len(STEELS))],
    "salary": [f"{1000 + number}" for number in range(len(STEELS))],
}
HEADINGS = {
    "id": "record number",
    "desig": "steel designation",
    "suppl": "supplier",
    "rp02_mpa": "yield strength [MPa]",
    "rho": "density [g/cm³]",
    "salary": "salary of the buyer [EUR]",
}
HIDDEN = ("id", "salary")


def steels(
    columns: Columns = TABLE,
    *,
    table: str = "steel_grades",
    title: str = "steel grades",
    headings: Mapping[str, str] = HEADINGS,
    hidden: Sequence[str] = HIDDEN,
    keys: Sequence[str] | None = None,
) -> TableContents:
    """A table of texts, whose first column is its key."""
    named = [str(key) for key in keys or next(iter(columns.values()))]
    cells = [
        ColumnCells(
            name,
            headings.get(name, name.replace("_", " ")),
            name in hidden,
            pa.array(values, pa.string()),
            pa.repeat(False, len(values)),
        )
        for name, values in columns.items()
    ]
    return contents_of(
        ("shop", table, title),
        row_ids=pa.array([f"{table}-{key}" for key in named], pa.string()),
        row_keys=pa.array(named, pa.string()),
        text_hashes=pa.array(named, pa.string()),
        cells=cells,
    )


def settings(*languages: str, rows: int = 10) -> Questions:
    return Questions.model_validate({"languages": languages or ("en",), "rows": rows})


def drafts_of(contents: TableContents, *languages: str, draws: int = 24, rows: int = 10, **more):
    """All drafts of a table, those that were left out as well."""
    return made_of(contents, settings(*languages, rows=rows), draws=draws, **more).drafts


def questions_of(contents: TableContents, *languages: str, **more) -> list[QuestionDraft]:
    """The questions of a table."""
    return [each for each in drafts_of(contents, *languages, **more) if not each.left_out]


def keys_of(draft: QuestionDraft) -> set[str]:
    return {each.row_key for each in draft.gold if isinstance(each, RowGold)}
