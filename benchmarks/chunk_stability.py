"""How many texts a single edited sentence has embedded again, for each strategy.

usage: chunk_stability.py [--edits 200]

In documents of ten sections one sentence is replaced, put in or taken out, in random places; a
chunk whose text the document did not hold before is embedded again. Each strategy has the settings
that ship; the last two make it possible to compare them at the same size. The sections have 500 to
6,000 characters: those of more than 800 tokens take two or three chunks of `headers_800`.

Each edit that changes more than its strategy promises is shown with what was edited.
"""

import argparse
import random
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle, islice

import numpy as np
from bounds import Bound, at_most, finish
from chunking import TOKENIZER, blocks_of
from corpus import markdown

from rag_assets.documents.chunks.chunking import chunks_of, counted
from rag_assets.documents.chunks.tokens import TokenCounter, tokenizer_file

CHARACTERS = 2_000_000
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
NEW = (
    "The specimens were polished once more before the last test.",
    "This value was confirmed by a second laboratory.",
    "No such effect was seen above 800 degrees, whatever the grade.",
)


@dataclass(frozen=True, slots=True)
class Cutting:
    """A chunking by its settings."""

    strategy: str
    size: int
    overlap: int
    header: str = "none"
    limit: int | None = None
    """Texts embedded again for an edit, at most."""


CUTTINGS: Mapping[str, Cutting] = {
    "fixed_256": Cutting("fixed", 256, 20),
    "headers_800": Cutting("headers", 800, 100, limit=2),
    "content_256": Cutting("content", 256, 20, limit=3),
    "sentences_256": Cutting("sentences", 256, 0, header="section", limit=3),
    "headers, 256 tokens": Cutting("headers", 256, 20),
    "content, 800 tokens": Cutting("content", 800, 100),
}


@dataclass(frozen=True, slots=True)
class Edit:
    """A document before and after one of its sentences was edited."""

    before: str
    after: str
    what: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an edit has embedded again."""

    edit: Edit
    texts: int
    sections: Counter[str]
    """How many of them are of a section."""
    chunks: int
    """Those of the whole document after the edit."""


def edits(texts: Sequence[str], *, count: int) -> Iterator[Edit]:
    """Edits in random places: a sentence is replaced, put in or taken out."""
    drawn = random.Random(2)
    kinds: Mapping[str, Callable[[list[str], int], list[str]]] = {
        "replaced": lambda held, at: [*held[:at], drawn.choice(NEW), *held[at + 1 :]],
        "put in": lambda held, at: [*held[:at], drawn.choice(NEW), *held[at:]],
        "taken out": lambda held, at: [*held[:at], *held[at + 1 :]],
    }
    for kind, change in islice(cycle(kinds.items()), count):
        text = drawn.choice(texts)
        parts = text.split("\n\n")
        place = drawn.choice([place for place, part in enumerate(parts) if part[0] != "#"])
        sentences = SENTENCE_END.split(parts[place])
        at = drawn.randrange(len(sentences))
        edited = " ".join(change(sentences, at)) or NEW[0]
        yield Edit(
            text,
            "\n\n".join([*parts[:place], edited, *parts[place + 1 :]]),
            f"sentence {at + 1} of the {len(sentences)} of a paragraph {kind}",
        )


def outcomes(edits: Sequence[Edit], cutting: Cutting, *, counter: TokenCounter) -> list[Outcome]:
    """What each edit has embedded again."""
    before, after = (
        chunks_of(
            counted((blocks_of(text) for text in texts), counter),
            strategy=cutting.strategy,
            size=cutting.size,
            overlap=cutting.overlap,
            counter=counter,
            header=cutting.header,
            names=["the document"] * len(edits),
        )
        for texts in ([edit.before for edit in edits], [edit.after for edit in edits])
    )
    found = []
    for edit, held, edited in zip(edits, before, after, strict=True):
        known = {chunk.text for chunk in held}
        new = {chunk.text: chunk.section_path[-1] for chunk in edited if chunk.text not in known}
        found.append(Outcome(edit, len(new), Counter(new.values()), len(edited)))
    return found


def measure(
    name: str, cutting: Cutting, edits: Sequence[Edit], *, counter: TokenCounter
) -> Iterator[Bound]:
    found = outcomes(edits, cutting, counter=counter)
    new = np.array([outcome.texts for outcome in found])
    mean, high, most = float(new.mean()), float(np.quantile(new, 0.95)), int(new.max())
    share = new.sum() / sum(outcome.chunks for outcome in found)
    print(f"{name:22} {mean:5.2f}  {high:5.1f}  {most:5.0f}  {share:.1%}")
    if cutting.limit is None:
        return
    beyond = [outcome for outcome in found if outcome.texts > cutting.limit]
    for outcome in beyond:
        of_sections = " and ".join(f"{count}" for count in outcome.sections.values())
        print(f"    {outcome.texts} texts ({of_sections} of a section): {outcome.edit.what}")
    yield at_most(f"{name}: texts for an edit, mean", mean, cutting.limit)
    yield at_most(f"{name}: texts for an edit, most", most, cutting.limit)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edits", type=int, default=200)
    drawn = list(edits(markdown(CHARACTERS), count=parser.parse_args().edits))
    counter = TokenCounter.from_file(tokenizer_file(TOKENIZER))
    print(f"{'texts embedded again':22} mean   95 %   most   share of the document")
    bounds = [
        bound
        for name, cutting in CUTTINGS.items()
        for bound in measure(name, cutting, drawn, counter=counter)
    ]
    finish("chunk_stability", bounds)


if __name__ == "__main__":
    main()
