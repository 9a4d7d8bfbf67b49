"""A cross-encoder that starts from the trained retriever and learns to tell texts apart.

P1 (sections 3.2 and 4.1): the reranker takes over the weights of the fine-tuned retriever, with a
new head, and is trained on each positive beside three of the texts that the retriever ranked high
and that do not answer. Two losses: binary cross-entropy, and TS+TCL (see `term_control`). Whichever
it was, the folder that is saved holds a plain cross-encoder of sentence-transformers.
"""

# ruff: noqa: TID253 - imported only inside functions that train

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import torch
from datasets import Dataset
from sentence_transformers import CrossEncoder
from sentence_transformers.base.evaluation import BaseEvaluator
from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
from sentence_transformers.cross_encoder.evaluation import CrossEncoderRerankingEvaluator
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from transformers import TrainerCallback, set_seed

from rag_assets.config.training import RerankerTraining
from rag_assets.laboratory.training.retriever import freeze_token_vectors
from rag_assets.laboratory.training.running import TrainingRun, parts_of, run
from rag_assets.laboratory.training.term_control import TermControlLoss

METRIC = "validation_map"
"""Mean average precision of the positives among the negatives of their question."""
VALIDATION_QUESTIONS = 128
LAYERS = "training_layers.pt"
"""In a checkpoint: the layers of the loss, which no model keeps."""


def train_reranker(
    pairs: pa.Table,
    *,
    start: Path,
    recipe: RerankerTraining,
    checkpoints: Path,
    out: Path,
    log: Callable[[str], None],
) -> TrainingRun:
    """Train a cross-encoder that starts as the retriever in `start`, and save it to `out`.

    Args:
        pairs: The columns question_id, question, text, negatives and part of
            `schemas.TRAINING_PAIRS`.
        start: A folder that sentence-transformers can load.
        recipe: How it is trained.
        checkpoints: Folder to go on from after a kill.
        out: Folder for the trained model.
        log: Receives progress.

    Raises:
        ValueError: There is no pair to train on or none to validate with, or the model cannot be
            trained as the recipe says.
    """
    usable = pairs.filter(pc.list_value_length(pc.field("negatives")) > 0)
    training, validation = parts_of(usable, what="pairs with negatives")
    set_seed(recipe.seed)
    model = cross_encoder(start)
    window = model.max_seq_length
    model.max_seq_length = min(recipe.max_tokens, window or recipe.max_tokens)
    data = labelled(training, recipe)
    loss = TermControlLoss if recipe.loss == "ts_tcl" else BinaryCrossEntropyLoss

    def build(
        arguments: Mapping[str, Any], callbacks: Sequence[TrainerCallback]
    ) -> RerankerTrainer:
        return RerankerTrainer(
            model=model,
            args=CrossEncoderTrainingArguments(**arguments),
            train_dataset=data,
            loss=loss(model),
            evaluator=_evaluator(validation),
            callbacks=list(callbacks),
        )

    progress = run(
        build, recipe=recipe, examples=len(data), folder=checkpoints, metric=METRIC, log=log
    )
    model.max_seq_length = window
    model.save(str(out), create_model_card=False)
    return progress


def cross_encoder(start: Path) -> CrossEncoder:
    """The model in `start` with a new head, its vectors of tokens frozen where there are very many.

    Raises:
        ValueError: Its tokenizer does not part a question from a text.
    """
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    model = CrossEncoder(
        str(start),
        num_labels=1,
        device="cuda" if torch.cuda.is_available() else "cpu",
        local_files_only=True,
        model_kwargs={"dtype": torch.float32},
    )
    if model.tokenizer.num_special_tokens_to_add(pair=True) < 3:
        raise ValueError(
            f"the tokenizer in {start} joins a question and a text without a token between them: "
            "give its post-processor a template for pairs"
        )
    freeze_token_vectors(model)
    return model


def labelled(pairs: pa.Table, recipe: RerankerTraining) -> Dataset:
    """The columns question, text and label: each positive (1), and some of its negatives (0)."""
    draw = Random(recipe.seed)
    rows: list[tuple[str, str, float]] = []
    for pair in pairs.select(["question", "text", "negatives"]).to_pylist():
        chosen = draw.sample(pair["negatives"], min(recipe.hard_negatives, len(pair["negatives"])))
        rows.append((pair["question"], pair["text"], 1.0))
        rows += [(pair["question"], text, 0.0) for text in chosen]
    questions, texts, labels = zip(*rows, strict=True)
    return Dataset.from_dict({"question": questions, "text": texts, "label": labels})


class RerankerTrainer(CrossEncoderTrainer):
    """It keeps the layers of the loss in checkpoints, so that they go on as they were."""

    def _save(self, output_dir: str | None = None, state_dict: dict | None = None) -> None:
        super()._save(output_dir, state_dict)
        torch.save(
            self._layers().state_dict(), Path(output_dir or str(self.args.output_dir)) / LAYERS
        )

    def _load_from_checkpoint(self, checkpoint_path: str) -> None:
        super()._load_from_checkpoint(checkpoint_path)
        kept = torch.load(Path(checkpoint_path) / LAYERS, weights_only=True)
        self._layers().load_state_dict(kept)

    def _layers(self) -> torch.nn.ModuleDict:
        loss = self.loss
        assert isinstance(loss, torch.nn.Module), "one loss for all data"
        return torch.nn.ModuleDict(
            {name: each for name, each in loss.named_children() if name != "model"}
        )


def _evaluator(validation: pa.Table) -> BaseEvaluator:
    """Ranks the positives of each question among its negatives."""
    samples: dict[str, dict] = {}
    for pair in validation.to_pylist():
        if pair["question_id"] in samples or len(samples) < VALIDATION_QUESTIONS:
            sample = samples.setdefault(
                pair["question_id"],
                {"query": pair["question"], "positive": [], "negative": pair["negatives"]},
            )
            sample["positive"].append(pair["text"])
    return CrossEncoderRerankingEvaluator([*samples.values()], name="validation", write_csv=False)
