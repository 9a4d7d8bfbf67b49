"""Answers in the forms in which hosted models cite, both ways.

Anthropic's Messages API: text blocks with `citations` of the types `char_location`, `page_location`
and `search_result_location` (https://docs.claude.com/en/docs/build-with-claude/citations and
/search-results). OpenAI's Responses API: one `output_text` with `annotations` of the types
`url_citation` and `file_citation`
(https://platform.openai.com/docs/guides/tools-file-search and /tools-web-search).

Both name sources by what the request held: `Given` is one of them, a unit with its text. Neither
form has cells, rows, computed values or absences. Those are sent as the search result that they
are, in words, and come back as spans of it.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from pydantic import JsonValue

from rag_assets.answering.answer import Sentence
from rag_assets.answering.citations import Cell, Citation, Computed, Rows, Span

Block: TypeAlias = dict[str, JsonValue]
"""A JSON object of an API."""
Form: TypeAlias = Literal["char_location", "page_location", "search_result_location"]
"""How Anthropic's API cites, which depends on how a source was given."""


class ForeignCitationError(ValueError):
    """A citation of a hosted model cannot be read; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Given:
    """A source as a model was given it: a unit with its text."""

    unit_id: str
    text_hash: str
    source: str
    uri: str
    title: str
    text: str
    pages: tuple[int, ...] = ()
    section: str = ""

    def span(self, start: int, end: int) -> Span:
        """The characters from `start` up to `end` as a citation."""
        return Span(
            unit_id=self.unit_id,
            text_hash=self.text_hash,
            source=self.source,
            uri=self.uri,
            title=self.title,
            pages=self.pages,
            start=start,
            end=end,
            text=self.text[start:end],
            section=self.section,
        )


def to_anthropic(
    sentences: Sequence[Sentence], given: Sequence[Given], *, form: Form
) -> list[Block]:
    """A text block for each sentence, with its citations in `form`.

    A citation of a unit that is not in `given` is left out, since the form counts sources by their
    place in the request. So is, as a page, a span of a document without pages.
    """
    places = {each.unit_id: place for place, each in enumerate(given)}
    return [
        {
            "type": "text",
            "text": sentence.text,
            "citations": [
                block
                for citation in sentence.citations
                for block in _anthropic(citation, places, given, form)
            ],
        }
        for sentence in sentences
    ]


def from_anthropic(blocks: Sequence[Mapping], given: Sequence[Given]) -> tuple[Sentence, ...]:
    """The sentences of text blocks; their support is unchecked.

    Args:
        blocks: The `content` of a message; blocks of other types are left out.
        given: The documents or search results of the request, in its order.

    Raises:
        ForeignCitationError: A citation is of no known type, or names what was not given.
    """
    return tuple(
        Sentence(
            str(block.get("text", "")),
            tuple(_of_anthropic(each, given) for each in block.get("citations") or ()),
        )
        for block in blocks
        if block.get("type") == "text"
    )


def to_openai(sentences: Sequence[Sentence], *, urls: Mapping[str, str]) -> Block:
    """One `output_text`: the sentences joined by blanks, and a `url_citation` for each source.

    Args:
        sentences: Of an answer.
        urls: Where each unit can be read, by its id; a citation of any other unit is left out.
    """
    text = ""
    annotations: list[JsonValue] = []
    for sentence in sentences:
        start = len(text) + bool(text)
        text = f"{text} {sentence.text}" if text else sentence.text
        cited = {unit: each for each in sentence.citations if (unit := _unit_of(each)) in urls}
        annotations += [
            {
                "type": "url_citation",
                "start_index": start,
                "end_index": len(text),
                "url": urls[unit],
                "title": _title_of(citation),
            }
            for unit, citation in cited.items()
        ]
    return {"type": "output_text", "text": text, "annotations": annotations}


def from_openai(
    output: Mapping, given: Sequence[Given], *, names: Mapping[str, str]
) -> tuple[Sentence, ...]:
    """The sentences of an `output_text`; what is cited is the whole text of a source.

    A `url_citation` holds for the words between its indices, a `file_citation` for those from the
    one before up to its index. Words that none holds for are a sentence that cites nothing.

    Args:
        output: The content part.
        given: The sources.
        names: The unit of each `url` and `file_id`.

    Raises:
        ForeignCitationError: A citation is of no known type, or names what was not given.
    """
    text = str(output.get("text", ""))
    units = {each.unit_id: each for each in given}
    cited: dict[tuple[int, int], list[Citation]] = {}
    last = 0
    for annotation in output.get("annotations") or ():
        start, end = _range_of(annotation, last)
        last = max(last, end)
        source = units.get(names.get(_name_of(annotation), ""))
        if source is None:
            raise ForeignCitationError(f"{_name_of(annotation)!r} is none of the given sources")
        cited.setdefault((start, end), []).append(source.span(0, len(source.text)))
    return tuple(_parts(text, cited))


def _parts(text: str, cited: Mapping[tuple[int, int], Sequence[Citation]]) -> Iterator[Sentence]:
    """The parts of a text that are cited together, and what lies between them."""
    done = 0
    for (start, end), citations in sorted(cited.items()):
        if between := text[done:start].strip():
            yield Sentence(between, ())
        if words := text[max(start, done) : end].strip():
            yield Sentence(words, tuple(citations))
        done = max(done, end)
    if rest := text[done:].strip():
        yield Sentence(rest, ())


def _anthropic(
    citation: Citation, places: Mapping[str, int], given: Sequence[Given], form: Form
) -> Iterator[Block]:
    unit = _unit_of(citation)
    if unit not in places:
        return
    place = places[unit]
    if not isinstance(citation, Span) or form == "search_result_location":
        yield {
            "type": "search_result_location",
            "cited_text": _words_of(citation),
            "source": given[place].uri,
            "title": given[place].title,
            "search_result_index": place,
            "start_block_index": 0,
            "end_block_index": 1,
        }
        return
    block: Block = {
        "type": form,
        "cited_text": citation.text,
        "document_index": place,
        "document_title": citation.title,
    }
    if form == "char_location":
        yield block | {"start_char_index": citation.start, "end_char_index": citation.end}
    elif citation.pages:
        first, last = citation.pages[0], citation.pages[-1]
        yield block | {"start_page_number": first, "end_page_number": last + 1}


def _of_anthropic(block: Mapping, given: Sequence[Given]) -> Span:
    kind = block.get("type")
    if kind not in ("char_location", "page_location", "search_result_location"):
        raise ForeignCitationError(f"there is no citation of the type {kind!r}")
    name = "search_result_index" if kind == "search_result_location" else "document_index"
    place = block.get(name)
    if not isinstance(place, int) or not 0 <= place < len(given):
        raise ForeignCitationError(f"{name} = {place!r}: {len(given)} sources were given")
    source = given[place]
    if kind == "char_location":
        start, end = block.get("start_char_index"), block.get("end_char_index")
        length = len(source.text)
        if isinstance(start, int) and isinstance(end, int) and 0 <= start <= end <= length:
            return source.span(start, end)
        raise ForeignCitationError(f"characters {start!r} to {end!r}: source {place} has {length}")
    return _found_in(source, str(block.get("cited_text", "")))


def _found_in(source: Given, words: str) -> Span:
    """`words` where they stand in a source; all of it where they do not."""
    start = source.text.find(words) if words else -1
    end = start + len(words) if start >= 0 else len(source.text)
    return source.span(max(start, 0), end)


def _unit_of(citation: Citation) -> str:
    if isinstance(citation, Computed):
        return next((each.unit_id or "" for each in citation.inputs), "")
    return citation.unit_id or "" if isinstance(citation, Span | Cell) else ""


def _title_of(citation: Citation) -> str:
    match citation:
        case Span():
            return citation.title
        case Cell():
            return f"{citation.table}, row {citation.row_key}"
        case Computed():
            return f"{citation.operation} over {citation.rows.table}"
        case Rows():
            return citation.table
    return citation.scope


def _words_of(citation: Citation) -> str:
    match citation:
        case Span():
            return citation.text
        case Cell():
            unit = f" {citation.unit}" if citation.unit else ""
            return f"{citation.heading}: {citation.value}{unit}"
        case Computed():
            unit = f" {citation.unit}" if citation.unit else ""
            return f"{citation.operation}: {citation.result}{unit}"
    return _title_of(citation)


def _range_of(annotation: Mapping, last: int) -> tuple[int, int]:
    kind = annotation.get("type")
    if kind == "url_citation":
        start, end = annotation.get("start_index"), annotation.get("end_index")
    elif kind == "file_citation":
        start, end = last, annotation.get("index")
    else:
        raise ForeignCitationError(f"there is no annotation of the type {kind!r}")
    if not isinstance(start, int) or not isinstance(end, int) or not 0 <= start <= end:
        raise ForeignCitationError(f"{kind} from {start!r} to {end!r}: these are no indices")
    return start, end


def _name_of(annotation: Mapping) -> str:
    return str(annotation.get("url") or annotation.get("file_id") or "")
