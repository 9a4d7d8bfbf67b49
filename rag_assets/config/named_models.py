"""Where a section names an entry of `language_models`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from rag_assets.config.base import check_named
from rag_assets.config.figures import Figures
from rag_assets.config.language_models import LanguageModelSettings
from rag_assets.config.links import LinkSettings
from rag_assets.config.parsers import MarkerModel, ParserSettings

Entries = Mapping[str, LanguageModelSettings]


@dataclass(frozen=True, slots=True)
class DescribingModel:
    """The language model that describes figures, and what it is asked."""

    name: str
    """The name of the model's entry."""
    settings: LanguageModelSettings
    prompt: str
    """The caption is added."""
    max_tokens: int
    """The most tokens of a description."""


def describing_model(figures: Figures, entries: Entries) -> DescribingModel | None:
    """The model that `figures` names; None without one.

    Raises:
        ValueError: There is no such entry behind a server.
    """
    if (name := figures.language_model) is None:
        return None
    entry = _served(name, entries, key="language_model")
    longest = min(figures.max_tokens, entry.output_tokens)
    return DescribingModel(name, entry, figures.prompt, longest)


def linking_model(
    links: LinkSettings, entries: Entries
) -> tuple[str, LanguageModelSettings] | None:
    """The model that `links` names, with its name; None without one.

    Raises:
        ValueError: There is no such entry behind a server.
    """
    if (name := links.language_model) is None:
        return None
    return name, _served(name, entries, key="language_model")


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


def _served(name: str, entries: Entries, *, key: str) -> LanguageModelSettings:
    served = {known: entry for known, entry in entries.items() if entry.backend == "server"}
    check_named(name, served, kind="entry of language_models behind a server", key=key)
    return served[name]


def _sources(entry: LanguageModelSettings) -> list[str] | Literal["all"]:
    allowed = entry.allowed_sources
    return "all" if allowed is None else sorted(allowed)
