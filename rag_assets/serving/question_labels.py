"""Asking a person: the actions `from-answers` and `review` of `questions`, and `judge label`."""

import io
import sys
from collections import Counter
from collections.abc import Iterable

from rag_assets.config import Config
from rag_assets.config.questions import KNOWN_ITEMS
from rag_assets.questions.labelling import TICKED, ToLabel, label
from rag_assets.serving import disk_errors
from rag_assets.serving.replies import Reply, UsageError, say
from rag_assets.store import Store


def from_answers(config: Config) -> Reply:
    """Ask a person where the answers of questions stand that people asked and the test set lacks.

    Raises:
        CommandError: Nothing can be searched, or a file cannot be used.
        UsageError: There is nobody to ask.
    """
    from rag_assets.answering.assistant import Assistant
    from rag_assets.answering.record.asked import asked_questions
    from rag_assets.answering.record.database import answers_of
    from rag_assets.questions import from_answers as asking

    store, file_of_people = Store.of(config), config.questions.people_file
    file = answers_of(store)
    with disk_errors.writing(config.questions.folder):
        if not file.exists:
            return Reply({"asked": 0, "left": 0}, "No answer is kept yet: ask something first.")
        index = Assistant(store, config).index
        say("Comparing the questions that were asked with each other and with the test set.")
        questions = asking.open_questions(
            asked_questions(file),
            test_set=asking.test_set_of(config),
            decided=asking.decided_ids(config.questions),
            embed=index.encoder.embed_queries,
        )
        made = asked(asking.screens(index, questions, config), count=len(questions))
    count, gold = made.total(), made[TICKED]
    left = len(questions) - count
    text = (
        f"Questions asked: {count:,}, of which {gold:,} have gold now; left: {left:,}. "
        f"The test set has them in {file_of_people}. Next: rag-assets evaluate"
    )
    record = {"asked": count, "gold": gold, "left": left, "file": str(file_of_people)}
    return Reply(record, text)


def review(config: Config) -> Reply:
    """Ask a person what to do with the questions that were made and that nobody decided on yet.

    Raises:
        CommandError: A file cannot be used.
        UsageError: There is nobody to ask.
    """
    from rag_assets.evaluation.reviewed import made_questions, read_review
    from rag_assets.questions import reviewing

    store, file = Store.of(config), config.questions.review_file
    with disk_errors.writing(config.questions.folder):
        decisions = read_review(file).decisions
        made = made_questions(store, decisions)
        asked_of_people = (
            row for row in made if not str(row["question_id"]).startswith(f"{KNOWN_ITEMS}/")
        )
        waiting = [row for row in asked_of_people if row["question_id"] not in decisions]
        done = asked(reviewing.screens(store, waiting, file=file), count=len(waiting))
    kept, dropped = done[reviewing.KEEP], done[reviewing.DROP]
    left = len(waiting) - kept - dropped
    text = (
        f"Questions kept: {kept:,}, dropped: {dropped:,}; left: {left:,}. Decisions are in {file}."
        if waiting
        else "No question waits for a decision: `rag-assets questions make` makes them."
    )
    return Reply({"kept": kept, "dropped": dropped, "left": left, "file": str(file)}, text)


def asked(screens: Iterable[ToLabel], *, count: int) -> Counter[str]:
    """Ask the person at this terminal; returns how many of each decision were made.

    Raises:
        UsageError: There is nobody to ask.
    """
    if isinstance(sys.stdin, io.TextIOWrapper):
        sys.stdin.reconfigure(errors="replace")  # the person sees what was not UTF-8
    try:
        return label(screens, count=count, answers=sys.stdin, say=say)
    except EOFError as error:
        raise UsageError(
            "a person decides here, but there is no terminal to ask on and no input: run it in a "
            "terminal, or write one answer a line to its stdin"
        ) from error
