"""What all trainers share: checkpoints, going on after a kill, early stopping, and the curves.

The trainers of Hugging Face do the work. The same seed, data and device give the same weights: what
was killed goes on from its last whole checkpoint with the same random numbers, and ends with the
weights of a run that nobody disturbed. On a GPU sums may be added up in another order.
"""

import json
import math
import platform
import shutil
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from rag_assets.models.paths import has_bf16

if TYPE_CHECKING:
    from transformers import Trainer, TrainerCallback

Point: TypeAlias = tuple[float, float]
Build: TypeAlias = "Callable[[Mapping[str, Any], Sequence[TrainerCallback]], Trainer]"
"""Makes the trainer, given arguments for its `TrainingArguments` and its callbacks."""

STATE = "trainer_state.json"
"""The last file that a checkpoint gets: one without it was cut off by a kill."""
STARTED = "started.json"
"""What the validation part gave before the first step."""
PATIENCE = 3
"""Validations without a gain after which training ends."""
MOST_TIMES = 6
"""A pair of a rare domain is learned from at most so often in an epoch."""
MOST_STEPS_BETWEEN = 250
"""Steps after which there is a validation and a checkpoint, however long an epoch is."""
WARM_UP = 0.1
"""Share of the steps in which the learning rate rises."""


class LearningSchedule(Protocol):
    """What all recipes say."""

    @property
    def epochs(self) -> int:
        """At most."""
        ...

    @property
    def batch_size(self) -> int:
        """Examples of a step."""
        ...

    @property
    def learning_rate(self) -> float:
        """At its highest."""
        ...

    @property
    def seed(self) -> int:
        """Of all random numbers."""
        ...


@dataclass(frozen=True, slots=True)
class TrainingRun:
    """What a training did."""

    metric: str
    """What the validation part was measured by."""
    before: float
    """The metric of the weights that it started from."""
    best: float
    """The metric of the weights that it ended with."""
    loss: Sequence[Point]
    """Step and mean loss since the step before."""
    validation: Sequence[Point]
    """Step and metric, from step 0."""
    steps: int
    resumed_at: int
    """The step that it went on from; 0 if it was not killed."""
    seconds: float
    """Since then."""
    examples_per_second: float
    """Likewise, validations and checkpoints included."""
    hardware: str


def run(
    build: Build,
    *,
    recipe: LearningSchedule,
    examples: int,
    folder: Path,
    metric: str,
    log: Callable[[str], None],
) -> TrainingRun:
    """Train; the model of the trainer has the best weights afterwards.

    Args:
        build: Makes the trainer.
        recipe: Epochs, batches, learning rate and seed.
        examples: How many are learned from in an epoch.
        folder: Where checkpoints lie; those of an earlier call are gone on from.
        metric: What the evaluator of the trainer gives; more is better.
        log: Receives a line now and then.

    Raises:
        ValueError: It diverged, or the memory of the GPU is too small.
    """
    import torch
    from transformers import EarlyStoppingCallback, PrinterCallback

    be_quiet()
    folder.mkdir(parents=True, exist_ok=True)
    last = _last_checkpoint(folder)
    every = min(math.ceil(examples / recipe.batch_size), MOST_STEPS_BETWEEN)
    is_cuda = torch.cuda.is_available()
    in_bf16 = torch.cuda.is_bf16_supported() if is_cuda else has_bf16()
    arguments = {
        **schedule_of(recipe),
        "output_dir": str(folder),
        "use_cpu": not is_cuda,
        "bf16": in_bf16,
        "fp16": is_cuda and not in_bf16,
        "report_to": "none",
        "disable_tqdm": True,
        "logging_steps": max(1, every // 5),
        "logging_nan_inf_filter": False,
        "eval_strategy": "steps",
        "eval_steps": every,
        "save_strategy": "steps",
        "save_steps": every,
        "save_total_limit": 2,
        "load_best_model_at_end": True,
        "restore_callback_states_from_checkpoint": True,
        "metric_for_best_model": f"eval_{metric}",
        "greater_is_better": True,
    }
    with _deterministic():
        callbacks = [EarlyStoppingCallback(PATIENCE), _telling(log)]
        trainer = build(arguments, callbacks)
        trainer.remove_callback(PrinterCallback)
        try:
            before = _before(trainer, folder / STARTED, metric=f"eval_{metric}", log=log)
            started = time.monotonic()
            trainer.train(resume_from_checkpoint=str(last) if last else None)
        except torch.OutOfMemoryError as error:
            raise ValueError(
                f"the memory of the GPU is too small for batches of {recipe.batch_size:,}: lower "
                "batch_size or max_tokens"
            ) from error
    seconds = time.monotonic() - started
    resumed_at = int(last.name.rpartition("-")[2]) if last else 0
    history = trainer.state.log_history
    if lost := [step for step, loss in _points(history, "loss") if not math.isfinite(loss)]:
        raise ValueError(f"at step {lost[0]:,} its loss is no number: lower learning_rate")
    validation = [(0, before), *_points(history, f"eval_{metric}")]
    return TrainingRun(
        metric=metric,
        before=before,
        best=max((value for step, value in validation if step), default=before),
        loss=_points(history, "loss"),
        validation=validation,
        steps=trainer.state.global_step,
        resumed_at=resumed_at,
        seconds=round(seconds, 1),
        examples_per_second=round(
            (trainer.state.global_step - resumed_at) * recipe.batch_size / max(seconds, 1e-9), 2
        ),
        hardware=_hardware(),
    )


def be_quiet() -> None:
    """Keep bars and advice of the libraries out of logs."""
    import datasets
    from transformers.utils import logging

    logging.set_verbosity_error()
    logging.disable_progress_bar()
    datasets.disable_progress_bars()


def schedule_of(recipe: LearningSchedule) -> dict[str, Any]:
    """What a recipe says, as `TrainingArguments` of transformers take it."""
    return {
        "num_train_epochs": recipe.epochs,
        "per_device_train_batch_size": recipe.batch_size,
        "per_device_eval_batch_size": recipe.batch_size,
        "learning_rate": recipe.learning_rate,
        "warmup_steps": WARM_UP,
        "seed": recipe.seed,
        "data_seed": recipe.seed,
    }


def parts_of(pairs: pa.Table, *, what: str = "pairs") -> tuple[pa.Table, pa.Table]:
    """The pairs to train on (`balanced`), and those to validate with; an error calls them `what`.

    Raises:
        ValueError: There are none of one kind.
    """
    training, validation = (
        pairs.filter(pc.field("part") == part) for part in ("train", "validation")
    )
    if not (len(training) and len(validation)):
        raise ValueError(
            f"{what} to train on and for validation are needed, and there are {len(training):,} "
            f"and {len(validation):,}: more questions are needed"
        )
    return balanced(training), validation


def balanced(pairs: pa.Table) -> pa.Table:
    """The pairs, those of the rarer domain again until both count alike, at most `MOST_TIMES`.

    What is trained on wins over what is not: of questions that are to documents in 85 of 100, a
    model learns to rank documents first. A table without the column domain stays as it is.
    """
    if "domain" not in pairs.column_names:
        return pairs
    places: dict[str, list[int]] = {}
    for place, domain in enumerate(pairs["domain"].to_pylist()):
        places.setdefault(domain, []).append(place)
    most = max(map(len, places.values()), default=0)
    return pairs.take(
        [
            place
            for own in places.values()
            for place in islice(cycle(own), min(most, MOST_TIMES * len(own)))
        ]
    )


def _last_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint; what a kill cut off is removed."""
    whole: list[Path] = []
    for each in folder.glob("checkpoint-*"):
        try:
            json.loads((each / STATE).read_text("utf-8"))
        except (OSError, ValueError):
            shutil.rmtree(each)
        else:
            whole.append(each)
    return max(whole, key=lambda each: int(each.name.rpartition("-")[2]), default=None)


def _before(trainer: "Trainer", file: Path, *, metric: str, log: Callable[[str], None]) -> float:
    """What the weights at the start give on the validation part, measured once."""
    try:
        return float(json.loads(file.read_text("utf-8")))
    except (OSError, ValueError):
        value = float(trainer.evaluate()[metric])
    log(f"before training: {metric.removeprefix('eval_')} {value:.4f}")
    file.write_text(json.dumps(value), "utf-8")
    return value


def _points(history: Sequence[Mapping[str, float]], name: str) -> list[Point]:
    """The values of the trainer's log by step: the last one where a step stands twice."""
    found = {int(each["step"]): round(float(each[name]), 6) for each in history if name in each}
    return sorted(found.items())


@contextmanager
def _deterministic() -> Generator[None]:
    import torch

    was = torch.are_deterministic_algorithms_enabled()
    torch.use_deterministic_algorithms(True, warn_only=True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(was)


def _telling(log: Callable[[str], None]) -> "TrainerCallback":
    """A callback that says how far the training is."""
    from transformers import TrainerCallback, TrainerState, TrainingArguments

    class Telling(TrainerCallback):
        first: tuple[float, int] | None = None
        """When it told something first, and of which step."""

        def on_log(
            self, args: TrainingArguments, state: TrainerState, *_: object, **given: Any
        ) -> None:
            found, step, now = given["logs"], state.global_step, time.monotonic()
            metric = str(args.metric_for_best_model)
            if metric in found and step:
                log(f"step {step:,}: {metric.removeprefix('eval_')} {float(found[metric]):.4f}")
            if "loss" not in found:
                return
            at, before = self.first = self.first or (now, step)
            to_do = (state.max_steps - step) * (now - at) / max(step - before, 1) / 60
            log(
                f"step {step:,} of {state.max_steps:,}: loss {float(found['loss']):.4f}"
                + (f", at most {to_do:,.1f} minutes left" if step > before else "")
            )

    return Telling()


def _hardware() -> str:
    import torch

    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name()}, torch {torch.__version__}"
    return f"{platform.machine()}, {torch.get_num_threads()} threads, torch {torch.__version__}"
