"""The section `evaluation`: question sets, retrievers and metrics."""

from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from rag_assets.config.base import Section, Slug, duplicates
from rag_assets.config.questions import GENERATED_SETS, PEOPLE
from rag_assets.config.retrieval import RetrieverName


class QuestionSet(Section):
    """A file of questions with gold evidence."""

    name: Slug = "questions"
    path: Path = Field(description="JSONL, one question a line")
    documents: Path | None = Field(
        None, description="documents.jsonl that maps the gold's document ids to paths"
    )
    generated: bool = Field(
        False, description="whether a program wrote the questions, such as a language model"
    )


class Evaluation(Section):
    """What is measured."""

    questions: list[QuestionSet] = Field([])
    retrievers: list[RetrieverName] = Field(
        ["baseline", "bm25", "hybrid", "fast"],
        min_length=1,
        description="compared with retrieval.retriever, which is always measured",
    )
    cutoffs: list[Annotated[int, Field(gt=0)]] = Field(
        [1, 3, 5, 10, 20], min_length=1, description="the k of hit_rate@k and the others"
    )
    bootstrap_samples: int = Field(2_000, gt=0)
    margin: float = Field(0.02, gt=0, le=1, description="a smaller difference does not matter")

    @field_validator("questions")
    @classmethod
    def _sets_are_named_once(cls, value: list[QuestionSet]) -> list[QuestionSet]:
        if twice := duplicates(item.name for item in value):
            raise ValueError(f"two sets are named {', '.join(twice)}: give each its own name")
        if taken := {PEOPLE, *GENERATED_SETS}.intersection(item.name for item in value):
            names = ", ".join(sorted(taken))
            raise ValueError(f"{names}: sets of the section questions are so named; take another")
        return value
