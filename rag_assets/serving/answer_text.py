"""An answer for people: what is said, with [1] behind it, and what stands behind each number."""

import textwrap
from collections.abc import Iterable, Sequence

from rag_assets.answering.answer import Answer, Sentence, Support
from rag_assets.answering.citations import Absence, Cell, Citation, Computed, Rows, Span

WIDTH = 80
MOST_ROWS = 5
MOST_TITLE = 60
_SUPPORT: dict[Support, str] = {
    "full": "",
    "part": " (only a part of it is in the source)",
    "none": " (not in the source)",
    "unchecked": "",
}


def answer_text(answer: Answer) -> str:
    """`answer` as lines of at most 80 characters, addresses aside."""
    numbers = _numbered(answer)
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
    elif answer.outcome == "closest":
        yield _filled(f"No answer; this is the closest evidence. {_sentence(answer.reason)}")


def _closing(answer: Answer) -> Iterable[str]:
    """Where nothing was found: what was searched."""
    if answer.outcome == "answered":
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
    places = dict.fromkeys(numbers[_place(citation)] for citation in sentence.citations)
    marks = "".join(f" [{number}]" for number in places)
    return _filled(f"{sentence.text}{marks}{_SUPPORT[sentence.support]}")


def _numbered(answer: Answer) -> dict[str, int]:
    """The places that are cited, in the order in which they are, with their numbers."""
    places = dict.fromkeys(_place(citation) for citation in answer.citations)
    return {place: number for number, place in enumerate(places, start=1)}


def _source(number: int, place: str) -> str:
    mark = f"[{number}] "
    return _filled(place, first=mark, rest=" " * len(mark))


def _place(citation: Citation) -> str:
    """Where a citation points, for people; what points to one place has one number."""
    match citation:
        case Span():
            parts = [citation.uri, _pages(citation.pages), _short(citation.section)]
            parts.append("superseded" if citation.is_superseded else "")
            return ", ".join(part for part in parts if part)
        case Cell():
            return f"{citation.source}/{citation.table}, row {citation.row_key}"
        case Rows():
            return f"{citation.source}/{citation.table}, {_rows(citation.count, citation.row_keys)}"
        case Computed():
            rows = citation.rows
            columns = dict.fromkeys(cell.heading for cell in citation.inputs)
            column = f", column {', '.join(columns)}" if columns else ""
            return (
                f"{rows.source}/{rows.table}{column}: {citation.operation} of "
                f"{citation.count:,} cells, {_rows(rows.count, rows.row_keys)}"
            )
        case Absence():
            return f"{citation.scope}: {citation.searched:,} searched"


def _rows(count: int, keys: Sequence[str]) -> str:
    if count == 1 and keys:
        return f"row {keys[0]}"
    shown = ", ".join(keys[:MOST_ROWS])
    more = f" and {count - MOST_ROWS:,} more" if count > MOST_ROWS else ""
    return f"rows {shown}{more}" if shown else f"{count:,} rows"


def _pages(pages: Sequence[int]) -> str:
    if not pages:
        return ""
    word = "page" if len(pages) == 1 else "pages"
    return f"{word} {', '.join(map(str, pages))}"


def _short(section: str) -> str:
    """The last heading of a section path."""
    return textwrap.shorten(section.split(" > ")[-1], MOST_TITLE, placeholder=" ...")


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
