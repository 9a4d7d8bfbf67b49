"""Questions from documents: what they are made from, and what becomes of each document.

A language model reads a window of a document and gives question, answer and the span that says it
in one call; in a second one it picks the chunk (P0 4.3.1 and D.1). Two prompts take turns: from a
fact to its question, and from the question of somebody with a task to the fact (P1 3.1). The gold
is the span, anchored to the source: it is found again under another chunking. What is no good
question is kept with its reason. What the words of a question alone show to be none is left out by
the first call; the second sees the question with the chunks of the window, in an order that says
nothing, and must pick a chunk of the span.

Without a model, and for sources that it may not see, the most distinctive sentence of each window
is the query that must find it: known items, which are a smoke test.

What other documents hold is looked at, as it is at that time, for two things: texts that many share
are passed over, and a question that another chunk answers as well is left out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice

import pyarrow as pa

from rag_assets.change.sync import INPUTS
from rag_assets.config import Config
from rag_assets.identity import fingerprint
from rag_assets.models.hosted import asked_side_by_side
from rag_assets.models.language.calls import LanguageModel, Message, Request
from rag_assets.models.language.prompts import read_prompt
from rag_assets.questions import filters
from rag_assets.questions.draft import PACKAGE, MadeQuestions, QuestionDraft, reader_of
from rag_assets.questions.filters import is_near_duplicate, language_of
from rag_assets.questions.indexed_passages import DocumentPassages, IndexedPassages, PassageChunk
from rag_assets.questions.known_items import Rarity, sentences_to_ask
from rag_assets.retrieval.filters import encodable
from rag_assets.retrieval.model_rewriter import PASSING
from rag_assets.store import Store
from rag_assets.terms.words import normalized, place_of
from rag_assets.workers import Json

REVISION = 2
"""Raise it when the same document should give other questions."""
SENTENCES_TRIED = 5
"""Sentences of a window, of which the first is asked that stands in one place."""
MARKUP = ("|", "$$", "#", "```")
"""What rows of tables, formulas, headings and code begin with: nobody asks so."""
BEHIND = "the index is behind the sources: run `rag-assets refresh`"
KINDS = {
    "from_fact": ("span", "answer", "question"),
    "from_question": ("question", "span", "answer"),
}
"""Kinds of questions, each of which has a prompt, and what a model writes for it, in this order."""
PICK = "pick"
TEXT: Json = {"type": "string", "maxLength": 600}
OBJECT: Mapping[str, Json] = {"type": "object", "additionalProperties": False}
MOST_TOKENS = 700
"""The most tokens of an answer."""
WINDOWS_AT_ONCE = 8
"""Windows that are read side by side; the model's entry in the config may allow fewer."""


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


class ModelAwayError(Exception):
    """The model does not answer now, and may later."""


def read_documents(
    indexed: IndexedPassages, model: LanguageModel, documents: Sequence[DocumentPassages]
) -> Iterator[MadeQuestions]:
    """What a model makes of each of `documents`, in their order.

    Raises:
        ModelAwayError: It does not answer, or its budget is used up.
    """
    readings = [
        _WindowReading(indexed, model, document, place)
        for document in documents
        for place in range(len(document.windows))
    ]
    drafts = asked_side_by_side(_WindowReading.draft, readings, at_once=WINDOWS_AT_ONCE)
    for document in documents:
        own: list[QuestionDraft] = []
        for draft in islice(drafts, len(document.windows)):
            before = [each.question for each in own if not each.left_out]
            is_twice = not draft.left_out and filters.is_near_duplicate(draft.question, before)
            fault = "it asks what another one of its document asks" if is_twice else ""
            own.append(replace(draft, left_out=draft.left_out or fault))
        yield MadeQuestions(document.document_id, own)


@dataclass(frozen=True, slots=True)
class _WindowReading:
    """A model that reads a window of a document."""

    indexed: IndexedPassages
    model: LanguageModel
    document: DocumentPassages
    place: int
    """The number of the window among those of the document, from 0."""

    @property
    def window(self) -> Sequence[PassageChunk]:
        """The chunks of the window."""
        return self.document.windows[self.place]

    def draft(self) -> QuestionDraft:
        """What becomes of it.

        Raises:
            ModelAwayError: See `read_documents`.
        """
        language, document = self.document.language, self.document.document_id
        turn = int(fingerprint("kind of question", document)[:8], 16) + self.place
        kind = [*KINDS][turn % len(KINDS)]
        title = self.window[0].title
        text = {
            "document": title.rpartition(".")[0] or title,
            "section": self.window[0].section,
            "passage": "\n\n".join(chunk.own_text for chunk in self.window),
        }
        given: Mapping[str, Json] = {"language": language, **text}
        said, fault = self._asked(kind, given, dict.fromkeys(KINDS[kind], TEXT))
        question, span, answer = (
            encodable(str(said.get(name, ""))).strip() for name in ("question", "span", "answer")
        )
        found = ((each, place_of(span, each.own_text)) for each in self.window)
        chunk, held = next((each for each in found if each[1]), (self.window[0], range(0)))
        quote = chunk.own_text[held.start : held.stop]
        fault = (
            fault
            or ("" if question else "the model finds nothing to ask")
            or filters.fault_of_wording(question, about=" ".join(text.values()), language=language)
            or ("" if quote else "its span does not stand in one chunk, letter by letter")
            or filters.fault_of_answer(question, answer, quote)
            or self._fault_of_place(question, answer, chunk, held)
        )
        return QuestionDraft(
            origin="from_documents",
            kind=kind,
            question=question or f"(none, from character {chunk.char_start})",
            language=language,
            gold=(self.indexed.gold_of(quote, chunk, document=document),) if quote else (),
            answer=answer or None,
            maker=f"{self.model.name}, prompt v{read_prompt(PACKAGE, kind).version}",
            left_out=fault,
        )

    def _fault_of_place(self, question: str, answer: str, chunk: PassageChunk, held: range) -> str:
        """Why the chunk of the span is not all that answers; empty if it is."""
        shuffled = sorted(self.window, key=lambda each: fingerprint(question, each.char_start))
        passages = {str(number): each.text for number, each in enumerate(shuffled, 1)}
        number: Json = {"type": "integer", "minimum": 0, "maximum": len(shuffled)}
        given: Mapping[str, Json] = {"question": question, "passages": {**passages}}
        said, fault = self._asked(PICK, given, {"passage": number})
        if fault:
            return f"second reading: {fault}"
        picked = [None, *shuffled][int(float(str(said["passage"])))]
        span = range(chunk.char_start + held.start, chunk.char_start + held.stop)
        if picked is None or not picked.overlaps(span):
            return "a second reading finds its answer in {} chunk".format(
                "another" if picked else "no"
            )
        others = self.indexed.nearest(chunk, span, document=self.document.document_id)
        is_answered = filters.is_answered_by(others, question, answer, gold=chunk.text)
        return "another chunk of the index answers it as well" if is_answered else ""

    def _asked(
        self, prompt: str, given: Mapping[str, Json], fields: Mapping[str, Json]
    ) -> tuple[Mapping[str, Json], str]:
        """What the model answers, by its fields; why nothing can be made of it, if so."""
        content = encodable(json.dumps(given, ensure_ascii=False))
        request = Request(
            (Message("system", read_prompt(PACKAGE, prompt).text), Message("user", content)),
            max_tokens=MOST_TOKENS,
            schema={**OBJECT, "properties": {**fields}, "required": [*fields]},
            sources=frozenset(chunk.source for chunk in self.window),
        )
        completion = self.model.complete(request)
        fault = f"{completion.outcome}: {completion.reason}"
        if completion.outcome in PASSING:
            raise ModelAwayError(f"the language model {self.model.name} is {fault}")
        return (completion.parsed, "") if isinstance(completion.parsed, dict) else ({}, fault)
