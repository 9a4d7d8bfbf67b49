"""`rag-assets cite`: sources for the sentences of an answer that cites none, or the wrong ones."""

import argparse
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.serving.commands.verify import read_file
from rag_assets.serving.replies import OK, PARTLY, Reply, UsageError, positive, search_errors
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.answering.checks.verifying import CitedSentence
    from rag_assets.answering.quoting.references import RelevanceScorer
    from rag_assets.answering.quoting.sourcing import SourcedSentence
    from rag_assets.retrieval.hits import Hit

SUMMARY = "find the sources of an answer that cites none, or the wrong ones"
EXAMPLES = """\
  rag-assets cite draft.md                    sources from the index that serves
  rag-assets cite report.md                   from the list `Sources:` at its end
  rag-assets cite report.md --index           from the index, beside those of its list
  rag-assets cite - --json < draft.md         exit code 3 where one has none, or a wrong one"""

RERANKER = "late_interaction"
"""Its scores are moved to probabilities; the curve was fitted for it."""
SHOWN_CHARACTERS = 100


@dataclass(frozen=True, slots=True)
class _Source:
    """What a sentence may come from."""

    name: str
    """How it is shown: the source as the file has it, or where the unit is from."""
    text: str
    unit_id: str | None = None


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
    from rag_assets.answering.quoting.sourcing import give_references
    from rag_assets.citations.cited_sources import CitedText

    config = configuration.load()
    sentences, listed = _read(options.file)
    sources = [_Source(each, each) for each in listed]
    if options.index or options.variant or not sources:
        sources += _found(config, options, [each.text for each in sentences])
    places = {source.text: place for place, source in reversed([*enumerate(sources)])}
    cited = [
        [places[each.text] for each in sentence.sources if isinstance(each, CitedText)]
        for sentence in sentences
    ]
    found = give_references(
        [(sentence.text, own) for sentence, own in zip(sentences, cited, strict=True)],
        [source.text for source in sources],
        _scorer(config),
    )
    return _reply(options.file, found, sources)


def _read(file: str) -> "tuple[Sequence[CitedSentence], Sequence[str]]":
    """The sentences of a file, and the sources that it lists, cited or not."""
    from rag_assets.answering.checks.cited_texts import CitedTextError, read_cited

    listed: list[str] = []

    def remembered(source: str) -> str:
        listed.append(source)
        return source

    try:
        sentences = read_cited(read_file(file), find=remembered)
    except CitedTextError as error:
        raise UsageError(f"{file}: {error}") from error
    return sentences, list(dict.fromkeys(listed))


def _found(
    config: Config, options: argparse.Namespace, sentences: Sequence[str]
) -> Sequence[_Source]:
    """The units that a search finds for the sentences, each once."""
    from rag_assets.answering.assistant import Assistant

    if options.variant:
        config.variant(options.variant)
    assistant = Assistant(Store.of(config), config, options.variant)
    with search_errors():
        hits = [
            hit
            for text in sentences
            for hit in assistant.search(text, retriever=options.retriever, top_k=options.hits)
        ]
    distinct = {hit.unit_id: hit for hit in hits}
    return [_Source(_place_of(hit), hit.text, hit.unit_id) for hit in distinct.values()]


def _place_of(hit: "Hit") -> str:
    """Where a unit is from: a document with its page, or a row with its key."""
    if hit.domain == "table":
        return f"{hit.source}/{hit.table}, row {hit.row_key}"
    return f"{hit.uri}#page={hit.pages[0]}" if hit.pages else hit.uri


def _scorer(config: Config) -> "RelevanceScorer":
    from rag_assets.answering.quoting.references import Calibrated
    from rag_assets.models.rerankers import load_reranker

    settings = config.retrieval.rerankers[RERANKER]
    home = Store.of(config).encoders
    with search_errors():
        return Calibrated(load_reranker(settings, name=RERANKER, home=home))


def _reply(file: str, found: "Sequence[SourcedSentence]", sources: Sequence[_Source]) -> Reply:
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
    lines += [f"[{numbers[place]}] {_shown(sources[place].name)}" for place in used]
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


def _shown(name: str) -> str:
    return name if len(name) <= SHOWN_CHARACTERS else f"{name[:SHOWN_CHARACTERS]}…"


def _total(sentences: int, *, without: int, wrong: int) -> str:
    return (
        f"{sentences - without} of {sentences} sentences have a source; "
        f"{wrong} cite another than the one that fits best."
    )
