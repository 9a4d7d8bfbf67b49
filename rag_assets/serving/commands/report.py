"""`rag-assets report`: a prompt with several topics, as sections with citations."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.serving.language_model_costs import of_answers, say_expected
from rag_assets.serving.replies import Reply, UsageError, project_of, say, write_file
from rag_assets.serving.searching import add_search_options, check_names, filters_of, prompt_of

if TYPE_CHECKING:
    from rag_assets.answering.reporting.cited_report import CitedReport
    from rag_assets.answering.reporting.forms import Form

SUMMARY = "write a report on several topics, with citations"
EXAMPLES = """\
  rag-assets report "Write a report on welding: (1) preheating (2) electrodes (3) testing"
  rag-assets report "Compare hot and cold rolled steel" --output comparison.docx
  rag-assets report @prompt.txt --output report.html    the prompt of a file
  rag-assets report @prompt.txt --writer local    a language model writes, each sentence compared
  rag-assets report - --json < prompt.txt"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "prompt", help="what to report on; - reads it from stdin, @FILE from a file"
    )
    command.add_argument(
        "--output",
        metavar="FILE",
        type=Path,
        help="write the report there: FILE.md, FILE.html or FILE.docx",
    )
    add_search_options(command)
    command.add_argument(
        "--writer",
        metavar="NAME",
        help="entry of language_models that writes the sections instead of answering.writer; none: "
        "an outline with the passages to read",
    )


def run(options: argparse.Namespace) -> Reply:
    """Write one report, into a file or to stdout."""
    from rag_assets.answering.reporting.cited_report import to_json

    output: Path | None = options.output
    form = _form_of(output or Path("report.md"))
    prompt = prompt_of(options.prompt)
    config, _ = project_of(options)
    report, content = _written(prompt, config, options, form)
    record = to_json(report)
    if output is None:
        return Reply(record, str(content).rstrip("\n"))
    write_file(output, content)
    return Reply({"output": str(output), **record}, _summary(report, output))


def _written(
    prompt: str, config: Config, options: argparse.Namespace, form: "Form"
) -> "tuple[CitedReport, str | bytes]":
    from rag_assets.answering.assistant import open_assistant

    filters = filters_of(options)
    with open_assistant(config, options.variant, writer=options.writer) as assistant:
        check_names(assistant, filters)
        say_expected(config, of_answers(config, 1, writer=options.writer, reports=True))
        report = assistant.report(
            prompt, filters=filters, retriever=options.retriever, progress=say
        )
        return report, form(report, assistant, say)


def _form_of(output: Path) -> "Form":
    """How a report is written for the ending of a file; nothing is done if it cannot be."""
    from rag_assets.answering.reporting.forms import FORMS

    form = FORMS.get(output.suffix.lower().removeprefix("."))
    if form is None:
        endings = ", ".join(f".{each}" for each in FORMS)
        raise UsageError(f"{output} ends with none of {endings}: name the file so")
    try:
        if output.is_dir():
            raise UsageError(f"{output} is a folder: name a file in it")
        if not output.parent.is_dir():
            raise UsageError(f"there is no folder {output.parent}: make it, or name another one")
    except OSError as error:
        raise UsageError(f"{output} cannot be written: {error.strerror}") from error
    return form


def _summary(report: "CitedReport", output: Path) -> str:
    count = len(report.sections)
    lines = [f"Wrote {output}: {count} {'section' if count == 1 else 'sections'}"]
    lines += [f"Not covered: {topic.title} ({topic.reason})" for topic in report.not_covered]
    return "\n".join(lines)
