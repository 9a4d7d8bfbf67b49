"""The section `language_models`: who writes, what that costs, and which sources it may see."""

from typing import Literal, Self

from pydantic import Field, HttpUrl, field_validator, model_validator

from rag_assets.config.base import Section, Slug
from rag_assets.config.models import without_secret

LANGUAGE_MODEL_KEY = "RAG_ASSETS_LANGUAGE_MODEL_KEY"
VARIABLE = r"^[A-Za-z_][A-Za-z0-9_]*$"
"""Name of an environment variable."""
EMBEDDED = "embedded"
"""Name of the entry that needs no endpoint."""
NOBODY = "none"
"""Named as the writer where the sources are to be quoted; no entry may have that name."""


class TokenPrices(Section):
    """What a server charges."""

    per_million_prompt: float = Field(ge=0, description="for a million tokens that it reads")
    per_million_completion: float = Field(ge=0, description="for a million tokens that it writes")
    currency: str = Field("USD", min_length=1, description="as it is shown")


class BudgetSettings(Section):
    """How much one run may use: the call that reaches it is the last one."""

    max_cost: float | None = Field(None, gt=0, description="in the currency of `price`")
    max_tokens: int | None = Field(None, gt=0, description="read and written together")


class LanguageModelSettings(Section):
    """A language model behind an OpenAI-compatible server, or the embedded one."""

    backend: Literal["server", "embedded"] = Field(
        "server",
        description="embedded: SmolLM2-135M in a process of its own, to try how things work "
        "together; what it writes is not to be trusted. It needs the extra language-model",
    )
    base_url: HttpUrl | None = Field(
        None, description="base of the API, such as http://localhost:8000/v1"
    )
    model: str = Field("", description="its name at the server")
    key_variable: str = Field(
        LANGUAGE_MODEL_KEY,
        pattern=VARIABLE,
        description="environment variable that holds the key, if the server needs one",
    )
    context_tokens: int = Field(8_192, gt=0, description="messages and answer together, at most")
    output_tokens: int = Field(1_024, gt=0, description="longest answer")
    temperature: float = Field(0, ge=0, le=2, description="0: the likeliest words")
    seed: int | None = Field(0, description="sent with each request; null sends none")
    concurrency: int = Field(4, gt=0, description="requests that run side by side")
    seconds: float = Field(120, gt=0, description="time limit of a request")
    attempts: int = Field(
        6, gt=0, description="how often a request is made before its failure counts"
    )
    structured_output: Literal["json_schema", "json_object", "none"] = Field(
        "json_schema",
        description="how the server is told that an answer is JSON; none: in words alone",
    )
    local: bool = Field(
        False, description="text that it is sent stays in the house: it may see every source"
    )
    sources: list[Slug] | Literal["all"] | None = Field(
        None,
        description="names of the sources whose text it may be sent, or all; none unless given, "
        "and all if it is local",
    )
    price: TokenPrices | None = Field(None, description="what it charges")
    budget: BudgetSettings = BudgetSettings()

    @field_validator("base_url")
    @classmethod
    def _holds_no_secret(cls, value: HttpUrl | None) -> HttpUrl | None:
        return value and without_secret(value)

    @model_validator(mode="after")
    def _has_what_it_needs(self) -> Self:
        if self.backend == "server" and (self.base_url is None or not self.model):
            raise ValueError("a language model needs base_url and model, or backend: embedded")
        if self.backend == "embedded" and (self.base_url or self.model):
            raise ValueError("backend: embedded has a model of its own: leave out base_url, model")
        if self.output_tokens >= self.context_tokens:
            raise ValueError("output_tokens must be fewer than context_tokens")
        if self.budget.max_cost is not None and self.price is None:
            raise ValueError("budget.max_cost needs price: what the tokens cost")
        return self

    @property
    def allowed_sources(self) -> frozenset[str] | None:
        """Names of the sources whose text it may be sent; None for all."""
        if self.sources == "all" or (self.sources is None and self.local):
            return None
        return frozenset(self.sources or ())


EMBEDDED_MODEL = LanguageModelSettings(
    backend="embedded", output_tokens=512, concurrency=1, seconds=300, attempts=2, local=True
)
