"""What requests send and replies return, as the OpenAPI document describes it."""

from datetime import date
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from rag_assets.answering.answer import Answer
from rag_assets.config import Versions
from rag_assets.retrieval.filters import Filters

if TYPE_CHECKING:
    from rag_assets.retrieval.hits import Hit, Results

LONGEST_QUERY = 2_000
LONGEST_TEXT = 100_000
MOST_HITS = 100

Query = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]


class Body(BaseModel):
    """A request: a field that it does not have is refused."""

    model_config = ConfigDict(extra="forbid")


class FilterBody(Body):
    """Conditions that all must hold; what is left out is no condition."""

    domain: Literal["document", "table"] | None = None
    source: str | None = Field(None, description="name of a source")
    uri: str | None = Field(None, description="a document, below its source root")
    section: str | None = Field(None, description="head of a section path: `2 Methods`")
    table: str | None = Field(None, description="name of a table")
    type: Literal["text", "table", "figure", "formula"] | None = None
    language: str | None = Field(None, description="ISO 639-1 code of a chunk's language")
    fields: list[str] = Field([], description="header fields of a document: `number: ISO 527`")
    versions: Versions | None = Field(None, description="versions of documents")
    as_of: date | None = Field(None, description="day on which versions were valid")

    def filters(self) -> Filters:
        """The filters of the library.

        Raises:
            ValueError: A value is blank, or two exclude each other.
        """
        return Filters(
            domain=self.domain,
            source=self.source,
            uri=self.uri,
            section=self.section,
            table=self.table,
            type=self.type,
            language=self.language,
            fields=tuple(self.fields),
            versions=self.versions,
            as_of=self.as_of,
        )


class SearchBody(Body):
    """A search."""

    query: Query
    top_k: int | None = Field(None, ge=1, le=MOST_HITS, description="how many hits")
    retriever: str | None = Field(None, description="one of `retrieval.retrievers`")
    filters: FilterBody = FilterBody()
    explain: bool = Field(False, description="tell rank and score in each stage")


class Place(BaseModel):
    """Rank and score in one stage of a search."""

    rank: int
    score: float


class HitReply(BaseModel):
    """A unit that was found."""

    unit_id: str
    rank: int
    score: float
    domain: str
    source: str
    uri: str
    document_id: str | None
    title: str
    section: str
    pages: list[int]
    table: str | None
    row_key: str | None
    type: str | None
    language: str | None
    fields: list[str]
    text: str
    version: str | None
    is_superseded: bool
    stale_since: str | None
    stages: dict[str, Place] = Field(description="where each signal and stage had it; of `explain`")

    @classmethod
    def of(cls, hit: "Hit", *, explain: bool = False) -> "HitReply":
        """`hit` as a reply has it."""
        stages = {name: Place(rank=at.rank, score=at.score) for name, at in hit.arms.items()}
        values = {name: getattr(hit, name) for name in cls.model_fields if name != "stages"}
        return cls(**values, stages=stages if explain else {})


class SearchReply(BaseModel):
    """What a search found."""

    index_version: str
    variant: str
    retriever: str
    versions: str
    other_versions_left_out: int
    seconds: dict[str, float]
    searched_too: list[str] = Field(description="what was searched besides the query")
    hits: list[HitReply]

    @classmethod
    def of(
        cls, results: "Results", *, index_version: str, variant: str, explain: bool
    ) -> "SearchReply":
        """`results` as a reply has them."""
        rewritten = results.rewritten
        return cls(
            index_version=index_version,
            variant=variant,
            retriever=results.retriever,
            versions=results.versions,
            other_versions_left_out=results.left_out,
            seconds=dict(results.seconds),
            searched_too=[*rewritten.texts] if rewritten else [],
            hits=[HitReply.of(hit, explain=explain) for hit in results],
        )


class AskBody(Body):
    """A question."""

    question: Query
    after: str | None = Field(None, description="id of the kept answer that it follows")
    retriever: str | None = Field(None, description="one of `retrieval.retrievers`")
    filters: FilterBody = FilterBody()


class AnswerReply(BaseModel):
    """An answer with its proof."""

    id: str | None = Field(description="of the kept answer; null where answers are not kept")
    index_version: str
    answer: Answer


class PlanEvent(BaseModel):
    """How a question is read: the event `plan`."""

    question: str
    read_as: str
    planned_as: str
    index_version: str


class CardsEvent(BaseModel):
    """What was found, before anything is written: the event `cards`."""

    hits: list[HitReply]


class SentenceEvent(BaseModel):
    """A sentence that was compared with what it cites: the event `sentence`."""

    place: int
    """From 1."""
    sentence: JsonValue
    mark: str
    """What is told behind it: that nothing was compared, or that it does not hold."""
