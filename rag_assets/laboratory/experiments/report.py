"""The report of an experiment: as HTML, and in short as Markdown."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.columns.arrow_sql import where
from rag_assets.evaluation.evaluation_wording import (
    ABOUT_DIFFERENCES,
    DOMAIN_NAMES,
    clusters_sentence,
    difference_shown,
    flaws_markdown,
    hit_tests_shown,
    overall_sentence,
    smoke_sentence,
    verdict,
)
from rag_assets.evaluation.experiment_runs import TOP_N
from rag_assets.evaluation.flaws import SOUND
from rag_assets.evaluation.summary import ALL_QUESTIONS, shown_domains
from rag_assets.findings.telling import rows_of
from rag_assets.laboratory.experiments.design import Appendix, ExperimentArm, Measure
from rag_assets.laboratory.experiments.layout import Means, pivot, plots, value_of
from rag_assets.laboratory.experiments.results import ExperimentResult
from rag_assets.reports import pages
from rag_assets.reports.plots import histogram
from rag_assets.reports.text_tables import Row, markdown_table, signed, with_interval

METRICS = ("hit_rate", "recall", "mrr", "ndcg", "map")
"""What the tables of all arms show."""
MOST_BY_DOMAIN = 4
"""With more arms, sentences are about all questions only; the table has every group."""
SHORT = (
    *("questions", "n", "clusters", "arm", "against", "metric", "difference", "says"),
    *("detectable", "p adjusted", "smallest p"),
)
"""Columns of the paired differences in the Markdown."""
ABOUT_HIT_TESTS = (
    "Exact, over questions; p adjusted keeps the rate of false discoveries (Benjamini and Hochberg "
    "1995). Clusters of questions are ignored: the paired differences below take them into account."
)
ABOUT_AGREEMENTS = "Overlap of the lists of Q1 and Q2 (P2, table 5)"


def render(result: ExperimentResult) -> str:
    """The whole report as HTML."""
    record, means = result.record, Means(result)
    runs = [arm.run for arm in record.arms.values()]
    return pages.render(
        "laboratory/experiments/report.html",
        title=record.title,
        record=record,
        findings=list(findings(result)),
        flaws=list(rows_of([each.finding for each in record.flaws])),
        sound=SOUND,
        figures=list(figures(result)),
        tables=[(layout.title, *pivot(means, layout)) for layout in result.design.tables],
        runtimes=result.design.runtimes and (result.design.runtimes.title, _runtimes(result)),
        appendices=[*_hit_tests(result), *result.appendices],
        not_chosen=None if record.chosen else next(_of_choice(result)),
        top_n=TOP_N,
        mean=lambda arm, split: with_interval(_mean(result, arm, split=split)),
        differences=_difference_rows(result, result.differences, measures=result.design.compared),
        about_differences=ABOUT_DIFFERENCES,
        has_slices=bool(result.slices),
        slices=_slices(result),
        weights={name: np.array(each) for name, each in _weights(result).items()},
        quantile=np.quantile,
        about_agreements=ABOUT_AGREEMENTS,
        agreements=_agreements(result),
        rewrites=any("not_rewritten" in each.cost for each in runs),
        stages={stage: f"{stage} (ms)" for each in runs for stage in each.milliseconds},
        all_arms=dict(_all_arms(result)),
        protocol=list(_protocol(result)),
        variants=[{"variant": name, **settings} for name, settings in record.variants.items()],
    )


def markdown(result: ExperimentResult) -> str:
    """The findings, the paper's tables and the paired differences, as Markdown."""
    record = result.record
    lines = [f"**{record.title}** ({record.source}), run `{record.id}`", ""]
    lines += [f"- {sentence}" for sentence in findings(result)]
    means = Means(result)
    for layout in result.design.tables:
        lines += ["", f"{layout.title}, {record.split} questions", ""]
        columns, cells = pivot(means, layout)
        lines += markdown_table(cells, columns=columns)
    if runtimes := result.design.runtimes:
        rows = _runtimes(result)
        lines += ["", runtimes.title, "", *markdown_table(rows)]
    for appendix in [*_hit_tests(result), *result.appendices]:
        rows = list(appendix.rows)
        lines += ["", appendix.title, "", *markdown_table(rows)]
    if rows := _agreements(result):
        lines += ["", ABOUT_AGREEMENTS, "", *markdown_table(rows)]
    rows = _difference_rows(result, result.differences, measures=result.design.compared)
    if rows:
        lines += [
            "",
            "Paired differences, 95 % intervals",
            "",
            *markdown_table(rows, columns=SHORT),
        ]
    return "\n".join([*lines, *flaws_markdown(record.flaws), ""])


def figures(result: ExperimentResult) -> Iterator[str]:
    """The paper's figures as SVG."""
    means = Means(result)
    for figure in result.design.figures:
        yield from plots(means, figure)
    for name, weights in _weights(result).items() if result.design.shows_weights else ():
        yield histogram(weights, title=f"Weight of documents, {name}", x_label="weight")


def findings(result: ExperimentResult) -> Iterator[str]:
    """The main results in sentences."""
    record, domains = result.record, _domains(result)
    yield from smoke_sentence(record.smoke_tests)
    yield from _of_choice(result)
    for row in _rows(
        result.differences,
        split=record.split,
        level=record.level,
        metric=record.criterion,
        cutoff=TOP_N,
    ):
        if row["domain"] not in domains[-1 if len(record.finalists) > MOST_BY_DOMAIN else 0 :]:
            continue
        yield (
            f"On {_group(row)} {row['retriever']} against {row['reference']}, "
            f"{row['metric']}@{TOP_N}: {signed(row)}, {verdict(row, margin=record.margin)}."
        )
    shown = _rows(result.summary, split=record.split, level=record.level)
    yield from clusters_sentence([row for row in shown if row["domain"] in domains])
    for row in result.overall.to_pylist():
        if row["metric"] == record.criterion and row["domain"] in domains:
            yield overall_sentence(row, compared="arms")
    rows = _means(result, ALL_QUESTIONS)
    if len(rows) > 1:
        best, worst = max(rows, key=value_of), min(rows, key=value_of)
        yield (
            f"All arms have the same {record.criterion}@{TOP_N} on {record.split}."
            if value_of(best) == value_of(worst)
            else f"From the best arm to the worst, {record.criterion}@{TOP_N} on {record.split} "
            f"goes from {with_interval(best)} ({best['retriever']}) to {with_interval(worst)} "
            f"({worst['retriever']})."
        )
        by_latency = sorted(record.arms, key=lambda name: record.arms[name].run.latency)
        latencies = [
            (name, record.arms[name].run.latency) for name in (by_latency[0], by_latency[-1])
        ]
        yield "The median time of a single search is {}.".format(
            " to ".join(f"{latency:.0f} ms ({name})" for name, latency in latencies)
        )


def _runtimes(result: ExperimentResult) -> list[Row]:
    rows: list[Row] = []
    runtimes = result.design.runtimes
    assert runtimes is not None, "only a design with such a table is asked for it"
    is_rewritten = any("rewrite" in one.run.milliseconds for one in result.record.arms.values())
    for arm in result.design.arms:
        if all(arm.factors.get(name) == value for name, value in runtimes.where.items()):
            stages = result.record.arms[arm.name].run.milliseconds
            whole, reranking = sum(stages.values()), stages.get("rerank", 0.0)
            rewriting = stages.get("rewrite", 0.0)
            times = {"rewriting": rewriting} if is_rewritten else {}
            times |= {
                "retrieval": whole - reranking - rewriting,
                "reranking": reranking,
                "total": whole,
            }
            rows.append(
                {name: arm.factors[name] for name in runtimes.rows}
                | {f"{name} (ms)": f"{value:.1f}" for name, value in times.items()}
            )
    return rows


def _hit_tests(result: ExperimentResult) -> Iterator[Appendix]:
    """McNemar's tests against the reference, corrected by family; none without such arms."""
    asked, record = result.design.hit_tests, result.record
    if asked is None:
        return
    tests, means = (
        {
            row["retriever"]: row
            for row in _rows(
                rows,
                split=record.split,
                level=record.level,
                domain=_domains(result)[-1],
                metric="hit_rate",
                cutoff=asked.cutoff,
            )
        }
        for rows in (result.all_differences, result.summary)
    )
    families: defaultdict[tuple, list[ExperimentArm]] = defaultdict(list)
    for arm in result.design.arms:
        is_left_out = any(arm.factors.get(name) == each for name, each in asked.without.items())
        if arm.name in tests and not is_left_out:
            families[tuple(arm.factors.get(name) for name in asked.families)].append(arm)
    rows = []
    for arms in families.values():
        shown = hit_tests_shown([tests[arm.name] for arm in arms])
        rows += [
            {name: str(arm.factors[name]) for name in asked.rows}
            | {f"hit_rate@{asked.cutoff}": f"{value_of(means[arm.name]):.2%}", **tested}
            for arm, tested in zip(arms, shown, strict=True)
        ]
    if rows:
        title = f"{asked.title}, against {record.reference}"
        yield Appendix(title=title, about=ABOUT_HIT_TESTS, rows=rows)


def _of_choice(result: ExperimentResult) -> Iterator[str]:
    record = result.record
    if not record.chosen:
        why = (
            "this design compares all arms"
            if not result.design.chooses
            else "there are no dev questions to choose on"
        )
        yield f"Nothing was chosen: {why}."
        return
    for group, arm in record.chosen.items():
        begins = f"Of {group}, chosen on dev: " if group else "Chosen on dev: "
        dev = _mean(result, arm, split="dev")
        sentence = (
            f"{begins}{arm} ({record.criterion}@{TOP_N} {with_interval(dev)}, "
            f"n = {dev['questions']})"
        )
        if record.split != "dev":
            test = _mean(result, arm, split=record.split)
            sentence += (
                f"; on {record.split} it has {with_interval(test)} (n = {test['questions']})"
            )
        yield f"{sentence}."
    if set(record.chosen.values()) == {record.reference}:
        yield f"That is the reference itself: all other arms are compared with {record.reference}."
    if record.split == "dev":
        yield "There are no test questions: the choice was made by these same numbers."


def _domains(result: ExperimentResult) -> list[str]:
    """The groups of questions; `combined` only if it is not equal to one of the others."""
    rows = _rows(result.summary, split=result.record.split, level=result.record.level)
    return shown_domains({str(row["domain"]): row["questions"] for row in rows})


def _group(row: Row) -> str:
    return f"{DOMAIN_NAMES[str(row['domain'])]} (n = {row['questions']})"


def _rows(rows: pa.Table, **wanted: str | int) -> list[dict]:
    return where(rows, **wanted).to_pylist()


def _means(result: ExperimentResult, domain: str, *, split: str | None = None) -> list[dict]:
    record = result.record
    return _rows(
        result.summary,
        split=split or record.split,
        level=record.level,
        metric=record.criterion,
        cutoff=TOP_N,
        domain=domain,
    )


def _mean(result: ExperimentResult, arm: str, *, split: str) -> dict:
    rows = _means(result, ALL_QUESTIONS, split=split)
    return next(row for row in rows if row["retriever"] == arm)


def _difference_rows(
    result: ExperimentResult, differences: pa.Table, *, measures: Sequence[Measure]
) -> list[Row]:
    record, domains = result.record, _domains(result)
    found = []
    for metric, cutoff in measures:
        for row in _rows(
            differences, split=record.split, level=record.level, metric=metric, cutoff=cutoff
        ):
            if row["domain"] in domains:
                shown = dict(difference_shown(row, margin=record.margin))
                about = {name: shown.pop(name) for name in ("questions", "n")}
                found.append({**about, "arm": shown.pop("retriever"), **shown})
    return found


def _slices(result: ExperimentResult) -> list[Row]:
    record = result.record
    rows: list[Row] = []
    for one in result.slices:
        differences = {
            row["retriever"]: row
            for row in _rows(one.differences, metric="hit_rate", cutoff=3, domain=ALL_QUESTIONS)
        }
        for row in _rows(one.summary, metric="hit_rate", cutoff=3, domain=ALL_QUESTIONS):
            changed = differences.get(row["retriever"])
            rows.append(
                {
                    "questions": one.name,
                    "n": row["questions"],
                    "arm": row["retriever"],
                    "hit_rate@3": with_interval(row),
                    "difference": signed(changed) if changed else "-",
                    "says": verdict(changed, margin=record.margin) if changed else "reference",
                }
            )
    return rows


def _weights(result: ExperimentResult) -> Mapping[str, list[float]]:
    """For each arm that weights domains: the weight of documents for each question."""
    return {
        name: [weight for weight in extras["document_weight"].to_pylist() if weight is not None]
        for name, extras in result.extras.items()
        if extras["document_weight"].null_count < len(extras)
    }


def _agreements(result: ExperimentResult) -> list[Row]:
    return [
        {"arm": name}
        | {
            label: f"{pc.mean(extras[column]).as_py():.3f}"
            for label, column in (
                ("Ov@10", "overlap"),
                ("Jac@10", "jaccard"),
                ("Un@10", "union"),
                ("Uniq@10", "unique_sources"),
            )
        }
        for name, extras in result.extras.items()
        if extras["overlap"].null_count < len(extras)
    ]


def _all_arms(result: ExperimentResult) -> Iterator[tuple[str, list[Row]]]:
    """Tables of all arms, by their titles."""
    record = result.record
    splits = list(dict.fromkeys(["dev", record.split]))
    for split in splits:
        rows: list[Row] = []
        for domain in _domains(result):
            for name in record.arms:
                found = {
                    row["metric"]: row
                    for row in _rows(
                        result.summary,
                        split=split,
                        level=record.level,
                        cutoff=TOP_N,
                        domain=domain,
                        retriever=name,
                    )
                }
                if found:
                    cells = {
                        f"{metric}@{TOP_N}": with_interval(found[metric]) for metric in METRICS
                    }
                    about = {"questions": domain, "n": found["mrr"]["questions"], "arm": name}
                    rows.append(about | cells)
        if rows:
            yield f"{split} questions", rows
    main = [(record.criterion, TOP_N)]
    rows = _difference_rows(result, result.all_differences, measures=main)
    if rows:
        yield f"All arms against {record.reference}", rows


def _protocol(result: ExperimentResult) -> Iterator[str]:
    record = result.record
    yield (
        f"Settings are chosen by {record.criterion}@{TOP_N} over all dev questions and reported on "
        f"{record.split}; the choice sees no other score."
        if record.chosen
        else "Nothing is chosen."
    )
    yield f"Ranks count items at the level {record.level}: see docs/evaluation.md."
    yield (
        "Intervals and tests are clustered by the document or table of a question's first gold; "
        "where there are fewer than 20 of these, by gold page or row."
    )
    yield from record.notes
