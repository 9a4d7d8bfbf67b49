"""An answer for people: what is said, with [1] behind it, and what stands behind each number."""

import textwrap
from collections.abc import Iterable

from rag_assets.answering.answer import NOT_COMPARED, Answer, Sentence
from rag_assets.answering.cited_places import numbered_places, place_of

WIDTH = 80


def answer_text(answer: Answer) -> str:
    """`answer` as lines of at most 80 characters, addresses aside."""
    numbers = numbered_places(answer.citations)
    said = [_said(sentence, numbers) for sentence in answer.sentences]
    sources = [_source(number, place) for place, number in numbers.items()]
    parts = [*_opening(answer), "\n".join(said), *_readings(answer)]
    if sources:
        parts.append("\n".join(["Sources", *sources]))
    parts += _closing(answer)
    return "\n\n".join(part for part in parts if part)


def _opening(answer: Answer) -> Iterable[str]:
    if answer.read_as:
        yield _filled(f"Read as: {answer.read_as}")
    if answer.planned_as:
        yield _filled(f"Looked up as: {answer.planned_as}")
    if answer.outcome == "nothing":
        yield _filled(f"No answer. {_sentence(answer.reason)}")
    elif answer.outcome == "found":
        yield _filled(f"This is no answer, but what fits best. {_sentence(answer.reason)}")


def _closing(answer: Answer) -> Iterable[str]:
    """What stands in the way of an answer; where nothing was found, what was searched."""
    if answer.outcome == "written" and answer.generation:
        yield _filled(
            f"Written by the language model {answer.generation.model}, and checked sentence by "
            "sentence."
        )
    if answer.outcome in ("computed", "written"):
        if answer.reason:
            yield _filled(f"Note: {answer.reason}.")
        return
    scope = answer.scope
    filters = "".join(f", {name} {value}" for name, value in scope.filters.items())
    yield _filled(
        f"Searched: variant {scope.variant} with {scope.retriever}{filters}; "
        f"{scope.units:,} units were ranked."
    )


def _readings(answer: Answer) -> Iterable[str]:
    if answer.readings:
        listed = "\n".join(_filled(reading, first="- ", rest="  ") for reading in answer.readings)
        yield f"It can be read as:\n{listed}"


def _said(sentence: Sentence, numbers: dict[str, int]) -> str:
    places = dict.fromkeys(numbers[place_of(citation)] for citation in sentence.citations)
    marks = "".join(f" [{number}]" for number in places)
    mark = NOT_COMPARED if sentence.is_not_compared else ""
    return _filled(f"{sentence.text}{marks}{mark}")


def _source(number: int, place: str) -> str:
    mark = f"[{number}] "
    return _filled(place, first=mark, rest=" " * len(mark))


def _sentence(text: str) -> str:
    """`text` as a sentence of its own."""
    if not text:
        return ""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?')) else '.'}"


def _filled(text: str, *, first: str = "", rest: str = "") -> str:
    return textwrap.fill(
        text.strip(),
        WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
