"""What a prompt asks for: its topic, the parts that it lists, and the things that it compares."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rag_assets.answering.condensation.conversation import Turn
from rag_assets.answering.condensation.rules import condensed
from rag_assets.answering.reporting import prompt_words as words
from rag_assets.answering.reporting.listing import cleaned, listed, numbered_items
from rag_assets.terms.coverage import terms_of

FEWEST_PARTS = 3
"""With fewer parts the topic as a whole is asked for as well."""
FEWEST_TERMS = 2
"""Terms of each of two things that `and` joins, to be two topics: `gas and oil` is one."""


@dataclass(frozen=True, slots=True)
class RequestRead:
    """What a prompt asks for."""

    topic: str
    """What is carried into each part; empty where the parts have none in common."""
    items: Sequence[str] = ()
    """The parts that it lists."""
    sides: Sequence[str] = ()
    """The things that are compared."""
    title: str = ""
    """Of topics of equal rank, all of them; empty where the topic is the title."""


def read_request(text: str) -> RequestRead:
    """What `text` asks for."""
    found = numbered_items(text)
    if found.items:
        read, others = _of_list(found.before, found.items), sentences_of(found.after)
    else:
        first, others = _request_among(sentences_of(text) or [text])
        if _is_question(first):
            return RequestRead("", _questions([first, *others]) if others else ())
        read = _of_request(first)
    more = [item for sentence in others for item in _demanded(sentence)]
    items = [item for item in [*read.items, *more] if item and not _is_of_form(item)]
    return replace(read, items=items)


def without_form(text: str) -> str:
    """`text` on one line, without the sentences on the form of the report if others are left."""
    kept = [sentence for sentence in sentences_of(text) if not _is_of_form(sentence)]
    return " ".join(kept or text.split())


def _is_of_form(told: str) -> bool:
    """Whether a part or a sentence says how the report is to look, and names no topic."""
    if words.OF_FORM.match(told) or words.PART_OF_FORM.fullmatch(told):
        return True
    demand = words.DEMAND.match(told)
    parts = listed(told[demand.end() :]) if demand else []
    return bool(parts) and all(map(words.PART_OF_FORM.fullmatch, parts))


def _request_among(sentences: Sequence[str]) -> tuple[str, list[str]]:
    """The sentence that asks for a report, and the others; the first where none does."""
    place, start = 0, 0
    if not _asks_first(sentences[0]) and not _is_question(sentences[0]):
        within = enumerate(map(words.REQUEST_WITHIN.search, sentences))
        place, start = next(((at, match.start()) for at, match in within if match), (0, 0))
    return sentences[place][start:], [*sentences[:place], *sentences[place + 1 :]]


def _asks_first(sentence: str) -> bool:
    return bool(words.REQUEST.match(sentence) or words.COMPARING.match(sentence))


def _of_list(before: str, items: Sequence[str]) -> RequestRead:
    """A list of items, and what its introduction says of all."""
    first, _ = _request_among(sentences_of(before) or [""])
    topic, _ = _topic_and_list(f"{_body(first)} ")
    return (
        RequestRead("", items, title=", ".join(items))
        if _names_none(topic)
        else RequestRead(topic, items)
    )


def _names_none(topic: str) -> bool:
    return not topic or words.BARE.match(topic) is not None


def _of_request(sentence: str) -> RequestRead:
    """The topic of a request, and the parts that it lists."""
    first, *others = words.AND_DEMAND.split(sentence)
    if others and not words.COMPARING.match(first):
        return _of_demands(first, [item for each in others for item in _demanded(each)])
    compared = words.COMPARING.match(_body(sentence)) or words.COMPARING.match(sentence)
    body = compared.string[compared.end() :] if compared else _body(sentence)
    topic, items = _topic_and_list(body)
    sides = [cleaned(side) for side in words.COMPARED.split(topic, maxsplit=1)]
    if compared and len(sides) == 2 and all(sides):
        return RequestRead(topic, items, sides)
    if items and _names_none(topic):
        return RequestRead("", items, title=", ".join(items))
    return RequestRead(topic, items) if items else _of_topics(topic)


def _of_demands(first: str, others: Sequence[str]) -> RequestRead:
    """Several demands in one sentence; topics of equal rank, unless the first lists parts."""
    read = _of_request(first)
    if read.items and read.topic and not read.title:
        return replace(read, items=[*read.items, *others])
    items = read.items or [read.topic]
    return RequestRead("", [*items, *others], title=read.title or read.topic)


def _topic_and_list(body: str) -> tuple[str, list[str]]:
    marker = words.COVERING.search(body)
    if marker and marker.start():
        return _topic(body[: marker.start()]), listed(body[marker.end() :])
    if (marker := words.WITH.search(body)) and len(items := listed(body[marker.end() :])) > 2:
        return _topic(body[: marker.start()]), items
    return _topic(body), []


def _topic(text: str) -> str:
    return cleaned(words.PURPOSE.sub("", text))


def _of_topics(topic: str) -> RequestRead:
    """Topics of equal rank; what the last of them says of a place holds for all."""
    items = [topic] if words.ASKS.match(topic) else listed(topic)
    are_two = len(items) == 2 and all(len(terms_of(item)) >= FEWEST_TERMS for item in items)
    if len(items) < FEWEST_PARTS and not are_two:
        return RequestRead(topic)
    place = words.PLACE.search(items[-1])
    return RequestRead(cleaned(place["place"]) if place else "", items, title=topic)


def _demanded(sentence: str) -> list[str]:
    """The parts that a later sentence demands; none where it is about the form, or tells."""
    if words.OF_FORM.match(sentence):
        return []
    demand = words.DEMAND.match(sentence)
    if demand:
        return listed(words.A_TEXT_ABOUT.sub("", sentence[demand.end() :]))
    if text := words.A_TEXT_ABOUT.match(sentence):
        return listed(sentence[text.end() :])
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


def sentences_of(text: str) -> list[str]:
    """The sentences of a prompt, each on one line."""
    found, start = [], 0
    for match in words.SENTENCE_END.finditer(text):
        found.append(" ".join(text[start : match.end()].split()))
        start = match.end()
    return [each for each in [*found, " ".join(text[start:].split())] if each]
