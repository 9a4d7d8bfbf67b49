"""How completely documents were parsed: how many are damaged, and which are the worst.

Everything is computed from the accounts of the documents (`parse_report_rows`). Checks that can
block the index count documents, not pages: otherwise one file could decide, by a number of pages
that it merely claims to have. Pages beyond a limit count nowhere: they are in quarantine, with the
limit.
Warnings look at shares of all pages, tables and figures, and at the worst documents.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from json import loads
from typing import TypeAlias

from rag_assets import quality
from rag_assets.quality import Example, Tally

FEWEST_DOCUMENTS = 20
"""A corpus of fewer documents is blocked by nothing: a few bad files are a large share of it."""
LETTERS_OF_A_LANGUAGE = 500
"""The language of a document with at least so many letters should be known."""

Row: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ShareMeasure:
    """A total: the share of `part` in `whole`, both columns of accounts."""

    total: str
    part: str
    whole: str


@dataclass(frozen=True, slots=True)
class DamageMeasure(ShareMeasure):
    """A total: the share of documents that lack more than the `allowed` share."""

    allowed: float
    """The share of `whole` that may be missing from a document."""


DAMAGED = (
    DamageMeasure("documents_without_pages_share", "lost_pages", "pages_to_read", allowed=0.2),
    DamageMeasure("documents_without_letters_share", "lost_letters", "layer_letters", allowed=0.2),
    DamageMeasure("documents_garbled_share", "garbled", "letters", allowed=0.1),
)
"""Shares of damaged documents in all: if most are damaged, the parser is broken."""

CORPUS = (
    ShareMeasure("empty_pages_share", "empty_pages", "parsed"),
    ShareMeasure("doubtful_tables_share", "doubtful_tables", "tables"),
    ShareMeasure("lost_figures_share", "lost_figures", "figures"),
    ShareMeasure("unknown_language_share", "of_unknown_language", "documents"),
)
"""Shares over all documents together."""

DOCUMENTS = (
    ShareMeasure("most_pages_lost", "lost_pages", "pages_to_read"),
    ShareMeasure("most_letters_lost", "lost_letters", "layer_letters"),
    ShareMeasure("documents_in_doubt", "in_doubt", "whole"),
    ShareMeasure("most_letters_garbled", "garbled", "letters"),
)
"""Shares for each document: the total is that of the worst one."""


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
