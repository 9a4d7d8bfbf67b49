"""An answer for people: what is said, with [1] behind it, and what stands behind each number.

What was only found is laid out in `LINES` lines: each unit with its title and place, the passage
that fits best marked, and as much of what stands around it as there is room for. All of the first
unit is shown, in more lines where it takes more.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from rag_assets.answering.answer import Answer
from rag_assets.citations.kinds import Cell, Rows, Span
from rag_assets.citations.sentences import Sentence
from rag_assets.citations.source_numbers import numbered_places, without_marks

WIDTH = 80
LINES = 30
"""The most lines of what was found, with all that is said of it and the line that names its id,
unless the first unit is longer."""
RESERVED = 2
"""The lines that the command adds below."""
INDENT = "    "
FEWEST = 2
"""The fewest lines of text of each unit."""
NO_ANSWER = "This is not an answer, but what fits best; the closest passages are marked."
STARTS, ENDS = "\ue000", "\ue001"
"""Stand for the marks of a passage while lines are made."""
MARKS = ("**", "**")
BOLD = ("\x1b[1m", "\x1b[22m")


def answer_text(answer: Answer, *, bold: bool = False) -> str:
    """`answer` as lines of at most 80 characters, addresses aside.

    Args:
        answer: Of any outcome.
        bold: Whether the passages found are marked for a terminal, and not by asterisks.
    """
    if answer.outcome == "found":
        return "\n".join(_found(answer, marks=BOLD if bold else MARKS))
    numbers = numbered_places(answer.citations)
    said = [_said(sentence, numbers) for sentence in answer.sentences if not sentence.is_written]
    added = [_said(sentence, numbers) for sentence in answer.sentences if sentence.is_written]
    sources = [_source(number, place) for place, number in numbers.items()]
    parts = [*_opening(answer), "\n".join(said), *_all_rows(answer)]
    if added and answer.outcome == "computed":
        parts.append("\n".join(["A language model adds:", *added]))
    else:
        parts.append("\n".join(added))
    parts += _readings(answer)
    if sources:
        parts.append("\n".join(["Sources", *sources]))
    parts += _closing(answer)
    return "\n\n".join(part for part in parts if part)


def _found(answer: Answer, *, marks: tuple[str, str]) -> Iterator[str]:
    """What was found: see the module."""
    above = [*_opening(answer), *_readings(answer), NO_ANSWER]
    below = [_searched(answer)]
    heads = [_head(number, each) for number, each in enumerate(answer.sentences, start=1)]
    taken = sum(part.count("\n") + 1 for part in (*above, *below, *heads))
    room = max(LINES - RESERVED - taken, 0)
    texts = _in_room(answer.sentences, room)
    yield from above
    for head, text in zip(heads, texts, strict=True):
        yield head
        yield from _marked(text, marks)
    yield from below


def excerpt_lines(
    before: str, passage: str, after: str, *, around: int, bold: bool
) -> Iterator[str]:
    """A passage, marked, with at most `around` lines of what stands before and behind it."""
    lines, own = _laid(before, passage, after)
    shown = lines[max(own.start - around, 0) : own.stop + around]
    return _marked(shown, BOLD if bold else MARKS)


def _marked(lines: Iterable[str], marks: tuple[str, str]) -> Iterator[str]:
    return (line.replace(STARTS, marks[0]).replace(ENDS, marks[1]) for line in lines)


def _head(number: int, passage: Sentence) -> str:
    """Title and place of a unit that was found, in one line."""
    first = passage.citations[0] if passage.citations else None
    place = first.place if first is not None else ""
    is_titled = isinstance(first, Span) and first.title not in first.uri
    title = f"{first.title}: " if is_titled else ""
    return textwrap.shorten(f"[{number}] {title}{place}", WIDTH, placeholder=" ...")


def _in_room(passages: Sequence[Sentence], room: int) -> list[list[str]]:
    """The lines of each passage with what stands around it, `room` lines in all.

    The first has all that it takes, each other one its share of what is left; what one leaves of it
    goes to the others, the earlier ones first.
    """
    wanted = [_lines(passage) for passage in passages]
    first = len(wanted[0][0]) if wanted else 0
    share = max((room - first) // max(len(wanted) - 1, 1), FEWEST)
    sizes = [first if place == 0 else min(len(own), share) for place, (own, _) in enumerate(wanted)]
    for place, (lines, _) in enumerate(wanted):
        sizes[place] += max(0, min(len(lines) - sizes[place], room - sum(sizes)))
    return [_cut(*each, size) for each, size in zip(wanted, sizes, strict=True)]


def _lines(passage: Sentence) -> tuple[list[str], slice]:
    """All lines of a passage with its surroundings, and which of them are the passage's own."""
    return _laid(*map(without_marks, (passage.before, passage.text, passage.after)))


def _laid(before: str, text: str, after: str) -> tuple[list[str], slice]:
    whole = f"{before}{STARTS}{text}{ENDS}{after}"
    lines = [
        line
        for part in whole.split("\n")
        for line in textwrap.wrap(
            part,
            WIDTH,
            initial_indent=INDENT,
            subsequent_indent=INDENT,
            break_on_hyphens=False,
        )
    ]
    first = sum(1 for _ in takewhile(lambda line: STARTS not in line, lines))
    last = sum(1 for _ in takewhile(lambda line: ENDS not in line, lines))
    return lines, slice(first, last + 1)


def _cut(lines: Sequence[str], own: slice, most: int) -> list[str]:
    """Keep at most `most` of `lines`, the passage's own among them, with more behind it."""
    if len(lines) <= most:
        return [*lines]
    spare = max(most - (own.stop - own.start), 0)
    before = min(own.start, max(spare // 2, spare - (len(lines) - own.stop)))
    start = own.start - before
    cut = [*lines[start : start + most]]
    if start > 0:
        cut[0] = f"{INDENT}... {cut[0].strip()}"
    if own.stop - start > most:
        cut[-1] = f"{cut[-1]}{ENDS}"
    if start + most < len(lines):
        cut[-1] = f"{cut[-1]} ..."
    return cut


def _opening(answer: Answer) -> Iterable[str]:
    if answer.read_as:
        yield _filled(f"Read as: {answer.read_as}")
    if answer.planned_as:
        yield _filled(f"Looked up as: {answer.planned_as}")
    if answer.outcome == "nothing":
        yield _filled(f"No answer. {_sentence(answer.reason)}")
    elif answer.outcome == "found" and answer.reason:
        yield _filled(_sentence(answer.reason))


def _all_rows(answer: Answer) -> Iterable[str]:
    """How to see all rows of a lookup that selects more than are told one by one."""
    told = {each.row_key for each in answer.citations if isinstance(each, Cell)}
    counts = [each.count for each in answer.citations if isinstance(each, Rows)]
    if answer.outcome == "computed" and any(count > len(told) for count in counts):
        question = (answer.read_as or answer.question).replace('"', '\\"')
        yield f'All {max(counts):,} rows: rag-assets tables lookup "{question}"'


def _closing(answer: Answer) -> Iterable[str]:
    """What stands in the way of an answer; where nothing was found, what was searched."""
    if answer.outcome == "written" and answer.generation:
        yield _filled(f"Written by the language model {answer.generation.model}.")
    if answer.outcome in ("computed", "written"):
        if answer.reason:
            yield _filled(f"Note: {answer.reason}.")
        return
    if answer.shown:
        nearest = "; ".join(dict.fromkeys(each.uri for each in answer.shown[:3]))
        yield _filled(f"Nearest to the question is what these hold: {nearest}.")
    yield _searched(answer)


def _searched(answer: Answer) -> str:
    scope = answer.scope
    filters = "".join(f", {name} {value}" for name, value in scope.filters.items())
    return _filled(
        f"Searched: variant {scope.variant} with {scope.retriever}{filters}; "
        f"{scope.units:,} units were ranked."
    )


def _readings(answer: Answer) -> Iterable[str]:
    if answer.readings:
        told = "Nearest there are" if answer.outcome == "nothing" else "It can be read as"
        listed = "\n".join(_filled(reading, first="- ", rest="  ") for reading in answer.readings)
        yield f"{told}:\n{listed}"


def _said(sentence: Sentence, numbers: dict[str, int]) -> str:
    places = dict.fromkeys(numbers[citation.place] for citation in sentence.citations)
    marks = "".join(f" [{number}]" for number in places)
    return _filled(f"{without_marks(sentence.text)}{marks}{sentence.mark}")


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
