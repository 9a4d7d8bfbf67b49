"""A language model reads windows of documents: it asks, and then picks the chunk that answers.

The first call gives question, answer and span; what its words alone show to be no good question is
left out there. The second call sees the question with the chunks of the window, in an order that
says nothing, and must pick a chunk of the span.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from rag_assets.identity import fingerprint
from rag_assets.models.hosted import asked_side_by_side
from rag_assets.models.language.calls import LanguageModel, Message, Request
from rag_assets.models.language.prompts import read_prompt
from rag_assets.questions import filters
from rag_assets.questions.draft import PACKAGE, MadeQuestions, QuestionDraft
from rag_assets.questions.indexed_passages import DocumentPassages, IndexedPassages, PassageChunk
from rag_assets.retrieval.filters import encodable
from rag_assets.retrieval.model_rewriter import PASSING
from rag_assets.workers import Json

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
        found = ((each, filters.place_of(span, each.own_text)) for each in self.window)
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
