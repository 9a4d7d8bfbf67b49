"""What is indexed, as the page tells it: documents and tables, and questions to begin with.

Questions to tables are made as test questions are (see `questions.from_tables`), those to documents
of their titles and headings (`examples.toml`). Each is in the language of what it asks, and shown
only if it leads there: a lookup answers it, or a search finds the document.
"""

import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import chain, groupby, islice, zip_longest
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar
from weakref import WeakKeyDictionary

import pyarrow as pa

from rag_assets.answering.assistant import Assistant
from rag_assets.config.addresses import families_table
from rag_assets.documents.families.shown import documents_of
from rag_assets.questions.picking import in_order
from rag_assets.retrieval.filters import SECTION_MARK, Filters

Made = TypeVar("Made")
Example: TypeAlias = tuple[str, str]
"""The language of a question (ISO 639-1), and the question."""
EXAMPLES = 4
"""Questions to tables, and as many to documents, at most."""
TRIED = 20
"""Tables, and documents of each language, of which one may give an example."""
LONGEST = 60
"""Characters of a title or heading that stands in a question."""
MOST_UNITS = 2**31 - 1
_PLACE = ("source", "uri", "table")
_COLUMNS = (*_PLACE, "title", "unit_id", "index", "language")
_FIRST = (("title", "first"), ("unit_id", "first"))
_NUMBERING = re.compile(r"^[\W\d]*(?:[A-Z]\.?\d*[\W\d]+)?")


class IndexedSource(NamedTuple):
    """A document or table that searches find."""

    place: str
    """`source/uri` or `source/table`: see `Filters.within`."""
    source: str
    table: str | None
    """The name of a table; None for a document."""
    title: str
    first: str
    """Its first unit."""
    language: str | None
    """That of most of its passages."""
    units: int
    """Passages or rows."""


def _made_once(make: Callable[[Assistant], Made]) -> Callable[[Assistant], Made]:
    """`make`, which is called once for an assistant, and forgets what it made with it."""
    held: WeakKeyDictionary[Assistant, Made] = WeakKeyDictionary()

    def made(assistant: Assistant) -> Made:
        if (found := held.get(assistant)) is None:
            found = held[assistant] = make(assistant)
        return found

    return made


@_made_once
def indexed_sources(assistant: Assistant) -> list[IndexedSource]:
    """The documents and tables that are indexed, by their places; no version that is left out."""
    store, config, index = assistant.store, assistant.config, assistant.index
    members = documents_of(store, families_table(config, config.variant(index.variant).parser))
    titles = {(each.source, each.uri): each.title for each in members}
    if not (found := [*map(_by_place, index.batches(_COLUMNS))]):
        return []
    ordered = pa.concat_tables(found).sort_by(
        [(name, "ascending") for name in (*_PLACE, "index_min")]
    )
    listed = []
    for (source, uri, table), parts in groupby(ordered.to_pylist(), key=itemgetter(*_PLACE)):
        first, *others = parts
        units = Counter({first["language"]: first["count_all"]})
        for part in others:
            units[part["language"]] += part["count_all"]
        place, title = f"{source}/{table or uri}", titles.get((source, uri)) or first["title_first"]
        language = max(filter(None, units), key=units.__getitem__, default=None)
        told = IndexedSource(
            place, source, table, title, first["unit_id_first"], language, units.total()
        )
        listed.append(told)
    return listed


def _by_place(batch: pa.RecordBatch) -> pa.Table:
    """The parts of documents and tables that a batch of units has, by their languages."""
    ordered = pa.table(batch).sort_by("index")
    grouped = ordered.group_by([*_PLACE, "language"], use_threads=False)
    return grouped.aggregate([("index", "min"), *_FIRST, ([], "count_all")])


@_made_once
def examples_of(assistant: Assistant) -> tuple[list[Example], list[Example]]:
    """Questions to tables and questions to documents."""
    spoken = Counter(each.language for each in indexed_sources(assistant) if each.language)
    by_language = (_of_documents(assistant, each) for each, _ in spoken.most_common())
    mixed = filter(None, chain.from_iterable(zip_longest(*by_language)))
    return [*islice(_of_tables(assistant), EXAMPLES)], [*islice(mixed, EXAMPLES)]


def _of_tables(assistant: Assistant) -> Iterator[Example]:
    """One question to each table that one can be made for, in the language of its headings."""
    from rag_assets.questions.from_tables import made_of
    from rag_assets.table_lookup.looking_up import look_up

    catalogue = assistant.catalogue
    settings = assistant.config.questions.model_copy(update={"languages": ["en", "sv"]})
    for table in catalogue.tables[:TRIED]:
        for asked in made_of(catalogue.contents(table), settings, draws=2).drafts:
            plan = None if asked.left_out else look_up(asked.question, catalogue).plan
            if plan and plan.table == table.table:
                yield asked.language, asked.question
                break


def _of_documents(assistant: Assistant, language: str) -> Iterator[Example]:
    """One question to each of some documents of a language, about a heading that few have."""
    sources = indexed_sources(assistant)
    spoken = {each.place: each.title for each in sources if each.language == language}
    places = in_order([each for each in spoken if len(spoken[each]) <= LONGEST], language)[:TRIED]
    scope = Filters(within=tuple(places), language=language)
    units = assistant.index.select(scope, ("source", "uri", "section"), most=MOST_UNITS)
    found = zip(*units.to_pydict().values(), strict=True)
    headings = {(f"{source}/{uri}", _topic(section)) for source, uri, section in found}
    often = Counter(topic for _, topic in headings)
    templates = tomllib.loads(Path(__file__).with_name("examples.toml").read_text("utf-8"))
    template = templates.get(language, templates["other"])
    for place in places:
        own = sorted(topic for at, topic in headings if at == place and topic)
        for topic in sorted(own, key=often.__getitem__)[:1]:
            question = template.format(topic=topic, title=spoken[place])
            hits = assistant.search(question, top_k=3)
            if place in (f"{hit.source}/{hit.uri}" for hit in hits):
                yield language, question


def _topic(section: str) -> str:
    """The last heading of a path without its number; empty where nobody would ask about it."""
    heading = _NUMBERING.sub("", section.rpartition(SECTION_MARK)[2]).strip()
    return heading if " " in heading and len(heading) <= LONGEST else ""
