"""Answers whose sentences have a known source: gold that costs nothing.

A document is cut into units of neighbouring sentences. An answer takes runs of sentences from two
of them, word for word, and hides where they come from; beside these two, the units to choose from
are neighbours in the same documents, which are the hardest. Sentences by another hand, which say
what a passage says in other words, are answers of one sentence.
"""

import random
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from citation_checks_data import Labelled

from rag_assets.answering.checks.analysed_passages import sentences_of
from rag_assets.citations.cited_sources import CitedText
from rag_assets.config.retrieval import Retrieval
from rag_assets.models.rerankers import Reranker, load_reranker

UNIT = 700
"""Characters of a unit, about."""
UNITS, FEWEST = 5, 3
"""Units to choose from."""
SHORTEST = 40
"""Characters of a sentence that is quoted."""


@dataclass(frozen=True, slots=True)
class SourcedAnswer:
    """An answer with the unit that each of its sentences comes from."""

    sentences: tuple[str, ...]
    units: tuple[str, ...]
    gold: tuple[int, ...]
    """Place of each sentence's unit."""


def embedded_reranker() -> Reranker:
    """The reranker of the embedded model, by its default settings."""
    name = "late_interaction"
    home = Path(tempfile.gettempdir()) / "rag_assets_reference_matching"
    home.mkdir(exist_ok=True)
    return load_reranker(Retrieval().rerankers[name], name=name, home=home)


def units_of(text: str) -> list[list[str]]:
    """The sentences of each unit of a document."""
    units: list[list[str]] = [[]]
    for sentence in sentences_of(text):
        if sum(map(len, units[-1])) + len(sentence) > UNIT and units[-1]:
            units.append([])
        units[-1].append(sentence)
    return units


def quoted_answers(corpus: Path, *, most: int, seed: int) -> list[SourcedAnswer]:
    """Answers made of quotations, from Markdown documents of a corpus."""
    generator = random.Random(seed)
    files = sorted((corpus / "docs").rglob("*.md"))
    generator.shuffle(files)
    found: list[SourcedAnswer] = []
    for file in files:
        units = units_of(file.read_text("utf-8"))
        if len(units) >= FEWEST and len(found) < most:
            start = generator.randrange(max(len(units) - UNITS, 0) + 1)
            if answer := _quoted(units[start : start + UNITS], generator):
                found.append(answer)
    return found


def _quoted(units: Sequence[Sequence[str]], generator: random.Random) -> SourcedAnswer | None:
    chosen = generator.sample(range(len(units)), 2)
    sentences: list[str] = []
    gold: list[int] = []
    for place in chosen:
        long = [each for each in units[place] if len(each) >= SHORTEST]
        if not long:
            return None
        first = generator.randrange(len(long))
        run = long[first : first + generator.randint(1, 3)]
        sentences += run
        gold += [place] * len(run)
    return SourcedAnswer(tuple(sentences), tuple(" ".join(unit) for unit in units), tuple(gold))


def reworded_answers(sentences: Sequence[Labelled], *, corpus: Path) -> list[SourcedAnswer]:
    """True sentences by another hand on a corpus, each among units of its own document."""
    found = []
    for each in sentences:
        if not each.is_true or len(each.sources) != 1 or not isinstance(each.sources[0], CitedText):
            continue
        own = each.sources[0]
        file = corpus / "docs" / own.name
        if not file.is_file():
            continue
        text = file.read_text("utf-8")
        others = [
            joined
            for unit in units_of(text.replace(own.text, "\n\n"))
            if len(joined := " ".join(unit)) >= SHORTEST
        ]
        place = min(len(others), UNITS - 1) // 2
        units = (*others[:place], own.text, *others[place : UNITS - 1])
        found.append(SourcedAnswer((each.text,), units, (place,)))
    return found
