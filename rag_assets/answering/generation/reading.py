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
from rag_assets.answering.generation.markup import is_polite, plain_answer

LONGEST = 400
"""At most so many characters of a sentence are looked at."""
_SOURCES = (
    r"(?:the |these |any of the |de |dessa )?"
    r"(?:(?:provided|given|available|numbered|cited|supplied|retrieved|angivna|givna) )*"
    r"(?:sources?|contexts?|information|documents?|passages?|excerpts?|snippets?|texts?"
    r"|k\u00e4llorna|k\u00e4llor|dokumenten|texterna)"
    r"(?: (?:provided|given|above|shown))?"
)
_SAY = (
    r"(?:mention|contain|provide|specify|say|state|include|give|describe|address|cover|indicate"
    r"|discuss|explain|answer|hold|list|reveal|offer|have)"
)
_SAY_IN_SWEDISH = r"(?:anger|n\u00e4mner|s\u00e4ger|inneh\u00e5ller|beskriver|ger|uppger|svarar)"
_ABOUT = (
    r"(?:(?:any |enough |specific |sufficient )*(?:information|details?|data|answers?)\b ?)?"
    r"(?:(?:about|on|regarding|for|to|of)\b)?"
)
_OPENING = (
    r"(?:(?:unfortunately|however|sorry|i(?:'m| am) sorry|but|tyv\u00e4rr|d\u00e4remot),? ?)*"
    r"(?:(?:based on|from|according to|given) [^,]{0,60}, )?"
)
_CANNOT = r"(?:can ?not|can't|could not|couldn't|am unable to|are unable to|do not|don't)"
_DO_NOT = r"(?:(?:do|does|did) not|don't|doesn't|didn't)"
_WHAT = r"\b ?(?P<what>.*?)"
_FORMS = [
    re.compile(rf"{_OPENING}{form}\W*", re.IGNORECASE)
    for form in (
        rf"{_SOURCES} {_DO_NOT} (?:\w+ )?{_SAY}\b ?{_ABOUT}{_WHAT}",
        rf"{_SOURCES} {_SAY}s? no(?:thing)?\b ?{_ABOUT}{_WHAT}",
        rf"there (?:is|are|was|were) no(?:thing)?\b ?{_ABOUT}{_WHAT} in {_SOURCES}",
        rf"(?P<what>.*?) (?:is|are|was|were) (?:not|nowhere) (?:\w+ ){{0,2}}(?:in|by) {_SOURCES}",
        rf"(?:i|we) {_CANNOT} (?:answer|find|determine|know|help|provide|say|tell){_WHAT}",
        rf"{_SOURCES} {_SAY_IN_SWEDISH} (?:inte|inget|ingen|inga|ej){_WHAT}",
        rf"(?P<what>.*?) (?:framg\u00e5r|st\u00e5r|n\u00e4mns|finns) inte (?:i|av) {_SOURCES}",
        rf"jag (?:kan|vet|hittar) inte(?: (?:svara p\u00e5|hitta|s\u00e4ga|besvara))?{_WHAT}",
    )
]

LONGEST_ANSWER = 20_000
"""At most so many characters are read: no answer that was asked for is longer."""
MOST_SENTENCES = 40
"""At most so many sentences are read; a model that writes more repeats itself."""
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
    """What the answer says that the sources leave open; an empty text where it does not say
    what."""
    to_compute: str = ""
    """What the answer asks to have computed, in words; empty where it asks for nothing."""


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


def words_of(text: str) -> str:
    """What a model wrote, without what it thought before it and without marks of citations."""
    plain = plain_answer(text, longest=LONGEST_ANSWER)
    return " ".join(each.text for each in marked_sentences(plain)) or plain.strip()


def _sentences(paragraph: str) -> Iterator[MarkedSentence]:
    """The sentences of a paragraph that say something, with the numbers they share."""
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


def what_is_lacking(sentence: str) -> str | None:
    """What the sources do not hold, by a sentence that says so; it may be empty. Else None."""
    said = " ".join(sentence.replace("\u2019", "'").split())
    if len(said) > LONGEST:
        return None
    found = next((match for form in _FORMS if (match := form.fullmatch(said))), None)
    return found["what"].strip(" .,;:?!") if found else None
