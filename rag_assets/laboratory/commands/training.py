"""`rag-assets training`: fine-tune models on one's own questions, and write the pairs to a file."""

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.reports.text_tables import table
from rag_assets.serving import job_runs, refresh_run
from rag_assets.serving.replies import (
    CommandError,
    Json,
    Reply,
    UsageError,
    project_of,
    write_file,
)
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.laboratory.training.weights import Trained

SUMMARY = "fine-tune models on your questions, for a variant of their own"
EXAMPLES = """\
  rag-assets training                      what was trained, from what, and how it went
  rag-assets training run                  train all models of the section training
  rag-assets training run tuned            one of them; after a kill it goes on where it stopped
  rag-assets training export pairs.jsonl   questions with right and wrong texts, for others"""
UNCONFIGURED = (
    "the config trains nothing: add, for example, `training: {retrievers: {tuned: {}}}` and a "
    "variant with `model: tuned` (see docs/training.md)"
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the arguments of this command."""
    command.add_argument(
        "action",
        nargs="?",
        choices=("run", "status", "export"),
        default="status",
        help="what to do; status (default): what was trained",
    )
    command.add_argument(
        "name",
        nargs="?",
        metavar="NAME|FILE",
        help="of run and status: the entry of the section training (default: all); of export: the "
        "file, one JSON object a line with query, pos and neg, as FlagEmbedding and others read "
        "them, and the answer where the question has one",
    )
    command.add_argument(
        "--part",
        choices=("train", "validation", "all"),
        default="train",
        help="of export: which pairs (default: train)",
    )


def run(options: argparse.Namespace) -> Reply:
    """Do the action."""
    config, _ = project_of(options)
    if not config.training.names:
        raise CommandError(UNCONFIGURED)
    name = options.name
    if options.action != "export" and name not in (None, *config.training.names):
        known = ", ".join(config.training.names)
        raise UsageError(f"the section training has no entry {name}; there are {known}")
    match options.action:
        case "run":
            return _trained(config, name)
        case "export":
            if name is None:
                raise UsageError("name the file to write")
            return _exported(config, Path(name), part=options.part)
    return _status(config, only=name)


def _trained(config: Config, name: str | None) -> Reply:
    from rag_assets.laboratory.training.assets import JOB, keys_of

    with refresh_run.alone(config):
        job_runs.execute_all(config, JOB, assets=keys_of(config, name) if name else None)
    found = _status(configuration.load(), only=name)
    return Reply(
        found.record,
        f"{found.text}\n\nNext: `rag-assets refresh --variant VARIANT` for a variant with such a "
        "model, then `rag-assets evaluate` and `rag-assets variants promote VARIANT`.",
    )


def _status(config: Config, *, only: str | None = None) -> Reply:
    """What was trained under each name, and what it gained on the validation part."""
    rows = list(_rows(config, only=only))
    columns = ["name", "kind", "trained", "metric", "before", "after", "minutes", "variants"]
    return Reply({"models": rows}, table(rows, columns=columns))


def _rows(config: Config, *, only: str | None) -> Iterator[dict[str, Json]]:
    from rag_assets.laboratory.training.weights import newest

    for name, kind in config.training.names.items():
        if only not in (None, name):
            continue
        found = newest(config.state_dir, kind, name)
        using = [each for each, recipe in config.variants.items() if name in recipe.models]
        yield {
            "name": name,
            "kind": kind,
            "trained": "not yet",
            **(_row(found) if found else {}),
            "variants": ", ".join(using) or "none",
        }


def _row(found: "Trained") -> Mapping[str, Json]:
    progress = found.progress
    return {
        "trained": found.trained_at[:16].replace("T", " "),
        "metric": progress.metric.rpartition("_")[2],
        "before": round(progress.before, 4),
        "after": round(progress.best, 4),
        "minutes": round(progress.seconds / 60, 1),
        "weights": str(found.folder),
        "made_from": json.loads(json.dumps(found.made_from)),
    }


def _exported(config: Config, file: Path, *, part: str) -> Reply:
    from rag_assets.laboratory.answer_evaluation.answer_items import References
    from rag_assets.laboratory.training.trainers import read_pairs

    store = Store.of(config)
    pairs = read_pairs(store).to_pylist()
    answers = References.of(store, config, {}).answers
    questions: dict[str, dict[str, list[str]]] = {}
    texts = {}
    for row in pairs:
        if part in ("all", row["part"]):
            texts[row["question_id"]] = row["question"]
            found = questions.setdefault(row["question_id"], {"pos": [], "neg": []})
            found["pos"].append(row["text"])
            found["neg"] = [*dict.fromkeys([*found["neg"], *row["negatives"]])]
    lines = [
        json.dumps(
            {"query": texts[name], **found}
            | ({"answer": answers[name]} if answers.get(name) else {}),
            ensure_ascii=False,
        )
        for name, found in questions.items()
    ]
    write_file(file, "".join(f"{line}\n" for line in lines))
    return Reply(
        {"questions": len(lines), "file": str(file)},
        f"{len(lines):,} questions written to {file}, prefixes of the model not included",
    )
