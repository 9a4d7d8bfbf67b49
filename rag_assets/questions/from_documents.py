"""Questions from documents: what they are made from, and what becomes of each document.

A language model reads a window of a document and gives question, answer and the span that says it
in one call; in a second one it picks the chunk (P0 4.3.1 and D.1). Two prompts take turns: from a
fact to its question, and from the question of somebody with a task to the fact (P1 3.1). The gold
is the span, anchored to the source: it is found again under another chunking. What is no good
question is kept with its reason.

Without a model, and for sources that it may not see, the most distinctive sentence of each window
is the query that must find it: known items, which are a smoke test.

What other documents hold is looked at, as it is at that time, for two things: texts that many share
are passed over, and a question that another chunk answers as well is left out.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain

import pyarrow as pa

from rag_assets.change.sync import INPUTS
from rag_assets.config import Config
from rag_assets.evaluation.known_items import Rarity, sentences_to_ask
from rag_assets.evaluation.quotes import normalized
from rag_assets.identity import fingerprint
from rag_assets.models.language.calls import LanguageModel
from rag_assets.questions.draft import MadeQuestions, QuestionDraft, reader_of
from rag_assets.questions.filters import is_near_duplicate, language_of
from rag_assets.questions.indexed_passages import DocumentPassages, IndexedPassages
from rag_assets.questions.reading import KINDS, PICK, ModelAwayError, read_documents
from rag_assets.store import Store

REVISION = 2
"""Raise it when the same document should give other questions."""
SENTENCES_TRIED = 5
"""Sentences of a window, of which the first is asked that stands in one place."""
MARKUP = ("|", "$$", "#", "```")
"""What rows of tables, formulas, headings and code begin with: nobody asks so."""
BEHIND = "the index is behind the sources: run `rag-assets refresh`"


def document_inputs(store: Store, config: Config) -> pa.Table:
    """The sampled documents: their ids, and fingerprints of their files and the settings.

    Neither the chunking nor the embedding model is among these: the gold of a question is a place
    in the source.
    """
    per_document = _per_document(config)
    indexed = IndexedPassages.of(store, config) if per_document else None
    if indexed is None:
        return INPUTS.empty_table()
    sample = indexed.sample(most=config.questions.from_documents // per_document)
    marks = [
        fingerprint(
            sha256, per_document, REVISION, reader_of(config, source, prompts=(*KINDS, PICK))
        )
        for source, sha256 in sample.values()
    ]
    return pa.table({"key": [*sample], "fingerprint": marks}, schema=INPUTS)


def documents_made(
    store: Store, config: Config, documents: Sequence[str], model: LanguageModel | None
) -> Iterator[MadeQuestions]:
    """What becomes of each of `documents`.

    While the index does not hold what the sources do, nothing is made. A model that does not
    answer, or whose budget is used up, is asked no more: what it has answered is kept.
    """
    indexed = IndexedPassages.of(store, config)
    left, why = dict.fromkeys(documents), BEHIND
    if indexed is not None and not indexed.is_behind:
        try:
            for group in indexed.passages(documents, most=_per_document(config)):
                said = [each for each in group if each.windows]
                read = [each for each in said if model and model.may_see([each.source])]
                sentences = (_known_items(indexed, each) for each in group if each not in read)
                by_model = read_documents(indexed, model, read) if model else ()
                for made in chain(sentences, by_model):
                    del left[made.key]
                    yield made
        except ModelAwayError as error:
            why = str(error)
    yield from (MadeQuestions(each, failure=why) for each in left)


def _per_document(config: Config) -> int:
    return min(config.questions.per_document, config.questions.from_documents)


def _known_items(indexed: IndexedPassages, document: DocumentPassages) -> MadeQuestions:
    """The most distinctive sentence of each window that no chunk near its own has as well."""
    rarity = Rarity(chunk.own_text for window in document.windows for chunk in window)
    nothing = QuestionDraft(
        origin="known_items",
        kind="sentence",
        question="(none)",
        language=document.language,
        gold=(),
        maker="sentence of the document",
        left_out="no passage of the document has a sentence of its own",
    )
    found: list[QuestionDraft] = []
    for window in document.windows:
        before = [each.question for each in found]
        sentences = {each: chunk for chunk in window for each in sentences_to_ask(chunk.own_text)}
        spoken = (each for each in sentences if not each.startswith(MARKUP) and _is_of_words(each))
        new = (each for each in spoken if not is_near_duplicate(each, before))
        for text in sorted(new, key=rarity.of, reverse=True)[:SENTENCES_TRIED]:
            chunk, wanted = sentences[text], normalized(text)
            own = range(chunk.char_start, chunk.char_end)
            others = indexed.nearest(chunk, own, document=document.document_id)
            if any(wanted in normalized(other) for other in others):
                continue
            gold = indexed.gold_of(text, chunk, document=document.document_id)
            language = language_of(text) or document.language
            draft = replace(nothing, question=text, language=language, gold=(gold,), left_out="")
            found.append(draft)
            break
    return MadeQuestions(document.document_id, found or [nothing])


def _is_of_words(text: str) -> bool:
    """Whether letters are most of it, unlike of numbers of phones and parts."""
    return 2 * sum(map(str.isalpha, text)) > len(text)
