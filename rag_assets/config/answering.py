"""The section `answering`: how questions are answered, who writes, what is kept."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, model_validator

from rag_assets.config.base import ExtendedSection, Section, Slug


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


class ReportSettings(ExtendedSection):
    """How a prompt with several topics becomes a report."""

    decomposer: Literal["rules", "model"] = Field(
        "rules",
        description="who takes a prompt apart: rules, by the list or the headings that it gives "
        "itself, or the first of language_models; rules too where its answer cannot be used",
    )
    candidates: int = Field(
        15, ge=1, le=100, description="units that are looked at for each sub-question"
    )
    broad_candidates: int = Field(
        35, ge=1, le=200, description="units that are looked at for the prompt as a whole"
    )
    units_each: int = Field(
        3,
        ge=1,
        le=50,
        description="the best of each sub-question, which are taken first; the best of the whole "
        "prompt fill the room that is left",
    )

    @model_validator(mode="after")
    def _units_fit(self) -> Self:
        if self.units_each > self.candidates:
            raise ValueError(
                f"units_each = {self.units_each} is more than candidates = {self.candidates}: the "
                "units of a sub-question are taken from its candidates"
            )
        return self


class Answering(ExtendedSection):
    """How a question is answered from what a search finds."""

    hits: int = Field(10, ge=1, le=100, description="units that an answer is made from, at most")
    writer: Slug | None = Field(
        None,
        description="entry of language_models that writes answers; null, or none: what fits best "
        "is shown",
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
