"""How complete the parsed documents are: shares over the whole corpus, and the worst documents.

Everything comes from the accounts of the documents, which the parsing pass keeps. A share is over
pages, letters, tables or figures, so that one long document weighs as much as it holds.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from rag_assets import quality
from rag_assets.quality import Example, Expectation, Tally

LETTERS_OF_A_LANGUAGE = 500
"""Letters from which the language of a document ought to be told."""

Row: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Share:
    """A measure of the corpus: so much of `part` in `whole`, both summed over the documents."""

    check: str
    total: str
    part: str
    whole: str
    description: str
    most: float


CORPUS = (
    Share(
        "few_pages_lost",
        "lost_pages_share",
        "lost_pages",
        "pages",
        "The share of pages that nobody could read is small.",
        0.2,
    ),
    Share(
        "few_letters_lost",
        "lost_letters_share",
        "lost_letters",
        "layer_letters",
        "The share of the text layers' letters that no element has is small.",
        0.2,
    ),
    Share(
        "few_letters_garbled",
        "garbled_share",
        "garbled",
        "letters",
        "The share of letters that make no sense is small.",
        0.1,
    ),
    Share(
        "few_pages_empty",
        "empty_pages_share",
        "empty_pages",
        "pages",
        "The share of pages that gave nothing is small.",
        0.2,
    ),
    Share(
        "few_tables_doubtful",
        "doubtful_tables_share",
        "doubtful_tables",
        "tables",
        "The share of tables that fail their validity check is small.",
        0.5,
    ),
    Share(
        "few_figures_lost",
        "lost_figures_share",
        "lost_figures",
        "figures",
        "The share of figures without picture and words is small.",
        0.5,
    ),
    Share(
        "few_documents_of_unknown_language",
        "unknown_language_share",
        "of_unknown_language",
        "documents",
        "The share of longer documents whose language cannot be told is small.",
        0.2,
    ),
)

DOCUMENTS = (
    Share(
        "pages_of_each_document",
        "most_pages_lost",
        "lost_pages",
        "pages",
        "No document lacks more than this share of its pages.",
        0,
    ),
    Share(
        "letters_of_each_document",
        "most_letters_lost",
        "lost_letters",
        "layer_letters",
        "No document lacks more than this share of its text layer's letters.",
        0.1,
    ),
    Share(
        "decoding_of_each_document",
        "most_letters_garbled",
        "garbled",
        "letters",
        "In no document more than this share of the letters makes no sense.",
        0.02,
    ),
)


def expectations() -> list[Expectation]:
    """What must hold of the measures; the config has the bounds."""
    return [
        quality.at_most(share.check, of=share.total, description=share.description, most=share.most)
        for share in (*CORPUS, *DOCUMENTS)
    ]


def measure(accounts: Iterable[Row], *, into: Tally, names: Mapping[str, str]) -> None:
    """Sum the accounts up; `names` tells what a person calls each document that there is."""
    rows = [_with_counts(row, names) for row in accounts if row["document_id"] in names]
    for share in CORPUS:
        worst = _worst(rows, share, by=partial(_part, share=share))
        whole = sum(_number(row[share.whole]) for row in rows)
        part = sum(_number(row[share.part]) for row in rows)
        into.put(share.total, part / whole if whole else 0.0, examples=_examples(worst, share))
    for share in DOCUMENTS:
        worst = _worst(rows, share, by=partial(_ratio, share=share))
        most = _ratio(worst[0], share=share) if worst else 0.0
        into.put(share.total, most, examples=_examples(worst, share))


def _with_counts(row: Row, names: Mapping[str, str]) -> Row:
    is_unknown = row["language"] is None and _number(row["letters"]) >= LETTERS_OF_A_LANGUAGE
    return {
        **row,
        "document": names[str(row["document_id"])],
        "documents": int(_number(row["letters"]) >= LETTERS_OF_A_LANGUAGE),
        "of_unknown_language": int(is_unknown),
        "doubtful_tables": _number(row["tables"]) - _number(row["sound_tables"]),
        "lost_figures": _number(row["figures"]) - _number(row["kept_figures"]),
    }


def _worst(rows: Sequence[Row], share: Share, *, by: Callable[[Row], float]) -> list[Row]:
    found = [row for row in rows if _number(row[share.part])]
    return sorted(found, key=lambda row: (-by(row), str(row["document"])))[: quality.EXAMPLES_SHOWN]


def _examples(rows: Sequence[Row], share: Share) -> Iterator[Example]:
    for row in rows:
        example = {
            "document": str(row["document"]),
            share.part: _number(row[share.part]),
            share.whole: _number(row[share.whole]),
        }
        yield example | ({"why": str(row["failed"])} if share.part == "lost_pages" else {})


def _part(row: Row, *, share: Share) -> float:
    return _number(row[share.part])


def _ratio(row: Row, *, share: Share) -> float:
    whole = _number(row[share.whole])
    return _number(row[share.part]) / whole if whole else 0.0


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
