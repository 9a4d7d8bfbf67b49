"""What requests send and replies return, as the OpenAPI document describes it."""

from collections.abc import Sequence
from datetime import date, datetime
from typing import TYPE_CHECKING, Annotated, Generic, Literal, TypeAlias, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from rag_assets.answering.answer import Answer, Outcome
from rag_assets.answering.checks.verifying import SentenceVerdict
from rag_assets.answering.record.differing import AnswerDifference
from rag_assets.answering.record.feedback import Feedback, FeedbackKind
from rag_assets.answering.record.listing import ListedAnswer
from rag_assets.answering.record.notices import Notice
from rag_assets.answering.record.staleness import TouchedSentence
from rag_assets.answering.reporting.cited_report import CitedReport
from rag_assets.citations.values import Value
from rag_assets.config import Versions
from rag_assets.documents.families.shown import DocumentMember
from rag_assets.operations.explain.explaining import UnitLineage
from rag_assets.serving.document_status import DocumentStatus
from rag_assets.serving.study import StudyReply
from rag_assets.store.serving_pointer import ServingPointer
from rag_assets.table_lookup.looking_up import LookedUp
from rag_assets.table_lookup.plans.plan import Condition, LookupPlan, plan_from_json

if TYPE_CHECKING:
    from rag_assets.retrieval.hits import Hit, Results

LONGEST_QUERY = 2_000
LONGEST_PROMPT = 10_000
LONGEST_TEXT = 100_000
MOST_HITS = 100
MOST_OF_A_PAGE = 200
"""Entries of one page of a list."""
LAST_OFFSET = 10_000_000

Query = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]
Name = Annotated[str, Field(min_length=1, max_length=LONGEST_QUERY)]
UnitId = Annotated[str, Field(pattern="^[0-9a-f-]{4,36}$")]
"""Id of a unit, or its beginning."""
AnswerId = Annotated[str, Field(pattern="^[0-9a-fA-F-]{36}$")]
Plan = Annotated[LookupPlan, BeforeValidator(plan_from_json)]
"""A lookup plan; what is wrong with one is told in the words of `plan_from_json`."""
DocumentState: TypeAlias = Literal["read", "stale", "failed"]
"""Stale: an earlier version of it is served, as the present one cannot be read."""
Entry = TypeVar("Entry")


class Body(BaseModel):
    """A request: a field that it does not have is refused."""

    model_config = ConfigDict(extra="forbid", use_attribute_docstrings=True)


class ReplyBody(BaseModel):
    """What is returned; made from objects of the library with the same attributes."""

    model_config = ConfigDict(from_attributes=True, use_attribute_docstrings=True)


class FilterBody(Body):
    """Conditions that all must hold; what is left out is no condition."""

    domain: Literal["document", "table"] | None = None
    source: Name | None = Field(None, description="name of a source")
    uri: Name | None = Field(None, description="a document, below its source root")
    section: Name | None = Field(None, description="head of a section path: `2 Methods`")
    table: Name | None = Field(None, description="name of a table")
    within: tuple[Name, ...] = Field((), max_length=100)
    """The only documents and tables: `source/uri`, `source/table`; all of a `source/folder/`."""
    type: Literal["text", "table", "figure", "formula"] | None = None
    language: Name | None = Field(None, description="ISO 639-1 code of a chunk's language")
    fields: tuple[Name, ...] = Field((), max_length=20)
    """Header fields of a document: `number: ISO 527`."""
    versions: Versions | None = Field(None, description="versions of documents")
    as_of: date | None = Field(None, description="day on which versions were valid")


class SearchBody(Body):
    """A search."""

    query: Query
    top_k: int | None = Field(None, ge=1, le=MOST_HITS, description="how many hits")
    retriever: Name | None = Field(None, description="one of `retrieval.retrievers`")
    filters: FilterBody = FilterBody()
    explain: bool = Field(False, description="tell rank and score in each stage")


class StageRank(ReplyBody):
    """Rank and score in one stage of a search."""

    rank: int
    score: float


class UnitFields(ReplyBody):
    """A unit, and where it comes from."""

    unit_id: str
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


class LinkReply(ReplyBody):
    """What led to a unit over a link."""

    unit_id: str = Field(description="the unit at which the link begins")
    words: str = Field(description='the way in words: `parts, row 17 -> "NHS 3101" (identifier)`')
    kind: str = Field(description="title, key, name, identifier, formula or foreign_key")


class HitReply(UnitFields):
    """A unit that was found."""

    rank: int
    score: float
    version: str | None
    is_superseded: bool
    stale_since: str | None
    linked: LinkReply | None
    stages: dict[str, StageRank] = Field(
        description="where each signal and stage had it; of `explain`"
    )

    @classmethod
    def of(cls, hit: "Hit", *, explain: bool = False) -> "HitReply":
        """`hit` as a reply has it."""
        stages = {name: StageRank(rank=at.rank, score=at.score) for name, at in hit.arms.items()}
        values = {name: getattr(hit, name) for name in cls.model_fields if name != "stages"}
        return cls(**values, stages=stages if explain else {})


class SearchReply(ReplyBody):
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
    after: AnswerId | None = Field(None, description="the kept answer that it follows")
    retriever: Name | None = Field(None, description="one of `retrieval.retrievers`")
    filters: FilterBody = FilterBody()


class AnswerReply(ReplyBody):
    """An answer with its proof."""

    id: str | None = Field(description="of the kept answer; null where answers are not kept")
    index_version: str
    answer: Answer


class PlanEvent(ReplyBody):
    """How a question is read: the event `plan`."""

    question: str
    read_as: str
    planned_as: str
    index_version: str


class CardsEvent(ReplyBody):
    """What was found, before anything is written: the event `cards`."""

    hits: list[HitReply]


class SentenceEvent(ReplyBody):
    """A sentence that was compared with what it cites: the event `sentence`."""

    place: int
    """The place of the sentence in the answer, from 1."""
    sentence: JsonValue
    mark: str
    """What is told behind it: that nothing was compared, or that it does not hold."""


class PageBody(Body):
    """Which part of a list is wanted."""

    limit: int = Field(50, ge=1, le=MOST_OF_A_PAGE)
    offset: int = Field(0, ge=0, le=LAST_OFFSET)

    def page(self, entries: Sequence[Entry]) -> Sequence[Entry]:
        """The wanted part of `entries`."""
        return entries[self.offset : self.offset + self.limit]


class PageReply(ReplyBody, Generic[Entry]):
    """A part of a list."""

    index_version: str
    total: int
    """Entries on all pages."""
    entries: Sequence[Entry]


class TablesQuery(PageBody):
    """Which tables are wanted."""

    source: Name | None = None
    table: Name | None = None


class ColumnReply(ReplyBody):
    """A column of a table."""

    name: str
    """The name of the column at the source."""
    heading: str
    """The heading in plain words, without its unit."""
    unit: str | None
    is_numeric: bool
    filled: int
    """Cells that are not empty."""
    distinct: int
    minimum: Value
    maximum: Value


class TableReply(ReplyBody):
    """A table of a source, or inside a document."""

    source: str
    table: str
    title: str
    rows: int
    unit_id: str | None
    """The unit of a table inside a document; null for a table of a source."""
    pages: list[int]
    columns: list[ColumnReply]


class ValuesQuery(PageBody):
    """The column whose values are wanted."""

    source: Name
    table: Name
    column: Name


class ValueReply(ReplyBody):
    """A value of a column, and how many rows have it."""

    value: Value
    rows: int


class RowsBody(PageBody):
    """Which rows of a table are wanted, in which order."""

    source: Name
    table: Name
    where: list[Condition] = []
    columns: list[Name] = []
    order_by: Name | None = None
    descending: bool = False


class RowReply(ReplyBody):
    """A row of a table."""

    unit_id: str
    row_key: str
    cells: list[Value]
    """The cells in the order of the columns."""


class RowsReply(PageReply[RowReply]):
    """A page of rows."""

    columns: list[ColumnReply]


class LookupBody(PageBody):
    """A question to the tables, or a plan: of an earlier lookup, or your own."""

    question: Query | None = None
    plan: Plan | None = None


class LookupReply(ReplyBody):
    """What the tables say, and a page of the rows that it rests on."""

    index_version: str
    found: LookedUp
    rows: RowsReply | None


class ReportBody(Body):
    """What a report is to be about."""

    prompt: str = Field(min_length=1, max_length=LONGEST_PROMPT)
    retriever: Name | None = None
    filters: FilterBody = FilterBody()


class ReportReply(ReplyBody):
    """A report."""

    index_version: str
    report: CitedReport


class ProgressEvent(ReplyBody):
    """What is done next: the event `progress`."""

    doing: str


class VerifyBody(Body):
    """An answer from anywhere: as JSON, or Markdown or text with [1] and a list of sources."""

    text: str = Field(min_length=1, max_length=LONGEST_TEXT)
    judge: bool = False
    """Ask the judge of the config as well."""


class VerifyReply(ReplyBody):
    """What of an answer is in its sources, sentence by sentence."""

    index_version: str
    sentences: Sequence[SentenceVerdict]
    supported: list[int]
    """Sentences that their sources are known to say, from 1."""
    not_in_sources: list[int]


class UnitReply(UnitFields):
    """A unit with what stands around it, and all that it was made from."""

    index_version: str
    before: list[UnitFields]
    after: list[UnitFields]
    lineage: UnitLineage


class DocumentsQuery(PageBody):
    """Which documents are wanted."""

    contains: str = Field("", max_length=LONGEST_QUERY)
    """A part of source, URI or title; case does not count."""
    state: DocumentState | None = None
    family: Name | None = None

    def fits(self, document: "DocumentReply") -> bool:
        """Whether `document` is one of them."""
        read, member = document.read, document.member
        named = "\n".join([read.source, read.document, member.title if member else ""])
        return (
            self.contains.casefold() in named.casefold()
            and self.state in (None, document.state)
            and self.family in (None, member.family if member else None)
        )


class DocumentReply(ReplyBody):
    """A document: what became of it, and what it is among its versions."""

    state: DocumentState
    read: DocumentStatus
    member: DocumentMember | None


class HistoryQuery(Body):
    """Which of your answers are wanted."""

    limit: int = Field(20, ge=1, le=MOST_OF_A_PAGE)
    before: AnswerId | None = None
    """Go on behind this answer of the page before."""
    since: date | None = None
    outcome: Outcome | None = None
    text: Name | None = None
    """Question or answer contains it."""
    stale: bool = False
    """Whether only answers are wanted with a sentence whose source changed."""
    user: Name | None = None
    """Who asked, if not you: to read answers of others needs the scope *admin*."""


class HistoryEntry(ReplyBody):
    """One of your answers, in a list."""

    answer_id: str
    kept_at: datetime
    question: str
    outcome: Outcome
    stale: Sequence[TouchedSentence] | None
    """Sentences whose source changed; null where it cannot be told."""

    @classmethod
    def of(cls, listed: ListedAnswer) -> "HistoryEntry":
        """`listed` as a reply has it."""
        kept, answer = listed.kept, listed.kept.answer
        return cls(
            answer_id=kept.answer_id,
            kept_at=kept.kept_at,
            question=answer.question,
            outcome=answer.outcome,
            stale=listed.touched,
        )


class HistoryReply(ReplyBody):
    """A page of your answers, the newest first."""

    answers: list[HistoryEntry]
    next: str | None
    """What `before` has to be for the next page."""


class KeptReply(HistoryEntry):
    """One of your answers."""

    index_version: str
    """The index that answered; `unpromoted` where none had a number."""
    answer: Answer
    history: Sequence[str]
    """Earlier questions of its conversation."""
    tables_gone: list[str]
    """The missing tables, without which it cannot be run again as it was."""
    feedback: list[Feedback]


class NoticesQuery(Body):
    """Which of your notices are wanted."""

    limit: int = Field(20, ge=1, le=MOST_OF_A_PAGE)
    seen: bool = False
    """Also those that were seen."""


class NoticeReply(ReplyBody):
    """One of your answers that is another one now, because its sources changed."""

    answer_id: str
    question: str
    asked_at: datetime
    made_at: datetime
    seen_at: datetime | None
    number: int
    """The number of the index with which the change began to serve."""
    rolled_back: bool
    """Whether what serves is from before the change again."""
    touched: Sequence[TouchedSentence]
    """The sentences whose sources changed, each with why."""
    before: Answer
    now: Answer | None
    """What is answered now; null where it was not asked again."""
    difference: AnswerDifference | None

    @classmethod
    def of(cls, notice: Notice, pointer: ServingPointer | None) -> "NoticeReply":
        """`notice` as a reply has it."""
        return cls(
            answer_id=notice.before.answer_id,
            question=notice.before.answer.question,
            asked_at=notice.before.kept_at,
            made_at=notice.made_at,
            seen_at=notice.seen_at,
            number=notice.number,
            rolled_back=notice.is_rolled_back(pointer),
            touched=notice.touched,
            before=notice.before.answer,
            now=notice.after.answer if notice.after else None,
            difference=notice.difference,
        )


class NoticesReply(ReplyBody):
    """Your notices, the newest first."""

    notices: list[NoticeReply]


class SeenBody(Body):
    """Notices that you have looked at."""

    answer_ids: list[AnswerId] = Field(min_length=1, max_length=MOST_OF_A_PAGE)


class WatchBody(Body):
    """When a change of an answer is told."""

    tolerance: float | None = Field(None, ge=0, le=10)
    """The share of its number by which another one may differ untold; null: any change is told."""


class ReplayBody(Body):
    """What an answer is asked again on: what it used, what serves, or an index version."""

    on: str = Field("kept", pattern="^(kept|current|[0-9]{1,9})$")


class ReplayReply(ReplyBody):
    """An answer that was run again."""

    index_version: str
    answer: Answer
    difference: AnswerDifference
    notes: Sequence[str]


class FeedbackBody(Body):
    """What you think of a kept answer, or of a unit that it shows."""

    answer_id: AnswerId
    kind: FeedbackKind
    unit_id: UnitId | None = None
    """The unit that is meant by `right_source`."""


class StudyBody(Body):
    """What you say in the user study."""

    replies: dict[str, StudyReply]
    """By the ids of the questions: a score from 1 to 5, words, or both."""


class HealthReply(ReplyBody):
    """The state of the process, and the index by which it answers."""

    status: Literal["ok"] = "ok"
    index_version: str | None
