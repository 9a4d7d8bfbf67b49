"""What a trial of other search indexes is to try, refused before any work where it makes no sense.

Settings are given as they would stand in the config, `index.text.stem=true`, and take the place of
those of the config.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import yaml
from pydantic import BaseModel, ValidationError

from rag_assets.config import AnnSearch, Config, IndexSettings, Retriever
from rag_assets.index.building import why_unfit
from rag_assets.operations.gate.sides import Side
from rag_assets.store.ann import is_searched_exactly
from rag_assets.store.catalog import folder_of
from rag_assets.store.pins import Pin, opened
from rag_assets.store.search_indexes import VECTOR

Kind = TypeVar("Kind", bound=BaseModel)

FROM_ROWS = "index.ann_from_rows"
TEXT_KEYS, VECTOR_KEYS, SEARCH_KEYS = "index.text.", "index.vectors.", "retrieval.ann."
TRIED = (TEXT_KEYS, VECTOR_KEYS, SEARCH_KEYS, FROM_ROWS)


class UnfitSettingsError(ValueError):
    """Settings cannot be tried; the message names the key and what is right."""


@dataclass(frozen=True, slots=True)
class TrialSettings:
    """Settings to try, on top of the config."""

    given: Mapping[str, object]
    """By key, such as `index.text.stem`."""
    index: IndexSettings
    """The section of the config with them."""
    ann: AnnSearch
    """Likewise."""

    @property
    def said(self) -> str:
        """The settings as they were given."""
        return ", ".join(
            f"{key}={value if isinstance(value, str) else json.dumps(value)}"
            for key, value in self.given.items()
        )

    @property
    def lines(self) -> str:
        """What to put into the config, as YAML."""
        nested: dict[str, object] = {}
        for key, value in self.given.items():
            *above, last = key.split(".")
            place = nested
            for name in above:
                below = place.setdefault(name, {})
                assert isinstance(below, dict), "no key is above another"
                place = below
            place[last] = value
        return yaml.safe_dump(nested, sort_keys=False, allow_unicode=True)

    def touches(self, *prefixes: str) -> bool:
        """Whether a key that begins so is given."""
        return any(key.startswith(prefixes) for key in self.given)


def settings_of(config: Config, words: Sequence[str]) -> TrialSettings:
    """The settings that `words` give, `KEY=VALUE` each, the value as YAML.

    Raises:
        UnfitSettingsError: A key is unknown, or a value is not allowed there.
    """
    return _settings(config, dict(map(_key_and_value, words)))


def fitted(config: Config, settings: TrialSettings, serving: Side) -> TrialSettings:
    """`settings`, if they can be tried on what serves.

    Where its tables are searched exactly, an ANN index has to be asked for: the smallest of them
    that can have one says from how many rows on.

    Raises:
        UnfitSettingsError: They make no sense, or no sense on these tables.
    """
    retriever = serving.config.retrieval.retrievers[serving.retriever]
    _require_signals(settings, retriever, name=serving.retriever)
    _require_sense(settings)
    if settings.touches(VECTOR_KEYS, SEARCH_KEYS):
        if FROM_ROWS not in settings.given and (rows := _from_rows(settings, serving)):
            settings = _settings(config, {**settings.given, FROM_ROWS: rows})
        _require_fit(settings, serving)
    return settings


def searched_pins(side: Side) -> Sequence[Pin]:
    """The tables that the retriever of a side searches."""
    found = side.complete_set
    chosen = side.config.retrieval.retrievers[side.retriever]
    if not chosen.searches_domains(has_two_models=found.row_model is not None):
        return (found.joint,)
    return tuple(pin for pin in (found.documents, found.rows) if pin is not None)


def _key_and_value(word: str) -> tuple[str, object]:
    key, equals, text = word.partition("=")
    if not equals or not key.startswith(TRIED):
        raise UnfitSettingsError(
            f"{word}: give KEY=VALUE, with a key that begins with {', '.join(TRIED[:3])} or is "
            f"{FROM_ROWS}"
        )
    try:
        return key, yaml.safe_load(text)
    except (yaml.YAMLError, ValueError, RecursionError):
        raise UnfitSettingsError(f"{key}: {text!r} is not valid YAML") from None


def _settings(config: Config, given: Mapping[str, object]) -> TrialSettings:
    index: dict[str, object] = config.index.model_dump()
    ann: dict[str, object] = config.retrieval.ann.model_dump()
    for key, value in given.items():
        section, *below = key.split(".")
        place = index if section == "index" else ann
        inner = below if section == "index" else below[1:]
        for name in inner[:-1]:
            nested = place[name]
            assert isinstance(nested, dict), "a section of the config"
            place = nested
        place[inner[-1]] = value
    return TrialSettings(
        given,
        _validated(IndexSettings, index, place="index"),
        _validated(AnnSearch, ann, place="retrieval.ann"),
    )


def _validated(section: type[Kind], values: object, *, place: str) -> Kind:
    try:
        return section.model_validate(values)
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        key = ".".join([place, *(str(part) for part in problem["loc"])])
        said = problem["msg"].removeprefix("Value error, ")
        if problem["type"] == "extra_forbidden":
            raise UnfitSettingsError(f"{key}: there is no such key") from None
        raise UnfitSettingsError(f"{key}: {said}") from None


def _require_signals(settings: TrialSettings, retriever: Retriever, *, name: str) -> None:
    for keys, signal in (
        ((TEXT_KEYS,), "bm25"),
        ((VECTOR_KEYS, SEARCH_KEYS, FROM_ROWS), "dense"),
    ):
        if settings.touches(*keys) and signal not in retriever.signals:
            raise UnfitSettingsError(
                f"{keys[0]}*: the retriever {name}, which answers queries, does not search by "
                f"{signal}: it would notice nothing"
            )


def _require_sense(settings: TrialSettings) -> None:
    vectors, ann = settings.index.vectors, settings.ann
    if ann.refine and vectors.type == "ivf_flat":
        raise UnfitSettingsError(
            "retrieval.ann.refine: ivf_flat holds whole vectors, so there is nothing to refine"
        )
    if "retrieval.ann.probes" in settings.given and ann.probes > (vectors.partitions or ann.probes):
        raise UnfitSettingsError(
            f"retrieval.ann.probes: {ann.probes:,} lists of an index that has "
            f"{vectors.partitions:,}"
        )


def _from_rows(settings: TrialSettings, serving: Side) -> int | None:
    """From how many rows on tables need an ANN index to try one; None if they need one anyway."""
    pins = searched_pins(serving)
    from_rows = settings.index.ann_from_rows
    tables = [opened(serving.store, pin) for pin in pins]
    if not all(is_searched_exactly(table, ann_from_rows=from_rows) for table in tables):
        return None
    fit = [
        rows
        for pin in pins
        if (rows := _rows(serving, pin)) and _why_unfit(settings, serving, pin) is None
    ]
    if not fit:
        raise UnfitSettingsError(f"index.vectors: {_why_unfit(settings, serving, pins[0])}")
    return min(fit)


def _require_fit(settings: TrialSettings, serving: Side) -> None:
    """Refuse what would not give an index of a table that is to have one."""
    for pin in serving.complete_set.unit_pins:
        needs_one = _rows(serving, pin) >= (settings.index.ann_from_rows or 0)
        why = _why_unfit(settings, serving, pin) if needs_one else None
        if why and (settings.index.ann_from_rows or pin in searched_pins(serving)):
            raise UnfitSettingsError(
                f"index.vectors: {why}; {FROM_ROWS} above its size leaves it without an index"
            )


def _why_unfit(settings: TrialSettings, serving: Side, pin: Pin) -> str | None:
    dimension = serving.store.schema(pin.table, version=pin.version).field(VECTOR).type.list_size
    rows = _rows(serving, pin)
    why = why_unfit(settings.index.vectors, rows=rows, dimension=dimension)
    return why and f"{why} ({folder_of(pin.table)})"


def _rows(serving: Side, pin: Pin) -> int:
    return serving.store.dataset(pin.table, version=pin.version).count_rows()
