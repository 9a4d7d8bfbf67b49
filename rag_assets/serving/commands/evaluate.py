"""`rag-assets evaluate`: how well retrieval finds the gold of a file of questions."""

import argparse
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets import config as configuration
from rag_assets.serving.answers import Answer, CommandError, say, search_errors, table
from rag_assets.serving.evaluation_text import scores
from rag_assets.store import Store
from rag_assets.store.serving_pointer import serving_variant

if TYPE_CHECKING:
    from rag_assets.evaluation.results import EvaluationResult

SUMMARY = "measure retrieval on a file of questions with gold evidence"
EXAMPLES = """\
  rag-assets evaluate --questions questions.jsonl
  rag-assets evaluate --questions questions.jsonl --variant json_rows --retriever bm25 --json"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("--questions", required=True, type=Path, help="JSONL, one question a line")
    command.add_argument("--variant", help="variant to use (default: the one that serves)")
    command.add_argument(
        "--retriever",
        help="one alone (default: that of searches, and evaluation.retrievers)",
    )


def run(options: argparse.Namespace) -> Answer:
    """Measure, or show the stored result for the same index and questions."""
    config = configuration.load()
    _check_readable(options.questions)
    variant = options.variant or serving_variant(Store.of(config), config)
    config.variant(variant)
    try:
        if options.retriever:
            config.retrieval.check_retriever(options.retriever, key="--retriever")
    except ValueError as error:
        raise CommandError(str(error)) from error

    from rag_assets.evaluation.evaluate import compared, evaluate_file
    from rag_assets.evaluation.questions import QuestionsError

    try:
        with search_errors():
            result = evaluate_file(
                Store.of(config),
                config,
                path=options.questions,
                variant=variant,
                retrievers=[options.retriever] if options.retriever else compared(config),
                log=say,
            )
    except QuestionsError as error:
        raise CommandError(str(error)) from error
    return Answer(
        record={
            "variant": variant,
            "questions": result.record.questions,
            "retrievers": result.record.retrievers,
            "summary": result.summary_rows(split="all"),
            "differences": result.difference_rows(split="all"),
            "latency": {name: asdict(one) for name, one in result.record.latency.items()},
            "failures": [{"what": line.label, "reason": line.reason} for line in result.failures],
            "report": str(result.report),
            "seconds": round(result.seconds, 3),
        },
        text="\n\n".join([scores(result), *_compared(result), *_left_out(result)]),
        code=3 if result.failures else 0,
    )


def _check_readable(questions: Path) -> None:
    try:
        with questions.open("rb"):
            pass
    except OSError as error:
        raise CommandError(
            f"the question file {questions} cannot be read ({error.strerror}): correct --questions"
        ) from error


def _compared(result: "EvaluationResult") -> Iterator[str]:
    """The paired differences, their verdicts, and what follows for the retriever that serves."""
    from rag_assets.evaluation.wording import advice, differences_table

    rows = differences_table(result)
    if rows:
        columns = ["questions", "n", "retriever", "against", "metric", "difference", "says"]
        yield f"Paired differences, 95 % intervals\n{table(rows, columns=columns)}"
        yield "\n".join(advice(result))


def _left_out(result: "EvaluationResult") -> Iterator[str]:
    if result.failures:
        lines = [f"  {line.label}: {line.reason}" for line in result.failures]
        yield "\n".join(["Lines that are not questions (left out):", *lines])
