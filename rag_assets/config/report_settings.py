"""The section `answering.report`: how a prompt with several topics becomes a report."""

from typing import Literal, Self

from pydantic import Field, model_validator

from rag_assets.config.base import Section


class ReportSettings(Section):
    """How much is searched for a report, and how much of it is told."""

    decomposer: Literal["rules", "model"] = Field(
        "rules",
        description="who takes a prompt apart: rules, by the list or the headings that it gives "
        "itself, or the first of language_models; rules too where its answer cannot be used",
    )
    sub_questions: int = Field(5, ge=1, le=10, description="parts of a prompt, at most")
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
    units: int = Field(20, ge=1, le=100, description="units that a report is made from, at most")
    near: float | None = Field(
        0.98,
        gt=0,
        le=1,
        description="cosine from which passages count as the same; null: exact copies only",
    )
    sentences: int = Field(6, ge=1, le=30, description="sentences of a section, at most")

    @model_validator(mode="after")
    def _units_fit(self) -> Self:
        if self.units_each > self.candidates:
            raise ValueError(
                f"units_each = {self.units_each} is more than candidates = {self.candidates}: the "
                "units of a sub-question are taken from its candidates"
            )
        return self
