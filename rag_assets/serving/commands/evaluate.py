"""`rag-assets evaluate`: how well retrieval finds the gold of questions, and what that is worth."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.findings.telling import lines_of, record_of
from rag_assets.reports.text_tables import table
from rag_assets.serving.evaluation_text import choice, scores
from rag_assets.serving.language_model_costs import of_searches, say_expected
from rag_assets.serving.replies import (
    OK,
    PARTLY,
    CommandError,
    Reply,
    UsageError,
    add_variant,
    project_of,
    say,
)
from rag_assets.store import Store
from rag_assets.store.serving_pointer import serving_variant

if TYPE_CHECKING:
    from rag_assets.change.sync import Failure
    from rag_assets.evaluation.flaws import Flaw
    from rag_assets.evaluation.results import EvaluationResult

SUMMARY = "measure retrieval on questions of your own"
EXAMPLES = """\
  rag-assets evaluate                          on all question sets of the project
  rag-assets evaluate --questions questions.jsonl
  rag-assets evaluate --questions questions.jsonl --variant json_rows --retriever bm25 --json
  rag-assets evaluate --choose      which retriever suits the imported questions best?
  rag-assets evaluate --doctor      is the evaluation of the imported questions itself sound?"""
NO_QUESTIONS = (
    "there are no questions, or all are of the split train, which is not measured with: make some "
    "with `rag-assets questions make`, or name a file with --questions"
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "--questions",
        type=Path,
        help="JSONL, one question a line (default: the question sets of the project, made ones "
        "included)",
    )
    add_variant(command)
    command.add_argument(
        "--retriever",
        help="one alone (default: that of searches, and evaluation.retrievers)",
    )
    what = command.add_mutually_exclusive_group()
    what.add_argument(
        "--choose",
        action="store_true",
        help="propose a retriever for this index: compare those of the config and fusions of the "
        "signals by some of the questions, and show the best one on the others",
    )
    what.add_argument(
        "--doctor",
        action="store_true",
        help="say what makes the numbers say less than they seem to, each with a code and a "
        "remedy; exits 3 where no verdict may rest on them",
    )


def run(options: argparse.Namespace) -> Reply:
    """Measure, or show the stored result for the same index and questions."""
    if options.choose and options.retriever:
        raise UsageError("--choose compares retrievers: leave out --retriever")
    if options.questions is None and options.retriever:
        raise UsageError("--retriever is for a file of questions: name one with --questions")
    config, store = project_of(options)
    if options.questions is not None:
        _check_readable(options.questions)
    variant = options.variant or serving_variant(store, config)
    if options.retriever:
        config.retrieval.check_retriever(options.retriever, key="--retriever")
    if options.choose:
        return _chosen(store, config, options, variant=variant)
    result = _evaluated(store, config, options, variant=variant)
    if options.doctor:
        from rag_assets.evaluation.doctor import flaws_of

        return _examined(result, flaws_of(store, config, result))
    return Reply(
        record={
            "variant": variant,
            "questions": result.record.questions,
            "retrievers": result.record.retrievers,
            "summary": result.summary_rows(split="all"),
            "differences": result.difference_rows(split="all"),
            "latency": {name: asdict(one) for name, one in result.record.latency.items()},
            "flaws": [record_of(flaw.finding) for flaw in result.record.flaws],
            "failures": _failed(result.failures),
            "report": str(result.report),
            "seconds": round(result.seconds, 3),
        },
        text="\n\n".join(
            [scores(result), *_compared(result), *_flawed(result), *_left_out(result.failures)]
        ),
        code=PARTLY if result.failures else OK,
    )


def _evaluated(
    store: Store, config: Config, options: argparse.Namespace, *, variant: str
) -> "EvaluationResult":
    """The evaluation of the file of `options`, or of the imported questions without one."""
    from rag_assets.evaluation.evaluate import compared, evaluate_file, evaluate_variant
    from rag_assets.evaluation.questions import read_questions, refresh_questions
    from rag_assets.table_lookup.arm import arms_of

    arms = arms_of(store, config)
    if options.questions is not None:
        return evaluate_file(
            store,
            config,
            path=options.questions,
            variant=variant,
            retrievers=[options.retriever] if options.retriever else compared(config),
            arms=arms,
            log=say,
        )
    refresh_questions(store, config, log=say)
    count = len(read_questions(store))
    say_expected(config, of_searches(config, compared(config), count))
    result = evaluate_variant(store, config, variant=variant, arms=arms, log=say)
    if result is None:
        raise CommandError(NO_QUESTIONS)
    return result


def _chosen(store: Store, config: Config, options: argparse.Namespace, *, variant: str) -> Reply:
    """The retriever that is proposed for the index, or the one to keep."""
    from rag_assets.evaluation import questions as imported
    from rag_assets.evaluation.choosing import choose_retriever
    from rag_assets.evaluation.evaluate import parsed_file
    from rag_assets.evaluation.evaluation_wording import smoke_sentence
    from rag_assets.evaluation.smoke_tests import smoke_tests
    from rag_assets.table_lookup.arm import arms_of

    failures: list[Failure] = []
    if options.questions is None:
        questions = imported.brought(imported.read_questions(store), config)
    else:
        parsed = parsed_file(config, options.questions)
        questions, failures = parsed.measured, list(parsed.failures.values())
    if not questions:
        raise CommandError(NO_QUESTIONS)
    smoke = smoke_tests(store, config, questions)
    found = choose_retriever(
        store, config, questions, variant=variant, arms=arms_of(store, config), log=say
    )
    return Reply(
        record={
            "variant": variant,
            "questions": len(questions),
            "proposed": found.best if found.better else found.serving,
            "is_better": bool(found.better),
            **asdict(found),
            "smoke_tests": smoke,
            "failures": _failed(failures),
        },
        text="\n\n".join([*smoke_sentence(smoke), choice(found), *_left_out(failures)]),
        code=PARTLY if failures else OK,
    )


def _examined(result: "EvaluationResult", flaws: "Sequence[Flaw]") -> Reply:
    """What the doctor says of an evaluation."""
    from rag_assets.evaluation.flaws import SOUND

    record, findings = result.record, [each.finding for each in flaws]
    about = f"Evaluation of variant {record.variant} on {record.questions:,} questions"
    return Reply(
        record={
            "variant": record.variant,
            "questions": record.questions,
            "retrievers": record.retrievers,
            "flaws": [record_of(each) for each in findings],
            "report": str(result.report),
        },
        text="\n".join([about, *(lines_of(findings, most=len(findings)) or [SOUND])]),
        code=PARTLY if any(flaw.blocking for flaw in flaws) else OK,
    )


def _flawed(result: "EvaluationResult") -> Iterator[str]:
    """A line for each flaw; `--doctor` says more."""
    if result.record.flaws:
        lines = [f"  {flaw.sentence}" for flaw in result.record.flaws]
        yield "\n".join(["Flaws of the evaluation itself (more with --doctor):", *lines])


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
    from rag_assets.evaluation.evaluation_wording import advice, differences_table

    rows = differences_table(result, domains=result.domains()[-1:])
    if rows:
        columns = ["questions", "n", "retriever", "against", "metric", "difference", "says"]
        title = "Paired differences, 95 % intervals (the report has those of each domain)"
        yield f"{title}\n{table(rows, columns=columns)}"
        yield "\n".join(advice(result))


def _left_out(failures: "Sequence[Failure]") -> Iterator[str]:
    if failures:
        lines = [f"  {line.label}: {line.reason}" for line in failures]
        yield "\n".join(["Lines that are not questions (left out):", *lines])


def _failed(failures: "Sequence[Failure]") -> list[dict[str, str]]:
    return [{"what": line.label, "reason": line.reason} for line in failures]
