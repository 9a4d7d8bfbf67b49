"""What the rules for flaws look at: the scores of some arms on some questions, and around them."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.arrow_sql import where
from rag_assets.evaluation.intervals import Clusters, clusters_of
from rag_assets.evaluation.non_inferiority import SMALLEST_MARGIN
from rag_assets.evaluation.question_words import QUESTION_WORDS
from rag_assets.evaluation.summary import ALL_SPLITS, DIFFERENCES
from rag_assets.store import Store
from rag_assets.store.pins import Pin


@dataclass(frozen=True, slots=True)
class IndexContents:
    """The documents and rows of one index, whatever they were cut into."""

    documents: frozenset[str]
    """The name of each document, `source/uri`."""
    rows: Mapping[str, int]
    """Number of rows of each `source/table`."""

    @property
    def size(self) -> int:
        """Documents and rows together."""
        return len(self.documents) + sum(self.rows.values())

    def lacks(self, other: "IndexContents") -> Iterator[tuple[str, int]]:
        """What `other` has more of: a document, or a table with the number of rows."""
        yield from ((document, 1) for document in sorted(other.documents - self.documents))
        for table, count in other.rows.items():
            if count > self.rows.get(table, 0):
                yield table, count - self.rows.get(table, 0)


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """An evaluation or an experiment, as the rules see it."""

    scores: pa.Table
    """The scores of each arm and question in a row (`scores.QUESTION_COLUMNS`, then the metrics),
    all of one level."""
    compared: Sequence[str]
    """The arms that are compared on `split`, the reference first; `scores` may hold others."""
    split: str = ALL_SPLITS
    """The questions of the report; `all` for all of them."""
    cutoff: int
    """The k of the metrics that decide."""
    margin: float = SMALLEST_MARGIN
    """Smaller differences do not matter."""
    differences: pa.Table = field(default_factory=DIFFERENCES.empty_table)
    """Differences of the compared arms to the reference: `summary.DIFFERENCES`."""
    words: pa.Table = field(default_factory=QUESTION_WORDS.empty_table)
    """The words of the questions: `question_words.QUESTION_WORDS`."""
    generated: frozenset[str] = frozenset()
    """Question sets that a program wrote."""
    contents: Mapping[str, IndexContents] = field(default_factory=dict)
    """What each variant of the arms holds."""
    chosen_on: str | None = None
    """The split that one of several arms was or will be chosen on; None if nothing is chosen."""
    samples: int = 1_000
    """The samples of the bootstrap and of the tests."""

    @cached_property
    def reported(self) -> Mapping[str, pa.Table]:
        """The rows of each compared arm on the questions of the report, sorted by question."""
        rows = self.scores
        if self.split != ALL_SPLITS:
            rows = where(rows, split=self.split)
        return {arm: where(rows, retriever=arm).sort_by("question_id") for arm in self.compared}

    @property
    def reference(self) -> str:
        """The arm that the others are compared with."""
        return self.compared[0]

    @property
    def questions(self) -> pa.Table:
        """The rows of the reference: one for each question of the report."""
        return self.reported[self.reference]

    @property
    def hits(self) -> str:
        """The column of the hit rate that decides."""
        return f"hit_rate@{self.cutoff}"

    def values(self, arm: str, metric: str) -> np.ndarray:
        """(questions,) what `arm` scored."""
        return self.reported[arm][metric].to_numpy()

    def clusters(self, rows: np.ndarray | None = None) -> Clusters:
        """The clusters of the questions, or of those in these `rows`."""
        names = (self.questions[each].to_pylist() for each in ("source_cluster", "gold_cluster"))
        sources, gold = (np.array(each, dtype=object) for each in names)
        if rows is not None:
            sources, gold = sources[rows], gold[rows]
        return clusters_of(sources.tolist(), gold.tolist())


def contents_of(store: Store, joint: Pin) -> IndexContents:
    """What the units of a joint table come from, at one version."""
    names = ["domain", "source", "uri"]
    found = store.read(joint.table, columns=names, version=joint.version)
    counted = found.group_by(names).aggregate([([], "count_all")])
    label = pc.binary_join_element_wise(counted["source"], counted["uri"], "/")
    is_document = pc.equal(counted["domain"], "document")
    tables = counted.filter(pc.invert(is_document))
    return IndexContents(
        documents=frozenset(label.filter(is_document).to_pylist()),
        rows=dict(zip(tables["uri"].to_pylist(), tables["count_all"].to_pylist(), strict=True)),
    )
