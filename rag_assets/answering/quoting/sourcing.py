"""Sources for the sentences of an answer from anywhere, and open disagreement with wrong ones.

See `references` for how sentences are matched with units.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from rag_assets.answering.checks.cited_texts import read_cited
from rag_assets.answering.quoting.references import (
    NULL,
    Calibrated,
    RelevanceScorer,
    disagreements,
    match_references,
)
from rag_assets.citations.cited_sources import CitedText
from rag_assets.config import Config
from rag_assets.retrieval.hits import Hit
from rag_assets.store import Store

RERANKER = "late_interaction"
"""The reranker whose scores are moved to probabilities; the curve was fitted for it."""


@dataclass(frozen=True, slots=True)
class PossibleSource:
    """What a sentence may come from."""

    name: str
    """The source as the text has it, or where the unit is from."""
    text: str
    unit_id: str | None = None


@dataclass(frozen=True, slots=True)
class SourcedSentence:
    """A sentence of an answer with the unit that it comes from."""

    text: str
    cited: tuple[int, ...]
    """Places of the units that it cites itself."""
    given: int | None
    """Place of the unit that it was given, as it cites none; None where none is relevant enough."""
    better: int | None
    """Place of the unit that fits better than all that it cites; None where none does."""
    score: float
    """Relevance of the unit that it was matched with, 0 to 1; of none, the threshold."""

    @property
    def units(self) -> tuple[int, ...]:
        """The places of its sources: what it cites, else what it was given."""
        return self.cited or (() if self.given is None else (self.given,))


def give_references(
    sentences: Sequence[tuple[str, Sequence[int]]],
    units: Sequence[str],
    scorer: RelevanceScorer,
    *,
    null: float = NULL,
) -> list[SourcedSentence]:
    """A source for each sentence that cites none, and a better one where a citation is wrong.

    Args:
        sentences: Of the answer, in order: its text, and the places of the units that it cites.
        units: Texts of the units that it may come from, best first.
        scorer: Says how relevant a unit is.
        null: Relevance from which a unit is a source.
    """
    texts = [text for text, _ in sentences]
    cited = [tuple(places) for _, places in sentences]
    segments = match_references(texts, units, scorer, null=null)
    wrong = {
        each.sentence: each
        for each in disagreements(segments, cited, sentences=texts, units=units, scorer=scorer)
    }
    found = []
    for segment in segments:
        for place in range(segment.start, segment.end):
            disagreement = wrong.get(place)
            found.append(
                SourcedSentence(
                    text=texts[place],
                    cited=cited[place],
                    given=None if cited[place] else segment.unit,
                    better=disagreement.matched if disagreement else None,
                    score=disagreement.score if disagreement else segment.score,
                )
            )
    return found


@dataclass(frozen=True, slots=True)
class SourcedText:
    """A text whose sentences were matched with sources."""

    sentences: Sequence[SourcedSentence]
    sources: Sequence[PossibleSource]
    """The sources that sentences may come from; they name them by their places here."""


def sourced(
    text: str,
    scorer: RelevanceScorer,
    *,
    search: Callable[[str], Sequence[Hit]],
    from_index: bool,
) -> SourcedText:
    """Match the sentences of `text` with the sources that it lists, or with units.

    Args:
        text: Markdown or text, with [1] and a list of sources where it has them.
        scorer: Says how relevant a source is.
        search: Finds units for a sentence; each is a possible source once.
        from_index: Also search where the text lists sources; it is searched if it lists none.

    Raises:
        CitedTextError: Its citations cannot be told from its words.
    """
    listed: list[str] = []

    def remembered(source: str) -> str:
        listed.append(source)
        return source

    sentences = read_cited(text, find=remembered)
    sources = [PossibleSource(each, each) for each in dict.fromkeys(listed)]
    if from_index or not sources:
        hits = [hit for each in sentences for hit in search(each.text)]
        distinct = {hit.unit_id: hit for hit in hits}
        sources += [
            PossibleSource(_place_of(hit), hit.text, hit.unit_id) for hit in distinct.values()
        ]
    places = {source.text: place for place, source in reversed([*enumerate(sources)])}
    cited = [
        [places[each.text] for each in sentence.sources if isinstance(each, CitedText)]
        for sentence in sentences
    ]
    found = give_references(
        [(sentence.text, own) for sentence, own in zip(sentences, cited, strict=True)],
        [source.text for source in sources],
        scorer,
    )
    return SourcedText(found, sources)


def open_scorer(store: Store, config: Config) -> RelevanceScorer:
    """The reranker that says how relevant a source is, its scores moved to probabilities.

    Raises:
        RerankerError: It cannot be loaded.
    """
    from rag_assets.models.rerankers import load_reranker

    settings = config.retrieval.rerankers[RERANKER]
    return Calibrated(load_reranker(settings, name=RERANKER, home=store.encoders))


def _place_of(hit: Hit) -> str:
    """The place of a unit: a document with its page, or a row with its key."""
    if hit.domain == "table":
        return f"{hit.source}/{hit.table}, row {hit.row_key}"
    return f"{hit.uri}#page={hit.pages[0]}" if hit.pages else hit.uri
