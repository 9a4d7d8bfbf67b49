"""The report of an experiment: as HTML, and in short as Markdown."""

import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.evaluation.experiments.design import TOP_N, Measure, Runtimes
from rag_assets.evaluation.experiments.layout import Means, pivot, plots
from rag_assets.evaluation.experiments.results import ExperimentResult
from rag_assets.evaluation.flaws import SOUND, flaw_rows
from rag_assets.evaluation.summary import ALL_QUESTIONS
from rag_assets.evaluation.wording import (
    ABOUT_DIFFERENCES,
    DOMAIN_NAMES,
    SHOWN_METRICS,
    Row,
    clusters_sentence,
    difference_shown,
    flaws_markdown,
    markdown_table,
    overall_sentence,
    shown_domains,
    signed,
    verdict,
    with_interval,
)
from rag_assets.reports.pages import Html, bullets, note, page, section, table
from rag_assets.reports.plots import histogram

MOST_BY_DOMAIN = 4
"""With more arms, sentences are about all questions only; the table has every group."""
SHORT = (
    *("questions", "n", "clusters", "arm", "against", "metric", "difference", "says"),
    *("detectable", "p adjusted", "smallest p"),
)
"""Columns of the paired differences in the Markdown."""
ABOUT_AGREEMENTS = "Overlap of the lists of Q1 and Q2 (P2, table 5)"
ABOUT_RUNTIMES = (
    "Retrieval is all but the last reranking and rewriting, weighing of domains included. Each "
    "question is asked alone, in a warm process in which nothing of it is known."
)
Shown = tuple[list[str], list[Row]]
"""Columns and rows of a table."""


def render(result: ExperimentResult) -> str:
    """The whole report as HTML."""
    record = result.record
    counts = " and ".join(
        f"{count:,} {split}" for split, count in record.questions.items() if count
    )
    parts = [
        f"<h1>{escape(record.title)}</h1>",
        f'<p class="about">{escape(record.source)} · {counts} questions · '
        f"{len(record.arms)} arms · {escape(record.evaluated_at)} · run {record.id}</p>",
        *section("What this says", bullets(findings(result))),
        *section("Is the experiment sound?", _flaws(result)),
        f'<div class="plots">{"".join(figures(result))}</div>',
    ]
    means = Means(result)
    for layout in result.design.tables:
        parts += section(layout.title, note(_about_cells(result)), _html(pivot(means, layout)))
    if runtimes := result.design.runtimes:
        rows = _runtimes(result, runtimes)
        parts += section(runtimes.title, note(ABOUT_RUNTIMES), table(list(rows[0]), rows))
    for appendix in result.appendices:
        rows = list(appendix.rows)
        parts += section(appendix.title, note(appendix.about), table(list(rows[0]), rows))
    parts += section("Chosen on dev", *_choice(result))
    parts += section("Paired differences", *_differences(result))
    parts += _unless_empty("Slices of the questions", list(_slices(result)))
    parts += _unless_empty("Besides relevance", list(_extras(result)))
    parts += section("Time and cost", *_costs(result))
    parts += section("All arms", *_all_arms(result))
    parts += section("Protocol", bullets(_protocol(result)))
    parts += section("Versions and settings", *_versions(result))
    return page(record.title, parts)


def markdown(result: ExperimentResult) -> str:
    """The findings, the paper's tables and the paired differences, as Markdown."""
    record = result.record
    lines = [f"**{record.title}** ({record.source}), run `{record.id}`", ""]
    lines += [f"- {sentence}" for sentence in findings(result)]
    means = Means(result)
    for layout in result.design.tables:
        lines += ["", f"{layout.title}, {record.split} questions", ""]
        lines += markdown_table(*pivot(means, layout))
    if runtimes := result.design.runtimes:
        rows = _runtimes(result, runtimes)
        lines += ["", runtimes.title, "", *markdown_table(list(rows[0]), rows)]
    for appendix in result.appendices:
        rows = list(appendix.rows)
        lines += ["", appendix.title, "", *markdown_table(list(rows[0]), rows)]
    if rows := _agreements(result):
        lines += ["", ABOUT_AGREEMENTS, "", *markdown_table(list(rows[0]), rows)]
    rows = _difference_rows(result, result.differences, measures=result.design.compared)
    if rows:
        lines += ["", "Paired differences, 95 % intervals", "", *markdown_table(SHORT, rows)]
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
        best, worst = max(rows, key=_value), min(rows, key=_value)
        yield (
            f"All arms have the same {record.criterion}@{TOP_N} on {record.split}."
            if _value(best) == _value(worst)
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


def _flaws(result: ExperimentResult) -> str:
    rows = list(flaw_rows(result.record.flaws))
    return table(list(rows[0]), rows) if rows else note(SOUND)


def _runtimes(result: ExperimentResult, runtimes: Runtimes) -> list[Row]:
    rows: list[Row] = []
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


def _unless_empty(title: str, parts: Sequence[str]) -> Iterator[str]:
    return section(title, *parts) if parts else iter(())


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
        where = f"Of {group}, chosen on dev: " if group else "Chosen on dev: "
        dev = _mean(result, arm, split="dev")
        sentence = (
            f"{where}{arm} ({record.criterion}@{TOP_N} {with_interval(dev)}, "
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


def _value(row: Row) -> float:
    return float(row["value"] or 0)


def _rows(rows: pa.Table, **wanted: str | int) -> list[dict]:
    for name, value in wanted.items():
        rows = rows.filter(pc.equal(rows[name], value))
    return rows.to_pylist()


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


def _html(shown: Shown) -> str:
    columns, rows = shown
    return table(columns, [{name: _starred(value) for name, value in row.items()} for row in rows])


def _starred(value: object) -> object:
    text = str(value)
    found = re.fullmatch(r"\*(.+)\*", text)
    return Html(f"<b>{escape(found.group(1))}</b>") if found else value


def _about_cells(result: ExperimentResult) -> str:
    record = result.record
    return (
        f"Means over the {record.questions.get(record.split, 0):,} {record.split} questions; the "
        "best of each column's metric and questions is bold. Intervals are below."
    )


def _choice(result: ExperimentResult) -> Iterator[str]:
    record = result.record
    if not record.chosen:
        yield note(next(_of_choice(result)))
        return
    rows = [
        {
            "of": group or "all arms",
            "chosen": arm,
            f"{record.criterion}@{TOP_N} on dev": with_interval(_mean(result, arm, split="dev")),
            f"on {record.split}": with_interval(_mean(result, arm, split=record.split)),
        }
        for group, arm in record.chosen.items()
    ]
    yield table(list(rows[0]), rows)


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


def _differences(result: ExperimentResult) -> Iterator[str]:
    rows = _difference_rows(result, result.differences, measures=result.design.compared)
    if not rows:
        yield note("One arm alone: there is nothing to compare it with.")
        return
    yield note(ABOUT_DIFFERENCES)
    yield table(list(rows[0]), rows)


def _slices(result: ExperimentResult) -> Iterator[str]:
    if not result.slices:
        return
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
    yield note(
        "A slice of what the reference missed makes any other arm look better: only the size of "
        "the gain is of interest there."
    )
    yield table(list(rows[0]), rows) if rows else note("No question is in any slice.")


def _weights(result: ExperimentResult) -> Mapping[str, list[float]]:
    """For each arm that weights domains: the weight of documents for each question."""
    return {
        name: [weight for weight in extras["document_weight"].to_pylist() if weight is not None]
        for name, extras in result.extras.items()
        if extras["document_weight"].null_count < len(extras)
    }


def _extras(result: ExperimentResult) -> Iterator[str]:
    weights = _weights(result)
    if weights:
        rows = [_weight_row(name, np.array(values)) for name, values in weights.items()]
        yield f"<h3>Weight of documents over all questions</h3>{table(list(rows[0]), rows)}"
    if rows := _agreements(result):
        yield f"<h3>{ABOUT_AGREEMENTS}</h3>{table(list(rows[0]), rows)}"


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


def _weight_row(name: str, weights: np.ndarray) -> Row:
    low, middle, high = np.quantile(weights, [0.25, 0.5, 0.75])
    return {
        "arm": name,
        "questions": len(weights),
        "mean": f"{weights.mean():.3f}",
        "lower quartile": f"{low:.3f}",
        "median": f"{middle:.3f}",
        "upper quartile": f"{high:.3f}",
        "within 0.1 of 0.5": f"{np.mean(np.abs(weights - 0.5) <= 0.1):.0%}",
    }


def _costs(result: ExperimentResult) -> Iterator[str]:
    arms = result.record.arms
    stages = list(dict.fromkeys(stage for one in arms.values() for stage in one.run.milliseconds))
    has_model = any("not_rewritten" in one.run.cost for one in arms.values())
    rows = [
        {
            "arm": name,
            "p50 (ms)": f"{one.run.latency:.1f}",
            "p95 (ms)": "-" if one.run.p95 is None else f"{one.run.p95:.1f}",
            "lists searched": f"{one.run.cost.get('lists', 0):.1f}",
            "pairs scored": f"{one.run.cost.get('pairs', 0):.0f}",
            **(
                {"not rewritten": f"{one.run.cost.get('not_rewritten', 0):.1%}"}
                if has_model
                else {}
            ),
            **{
                f"{stage} (ms)": f"{one.run.milliseconds[stage]:.2f}"
                if stage in one.run.milliseconds
                else "-"
                for stage in stages
            },
        }
        for name, one in arms.items()
    ]
    yield note(
        "Median and 95th percentile of questions asked alone in a warm process in which nothing of "
        "them is known: no cache is read, and the models forget queries and texts before each. "
        "Lists and pairs: the work for one question, the same on any machine. Stages: median time "
        "of each."
        + (" Not rewritten: questions that the language model failed." if has_model else "")
    )
    yield table(list(rows[0]), rows)


def _all_arms(result: ExperimentResult) -> Iterator[str]:
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
                        f"{metric}@{TOP_N}": with_interval(found[metric])
                        for metric in (*SHOWN_METRICS, "map")
                    }
                    about = {"questions": domain, "n": found["mrr"]["questions"], "arm": name}
                    rows.append(about | cells)
        if rows:
            summary = f"<summary>{split} questions</summary>"
            yield f"<details>{summary}{table(list(rows[0]), rows)}</details>"
    main = [(record.criterion, TOP_N)]
    rows = _difference_rows(result, result.all_differences, measures=main)
    if rows:
        summary = f"<summary>All arms against {escape(record.reference)}</summary>"
        yield f"<details>{summary}{table(list(rows[0]), rows)}</details>"


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


def _versions(result: ExperimentResult) -> Iterator[str]:
    record = result.record
    yield note(f"Replay: rag-assets experiment {record.name} --replay {record.id}")
    rows = [{"what": name, "version": value} for name, value in record.versions.items()]
    yield table(["what", "version"], rows)
    rows = [{"variant": name, **settings} for name, settings in record.variants.items()]
    yield table(list(rows[0]), rows)
    rows = [
        {"arm": name, "variant": one.variant, "retriever": str(one.retriever)}
        for name, one in record.arms.items()
    ]
    yield f"<details><summary>Arms</summary>{table(list(rows[0]), rows)}</details>"
