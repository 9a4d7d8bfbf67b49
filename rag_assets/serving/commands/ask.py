"""`rag-assets ask`: answer questions in the words of the sources, with their proof."""

import argparse
from typing import TYPE_CHECKING

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.serving.answer_text import answer_text
from rag_assets.serving.replies import CommandError, Reply, search_errors
from rag_assets.serving.searching import (
    STDIN,
    add_search_options,
    filters_of,
    opened,
    texts_of,
)
from rag_assets.store import Store

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_assets.answering.answer import Answer
    from rag_assets.retrieval.filters import Filters

SUMMARY = "answer a question from the sources, each sentence with its proof"
EXAMPLES = """\
  rag-assets ask "What is the yield strength of hot rolled steel?"
  rag-assets ask "Which element has the highest melting point?" --domain table
  rag-assets ask "How is the surface treated?" --source documents --json
  rag-assets ask - < questions.txt         one question a line"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("question", help="the question; - reads questions from stdin, one a line")
    add_search_options(command)


def run(options: argparse.Namespace) -> Reply:
    """Answer once, or once for each line of stdin."""
    config = configuration.load()
    if options.variant:
        config.variant(options.variant)
    many = options.question == STDIN
    questions = texts_of(options.question, what="question")
    try:
        answers = _answers(questions, config, options=options, filters=filters_of(options))
    except ValueError as error:
        raise CommandError(str(error)) from error
    return _several(answers) if many else _one(answers[0])


def _answers(
    questions: "Sequence[str]",
    config: Config,
    *,
    options: argparse.Namespace,
    filters: "Filters",
) -> "list[Answer]":
    """The answers; the index, its models and its tables are opened once."""
    from rag_assets.answering.asking import ask
    from rag_assets.answering.lookup.arm import LookupArm

    store = Store.of(config)
    tables = LookupArm(store)
    index = opened(config, store, options.variant, arms={"lookup": tables})
    catalogue = tables.catalogue(index.complete_set)
    with search_errors():
        return [
            ask(
                index,
                question,
                store=store,
                config=config,
                filters=filters,
                retriever=options.retriever,
                catalogue=catalogue,
            )
            for question in questions
        ]


def _one(answer: "Answer") -> Reply:
    from rag_assets.answering.answer import to_json

    return Reply(to_json(answer), answer_text(answer))


def _several(answers: "Sequence[Answer]") -> Reply:
    replies = [_one(answer) for answer in answers]
    sections = (
        f"> {answer.question}\n\n{reply.text}"
        for answer, reply in zip(answers, replies, strict=True)
    )
    return Reply({"answers": [reply.record for reply in replies]}, "\n\n\n".join(sections))
