"""What files built before `defaults: 3` where they did not say how: refused, with lines to keep it.

Nothing is built by these defaults. A file that says `defaults: 1` or `2`, or that names none beside
a state which the first edition built, is told which lines make it say so itself.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, JsonValue, TypeAdapter

from rag_assets.config.base import read_data
from rag_assets.config.models import DEFAULT_MODELS
from rag_assets.config.recipes import Variant

if TYPE_CHECKING:
    from rag_assets.config.root import Config


class _Former(BaseModel):
    """The content of `former_defaults.yaml`."""

    chunkings: Mapping[int, str]
    model: str
    stop_words: Literal["english_and_swedish"]
    prefix: str
    retrievers: Mapping[str, Mapping[str, JsonValue]]


FORMER = TypeAdapter(_Former).validate_python(read_data(Path(__file__).with_suffix(".yaml")))


def former_recipe(variant: Variant, *, edition: int = 1) -> Variant:
    """The recipe that a variant had: what it does not name itself was another."""
    return variant.model_copy(update=_lacking(variant, edition))


def refusal(config: "Config", *, edition: int, why: str = "") -> str:
    """Why `config` is refused, and the lines by which it builds what it built.

    Args:
        config: What its file says, read with the defaults of today.
        edition: Of the defaults that it relied on.
        why: What shows that it did; that it names the edition unless given.
    """
    import yaml

    lines = yaml.safe_dump(_lines(config, edition), default_flow_style=None, sort_keys=False)
    return (
        f"{why or f'`defaults: {edition}` is gone'}, and `defaults: 3`, the only one there is, "
        "builds other tables. To have those, write `defaults: 3`; they are built beside what "
        "serves. To keep what this file built, write `defaults: 3` and add these lines, without "
        f"the keys that the file names already:\n\n{lines}\n"
        "`fast` is the nearest that there is: it weighs a word by how rare it is among all units, "
        "no more among those of its domain."
    )


def _lines(config: "Config", edition: int) -> dict[str, object]:
    """The keys that the file would have to name, as in a file."""
    lacking = {name: _lacking(each, edition) for name, each in config.variants.items()}
    trained = {
        name: {"model": FORMER.model}
        for name, each in config.training.retrievers.items()
        if each.model is None
    }
    shipped, own = DEFAULT_MODELS["e5"], config.models["e5"]
    prefixes = {
        name: FORMER.prefix
        for name in ("query_prefix", "passage_prefix")
        if own.path != shipped.path and getattr(own, name) == getattr(shipped, name)
    }
    sections: dict[str, dict[str, object]] = {
        "models": {"e5": prefixes} if prefixes else {},
        "variants": {name: keys for name, keys in lacking.items() if keys},
        "training": {"retrievers": trained} if trained else {},
        "index": {"text": {"stop_words": FORMER.stop_words}},
        "retrieval": {"retrievers": {name: {**one} for name, one in FORMER.retrievers.items()}},
    }
    return {name: keys for name, keys in sections.items() if keys}


def _lacking(variant: Variant, edition: int) -> dict[str, str]:
    """What a variant does not name, with what it was."""
    of_then = {"chunking": FORMER.chunkings[edition], "model": FORMER.model}
    return {key: name for key, name in of_then.items() if key not in variant.model_fields_set}
