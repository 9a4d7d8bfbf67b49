"""An evaluation in words, numbers and lines of text: what report, metadata and terminal share."""

from collections.abc import Iterator, Mapping
from typing import TypeAlias

from rag_assets.evaluation.results import EvaluationResult
from rag_assets.evaluation.scores import ALL_QUESTIONS, DOMAINS

MAIN_METRICS = ("hit_rate", "mrr", "ndcg")
SHOWN_METRICS = ("hit_rate", "recall", "mrr", "ndcg")
PREFERRED_CUTOFF = 10
DOMAIN_NAMES: Mapping[str, str] = {
    "document": "questions on documents",
    "table": "questions on tables",
    "combined": "all questions",
}

Cell: TypeAlias = "float | int | str | None"
Row: TypeAlias = Mapping[str, Cell]


def main_cutoff(result: EvaluationResult) -> int:
    """10 where it was measured, else the largest cutoff."""
    cutoffs = result.record.cutoffs
    return PREFERRED_CUTOFF if PREFERRED_CUTOFF in cutoffs else max(cutoffs)


def domains_of(result: EvaluationResult, *, level: str = "gold") -> list[str]:
    """The groups of questions, `combined` only where it is more than one of the others."""
    rows = result.summary_rows(level=level, split="all")
    counts = {str(row["domain"]): row["questions"] for row in rows}
    single = [name for name in DOMAINS if name in counts and name != ALL_QUESTIONS]
    if any(counts[name] == counts[ALL_QUESTIONS] for name in single):
        return single
    return [name for name in DOMAINS if name in counts]


def count_of(result: EvaluationResult, domain: str, *, level: str = "gold") -> int:
    """Number of questions of a group."""
    rows = result.summary_rows(domain=domain, level=level, split="all")
    return int(rows[0]["questions"] or 0) if rows else 0


def with_interval(row: Row | None) -> str:
    """`0.857 [0.800, 0.912]`."""
    if row is None or row["value"] is None:
        return "-"
    if row["low"] is None:
        return f"{row['value']:.3f}"
    return f"{row['value']:.3f} [{row['low']:.3f}, {row['high']:.3f}]"


def signed(row: Row) -> str:
    """`+0.021 [-0.004, +0.046]`."""
    if row["low"] is None:
        return f"{row['value']:+.3f}"
    return f"{row['value']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}]"


def verdict(row: Row) -> str:
    """What a paired difference says: `better`, `worse`, or that it cannot be told."""
    low, high = row["low"], row["high"]
    if isinstance(low, float) and low > 0:
        return "better"
    if isinstance(high, float) and high < 0:
        return "worse"
    return f"not separable at n = {row['questions']}"


def findings(result: EvaluationResult) -> Iterator[str]:
    """Sentences that follow from the numbers."""
    cutoff = main_cutoff(result)
    for domain in domains_of(result):
        rows = result.summary_rows(
            domain=domain, level="gold", split="all", metric="hit_rate", cutoff=cutoff
        )
        best = max(rows, key=lambda row: (float(row["value"] or 0), str(row["retriever"])))
        yield (
            f"On {DOMAIN_NAMES[domain]} (n = {best['questions']}) {best['retriever']} finds gold "
            f"among the first {cutoff} most often: {with_interval(best)}."
        )
        for row in result.difference_rows(
            domain=domain, level="gold", split="all", metric="hit_rate", cutoff=cutoff
        ):
            yield (
                f"There, {row['retriever']} against {row['reference']}: {signed(row)}, "
                f"{verdict(row)}."
            )
    if any(row["clustered_by"] == "gold" for row in result.summary_rows(level="gold")):
        yield (
            "Where the gold comes from fewer than 20 documents or tables, the intervals are "
            "clustered by the gold page or row; they say nothing about other documents or tables."
        )
    missing = result.missing()
    if missing:
        questions = len({row["id"] for row in missing})
        yield (
            f"Gold of {questions} questions is not in the index ({len(missing)} pieces): it "
            "counts as missed."
        )


def main_table(result: EvaluationResult, *, level: str = "gold") -> tuple[list[str], list[Row]]:
    """Columns and rows: each domain and retriever with its main metrics."""
    cutoff = main_cutoff(result)
    names = [f"{metric}@{cutoff}" for metric in SHOWN_METRICS]
    rows: list[Row] = []
    for domain in domains_of(result, level=level):
        for retriever in result.record.retrievers:
            cells = [
                result.value(metric, retriever=retriever, domain=domain, cutoff=cutoff, level=level)
                for metric in SHOWN_METRICS
            ]
            if cells[0] is None:
                continue
            shown = dict(zip(names, map(with_interval, cells), strict=True))
            about = {"questions": domain, "n": cells[0]["questions"], "retriever": retriever}
            rows.append(about | shown)
    return ["questions", "n", "retriever", *names], rows


def report_markdown(result: EvaluationResult) -> str:
    """The main table and what it says, as Markdown."""
    columns, rows = main_table(result)
    table = [columns, ["---"] * len(columns)]
    table += [[str(row[name]) for name in columns] for row in rows]
    lines = ["| " + " | ".join(cells) + " |" for cells in table]
    return "\n".join([*lines, "", *(f"- {sentence}" for sentence in findings(result))])
