"""What a config would get from a newer edition of the defaults, and how to try it."""

from collections.abc import Iterator
from itertools import count

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.config.documents import DEFAULT_CHUNKINGS
from rag_assets.config.editions import CHUNKINGS, FIRST, MODELS, NEWEST
from rag_assets.config.recipes import Variant
from rag_assets.store import Store
from rag_assets.store.serving_pointer import serving_variant

NAME = "sentences"
"""Of the variant that is proposed, unless one is called so."""


def proposal(config: Config) -> str:
    """How to try the newest defaults beside what serves; empty if there is nothing to propose.

    A file that names its edition has chosen, and so has one that cuts documents in its own way or
    has a variant with the newest chunking.
    """
    if not _is_open(config):
        return ""
    file = configuration.find().name
    name = next(one for one in _names() if one not in config.variants)
    served = config.variant(serving_variant(Store.of(config), config))
    newest = {"chunking": CHUNKINGS[NEWEST]}
    if served.model == MODELS[FIRST]:
        newest["model"] = MODELS[NEWEST]
    recipe = _as_yaml(served.model_copy(update=newest))
    return "\n".join(
        [
            _in_short(file),
            "To try that as a variant beside the index, which stays as it is:",
            f"  1. in {file}, below variants:  {name}: {recipe}",
            f"  2. rag-assets plan --variant {name}  (what it takes; nothing is written)",
            f"  3. rag-assets backfill {name}",
            f"  4. rag-assets evaluate --questions FILE --variant {name}  (and without --variant)",
            f"  5. rag-assets promote {name}  (it serves from then on, if it is no worse)",
            f"  `defaults: {FIRST}` in {file} keeps what there is and ends this proposal.",
        ]
    )


def hint(config: Config) -> str:
    """The proposal in a line, which leads to the command that shows all of it."""
    if not _is_open(config):
        return ""
    return f"{_in_short(configuration.find().name)} `rag-assets status` says how to try that."


def _names() -> Iterator[str]:
    yield NAME
    yield from (f"{NAME}_{number}" for number in count(2))


def _is_open(config: Config) -> bool:
    first, newest = CHUNKINGS[FIRST], CHUNKINGS[NEWEST]
    serving = serving_variant(Store.of(config), config)
    serves_first = config.variant(serving).chunking == first
    is_as_shipped = config.chunkings[first] == DEFAULT_CHUNKINGS[first]
    is_tried = any(variant.chunking == newest for variant in config.variants.values())
    has_chosen = "defaults" in config.model_fields_set
    return serves_first and is_as_shipped and not is_tried and not has_chosen


def _in_short(file: str) -> str:
    return (
        f"{file} keeps the defaults of edition {FIRST}; with `defaults: {NEWEST}` "
        "units are whole sentences."
    )


def _as_yaml(recipe: Variant) -> str:
    """The parts of a recipe that are not the default."""
    named = recipe.model_dump(exclude_defaults=True)
    return "{" + ", ".join(f"{part}: {value}" for part, value in named.items()) + "}"
