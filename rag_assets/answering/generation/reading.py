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
from rag_assets.answering.generation.lacking import what_is_lacking
from rag_assets.answering.generation.markup import is_polite, plain_answer

LONGEST_ANSWER = 20_000
"""Characters that are read: no answer that was asked for is longer."""
MOST_SENTENCES = 40
"""That are read; a model that writes more repeats itself."""
ABSENT = "NOT IN THE SOURCES"
"""What the prompt asks a model to begin a line with that says what the sources leave open."""
_ABSENT = re.compile(
    rf"(?:^[^\w\n]*(?i:{ABSENT})|{ABSENT})\b(?:[^\w\n]*:[^\w\n]*\n)?[^\w\n]*([^\n]*)", re.MULTILINE
)
COMPUTE = "COMPUTE"
"""What the prompt asks a model to begin a line with that asks for a computation."""
_COMPUTE = re.compile(rf"^[^\w\n]*{COMPUTE}[^\w\n]*:[^\w\n]*([^\n]+)", re.MULTILINE)
_PARAGRAPHS = re.compile(r"\n\s*\n")
_MARK_AT_END = re.compile(r"\s*\[[\d,;\s\u2013-]+\]\W*$")


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """An answer of a model, taken apart."""

    sentences: tuple[MarkedSentence, ...]
    absent: tuple[str, ...]
    """What it says that the sources leave open; an empty text where it does not say what."""
    to_compute: str = ""
    """What it asks to have computed, in words; empty where it asks for nothing."""


def read_answer(text: str) -> ReadAnswer:
    """The sentences of an answer, each once, without what a model thought before it."""
    absent: list[str] = []

    def taken_out(match: re.Match[str]) -> str:
        absent.append(_MARK_AT_END.sub("", match[1]).strip(" .,;:*_"))
        return "\n\n"

    body = without_sources(plain_answer(text, longest=LONGEST_ANSWER))
    asked = _COMPUTE.search(body)
    body = _COMPUTE.sub("\n\n", body)
    paragraphs = _PARAGRAPHS.split(_ABSENT.sub(taken_out, body))
    said: dict[str, MarkedSentence] = {}
    for sentence in (each for paragraph in paragraphs for each in _sentences(paragraph)):
        lacking = what_is_lacking(sentence.text)
        if lacking is not None:
            absent.append(lacking)
        elif not (known := said.get(sentence.text)) or not known.numbers:
            said[sentence.text] = sentence
    return ReadAnswer(
        sentences=tuple(said.values())[:MOST_SENTENCES],
        absent=tuple(dict.fromkeys(absent)),
        to_compute=asked[1].strip() if asked else "",
    )


def _sentences(paragraph: str) -> Iterator[MarkedSentence]:
    """Those of a paragraph that say something, with the numbers that they take from each other."""
    sentences = [each for each in marked_sentences(paragraph) if any(map(str.isalnum, each.text))]
    numbers: tuple[int, ...] = ()
    found: list[MarkedSentence] = []
    for sentence in reversed(sentences):
        numbers = sentence.numbers or numbers
        found.append(replace(sentence, numbers=numbers))
    return (each for each in reversed(found) if not _says_nothing(each.text))


def _says_nothing(sentence: str) -> bool:
    """Whether it is a politeness, or a question: models repeat what they were asked."""
    return sentence.endswith("?") or is_polite(sentence)
