"""What people think of made questions: each is kept, dropped or reworded.

`evaluation.reviewed` reads what is written down here.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path

from rag_assets.evaluation import gold as golds
from rag_assets.evaluation.gold import DocumentGold, Gold
from rag_assets.evaluation.json_lines import append
from rag_assets.questions.labelling import SKIP, Label, Screen, ScreenItem, ToLabel

KEEP, DROP = "keep", "drop"


def screens(rows: Iterable[Mapping[str, str | None]], *, file: Path) -> Iterator[ToLabel]:
    """What is asked of a person about made questions, given as `reviewed.made_questions` does."""
    for row in rows:
        items = [_item(each) for each in golds.from_json(str(row["gold"]))]
        answer = f"Answer: {row['answer']}" if row["answer"] else ""
        screen = Screen(str(row["question"]), items, {"k": KEEP, "d": DROP}, note=answer)
        yield screen, partial(_keep, file, row)


def _item(gold: Gold) -> ScreenItem:
    quote = gold.quote or "" if isinstance(gold, DocumentGold) else ""
    return ScreenItem(gold.label, quote, quote)


def _keep(file: Path, row: Mapping[str, str | None], decision: Label) -> None:
    """Write a decision down; a question that was skipped is asked again at another time."""
    if decision.name != SKIP:
        other = {"question": decision.question} if decision.question != row["question"] else {}
        append(file, {"id": row["question_id"], "decision": decision.name, **other})
