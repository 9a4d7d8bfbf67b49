"""What each tool does: what the routes of the HTTP API and the assistant do, in fewer words.

What a method says of itself is what an agent reads of its tool.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import astuple, dataclass, replace
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from rag_assets.answering.answer import Answer
from rag_assets.citations.kinds import place_in_document
from rag_assets.citations.values import Value
from rag_assets.columns.sql import quoted
from rag_assets.findings.telling import lines_of, when
from rag_assets.reports.text_tables import cut
from rag_assets.retrieval.mentions import (
    LONGEST_PATTERN,
    MentioningSource,
    MentionPlace,
    SoughtText,
)
from rag_assets.schemas import HEADINGS
from rag_assets.serving.callers import CALLER
from rag_assets.serving.commands.answers.verify import MARKS, against
from rag_assets.serving.http import bodies
from rag_assets.serving.http.bodies import FilterBody, Plan, Query, UnitId
from rag_assets.serving.http.page.answers import links_of, unit_url
from rag_assets.serving.http.page.sources import MOST_UNITS, indexed_sources
from rag_assets.serving.http.routes import answering, searching, state, tables
from rag_assets.serving.http.service import Service, filters_of
from rag_assets.serving.mcp import told
from rag_assets.serving.mcp.budgets import (
    TOKENS,
    Cursor,
    CursorText,
    Entry,
    MaxTokens,
    fitting,
    head_of,
    json_of,
    page_of,
    room_of,
)
from rag_assets.serving.replies import UsageError
from rag_assets.table_lookup.plans.plan import plan_to_json
from rag_assets.workers import raise_if_abandoned

if TYPE_CHECKING:
    from rag_assets.citations.sentences import Sentence
    from rag_assets.serving.http.opened import Opened

SNIPPET = 400
"""Characters of the text of a hit."""
LINE = 800
TITLE = 120
_OF_DOCUMENT = ("index", "document_id", "uri", "title", "pages", "unit_id", "text")
CELL = 200
LONGEST_URL, MOST_URLS = 2_000, 5
"""Longer ones no browser opens: the plan of a lookup is a part of its address."""
SENTENCE = 1_000
MOST_AGAINST = 5
"""What is said against one sentence."""
Sought = Annotated[str, Field(min_length=1, max_length=LONGEST_PATTERN)]
AsPattern = Annotated[bool, Field(description="read it as a regular expression of RE2")]
SameCase = Annotated[bool, Field(description="tell upper case from lower case")]
WholeWords = Annotated[bool, Field(description="no letter or digit may stand beside it")]
Domain = Literal["document", "table"] | None
Within = Annotated[
    tuple[bodies.Name, ...],
    Field(max_length=100, description="only these: `source/name`, or all of a `source/folder/`"),
]
"""What the caller of a tool may see; a tool fails where the transport did not say it."""
Place = Annotated[str, Field(max_length=bodies.LONGEST_QUERY, description="`source/name`")]


@dataclass(frozen=True, slots=True)
class AgentTools:
    """The tools over what serves."""

    of_all: Service

    @property
    def service(self) -> Service:
        """The service, for who asks."""
        return self.of_all.asked_by(CALLER.get())

    def search(
        self,
        query: Query,
        k: Annotated[int, Field(ge=1, le=50, description="hits of a page")] = 8,
        domain: Domain = None,
        within: Within = (),
        max_tokens: MaxTokens = TOKENS,
        cursor: CursorText = "",
    ) -> told.SearchedUnits:
        """Find passages of documents and rows of tables that fit a question, the best first.

        `fetch` gives the text of a hit. To find every place of a word use `grep` or `count`; to
        filter, count or compare rows by their cells use `lookup`.
        """
        with self.service.served.request() as opened:
            at = Cursor.of(cursor, opened, "search", query, domain, within)
            top_k = min(at.offset + k, bodies.MOST_HITS)
            filters = FilterBody(domain=domain, within=within)
            body = bodies.SearchBody(query=query, top_k=top_k, filters=filters)
            hits = searching.search(body, self.service, opened).hits

            def made(hit: bodies.HitReply) -> told.SearchedUnit:
                return told.SearchedUnit(
                    **_placed(hit, hit, opened),
                    snippet=cut(hit.text, SNIPPET),
                    score=hit.score,
                    linked=hit.linked.words if hit.linked else None,
                )

            taken, _ = page_of(hits, made, at, room_of(max_tokens))
            is_full = len(hits) == top_k < bodies.MOST_HITS
            following = at.behind(len(taken), len(hits) + is_full)
            return told.SearchedUnits(
                index_version=opened.index_version, next_cursor=following, results=taken
            )

    def fetch(
        self,
        id: UnitId,  # noqa: A002 - as hosted connectors call it
        max_tokens: MaxTokens = TOKENS,
        cursor: CursorText = "",
    ) -> told.FetchedUnit:
        """The whole text of a passage or row by its id, where it stands, and the ids beside it."""
        with self.service.served.request() as opened:
            at = Cursor.of(cursor, opened, "fetch", id)
            unit = searching.unit(id, self.service, neighbours=1)
            beside = {"before": unit.before[-1:], "after": unit.after[:1]}
            made = told.FetchedUnit(
                **_placed(unit, unit, opened),
                index_version=opened.index_version,
                text="",
                metadata={
                    "source": unit.source,
                    "uri": unit.uri,
                    **{name: each[0].unit_id for name, each in beside.items() if each},
                },
            )
            text = head_of(unit.text[at.offset :], room_of(max_tokens, made))
            following = at.behind(len(text), len(unit.text))
            return made.model_copy(update={"text": text, "next_cursor": following})

    def grep(
        self,
        pattern: Sought,
        is_pattern: AsPattern = False,
        same_case: SameCase = False,
        domain: Domain = None,
        within: Within = (),
        max_tokens: MaxTokens = TOKENS,
        cursor: CursorText = "",
    ) -> told.ToldPlaces:
        """Every place where a text or a pattern stands in documents and rows, exactly, in order.

        Nothing is ranked or missed: an empty reply means that it stands nowhere. A blank of a text
        also fits a line break.
        """
        sought = SoughtText(pattern, is_pattern=is_pattern, same_case=same_case)
        with self.service.served.request() as opened:
            at = Cursor.of(cursor, opened, "grep", *astuple(sought), domain, within)
            filters = filters_of(opened, FilterBody(domain=domain, within=within))
            kept: list[tuple[MentioningSource, MentionPlace]] = []
            # No more places are made than fit: each takes more than a token.
            total, most = 0, at.offset + max_tokens
            for each in opened.assistant.mentions(sought, filters=filters):
                start, end = at.offset - total, most - total
                kept += ((each, place) for place in each.places[max(start, 0) : max(end, 0)])
                total += len(each.places)

            def made(found: tuple[MentioningSource, MentionPlace]) -> told.ToldPlace:
                source, place = found
                return told.ToldPlace(
                    **_placed(source, place, opened),
                    line=cut(place.line, LINE),
                    match=cut(place.text, SNIPPET),
                    start=place.start,
                    end=place.end,
                )

            taken = fitting(map(made, kept), room_of(max_tokens))
            return told.ToldPlaces(
                index_version=opened.index_version,
                next_cursor=at.behind(len(taken), total),
                total=total,
                places=taken,
            )

    def count(
        self,
        text: Sought,
        is_pattern: AsPattern = False,
        same_case: SameCase = False,
        whole_words: WholeWords = True,
        domain: Domain = None,
        within: Within = (),
        max_tokens: MaxTokens = TOKENS,
        cursor: CursorText = "",
    ) -> told.CountedSources:
        """How many documents and rows mention a text, exactly, with the list of them to cite.

        A row is read with the headings of its columns. To count rows by their cells use `lookup`.
        """
        sought = SoughtText(text, is_pattern, same_case, whole_words)
        with self.service.served.request() as opened:
            at = Cursor.of(cursor, opened, "count", *astuple(sought), domain, within)
            filters = filters_of(opened, FilterBody(domain=domain, within=within))
            found = [
                (replace(each, places=each.places[:1]), len(each.places))
                for each in opened.assistant.mentions(sought, filters=filters)
            ]

            def made(counted: tuple[MentioningSource, int]) -> told.CountedSource:
                source, times = counted
                return told.CountedSource(**_placed(source, source.places[0], opened), times=times)

            taken, following = page_of(found, made, at, room_of(max_tokens))
            return told.CountedSources(
                index_version=opened.index_version,
                next_cursor=following,
                documents=sum(each.domain == "document" for each, _ in found),
                rows=sum(each.domain == "table" for each, _ in found),
                times=sum(times for _, times in found),
                mentioning=taken,
            )

    def lookup(
        self,
        plan: Plan | None = None,
        question: Query | None = None,
        max_tokens: MaxTokens = TOKENS,
        cursor: CursorText = "",
    ) -> told.LookedUpRows:
        """Filter, count, compare or compute over the rows of one table, by a plan or a question.

        A plan is data, never SQL: write it from the resource `rag://tables`, or from `outline` of a
        table. It is checked, and what is wrong with it is said with what is allowed. A question is
        read by rules; the reply has the plan that was run.
        """
        with self.service.served.request() as opened:
            asked = plan_to_json(plan) if plan else None
            at = Cursor.of(cursor, opened, "lookup", asked, question)
            limit = bodies.MOST_OF_A_PAGE
            body = bodies.LookupBody(question=question, plan=asked, limit=limit, offset=at.offset)
            reply = tables.lookup(body, opened)
            found, page = reply.found, reply.rows
            if plan and found.outcome == "refused":
                raise UsageError(found.reason)
            made = told.LookedUpRows(
                index_version=opened.index_version,
                outcome=found.outcome,
                reason=cut(found.reason, SENTENCE),
                sentences=[],
                plan=plan_to_json(found.plan) if found.plan and question else None,
                total=page.total if page else 0,
                columns=[each.name for each in page.columns] if page else [],
            )
            room = room_of(max_tokens, made)
            said = _said(found.sentences, opened, room // 2 - 1)
            sentences = [] if at.offset else fitting(said, room // 2)
            room -= sum(len(json_of(each)) + 1 for each in sentences)
            rows = fitting(_rows(page, opened) if page else (), room)
            following = at.behind(len(rows), made.total)
            return made.model_copy(
                update={"sentences": sentences, "rows": rows, "next_cursor": following}
            )

    def outline(
        self, place: Place = "", max_tokens: MaxTokens = TOKENS, cursor: CursorText = ""
    ) -> told.SourceOutline:
        """All documents and tables; or the headings of one document; or the columns of one table.

        Without a place it lists the places that there are.
        """
        with self.service.served.request() as opened:
            at = Cursor.of(cursor, opened, "outline", place)
            source, _, name = place.partition("/")
            made = told.SourceOutline(index_version=opened.index_version, total=0)
            room = room_of(max_tokens, made)
            if place and opened.assistant.catalogue.find(source, name):
                wanted = bodies.TablesQuery(source=source, table=name)
                [table] = tables.tables(wanted, opened).entries
                columns, following = page_of(table.columns, _as_it_is, at, room)
                told_now = {"total": len(table.columns), "columns": columns}
            else:
                listed = _headings(place, opened) if place else _sources(opened)
                entries, following = page_of(listed, _as_it_is, at, room)
                told_now = {"total": len(listed), "entries": entries}
            return made.model_copy(update={**told_now, "next_cursor": following})

    def verify(
        self,
        text: Annotated[str, Field(min_length=1, max_length=bodies.LONGEST_TEXT)],
        judge: Annotated[bool, Field(description="ask the judge of the config as well")] = False,
        max_tokens: MaxTokens = TOKENS,
        cursor: CursorText = "",
    ) -> told.ToldVerdicts:
        """What of a text is in the sources that it cites, sentence by sentence.

        The text is Markdown with [1] behind its sentences and a list of sources at its end, each an
        id of a unit or the name of a document; or an answer as JSON.
        """
        with self.service.served.request() as opened:
            at = Cursor.of(cursor, opened, "verify", text, judge)
            found = answering.verify(
                bodies.VerifyBody(text=text, judge=judge), self.service, opened
            )
            verdicts = [
                told.ToldVerdict(
                    text=cut(each.text, SENTENCE),
                    supported=each.is_supported,
                    not_in_sources=each.is_bad,
                    compared=MARKS[each.compared],
                    against=[cut(why, SNIPPET) for why in against(each)[:MOST_AGAINST]],
                )
                for each in found.sentences
            ]
            taken, following = page_of(verdicts, _as_it_is, at, room_of(max_tokens))
            return told.ToldVerdicts(
                index_version=opened.index_version,
                next_cursor=following,
                supported=len(found.supported),
                not_in_sources=len(found.not_in_sources),
                sentences=taken,
            )

    def status(self, max_tokens: MaxTokens = TOKENS) -> told.ToldStatus:
        """What is indexed, how fresh each source is, what is wrong, and the index version."""
        with self.service.served.request() as opened:
            now, indexed = state.status(self.service), indexed_sources(opened.assistant)
            is_table = [each.table is not None for each in indexed]
            made = told.ToldStatus(
                index_version=opened.index_version,
                variant=opened.index.variant,
                documents=is_table.count(False),
                tables=is_table.count(True),
                units=sum(each.units for each in indexed),
                problems=len(now.problems),
                sources=[],
                wrong=[],
            )
            room = room_of(max_tokens, made)
            sources = (
                told.ToldSource(
                    name=cut(each.source, TITLE),
                    readable=each.readability.is_readable,
                    last_read=when(each.readability.last_read),
                    last_changed=when(each.readability.last_changed),
                )
                for each in now.sources
            )
            shown = fitting(sources, room // 2)
            room -= sum(len(json_of(each)) + 1 for each in shown)
            wrong = head_of("\n".join(lines_of(now.problems)), room).splitlines()
            return made.model_copy(update={"sources": shown, "wrong": wrong})

    def view_page(
        self,
        id: UnitId,  # noqa: A002 - as `fetch` calls it
        page: Annotated[int | None, Field(ge=1, description="one of the unit's pages")] = None,
        dpi: Annotated[int, Field(ge=40, le=150)] = 90,
    ) -> bytes:
        """The page of a PDF on which a passage stands, the passage marked, or its figure: a PNG."""
        return bytes(searching.page(id, self.service, page=page, dpi=dpi).body)

    def answer(
        self,
        question: Query,
        domain: Domain = None,
        within: Within = (),
        max_tokens: MaxTokens = TOKENS,
    ) -> told.AgentAnswer:
        """An answer with its proof: computed from tables, or written by the server's own model.

        Each sentence was compared with what it cites; its note says where it was not.
        """
        with self.service.served.request() as opened:
            filters = FilterBody(domain=domain, within=within)
            body = bodies.AskBody(question=question, filters=filters)
            for each, kept in self.service.ask(opened, body):
                raise_if_abandoned()
                if isinstance(each, Answer):
                    made = told.AgentAnswer(
                        index_version=opened.index_version,
                        answer_id=kept,
                        outcome=each.outcome,
                        sentences=[],
                    )
                    room = room_of(max_tokens, made)
                    said = _said(each.sentences, opened, room - 1, is_compared=True)
                    sentences = fitting(said, room)
                    return made.model_copy(update={"sentences": sentences})
        raise AssertionError("the answer is the last that a stream gives")

    def tables(self) -> bodies.PageReply[bodies.TableReply]:
        """The tables that `lookup` can ask, with columns and units: as many as fit a reply.

        `outline` of `source/name` gives the columns of any table.
        """
        with self.service.served.request() as opened:
            found = tables.tables(bodies.TablesQuery(limit=bodies.MOST_OF_A_PAGE), opened)
            return found.model_copy(update={"entries": fitting(found.entries, room_of(TOKENS))})


def _placed(
    unit: bodies.UnitFields | MentioningSource,
    at: bodies.UnitFields | MentionPlace,
    opened: "Opened",
) -> dict[str, str]:
    """The fields of `told.PlacedUnit`."""
    place = f"{unit.uri}, row {unit.row_key}"
    if unit.domain == "document":
        place = place_in_document(
            unit.uri,
            at.pages,
            getattr(unit, "section", ""),
            is_superseded=getattr(unit, "is_superseded", False),
            stale_since=getattr(unit, "stale_since", None),
        )
    return {
        "id": at.unit_id,
        "title": cut(unit.title, TITLE),
        "url": unit_url(at.unit_id, opened.index_version),
        "place": cut(place, SNIPPET),
        "domain": unit.domain,
    }


def _said(
    sentences: "Iterable[Sentence]", opened: "Opened", room: int, *, is_compared: bool = False
) -> Iterator[told.SaidSentence]:
    """The sentences, each in at most about `room` characters: its addresses go before its words."""
    for each in sentences:
        links = links_of(each.citations, {}, opened.index_version)
        urls = [link.url for link in links if link.url and len(link.url) <= LONGEST_URL][:MOST_URLS]
        made = told.SaidSentence(
            text=cut(each.text, min(SENTENCE, room // 2)),
            note=each.mark.strip() or None if is_compared else None,
            urls=urls,
        )
        while made.urls and len(json_of(made)) > room:
            made = made.model_copy(update={"urls": made.urls[:-1]})
        yield made


def _rows(page: bodies.RowsReply, opened: "Opened") -> Iterator[told.LookedUpRow]:
    for each in page.entries:
        yield told.LookedUpRow(
            id=each.unit_id,
            url=unit_url(each.unit_id, opened.index_version),
            row_key=cut(each.row_key, CELL),
            cells=[*map(_cell, each.cells)],
        )


def _cell(value: Value) -> Value:
    return cut(value, CELL) if isinstance(value, str) else value


def _sources(opened: "Opened") -> list[told.OutlineEntry]:
    return [
        told.OutlineEntry(
            title=cut(each.title, TITLE),
            place=each.place,
            url=unit_url(each.first, opened.index_version),
            id=each.first,
            units=each.units,
        )
        for each in indexed_sources(opened.assistant)
    ]


def _headings(place: str, opened: "Opened") -> list[told.OutlineEntry]:
    """A document, and behind it the headings that stand in its passages, in their order.

    Raises:
        UsageError: The index has no such document.
    """
    filters = filters_of(opened, FilterBody(within=(place.removesuffix("/"),)))
    units = opened.index.select(filters, _OF_DOCUMENT, most=MOST_UNITS).sort_by("index").to_pylist()
    if not units:
        raise UsageError(
            f"place: there is no document or table {place!r}: `outline` without a place lists all"
        )

    def entry(title: str, unit: Mapping, **beside: int | None) -> told.OutlineEntry:
        return told.OutlineEntry(
            title=cut(title, SNIPPET),
            place=place_in_document(unit["uri"], unit["pages"][:1], ""),
            url=unit_url(unit["unit_id"], opened.index_version),
            id=unit["unit_id"],
            **beside,
        )

    listed, at = [entry(units[0]["title"], units[0], units=len(units))], 0
    where = f"document_id = {quoted(units[0]['document_id'])}"
    elements = opened.assistant.store.read(
        opened.index.complete_set.elements, columns=["index", "type", "level", "text"], where=where
    )
    for each in elements.sort_by("index").to_pylist():
        if each["type"] not in HEADINGS:
            continue
        holding = (n for n in range(at, len(units)) if each["text"] in units[n]["text"])
        if (found := next(holding, None)) is not None:  # else it is of a later version
            at = found
            listed.append(entry(each["text"], units[at], level=each["level"]))
    return listed


def _as_it_is(entry: Entry) -> Entry:
    return entry
