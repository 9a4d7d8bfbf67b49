"""What people think of made questions: each is kept, dropped or reworded.

`evaluation.reviewed` reads what is written down here.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from rag_assets import schemas
from rag_assets.columns.sql import is_one_of, quoted
from rag_assets.evaluation import gold as golds
from rag_assets.evaluation.gold import Gold, RowGold
from rag_assets.media.json_lines import append
from rag_assets.questions.labelling import SKIP, Label, Screen, ScreenItem, ToLabel
from rag_assets.store import Store

KEEP, DROP = "keep", "drop"


def screens(
    store: Store, rows: Iterable[Mapping[str, str | None]], *, file: Path
) -> Iterator[ToLabel]:
    """What is asked of a person about made questions, given as `reviewed.made_questions` does."""
    for row in rows:
        gold = golds.from_json(str(row["gold"]))
        texts = _texts(store, [each for each in gold if isinstance(each, RowGold)])
        items = [_item(each, texts) for each in gold]
        answer = f"Answer: {row['answer']}" if row["answer"] else ""
        screen = Screen(str(row["question"]), items, {"k": KEEP, "d": DROP}, note=answer)
        yield screen, partial(_keep, file, row)


def _item(gold: Gold, texts: Mapping[Gold, str]) -> ScreenItem:
    text = texts.get(gold, "") if isinstance(gold, RowGold) else gold.quote or ""
    return ScreenItem(gold.label, text, text)


def _texts(store: Store, gold: Sequence[RowGold]) -> Mapping[Gold, str]:
    """What stands in rows of one table, without hidden and empty cells."""
    if not gold or not store.exists(schemas.TABLE_ROWS_TABLE):
        return {}
    source, _, table = gold[0].table.partition("/")
    own = f"source = {quoted(source)} AND `table` = {quoted(table)}"
    keys = is_one_of("row_key", [each.row_key for each in gold])
    columns = ["row_key", "pairs"]
    rows = store.read(schemas.TABLE_ROWS_TABLE, columns=columns, where=f"{own} AND {keys}")
    return {
        RowGold(gold[0].table, row["row_key"]): "; ".join(
            f"{pair['heading']}: {pair['value']}"
            for pair in row["pairs"]
            if pair["value"] is not None and not pair["hidden"]
        )
        for row in rows.to_pylist()
    }


def _keep(file: Path, row: Mapping[str, str | None], decision: Label) -> None:
    """Write a decision down; a question that was skipped is asked again at another time."""
    if decision.name != SKIP:
        other = {"question": decision.question} if decision.question != row["question"] else {}
        append(file, {"id": row["question_id"], "decision": decision.name, **other})
