"""The HTML report of an evaluation: one file with its plots inside, no script, no outside link."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

from rag_assets.evaluation.evaluation_wording import (
    ABOUT_DIFFERENCES,
    DOMAIN_NAMES,
    MAIN_METRICS,
    SHOWN_METRICS,
    count_of,
    differences_table,
    findings,
    main_table,
    overall_sentences,
    sets_table,
)
from rag_assets.evaluation.flaws import SOUND
from rag_assets.evaluation.metrics import METRICS
from rag_assets.evaluation.parts import by_gold_type, by_language
from rag_assets.evaluation.results import EvaluationResult
from rag_assets.evaluation.summary import CANDIDATE_RECALL, F1_OF_MEANS, splits_of
from rag_assets.findings.telling import rows_of
from rag_assets.reports import pages
from rag_assets.reports.plots import bar_of, bars, line
from rag_assets.reports.text_tables import Row, with_interval

WORST_SHOWN = 25
MISSING_SHOWN = 200
FOUND_SHOWN = 3

LEVEL_NAMES: Mapping[str, str] = {
    "document": "documents, whatever page the gold names",
    "page": "pages, for questions whose gold names one",
    "quote": "chunks that overlap the quoted text (strict)",
}


def render(result: EvaluationResult) -> str:
    """The whole report as HTML."""
    domains, cutoff = result.domains(), result.main_cutoff
    main, questions = result.record.main_retriever, result.scores.questions
    return pages.render(
        "evaluation/report.html",
        title=f"Retrieval evaluation: variant {result.record.variant}",
        record=result.record,
        cutoff=cutoff,
        domains={
            domain: f"{DOMAIN_NAMES[domain]} (n = {count_of(result, domain)})" for domain in domains
        },
        main_numbers=[
            (DOMAIN_NAMES[domain], row)
            for domain in domains
            if (row := result.value("hit_rate", retriever=main, domain=domain, cutoff=cutoff))
        ],
        findings=list(findings(result)),
        flaws=list(rows_of([each.finding for each in result.record.flaws])),
        sound=SOUND,
        figures=list(figures(result)),
        main=main_table(result),
        differences=differences_table(result),
        about_differences=ABOUT_DIFFERENCES,
        overall=[sentence for domain in domains for sentence in overall_sentences(result, domain)],
        agreement=[(each, row) for each in domains for row in result.agreement_rows(domain=each)],
        levels={
            name: rows
            for level, name in LEVEL_NAMES.items()
            if (rows := main_table(result, level=level)[1])
        },
        all_metrics={domain: _all_metrics(result, domain) for domain in domains},
        candidates={domain: list(_candidates(result, domain)) for domain in domains},
        sets=sets_table(result),
        splits=_splits(result),
        languages=_parts(by_language(questions, cutoff=cutoff), "language", cutoff=cutoff),
        gold_types=_parts(by_gold_type(questions, cutoff=cutoff), "gold_type", cutoff=cutoff),
        stages=list(
            dict.fromkeys(stage for one in result.record.latency.values() for stage in one.stages)
        ),
        worst=result.worst(WORST_SHOWN),
        found_shown=FOUND_SHOWN,
        missing={
            what: result.missing(level=level)
            for level, what in (
                ("gold", "Misses at every level"),
                ("quote", "Misses of the strict rule"),
            )
        },
        most_missing=MISSING_SHOWN,
    )


def figures(result: EvaluationResult) -> Iterator[str]:
    """The plots as SVG: main metrics of each domain, and the hit rate over the cutoff."""
    for domain in result.domains():
        yield bar_plot(result, domain=domain)
    yield hit_rate_plot(result)


def bar_plot(result: EvaluationResult, *, domain: str) -> str:
    """Main metrics of all retrievers on the questions of a domain, with their intervals."""
    cutoff = result.main_cutoff
    series = {
        retriever: [
            bar_of(result.value(metric, retriever=retriever, domain=domain, cutoff=cutoff))
            for metric in MAIN_METRICS
        ]
        for retriever in result.record.retrievers
    }
    return bars(
        series,
        groups=[f"{metric}@{cutoff}" for metric in MAIN_METRICS],
        title=f"{DOMAIN_NAMES[domain].capitalize()} (n = {count_of(result, domain)})",
        y_label="mean, 95 % interval",
    )


def hit_rate_plot(result: EvaluationResult) -> str:
    """Share of all questions with gold among the first k, for each k up to the largest cutoff."""
    cutoffs = range(1, max(result.record.cutoffs) + 1)
    series = {}
    for retriever in result.record.retrievers:
        ranks = result.first_ranks(retriever)
        found = [rank for rank in ranks if rank is not None]
        series[retriever] = [
            (float(k), sum(rank <= k for rank in found) / len(ranks)) for k in cutoffs
        ]
    return line(
        series, title="Hit rate over the cutoff, all questions", x_label="k", y_label="hit_rate@k"
    )


def _all_metrics(result: EvaluationResult, domain: str) -> list[Row]:
    return [
        {"retriever": retriever, "metric": metric}
        | {
            f"@{cutoff}": with_interval(
                result.value(metric, retriever=retriever, domain=domain, cutoff=cutoff)
            )
            for cutoff in result.record.cutoffs
        }
        for retriever, metric in product(result.record.retrievers, [*METRICS, F1_OF_MEANS])
    ]


def _candidates(result: EvaluationResult, domain: str) -> Iterator[str]:
    """The recall of all ranked units: no other order of them could reach more."""
    for row in result.summary_rows(
        metric=CANDIDATE_RECALL, domain=domain, level="gold", split="all"
    ):
        yield (
            f"{row['retriever']}: recall of all that it ranked (up to {row['cutoff']} units; with "
            f"a reranker its candidates): {with_interval(row)}"
        )


def _splits(result: EvaluationResult) -> list[Row]:
    cutoff = result.main_cutoff
    rows: list[Row] = []
    for split, domain, retriever in product(
        splits_of(result.scores.questions), result.domains(), result.record.retrievers
    ):
        cells = {
            metric: result.value(
                metric, retriever=retriever, domain=domain, cutoff=cutoff, split=split
            )
            for metric in SHOWN_METRICS
        }
        first = cells[SHOWN_METRICS[0]]
        if first is not None:
            about = {
                "split": split,
                "questions": domain,
                "n": first["questions"],
                "retriever": retriever,
            }
            shown = {f"{name}@{cutoff}": with_interval(row) for name, row in cells.items()}
            rows.append(about | shown)
    return rows


def _parts(rows: Iterable[dict[str, str | int | float]], part: str, *, cutoff: int) -> list[Row]:
    """The rows of `evaluation.parts`, the metrics of each beside each other."""
    shown: dict[tuple, dict[str, str | int | float]] = {}
    for row in rows:
        about = (row[part], row["domain"], row["questions"], row["retriever"])
        cells = shown.setdefault(
            about, dict(zip((part, "questions", "n", "retriever"), about, strict=True))
        )
        cells[f"{row['metric']}@{cutoff}"] = with_interval({"low": None} | row)
    return list(shown.values())
