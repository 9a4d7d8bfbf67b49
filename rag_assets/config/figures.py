"""The section `figures`: who describes them."""

from pydantic import Field, HttpUrl

from rag_assets.config.base import Section

PROMPT = (
    "Describe this figure of a technical document for someone who searches for it: what kind of "
    "figure it is, what it shows, axes with units, labels, and the main values or relations. Plain "
    "text in the language of its caption, at most 120 words, nothing that cannot be seen."
)


class VisionModel(Section):
    """A vision model behind an OpenAI-compatible endpoint.

    Its key, if it needs one, is read from the environment variable RAG_ASSETS_VISION_KEY.
    """

    url: HttpUrl = Field(description="base of the endpoint, such as http://localhost:8000/v1")
    model: str = Field(description="its name at the endpoint")
    prompt: str = Field(PROMPT, description="what it is asked; the caption is added")
    max_tokens: int = Field(300, gt=0, description="longest description")
    seconds: float = Field(120, gt=0, description="time limit of one figure")
    requests_at_once: int = Field(4, gt=0, description="figures that are described side by side")


class Figures(Section):
    """Descriptions of figures, in addition to their captions and the words in them."""

    vision_model: VisionModel | None = Field(
        None, description="describes figures; without one, caption and own words stand for them"
    )
    min_pixels: int = Field(
        10_000, ge=0, description="smaller pictures, such as icons and rules, are not described"
    )
