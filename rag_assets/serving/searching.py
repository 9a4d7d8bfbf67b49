"""What the commands that search have in common: their options, filters and queries."""

import argparse
import sys
from typing import TYPE_CHECKING, get_args

from rag_assets import config as configuration
from rag_assets.schemas import DOMAINS, UNIT_TYPES
from rag_assets.serving.replies import STDIN, CommandError, UsageError, day, read_text
from rag_assets.store.exports import all_exported

if TYPE_CHECKING:
    from rag_assets.answering.assistant import Assistant
    from rag_assets.retrieval.filters import Filters
    from rag_assets.retrieval.search import VariantIndex

FROM_FILE = "@"


def add_search_options(command: argparse.ArgumentParser) -> None:
    """Declare what is searched, by which retriever, and the filters."""
    command.add_argument("--variant", help="variant to use (default: the one that serves)")
    command.add_argument("--retriever", help="one of retrieval.retrievers in the config")
    command.add_argument("--domain", choices=DOMAINS, help="only documents, or only table rows")
    command.add_argument("--source", help="only this source")
    command.add_argument("--table", help="only this table")
    command.add_argument("--section", help="only below this section: 'Heading > Subheading'")
    command.add_argument("--type", choices=UNIT_TYPES, help="only chunks of this type")
    command.add_argument("--language", help="only chunks in this language: en, sv, ...")
    command.add_argument(
        "--field",
        action="append",
        default=[],
        metavar="NAME: VALUE",
        help="only documents with this header field: 'number: ISO 527'; may be given again",
    )
    command.add_argument(
        "--versions",
        choices=get_args(configuration.Versions),
        help="versions of documents: current, or all (default: retrieval.versions)",
    )
    command.add_argument(
        "--as-of",
        type=day,
        metavar="DATE",
        help="versions of documents that were valid on this day (YYYY-MM-DD)",
    )


def filters_of(options: argparse.Namespace) -> "Filters":
    """The filters that the options set.

    Raises:
        ValueError: A value is blank, or two exclude each other.
    """
    from rag_assets.retrieval.filters import Filters

    return Filters(
        domain=options.domain,
        source=options.source,
        table=options.table,
        section=options.section,
        type=options.type,
        language=options.language,
        fields=tuple(options.field),
        versions=options.versions,
        as_of=options.as_of,
    )


def check_names(assistant: "Assistant", filters: "Filters") -> None:
    """Refuse `filters` that name a source or a table that neither index nor config has.

    Raises:
        UsageError: They do; it names those that there are.
    """
    index, sight = assistant.index, assistant.sight
    of_places = (each.partition("/")[0] for each in filters.within)
    for source in filter(None, [filters.source, *of_places]):
        known = {
            name
            for name in assistant.config.source_names
            if sight is None or sight.rules.has_any(name, sight.groups)
        }
        _require(source, index, column="source", known=known)
    if filters.table:
        exported = {
            each.about.table
            for each in all_exported(assistant.store)
            if sight is None or sight.is_there(each.about.source, each.about.table)
        }
        _require(filters.table, index, column="table", known=exported)


def _require(name: str, index: "VariantIndex", *, column: str, known: set[str]) -> None:
    """Refuse the name of a source or a table that is nowhere."""
    if name in known or name in (there := index.values(column)):
        return
    names = ", ".join(sorted(there | known)) or "none"
    raise UsageError(f"there is no {column} {name}; there are: {names}")


def texts_of(argument: str, *, what: str) -> list[str]:
    """The queries that an argument gives: itself, or the lines of stdin.

    Args:
        argument: A text, or `STDIN`.
        what: `query` or `question`, for messages.

    Raises:
        CommandError: One is not valid UTF-8.
    """
    return _lines(what) if argument == STDIN else [_readable(argument, what)]


def prompt_of(argument: str) -> str:
    """The prompt that an argument gives: itself, all of stdin, or the content of `@FILE`.

    Raises:
        CommandError: It is not valid UTF-8, or the file cannot be read.
    """
    if argument == STDIN or argument.startswith(FROM_FILE):
        return read_text(argument.removeprefix(FROM_FILE))
    return _readable(argument, "prompt")


def _lines(what: str) -> list[str]:
    try:
        lines = [line.strip() for line in sys.stdin]
    except UnicodeDecodeError as error:
        raise CommandError(f"{_not_utf8(what)} ({error.reason})") from error
    return [_readable(line, what) for line in lines if line]


def _readable(text: str, what: str) -> str:
    """`text`, if it is valid: Python passes on other bytes as lone surrogates."""
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise CommandError(_not_utf8(what)) from error
    return text


def _not_utf8(what: str) -> str:
    return f"the {what} is not valid UTF-8: write it in UTF-8"
