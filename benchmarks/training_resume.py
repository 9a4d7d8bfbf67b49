"""A training that is killed three times against one that nobody disturbs, and its speed.

usage: training_resume.py [--pairs 256] [--epochs 4]

The embedded MiniLM is trained on pairs of `ottqa_train` in a process of its own. Another process
with the same settings is killed (SIGKILL) as soon as it has written a checkpoint more, three times,
and started again each time. Both must end with the same metric on the validation part and, on a
CPU, with the same weights. Pairs a CPU second, with validations and checkpoints, must be at least
0.8 of those of the bare trainer of sentence-transformers, which does neither.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from bounds import at_least, dataset, equal, finish

from rag_assets.config import resolve_package_path
from rag_assets.config.models import DEFAULT_MODELS
from rag_assets.config.training import RetrieverTraining
from rag_assets.laboratory.training.retriever import (
    Recipe,
    dataset_of,
    train_retriever,
    trainable,
    trainer_of,
)
from rag_assets.laboratory.training.running import schedule_of

KILLS = 3
TOKENS, CHARACTERS = 64, 600
LEAST_SPEED = 0.8
SECONDS = 3_600
START = resolve_package_path(DEFAULT_MODELS["minilm"].path)


def pairs_of(count: int) -> pa.Table:
    """Questions of `ottqa_train` with the beginning of their gold document."""
    data = dataset("ottqa_train")
    lines = (data / "documents.jsonl").read_text("utf-8").splitlines()
    paths = {each["doc_id"]: data / each["path"] for each in map(json.loads, lines)}
    asked = map(json.loads, (data / "questions.jsonl").read_text("utf-8").splitlines())
    chosen = [each for each in asked if each["domain"] == "doc"][:count]
    golds = [each["gold"][0].removeprefix("doc:") for each in chosen]
    texts = [paths[each].read_text("utf-8")[:CHARACTERS] for each in golds]
    return pa.table(
        {
            "question_id": [each["id"] for each in chosen],
            "question": [each["question"] for each in chosen],
            "text": texts,
            "negatives": [[texts[(place + 17) % len(texts)]] for place in range(len(texts))],
            "part": ["train" if place % 8 else "validation" for place in range(len(texts))],
        }
    )


def recipe_of(epochs: int) -> Recipe:
    return Recipe.of(RetrieverTraining(epochs=epochs, batch_size=16, max_tokens=TOKENS))


def train(folder: Path, *, pairs: int, epochs: int) -> None:
    """What runs in a process of its own: train, and write down what it came to."""
    started = time.process_time()
    done = train_retriever(
        pairs_of(pairs),
        start=START,
        recipe=recipe_of(epochs),
        checkpoints=folder / "checkpoints",
        out=folder / "out",
        log=lambda line: print(f"  {line}", flush=True),
    )
    seconds = time.process_time() - started
    weights = hashlib.sha256((folder / "out" / "model.safetensors").read_bytes()).hexdigest()
    told = {"best": done.best, "steps": done.steps, "weights": weights, "seconds": seconds}
    (folder / "done.json").write_text(json.dumps(told), "utf-8")


def train_bare(folder: Path, *, pairs: int, epochs: int) -> None:
    """The same by the trainer alone: no validation, no checkpoint, nothing resumed."""
    started = time.process_time()
    model = trainable(START)
    model.max_seq_length = TOKENS
    recipe = recipe_of(epochs)
    rows = pairs_of(pairs)
    data = dataset_of(rows.filter(pc.equal(rows["part"], "train")), recipe)
    quiet = {"save_strategy": "no", "report_to": "none", "disable_tqdm": True, "use_cpu": True}
    arguments = {**schedule_of(recipe), "output_dir": str(folder), **quiet}
    trainer = trainer_of(model, data, arguments)
    trainer.train()
    told = {"steps": trainer.state.global_step, "seconds": time.process_time() - started}
    (folder / "done.json").write_text(json.dumps(told), "utf-8")


def process(what: str, folder: Path, arguments: argparse.Namespace) -> subprocess.Popen:
    """Start a training in a process of its own."""
    folder.mkdir(exist_ok=True)
    options = ["--pairs", str(arguments.pairs), "--epochs", str(arguments.epochs)]
    command = [sys.executable, __file__, "--run", what, str(folder), *options]
    return subprocess.Popen(command)


def finished(what: str, folder: Path, arguments: argparse.Namespace) -> dict:
    """What a training came to that nobody disturbs from now on."""
    if process(what, folder, arguments).wait(SECONDS):
        raise SystemExit(f"the training in {folder} failed")
    return json.loads((folder / "done.json").read_text("utf-8"))


def kill_once(folder: Path, arguments: argparse.Namespace) -> None:
    """Start a training, and kill it when it has written one checkpoint more."""
    places = folder / "checkpoints"

    def newest() -> int:
        found = places.glob("checkpoint-*/trainer_state.json")
        return max((int(file.parent.name.rpartition("-")[2]) for file in found), default=0)

    before, started = newest(), process("train", folder, arguments)
    while newest() <= before and started.poll() is None:
        time.sleep(0.2)
    started.kill()
    started.wait()
    print(f"killed at checkpoint {newest()}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--run", nargs=2, metavar=("WHAT", "FOLDER"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.run:
        what, folder = arguments.run
        does = {"train": train, "bare": train_bare}[what]
        does(Path(folder), pairs=arguments.pairs, epochs=arguments.epochs)
        return
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        bare = finished("bare", root / "bare", arguments)
        undisturbed = finished("train", root / "undisturbed", arguments)
        (root / "killed").mkdir()
        for _ in range(KILLS):
            kill_once(root / "killed", arguments)
        killed = finished("train", root / "killed", arguments)
    speeds = [each["steps"] / each["seconds"] for each in (undisturbed, bare)]
    print(f"steps a CPU second: {speeds[0]:.3f}, bare {speeds[1]:.3f}")
    finish(
        "training_resume",
        [
            equal("steps after three kills", killed["steps"], undisturbed["steps"]),
            equal("metric after three kills", killed["best"], undisturbed["best"]),
            equal("weights equal", int(killed["weights"] == undisturbed["weights"]), 1),
            at_least("pairs a CPU second, of the bare trainer", speeds[0] / speeds[1], LEAST_SPEED),
        ],
    )


if __name__ == "__main__":
    main()
