"""A million chunks: what a refresh costs when nothing or one document in a hundred changed.

usage: scale.py [--documents 32000]

Text files of some thirty chunks each go through all stages, from listing the folder to indexed
vectors, with a hash in place of the model. The same is done with a fifth of the documents: what a
unit costs should stay what it is there. `--documents 160000` makes five million.
"""

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path

import corpus
from bounds import Bound, at_least, at_most, finish
from pipelines import Done, Recipe, ours

PARAGRAPHS = 24
CHARACTERS = 260
RECIPE = Recipe(size=64, overlap=0, dimension=32)
EDITIONS = ("cold", "nothing changed", "1 % changed")
SECONDS_A_MILLION = {"nothing changed": 4, "1 % changed": 9.67}
"""CPU seconds for each million units: 50 for five million of which one in a hundred changed."""
GROWING = ("vectors", "index")
"""Stages whose cost of a unit is compared between the two sizes."""
GROWTH = 1.3
MEMORY = 2e9
BYTES_A_UNIT = 300


def texts(count: int) -> Iterator[str]:
    """Documents of distinct paragraphs, cut from docstrings."""
    paragraphs = [
        text[start : start + CHARACTERS].replace("\n", " ")
        for text in corpus.documents(2_000)
        for start in range(0, len(text) - CHARACTERS, CHARACTERS)
    ]
    for document in range(count):
        places = range(document * PARAGRAPHS, (document + 1) * PARAGRAPHS)
        yield "\n\n".join(f"{place}. {paragraphs[place % len(paragraphs)]}" for place in places)


def measure(home: Path, *, documents: int) -> dict[str, Done]:
    folder = home / "documents"
    folder.mkdir(parents=True)
    for number, text in enumerate(texts(documents)):
        (folder / f"{number:07d}.txt").write_text(text, "utf-8")
    done = {}
    for edition in EDITIONS:
        if edition == "1 % changed":
            for path in sorted(folder.iterdir())[3::100]:
                path.write_text(f"Revised. {path.read_text('utf-8')}", "utf-8")
        found = done[edition] = ours(home, RECIPE)
        stages = ", ".join(f"{name} {seconds:.2f}" for name, seconds in found.stages.items())
        print(
            f"{documents:,} documents, {found.rows:,} units, {edition}: {cpu(found):.1f} CPU s, "
            f"{found.embedded:,} embedded, {found.peak / 1e6:,.0f} MB; {stages}",
            flush=True,
        )
    return done


def cpu(done: Done) -> float:
    """CPU seconds of all stages, listing included."""
    return sum(done.stages.values())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--documents", type=int, default=32_000)
    documents = parser.parse_args().documents
    with tempfile.TemporaryDirectory() as folder:
        small = measure(Path(folder) / "small", documents=documents // 5)
        large = measure(Path(folder) / "large", documents=documents)
    bounds: list[Bound] = [at_least("units", large["cold"].rows, 31 * documents)]
    for edition in EDITIONS:
        now, before = large[edition], small[edition]
        if edition in SECONDS_A_MILLION:
            most = SECONDS_A_MILLION[edition] * now.rows / 1e6
            bounds.append(at_most(f"{edition}: CPU seconds", cpu(now), most))
        bounds.append(at_most(f"{edition}: peak memory, bytes", now.peak, MEMORY))
        grown = (now.peak - before.peak) / (now.rows - before.rows)
        bounds.append(at_most(f"{edition}: bytes that each unit adds", grown, BYTES_A_UNIT))
    for stage in GROWING:
        first, last = (each["cold"] for each in (small, large))
        growth = last.stages[stage] / last.rows / (first.stages[stage] / first.rows)
        what = f"cold: CPU of a unit of {stage}, share of that at {first.rows:,} units"
        bounds.append(at_most(what, growth, GROWTH))
    finish("scale", bounds)


if __name__ == "__main__":
    main()
