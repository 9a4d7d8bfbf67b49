"""Does a preview refuse what the gate would pass, and how many bad models does it spare?

usage: preview.py [--units 100000] [--candidates 200]

The questions of OTT-QA are asked over its documents and rows, with the articles and rows of its
training part and recombined prose (`corpus.markdown`) as distractors, embedded by a static model
distilled from MiniLM. Candidates are made of its vectors, better and worse ones in equal parts:
truncated, noised, shuffled among units, and distilled into fewer bits. Each is searched over all
units, exactly, which gives the verdict of the gate (its paired test and its default margin for so
many questions); and over the pool of a preview, which gives the bound.
"""

import argparse
import csv
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import corpus
import numpy as np
from bounds import at_least, at_most, dataset, equal, finish

from rag_assets.config import EmbeddingModel
from rag_assets.evaluation.non_inferiority import Outcome, Paired, default_margin
from rag_assets.evaluation.projection import GoldItems, Item, RankedUnit
from rag_assets.evaluation.questions import Question
from rag_assets.models.embedding import load_encoder
from rag_assets.operations.model_preview.bounds import dense_hits
from rag_assets.operations.model_preview.units import (
    MOST_SHARE,
    GoldUnits,
    pool_questions,
    units_to_embed,
)
from rag_assets_testing.derived_models import save_static

UNITS, CANDIDATES, DIMENSION = 100_000, 200, 128
WORDS = 60
"""Of a chunk."""
CHARACTERS = 8
"""Of a word, more than there are in the mean."""
CUTOFF, DEPTH = 10, 100
QUERIES_AT_ONCE = 64
LOSSES = (0.02, 0.05, 0.1, 0.2, 1.0)
"""Upper ends of the classes of true loss for which power is told."""
Vectors = tuple[np.ndarray, np.ndarray]
"""Of queries and units, both of unit length."""


@dataclass(frozen=True)
class Corpus:
    """Units with their texts, and questions with the place of their gold."""

    units: Sequence[RankedUnit]
    texts: Sequence[str]
    questions: Sequence[Question]
    gold: Sequence[Sequence[int]]
    """Places of the units that show the gold of each question."""


@dataclass(frozen=True)
class Tried:
    """A candidate, and what gate and preview say of it."""

    kind: str
    loss: float
    """What it truly loses of hit@10."""
    verdict: Outcome
    is_refused: bool
    exceeded: int
    """Questions whose truth is above the bound."""


def read(count: int) -> Corpus:
    """The shared data and recombined prose, cut to `count` units."""
    folder = dataset("ottqa")
    pairs = [*_units(folder, "ottqa"), *_units(dataset("ottqa_train"), "train")]
    places: dict[str, list[int]] = {}
    for place, (unit, _) in enumerate(pairs):
        if unit.source == "ottqa":
            name = f"row:{unit.table}:{unit.row_key}" if unit.table else f"doc:{unit.uri}"
            places.setdefault(name, []).append(place)
    lacking = max(0, count - len(pairs))
    for number, text in enumerate(corpus.markdown(lacking * WORDS * CHARACTERS)):
        pairs += _chunks(text, source="distractors", uri=str(number))
    asked = [json.loads(line) for line in (folder / "questions.jsonl").open(encoding="utf-8")]
    found = [(one, [p for name in one["gold"] for p in places.get(name, [])]) for one in asked]
    found = [(one, gold) for one, gold in found if gold]
    return Corpus(
        units=[unit for unit, _ in pairs[:count]],
        texts=[text for _, text in pairs[:count]],
        questions=[
            Question(one["id"], "ottqa", one["question"], one["domain"], "en", "dev", ())
            for one, _ in found
        ],
        gold=[gold for _, gold in found],
    )


def _units(folder: Path, source: str) -> Iterator[tuple[RankedUnit, str]]:
    for line in (folder / "documents.jsonl").open(encoding="utf-8"):
        document = json.loads(line)
        text = (folder / document["path"]).read_text("utf-8")
        yield from _chunks(text, source=source, uri=document["doc_id"])
    for file in sorted((folder / "tables").glob("*.csv")):
        with file.open(encoding="utf-8", newline="") as rows:
            for row in csv.DictReader(rows):
                key, *_ = row.values()
                text = "; ".join(f"{name}: {value}" for name, value in row.items() if value)
                yield RankedUnit(f"{file.stem}/{key}", source, file.stem, file.stem, key, ()), text


def _chunks(text: str, *, source: str, uri: str) -> Iterator[tuple[RankedUnit, str]]:
    words = text.split()
    for start in range(0, len(words), WORDS):
        unit = RankedUnit(f"{source}/{uri}/{start}", source, uri, None, None, ())
        yield unit, " ".join(words[start : start + WORDS])


def embedded(made: Corpus) -> Vectors:
    """Questions and units by a static model."""
    with tempfile.TemporaryDirectory() as folder:
        path = save_static(Path(folder) / "static", dimension=DIMENSION)
        model = EmbeddingModel(path=str(path), backend="static")
        encoder = load_encoder(model, path="cpu/torch/fp32")
        queries = encoder.embed_queries([question.text for question in made.questions])
        return queries, encoder.embed_passages(made.texts).vectors


def unit(vectors: np.ndarray) -> np.ndarray:
    """Rows of length 1."""
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)


def candidates(count: int) -> Iterator[tuple[str, Callable[[Vectors], Vectors]]]:
    """Models by their kind, and what each makes of the vectors of the one that serves."""
    for number in range(count):
        kind = ("truncated", "noised", "shuffled", "distilled")[number % 4]
        strength = (number // 4 + 0.5) / (count / 4)
        yield kind, lambda given, n=number, k=kind, s=strength: _made(given, k, s, seed=n)


def _made(given: Vectors, kind: str, strength: float, *, seed: int) -> Vectors:
    """A candidate that is the worse the larger `strength`, from 0 to 1, is."""
    rng, (queries, units) = np.random.default_rng(seed), given
    if kind == "truncated":
        kept = max(2, round(DIMENSION * (1 - strength) ** 2))
        return unit(queries[:, :kept]), unit(units[:, :kept])
    if kind == "noised":
        scale = 2.5 * strength**2 / np.sqrt(DIMENSION)
        noise = rng.standard_normal(units.shape, dtype=np.float32)
        return queries, unit(units + scale * noise)
    if kind == "shuffled":
        moved = np.flatnonzero(rng.random(len(units)) < strength**2)
        mixed = units.copy()
        mixed[moved] = units[rng.permutation(moved)]
        return queries, mixed
    bits = max(4, round(4 * DIMENSION * (1 - strength) ** 2))
    planes = rng.standard_normal((DIMENSION, bits), dtype=np.float32)
    return unit(queries @ planes), unit(np.sign(units @ planes))


def ranked(vectors: Vectors, *, depth: int) -> np.ndarray:
    """The nearest units of each query, best first: (queries, depth) int."""
    queries, units = vectors
    found = []
    for start in range(0, len(queries), QUERIES_AT_ONCE):
        scores = queries[start : start + QUERIES_AT_ONCE] @ units.T
        best = np.argpartition(-scores, depth, axis=1)[:, :depth]
        order = np.argsort(-np.take_along_axis(scores, best, axis=1), axis=1, kind="stable")
        found.append(np.take_along_axis(best, order, axis=1))
    return np.concatenate(found)


def hits_of(rankings: np.ndarray, gold: Sequence[GoldUnits], made: Corpus) -> np.ndarray:
    """hit@10 of each question, as an evaluation counts it: (questions,) bool."""
    return np.array(
        [
            one.is_hit([made.units[place] for place in ranking], cutoff=CUTOFF)
            for ranking, one in zip(rankings, gold, strict=True)
        ]
    )


def gold_units(made: Corpus) -> list[GoldUnits]:
    """The gold as a preview takes it."""
    found = []
    for question, places in zip(made.questions, made.gold, strict=True):
        units = {made.units[place].unit_id: made.units[place] for place in places}
        pieces = {item: None for one in units.values() for item in one.items("document")}
        goal = GoldItems("document", tuple(frozenset([item]) for item in pieces), ())
        found.append(GoldUnits(question, goal, units))
    return found


def clusters(gold: Sequence[GoldUnits]) -> tuple[list[str], list[str]]:
    """Document or table, and the item itself, of the first gold of each question."""
    firsts: list[Item] = [next(iter(one.goal.pieces[0])) for one in gold]
    return [f"{item.kind} {item.name}" for item in firsts], [item.label for item in firsts]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--units", type=int, default=UNITS)
    parser.add_argument("--candidates", type=int, default=CANDIDATES)
    options = parser.parse_args()
    made = read(options.units)
    serving = embedded(made)
    gold, margin = gold_units(made), default_margin(len(made.questions))
    rankings = ranked(serving, depth=DEPTH)
    hits = hits_of(rankings, gold, made)
    near = [[made.units[place] for place in ranking] for ranking in rankings]
    pool = units_to_embed(gold, near, units=len(made.units))
    whole = len({unit.unit_id for one in near for unit in one} | pool.keys())
    share = len(pool) / len(made.units)
    print(
        f"{len(made.units):,} units, {len(gold)} questions, hit@10 {hits.mean():.3f}, margin "
        f"{margin:.3f}; pool {len(pool):,} units ({share:.1%}), of {whole:,} with all first "
        f"{DEPTH} ranks",
        flush=True,
    )
    questions = pool_questions(gold, pool)
    places = {one.unit_id: place for place, one in enumerate(made.units)}
    chosen = np.array([places[name] for name in pool])
    sources, labels = clusters(gold)

    def outcome(found: np.ndarray) -> Outcome:
        differences = found.astype(float) - hits.astype(float)
        return Paired(differences, sources, labels).difference().outcome(margin)

    tried = []
    for number, (kind, make) in enumerate(candidates(options.candidates), start=1):
        queries, units = make(serving)
        truth = hits_of(ranked((queries, units), depth=DEPTH), gold, made)
        bound = dense_hits(queries, units[chosen], questions, cutoff=CUTOFF)
        tried.append(
            Tried(
                kind=kind,
                loss=float(hits.mean() - truth.mean()),
                verdict=outcome(truth),
                is_refused=outcome(bound) == "FAIL",
                exceeded=int((truth & ~bound).sum()),
            )
        )
        if number % 20 == 0:
            print(f"{number} candidates", flush=True)
    _print_power(tried)
    finish(
        "preview",
        [
            at_least("units", len(made.units), UNITS),
            equal("candidates", len(tried), CANDIDATES),
            equal("questions hit in the index and not in the pool", _exceeded(tried), 0),
            equal("refused although the gate passes", len([*_wrongly(tried)]), 0),
            at_least("candidates that the gate passes", _count(tried, "PASS"), 10),
            at_most("share of the texts that are embedded", share, MOST_SHARE),
        ],
    )


def _exceeded(tried: Sequence[Tried]) -> int:
    return sum(one.exceeded for one in tried)


def _wrongly(tried: Sequence[Tried]) -> Iterator[Tried]:
    return (one for one in tried if one.is_refused and one.verdict == "PASS")


def _count(tried: Sequence[Tried], verdict: Outcome) -> int:
    return sum(one.verdict == verdict for one in tried)


def _print_power(tried: Sequence[Tried]) -> None:
    print(f"verdicts of the gate: {dict(Counter(one.verdict for one in tried))}")
    print("true loss of hit@10   candidates   refused by the preview")
    least = -1.0
    for most in LOSSES:
        here = [one for one in tried if least < one.loss <= most]
        refused = sum(one.is_refused for one in here)
        label = f"up to {most:.2f}" if least < 0 else f"{least:.2f} to {most:.2f}"
        print(f"{label:21} {len(here):10} {refused:10}   {refused / max(len(here), 1):.2f}")
        least = most
    for kind in sorted({one.kind for one in tried}):
        failed = [one for one in tried if one.kind == kind and one.verdict == "FAIL"]
        refused = sum(one.is_refused for one in failed)
        print(f"{kind}: refused {refused} of {len(failed)} that the gate fails")


if __name__ == "__main__":
    main()
