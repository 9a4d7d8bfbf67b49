"""What speaks against giving quoted words as an answer, as far as their words can tell.

A question names things and asks for something. Where nothing that is cited has a name or code of
it, or a row says nothing of what is asked for, the quotation is evidence and no answer. So is one
that shares no word with the question. How likely a quotation is to answer is for `refusal`, where a
rule was fitted; this needs none.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from rag_assets.answering.answer import Sentence
from rag_assets.answering.checks.passages import language_of
from rag_assets.answering.choosing import is_named_by
from rag_assets.answering.citations import Cell, Span
from rag_assets.answering.refusal.terms import HeldTerms, SoughtTerm, terms_of
from rag_assets.answering.row_cells import RowCells
from rag_assets.answering.wording import Vocabulary, folded, plain, terms
from rag_assets.retrieval.hits import Hit

if TYPE_CHECKING:
    from rag_assets.answering.lookup.looking_up import LookedUp

NAMED = 3
"""Words that an objection names."""
LONG_NAME = 5
"""Letters and digits of a name from which it may stand inside a longer word."""
_WORD_AFTER = re.compile(r"(?:-[^\W\d_A-Z]{3,})+$")
WITHOUT_BLANKS = frozenset({"CJK", "HIRAGANA", "KATAKANA", "THAI", "LAO", "KHMER", "MYANMAR"})
"""Scripts that set no blanks between words."""
NOTHING_ASKED = "the question names nothing to look for"
NOTHING_SHARED = "what was found shares no word with the question"


def objection_to(
    question: str,
    sentences: Sequence[Sentence],
    *,
    hits: Sequence[Hit],
    rows: Mapping[str, RowCells],
    looked: "LookedUp | None",
) -> str:
    """Why quoted `sentences` do not answer `question`, in one sentence; empty if nothing says so.

    Args:
        question: As it was asked.
        sentences: What would be quoted; at least one.
        hits: What was found; the sentences are of some of these.
        rows: The cells of the rows among the hits, by their unit.
        looked: What the lookup gave, where one was made.
    """
    if not terms(question):
        return NOTHING_ASKED
    told = " ".join(sentence.text for sentence in sentences)
    cited = [*_cited_rows(sentences, rows)]
    text = " ".join([told, *_named_by(sentences), *map(_all_of, cited)])
    refused = looked if looked is not None and looked.outcome == "refused" else None
    whole = " ".join([text, *_units_of(sentences, hits)])
    names = [*(refused.unknown.names if refused else ()), *_names_of(question)]
    absent = [
        name
        for name in dict.fromkeys(names)
        if not _holds_name(whole, name) and not _is_formula_of(cited, name)
    ]
    if absent:
        is_told = refused is not None and cited and set(absent) <= set(refused.unknown.names)
        return refused.reason if is_told else _not_held(absent, hits)
    is_of_rows = cited and not _is_about_a_row(sentences, cited)
    if refused and is_of_rows and _leaves_out(told, refused.unknown.asked):
        return refused.reason
    return NOTHING_SHARED if _shares_nothing(question, text) else ""


def _cited_rows(sentences: Sequence[Sentence], rows: Mapping[str, RowCells]) -> Iterator[RowCells]:
    units = {
        citation.unit_id
        for sentence in sentences
        for citation in sentence.citations
        if isinstance(citation, Cell)
    }
    yield from (rows[unit] for unit in sorted(filter(None, units)) if unit in rows)


def _units_of(sentences: Sequence[Sentence], hits: Sequence[Hit]) -> Iterator[str]:
    """The whole texts of the units that are cited."""
    cited = {
        citation.unit_id
        for sentence in sentences
        for citation in sentence.citations
        if isinstance(citation, Cell | Span)
    }
    yield from (hit.text for hit in hits if hit.unit_id in cited)


def _named_by(sentences: Sequence[Sentence]) -> Iterator[str]:
    """What the documents and sections that are cited are called."""
    for sentence in sentences:
        for citation in sentence.citations:
            if isinstance(citation, Span):
                yield f"{citation.title} {citation.section}"


def _is_about_a_row(sentences: Sequence[Sentence], rows: Sequence[RowCells]) -> bool:
    """Whether a document that is quoted has its name from a row: it says what no table knows."""
    titles = {
        citation.title
        for sentence in sentences
        for citation in sentence.citations
        if isinstance(citation, Span)
    }
    return any(is_named_by(title, row) for title in titles for row in rows)


def _all_of(row: RowCells) -> str:
    return " ".join([row.title, *(f"{cell.heading} {cell.value}" for cell in row.cells)])


def _names_of(question: str) -> list[str]:
    """The identifiers of a question, plain words taken off: `EPDM` of `EPDM-gummi`."""
    found = (term.text for term in terms_of(question) if term.kind == "identifier")
    return [_WORD_AFTER.sub("", name) for name in found]


def _holds_name(text: str, name: str) -> bool:
    letters = plain(name)
    is_inside = len(letters) >= LONG_NAME and letters in plain(text)
    return is_inside or HeldTerms(text).has(SoughtTerm(name, "identifier", 0))


def _is_formula_of(rows: Sequence[RowCells], name: str) -> bool:
    """Whether a cell is the chemical formula that is asked for, written in another way."""
    from rag_assets.answering.lookup.formulas import formula

    asked = formula(name)
    return asked is not None and any(
        formula(cell.value) == asked for row in rows for cell in row.cells if not cell.is_number
    )


def _leaves_out(told: str, words: Sequence[str]) -> bool:
    held = Vocabulary(terms(told))
    return any(not held.share_of(folded(word)) for word in words)


def _shares_nothing(question: str, text: str) -> bool:
    """Whether no word of the question is there; never where words of two languages would meet."""
    asked = [word for word in dict.fromkeys(terms(question)) if len(word) > 1]
    if not asked or _are_of_two_languages(question, text):
        return False
    held = Vocabulary(terms(text))
    return not any(held.share_of(word) or _has_pair(word, text) for word in asked)


def _are_of_two_languages(question: str, text: str) -> bool:
    """Whether they share no script, or one is English and the other Swedish."""
    if _scripts(question).isdisjoint(_scripts(text)):
        return True
    return {language_of(question), language_of(text)} == {"en", "sv"}


def _scripts(text: str) -> set[str]:
    """The scripts of the letters of a text, as Unicode names them: `LATIN`, `CJK`."""
    return {
        unicodedata.name(letter, "").partition(" ")[0] for letter in set(filter(str.isalpha, text))
    }


def _has_pair(word: str, text: str) -> bool:
    """Whether two neighbouring characters of a word stand in `text`, in a script without blanks."""
    if _scripts(word).isdisjoint(WITHOUT_BLANKS):
        return False
    return any(word[place : place + 2] in text for place in range(len(word) - 1))


def _not_held(names: Sequence[str], hits: Sequence[Hit]) -> str:
    is_found = any(_holds_name(hit.text, name) for hit in hits for name in names)
    where = "what fits best does not hold" if is_found else "nothing that was found holds"
    return f"{where} {_listed(names)}"


def _listed(names: Sequence[str]) -> str:
    return " or ".join(f"'{name}'" for name in names[:NAMED])
