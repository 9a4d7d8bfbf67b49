"""`rag-assets documents list`: documents with their versions."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby

from rag_assets.documents.families.shown import DocumentMember
from rag_assets.reports.text_tables import cut, table
from rag_assets.serving.document_versions import PARSERS, documents_read
from rag_assets.serving.replies import Json, Reply, add_variant, project_of

SUMMARY = "list documents with their versions"
EXAMPLES = """\
  rag-assets documents
  rag-assets documents list --families"""

COLUMNS = ("document", "version", "valid from", "status", "number", "title")
LONGEST_TITLE = 48


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    add_variant(command, what=PARSERS)
    command.add_argument(
        "--families", action="store_true", help="only documents that have other versions, by family"
    )


def run(options: argparse.Namespace) -> Reply:
    """List all documents, or those that are versions of others."""
    held = documents_read(*project_of(options), variant=options.variant)
    families = [each for each in held if each.family]
    record = [asdict(each) for each in (families if options.families else held)]
    plain: Json = json.loads(json.dumps(record, default=str))
    if not held:
        text = "No document has been read yet: rag-assets refresh"
    elif options.families:
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
                "\nIf they are versions of one: rag-assets documents confirm NEW OLD\n"
                f"If not: rag-assets documents reject {names}"
            )
        yield f"{'Proposed: ' if is_proposed else ''}{head}\n{shown}"


def _row(document: DocumentMember) -> Mapping[str, object]:
    return {
        "document": document.uri,
        "version": document.version,
        "valid from": document.released.isoformat() if document.released else "",
        "status": document.status,
        "number": document.number,
        "title": cut(document.title, LONGEST_TITLE),
    }
