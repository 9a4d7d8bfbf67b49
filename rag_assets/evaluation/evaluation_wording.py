"""An evaluation as sentences and rows of tables, for report, metadata and terminal."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from rag_assets.evaluation import summary
from rag_assets.evaluation.flaws import Flaw
from rag_assets.evaluation.parts import by_set
from rag_assets.evaluation.results import EvaluationResult
from rag_assets.evaluation.significance import ALPHA, benjamini_hochberg
from rag_assets.evaluation.summary import ALL_QUESTIONS, MAIN_METRICS
from rag_assets.findings.telling import rows_of
from rag_assets.reports.text_tables import Cell, Row, markdown_table, signed, with_interval

SET_METRICS = ("mrr", "hit_rate")
SHOWN_METRICS = ("hit_rate", "recall", "mrr", "ndcg")
LEAST_P_SHOWN = 0.001
UNSEEN = 3
"""Rule of three: an effect in a share 3 / n of all clusters is missing from n of them 1 time in
20."""
DOMAIN_NAMES: Mapping[str, str] = {
    "document": "questions on documents",
    "table": "questions on tables",
    "combined": "all questions",
}

ABOUT_DIFFERENCES = (
    "Paired, question by question, with 95 % intervals of the cluster bootstrap; where none shows "
    "a difference, of how many could still. Detectable: the true difference that these questions "
    "would show with a power of 80 %; none if it is above 1. p: sign-flip test by "
    "cluster; adjusted for all that the table compares at a cutoff (step-down max-T). McNemar's "
    "exact test counts questions and ignores clusters. Smallest p: what so many clusters could "
    "have given at best."
)


def count_of(result: EvaluationResult, domain: str) -> int:
    """Number of questions of a group."""
    rows = result.summary_rows(domain=domain, level="gold", split="all")
    return int(rows[0]["questions"] or 0) if rows else 0


def verdict(row: Row, *, margin: float) -> str:
    """The verdict on a paired difference, from its interval and adjusted p.

    `better` or `worse` if the interval excludes 0 and the corrected test agrees. `equivalent` if
    the interval is within the margin, and there are enough clusters to see a difference of that
    size. Otherwise the questions cannot separate the two; where only the correction says so, it is
    named.
    """
    low, high, p, clusters = (row.get(name) for name in ("low", "high", "p_adjusted", "clusters"))
    unknown = f"not separable at n = {row['questions']}"
    if not isinstance(low, float) or not isinstance(high, float):
        return unknown
    is_within = -margin < low and high < margin and margin * float(clusters or 0) >= UNSEEN
    excludes_0 = low > 0 or high < 0
    if excludes_0 and (p is None or float(p) <= ALPHA):
        word = "better" if low > 0 else "worse"
        return f"{word}, but within the margin of {margin:g}" if is_within else word
    if is_within:
        return f"equivalent within the margin of {margin:g}"
    corrected = f" once corrected for all that was compared (p {p_value(p)})" if excludes_0 else ""
    return f"{unknown}{corrected}"


def p_value(value: Cell) -> str:
    """`0.031`, `< 0.001`, or `-` if there is none."""
    if not isinstance(value, float):
        return "-"
    return f"{value:.3f}" if value >= LEAST_P_SHOWN else f"< {LEAST_P_SHOWN}"


def differences_table(
    result: EvaluationResult, *, domains: Sequence[str] | None = None
) -> list[Row]:
    """Paired differences of the main metrics: effect and interval first, p-values last.

    Of all groups of questions, unless `domains` are given.
    """
    cutoff = result.main_cutoff
    return [
        difference_shown(row, margin=result.record.margin)
        for domain, metric in product(domains or result.domains(), MAIN_METRICS)
        for row in result.difference_rows(
            domain=domain, metric=metric, cutoff=cutoff, level="gold", split="all"
        )
    ]


def difference_shown(row: Row, *, margin: float) -> Row:
    """A paired difference as a line of a table."""
    return {
        "questions": row["domain"],
        "n": row["questions"],
        "clusters": f"{row['clusters']} by {row['clustered_by']}",
        "retriever": row["retriever"],
        "against": row["reference"],
        "metric": f"{row['metric']}@{row['cutoff']}",
        "difference": signed(row),
        "says": verdict(row, margin=margin),
        "detectable": _detectable(row["detectable"]),
        "p adjusted": p_value(row["p_adjusted"]),
        "p": p_value(row["p"]),
        "p McNemar": p_value(row["p_mcnemar"]),
        "smallest p": f"{row['smallest_p']:.2g}",
    }


def hit_tests_shown(rows: Sequence[Row]) -> list[Row]:
    """Differences of hits with the p of McNemar's test, corrected as one family.

    Benjamini and Hochberg's procedure keeps the rate of false discoveries, as P2's table 4 has it.
    """
    p = [float(row["p_mcnemar"] or 0) for row in rows]
    return [
        {
            "difference (pp)": f"{100 * float(row['value'] or 0):+.2f}",
            "p": p_value(alone),
            "p adjusted": p_value(float(adjusted)),
        }
        for row, alone, adjusted in zip(rows, p, benjamini_hochberg(np.array(p)), strict=True)
    ]


def overall_sentences(result: EvaluationResult, domain: str) -> Iterator[str]:
    """Whether the retrievers differ at all, if more than two were compared."""
    yield from (overall_sentence(row) for row in result.overall_rows(domain=domain))


def overall_sentence(row: Row, *, compared: str = "retrievers") -> str:
    """Whether the compared systems differ at all."""
    says = "they differ" if float(row["p"] or 0) <= ALPHA else "they cannot be told apart"
    return (
        f"All {row['retrievers']} {compared} at once on {DOMAIN_NAMES[str(row['domain'])]}, "
        f"{row['metric']}@{row['cutoff']}: {says} "
        f"(chi-square {row['statistic']:.1f}, permutation p {p_value(row['p'])})."
    )


def clusters_sentence(rows: Sequence[Row]) -> Iterator[str]:
    """A sentence on intervals, if some of `rows` have too few sources to cluster by."""
    if any(row["clustered_by"] == "gold" for row in rows):
        yield (
            "Where the gold comes from fewer than 20 documents or tables, intervals and tests are "
            "clustered by the gold page or row; they say nothing about other documents or tables."
        )


def smoke_sentence(names: Sequence[str]) -> Iterator[str]:
    """A sentence on the question sets `names`, which decide nothing, if there are any."""
    if names:
        yield (
            f"Smoke test: a program made the questions of {', '.join(names)}, and no experiment "
            "question_origin shows that they order retrievers as people's questions do. They say "
            "whether gold is found at all, and decide nothing; in the other numbers of an "
            "evaluation they count only where there are no others."
        )


def sets_table(result: EvaluationResult, *retrievers: str) -> list[Row]:
    """Each question set and retriever with its main metrics; empty if there is one set.

    Unless `retrievers` are named, all of them.
    """
    cutoff, smoke = result.main_cutoff, result.record.smoke_tests
    shown: dict[tuple[str, str], dict[str, Cell]] = {}
    for row in by_set(result.scores.questions, cutoff=cutoff):
        name, retriever = str(row["question_set"]), str(row["retriever"])
        about: dict[str, Cell] = {
            "set": f"{name} (smoke test)" if name in smoke else name,
            "n": row["questions"],
            "retriever": retriever,
        }
        if retriever not in (retrievers or result.record.retrievers):
            continue
        cells = shown.setdefault((name, retriever), about)
        if row["metric"] in SET_METRICS:
            cells[f"{row['metric']}@{cutoff}"] = with_interval({"low": None} | row)
    return list(shown.values()) if len({name for name, _ in shown}) > 1 else []


def findings(result: EvaluationResult) -> Iterator[str]:
    """The main results in sentences."""
    cutoff = result.main_cutoff
    yield from smoke_sentence(result.record.smoke_tests)
    for domain in result.domains():
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
                f"{verdict(row, margin=result.record.margin)}.{_reach(row)}"
            )
    yield from advice(result)
    yield from clusters_sentence(result.summary_rows(level="gold"))
    missing = result.missing()
    if missing:
        questions = len({row["id"] for row in missing})
        yield (
            f"Gold of {questions} questions is not in the index ({len(missing)} pieces): it "
            "counts as missed."
        )


def advice(result: EvaluationResult) -> Iterator[str]:
    """Whether a retriever is better than the main one on all questions; none without others."""
    record = result.record
    main, others = record.main_retriever, [*record.retrievers]
    others.remove(main)
    if not others:
        return
    better = [sentence for name in others for sentence in _is_better(result, name, than=main)]
    yield from better or [
        f"No retriever that was evaluated ({', '.join(others)}) is better than {main} on all "
        "questions."
    ]


def _is_better(result: EvaluationResult, name: str, *, than: str) -> Iterator[str]:
    """A sentence if `name` is better in a main metric and worse in none."""
    rows = [
        row
        for metric in MAIN_METRICS
        for row in result.difference_rows(
            retriever=name,
            reference=than,
            metric=metric,
            cutoff=result.main_cutoff,
            domain=ALL_QUESTIONS,
            level="gold",
            split=summary.ALL_SPLITS,
        )
    ]
    if better := gains(rows, margin=result.record.margin):
        shown = [f"{row['metric']}@{row['cutoff']} {signed(row)}" for row in better]
        yield (
            f"{name} is better than {than} on all questions: {', '.join(shown)}, corrected for "
            f"all that was compared. To search with it, set retrieval.retriever to {name}."
        )


def gains(rows: Sequence[Row], *, margin: float) -> list[Row]:
    """The paired differences that are shown to be better; none if one of them is worse."""
    verdicts = [verdict(row, margin=margin) for row in rows]
    if any(says.startswith("worse") for says in verdicts):
        return []
    return [row for row, says in zip(rows, verdicts, strict=True) if says == "better"]


def _detectable(value: Cell) -> str:
    """The difference that the questions would show; `none` where no metric can differ by that."""
    if not isinstance(value, float):
        return "-"
    return "none" if value > 1 else f"{value:.3f}"


def _reach(row: Row) -> str:
    """A sentence on the smallest difference that these questions would show."""
    found = _detectable(row["detectable"])
    if found == "none":
        return f" These {row['questions']} questions cannot show any difference of {row['metric']}."
    shown = f" These questions would show a difference of {found} (power 80 %)."
    return "" if found == "-" else shown


def main_table(result: EvaluationResult, *, level: str = "gold") -> tuple[list[str], list[Row]]:
    """Columns and rows: each domain and retriever with its main metrics."""
    cutoff = result.main_cutoff
    names = [f"{metric}@{cutoff}" for metric in SHOWN_METRICS]
    rows: list[Row] = []
    for domain in result.domains(level=level):
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


def flaws_markdown(flaws: Sequence[Flaw]) -> Iterator[str]:
    """The lines of a section on flaws; none if there are none."""
    rows = list(rows_of([each.finding for each in flaws]))
    if rows:
        yield from ("", "Flaws of the evaluation itself", "")
        yield from markdown_table(rows)


def report_markdown(result: EvaluationResult) -> str:
    """The main table, the findings and the paired differences, as Markdown."""
    columns, rows = main_table(result)
    lines = [
        *markdown_table(rows, columns=columns),
        "",
        *(f"- {sentence}" for sentence in findings(result)),
    ]
    if sets := sets_table(result):
        lines += ["", "By question set", "", *markdown_table(sets)]
    differences = differences_table(result)
    if differences:
        lines += ["", *markdown_table(differences)]
    return "\n".join([*lines, *flaws_markdown(result.record.flaws)])
