"""The section `answering`: how questions are answered, who writes, what is kept."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, model_validator

from rag_assets.config.base import Section, Slug
from rag_assets.config.report_settings import ReportSettings

_NO_RULE = (
    "no answer is withheld by a fitted rule any more: what is neither computed from a table nor "
    "written by a model is shown as found"
)
GONE: Mapping[str, str] = {
    "risk": _NO_RULE,
    "confidence": _NO_RULE,
    "unanswerable": _NO_RULE,
    "sentences": "no sentences are quoted as an answer any more: the three best places are shown, "
    "and `report.sentences` says how long a section of a report is",
}
"""Keys of earlier releases, and what is in their place."""


class Answering(Section):
    """How a question is answered from what a search finds."""

    hits: int = Field(10, ge=1, le=100, description="units that an answer is made from, at most")
    writer: Slug | None = Field(
        None,
        description="entry of language_models that writes answers; null, or none: what fits best "
        "is shown",
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

    @model_validator(mode="before")
    @classmethod
    def _none_gone(cls, given: object) -> object:
        if isinstance(given, Mapping):
            for key in GONE.keys() & given.keys():
                raise ValueError(f"delete the line `{key}`: {GONE[key]}")
        return given
