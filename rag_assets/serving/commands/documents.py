"""`rag-assets documents`: documents with their versions, and decisions on them."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.config.addresses import elements_table, families_table
from rag_assets.documents.families.decisions import (
    Decision,
    Decisions,
    DecisionsError,
    Kind,
    as_csv,
    read_decisions,
)
from rag_assets.documents.families.section_changes import (
    SectionChange,
    read_sections,
    section_changes,
)
from rag_assets.documents.families.shown import DocumentMember, documents_of
from rag_assets.reports.text_tables import table
from rag_assets.serving.replies import CommandError, Json, Reply, UsageError
from rag_assets.store import Store
from rag_assets.store.atomic import write_atomically
from rag_assets.store.serving_pointer import serving_variant

SUMMARY = "list documents with their versions, and decide which are versions of one"
EXAMPLES = """\
  rag-assets documents
  rag-assets documents --families
  rag-assets documents --diff standards/STD-1234_A.pdf standards/STD-1234_B.pdf
  rag-assets documents --confirm manuals/pump_new.pdf manuals/pump.pdf     newer first
  rag-assets documents --reject plant_a/WI-101.pdf plant_b/WI-101.pdf"""

COLUMNS = ("document", "version", "valid from", "status", "number", "title")
LONGEST_TITLE = 48
MOST_LINES = 6
"""Sentences of a section that are shown; --json has all."""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("--variant", help="whose parser to ask (default: the one that serves)")
    what = command.add_mutually_exclusive_group()
    what.add_argument(
        "--families", action="store_true", help="only documents that have other versions, by family"
    )
    what.add_argument(
        "--diff",
        nargs=2,
        metavar=("OLD", "NEW"),
        help="what changed from one document to the other, by section",
    )
    what.add_argument(
        "--confirm",
        nargs=2,
        metavar=("NEW", "OLD"),
        help="decide that the first is the newer version of the second",
    )
    what.add_argument(
        "--reject",
        nargs=2,
        metavar=("ONE", "OTHER"),
        help="decide that the two are no versions of one document",
    )


def run(options: argparse.Namespace) -> Reply:
    """List, compare or decide; a decision counts from the next refresh on."""
    config = configuration.load()
    store = Store.of(config)
    parser = config.variant(options.variant or serving_variant(store, config)).parser
    held = documents_of(store, families_table(config, parser))
    if options.diff:
        older, newer = (_named(held, name) for name in options.diff)
        return _compared(store, elements_table(config, parser), older, newer)
    if options.confirm or options.reject:
        kind: Kind = "versions" if options.confirm else "unlike"
        one, other = (_named(held, name) for name in options.confirm or options.reject)
        return _decided(config, one, other, kind=kind)
    return _listed(held, only_families=options.families)


def _named(held: Sequence[DocumentMember], name: str) -> DocumentMember:
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


def _listed(held: Sequence[DocumentMember], *, only_families: bool) -> Reply:
    families = [each for each in held if each.family]
    record = [asdict(each) for each in (families if only_families else held)]
    plain: Json = json.loads(json.dumps(record, default=str))
    if not held:
        text = "No document has been read yet: rag-assets refresh"
    elif only_families:
        text = "\n\n".join(_families(families)) or "No document has another version."
    else:
        text = table([_row(each) for each in held], columns=COLUMNS)
    return Reply(record={"documents": plain}, text=text)


def _families(members: Sequence[DocumentMember]) -> Iterator[str]:
    """Each family with its versions, the newest first, then the proposals."""
    ordered = sorted(
        members,
        key=lambda each: (
            each.status == "proposed",
            each.family or "",
            -(each.place or 0),
            each.uri,
        ),
    )
    for (is_proposed, _), group in groupby(
        ordered, key=lambda each: (each.status == "proposed", each.family)
    ):
        versions = list(group)
        rows = [{**_row(each), "because": each.evidence} for each in versions]
        shown = table(rows, columns=["document", "version", "valid from", "status", "because"])
        head = versions[0].number or versions[0].title or versions[0].uri
        if is_proposed:
            names = " ".join(each.uri for each in versions[:2])
            shown += (
                "\nIf they are versions of one: rag-assets documents --confirm NEW OLD\n"
                f"If not: rag-assets documents --reject {names}"
            )
        yield f"{'Proposed: ' if is_proposed else ''}{head}\n{shown}"


def _row(document: DocumentMember) -> Mapping[str, object]:
    title = document.title
    return {
        "document": document.uri,
        "version": document.version,
        "valid from": document.released.isoformat() if document.released else "",
        "status": document.status,
        "number": document.number,
        "title": title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…",
    }


def _decided(config: Config, one: DocumentMember, other: DocumentMember, *, kind: Kind) -> Reply:
    """Write a decision down, after all that were made before."""
    if one == other:
        raise UsageError(f"{one.uri} was named twice: name two documents")
    file = config.documents.families
    names = [f"{each.source}/{each.uri}" for each in (one, other)]
    try:
        before = read_decisions(file)
        write_atomically(file, as_csv(Decisions((*before.made, Decision(*names, kind)))))
    except DecisionsError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror or error}") from error
    said = "is the newer version of" if kind == "versions" else "is no version of"
    return Reply(
        record={"newer": names[0], "older": names[1], "are": kind, "file": str(file)},
        text=f"{one.uri} {said} {other.uri}: written to {file}. It counts from the next "
        "`rag-assets refresh` on.",
    )


def _compared(store: Store, elements: str, older: DocumentMember, newer: DocumentMember) -> Reply:
    sections = [read_sections(store, elements, each.document_id) for each in (older, newer)]
    changes = section_changes(*sections)
    text = "\n\n".join(map(_section, changes)) or "No section differs."
    sections_record: Json = json.loads(json.dumps([asdict(each) for each in changes]))
    return Reply(
        record={"old": older.uri, "new": newer.uri, "sections": sections_record},
        text=f"From {older.uri} to {newer.uri}\n\n{text}",
    )


def _section(change: SectionChange) -> str:
    numbers = [
        f"  ~ {each.after} ({', '.join(f'{old} -> {new}' for old, new in each.numbers)})"
        for each in change.numbers
    ]
    lines = [
        *numbers,
        *(f"  - {line}" for line in change.removed),
        *(f"  + {line}" for line in change.added),
    ]
    more = len(lines) - MOST_LINES
    shown = [*lines[:MOST_LINES], *([f"  and {more:,} more: see --json"] if more > 0 else [])]
    return "\n".join([f"{change.section} ({change.kind})", *shown])
