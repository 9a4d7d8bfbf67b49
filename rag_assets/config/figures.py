"""The section `figures`: who describes them."""

from typing import Literal, Self

from pydantic import Field, HttpUrl, model_validator

from rag_assets.config.base import Section, Slug
from rag_assets.config.language_models import VARIABLE

PROMPT = (
    "Describe this figure of a technical document for someone who searches for it: what kind of "
    "figure it is, what it shows, axes with units, labels, and the main values or relations. Plain "
    "text in the language of its caption, at most 120 words, nothing that cannot be seen."
)


class VisionModel(Section):
    """A vision model behind an OpenAI-compatible endpoint.

    The config file names an entry of `language_models` instead; that it may spell one out here is
    kept for one release.
    """

    key_variable: str = Field(
        "RAG_ASSETS_VISION_KEY",
        pattern=VARIABLE,
        description="environment variable that holds the key, if any",
    )
    sources: list[Slug] | Literal["all"] = Field(
        "all", description="names of the document sources whose figures it may be sent"
    )
    url: HttpUrl = Field(description="base of the endpoint, such as http://localhost:8000/v1")
    model: str = Field(description="its name at the endpoint")
    prompt: str = Field(PROMPT, description="what it is asked; the caption is added")
    max_tokens: int = Field(300, gt=0, description="longest description")
    seconds: float = Field(120, gt=0, description="time limit of one figure")
    requests_at_once: int = Field(4, gt=0, description="figures that are described side by side")


class Figures(Section):
    """Descriptions of figures, in addition to their captions and the words in them."""

    language_model: Slug | None = Field(
        None,
        description="entry of language_models that describes figures, of the sources that it may "
        "see; without one, caption and own words stand for them",
    )
    prompt: str = Field(PROMPT, description="what it is asked; the caption is added")
    max_tokens: int = Field(300, gt=0, description="longest description")
    vision_model: VisionModel | None = Field(
        None, description="until the next release: the model spelled out; use language_model"
    )
    min_pixels: int = Field(
        10_000, ge=0, description="smaller pictures, such as icons and rules, are not described"
    )

    @model_validator(mode="after")
    def _one_model_is_named(self) -> Self:
        if self.language_model and self.vision_model:
            raise ValueError("give language_model alone: vision_model is its older form")
        return self
