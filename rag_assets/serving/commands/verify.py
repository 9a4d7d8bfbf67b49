"""`rag-assets verify`: whether the sentences of an answer are supported by what they cite."""

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets import config as configuration
from rag_assets.serving.replies import OK, PARTLY, CommandError, Reply, UsageError, search_errors

if TYPE_CHECKING:
    from rag_assets.answering.answer import Answer
    from rag_assets.answering.checks.verifying import CitedSentence, SentenceVerdict, Uncovered
    from rag_assets.retrieval.search import VariantIndex

SUMMARY = "check the sentences of an answer against what they cite"
EXAMPLES = """\
  rag-assets ask "How dense is copper?" --json > answer.json && rag-assets verify answer.json
  rag-assets verify report.md                 sentences with [1], a list of sources at the end
  rag-assets verify report.md --index         its sources are ids of units, or URIs of documents
  rag-assets verify - --json < report.md      exit code 3 where something is not supported"""

STDIN = "-"
MOST_UNITS = 200
"""Units of one document that are read as its text."""
MARKS = {"full": "ok  ", "part": "part", "none": "NO  ", "unchecked": "?   "}
"""How a verdict is marked."""


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


def run(options: argparse.Namespace) -> Reply:
    """Check the answer, sentence by sentence."""
    text = read_file(options.file)
    index = _opened(options.variant) if options.index or options.variant else None
    sentences = _sentences(text, index, name=options.file)

    from rag_assets.answering.checks.verifying import verdicts_of

    verdicts = verdicts_of(sentences)
    bad = [each for each in verdicts if is_bad(each)]
    record = {
        "file": options.file,
        "sentences": [asdict(each) for each in verdicts],
        "supported": sum(each.support == "full" for each in verdicts),
        "in_part": sum(each.support == "part" and not is_bad(each) for each in verdicts),
        "unsupported": len(bad),
    }
    lines = [line for each in verdicts for line in _lines(each)]
    total = f"{record['supported']} of {len(verdicts)} sentences are supported in full"
    lines.append(f"{total}, {record['in_part']} in part, {len(bad)} are not.")
    return Reply(record, "\n".join(lines), PARTLY if bad else OK)


def is_bad(verdict: "SentenceVerdict") -> bool:
    """Whether a sentence is unsupported, cites nothing, or cites what is not there."""
    return verdict.support == "none" or not verdict.cites or bool(verdict.nowhere)


def read_file(file: str) -> str:
    """The text of a file, or of stdin.

    Raises:
        CommandError: It cannot be read.
    """
    try:
        return sys.stdin.read() if file == STDIN else Path(file).read_text("utf-8")
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise CommandError(f"{file} is not valid UTF-8: save it as UTF-8") from error


def _sentences(text: str, index: "VariantIndex | None", *, name: str) -> "Sequence[CitedSentence]":
    from rag_assets.answering.checks.cited_texts import CitedTextError, read_cited
    from rag_assets.answering.checks.verifying import cited_sentences

    if text.lstrip().startswith("{"):
        answer = _answer(text, name=name)
        return cited_sentences(answer, _units(answer, index) if index else None)
    try:
        return read_cited(text, find=_finder(index) if index else None)
    except CitedTextError as error:
        raise UsageError(f"{name}: {error}") from error


def _answer(text: str, *, name: str) -> "Answer":
    from rag_assets.answering.answer import AnswerFormatError, from_json

    try:
        return from_json(json.loads(text))
    except json.JSONDecodeError as error:
        raise UsageError(f"{name} is no valid JSON: line {error.lineno}, {error.msg}") from error
    except AnswerFormatError as error:
        raise UsageError(f"{name} is no answer: {error}") from error


def _opened(variant: str | None) -> "VariantIndex":
    from rag_assets.retrieval.opening import open_index
    from rag_assets.retrieval.serving import open_serving
    from rag_assets.store import Store

    config = configuration.load()
    store = Store.of(config)
    if variant is None:
        return open_serving(store, config)
    config.variant(variant)
    return open_index(store, config, variant)


def _units(answer: "Answer", index: "VariantIndex") -> Mapping[str, str]:
    """Texts of the units that the citations name, as far as the index has them."""
    wanted = {
        unit_id
        for citation in answer.citations
        if (unit_id := getattr(citation, "unit_id", None)) is not None
    }
    return _texts(index, sorted(wanted))


def _texts(index: "VariantIndex", unit_ids: Sequence[str]) -> Mapping[str, str]:
    with search_errors():
        rows = index.read(unit_ids, ["text"]).to_pylist() if unit_ids else []
    return {row["unit_id"]: row["text"] for row in rows}


def _finder(index: "VariantIndex") -> "Callable[[str], str | None]":
    """Looks up what a source names: a unit by its id, or all units of a document or page."""
    from rag_assets.retrieval.filters import Filters

    def find(source: str) -> str | None:
        name, _, page = source.partition("#page=")
        if not name.strip():
            return None
        found = _texts(index, [name])
        if found:
            return found[name]
        with search_errors():
            columns = ["text", "pages"]
            units = index.select(Filters(uri=name, versions="all"), columns, most=MOST_UNITS)
        wanted = int(page) if page.isdecimal() else None
        texts = [
            unit["text"] for unit in units.to_pylist() if wanted is None or wanted in unit["pages"]
        ]
        return "\n\n".join(texts) or None

    return find


def _lines(verdict: "SentenceVerdict") -> list[str]:
    """A verdict for people."""
    lines = [f"{MARKS[verdict.support if verdict.cites else 'none']}  {verdict.text}"]
    if not verdict.cites:
        lines.append("      it cites nothing")
    lines += [f"      {each} points nowhere" for each in verdict.nowhere]
    if verdict.support != "full":
        lines += [f"      {_told(each)}" for each in verdict.uncovered]
        lines += [f"      {reason}" for reason in verdict.reasons]
    return lines


def _told(uncovered: "Uncovered") -> str:
    start = f"no source has the {uncovered.kind} {uncovered.text}"
    closest = uncovered.closest
    if closest is None:
        return start
    source = f" in {closest.source}" if closest.source else ""
    return f"{start}; the closest is {closest.text}{source}: {closest.where[:160]}"
