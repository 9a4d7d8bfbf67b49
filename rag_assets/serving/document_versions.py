"""Documents as the commands name them, and what people decide of their versions."""

import argparse
from collections.abc import Sequence

from rag_assets.config import Config
from rag_assets.config.addresses import families_table
from rag_assets.documents.families.decisions import (
    Decision,
    Decisions,
    Kind,
    as_csv,
    read_decisions,
)
from rag_assets.documents.families.shown import DocumentMember, documents_of
from rag_assets.serving.replies import Reply, UsageError, add_variant, project_of, write_file
from rag_assets.store import Store
from rag_assets.store.serving_pointer import serving_variant

PARSERS = "whose parser to ask"


def add_two(command: argparse.ArgumentParser, one: str, other: str) -> None:
    """Declare two documents, and the variant whose parser knows them."""
    add_variant(command, what=PARSERS)
    for name, shown in (("one", one), ("other", other)):
        command.add_argument(name, metavar=shown, help="a document: its path, or SOURCE/path")


def documents_read(config: Config, store: Store, *, variant: str | None) -> list[DocumentMember]:
    """The documents as the parser of a variant read them; of the one that serves unless given."""
    parser = config.variant(variant or serving_variant(store, config)).parser
    return documents_of(store, families_table(config, parser))


def named(held: Sequence[DocumentMember], name: str) -> DocumentMember:
    """The document that a person means by `name`: its URI, or source/URI."""
    found = [each for each in held if name == f"{each.source}/{each.uri}"]
    found = found or [each for each in held if each.uri == name]
    if len(found) == 1:
        return found[0]
    if found:
        both = " and ".join(f"{each.source}/{each.uri}" for each in found)
        raise UsageError(f"{name} may be {both}: name one of them")
    raise UsageError(
        f"there is no document {name} (see `rag-assets documents`); a new one is known after the "
        "next refresh"
    )


def decide(options: argparse.Namespace, kind: Kind) -> Reply:
    """Write a decision on two documents down, after all that were made before.

    Raises:
        UsageError: One is not known, or both are one.
        DecisionsError, CommandError: The file of decisions cannot be used.
    """
    config, store = project_of(options)
    held = documents_read(config, store, variant=options.variant)
    one, other = (named(held, name) for name in (options.one, options.other))
    if one == other:
        raise UsageError(f"{one.uri} was named twice: name two documents")
    file = config.documents.families
    names = [f"{each.source}/{each.uri}" for each in (one, other)]
    before = read_decisions(file)
    write_file(file, as_csv(Decisions((*before.made, Decision(*names, kind)))))
    said = "is the newer version of" if kind == "versions" else "is no version of"
    return Reply(
        record={"newer": names[0], "older": names[1], "are": kind, "file": str(file)},
        text=f"{one.uri} {said} {other.uri}: written to {file}. It counts from the next "
        "`rag-assets refresh` on.",
    )
