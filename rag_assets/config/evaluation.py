"""The section `evaluation`: question sets, retrievers and metrics."""

import tomllib
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field, ValidationInfo, field_validator
from typing_extensions import get_protocol_members

from rag_assets.api import CustomRubric
from rag_assets.config.base import ExtendedSection, Section, Slug, check_named, duplicates
from rag_assets.config.custom import SEE, check_custom, is_custom
from rag_assets.config.errors import ConfigError
from rag_assets.config.questions import GENERATED_SETS, PEOPLE
from rag_assets.config.retrieval import RetrieverName

RUBRICS_FOLDER = Path(__file__).parents[1] / "questions" / "judging" / "rubrics"
"""Each file here is a rubric, such as `correctness.toml`: a new one needs nothing else."""
_ORDER = (
    *("answer_scores", "answer_ranking", "correctness", "faithfulness", "answer_relevancy"),
    *("context_relevancy", "report_scores", "hit_relevance", "sentence_support"),
)
"""Rubrics that are asked first, in this order. It is in the fingerprint of a judge: it stays."""
RUBRICS = (*_ORDER, *sorted({file.stem for file in RUBRICS_FOLDER.glob("*.toml")} - {*_ORDER}))
"""The names of all rubrics, in the order in which they are asked."""


def _rubric(name: str, info: ValidationInfo) -> str:
    if is_custom(name):
        check_custom(name, CustomRubric, info)
    elif not name.endswith(".toml"):
        check_named(name, RUBRICS, kind="rubric", key="rubrics")
    return name


RubricName: TypeAlias = Annotated[str, AfterValidator(_rubric)]
"""One of `RUBRICS`, the path of a TOML file, or `module:NAME`."""


def check_rubric_file(file: Path) -> None:
    """Refuse a file of somebody's own that cannot be read, or lacks what a rubric needs.

    Raises:
        ConfigError: It cannot be used.
    """
    try:
        given = tomllib.loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise ConfigError(f"the rubric {file} cannot be used: {error}; {SEE}") from error
    needed = get_protocol_members(CustomRubric) - {"revision"}
    if lacking := sorted(needed - given.keys()):
        raise ConfigError(f"the rubric {file} lacks {', '.join(lacking)}; {SEE}")


def rubric_label(name: RubricName) -> str:
    """What people call a rubric: the name of its file, or of the part, alone."""
    return name if name in RUBRICS else Path(name.rpartition(":")[2]).stem


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
    train: float = Field(
        0,
        ge=0,
        le=1,
        description="share of documents and tables whose questions here are to train on, and "
        "measure nothing: those with all of their gold there",
    )


class JudgeSettings(Section):
    """A language model that scores answers, reports and what was found for them."""

    model: Slug = Field(description="one of language_models; another one than what writes")
    rubrics: list[RubricName] = Field(
        [*RUBRICS],
        min_length=1,
        description="what it is asked, where it applies: names of rubrics, TOML files, module:NAME",
    )
    most: int = Field(
        100, gt=0, description="questions that it judges for each rubric, drawn by chance"
    )

    @field_validator("rubrics")
    @classmethod
    def _rubrics_have_names_of_their_own(cls, value: list[str]) -> list[str]:
        if twice := duplicates(map(rubric_label, value)):
            raise ValueError(f"two rubrics are named {twice[0]}: rename the file, or the part")
        return value


class Evaluation(ExtendedSection):
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
    judges: list[JudgeSettings] = Field(
        [], description="who scores answers and reports: see docs/judges.md"
    )

    @field_validator("questions")
    @classmethod
    def _sets_are_named_once(cls, value: list[QuestionSet]) -> list[QuestionSet]:
        if twice := duplicates(item.name for item in value):
            raise ValueError(f"two sets are named {', '.join(twice)}: give each its own name")
        if taken := {PEOPLE, *GENERATED_SETS}.intersection(item.name for item in value):
            names = ", ".join(sorted(taken))
            raise ValueError(f"{names}: sets of the section questions are so named; take another")
        return value

    @field_validator("judges")
    @classmethod
    def _judges_are_named_once(cls, value: list[JudgeSettings]) -> list[JudgeSettings]:
        if twice := duplicates(judge.model for judge in value):
            raise ValueError(f"{', '.join(twice)}: judges twice; list its rubrics in one entry")
        return value
