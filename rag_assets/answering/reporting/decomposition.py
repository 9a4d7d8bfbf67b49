"""From a prompt with several topics to sub-questions, by rules in English and Swedish.

    decomposed("Write a report on steel covering corrosion, welding and fatigue").parts
    # corrosion (steel); welding (steel); fatigue (steel)

Parts are the members of a list after `covering`, `including` and their like, the items of a
numbered list, the things that are compared, and sentences that demand more. The main topic is
carried into each. A prompt with one topic stays one question: to cut it would only narrow the
search (P4, section 6).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, Protocol, TypeAlias

from rag_assets.answering.condensation.conversation import Turn
from rag_assets.answering.condensation.rules import condensed
from rag_assets.answering.refusal.terms import HeldTerms, coverage, terms_of
from rag_assets.answering.reporting import prompt_words as words
from rag_assets.answering.reporting.listing import cleaned, listed, merged, numbered_items

MOST_PARTS = 5
"""Sub-questions of a prompt, at most, as in P4."""
FEWEST_PARTS = 3
"""With fewer parts the topic as a whole is asked for as well."""
FEWEST_TERMS = 2
"""Terms of each of two things that `and` joins, to be two topics: `gas and oil` is one."""

DecomposedBy: TypeAlias = Literal["rules", "model"]


@dataclass(frozen=True, slots=True)
class SubQuestion:
    """A part of a prompt."""

    title: str
    """The part in words, as the heading of a section."""
    question: str
    """What is searched: the part with the main topic."""


@dataclass(frozen=True, slots=True)
class Decomposition:
    """A prompt as sub-questions."""

    prompt: str
    title: str
    """The main topic."""
    parts: tuple[SubQuestion, ...]
    """At least one; exactly one where the prompt has one topic."""
    by: DecomposedBy = "rules"
    note: str = ""
    """Why a model did not do it that was asked to; else empty."""


class Decomposer(Protocol):
    """Whoever takes a prompt apart."""

    def __call__(self, prompt: str) -> Decomposition:
        """The sub-questions of `prompt`, which is not blank."""
        ...


@dataclass(frozen=True, slots=True)
class RuleDecomposer:
    """Takes prompts apart by rules."""

    most: int = MOST_PARTS
    """Sub-questions, at most."""

    def __call__(self, prompt: str) -> Decomposition:
        """As `decomposed`."""
        return decomposed(prompt, most=self.most)


@dataclass(frozen=True, slots=True)
class _Read:
    """What a prompt asks for."""

    topic: str
    """What is carried into each part; empty where the parts have none in common."""
    items: Sequence[str] = ()
    sides: Sequence[str] = ()
    """The things that are compared."""
    title: str = ""
    """Of topics of equal rank, all of them; empty where the topic is the title."""


def decomposed(prompt: str, *, most: int = MOST_PARTS) -> Decomposition:
    """The sub-questions of `prompt` by rules, `most` at most."""
    read = _read(prompt.strip())
    title = titled(read.title or read.topic or (_sentences(prompt) or [prompt])[0])
    items = merged(_parts(read), most=most)
    if len(items) < 2:
        return Decomposition(prompt, title, (SubQuestion(title, " ".join(prompt.split())),))
    parts = tuple(SubQuestion(titled(item), _whole(item, read)) for item in items)
    return Decomposition(prompt, title, parts)


def titled(text: str) -> str:
    """`text` as a heading: a capital first, unless its first word has capitals of its own."""
    text = cleaned(text)
    first = text.split(" ", 1)[0]
    return f"{text[:1].upper()}{text[1:]}" if first.islower() else text


def _parts(read: _Read) -> list[str]:
    """The parts in their order; those compared stand before what they are compared by."""
    items = list(dict.fromkeys(read.items))
    if read.sides and len(items) < FEWEST_PARTS:
        return [*read.sides, *items]
    if items and read.topic and not read.title and len(items) < FEWEST_PARTS:
        return [read.topic, *items]
    return items


def _whole(item: str, read: _Read) -> str:
    """`item` with the topic behind it, unless it names all of it."""
    topic = _shared_by(read.sides) if item in read.sides else read.topic
    if not topic or coverage(terms_of(topic), [HeldTerms(item)]) == 1:
        return item
    return f"{item} ({topic})"


def _shared_by(sides: Sequence[str]) -> str:
    """What the last of two things that are compared says of both.

    It is a place (`A and B in cars`); where the first is an adjective alone (`hot and cold rolled
    steel`), the whole.
    """
    if place := words.PLACE.search(sides[-1]):
        return cleaned(place["place"])
    is_cut = len(terms_of(sides[0])) < len(terms_of(sides[-1]))
    return " and ".join(sides) if is_cut and sides[0].islower() else ""


def _read(prompt: str) -> _Read:
    before, items = numbered_items(prompt)
    if items:
        return _of_list(before, items)
    first, *others = _sentences(prompt) or [prompt]
    if _is_question(first):
        return _Read("", _questions([first, *others]) if others else ())
    read = _of_request(first)
    more = [item for sentence in others for item in _demanded(sentence)]
    return replace(read, items=[*read.items, *more])


def _of_list(before: str, items: Sequence[str]) -> _Read:
    """A list of items, and what its introduction says of all."""
    first = (_sentences(before) or [""])[0]
    topic = _body(first)
    marker = words.COVERING.search(f"{topic} ")
    return _Read(cleaned(topic[: marker.start()] if marker else topic), items)


def _of_request(sentence: str) -> _Read:
    """The topic of a request, and the parts that it lists."""
    first, *others = words.AND_DEMAND.split(sentence)
    if others and not words.COMPARING.match(first):
        return _of_demands(first, [item for each in others for item in _demanded(each)])
    compared = words.COMPARING.match(_body(sentence)) or words.COMPARING.match(sentence)
    body = compared.string[compared.end() :] if compared else _body(sentence)
    topic, items = _topic_and_list(body)
    if compared and len(sides := words.COMPARED.split(topic, maxsplit=1)) == 2:
        return _Read(topic, items, [cleaned(side) for side in sides])
    if items and words.BARE.match(topic):
        return _Read("", items, title=", ".join(items))
    return _Read(topic, items) if items else _of_topics(topic)


def _of_demands(first: str, others: Sequence[str]) -> _Read:
    """Several demands in one sentence; topics of equal rank, unless the first lists parts."""
    read = _of_request(first)
    if read.items and read.topic and not read.title:
        return replace(read, items=[*read.items, *others])
    items = read.items or [read.topic]
    return _Read("", [*items, *others], title=read.title or read.topic)


def _topic_and_list(body: str) -> tuple[str, list[str]]:
    marker = words.COVERING.search(body)
    if marker and marker.start():
        return cleaned(body[: marker.start()]), listed(body[marker.end() :])
    if (marker := words.WITH.search(body)) and len(items := listed(body[marker.end() :])) > 2:
        return cleaned(body[: marker.start()]), items
    return cleaned(body), []


def _of_topics(topic: str) -> _Read:
    """Topics of equal rank; what the last of them says of a place holds for all."""
    items = [topic] if words.ASKS.match(topic) else listed(topic)
    are_two = len(items) == 2 and all(len(terms_of(item)) >= FEWEST_TERMS for item in items)
    if len(items) < FEWEST_PARTS and not are_two:
        return _Read(topic)
    place = words.PLACE.search(items[-1])
    return _Read(cleaned(place["place"]) if place else "", items, title=topic)


def _demanded(sentence: str) -> list[str]:
    """The parts that a later sentence demands; none where it is about the form, or tells."""
    if words.OF_FORM.match(sentence):
        return []
    demand = words.DEMAND.match(sentence)
    if demand:
        return listed(sentence[demand.end() :])
    return [cleaned(sentence)] if _is_question(sentence) else []


def _questions(sentences: Sequence[str]) -> list[str]:
    """Questions one after the other; each is completed from the first."""
    found: list[str] = []
    for sentence in sentences:
        if found and _is_question(sentence):
            found.append(condensed(sentence, [Turn(found[0])]).question)
        elif _is_question(sentence):
            found.append(sentence)
        else:
            found += _demanded(sentence)
    return found


def _body(sentence: str) -> str:
    """A request without the words that ask for it."""
    request = words.REQUEST.match(sentence)
    return sentence[request.end() :] if request else sentence


def _is_question(sentence: str) -> bool:
    return words.REQUEST.match(sentence) is None and (
        sentence.endswith("?") or words.ASKS.match(sentence) is not None
    )


def _sentences(text: str) -> list[str]:
    found, start = [], 0
    for match in words.SENTENCE_END.finditer(text):
        found.append(" ".join(text[start : match.end()].split()))
        start = match.end()
    return [each for each in [*found, " ".join(text[start:].split())] if each]
