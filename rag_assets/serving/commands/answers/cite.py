"""`rag-assets answers cite`: sources for the sentences of a text."""

import argparse
from dataclasses import asdict
from typing import TYPE_CHECKING

from rag_assets.reports.text_tables import cut
from rag_assets.serving.replies import (
    OK,
    PARTLY,
    Reply,
    UsageError,
    positive,
    project_of,
    read_text,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rag_assets.answering.quoting.sourcing import PossibleSource, SourcedSentence

SUMMARY = "find sources for a text that cites none, or the wrong ones"
EXAMPLES = """\
  rag-assets answers cite draft.md              sources from the index that serves
  rag-assets answers cite report.md             from the list `Sources:` at its end
  rag-assets answers cite report.md --index     from the index, beside those of its list
  rag-assets answers cite - --json < draft.md   exit code 3 where one has none, or a wrong one"""

SHOWN_CHARACTERS = 100


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument(
        "file", help="Markdown or text, with [1] and sources where it has them; - reads stdin"
    )
    command.add_argument(
        "--index", action="store_true", help="search the index, although the file lists sources"
    )
    command.add_argument("--variant", help="variant to search (implies --index)")
    command.add_argument("--retriever", help="one of retrieval.retrievers in the config")
    command.add_argument(
        "--hits", type=positive, default=3, help="units that are compared for each sentence"
    )


def run(options: argparse.Namespace) -> Reply:
    """Match the sentences with their sources."""
    from rag_assets.answering.assistant import Assistant
    from rag_assets.answering.checks.cited_texts import CitedTextError

    config, store = project_of(options)
    assistant = Assistant(store, config, options.variant)
    try:
        found = assistant.cite(
            read_text(options.file),
            from_index=options.index or bool(options.variant),
            retriever=options.retriever,
            hits=options.hits,
        )
    except CitedTextError as error:
        raise UsageError(f"{options.file}: {error}") from error
    return _reply(options.file, found.sentences, found.sources)


def _reply(
    file: str, found: "Sequence[SourcedSentence]", sources: "Sequence[PossibleSource]"
) -> Reply:
    used = list(dict.fromkeys(place for each in found for place in _places(each)))
    numbers = {place: number for number, place in enumerate(used, start=1)}
    without = sum(not each.units for each in found)
    wrong = sum(each.better is not None for each in found)
    record = {
        "file": file,
        "sentences": [
            {
                "text": each.text,
                "cited": [numbers[place] for place in each.cited],
                "given": None if each.given is None else numbers[each.given],
                "better": None if each.better is None else numbers[each.better],
                "score": round(each.score, 3),
            }
            for each in found
        ],
        "sources": [{"number": numbers[place], **asdict(sources[place])} for place in used],
        "without_source": without,
        "disagreements": wrong,
    }
    lines = [line for each in found for line in _lines(each, numbers)]
    lines += ["", "Sources:"] if used else []
    lines += [f"[{numbers[place]}] {cut(sources[place].name, SHOWN_CHARACTERS)}" for place in used]
    lines += ["", _total(len(found), without=without, wrong=wrong)]
    return Reply(record, "\n".join(lines), PARTLY if without or wrong else OK)


def _places(sentence: "SourcedSentence") -> list[int]:
    better = [] if sentence.better is None else [sentence.better]
    return [*sentence.units, *better]


def _lines(sentence: "SourcedSentence", numbers: dict[int, int]) -> list[str]:
    marks = "".join(f" [{numbers[place]}]" for place in sentence.units)
    stop = sentence.text[-1:] if sentence.text[-1:] in ".!?" else ""
    lines = [f"{sentence.text.removesuffix(stop)}{marks}{stop}"]
    if not sentence.units:
        lines.append("      no source was found for it")
    if sentence.better is not None:
        number = numbers[sentence.better]
        lines.append(f"      [{number}] fits it better ({sentence.score:.2f}) than what it cites")
    return lines


def _total(sentences: int, *, without: int, wrong: int) -> str:
    return (
        f"{sentences - without} of {sentences} sentences have a source; "
        f"{wrong} cite another than the one that fits best."
    )
