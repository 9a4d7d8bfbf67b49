"""Answers, and what was found for a question, as the texts that judges read.

What is cited has a number, as in the prompt that answers are written by: first the units that were
found, then whatever else a sentence cites. A refusal is judged like any answer: by the
words of the model.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rag_assets import schemas
from rag_assets.citations.cited_sources import text_of
from rag_assets.citations.sentences import Sentence
from rag_assets.config import Config
from rag_assets.evaluation.gold import DocumentGold, DocumentKey
from rag_assets.evaluation.questions import Question
from rag_assets.questions.judging.verdicts import JudgedItem
from rag_assets.store import Store
from rag_assets.workers import Json


@dataclass(frozen=True, slots=True)
class ShownText:
    """A unit that was found."""

    unit_id: str
    text: str
    source: str


@dataclass(frozen=True, slots=True)
class References:
    """The answers that questions should have, and the sources whose text may stand in them."""

    answers: Mapping[str, str | None]
    """The answer that each question should have, by `question_id`, in words; None where the
    question set gives none."""
    documents: Mapping[str, Sequence[DocumentKey]]
    """The documents that each URI of the gold stands for."""
    every_source: frozenset[str]
    """Names of all sources."""

    @classmethod
    def of(
        cls, store: Store, config: Config, documents: Mapping[str, Sequence[DocumentKey]]
    ) -> "References":
        """The references of all imported questions."""
        table = store.read(schemas.QUESTIONS_TABLE, columns=["question_id", "answer"])
        ids, answers = (table[name].to_pylist() for name in ("question_id", "answer"))
        words = map(in_words, answers)
        return cls(dict(zip(ids, words, strict=True)), documents, config.source_names)

    def text(self, question: Question) -> str:
        """The reference answer; the quotes of its gold where there is none; else empty."""
        given = self.answers.get(question.question_id)
        quotes = (
            gold.quote for gold in question.gold if isinstance(gold, DocumentGold) and gold.quote
        )
        return given or "\n".join(quotes)

    def sources(self, question: Question) -> frozenset[str]:
        """Names of the sources of its gold; all of them where one is not known."""
        keys = [
            self.documents.get(gold.uri, ()) if isinstance(gold, DocumentGold) else ()
            for gold in question.gold
        ]
        if not all(keys):
            return self.every_source
        return frozenset(source for found in keys for source, _ in found)


def in_words(answer: str | None) -> str | None:
    """A reference answer as people write it: `S700MC, 720; S650MC, 702` for the cells of two rows.

    Question sets may give lists, which are kept as JSON. Any other text stays as it is.
    """
    try:
        given: Json = json.loads(answer or "")
    except ValueError:
        return answer
    return _told(given) if isinstance(given, list | dict) else answer


def _told(given: Json) -> str:
    if isinstance(given, dict):
        return ", ".join(f"{name}: {_told(value)}" for name, value in given.items())
    if isinstance(given, list):
        nested = any(isinstance(each, list | dict) for each in given)
        return ("; " if nested else ", ").join(map(_told, given))
    if given is None:
        return "nothing"
    if isinstance(given, bool):
        return "yes" if given else "no"
    return str(given)


def answer_items(
    question: Question,
    sentences: Sequence[Sentence],
    shown: Sequence[ShownText],
    *,
    references: References,
    writer_identity: str,
    refusal: str = "",
) -> list[JudgedItem]:
    """An answer, or what the model said instead of one; none where it said nothing."""
    if not sentences and not refusal:
        return []
    numbered = NumberedTexts.of(shown, sentences)
    parts = {
        "question": question.text,
        "reference": references.text(question),
        "context": numbered.context,
        "answer": numbered.with_numbers(sentences) or refusal,
    }
    sources = numbered.sources | references.sources(question)
    return [JudgedItem("answer", parts, sources, writers_of(writer_identity))]


def context_item(question: Question, shown: Sequence[ShownText]) -> list[JudgedItem]:
    """What was found for a question; none where nothing was."""
    if not shown:
        return []
    numbered = NumberedTexts.of(shown, ())
    parts = {"question": question.text, "context": numbered.context}
    return [JudgedItem("context", parts, numbered.sources)]


def writers_of(identity: str) -> frozenset[str]:
    """The language model that wrote something; none where its identity is empty."""
    return frozenset({identity} if identity else ())


@dataclass(frozen=True, slots=True)
class NumberedTexts:
    """Texts in the order of their numbers."""

    texts: Mapping[str, str]
    """The texts by their unit, or by the place of what is no unit."""
    sources: frozenset[str]

    @classmethod
    def of(cls, shown: Iterable[ShownText], sentences: Iterable[Sentence]) -> "NumberedTexts":
        """Number the units that were found, then whatever else `sentences` cite."""
        units = list(shown)
        texts = {each.unit_id: each.text for each in units}
        sources = {each.source for each in units}
        found = frozenset(texts)
        for each in (citation for sentence in sentences for citation in sentence.citations):
            sources |= each.sources
            key = each.cited_unit or each.place
            said = [texts[key]] if key in texts else []
            if key not in found:
                said += [text for one in each.says() if (text := text_of(one)) not in said]
            texts[key] = "\n".join(said)
        return cls(texts, frozenset(sources))

    @property
    def context(self) -> str:
        """All of it, each text behind its number."""
        return "\n\n".join(f"[{n}] {text}" for n, text in enumerate(self.texts.values(), start=1))

    def with_numbers(self, sentences: Iterable[Sentence]) -> str:
        """Sentences, each with the numbers of what it cites."""
        numbers = {key: number for number, key in enumerate(self.texts, start=1)}
        marked = []
        for sentence in sentences:
            cited = {numbers[each.cited_unit or each.place] for each in sentence.citations}
            marked.append(" ".join([sentence.text, *(f"[{one}]" for one in sorted(cited))]))
        return " ".join(marked)
