"""Extractive answers: do they cite what answers the question, and how little must be read for it?

usage: answers.py [--state FOLDER] [--splits dev test]

Answers the questions of materials_demo and ottqa with `ask` and the default retriever. An answer is
right if a cited sentence touches the gold quote (materials_demo documents), if one from the gold
document holds the answer's words (ottqa documents), or if a gold row is cited (tables). It is
compared with the first sentence of each of the first three hits, question by question, and with
what the first three hits hold at all. The weights were fitted on dev; the bounds are held on test.
With --state the indexes are kept and found again.
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from bounds import Bound, at_least, at_most, dataset, finish, rag_assets
from retrieval import write_config

from rag_assets import config as configuration
from rag_assets.answering.asking import ask
from rag_assets.answering.citations import Citation, Rows, Span
from rag_assets.answering.extracting import span_of
from rag_assets.answering.gold_cited import GoldPlaces, cited_units
from rag_assets.answering.lookup.arm import LookupArm
from rag_assets.answering.pieces import pieces_of
from rag_assets.config import QuestionSet
from rag_assets.evaluation import questions as question_sets
from rag_assets.evaluation.gold import DocumentGold
from rag_assets.evaluation.indexed_gold import read_indexed_gold
from rag_assets.evaluation.intervals import cluster_bootstrap, clusters_of
from rag_assets.evaluation.questions import Question
from rag_assets.retrieval.hits import Hit
from rag_assets.retrieval.opening import open_index
from rag_assets.store import Store

DATASETS = ("materials_demo", "ottqa")
VARIANT = "default"
HITS = 3
SAMPLES = 10_000
MOST_UNITS = 2.0
OF_HITS = 0.85
"""Share of what the first three hits hold that answers must reach."""
COLUMNS = ("right", "first sentences", f"hit@{HITS}", "units", "difference")


@dataclass(frozen=True, slots=True)
class Measured:
    """One question."""

    group: str
    split: str
    values: tuple[float, ...]
    """As `COLUMNS`."""
    source: str
    gold: str
    mode: str
    seconds: float


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--state", type=Path, help="folder to keep indexes in")
    options.add_argument("--splits", nargs="+", default=["dev", "test"], choices=["dev", "test"])
    arguments = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = (arguments.state or Path(temporary)).absolute()
        measured = [
            each
            for name in DATASETS
            for each in answered(name, state=root / name, splits=arguments.splits)
        ]
    bounds: list[Bound] = []
    for split in arguments.splits:
        bounds = [*compared([each for each in measured if each.split == split], split=split)]
    finish("answers", bounds)


def answered(name: str, *, state: Path, splits: Sequence[str]) -> Iterator[Measured]:
    """The questions of one dataset, answered."""
    data = dataset(name)
    file = write_config(data, state=state)
    refreshed = rag_assets("refresh", "--json", config=file)
    if refreshed.code not in (0, 3):
        raise SystemExit(f"the refresh failed: {refreshed.output}")
    config = configuration.load(file)
    store = Store.of(config)
    parsed = question_sets.parse(
        QuestionSet(path=data / "questions.jsonl", documents=data / "documents.jsonl")
    )
    questions = question_sets.questions_of(
        question_sets.questions_table(list(parsed.rows.values()))
    )
    answers = {key: row["answer"] for key, row in parsed.rows.items()}
    tables = LookupArm(store, config)
    index = open_index(store, config, VARIANT, arms={"lookup": tables})
    indexed = read_indexed_gold(
        store,
        config,
        variant=VARIANT,
        joint=index.complete_set.joint,
        gold=[piece for question in questions for piece in question.gold],
    )
    catalogue = tables.catalogue(index.complete_set)
    for question in questions:
        if question.split not in splits:
            continue
        answer = ask(index, question.text, store=store, config=config, catalogue=catalogue)
        hits = index.search(question.text, top_k=config.answering.hits).hits
        texts = {hit.unit_id: hit.text for hit in hits}
        gold = GoldOf(question, answers[question.question_id], indexed.documents, texts)
        cited = list(answer.citations)
        right, first = gold.found(cited), gold.found(first_sentences(hits))
        yield Measured(
            group=group_of(name, question),
            split=question.split,
            values=(
                right,
                first,
                gold.found([whole(hit) for hit in hits[:HITS]]),
                len(cited_units(cited)),
                right - first,
            ),
            source=source_of(question),
            gold=question.gold[0].label,
            mode=answer.outcome,
            seconds=sum(answer.seconds.values()),
        )


@dataclass(frozen=True, slots=True)
class GoldOf:
    """The gold of a question, as this benchmark looks for it."""

    question: Question
    answer: str | None
    documents: Mapping
    texts: Mapping[str, str]

    def found(self, citations: Sequence[Citation]) -> bool:
        places = GoldPlaces(self.documents, self.texts)
        gold = [each for each in self.question.gold if isinstance(each, DocumentGold)]
        has_quote = any(each.quote for each in gold)
        if self.question.domain != "document" or has_quote or not self.answer:
            return any(places.cites(each, citations) for each in self.question.gold)
        wanted = self.answer.casefold()
        return any(
            places.cites(replace(each, page=None), [citation])
            and wanted in citation.text.casefold()
            for each in gold
            for citation in citations
            if isinstance(citation, Span)
        )


def first_sentences(hits: Sequence[Hit]) -> list[Citation]:
    """The baseline: what the first three hits begin with."""
    return [row_of(hit) if hit.domain == "table" else first_sentence(hit) for hit in hits[:HITS]]


def first_sentence(hit: Hit) -> Span:
    pieces = pieces_of(hit.text)
    return span_of(hit, pieces[0].start, pieces[0].end) if pieces else span_of(hit, 0, 0)


def whole(hit: Hit) -> Citation:
    """All that a hit holds."""
    return row_of(hit) if hit.domain == "table" else span_of(hit, 0, len(hit.text))


def row_of(hit: Hit) -> Rows:
    return Rows(hit.source, hit.table or "", {}, (hit.row_key or "",), 1)


def group_of(name: str, question: Question) -> str:
    return "tables" if question.domain == "table" else f"{name} documents"


def source_of(question: Question) -> str:
    first = question.gold[0]
    return first.uri if isinstance(first, DocumentGold) else first.table


def compared(measured: Sequence[Measured], *, split: str) -> Iterator[Bound]:
    """Means by group with intervals, and the bounds."""
    print(f"\n{split}: means with 95 % intervals, clustered by source\n")
    for group in dict.fromkeys(each.group for each in measured):
        rows = [each for each in measured if each.group == group]
        values = np.array([each.values for each in rows], float)
        clusters = clusters_of([each.source for each in rows], [each.gold for each in rows])
        result = cluster_bootstrap(values, clusters, samples=SAMPLES)
        print(f"{group} ({len(rows)} questions, {clusters.count} clusters by {clusters.by})")
        for name, mean, low, high in zip(
            COLUMNS, result.means, result.low, result.high, strict=True
        ):
            print(f"  {name:16} {mean:.3f} ({low:.3f} to {high:.3f})")
        modes = {mode: sum(each.mode == mode for each in rows) for mode in {e.mode for e in rows}}
        middle = float(np.median([each.seconds for each in rows]))
        print(f"  {json.dumps(modes)}, {1_000 * middle:.0f} ms in the median")
        right_of = {mode: sum(e.values[0] for e in rows if e.mode == mode) for mode in modes}
        print(f"  right of these: {json.dumps(right_of)}")
        right, _, hits, units, _ = map(float, result.means)
        least = float(result.low[COLUMNS.index("difference")])
        yield at_least(f"{split} {group}: least gain over first sentences", least, 1e-9)
        yield at_least(f"{split} {group}: right, of hit@{HITS}", right / max(hits, 1e-9), OF_HITS)
        yield at_most(f"{split} {group}: cited units in the mean", units, MOST_UNITS)


if __name__ == "__main__":
    main()
