"""What the arm `lookup` does to the rankings of the default retriever; a part of lookup.py."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import yaml
from bounds import Bound, dataset, not_worse, rag_assets, within
from retrieval import write_config

from rag_assets.config.retrieval import Retrieval
from rag_assets.evaluation.intervals import SHARES, cluster_bootstrap, clusters_of

WITH_ARM = Retrieval.model_fields["retriever"].default
PLAIN = "without_lookup"
GAINS = (("materials_demo", "table"),)
"""Where the arm must help; elsewhere a loss of more than `MARGIN` has to be ruled out."""
MARGIN = 0.02
SAMPLES = 10_000


def ranking(state: Path, *, split: str) -> Iterator[Bound]:
    """Paired differences in hit@10 on each shared dataset."""
    for name in ("materials_demo", "ottqa"):
        config = ranking_config(dataset(name), state=state / name)
        done = rag_assets("refresh", "--json", config=config)
        if done.code not in (0, 3):
            raise SystemExit(f"the refresh failed: {done.output}")
        evaluated = rag_assets("evaluate", "--doctor", "--json", config=config)
        if not evaluated.output.strip():
            raise SystemExit(f"the evaluation of {name} failed")
        reports = state / name / "state" / "reports" / "default"
        yield from compared(name, reports, split=split)


def ranking_config(data: Path, *, state: Path) -> Path:
    """The config of a shared dataset, with the default retriever and the same without the arm."""
    path = write_config(data, state=state)
    config = yaml.safe_load(path.read_text())
    default = Retrieval().retrievers[WITH_ARM].model_dump(mode="json", exclude_defaults=True)
    config["retrieval"] = {"retrievers": {PLAIN: {**default, "arms": []}}}
    config["evaluation"]["retrievers"] = [PLAIN]
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path


def compared(name: str, reports: Path, *, split: str) -> Iterator[Bound]:
    """The bounds of one dataset, by domain of the questions."""
    rows = pq.read_table(reports / "questions.parquet", filters=[("level", "=", "gold")])
    rows = rows.filter(pc.field("split") == split)
    changed = changed_rankings(reports)
    for domain in ("document", "table"):
        pairs = paired(rows.filter(pc.field("domain") == domain).to_pylist())
        hits = np.array([[b["hit_rate@10"], b["hit_rate@10"] - a["hit_rate@10"]] for a, b in pairs])
        clusters = clusters_of(
            [a["source_cluster"] for a, _ in pairs], [a["gold_cluster"] for a, _ in pairs]
        )
        result = cluster_bootstrap(hits, clusters, samples=SAMPLES, limits=SHARES)
        low, high = float(result.low[1]), float(result.high[1])
        moved = np.mean([a["question_id"] in changed for a, _ in pairs])
        print(
            f"{name} {domain} ({split}, {len(pairs)}): hit@10 {result.means[0]:.3f} with the arm, "
            f"{result.means[1]:+.3f} ({low:+.3f} to {high:+.3f}); rankings changed {moved:.3f}"
        )
        yield within(f"{name} {domain}: share of rankings changed", float(moved), 0, 1)
        what = f"{name} {domain}: hit@10 with the arm - without"
        if (name, domain) in GAINS:
            yield Bound(f"{what}, lower end", round(low, 4), "> 0", ok=low > 0)
        else:
            yield not_worse(what, low, high, margin=MARGIN)


def paired(rows: list[dict]) -> list[tuple[dict, dict]]:
    """For each question its row without the arm and with it."""
    plain = {row["question_id"]: row for row in rows if row["retriever"] == PLAIN}
    return [
        (plain[row["question_id"]], row)
        for row in rows
        if row["retriever"] == WITH_ARM and row["question_id"] in plain
    ]


def changed_rankings(reports: Path) -> set[str]:
    """Questions whose first ten units differ."""
    table = pq.read_table(reports / "rankings.parquet").to_pylist()
    first: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for row in table:
        if row["rank"] <= 10:
            key = (row["question_id"], row["retriever"])
            first.setdefault(key, []).append((row["rank"], row["unit_id"]))
    asked = {question for question, _ in first}
    return {
        question
        for question in asked
        if sorted(first.get((question, PLAIN), [])) != sorted(first.get((question, WITH_ARM), []))
    }
