"""The section `answering`: how questions are answered, when an answer is withheld, what is kept."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from rag_assets.config.base import Section, Slug
from rag_assets.config.report_settings import ReportSettings


class Judge(Section):
    """Who says whether sources support a sentence, where comparing cannot."""

    path: Path | None = Field(
        None, description="folder of an NLI model, or of a cross-encoder with one output"
    )
    model: Slug | None = Field(None, description="one of language_models, which is asked")
    threshold: float = Field(
        0.5, gt=0, lt=1, description="score of the model in the folder from which it is supported"
    )

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.path is None) == (self.model is None):
            raise ValueError("a judge is a path or a model: give one of them")
        return self


class Answering(Section):
    """How a question is answered from what a search finds."""

    hits: int = Field(10, ge=1, le=100, description="units that an answer is made from, at most")
    sentences: int = Field(4, ge=1, le=20, description="sentences of an answer, at most")
    writer: Slug | None = Field(
        None,
        description="entry of language_models that writes answers; null, or none: they are quoted "
        "from the sources",
    )
    unsupported: Literal["mark", "leave_out"] = Field(
        "leave_out",
        description="what becomes of a sentence of the writer of which a number, a unit, a name or "
        "a quotation is in no source that it cites, after it was asked again once",
    )
    judge: Judge | None = Field(
        None,
        description="who says whether sources support a sentence that is not proven by comparing",
    )
    further_queries: int = Field(
        2,
        ge=0,
        le=2,
        description="searches for words of the question that nothing shown to the writer covers, "
        "before it writes again",
    )
    risk: float = Field(
        0.1,
        gt=0,
        lt=1,
        description="share of answers that may be wrong; more doubtful ones are withheld",
    )
    confidence: float = Field(
        0.95, gt=0.5, lt=1, description="how surely that share is kept to, on questions like these"
    )
    unanswerable: float = Field(
        0.25,
        gt=0,
        lt=1,
        description="share of questions that the sources do not answer, for the promise",
    )
    condenser: Slug | None = Field(
        None, description="one of language_models, which completes follow-ups; the rules if null"
    )
    planner: Slug | None = Field(
        None,
        description="one of language_models, which reads questions to tables that the rules refuse",
    )
    keep: bool = Field(True, description="whether answers are kept, to be listed and replayed")
    keep_days: int | None = Field(
        None, ge=1, description="how long answers are kept; for ever unless given"
    )
    report: ReportSettings = ReportSettings()
