"""Unified fine-tuning of BGE-M3: its dense, sparse and multi-vectors at once, by FlagEmbedding.

This is the code by which P1 (sections 3.2 and 4.1) trained its retriever: each of the three scores,
and their sum, ranks the positive before the negatives of its question and the texts of the others
in the batch; then each learns from the sum (self-distillation; Chen et al. 2024, arXiv:2402.03216,
section 3.3). FlagEmbedding computes all of it. Three things are done otherwise here. Its trainer
saves a model in another layout than it resumes from, which fails. It draws negatives while it loads
batches, so that a resumed training would draw others. And it measures nothing while it trains.
"""
# ruff: noqa: TID253 - imported only inside functions that train

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa
import torch
from FlagEmbedding.abc.finetune.embedder import AbsEmbedderCollator
from FlagEmbedding.finetune.embedder.encoder_only.m3 import (
    EncoderOnlyEmbedderM3Model,
    EncoderOnlyEmbedderM3Runner,
    EncoderOnlyEmbedderM3Trainer,
)
from transformers import AutoTokenizer, TrainerCallback, TrainingArguments, set_seed

from rag_assets.laboratory.training.retriever import Recipe, dataset_of
from rag_assets.laboratory.training.running import TrainingRun, parts_of, run

Example: TypeAlias = tuple[str, list[str], None]
"""A question; its positive, then its negatives; scores of a teacher, of which there are none."""
TEMPERATURE = 0.02
"""The default of FlagEmbedding."""
METRIC = "mrr"
"""Of each positive among the negatives of its question, by the sum of the three scores."""
VALIDATION_NEGATIVES = 7
SPECIAL = ("bos", "cls", "eos", "pad", "unk")
"""Tokens that FlagEmbedding needs: most of them have no weight."""
WEIGHTS = ("*.safetensors", "*.bin", "*.pt", "onnx", ".*")


def train_m3(
    pairs: pa.Table,
    *,
    start: Path,
    recipe: Recipe,
    checkpoints: Path,
    out: Path,
    log: Callable[[str], None],
) -> TrainingRun:
    """Train the model in `start` on `pairs`, and save it with its three heads to `out`.

    Args:
        pairs: The columns question, text, negatives and part of `schemas.TRAINING_PAIRS`.
        start: A folder of BGE-M3, or of an XLM-RoBERTa, which gets new heads.
        recipe: How it is trained.
        checkpoints: Folder to go on from after a kill.
        out: Folder for the trained model, new or empty.
        log: Receives progress.

    Raises:
        ValueError: There is no pair to train on or none to validate with, or the tokenizer lacks
            special tokens.
    """
    training, validation = parts_of(pairs)
    set_seed(recipe.seed)
    model = _model_in(start)
    # positions of an XLM-RoBERTa begin behind the padding id
    window = model.model.config.max_position_embeddings - model.model.config.pad_token_id - 1
    recipe = replace(recipe, max_tokens=min(recipe.max_tokens, window))
    examples = examples_of(training, recipe)
    asked = examples_of(validation, replace(recipe, hard_negatives=VALIDATION_NEGATIVES))

    def build(arguments: Mapping[str, Any], callbacks: Sequence[TrainerCallback]) -> M3Trainer:
        return M3Trainer(
            model=model,
            args=TrainingArguments(**arguments),
            train_dataset=examples,
            eval_dataset=asked,
            data_collator=AbsEmbedderCollator(
                model.tokenizer,
                query_max_len=recipe.max_tokens,
                passage_max_len=recipe.max_tokens,
            ),
            processing_class=model.tokenizer,
            callbacks=list(callbacks),
        )

    progress = run(
        build, recipe=recipe, examples=len(examples), folder=checkpoints, metric=METRIC, log=log
    )
    ignored = shutil.ignore_patterns(*WEIGHTS)
    shutil.copytree(start, out, ignore=ignored, dirs_exist_ok=True)  # with what else it needs
    model.save(str(out))
    return progress


def examples_of(pairs: pa.Table, recipe: Recipe) -> list[Example]:
    """The pairs as FlagEmbedding takes them, all with the same number of negatives."""
    rows = dataset_of(pairs, recipe).to_list()
    return [(row.pop("query"), [*row.values()], None) for row in rows]


class M3Trainer(EncoderOnlyEmbedderM3Trainer):
    """FlagEmbedding's trainer, which resumes, and measures on the validation part."""

    model: EncoderOnlyEmbedderM3Model

    def evaluate(self, *_: object, **__: object) -> dict[str, float]:
        """Measure `METRIC`."""
        self.model.eval()
        with torch.no_grad():
            ranks = torch.cat([self._ranks(**batch) for batch in self.get_eval_dataloader()])
        self.model.train()
        metrics = {f"eval_{METRIC}": float((1 / ranks).mean())}
        self.log(metrics)
        self.control = self.callback_handler.on_evaluate(
            self.args, self.state, self.control, metrics
        )
        return metrics

    def _ranks(self, queries: dict, passages: dict, **_: object) -> torch.Tensor:
        """The rank of the positive of each query, (queries,) from 1; of equal scores the worst."""
        model = self.model
        dense, sparse, multi = zip(model.encode(queries), model.encode(passages), strict=True)
        scores = model.ensemble_score(
            *dense,
            dense_scores=model.compute_dense_score(*dense),
            sparse_scores=model.compute_sparse_score(*sparse),
            colbert_scores=model.compute_colbert_score(*multi, q_mask=queries["attention_mask"]),
        )
        own = model.get_local_score(*dense, scores)
        return (own >= own[:, :1]).sum(dim=1)

    def _load_from_checkpoint(
        self, resume_from_checkpoint: str, model: torch.nn.Module | None = None
    ) -> None:
        for name, part in EncoderOnlyEmbedderM3Runner.get_model(resume_from_checkpoint).items():
            getattr(model or self.model, name).load_state_dict(part.state_dict())

    def _load_best_model(self) -> None:
        self._load_from_checkpoint(str(self.state.best_model_checkpoint))


def _model_in(start: Path) -> EncoderOnlyEmbedderM3Model:
    tokenizer: Any = AutoTokenizer.from_pretrained(start, local_files_only=True)
    lacking = [name for name in SPECIAL if getattr(tokenizer, f"{name}_token_id") is None]
    if lacking:
        raise ValueError(
            f"backend flag_embedding cannot train the model in {start}: its tokenizer has no token "
            f"{', '.join(lacking)}. Start from BAAI/bge-m3 or another XLM-RoBERTa, or choose the "
            "backend sentence_transformers"
        )
    return EncoderOnlyEmbedderM3Model(
        EncoderOnlyEmbedderM3Runner.get_model(str(start), torch_dtype=torch.float32),
        tokenizer=tokenizer,
        temperature=TEMPERATURE,
        normalize_embeddings=True,
        use_self_distill=True,
        kd_loss_type="kl_div",
    )
