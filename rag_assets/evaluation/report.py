"""The HTML report of an evaluation: one file with its plots inside, no script, no outside link."""

from collections.abc import Iterator, Mapping
from html import escape
from itertools import product

from rag_assets.evaluation.flaws import SOUND, flaw_rows
from rag_assets.evaluation.languages import by_language
from rag_assets.evaluation.metrics import METRICS
from rag_assets.evaluation.results import EvaluationResult
from rag_assets.evaluation.summary import CANDIDATE_RECALL, F1_OF_MEANS, splits_of
from rag_assets.evaluation.wording import (
    ABOUT_DIFFERENCES,
    DOMAIN_NAMES,
    MAIN_METRICS,
    SHOWN_METRICS,
    bar_of,
    count_of,
    differences_table,
    domains_of,
    findings,
    main_cutoff,
    main_table,
    overall_sentences,
    with_interval,
)
from rag_assets.reports.pages import bullets, note, page, section, table, tile
from rag_assets.reports.plots import bars, line

WORST_SHOWN = 25
MISSING_SHOWN = 200
FOUND_SHOWN = 3
RANK_COLUMN = "first relevant rank"

LEVEL_NAMES: Mapping[str, str] = {
    "document": "documents, whatever page the gold names",
    "page": "pages, for questions whose gold names one",
    "quote": "chunks that overlap the quoted text (strict)",
}


def render(result: EvaluationResult) -> str:
    """The whole report as HTML."""
    record = result.record
    title = f"Retrieval evaluation: variant {record.variant}"
    parts = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="about">{record.questions:,} questions · {escape(record.evaluated_at)} · '
        f"{escape(', '.join(record.retrievers))}</p>",
        *_tiles(result),
        *section("What this says", bullets(findings(result))),
        *section("Is the evaluation sound?", _flaws(result)),
        f'<div class="plots">{"".join(figures(result))}</div>',
        *_main_section(result),
        *section("Differences", *_differences(result)),
        *section("Do they return the same?", *_agreement(result)),
        *section("At other levels", *_levels(result)),
        *section("All metrics", *_all_metrics(result)),
        *section("By split", *_splits(result)),
        *_languages(result),
        *section("Time for a question", *_latency(result)),
        *section("Worst questions", *_worst(result)),
        *section("Gold that is not in the index", *_missing(result)),
        *_superseded(result),
        *section("Settings and versions", _settings(result)),
    ]
    return page(title, parts)


def figures(result: EvaluationResult) -> Iterator[str]:
    """The plots as SVG: main metrics of each domain, and the hit rate over the cutoff."""
    for domain in domains_of(result):
        yield bar_plot(result, domain=domain)
    yield hit_rate_plot(result)


def bar_plot(result: EvaluationResult, *, domain: str) -> str:
    """Main metrics of all retrievers on the questions of a domain, with their intervals."""
    cutoff = main_cutoff(result)
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


def _tiles(result: EvaluationResult) -> Iterator[str]:
    cutoff = main_cutoff(result)
    main = result.record.main_retriever
    yield '<div class="tiles">'
    for domain in domains_of(result):
        row = result.value("hit_rate", retriever=main, domain=domain, cutoff=cutoff)
        if row is not None:
            yield tile(
                f"{row['value']:.3f}",
                f"hit_rate@{cutoff} of {escape(main)},<br>"
                f"{DOMAIN_NAMES[domain]} (n = {row['questions']})",
            )
    yield "</div>"


def _flaws(result: EvaluationResult) -> str:
    rows = list(flaw_rows(result.record.flaws))
    return table(list(rows[0]), rows) if rows else note(SOUND)


def _main_section(result: EvaluationResult) -> Iterator[str]:
    columns, rows = main_table(result)
    explanation = (
        "Scored at the gold's own level: rows as rows, documents collapsed to pages where the gold "
        "names a page, else to documents. Mean with 95 % interval, cluster bootstrap by the first "
        "gold document or table of a question."
    )
    yield from section("Main metrics", note(explanation), table(columns, rows))


def _differences(result: EvaluationResult) -> Iterator[str]:
    rows = differences_table(result)
    if not rows:
        yield note("One retriever was evaluated: there is nothing to compare it with.")
        return
    yield note(ABOUT_DIFFERENCES)
    yield table(list(rows[0]), rows)
    yield bullets(
        sentence for domain in domains_of(result) for sentence in overall_sentences(result, domain)
    )


def _agreement(result: EvaluationResult) -> Iterator[str]:
    rows = [
        {
            "questions": domain,
            "retrievers": f"{row['first']}, {row['second']}",
            "in both": f"{row['overlap']:.2f}",
            "Jaccard": f"{row['jaccard']:.3f}",
            "in either": f"{row['union']:.2f}",
            "documents and rows": f"{row['items']:.2f}",
            "only by the second": f"{row['new_items']:.2f}",
        }
        for domain in domains_of(result)
        for row in result.agreement_rows(domain=domain)
    ]
    if not rows:
        yield note("One retriever was evaluated: there is nothing to compare it with.")
        return
    yield note(f"Units among the first {main_cutoff(result)} of two rankings, mean over questions.")
    yield table(list(rows[0]), rows)


def _levels(result: EvaluationResult) -> Iterator[str]:
    shown = False
    for level, name in LEVEL_NAMES.items():
        columns, rows = main_table(result, level=level)
        if rows:
            shown = True
            yield f"<h3>Ranks count {name}</h3>{table(columns, rows)}"
    if not shown:
        yield note("All gold is in tables: there is only one level.")


def _all_metrics(result: EvaluationResult) -> Iterator[str]:
    for domain in domains_of(result):
        rows = []
        for retriever, metric in product(result.record.retrievers, [*METRICS, F1_OF_MEANS]):
            cells = {
                f"@{cutoff}": with_interval(
                    result.value(metric, retriever=retriever, domain=domain, cutoff=cutoff)
                )
                for cutoff in result.record.cutoffs
            }
            rows.append({"retriever": retriever, "metric": metric} | cells)
        yield (
            f"<details><summary>{DOMAIN_NAMES[domain]} (n = {count_of(result, domain)})</summary>"
            f"{table(list(rows[0]), rows)}"
            f"{bullets(_candidates(result, domain))}</details>"
        )


def _candidates(result: EvaluationResult, domain: str) -> Iterator[str]:
    """The recall of all ranked units: no other order of them could reach more."""
    for row in result.summary_rows(
        metric=CANDIDATE_RECALL, domain=domain, level="gold", split="all"
    ):
        yield (
            f"{row['retriever']}: recall of all that it ranked (up to {row['cutoff']} units; with "
            f"a reranker its candidates): {with_interval(row)}"
        )


def _splits(result: EvaluationResult) -> Iterator[str]:
    cutoff = main_cutoff(result)
    rows = []
    for split, domain, retriever in product(
        splits_of(result.scores.questions), domains_of(result), result.record.retrievers
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
    yield note("Settings are to be chosen on dev and reported on test.")
    yield table(list(rows[0]), rows)


def _languages(result: EvaluationResult) -> Iterator[str]:
    """Empty if all questions are in one language."""
    cutoff = main_cutoff(result)
    shown: dict[tuple, dict[str, str | int | float]] = {}
    for row in by_language(result.scores.questions, cutoff=cutoff):
        about = (row["language"], row["domain"], row["questions"], row["retriever"])
        cells = shown.setdefault(
            about, dict(zip(("language", "questions", "n", "retriever"), about, strict=True))
        )
        cells[f"{row['metric']}@{cutoff}"] = with_interval({"low": None} | row)
    if shown:
        rows = list(shown.values())
        yield from section("By language of the question", table(list(rows[0]), rows))


def _latency(result: EvaluationResult) -> Iterator[str]:
    latency = result.record.latency
    stages = list(dict.fromkeys(stage for one in latency.values() for stage in one.stages))
    rows = [
        {"retriever": name, "p50 (ms)": f"{one.p50:.1f}", "p95 (ms)": f"{one.p95:.1f}"}
        | {stage: f"{one.stages[stage]:.1f}" if stage in one.stages else "-" for stage in stages}
        | {"questions": one.questions}
        for name, one in latency.items()
    ]
    yield note(
        "One question alone, in a warm process in which nothing of it is known: no cache is read, "
        "and the models forget the queries and texts that they saw before. Stages: median "
        "milliseconds of each. The retrievers took turns, so their order does not matter."
    )
    yield table(list(rows[0]) if rows else ["retriever"], rows)


def _worst(result: EvaluationResult) -> Iterator[str]:
    rows = [
        {
            "question": row["question"],
            "gold": "; ".join(row["gold"]),
            RANK_COLUMN: row["first_rank"] or "not found",
            "found instead": "; ".join(row["found"][:FOUND_SHOWN]),
            "note": "gold is not in the index" if row["missing"] else "",
        }
        for row in result.worst(WORST_SHOWN)
    ]
    if not rows:
        yield note("None: every question has all of its gold at the top.")
        return
    yield note(f"By ndcg@{max(result.record.cutoffs)} of {result.record.main_retriever}.")
    yield table(list(rows[0]), rows)


def _missing(result: EvaluationResult) -> Iterator[str]:
    for level, what in (("gold", "Misses at every level"), ("quote", "Misses of the strict rule")):
        rows = result.missing(level=level)
        if rows:
            yield f"<h3>{what}: {len(rows)}</h3>"
            yield table(list(rows[0]), rows[:MISSING_SHOWN])
            if len(rows) > MISSING_SHOWN:
                yield note(f"{len(rows) - MISSING_SHOWN} more are in questions.parquet.")
        else:
            yield note(f"{what}: none.")


def _superseded(result: EvaluationResult) -> Iterator[str]:
    """Questions that ask for what only a superseded version says."""
    if not result.record.superseded:
        return
    rows = [
        {
            "question": each.question,
            "gold": ", ".join(each.gold),
            "rank among all versions": each.first_rank or "not found",
        }
        for each in result.record.superseded
    ]
    explanation = (
        "Their gold lies in a version that a newer one has replaced, which a search for current "
        "versions leaves out. They count in no number above."
    )
    yield from section("Gold that is superseded", note(explanation), table(list(rows[0]), rows))


def _settings(result: EvaluationResult) -> str:
    rows = [{"setting": name, "value": value} for name, value in result.record.settings.items()]
    return table(["setting", "value"], rows)
