"""A parser of somebody's own, which the config names as `module:NAME`."""

from pydantic import ValidationError

from rag_assets.api import CustomParser
from rag_assets.config import ConfigError
from rag_assets.config.custom import part_of
from rag_assets.documents.elements.element import clean, from_json, markdown_of, to_json
from rag_assets.documents.parsers.description import ParseError, Parser
from rag_assets.media.media_types import SUFFIXES
from rag_assets.schemas import ELEMENT_TYPES
from rag_assets.workers import Json


def parsers(reference: str) -> dict[str, Parser]:
    """The parser that the config calls `reference`, by each media type that it reads.

    Raises:
        ConfigError: There is none, or no file is known by a media type that it names.
    """
    part = part_of(reference, CustomParser)
    if unknown := sorted({*part.media_types}.difference(SUFFIXES)):
        there = ", ".join(SUFFIXES)
        raise ConfigError(f"{reference}: media_types names {unknown[0]}; there are {there}")
    parser = Parser(
        name=reference,
        module=__name__,
        revision=part.revision,
        distribution=None,
        install="",
        options={"reference": reference},
        calls_servers=True,
    )
    return dict.fromkeys(part.media_types, parser)


def parse(path: str, pages: list[int] | None, reference: str) -> Json:
    """Elements of the file: see the package `parsers`.

    Raises:
        ImportError: The worker cannot load the part.
        ParseError: The part says that the file is to blame, or gives what is no block.
    """
    try:
        part = part_of(reference, CustomParser)
    except ConfigError as error:
        raise ImportError(str(error)) from error
    try:
        elements = from_json([{"text": "", **block} for block in part.parse(path, pages)])
    except ValidationError as error:
        [number, *key], said = error.errors()[0]["loc"], error.errors()[0]["msg"]
        raise ParseError(
            f"{reference}: {'.'.join(map(str, key))} of block {number}: {said}"
        ) from error
    except ValueError as error:
        raise ParseError(f"{reference}: {error}") from error
    if unknown := {element.type for element in elements}.difference(ELEMENT_TYPES):
        raise ParseError(
            f"{reference} gives blocks of the type {min(unknown)}: there are "
            f"{', '.join(ELEMENT_TYPES)}"
        )
    return to_json(
        element._replace(text=clean(element.text or markdown_of(element.cells or ())))
        for element in elements
    )
