"""Where a section names an entry of `language_models`, and older keys that spell a model out."""

from collections.abc import Mapping
from typing import Literal

from rag_assets.config.figures import Figures, VisionModel
from rag_assets.config.language_models import LanguageModelSettings
from rag_assets.config.parsers import MarkerModel, ParserSettings

Entries = Mapping[str, LanguageModelSettings]


def with_vision_model(figures: Figures, entries: Entries) -> Figures:
    """`figures` with the model that its `language_model` names.

    Raises:
        ValueError: There is no such entry behind a server.
    """
    if figures.language_model is None:
        return figures
    entry = _served(figures.language_model, entries, key="language_model")
    assert entry.base_url is not None, "an entry of a server has one"
    model = VisionModel(
        url=entry.base_url,
        model=entry.model,
        prompt=figures.prompt,
        max_tokens=min(figures.max_tokens, entry.output_tokens),
        seconds=entry.seconds,
        requests_at_once=entry.concurrency,
        key_variable=entry.key_variable,
        sources=_sources(entry),
    )
    return figures.model_copy(update={"vision_model": model, "language_model": None})


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
    if name not in served:
        raise ValueError(
            f"{key}: no entry of language_models behind a server is named {name!r}; there are "
            f"{', '.join(served) or 'none'}"
        )
    return served[name]


def _sources(entry: LanguageModelSettings) -> list[str] | Literal["all"]:
    allowed = entry.allowed_sources
    return "all" if allowed is None else sorted(allowed)
