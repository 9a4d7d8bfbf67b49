"""How many questions were made of each sort, and why others were left out."""

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.questions.step_tables import GENERATED
from rag_assets.store import Store

SORTS = ("origin", "kind", "language", "split")
EXAMPLE = ("left_out", "question")


def counted(store: Store) -> list[dict[str, str | int]]:
    """Questions by origin, kind, language and split."""
    return _counts(_read(store, is_kept=True), SORTS)


def left_out(store: Store) -> list[dict[str, str | int]]:
    """What was left out, by origin and reason: the words before the first colon.

    Each has an example, with all of its reason, which says what to do.
    """
    dropped = _read(store, is_kept=False)
    reasons = pc.list_element(pc.split_pattern(dropped["left_out"], ":", max_splits=1), 0)
    return _counts(dropped.append_column("reason", reasons), ("origin", "reason"), *EXAMPLE)


def _read(store: Store, *, is_kept: bool) -> pa.Table:
    columns = [*SORTS, *EXAMPLE]
    if not store.exists(GENERATED.table):
        return GENERATED.schema.empty_table().select(columns)
    where = f"left_out {'=' if is_kept else '!='} ''"
    return store.read(GENERATED.table, columns=columns, where=where)


def _counts(rows: pa.Table, columns: tuple[str, ...], *examples: str) -> list[dict[str, str | int]]:
    wanted = [([], "count_all"), *((name, "min") for name in examples)]
    found = rows.group_by(columns).aggregate(wanted)
    ordered = found.sort_by([(name, "ascending") for name in columns])
    names = {"count_all": "questions", **{f"{name}_min": name for name in examples}}
    return ordered.rename_columns(names).to_pylist()
