"""How many texts a single edited sentence has embedded again, for each strategy.

usage: chunk_stability.py [--edits 200]

In documents of ten sections one sentence is replaced, put in or taken out, in random places; a
chunk whose text the document did not hold before is embedded again. Each strategy has the settings
that ship; the last two make it possible to compare them at the same size. The sections have 500 to
6,000 characters: those of more than 800 tokens take two or three chunks of `headers_800`.
"""

import argparse
import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from bounds import Bound, at_most, finish
from chunking import TOKENIZER, blocks_of
from corpus import markdown

from rag_assets.documents.chunking import chunks_of
from rag_assets.documents.tokens import TokenCounter, tokenizer_file

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
    limit: float | None = None
    """Texts embedded again for an edit, at most, in the mean."""


CUTTINGS: Mapping[str, Cutting] = {
    "fixed_256": Cutting("fixed", 256, 20),
    "headers_800": Cutting("headers", 800, 100, limit=2),
    "content_256": Cutting("content", 256, 20, limit=3),
    "headers, 256 tokens": Cutting("headers", 256, 20),
    "content, 800 tokens": Cutting("content", 800, 100),
}


def edits(texts: Sequence[str], *, count: int) -> Iterator[tuple[str, str]]:
    """Documents before and after a sentence was replaced, put in or taken out."""
    drawn = random.Random(2)
    kinds: Sequence[Callable[[list[str], int], list[str]]] = (
        lambda held, place: [*held[:place], drawn.choice(NEW), *held[place + 1 :]],
        lambda held, place: [*held[:place], drawn.choice(NEW), *held[place:]],
        lambda held, place: [*held[:place], *held[place + 1 :]],
    )
    for number in range(count):
        text = drawn.choice(texts)
        parts = text.split("\n\n")
        place = drawn.choice([place for place, part in enumerate(parts) if part[0] != "#"])
        sentences = SENTENCE_END.split(parts[place])
        changed = kinds[number % len(kinds)](sentences, drawn.randrange(len(sentences)))
        yield text, "\n\n".join([*parts[:place], " ".join(changed) or NEW[0], *parts[place + 1 :]])


def embedded_again(
    pairs: Sequence[tuple[str, str]], cutting: Cutting, *, counter: TokenCounter
) -> tuple[np.ndarray, float]:
    """Texts that are new after each edit, and the share that they are of all."""
    before, after = (
        chunks_of(
            [blocks_of(text) for text in texts],
            strategy=cutting.strategy,
            size=cutting.size,
            overlap=cutting.overlap,
            counter=counter,
        )
        for texts in zip(*pairs, strict=True)
    )
    new = [
        len({chunk.text for chunk in edited} - {chunk.text for chunk in held})
        for held, edited in zip(before, after, strict=True)
    ]
    return np.array(new), sum(new) / sum(map(len, after))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edits", type=int, default=200)
    count = parser.parse_args().edits
    pairs = list(edits(markdown(CHARACTERS), count=count))
    counter = TokenCounter.from_file(tokenizer_file(TOKENIZER))
    bounds: list[Bound] = []
    print(f"{'texts embedded again':22} mean   95 %   most   share of the document")
    for name, cutting in CUTTINGS.items():
        new, share = embedded_again(pairs, cutting, counter=counter)
        mean, high, most = float(new.mean()), float(np.quantile(new, 0.95)), float(new.max())
        print(f"{name:22} {mean:5.2f}  {high:5.1f}  {most:5.0f}  {share:.1%}")
        if cutting.limit is not None:
            bounds.append(at_most(f"{name}: texts for an edit, mean", mean, cutting.limit))
        if cutting.strategy == "content" and cutting.limit is not None:
            bounds.append(at_most(f"{name}: texts for an edit, most", most, cutting.limit))
    finish("chunk_stability", bounds)


if __name__ == "__main__":
    main()
