"""How many questions were made of each sort, and why others were left out."""

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.questions.step_tables import GENERATED
from rag_assets.store import Store

SORTS = ("origin", "kind", "language", "split")


def counted(store: Store) -> list[dict[str, str | int]]:
    """Questions by origin, kind, language and split."""
    return _counts(_read(store, is_kept=True), SORTS)


def left_out(store: Store) -> list[dict[str, str | int]]:
    """What was left out, by origin and reason: the words before the first colon."""
    dropped = _read(store, is_kept=False)
    reasons = pc.list_element(pc.split_pattern(dropped["left_out"], ":", max_splits=1), 0)
    return _counts(dropped.append_column("reason", reasons), ("origin", "reason"))


def _read(store: Store, *, is_kept: bool) -> pa.Table:
    if not store.exists(GENERATED.table):
        return GENERATED.schema.empty_table().select([*SORTS, "left_out"])
    where = f"left_out {'=' if is_kept else '!='} ''"
    return store.read(GENERATED.table, columns=[*SORTS, "left_out"], where=where)


def _counts(rows: pa.Table, columns: tuple[str, ...]) -> list[dict[str, str | int]]:
    found = rows.group_by(columns).aggregate([([], "count_all")])
    ordered = found.sort_by([(name, "ascending") for name in columns])
    return ordered.rename_columns({"count_all": "questions"}).to_pylist()
