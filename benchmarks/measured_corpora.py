"""Corpora with questions, their indexes, and what retrievers find in them.

Three kinds: the shared datasets, with the project's own data; those that `generated_corpora.py`
writes; and four of `plain_corpora`, whose questions were written in plain words by somebody who
knew neither this project nor what any search would find.
"""

import json
import os
import shelve
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pyarrow as pa
import pyarrow.compute as pc
from bounds import REPOSITORY, dataset, rag_assets
from generated_corpora import PLAIN_CORPORA, WRITERS
from retrieval import write_config

from rag_assets import config as configuration
from rag_assets import identity
from rag_assets.config import Config, Retriever
from rag_assets.evaluation.evaluate import DEPTH_PER_RANK, asked, parsed_file, searched
from rag_assets.evaluation.questions import Question
from rag_assets.evaluation.scores import GoldItemsByLevel, gold_items_by_level, scored, units_of
from rag_assets.retrieval.arms import Arm
from rag_assets.retrieval.filters import Filters
from rag_assets.retrieval.search import VariantIndex
from rag_assets.store import Store
from rag_assets.store.complete_sets import CompleteSet, set_of_recipe
from rag_assets.table_lookup.arm import arms_of

DEMO = "demo"
SHARED = ("materials_demo", "ottqa", "ottqa_train")
CORPORA = (DEMO, *SHARED[:2], *(name for name in WRITERS if name not in PLAIN_CORPORA))
"""On these the defaults before the present ones were chosen."""
CHOOSING = (*SHARED, *PLAIN_CORPORA)
"""The default retriever is chosen on these."""
VARIANT = "default"
TOP_K = 10
SAMPLES = 10_000
DEPTH = max(Config().retrieval.depth, DEPTH_PER_RANK * max(Config().evaluation.cutoffs))
"""Of the rankings of an evaluation."""


def files_of(name: str, *, folder: Path) -> tuple[Path, Path]:
    """The config of a corpus and its questions; what is generated is written below `folder`."""
    if name == DEMO:
        return REPOSITORY / "rag_assets.yaml", REPOSITORY / "data" / "questions.jsonl"
    data = folder / "data" if name in WRITERS else dataset(name)
    if not data.exists():
        WRITERS[name](data)
    return write_config(data, state=folder), data / "questions.jsonl"


class KeptArm:
    """An arm that asks each question once of the same tables, and keeps in a file what it found."""

    def __init__(self, arm: Arm, *, file: Path) -> None:
        self._arm, self._file = arm, file
        self.revision = arm.revision

    def prepare(self, pins: CompleteSet) -> None:
        """The arm is prepared by the first question that it has to read."""

    def find(
        self, query: str, *, filters: Filters | None, pins: CompleteSet, depth: int
    ) -> Sequence[tuple[str, float]]:
        """What the arm finds; there must be no filters."""
        assert filters is None, "what is found depends on them"
        tables = [pin.data_version for pin in (pins.rows, pins.table_rows) if pin]
        key = identity.fingerprint(self.revision, tables, query, depth)
        with shelve.open(self._file) as kept:
            if key not in kept:
                kept[key] = self._arm.find(query, filters=filters, pins=pins, depth=depth)
            return kept[key]


@dataclass(frozen=True)
class Opened:
    """An index and the questions that it is asked."""

    index: VariantIndex
    questions: Sequence[Question]
    gold: GoldItemsByLevel
    store: Store
    config: Config

    def scores(self, name: str, rankings: pa.Table) -> pa.Table:
        """What `rankings` of all questions are worth, at the gold's own level."""
        ranked = units_of(rankings, count=len(self.questions))
        return scored(
            ranked, self.questions, self.gold, retriever=name, cutoffs=[TOP_K], depth=DEPTH
        )


class Corpus:
    """One corpus with its index below a folder; no evaluation is part of its refresh."""

    def __init__(self, name: str, *, folder: Path) -> None:
        self.name, self.folder = name, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.config, self.questions = self.files()
        self.environment = {
            "RAG_ASSETS__DEFAULTS": "3",
            "RAG_ASSETS__STATE_DIR": str(self.state),
            "RAG_ASSETS__VARIANTS": json.dumps({VARIANT: {}}),
            "RAG_ASSETS__EVALUATION__QUESTIONS": "[]",
            "RAG_ASSETS__EXPERIMENTS": "{}",
        }

    def files(self) -> tuple[Path, Path]:
        """Its config and its questions."""
        return files_of(self.name, folder=self.folder)

    @property
    def state(self) -> Path:
        return self.folder / "state"

    def refresh(self) -> None:
        """Build the index where that is not done yet."""
        done = rag_assets("refresh", "--json", config=self.config, environment=self.environment)
        if done.code not in (0, 3):
            raise SystemExit(f"the refresh of {self.name} failed: {done.output}")

    def opened(
        self, questions: Path | None = None, *, most: int | None = None, keep_lookup: bool = True
    ) -> Opened:
        """The index, built where that is not done yet, to be asked `questions` or its own ones.

        Of each split at most so many are asked, evenly spaced. What the lookup finds is kept: it
        reads each question once.
        """
        self.refresh()
        with patch.dict(os.environ, self.environment):
            config = configuration.load(self.config)
        store = Store.of(config)
        found = set_of_recipe(store, config, VARIANT)
        lookup = arms_of(store, config)["lookup"]
        index, measurable, _, indexed = asked(
            store,
            config,
            spaced(parsed_file(config, questions or self.questions).questions, most=most),
            among=found,
            variant=VARIANT,
            arms={
                "lookup": KeptArm(lookup, file=self.folder / "lookup") if keep_lookup else lookup
            },
        )
        gold = gold_items_by_level(measurable, indexed=indexed, levels=["gold"])
        return Opened(index, measurable, gold, store, config)


def spaced(questions: Sequence[Question], *, most: int | None) -> Sequence[Question]:
    """At most so many of each split, evenly spaced."""
    by_split: defaultdict[str | None, list[Question]] = defaultdict(list)
    for question in questions:
        by_split[question.split].append(question)
    return [
        each[place * len(each) // count]
        for each in by_split.values()
        for count in [min(len(each), most or len(each))]
        for place in range(count)
    ]


def measured(
    opened: Opened, retrievers: Mapping[str, Retriever], *, needed: str
) -> dict[str, pa.Table]:
    """The rankings of all questions by each retriever; whatever hinders `needed` is raised."""
    return dict(
        searched(
            opened.index,
            opened.questions,
            retrievers,
            needed=needed,
            depth=DEPTH,
            unmeasured={},
            log=print,
        )
    )


def told_apart(scores: pa.Table, *, corpus: str) -> pa.Table:
    """`scores` whose questions and clusters are not those of other corpora."""
    for column in ("question_id", "source_cluster", "gold_cluster"):
        place = scores.schema.get_field_index(column)
        named = pc.binary_join_element_wise(corpus, scores[column], " ")
        scores = scores.set_column(place, column, named)
    return scores


def of_split(scores: pa.Table, split: str) -> pa.Table:
    return scores.filter(pc.equal(scores["split"], split))


def mean(scores: pa.Table, retriever: str, metric: str = "mrr@10") -> float:
    return pc.mean(scores.filter(pc.equal(scores["retriever"], retriever))[metric]).as_py()
