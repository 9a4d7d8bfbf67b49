"""Questions whose gold is gone or changed at the source: nobody can be judged by them.

A row that its table lost, a file that was deleted, a page or a quoted text that is no longer in it:
that an index does not find these is no fault of the index. A unit that an index lacks although the
source still has it is: such a question stays.
"""

import difflib
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from rag_assets import schemas
from rag_assets.columns.sql import is_one_of, parts_of
from rag_assets.evaluation.gold import DocumentGold, DocumentKey, RowGold
from rag_assets.evaluation.projection import IndexedGold
from rag_assets.evaluation.questions import Question
from rag_assets.questions.known_items import WORDS
from rag_assets.store import Store
from rag_assets.store.pins import Pin

ALIKE = 0.5
"""A passage that has less in common with a quotation is not offered in its place."""


@dataclass(frozen=True, slots=True)
class GoldChange:
    """A question whose gold is not what it was."""

    question: Question
    reason: str
    """What became of it, one sentence."""
    found_now: str = ""
    """What stands in its place now, where that can be told."""


@dataclass(frozen=True, slots=True)
class File:
    """A file as its source has it now."""

    is_readable: bool
    reason: str
    modified: datetime


@dataclass(frozen=True, slots=True)
class GoldSides:
    """The gold of the same questions in the index that serves, and in a candidate."""

    serving: IndexedGold
    candidate: IndexedGold
    joint: Pin
    """The joint table of the candidate."""
    is_changed: Callable[[File], bool]
    """Whether a file may have changed since the index that serves was built."""


def gold_changes(
    store: Store, questions: Sequence[Question], *, sides: GoldSides
) -> list[GoldChange]:
    """The questions that no longer have their gold at the source."""
    sources = _Sources.of(store, questions)
    changes = []
    for question in questions:
        if found := next(_changed(store, question, sides, sources), None):
            changes.append(GoldChange(question, *found))
    return changes


@dataclass(frozen=True, slots=True)
class _Sources:
    """What the sources hold now."""

    files: Mapping[DocumentKey, File]
    rows: Collection[tuple[str, str, str]]
    """Source, table and key of each row that some gold names."""

    @classmethod
    def of(cls, store: Store, questions: Sequence[Question]) -> "_Sources":
        keys = {
            piece.row_key
            for question in questions
            for piece in question.gold
            if isinstance(piece, RowGold)
        }
        return cls(_files(store), _rows(store, sorted(keys)))


def _files(store: Store) -> Mapping[DocumentKey, File]:
    if not store.exists(schemas.DOCUMENT_FILES_TABLE):
        return {}
    columns = ["source", "uri", "status", "reason", "modified"]
    files = store.read(schemas.DOCUMENT_FILES_TABLE, columns=columns).to_pylist()
    return {
        (file["source"], file["uri"]): File(
            file["status"] == "ok", file["reason"] or "", file["modified"]
        )
        for file in files
    }


def _rows(store: Store, keys: Sequence[str]) -> Collection[tuple[str, str, str]]:
    if not store.exists(schemas.TABLE_ROWS_TABLE):
        return set()
    columns = ["source", "table", "row_key"]
    return {
        (row["source"], row["table"], row["row_key"])
        for part in parts_of(keys)
        for row in store.read(
            schemas.TABLE_ROWS_TABLE, columns=columns, where=is_one_of("row_key", part)
        ).to_pylist()
    }


def _changed(
    store: Store, question: Question, sides: GoldSides, sources: _Sources
) -> Iterator[tuple[str, str]]:
    """For each piece of gold that is gone or changed: why, and what stands there now."""
    for piece in question.gold:
        if isinstance(piece, RowGold):
            yield from _changed_row(piece, sides, sources)
        else:
            yield from _changed_document(store, piece, sides, sources)


def _changed_row(gold: RowGold, sides: GoldSides, sources: _Sources) -> Iterator[tuple[str, str]]:
    name = (gold.table, gold.row_key)
    places = {
        *sides.serving.rows.get(name, {}).values(),
        *sides.candidate.rows.get(name, {}).values(),
    }
    known = places or {
        (source, table, key)
        for source, table, key in sources.rows
        if gold.row_key == key and gold.table in (table, f"{source}/{table}")
    }
    if not known & {*sources.rows} and not sides.candidate.rows.get(name):
        yield f"{gold.label} is not in its table any more", ""


def _changed_document(
    store: Store, gold: DocumentGold, sides: GoldSides, sources: _Sources
) -> Iterator[tuple[str, str]]:
    named = {
        *sides.serving.documents.get(gold.uri, ()),
        *sides.candidate.documents.get(gold.uri, ()),
    }
    there = sorted(named & sources.files.keys())
    readable = [document for document in there if sources.files[document].is_readable]
    if not readable:
        reason = sources.files[there[0]].reason if there else "the sources do not hold it"
        yield f"{gold.uri} is gone: {reason}", _of_that_name(gold.uri, sources)
        return
    changed = [
        document
        for document in readable
        if document in sides.candidate.pages and sides.is_changed(sources.files[document])
    ]
    if any(document in sides.candidate.pages and document not in changed for document in readable):
        return
    yield from _changed_place(store, gold, changed, sides)


def _changed_place(
    store: Store, gold: DocumentGold, documents: Sequence[DocumentKey], sides: GoldSides
) -> Iterator[tuple[str, str]]:
    """A page or a quotation that the serving index has, and the changed `documents` have not."""
    if gold.page is not None and documents:
        before, now = (
            any(gold.page in _pages(side, document) for document in documents)
            for side in (sides.serving, sides.candidate)
        )
        if before and not now:
            yield f"{gold.uri} has no page {gold.page} any more", ""
            return
    if gold.quote is None:
        return
    quote = gold.quote
    before, now = (
        any(side.quotes.get((document, quote)) for document in documents)
        for side in (sides.serving, sides.candidate)
    )
    if before and not now:
        passage = _passage(store, sides.joint, documents, gold)
        yield f"the quoted text is not in {gold.uri} any more", passage


def _pages(gold: IndexedGold, document: DocumentKey) -> set[int]:
    return {page for touched in gold.pages.get(document, {}).values() for page in touched}


def _of_that_name(uri: str, sources: _Sources) -> str:
    """Files of the same name in another folder."""
    name = uri.rpartition("/")[2]
    alike = sorted(known for _, known in sources.files if known.rpartition("/")[2] == name)
    return f"a file of this name lies at {', '.join(alike[:3])}" if alike else ""


def _passage(store: Store, joint: Pin, documents: Sequence[DocumentKey], gold: DocumentGold) -> str:
    """What is most like the quotation in the documents now; empty if nothing is."""
    columns = ["source", "uri", "pages", "char_start", "char_end", "text"]
    where = f"domain = 'document' AND {is_one_of('uri', [uri for _, uri in documents])}"
    chunks = store.read(joint.table, columns=columns, where=where, version=joint.version)
    texts = [
        schemas.slice_of(chunk["text"], chunk["char_start"], chunk["char_end"])
        for chunk in chunks.to_pylist()
        if (chunk["source"], chunk["uri"]) in documents
        and (gold.page is None or not chunk["pages"] or gold.page in chunk["pages"])
    ]
    return best_passage(gold.quote or "", texts)


def best_passage(quote: str, texts: Sequence[str]) -> str:
    """The stretch of one of `texts` that is most like `quote`, and about as long; empty if none is.

    It is found word by word: the words that both have in the same order, over all of their words.
    """
    wanted = [word.lower() for word in WORDS.findall(quote)]
    best, share = "", ALIKE
    for text in texts:
        spans = [(found.start(), found.end()) for found in WORDS.finditer(text)]
        words = [text[start:end].lower() for start, end in spans]
        for start in _starts(wanted, words):
            window = words[start : start + len(wanted)]
            alike = difflib.SequenceMatcher(None, wanted, window, autojunk=False).ratio()
            if alike > share:
                last = start + len(window) - 1
                best, share = text[spans[start][0] : spans[last][1]], alike
    return " ".join(best.split())


def _starts(wanted: Sequence[str], words: Sequence[str]) -> list[int]:
    """The places where the quotation may begin: a word of it stands as in the quotation."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(words):
        places.setdefault(word, []).append(place)
    votes: dict[int, int] = {}
    for offset, word in enumerate(wanted):
        for place in places.get(word, ()):
            start = max(place - offset, 0)
            votes[start] = votes.get(start, 0) + 1
    return sorted(votes, key=lambda start: (-votes[start], start))[:20]
