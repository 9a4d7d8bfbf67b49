"""The section `answer_experiments`: what a language model writes under conditions that differ."""

from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field

from rag_assets.config.base import Section, Slug


class AnswerExperiment(Section):
    """The same questions answered under conditions that differ in one thing."""

    design: Literal["citation_ablation", "rag_or_not"] = Field(
        description="citation_ablation: with and without rules of citing (P4); rag_or_not: with "
        "and without sources (P1, section 5)"
    )
    title: str | None = Field(None, description="shown instead of the design's own title")
    variant: Slug | None = Field(None, description="what is searched; the first variant")
    split: str = Field("test", description="questions of this split")
    most_questions: int = Field(
        200,
        gt=0,
        description="of the split, spread over it evenly",
    )
    writer: Slug | None = Field(
        None, description="entry of language_models; answering.writer, or else the first"
    )


def _designed(value: object) -> object:
    """`NAME: {}` means the design NAME."""
    if not isinstance(value, dict):
        return value
    return {name: _with_design(name, given) for name, given in value.items()}


def _with_design(name: object, given: object) -> object:
    settings = {} if given is None else given
    return {"design": name, **settings} if isinstance(settings, dict) else settings


AnswerExperiments: TypeAlias = Annotated[dict[Slug, AnswerExperiment], BeforeValidator(_designed)]
"""By name; `citation_ablation:` alone is the design of that name with its defaults."""
