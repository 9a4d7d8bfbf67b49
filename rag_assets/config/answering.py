"""The section `answering`: how questions are answered, when an answer is withheld, what is kept."""

from typing import Literal

from pydantic import Field

from rag_assets.config.base import Section, Slug
from rag_assets.config.report_settings import ReportSettings


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
        "mark",
        description="what becomes of a sentence of the writer that its sources do not support, "
        "after it was asked again once",
    )
    further_queries: int = Field(
        2,
        ge=0,
        le=2,
        description="searches for what the writer's first answer lacks, before it writes again",
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
