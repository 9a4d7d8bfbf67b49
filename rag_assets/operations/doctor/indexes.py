"""Whether each row can be found: full-text index and index of vectors of each table of units."""

from collections.abc import Iterator
from functools import partial

from rag_assets.index.indexes import TOP, measured_recall
from rag_assets.operations.doctor.differences import behind
from rag_assets.operations.doctor.examined_tables import ExaminedTable, Practice
from rag_assets.operations.doctor.faults import Fault, Log, Mend
from rag_assets.retrieval.lexical import SCORE
from rag_assets.store import Store
from rag_assets.store.ann import is_searched_exactly
from rag_assets.store.atomic import take_away
from rag_assets.store.damage import DAMAGE
from rag_assets.store.repair import drop_indexes, missing_index_files
from rag_assets.store.search_indexes import VECTOR, text_index_name, vector_index_name
from rag_assets.store.text_parts import TEXT, text_index

TEXTS_SOUGHT, WORDS_AT_ONCE = 64, 256
VECTORS_SOUGHT, LEAST_RECALL = 200, 0.9


def faults_of(practice: Practice, table: ExaminedTable) -> Iterator[Fault]:
    """What is wrong with the indexes of a table of units."""
    wrong = partial(
        Fault,
        subject=table.subject(practice.store),
        variants=table.variants,
        mends=[made_anew(table.step.table)],
        is_redone=True,
    )
    if gone := missing_index_files(practice.store, table.step.table):
        kind = "text-index" if _text_name(practice) in gone else "vector-index"
        yield wrong(
            kind=kind, reason=f"files of {', '.join(gone)} are gone, cut short or overwritten"
        )
        return
    try:
        if _has_other_settings(practice, table):
            why = "a search index is by other settings, or of an older release"
            yield wrong(kind=behind(practice, table), reason=why)
            return
        if detail := _text(practice, table):
            yield wrong(kind="text-index", reason=detail)
        else:
            _search(practice, table)
        if detail := _vectors(practice, table):
            yield wrong(kind="vector-index", reason=detail)
        elif detail := _recall(practice, table):
            yield wrong(kind="low-recall", reason=detail)
    except DAMAGE as error:
        yield wrong(kind="text-index", reason=str(error).partition("\n")[0])


def _has_other_settings(practice: Practice, table: ExaminedTable) -> bool:
    """Whether an index is there, and not the one that this release makes by the config."""
    described = practice.store.dataset(table.step.table).describe_indices()
    settings = practice.config.index
    wanted = {
        TEXT: text_index_name(settings.text),
        VECTOR: vector_index_name(settings.vectors),
    }
    found = {
        column: {index.name for index in described if index.field_names == [column]}
        for column in wanted
    }
    return any(found[column] and name not in found[column] for column, name in wanted.items())


def _text(practice: Practice, table: ExaminedTable) -> str | None:
    """Why BM25 does not count what the table holds."""
    index = text_index(practice.store.dataset(table.step.table), name=_text_name(practice))
    if not index.parts:
        return "there is none"
    if index.uncounted:
        return f"{len(index.uncounted)} parts of the table are not in it"
    if not index.is_exact:
        return "it counts rows that were deleted since"
    return None


def _search(practice: Practice, table: ExaminedTable) -> None:
    """Open what a search opens, for words that the table holds.

    Raises:
        One of `DAMAGE`: Files of the index cannot be read.
    """
    from lance.query import MatchQuery

    dataset = practice.store.dataset(table.step.table)
    texts = dataset.to_table(columns=[TEXT], limit=TEXTS_SOUGHT)[TEXT].to_pylist()
    words = [word for text in texts for word in text.split()]
    for start in range(0, len(words), WORDS_AT_ONCE):
        query = MatchQuery(" ".join(words[start : start + WORDS_AT_ONCE]), TEXT)
        dataset.to_table(columns=[SCORE], full_text_query=query, limit=1)


def _vectors(practice: Practice, table: ExaminedTable) -> str | None:
    """Why the index of vectors leaves more to a scan than the config allows."""
    opened, settings = practice.store.open(table.step.table), practice.config.index
    if is_searched_exactly(opened, ann_from_rows=settings.ann_from_rows):
        return None
    name = vector_index_name(settings.vectors)
    found = [each for each in opened.list_indices() if each.name == name]
    if not found:
        return "there is none, and the table is too large for an exact search"
    waiting, rows = found[0].num_unindexed_rows or 0, opened.count_rows()
    if waiting > rows * settings.maintain_from_share:
        return f"{waiting:,} of {rows:,} rows are not in it"
    return None


def _recall(practice: Practice, table: ExaminedTable) -> str | None:
    """Why searches through the index of vectors miss what an exact search finds."""
    opened, config = practice.store.open(table.step.table), practice.config
    if is_searched_exactly(opened, ann_from_rows=config.index.ann_from_rows):
        return None
    found = measured_recall(opened, search=config.retrieval.ann, sample=VECTORS_SOUGHT)
    if found >= LEAST_RECALL:
        return None
    return f"recall@{TOP} is {found:.2f}, over up to {VECTORS_SOUGHT} units of it as queries"


def _text_name(practice: Practice) -> str:
    return text_index_name(practice.config.index.text)


def made_anew(table: str) -> Mend:
    """Drop the indexes, and forget how they stand: the step makes them again."""

    def mend(store: Store, log: Log) -> None:
        with store.lock(table, log=log):
            drop_indexes(store, table)
            take_away(store.index_file(table))

    return mend
