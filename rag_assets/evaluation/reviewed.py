"""Made questions as people left them: what they decided on each, and what is left.

The file of decisions has a line for each, of which the last one of a question counts:

    {"id": "from_documents/1f…", "decision": "keep" | "drop", "question"?: "in other words"}

Commands only append to it, and a person edits it freely. A decision on a question that was not made
this time waits until it is.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from rag_assets import schemas
from rag_assets.change.quarantine import Failure
from rag_assets.evaluation import gold as golds
from rag_assets.identity import chance
from rag_assets.media.json_lines import LineError, lines_of, record_of, text_of
from rag_assets.store import Store
from rag_assets.terms.words import folded

COPIED = ("question_id", "question", "language", "split", "gold", "answer")
"""Columns that a made question has as a question of a set."""
DECISIONS = ("keep", "drop")


@dataclass(frozen=True, slots=True)
class ReviewDecision:
    """What a person decided on a made question."""

    is_kept: bool
    question: str | None
    """The question in the person's words; None as it was made."""


AS_MADE = ReviewDecision(is_kept=True, question=None)
"""The decision on a question on which nobody decided."""


@dataclass(frozen=True, slots=True)
class ReviewFile:
    """The content of a file of decisions."""

    decisions: Mapping[str, ReviewDecision]
    """The decision on each question, by its id."""
    failures: Mapping[str, Failure]
    """The lines that are no decisions, by name and number."""


def read_review(file: Path) -> ReviewFile:
    """The decisions of a file; none if there is no file.

    Raises:
        QuestionsError: It cannot be read.
    """
    decisions: dict[str, ReviewDecision] = {}
    failures: dict[str, Failure] = {}
    for number, line in lines_of(file, what="decisions on questions") if file.exists() else ():
        where = f"{file.name} line {number}"
        try:
            record = record_of(line)
            decision = record.get("decision")
            if decision not in DECISIONS:
                raise LineError(f"decision = {decision!r}: write keep or drop")
            words = text_of(record, "question") if record.get("question") else None
            decisions[text_of(record, "id")] = ReviewDecision(decision == "keep", words)
        except LineError as error:
            failures[where] = Failure(where, f"{where}: {error}", where)
    return ReviewFile(decisions, failures)


def made_questions(
    store: Store, decisions: Mapping[str, ReviewDecision], *, train: float = 0
) -> Iterable[dict[str, str | None]]:
    """The made questions that are left, as rows of `schemas.QUESTIONS`.

    What was left out or dropped is not among them. Nor is a question that was made of several
    documents or tables, since nobody can tell which of them it asks for, unless a person kept it.
    Of a share `train` of the documents and tables all have the split of that name.
    """
    if not store.exists(schemas.GENERATED_QUESTIONS_TABLE):
        return
    made = store.read(
        schemas.GENERATED_QUESTIONS_TABLE,
        columns=["origin", "input_id", *COPIED],
        where="left_out = ''",
    )
    left: list[dict[str, str | None]] = []
    for row in made.sort_by("question_id").to_pylist():
        decision = decisions.get(row["question_id"], AS_MADE)
        if decision.is_kept:
            left.append(row | {"question": decision.question or row["question"]})
    times = Counter(folded(str(row["question"])) for row in left)
    for row in left:
        if times[folded(str(row["question"]))] == 1 or row["question_id"] in decisions:
            yield {
                **{name: row[name] for name in COPIED},
                "split": "train" if chance("train", row["input_id"]) < train else row["split"],
                "question_set": row["origin"],
                "domain": golds.domain_of(golds.from_json(str(row["gold"]))),
                "support": golds.to_json([]),
            }
