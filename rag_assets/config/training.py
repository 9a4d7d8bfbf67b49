"""The section `training`: models that learn from one's own questions.

A model path `trained:NAME` means the newest weights that were trained under that name. It is
resolved to their folder when the config is loaded, so that newer weights are another recipe: what
serves goes on with the folder that it was built with.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias, get_args

from pydantic import Field

from rag_assets.config.base import Section, Slug

TRAINED = "trained:"
"""Begins a path that names weights of a training."""
LEARNED = "questions.json"
"""The file beside trained weights with the ids of the questions that they learned from."""
WEIGHTS = "weights"
"""Folder of all trained weights, in the state."""
CHECKPOINTS = "training"
"""Folder of trainings that go on, or were killed, in the state."""
NEWEST = "newest"
"""File that names the folder of the newest weights of a name."""
HARD_NEGATIVES = 7
"""The hard negatives that are mined for each question: as many as FlagEmbedding takes by
default."""

Kind: TypeAlias = Literal["retriever", "reranker"]


class RetrieverTraining(Section):
    """How an embedding model is fine-tuned."""

    model: Slug | None = Field(
        None, description="entry of models to start from; the default model unless given"
    )
    hard_negatives: int = Field(
        1,
        ge=0,
        le=HARD_NEGATIVES,
        description="wrong texts beside each right one; 0: the other texts of a batch alone",
    )
    epochs: int = Field(
        3, gt=0, le=100, description="at most; it ends before where the validation gains no more"
    )
    batch_size: int = Field(
        32, gt=1, le=4_096, description="questions at once; more is better, if memory allows"
    )
    learning_rate: float = Field(2e-5, gt=0, lt=1)
    max_tokens: int = Field(256, ge=16, description="longer texts are cut while it learns")
    seed: int = Field(0, ge=0, description="of all random numbers")


class RerankerTraining(Section):
    """How a cross-encoder is trained."""

    retriever: Slug = Field(description="entry of training.retrievers whose weights it starts from")
    loss: Literal["bce", "ts_tcl"] = Field(
        "bce",
        description="bce: cross-entropy of each pair; ts_tcl: also of the pair with only those "
        "words of the text that are nearest to the question's, at twice the time",
    )
    hard_negatives: int = Field(
        3, gt=0, le=HARD_NEGATIVES, description="wrong texts beside each right one"
    )
    epochs: int = Field(
        2, gt=0, le=100, description="at most; it ends before where the validation gains no more"
    )
    batch_size: int = Field(16, gt=0, le=4_096, description="questions with a text at once")
    learning_rate: float = Field(5e-5, gt=0, lt=1)
    max_tokens: int = Field(
        256, ge=16, description="a longer question with its text is cut while it learns"
    )
    seed: int = Field(0, ge=0, description="of all random numbers")


class Training(Section):
    """What is trained, and on which questions."""

    variant: Slug | None = Field(
        None,
        description="the variant whose units are trained on as it writes them, and whose index "
        "finds wrong ones; the one of serving.variant unless given",
    )
    questions: Literal["people", "made", "both"] = Field(
        "both", description="whose questions of the split train are learned from"
    )
    retrievers: dict[Slug, RetrieverTraining] = Field(
        {}, description="each becomes an entry of models of the same name"
    )
    rerankers: dict[Slug, RerankerTraining] = Field({})

    @property
    def names(self) -> Mapping[str, Kind]:
        """What is trained, by name, in the order in which it has to be."""
        kinds: Sequence[tuple[Kind, Iterable[str]]] = (
            ("retriever", self.retrievers),
            ("reranker", self.rerankers),
        )
        return {name: kind for kind, names in kinds for name in names}

    @property
    def needs_pairs(self) -> bool:
        """Whether anything learns from questions."""
        return bool(self.retrievers or self.rerankers)


def folder_of(state: Path, kind: Kind, name: str) -> Path:
    """The folder of all weights of a name, with a folder for each training that gave others."""
    return state / WEIGHTS / kind / name


def newest_weights(state: Path, kind: Kind, name: str) -> Path | None:
    """The folder of the newest weights of a name; None before the first training has ended."""
    folder = folder_of(state, kind, name)
    try:
        found = folder / (folder / NEWEST).read_text("utf-8").strip()
    except OSError:
        return None
    return found if found.is_dir() else None


def with_trained(path: str, *, state: Path, kind: Kind) -> str:
    """`path`, or the folder that it means if it is `trained:NAME` and there is one."""
    if not path.startswith(TRAINED):
        return path
    return str(newest_weights(state, kind, path.removeprefix(TRAINED)) or path)


def place_in_state(path: str | Path) -> Path | None:
    """The path of trained weights within a state; None for any other path."""
    section, kind, *place = ("", "", *Path(path).parts)[-4:]
    is_trained = section == WEIGHTS and kind in get_args(Kind)
    return Path(section, kind, *place) if is_trained else None


def trained_as(path: str) -> str:
    """The name of the trained weights that `path` means; the path itself if it means others."""
    place = place_in_state(path)
    return place.parts[-2] if place else path.removeprefix(TRAINED)
