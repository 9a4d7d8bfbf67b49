"""The checks of the rankings behind an evaluation."""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets import asset_checks, quality
from rag_assets.columns.arrow_sql import where
from rag_assets.config import Config
from rag_assets.evaluation import results
from rag_assets.evaluation.flaws import Flaw
from rag_assets.identity import Canonical
from rag_assets.quality import Profiler, Subject, TableMeasures, Tally
from rag_assets.store import Store

ASSET = "retrieval_evaluation"
PLACE = ("retriever", "question_id", "rank")
"""Columns that identify a row of the rankings."""
NOTHING = "no evaluation"


def definitions(config: Config) -> dg.Definitions:
    """The asset checks of this package."""
    return asset_checks.definitions(config, *subjects(config))


def subjects(config: Config) -> list[Subject]:
    """The checked tables of this package, each with its expectations."""
    return [_rankings(config)]


def _rankings(config: Config) -> Subject:
    def folder(store: Store, variant: str | None) -> Path:
        return results.folder_of(store, str(variant))

    def version(store: Store, variant: str | None) -> str:
        return results.made_from(folder(store, variant)) or NOTHING

    def state(store: Store, variant: str | None) -> Canonical:
        return version(store, variant)

    def read(store: Store, variant: str | None, columns: Sequence[str]) -> pa.Table:
        wanted = list(dict.fromkeys([*PLACE, *columns]))
        rankings = results.rankings_in(folder(store, variant))
        return rankings.select(wanted) if rankings else pa.table({name: [] for name in wanted})

    return Subject(
        asset=ASSET,
        stage="rankings",
        settings=config.checks.of("rankings"),
        table=lambda variant: f"rankings__{variant}",
        version=version,
        state=state,
        measure=lambda store, variant: _measured(folder(store, variant)),
        read=read,
        expectations=quality.expectations_of("rankings"),
    )


def _measured(folder: Path) -> TableMeasures:
    tally = Tally("repeated_units", "broken_ranks", "rising_scores", "errors", "warnings")
    profiler = Profiler(expected_rows=0)
    rankings = results.rankings_in(folder)
    if rankings is None:  # there are no questions
        tally.put("largest_unanswered_share", 0.0)
        tally.put("missing_gold_share", 0.0)
        return tally.measures(profiler.profile())
    for batch in rankings.to_batches():
        profiler.rows(batch)
    _count_broken(rankings.sort_by([(name, "ascending") for name in PLACE]), tally)
    _count_repeated(rankings, tally)
    _count_flaws(results.flaws_in(folder), tally)
    _count_questions(results.questions_in(folder), rankings, tally)
    return tally.measures(profiler.profile())


def _count_broken(ordered: pa.Table, tally: Tally) -> None:
    """Compare rank and score of each row with those of the row above in the same ranking."""
    batch = ordered.combine_chunks().to_batches()[0] if ordered.num_rows else None
    if batch is None:
        return
    above = pc.max_element_wise(pa.array(range(-1, batch.num_rows - 1)), 0)
    is_same = pc.and_(
        pc.equal(batch["retriever"], batch["retriever"].take(above)),
        pc.equal(batch["question_id"], batch["question_id"].take(above)),
    )
    is_first = pc.or_(pc.invert(is_same), pc.equal(pa.array(range(batch.num_rows)), 0))
    expected = pc.if_else(is_first, 1, pc.add(batch["rank"].take(above), 1))
    shown = batch.select([*PLACE, "unit_id", "score"])
    tally.count("broken_ranks", pc.not_equal(batch["rank"], expected), shown=shown)
    rises = pc.greater(batch["score"], batch["score"].take(above))
    is_wrong = pc.or_(pc.and_(pc.invert(is_first), rises), pc.invert(pc.is_finite(batch["score"])))
    tally.count("rising_scores", is_wrong, shown=shown)


def _count_repeated(rankings: pa.Table, tally: Tally) -> None:
    units = ["retriever", "question_id", "unit_id"]
    counts = rankings.group_by(units).aggregate([([], "count_all")])
    often = counts.filter(pc.greater(counts["count_all"], 1))
    tally.put("repeated_units", often.num_rows, examples=often.to_pylist())


def _count_flaws(flaws: Sequence[Flaw], tally: Tally) -> None:
    for name, severity in (("errors", "error"), ("warnings", "warning")):
        found = [flaw for flaw in flaws if flaw.rule.severity == severity]
        examples = [
            {"flaw": f"{flaw.code} {flaw.rule.name}", "reason": f"{flaw.what}: {flaw.rule.remedy}"}
            for flaw in found
        ]
        tally.put(name, len(found), examples=examples)


def _count_questions(questions: pa.Table, rankings: pa.Table, tally: Tally) -> None:
    gold = where(questions, level="gold")
    texts: dict[str, str] = dict(
        zip(gold["question_id"].to_pylist(), gold["question"].to_pylist(), strict=True)
    )
    answered = rankings.group_by(["retriever", "question_id"]).aggregate([])
    found = set(
        zip(answered["retriever"].to_pylist(), answered["question_id"].to_pylist(), strict=True)
    )
    unanswered = [
        {"retriever": retriever, "question": text}
        for retriever in pc.unique(gold["retriever"]).to_pylist()
        for question, text in texts.items()
        if (retriever, question) not in found
    ]
    by_retriever = Counter(example["retriever"] for example in unanswered)
    largest = max(by_retriever.values(), default=0)
    tally.put(
        "largest_unanswered_share", largest / len(texts) if texts else 0.0, examples=unanswered
    )
    lacking = _lacking(gold)
    tally.put(
        "missing_gold_share",
        len(lacking) / len(texts) if texts else 0.0,
        examples=({"question": texts[key], "gold": reason} for key, reason in lacking.items()),
    )


def _lacking(gold: pa.Table) -> Mapping[str, str]:
    """The questions whose gold is not in the index, each with the first reason."""
    rows = zip(gold["question_id"].to_pylist(), gold["missing"].to_pylist(), strict=True)
    return {question: missing[0] for question, missing in rows if missing}
