"""What tools return, as their output schemas describe it."""

from collections.abc import Mapping, Sequence
from typing import Annotated

from pydantic import Field

from rag_assets.citations.values import Value
from rag_assets.serving.http.bodies import ColumnReply, ReplyBody

Id = Annotated[str, Field(description="id of a unit: `fetch` gives its text")]
Url = Annotated[str, Field(description="its evidence card, to cite it by")]


class ToolReply(ReplyBody):
    """What every tool says."""

    index_version: str
    next_cursor: str | None = Field(None, description="give it as `cursor` for what comes next")


class PlacedUnit(ReplyBody):
    """A unit, and where it stands."""

    id: Id
    title: str
    url: Url
    place: str = Field(description="document, pages, section and state; or table and row")
    domain: str = Field(description="`document` or `table`")


class SearchedUnit(PlacedUnit):
    """A unit that was found."""

    snippet: str
    score: float
    linked: str | None = Field(None, description="the link that led there, where one did")


class SearchedUnits(ToolReply):
    """What a search found, the best first."""

    results: list[SearchedUnit]


class FetchedUnit(ToolReply, PlacedUnit):
    """A unit with its text."""

    text: str
    metadata: Mapping[str, str] = Field(description="source, uri, and the ids beside it")


class ToldPlace(PlacedUnit):
    """A place where a text stands."""

    line: str = Field(description="the line on which it stands, cut to what is around it")
    match: str
    start: int = Field(description="its first character in the text of the document or row")
    end: int


class ToldPlaces(ToolReply):
    """The places where a text or pattern stands."""

    total: int = Field(description="places in all, exactly")
    places: list[ToldPlace]


class CountedSource(PlacedUnit):
    """A document or a row that mentions a text; the unit is the first that does."""

    times: int


class CountedSources(ToolReply):
    """How many documents and rows mention a text, exactly, and which."""

    documents: int
    rows: int
    times: int
    mentioning: list[CountedSource]


class SaidSentence(ReplyBody):
    """A sentence, and what it rests on."""

    text: str
    note: str | None = Field(None, description="what is to be known of it")
    urls: Sequence[str] = ()


class LookedUpRow(ReplyBody):
    """A row that answers; its cells are in the order of the columns."""

    id: Id
    url: Url
    row_key: str
    cells: Sequence[Value]


class LookedUpRows(ToolReply):
    """What the tables say."""

    outcome: str = Field(description="answered, closest, refused or none")
    reason: str = Field(description="how it was read, or why there is no answer")
    sentences: list[SaidSentence]
    plan: Mapping[str, object] | None = Field(
        None, description="how a question was read: change it, and run it"
    )
    total: int = Field(0, description="rows in all")
    columns: Sequence[str] = ()
    rows: Sequence[LookedUpRow] = ()


class OutlineEntry(ReplyBody):
    """A document or table of the index, or a heading of one document."""

    title: str
    place: str
    url: Url
    id: Id
    level: int | None = Field(None, description="of a heading, from 1")
    units: int | None = Field(None, description="passages or rows of a document or table")


class SourceOutline(ToolReply):
    """What is indexed, or the headings of a document, or the columns of a table."""

    total: int
    entries: Sequence[OutlineEntry] = ()
    columns: Sequence[ColumnReply] = ()


class ToldVerdict(ReplyBody):
    """A sentence, and whether its sources say it."""

    text: str
    supported: bool
    not_in_sources: bool
    compared: str
    against: list[str] = Field(description="what speaks against it")


class ToldVerdicts(ToolReply):
    """What of a text is in the sources that it cites, sentence by sentence."""

    supported: int
    not_in_sources: int
    sentences: list[ToldVerdict]


class ToldSource(ReplyBody):
    """A source, and how fresh it is."""

    name: str
    readable: bool
    last_read: str
    last_changed: str


class ToldStatus(ToolReply):
    """What is indexed, how fresh it is, and what is wrong."""

    variant: str
    documents: int
    tables: int
    units: int
    problems: int
    sources: list[ToldSource]
    wrong: list[str]


class AgentAnswer(ToolReply):
    """An answer with its proof."""

    answer_id: str | None = None
    outcome: str
    sentences: list[SaidSentence]
