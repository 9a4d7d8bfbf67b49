"""How completely documents were parsed: how many are damaged, and which are the worst.

Everything is computed from the accounts of the documents (`account_rows`). Checks that can block
the index count documents, not pages: otherwise one file could decide, by a number of pages that it
merely claims to have. Pages beyond a limit count nowhere: they are in quarantine, with the limit.
Warnings look at shares of all pages, tables and figures, and at the worst documents.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from json import loads
from typing import TypeAlias

from rag_assets import quality
from rag_assets.quality import Example, Expectation, Tally

FEWEST_DOCUMENTS = 20
"""With fewer documents a few bad files are a large share, so they block nothing."""
LETTERS_OF_A_LANGUAGE = 500
"""The language of a document with at least so many letters should be known."""

LOOK = "see rag-assets status --documents for each of them; then"
PAGES = (
    f"{LOOK} restore the files, name another parser in parsers.NAME.fallback, install the engine "
    "of parsers.NAME.ocr, or leave them out with sources.documents.exclude"
)
LETTERS = (
    f"{LOOK} compare another parser (parsers.NAME.engine), save the files again from the program "
    "that made them, or leave them out with sources.documents.exclude"
)
DOUBTS = f"{LOOK} do what is said of it"
LAYOUT = f"{LOOK} compare another parser (parsers.NAME.engine)"

Row: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ShareMeasure:
    """A check of the share of `part` in `whole`, both columns of accounts."""

    check: str
    total: str
    part: str
    whole: str
    description: str
    most: float
    remedy: str


@dataclass(frozen=True, slots=True)
class DamageMeasure(ShareMeasure):
    """A check of how many documents lack more than the `allowed` share."""

    allowed: float
    """Share of `whole` that may be missing from a document."""


DAMAGED = (
    DamageMeasure(
        "few_pages_lost",
        "documents_without_pages_share",
        "lost_pages",
        "pages_to_read",
        "Few documents have lost more than a fifth of their pages, which nobody could read.",
        0.5,
        PAGES,
        allowed=0.2,
    ),
    DamageMeasure(
        "few_letters_lost",
        "documents_without_letters_share",
        "lost_letters",
        "layer_letters",
        "Few documents have lost more than a fifth of their text layer's letters.",
        0.5,
        LETTERS,
        allowed=0.2,
    ),
    DamageMeasure(
        "few_letters_garbled",
        "documents_garbled_share",
        "garbled",
        "letters",
        "In few documents more than a tenth of the letters makes no sense.",
        0.5,
        LETTERS,
        allowed=0.1,
    ),
)
"""What must hold of all documents together: if most are damaged, the parser is broken."""

CORPUS = (
    ShareMeasure(
        "few_pages_empty",
        "empty_pages_share",
        "empty_pages",
        "parsed",
        "The share of pages that gave nothing is small.",
        0.2,
        PAGES,
    ),
    ShareMeasure(
        "few_tables_doubtful",
        "doubtful_tables_share",
        "doubtful_tables",
        "tables",
        "The share of tables that fail their validity check is small.",
        0.5,
        LAYOUT,
    ),
    ShareMeasure(
        "few_figures_lost",
        "lost_figures_share",
        "lost_figures",
        "figures",
        "The share of figures without picture and words is small.",
        0.5,
        LAYOUT,
    ),
    ShareMeasure(
        "few_documents_of_unknown_language",
        "unknown_language_share",
        "of_unknown_language",
        "documents",
        "The share of longer documents whose language cannot be told is small.",
        0.2,
        LETTERS,
    ),
)
"""What should hold of all documents together."""

DOCUMENTS = (
    ShareMeasure(
        "pages_of_each_document",
        "most_pages_lost",
        "lost_pages",
        "pages_to_read",
        "No document lacks more than this share of its pages.",
        0,
        PAGES,
    ),
    ShareMeasure(
        "letters_of_each_document",
        "most_letters_lost",
        "lost_letters",
        "layer_letters",
        "No document lacks more than this share of its text layer's letters.",
        0.1,
        LETTERS,
    ),
    ShareMeasure(
        "no_document_in_doubt",
        "documents_in_doubt",
        "in_doubt",
        "whole",
        "No document lacks words that its file shows, and none is of an uncertain encoding.",
        0,
        DOUBTS,
    ),
    ShareMeasure(
        "decoding_of_each_document",
        "most_letters_garbled",
        "garbled",
        "letters",
        "In no document more than this share of the letters makes no sense.",
        0.02,
        LETTERS,
    ),
)
"""What should hold of each document."""


def expectations() -> list[Expectation]:
    """What must hold of the measures; the config has the bounds."""
    return [
        quality.at_most(
            share.check,
            of=share.total,
            description=share.description,
            most=share.most,
            remedy=share.remedy,
        )
        for share in (*DAMAGED, *CORPUS, *DOCUMENTS)
    ]


def measure(accounts: Iterable[Row], *, into: Tally, names: Mapping[str, str]) -> None:
    """Add the measures of the accounts to `into`; `names` are the URIs of the current documents."""
    rows = [_with_counts(row, names) for row in accounts if row["document_id"] in names]
    for damaged in DAMAGED:
        _put_damaged(damaged, rows, into=into)
    for share in CORPUS:
        worst = _worst(rows, share, by=partial(_part, share=share))
        whole = sum(_number(row[share.whole]) for row in rows)
        part = sum(_number(row[share.part]) for row in rows)
        into.put(share.total, part / whole if whole else 0.0, examples=_examples(worst, share))
    for share in DOCUMENTS:
        worst = _worst(rows, share, by=partial(_ratio, share=share))
        most = _ratio(worst[0], share=share) if worst else 0.0
        into.put(share.total, most, examples=_examples(worst, share))


def _put_damaged(damaged: DamageMeasure, rows: Sequence[Row], *, into: Tally) -> None:
    measured = [row for row in rows if _number(row[damaged.whole])]
    found = [row for row in measured if _ratio(row, share=damaged) > damaged.allowed]
    share = len(found) / len(measured) if len(measured) >= FEWEST_DOCUMENTS else 0.0
    worst = _worst(found, damaged, by=partial(_ratio, share=damaged))
    into.put(damaged.total, share, examples=_examples(worst, damaged))


def _with_counts(row: Row, names: Mapping[str, str]) -> Row:
    is_unknown = row["language"] is None and _number(row["letters"]) >= LETTERS_OF_A_LANGUAGE
    return {
        **row,
        "document": names[str(row["document_id"])],
        "pages_to_read": _number(row["parsed"]) + _number(row["lost_pages"]),
        "empty_pages": min(_number(row["empty_pages"]), _number(row["parsed"])),
        "documents": int(_number(row["letters"]) >= LETTERS_OF_A_LANGUAGE),
        "of_unknown_language": int(is_unknown),
        "doubtful_tables": _number(row["tables"]) - _number(row["sound_tables"]),
        "in_doubt": int(bool(row.get("doubts"))),
        "whole": 1,
        "lost_figures": _number(row["figures"]) - _number(row["kept_figures"]),
    }


def _worst(rows: Sequence[Row], share: ShareMeasure, *, by: Callable[[Row], float]) -> list[Row]:
    found = [row for row in rows if _number(row[share.part])]
    return sorted(found, key=lambda row: (-by(row), str(row["document"])))[: quality.EXAMPLES_SHOWN]


def _examples(rows: Sequence[Row], share: ShareMeasure) -> Iterator[Example]:
    for row in rows:
        example = {
            "document": str(row["document"]),
            _words(share.part): _number(row[share.part]),
            _words(share.whole): _number(row[share.whole]),
        }
        why = _why(row) if share.part == "lost_pages" else ""
        if share.part == "in_doubt":
            example, why = {"document": str(row["document"])}, "; ".join(_doubts(row))
        yield example | ({"why": why} if why else {})


def _words(column: str) -> str:
    return column.replace("_", " ")


def _why(row: Row) -> str:
    """Why some pages of a document could not be read."""
    parts = loads(str(row["failed"]))
    return "; ".join(f"pages {part['pages']}: {part['reason']}" for part in parts)


def _doubts(row: Row) -> list[str]:
    """What may be wrong with the text of a document."""
    return loads(str(row.get("doubts") or "[]"))


def _part(row: Row, *, share: ShareMeasure) -> float:
    return _number(row[share.part])


def _ratio(row: Row, *, share: ShareMeasure) -> float:
    whole = _number(row[share.whole])
    return _number(row[share.part]) / whole if whole else 0.0


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
