"""`rag-assets answers verify`: what of a text is in the sources that it cites."""

import argparse
from contextlib import nullcontext
from dataclasses import asdict
from typing import TYPE_CHECKING

from rag_assets.serving.language_model_costs import say_expected
from rag_assets.serving.replies import (
    OK,
    PARTLY,
    Reply,
    UsageError,
    project_of,
    read_text,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rag_assets.answering.checks.verifying import SentenceVerdict, Uncovered
    from rag_assets.citations.sentences import Compared

SUMMARY = "check a text, sentence by sentence, against what it cites"
EXAMPLES = """\
  rag-assets ask "How dense is copper?" --json > answer.json
  rag-assets answers verify answer.json
  rag-assets answers verify report.md            sentences with [1], a list of sources at the end
  rag-assets answers verify report.md --index    its sources are ids of units, or URIs of documents
  rag-assets answers verify report.md --judge    asks the judge of the config (answering.judge)
  rag-assets answers verify - --json < report.md    exit code 3 where a source lacks something"""

MARKS: "Mapping[Compared, str]" = {
    "verbatim": "verbatim",
    "cell": "cell",
    "computed again": "computed again",
    "numbers and names": "numbers and names agree",
    "nothing": "not compared",
}
"""What is told of a sentence that nothing speaks against."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "file", help="an answer as JSON, or Markdown or text with [1] and sources; - reads stdin"
    )
    command.add_argument(
        "--index",
        action="store_true",
        help="look sources up in the index that serves: ids of units, URIs of documents",
    )
    command.add_argument("--variant", help="variant to look them up in (implies --index)")
    command.add_argument(
        "--judge",
        action="store_true",
        help="ask the judge of the config about what is not proven by comparing",
    )


def run(options: argparse.Namespace) -> Reply:
    """Check the answer, sentence by sentence."""
    from rag_assets.answering.answer import AnswerFormatError
    from rag_assets.answering.checks.cited_texts import CitedTextError

    text, name = read_text(options.file), options.file
    try:
        verdicts = _verdicts(text, options)
    except AnswerFormatError as error:
        raise UsageError(f"{name} is no answer: {error}") from error
    except CitedTextError as error:
        raise UsageError(f"{name}: {error}") from error
    supported = sum(each.is_supported for each in verdicts)
    bad = sum(each.is_bad for each in verdicts)
    record = {
        "file": options.file,
        "sentences": [asdict(each) | {"supported": each.is_supported} for each in verdicts],
        "supported": supported,
        "not_in_sources": bad,
        "left_open": len(verdicts) - supported - bad,
    }
    lines = [line for each in verdicts for line in _lines(each)]
    lines.append(
        f"Sentences: {len(verdicts)}. Supported: {supported}; not in their sources: {bad}; "
        f"left open: {record['left_open']} (numbers and names agree, or nothing was compared)."
    )
    return Reply(record, "\n".join(lines), PARTLY if bad else OK)


def _verdicts(text: str, options: argparse.Namespace) -> "Sequence[SentenceVerdict]":
    from rag_assets.answering.assistant import Assistant
    from rag_assets.answering.checks.given_texts import sentences_in
    from rag_assets.answering.checks.judging import open_judge
    from rag_assets.answering.checks.verifying import verdicts_of

    is_looked_up = options.index or options.variant
    if not (is_looked_up or options.judge):
        return verdicts_of(sentences_in(text))
    config, store = project_of(options)
    with open_judge(config) if options.judge else nullcontext() as judge:
        if options.judge and judge is None:
            raise UsageError("--judge: the config names no judge (answering.judge)")
        if (settings := config.answering.judge) and judge and settings.model:
            say_expected(config, {settings.model: (0, len(sentences_in(text)))})
        if not is_looked_up:
            return verdicts_of(sentences_in(text), judge=judge)
        return Assistant(store, config, options.variant).verify(text, judge=judge)


def against(verdict: "SentenceVerdict") -> list[str]:
    """What speaks against a sentence, in words; nothing where nothing does."""
    said = [] if verdict.cites else ["it cites nothing"]
    said += [f"{each} points nowhere" for each in verdict.nowhere]
    said += [_told(each) for each in verdict.uncovered]
    said += verdict.reasons
    if verdict.judged is False:
        said.append("the judge finds that its sources do not say it")
    return said


def _lines(verdict: "SentenceVerdict") -> list[str]:
    """A verdict for people: the sentence, and below it what was compared or speaks against it."""
    if said := against(verdict):
        return [f"NO  {verdict.text}", *(f"      {each}" for each in said)]
    compared = MARKS[verdict.compared]
    told = f"supported: {compared}" if verdict.is_supported else compared
    if verdict.judged:
        told = f"supported by the judge; {compared}"
    return [f"{'ok' if verdict.is_supported else '? '}  {verdict.text}", f"      {told}"]


def _told(uncovered: "Uncovered") -> str:
    start = f"no source has the {uncovered.kind} {uncovered.text}"
    closest = uncovered.closest
    if closest is None:
        return start
    source = f" in {closest.source}" if closest.source else ""
    return f"{start}; the closest is {closest.text}{source}: {closest.where[:160]}"
