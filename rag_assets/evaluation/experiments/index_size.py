"""The design of P0, 5.2: nested collections of documents, given or derived by hash."""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path

from rag_assets.config import IndexSizeExperiment
from rag_assets.evaluation.experiments.design import (
    ALL_FIVE,
    HIT_AND_MRR,
    METRIC,
    QUESTIONS,
    Design,
    ExperimentArm,
    Figure,
    Layout,
)
from rag_assets.evaluation.experiments.thesis import fused, retrieved
from rag_assets.evaluation.gold import DocumentGold, DocumentKey
from rag_assets.evaluation.questions import Question, QuestionsError
from rag_assets.retrieval.filters import Filters


@dataclass(frozen=True, slots=True)
class Corpus:
    """The questions and documents that a design is made for."""

    questions: Sequence[Question]
    documents: Sequence[DocumentKey]
    """All documents of the sources."""
    find: Callable[[str], Sequence[DocumentKey]]
    """Finds the documents that a URI or id of gold names."""


def index_size(settings: IndexSizeExperiment, *, base: str, corpus: Corpus) -> Design:
    """P0, 5.2: tables 5.2 and E.1, figure 5.2."""
    collections, used, note = _collections(settings, corpus)
    methods = {
        "Baseline": retrieved(settings.top_k, settings.reranker),
        "Simple Fusion": fused(settings.top_k, settings.reranker, mode="simple"),
    }
    arms = [
        ExperimentArm(
            name=f"{method}, {len(uris)} documents",
            variant=base,
            retriever=retriever,
            factors={"method": method, "index size": len(uris)},
            filters=None if len(uris) == len(corpus.documents) else Filters(documents=uris),
            group=method,
        )
        for (method, retriever), uris in product(methods.items(), collections)
    ]
    return Design(
        title="Index size",
        source="P0, 5.2",
        arms=arms,
        reference=f"Baseline, {len(collections[-1])} documents",
        chooses=False,
        tables=[
            Layout(
                title="Hit rate@10 and MRR over the index size (P0, table E.1)",
                rows=[QUESTIONS, "index size"],
                columns=["method"],
                measures=HIT_AND_MRR,
            ),
            Layout(
                title="The largest index (P0, table 5.2, whose columns of precision and F1 are "
                "swapped)",
                rows=["method", QUESTIONS],
                measures=ALL_FIVE,
                where={"index size": len(collections[-1])},
            ),
        ],
        figures=[
            Figure(
                title="Index size",
                kind="lines",
                x="index size",
                series=[QUESTIONS],
                panel=["method", METRIC],
                measures=HIT_AND_MRR,
            )
        ],
        notes=[
            note,
            f"{len(used):,} of {len(corpus.questions):,} questions are used: those whose gold "
            "is in the smallest collection. Rows are in every collection.",
        ],
        questions=used,
    )


def _collections(
    settings: IndexSizeExperiment, corpus: Corpus
) -> tuple[list[frozenset[str]], frozenset[str], str]:
    """Nested collections of URIs, smallest first; the questions to use; a sentence on both."""
    everything = frozenset(uri for _, uri in corpus.documents)
    gold = {question.question_id: _gold_of(question, corpus) for question in corpus.questions}
    if settings.collections is None:
        smallest = frozenset(uri for uris in gold.values() for uri in uris or ())
        others = sorted(everything - smallest, key=_hash)
        collections = [
            smallest | frozenset(others[: len(others) >> halvings])
            for halvings in range(settings.sizes - 1, -1, -1)
        ]
        note = "Collections: the documents with gold, and of the others the first by hash."
    else:
        collections, note = _read_collections(settings.collections, corpus)
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
