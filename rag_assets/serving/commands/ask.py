"""`rag-assets ask`: compute, write or find the answer to questions, with its proof."""

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.serving.answer_text import answer_text
from rag_assets.serving.conversations import kept_answer, turns_in, turns_of
from rag_assets.serving.language_model_costs import (
    added,
    of_answers,
    of_searches,
    say_expected,
)
from rag_assets.serving.replies import Reply, project_of, say
from rag_assets.serving.searching import (
    STDIN,
    add_search_options,
    check_names,
    filters_of,
    texts_of,
)
from rag_assets.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_assets.answering.answer import Answer
    from rag_assets.answering.condensation.conversation import Turn
    from rag_assets.retrieval.filters import Filters

SUMMARY = "answer a question, with the proof"
EXAMPLES = """\
  rag-assets ask "What is the yield strength of hot rolled steel?"
  rag-assets ask "Which element has the highest melting point?" --domain table
  rag-assets ask "How is the surface treated?" --source documents --json
  rag-assets ask "and of cold rolled?" --after 0198c5d2-...    go on from a kept answer
  rag-assets ask "How is it welded?" --writer local   a language model writes the answer
  rag-assets ask - < questions.txt         one question a line"""


@dataclass(frozen=True, slots=True)
class Asked:
    """An answer that was given."""

    answer: "Answer"
    kept: str | None
    """The id of the answer in the record; None if answers are not kept."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("question", help="the question; - reads questions from stdin, one a line")
    add_search_options(command)
    before = command.add_mutually_exclusive_group()
    before.add_argument(
        "--after", metavar="ID", help="the kept answer that the question follows: it is completed"
    )
    before.add_argument(
        "--history",
        metavar="FILE",
        type=Path,
        help='what was said before: a JSON object with "question" and "answer" a line',
    )
    command.add_argument(
        "--writer",
        metavar="NAME",
        help="entry of language_models that writes the answer instead of answering.writer; none: "
        "no model is asked",
    )
    command.add_argument("--user", help="who asks: `answers forget` erases by it")


def run(options: argparse.Namespace) -> Reply:
    """Answer once, or once for each line of stdin."""
    config, _ = project_of(options)
    many = options.question == STDIN
    questions = texts_of(options.question, what="question")
    answers = _answers(questions, config, options=options, filters=filters_of(options))
    return _several(answers) if many else _one(answers[0])


def _answers(
    questions: "Sequence[str]",
    config: Config,
    *,
    options: argparse.Namespace,
    filters: "Filters",
) -> "list[Asked]":
    """The answers, which are kept; the index, its models and its tables are opened once.

    Raises:
        ConfigError: No language model has the name of the writer.
    """
    from rag_assets.answering.assistant import open_assistant
    from rag_assets.answering.record.keeping import keep_asked

    said = _said_before(Store.of(config), options)
    answers = []
    with open_assistant(config, options.variant, writer=options.writer) as assistant:
        check_names(assistant, filters)
        searched = options.retriever or config.retrieval.retriever
        calls = of_answers(config, len(questions), writer=options.writer)
        say_expected(config, added(calls, of_searches(config, [searched], len(questions))))
        for question in questions:
            answer = assistant.ask(
                question, said=said, filters=filters, retriever=options.retriever, log=say
            )
            kept = keep_asked(
                assistant,
                answer,
                retriever=options.retriever,
                filters=filters,
                user=options.user,
                said=said,
            )
            answers.append(Asked(answer, kept))
    return answers


def _said_before(store: Store, options: argparse.Namespace) -> "Sequence[Turn]":
    if options.after:
        return turns_of(kept_answer(store, options.after))
    return turns_in(options.history) if options.history else ()


def _one(asked: Asked) -> Reply:
    from rag_assets.answering.answer import to_json

    text = answer_text(asked.answer, bold=sys.stdout.isatty())
    record = to_json(asked.answer)
    if asked.kept is None:
        return Reply(record, text)
    return Reply({"id": asked.kept, **record}, f"{text}\n\nKept as {asked.kept}")


def _several(answers: "Sequence[Asked]") -> Reply:
    replies = [_one(asked) for asked in answers]
    sections = (
        f"> {asked.answer.question}\n\n{reply.text}"
        for asked, reply in zip(answers, replies, strict=True)
    )
    return Reply({"answers": [reply.record for reply in replies]}, "\n\n\n".join(sections))
