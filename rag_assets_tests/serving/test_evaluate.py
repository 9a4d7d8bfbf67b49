from pathlib import Path

import pyarrow as pa

from rag_assets.evaluation.results import EvaluationResult, Record
from rag_assets.evaluation.scores import Scores
from rag_assets.evaluation.summary import SUMMARY
from rag_assets.serving.evaluate import scores

NONE = pa.table({})


def of(domain: str, **interval: float) -> dict[str, str | int | float]:
    """The hit rate of one retriever on a group of questions."""
    group = {"retriever": "bm25", "level": "gold", "domain": domain, "split": "all"}
    return {**group, "metric": "hit_rate", "cutoff": 10, "value": 0.5, "questions": 9, **interval}


def test_an_interval_is_shown_where_the_first_group_is_too_small_for_one() -> None:
    rows = [of("document"), of("table", low=0.25, high=0.75), of("combined", low=0.3, high=0.7)]
    summary = pa.Table.from_pylist(rows, schema=SUMMARY)
    record = Record(
        made_from="nothing",
        variant="default",
        evaluated_at="",
        questions=18,
        retrievers=["bm25"],
        cutoffs=[10],
        main_retriever="bm25",
        latency={},
        settings={},
        margin=0.02,
    )

    shown = scores(EvaluationResult(Path("report"), record, Scores(NONE, summary, *[NONE] * 3)))

    assert "0.250 to 0.750" in shown
    assert "0.300 to 0.700" in shown
