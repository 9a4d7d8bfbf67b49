"""The section `figures`: who describes them."""

from pydantic import Field

from rag_assets.config.base import Section, Slug

PROMPT = (
    "Describe this figure of a technical document for someone who searches for it: what kind of "
    "figure it is, what it shows, axes with units, labels, and the main values or relations. Plain "
    "text in the language of its caption, at most 120 words, nothing that cannot be seen."
)


class Figures(Section):
    """Descriptions of figures, in addition to their captions and the words in them."""

    language_model: Slug | None = Field(
        None,
        description="entry of language_models that describes figures, of the sources that it may "
        "see; without one, caption and own words stand for them",
    )
    prompt: str = Field(PROMPT, description="what it is asked; the caption is added")
    max_tokens: int = Field(300, gt=0, description="longest description")
    min_pixels: int = Field(
        10_000, ge=0, description="smaller pictures, such as icons and rules, are not described"
    )
