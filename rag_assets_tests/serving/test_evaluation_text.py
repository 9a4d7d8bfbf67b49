import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from rag_assets.evaluation.results import EvaluationRecord, EvaluationResult
from rag_assets.evaluation.scores import Scores
from rag_assets.evaluation.summary import MAIN_METRICS, SUMMARY
from rag_assets.serving.evaluation_text import scores

NONE = pa.table({})
COLUMNS = ("level", "question_id", "retriever")
NOBODY = pa.table({name: pa.array([], pa.string()) for name in COLUMNS})


def of(domain: str, *, cutoff: int = 10, **interval: float) -> dict[str, str | int | float]:
    """The hit rate of one retriever on a group of questions."""
    group = {"retriever": "bm25", "level": "gold", "domain": domain, "split": "all"}
    return {
        **group,
        "metric": "hit_rate",
        "cutoff": cutoff,
        "value": cutoff / 100,
        "questions": 9,
        **interval,
    }


def lines_of(
    rows: Sequence[Mapping],
    *,
    cutoffs: Sequence[int],
    made: Sequence[str] = (),
    questions: pa.Table = NOBODY,
) -> list[str]:
    """What is said of these numbers; a program made the question sets `made`."""
    summary = pa.Table.from_pylist(list(rows), schema=SUMMARY)
    record = EvaluationRecord(
        made_from="nothing",
        variant="default",
        evaluated_at="",
        questions=18,
        retrievers=["bm25"],
        cutoffs=cutoffs,
        main_retriever="bm25",
        latency={},
        settings={},
        margin=0.02,
        smoke_tests=made,
    )
    found = Scores(questions, summary, *[NONE] * 3)
    return scores(EvaluationResult(Path("report"), record, found)).splitlines()


def shown(rows: Sequence[Mapping], *, cutoffs: Sequence[int]) -> list[list[str]]:
    """The cells of each line that stands below the headings, these first."""
    _, headings, _, *lines, _ = lines_of(rows, cutoffs=cutoffs)
    return [re.split(r" {2,}", line) for line in (headings, *lines)]


@pytest.mark.parametrize(("others", "says"), [([], True), (["people/1"], False)])
def test_the_first_line_says_where_a_program_made_all_questions(others, says) -> None:
    ids = ["known_items/1", *others]
    metrics = dict.fromkeys([f"{name}@10" for name in MAIN_METRICS], [1.0] * len(ids))
    texts = {"level": "gold", "retriever": "bm25", "domain": "document"}
    clusters = dict.fromkeys(["source_cluster", "gold_cluster"], "a")
    columns = {name: [text] * len(ids) for name, text in {**texts, **clusters}.items()}
    asked = pa.table({"question_id": ids, **columns, **metrics})

    title, *_ = lines_of(
        [of("document"), of("combined")], cutoffs=[10], made=["known_items"], questions=asked
    )

    assert title.endswith("that a program made: a smoke test") == says


def test_an_interval_is_shown_where_the_first_group_is_too_small_for_one() -> None:
    rows = [of("document"), of("table", low=0.25, high=0.75), of("combined", low=0.3, high=0.7)]
    rows[-1]["questions"] = 18

    _, *lines = shown(rows, cutoffs=[10])

    assert [line[-1] for line in lines] == ["-", "0.250 to 0.750", "0.300 to 0.700"]


@pytest.mark.parametrize(
    ("cutoffs", "headings"),
    [
        ([1, 3, 10, 20], ["hit_rate@1", "hit_rate@10", "95 % interval"]),
        ([3, 20], ["hit_rate@3", "hit_rate@20", "95 % interval"]),
        ([10], ["hit_rate@10", "95 % interval"]),
    ],
)
def test_numbers_are_shown_whichever_cutoffs_were_measured(cutoffs, headings) -> None:
    rows = [
        of(domain, cutoff=cutoff, low=0.1, high=0.2)
        for domain in ("document", "combined")
        for cutoff in cutoffs
    ]

    first, line = shown(rows, cutoffs=cutoffs)

    assert first == ["questions", "retriever", *headings]
    assert len(line) == len(first)
