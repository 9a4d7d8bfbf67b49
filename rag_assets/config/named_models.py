"""Where a section names an entry of `language_models`, and older keys that spell a model out."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rag_assets.config.base import check_named
from rag_assets.config.figures import Figures, VisionModel
from rag_assets.config.language_models import LanguageModelSettings
from rag_assets.config.parsers import MarkerModel, ParserSettings

Entries = Mapping[str, LanguageModelSettings]

OLDER_NAME = "vision_model"
"""What a model is called that `figures` spells out."""
CONTEXT_BESIDE = 32_768
"""Tokens of prompt and picture that such a model takes beside its answer."""


@dataclass(frozen=True, slots=True)
class DescribingModel:
    """The language model that describes figures, and what it is asked."""

    name: str
    """Of its entry."""
    settings: LanguageModelSettings
    prompt: str
    """The caption is added."""
    max_tokens: int
    """Longest description."""


def describing_model(figures: Figures, entries: Entries) -> DescribingModel | None:
    """The model that `figures` names or spells out; None without one.

    Raises:
        ValueError: There is no such entry behind a server.
    """
    if figures.vision_model is not None:
        return _spelled_out(figures.vision_model)
    if (name := figures.language_model) is None:
        return None
    entry = _served(name, entries, key="language_model")
    longest = min(figures.max_tokens, entry.output_tokens)
    return DescribingModel(name, entry, figures.prompt, longest)


def _spelled_out(model: VisionModel) -> DescribingModel:
    settings = LanguageModelSettings(
        base_url=model.url,
        model=model.model,
        key_variable=model.key_variable,
        context_tokens=model.max_tokens + CONTEXT_BESIDE,
        output_tokens=model.max_tokens,
        concurrency=model.requests_at_once,
        seconds=model.seconds,
        seed=None,
        sources=model.sources,
    )
    return DescribingModel(OLDER_NAME, settings, model.prompt, model.max_tokens)


def with_marker_model(parser: ParserSettings, entries: Entries) -> ParserSettings:
    """`parser` with the model that its `marker.language_model` names.

    Raises:
        ValueError: There is no such entry behind a server.
    """
    if (name := parser.marker.language_model) is None:
        return parser
    entry = _served(name, entries, key="marker.language_model")
    model = MarkerModel(
        base_url=str(entry.base_url),
        model=entry.model,
        key_variable=entry.key_variable,
        sources=_sources(entry),
    )
    marker = parser.marker.model_copy(update={"llm": model, "language_model": None})
    return parser.model_copy(update={"marker": marker})


def older_keys(figures: Figures, parsers: Mapping[str, ParserSettings]) -> list[str]:
    """The keys of the file that spell a model out, each with what to write instead."""
    found = []
    if figures.vision_model:
        found.append("figures.vision_model")
    found += [f"parsers.{name}.marker.llm" for name, one in parsers.items() if one.marker.llm]
    return [
        f"{key} is read until the next release: name the model under language_models, say which "
        f"sources it may see, and give its name as {key.rpartition('.')[0]}.language_model"
        for key in found
    ]


def _served(name: str, entries: Entries, *, key: str) -> LanguageModelSettings:
    served = {known: entry for known, entry in entries.items() if entry.backend == "server"}
    check_named(name, served, kind="entry of language_models behind a server", key=key)
    return served[name]


def _sources(entry: LanguageModelSettings) -> list[str] | Literal["all"]:
    allowed = entry.allowed_sources
    return "all" if allowed is None else sorted(allowed)
