"""Questions to tables: plans are drawn, run and put in words, without a language model.

`config.questions.from_tables` questions are shared among all tables: each of so many draws falls to
one table by hashes. A table that comes takes about its share of the draws, from tables all over,
and these are made again without the questions of the draws that they lost; all others stay. A
table that cannot give a question for each of its draws gives fewer, and no other one gives more.

What is asked of a table hangs on its rows, headings and the settings alone. So does whether a
question is ambiguous: where another table has rows of the same name, the table's title in the
question says which one is meant. Questions that need a row and a document are not made: they wait
for links between them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import schemas
from rag_assets.change.data_versions import data_version_of
from rag_assets.change.sync import INPUTS
from rag_assets.columns.sql import quoted
from rag_assets.config import Config
from rag_assets.config.questions import Questions
from rag_assets.evaluation.gold import RowGold
from rag_assets.identity import fingerprint
from rag_assets.models.language.calls import LanguageModel
from rag_assets.questions.draft import MadeQuestions, QuestionDraft
from rag_assets.questions.picking import in_order, shares
from rag_assets.questions.table_plans import AskedTable, Kind, sampled
from rag_assets.questions.table_words import PACKAGE, TableWords
from rag_assets.retrieval.glossary import Glossary, read_glossary
from rag_assets.store import Store
from rag_assets.table_lookup.plans.running import Found, cells_of
from rag_assets.table_lookup.tables.catalogue import MOST_ROWS_OF_TABLE, Catalogue
from rag_assets.table_lookup.tables.cells import cells_by_column
from rag_assets.table_lookup.tables.table_contents import TableContents, contents_of
from rag_assets.table_lookup.words.word_lists import word_lists

RECIPE = "questions from tables 1"
"""Moves when the same table should give other questions."""
NO_MODEL: list[str] = []
"""Part of the fingerprint since a model could reword questions; without one it stays as it was."""
TEMPLATES = {"list": "which", "limit": "which", "two_conditions": "which"}
"""Kinds that are asked alike."""
PLACES = {"look_up": ("name",), "compare": ("first", "second")}
"""The places in a template for the rows that a question names."""
NOTHING = "there is nothing to ask: no column with several values has a heading in words"
_CODE = re.compile(r"\d.*[^\W\d_]|[^\W\d_].*\d")
"""A name with letters and digits says by itself which table is meant."""


def table_inputs(store: Store, config: Config) -> pa.Table:
    """The tables that questions are made from, as inputs of the rule of change (`INPUTS`).

    Tables without a share of the questions, and those of more rows than lookups read, are left out.
    """
    share_of, settings = _shares(store, config), config.questions
    if not share_of:
        return INPUTS.empty_table()
    columns = ["source", "table", "row_id", schemas.FINGERPRINT.name]
    rows = store.read(schemas.TABLE_ROWS_TABLE, columns=columns)
    names = pc.binary_join_element_wise(rows["source"], rows["table"], "/")
    glossary = read_glossary(config)
    made_by = fingerprint(
        RECIPE,
        [str(word_lists(each, PACKAGE)) for each in sorted(settings.languages)],
        settings.rows,
        [each.model_dump(mode="json") for each in glossary.entries] if glossary else [],
    )
    found = {}
    for name, share in sorted(share_of.items()):
        content = rows.select(columns[2:]).filter(pc.equal(names, name))
        found[name] = fingerprint(made_by, NO_MODEL, share, data_version_of(content))
    return pa.table([[*found], [*found.values()]], schema=INPUTS)


def tables_made(
    store: Store,
    config: Config,
    tables: Sequence[str],
    model: LanguageModel | None = None,  # noqa: ARG001 - a `Maker` is handed one
) -> Iterator[MadeQuestions]:
    """The questions of the tables with these keys, which are some of `table_inputs`."""
    share_of, glossary = _shares(store, config), read_glossary(config)
    for name in tables:
        contents = contents_at(store, name)
        draws, settings = share_of[name], config.questions
        yield made_of(contents, settings, draws=draws, glossary=glossary)


def rows_of_tables(store: Store) -> Mapping[str, int]:
    """How many rows each table has, by `source/table`."""
    if not store.exists(schemas.TABLE_ROWS_TABLE):
        return {}
    rows = store.read(schemas.TABLE_ROWS_TABLE, columns=["source", "table"])
    counted = rows.group_by(["source", "table"]).aggregate([([], "count_all")]).to_pylist()
    return {f"{each['source']}/{each['table']}": each["count_all"] for each in counted}


def contents_at(store: Store, name: str) -> TableContents:
    """The table `source/table` as `table_rows` holds it, indexed or not."""
    source, _, table = name.partition("/")
    rows = store.read(
        schemas.TABLE_ROWS_TABLE,
        columns=["row_id", "row_key", "title", "pairs", "shown"],
        where=f"source = {quoted(source)} AND `table` = {quoted(table)}",
    )
    ids, keys = (rows[each].combine_chunks() for each in ("row_id", "row_key"))
    info = (source, table, rows["title"][0].as_py())
    cells = cells_by_column(rows["pairs"], rows["shown"])
    return contents_of(info, row_ids=ids, row_keys=keys, text_hashes=ids, cells=cells)


def made_of(
    contents: TableContents,
    settings: Questions,
    *,
    draws: int,
    glossary: Glossary | None = None,
) -> MadeQuestions:
    """The questions of one table: of each draw the first one that no earlier draw gave.

    Two questions for the same rows and the same columns are one question, in whatever language.
    """
    key = f"{contents.info.source}/{contents.info.table}"
    held = {(contents.info.source, contents.info.table): contents}
    catalogue = Catalogue(data_version="", load=lambda: (held, ()), glossary=glossary)
    entries = glossary.entries if glossary else ()
    tables = [
        AskedTable(contents, catalogue, TableWords(contents.info, language, entries), settings.rows)
        for language in in_order(sorted(set(settings.languages)), key)
    ]
    drafts: list[QuestionDraft] = []
    seen: set[object] = set()
    for draw in range(draws):
        table = tables[draw % len(tables)]
        for kind, found in sampled(table, draw):
            draft = _draft(table, kind, found, seed=(key, draw))
            result = (frozenset(found.row_keys), found.plan.operation, *sorted(found.plan.columns))
            if draft is not None and seen.isdisjoint((result, draft.question)):
                seen |= {result, draft.question}
                drafts.append(draft)
                break
    left = [each for table in tables for each in _not_asked(table, nothing=not drafts)]
    return MadeQuestions(key, [*drafts, *left])


def _draft(
    table: AskedTable, kind: Kind, found: Found, *, seed: Sequence[str | int]
) -> QuestionDraft | None:
    """A plan in words; None where they have no template without what they lack."""
    plan, words, label = found.plan, table.words, table.label
    lists = word_lists(words.language, PACKAGE).by_word
    end = "max" if plan.descending else "min"
    asked = plan.order_by or plan.columns[-1] if plan.columns else ""
    places = {
        "asked": words.headings.get(asked, ""),
        "end": lists["ends"][end],
        "more": lists["more"][end],
        "number": lists["numbers"].get(str(plan.limit), ""),
    }
    if asked and table.columns[asked].unit:
        places["measure"] = places["asked"]
    names: list[str] = []
    template, conditions = TEMPLATES.get(kind, kind), plan.where
    if label is not None:
        called = cells_of(found, table.catalogue, label.name)
        if None not in called and len(set(called)) == len(called):
            places["label"] = words.kind_of_row(label)
        if kind in PLACES:
            names = [words.named(each, label) for each in plan.where[0].values]
            conditions = plan.where[1:]
            template = "look_up_of" if conditions else template
            places |= zip(PLACES[kind], names, strict=True)
    places["conditions"] = words.conditions(conditions)
    about = not names or not all(map(_CODE.search, names))
    said = words.question(template, places, about=about, seed=seed)
    return said and QuestionDraft(
        origin="from_tables",
        kind=kind,
        question=said[0],
        language=words.language,
        gold=tuple(RowGold(f"{plan.source}/{plan.table}", key) for key in found.row_keys),
        answer=_answer(table, found),
        plan=plan,
        maker=said[1],
    )


def _answer(table: AskedTable, found: Found) -> str:
    """What the plan computed: a number of rows, or the cells that are asked for, row by row."""
    names = found.plan.columns or [each.column for each in found.plan.where]
    cells = ((table.columns[name], cells_of(found, table.catalogue, name)) for name in names)
    said = [[table.words.value(cell, column) for cell in own] for column, own in cells]
    rows = (": ".join(row) for row in zip(*said, strict=True))
    return "; ".join(rows) if found.value is None else f"{found.value}"


def _not_asked(table: AskedTable, *, nothing: bool) -> Iterator[QuestionDraft]:
    """For each reason the columns that no question asks for, for people to mend."""
    columns: dict[str, list[str]] = {}
    for name, reason in table.words.unused.items():
        columns.setdefault(reason, []).append(name)
    if nothing and not columns:
        columns[NOTHING] = [table.contents.info.title]
    for reason, names in columns.items():
        yield QuestionDraft(
            origin="from_tables",
            kind="columns",
            question=", ".join(names),
            language=table.words.language,
            gold=(),
            maker="templates",
            left_out=reason,
        )


def _shares(store: Store, config: Config) -> Mapping[str, int]:
    """How many questions each table gives at most, by `source/table`."""
    most = config.questions.from_tables
    counts = rows_of_tables(store) if most else {}
    return shares([name for name, rows in counts.items() if rows <= MOST_ROWS_OF_TABLE], most)
