"""What a language model wrote, sentence by sentence, with the numbers that each sentence cites.

A sentence without numbers takes those of the next one in its paragraph that has some: models cite
at the end of a paragraph (P4, section 3.6, asks for just that). Whether the source says it is
checked.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rag_assets.answering.checks.cited_texts import (
    MarkedSentence,
    marked_sentences,
    without_sources,
)

ABSENT = "NOT IN THE SOURCES"
"""What the prompt asks a model to begin a line with that says what the sources leave open."""
_ABSENT = re.compile(rf"{ABSENT}\b\W*([^\n]*?)\W*$", re.IGNORECASE | re.MULTILINE)
_THOUGHT = re.compile(r"^\s*<think(?:ing)?>.*?(?:</think(?:ing)?>|\Z)", re.DOTALL)
_PARAGRAPHS = re.compile(r"\n\s*\n")


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer of a model, taken apart."""

    sentences: tuple[MarkedSentence, ...]
    absent: tuple[str, ...]
    """What it says that the sources leave open; an empty text where it does not say what."""


def read_answer(text: str) -> ReadAnswer:
    """The sentences of an answer, each once, without what a model thought before it."""
    body = without_sources(_THOUGHT.sub("", text))
    sentences = [
        sentence
        for paragraph in _PARAGRAPHS.split(_ABSENT.sub(_on_its_own, body))
        for sentence in _with_numbers_of_paragraph(paragraph)
    ]
    absent = {each: match[1] for each in sentences if (match := _ABSENT.match(each.text))}
    said: dict[str, MarkedSentence] = {}
    for sentence in sentences:
        if sentence not in absent:
            said.setdefault(sentence.text, sentence)
    return ReadAnswer(tuple(said.values()), tuple(dict.fromkeys(absent.values())))


def _on_its_own(match: re.Match[str]) -> str:
    """What is not in the sources as a paragraph of its own, which takes no numbers."""
    return f"\n\n{match[0].strip()}\n\n"


def _with_numbers_of_paragraph(paragraph: str) -> Iterator[MarkedSentence]:
    sentences = marked_sentences(paragraph)
    for place, sentence in enumerate(sentences):
        following = (later.numbers for later in sentences[place:] if later.numbers)
        yield replace(sentence, numbers=next(following, ()))
