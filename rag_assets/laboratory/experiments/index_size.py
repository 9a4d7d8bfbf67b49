"""The collections of P0, 5.2: nested sets of documents, given or derived by hash."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from rag_assets import schemas
from rag_assets.evaluation.gold import DocumentFinder, DocumentGold, DocumentKey
from rag_assets.evaluation.questions import Question
from rag_assets.laboratory.experiments.computed import Given
from rag_assets.media.json_lines import QuestionsError
from rag_assets.retrieval.filters import Filters


@dataclass(frozen=True, slots=True)
class Corpus:
    """The questions and documents that a design is made for."""

    questions: Sequence[Question]
    documents: Sequence[DocumentKey]
    """All documents of the sources."""
    find: Callable[[str], Sequence[DocumentKey]]
    """Finds the documents that a URI or id of gold names."""


def index_size(given: Given) -> Mapping[str, object]:
    """The collections as filters, the questions to ask, and a sentence on both."""
    files = given.store.read(schemas.DOCUMENT_FILES_TABLE, columns=["source", "uri"]).to_pylist()
    documents = [(file["source"], file["uri"]) for file in files]
    places = DocumentFinder(
        documents, roots={source.name: source.url for source in given.config.sources.documents}
    )
    paths = given.paths()
    corpus = Corpus(given.questions, documents, lambda name: places.find(paths.get(name, name)))
    sizes = given.experiment.value("sizes", int)
    return nested(corpus, listed=given.experiment.files.get("collections"), sizes=sizes)


def nested(corpus: Corpus, *, listed: Path | None, sizes: int) -> Mapping[str, object]:
    """The collections that the file `listed` has, or so many `sizes` derived by hash.

    Raises:
        QuestionsError: The file cannot be read, or is not of the form.
    """
    collections, used, note = _collections(corpus, listed=listed, sizes=sizes)
    return {
        "sizes_and_filters": [
            (len(uris), None if len(uris) == len(corpus.documents) else Filters(documents=uris))
            for uris in collections
        ],
        "largest": len(collections[-1]),
        "ids": used,
        "used": len(used),
        "asked": len(corpus.questions),
        "note": note,
    }


def _collections(
    corpus: Corpus, *, listed: Path | None, sizes: int
) -> tuple[list[frozenset[str]], frozenset[str], str]:
    """Nested collections of URIs, smallest first; the questions to use; a sentence on both."""
    everything = frozenset(uri for _, uri in corpus.documents)
    gold = {question.question_id: _gold_of(question, corpus) for question in corpus.questions}
    if listed is None:
        smallest = frozenset(uri for uris in gold.values() for uri in uris or ())
        others = sorted(everything - smallest, key=_hash)
        collections = [
            smallest | frozenset(others[: len(others) >> halvings])
            for halvings in range(sizes - 1, -1, -1)
        ]
        note = "Collections: the documents with gold, and of the others the first by hash."
    else:
        collections, note = _read_collections(listed, corpus)
    used = frozenset(
        question for question, uris in gold.items() if uris is not None and uris <= collections[0]
    )
    return list(dict.fromkeys(collections)), used, note


def _gold_of(question: Question, corpus: Corpus) -> frozenset[str] | None:
    """URIs of the documents with gold; None if a document cannot be found."""
    found = [corpus.find(piece.uri) for piece in question.gold if isinstance(piece, DocumentGold)]
    return frozenset(uri for documents in found for _, uri in documents) if all(found) else None


def _read_collections(path: Path, corpus: Corpus) -> tuple[list[frozenset[str]], str]:
    """The collections in `path`, smallest first, and a sentence on them."""
    try:
        listed: dict[str, list[str]] = json.loads(path.read_text("utf-8"))["collections"]
        documents_of = {name: corpus.find(name) for names in listed.values() for name in names}
        found = [
            frozenset(uri for name in names for _, uri in documents_of[name])
            for names in listed.values()
        ]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise QuestionsError(
            f'{path} is not of the form {{"collections": {{"SIZE": [document id, ...]}}}}: {error}'
        ) from error
    ordered = sorted((one for one in found if one), key=len)
    if not ordered or any(not one <= more for one, more in pairwise(ordered)):
        raise QuestionsError(f"{path}: each collection must hold all smaller ones, and documents")
    unknown = [name for name, documents in documents_of.items() if not documents]
    if not unknown:
        return ordered, "Collections: as given."
    return ordered, (
        f"Collections: as given, without {len(unknown):,} documents that are in no source, such as "
        f"{unknown[0]}."
    )


def _hash(uri: str) -> bytes:
    return hashlib.sha256(uri.encode()).digest()
