"""`rag-assets show`: a search hit where it stands, with the hit marked."""

import argparse
import sys
import textwrap
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from rag_assets.config import Config
from rag_assets.reports import pages
from rag_assets.serving.answer_text import excerpt_lines
from rag_assets.serving.replies import (
    CommandError,
    Json,
    Reply,
    add_variant,
    positive,
    project_of,
    write_file,
)
from rag_assets.store import Store

if TYPE_CHECKING:
    from rag_assets.operations.explain.explaining import FoundUnit, UnitLineage

SUMMARY = "show a hit where it stands, marked in its text or on its page, or its lineage"
EXAMPLES = """\
  rag-assets search "heat treatment of the rotor"      shows the id of each hit
  rag-assets show 5f0c1e5e                             what stands around it, the hit marked
  rag-assets show 5f0c1e5e --out hit.html              the same as a web page
  rag-assets show 5f0c1e5e --out page.png              the page of a PDF, or a figure
  rag-assets show 5f0c1e5e --page 21 --dpi 200 --out page.png
  rag-assets show 5f0c1e5e --lineage                   its file, parser, chunking, model and runs
  rag-assets show 5f0c1e5e --json                      of a table, its cells and Markdown too"""

PAGES = (".html", ".htm")
AROUND = 6
"""So many lines are shown before the hit, and as many behind it."""
WIDTH = 100


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("unit_id", help="id of a hit, as search shows it: its start is enough")
    add_variant(command)
    what = command.add_mutually_exclusive_group()
    what.add_argument(
        "--lineage",
        action="store_true",
        help="tell where it comes from: file, parser, chunking, model and runs",
    )
    what.add_argument(
        "--out", type=Path, help="file to write (overwritten): .html for a web page, else a PNG"
    )
    command.add_argument(
        "--page", type=positive, help="which page, if the hit spans several (default: the first)"
    )
    command.add_argument("--dpi", type=positive, default=120, help="dots per inch (default: 120)")


def run(options: argparse.Namespace) -> Reply:
    """Print what stands around the unit or where it is from, or write a page or picture of it."""
    from rag_assets.operations.explain.explaining import explain, find_unit

    config, store = project_of(options)
    is_picture = options.out is not None and options.out.suffix.lower() not in PAGES
    if options.page is not None and not is_picture:
        raise CommandError("--page is for a picture: name the file to write with --out FILE.png")
    if options.lineage:
        lineage = explain(store, config, unit_id=options.unit_id, variant=options.variant)
        return Reply(lineage.record(), _lineage(lineage))
    found = find_unit(store, config, unit_id=options.unit_id, variant=options.variant)
    if is_picture:
        return _picture(config, found, options)
    return _excerpt(config, found, options)


def _excerpt(config: Config, found: "FoundUnit", options: argparse.Namespace) -> Reply:
    from rag_assets.answering.evidence_cards import EvidenceCards, excerpt_of
    from rag_assets.documents.chunks.renditions import table_of_unit
    from rag_assets.table_lookup.tables.catalogue import catalogue_of

    store, complete_set = Store.of(config), found.complete_set
    excerpt = excerpt_of(store, complete_set, found.row)
    section = found.row["section"]
    head = f"{found.place}{f', {section}' if section else ''}"
    record: dict[str, Json] = {"unit_id": found.unit_id, "place": head, **asdict(excerpt)}
    if options.out is not None:
        catalogue = catalogue_of(store, complete_set)
        cards = EvidenceCards(store, config, complete_set, catalogue, options.variant, sight=None)
        card = cards.of_unit(found.unit_id, is_drawn=True)
        title = f"Unit {found.unit_id} of variant {found.variant}"
        page = pages.render("citations/page.html", title=title, card=card)
        write_file(options.out, page.encode())
        return Reply({"out": str(options.out), **record}, f"{options.out}: {head}")
    if found.row["type"] == "table":
        table = table_of_unit(store, config, variant=options.variant, unit_id=found.unit_id)
        return Reply({**record, **asdict(table)}, f"{head}\n{table.text}")
    lines = excerpt_lines(**asdict(excerpt), around=AROUND, bold=sys.stdout.isatty())
    return Reply(record, "\n".join([head, *lines]))


def _picture(config: Config, found: "FoundUnit", options: argparse.Namespace) -> Reply:
    from rag_assets.documents.figures.page_pictures import picture_of

    if found.row["domain"] == "table":
        raise CommandError(f"{found.place} has no page: give --out FILE.html, or no --out")
    picture = picture_of(
        Store.of(config),
        config,
        variant=options.variant,
        unit_id=found.unit_id,
        page=options.page,
        dpi=options.dpi,
    )
    write_file(options.out, picture.data)
    record = asdict(picture)
    del record["data"]
    text = f"{options.out}: {picture.uri}"
    if picture.page is not None:
        text += f", page {picture.page}"
    if picture.kind == "page" and not picture.marks:
        text += "; this parser does not say where on the page a text stands, so nothing is marked"
    if others := [str(page) for page in picture.pages if page != picture.page]:
        text += f"; also on page {', '.join(others)}: see --page"
    return Reply({"out": str(options.out), **record}, text)


def _lineage(found: "UnitLineage") -> str:
    from rag_assets.operations.explain.explaining import rows_of

    text = textwrap.shorten(found.text, WIDTH, placeholder=" ...")
    parts = [f"{found.unit_id} of variant {found.variant}: {found.place}\n  {text}"]
    for row in rows_of(found):
        by = "" if row["by run"] == "-" else f", by run {row['by run']}"
        lines = [f"{row['step']}: made {row['made']}{by}, in {row['in']}"]
        for words in (row["from"], f"would change by {row['would change it']}"):
            lines += textwrap.wrap(words, WIDTH, initial_indent="  ", subsequent_indent="  ")
        parts.append("\n".join(lines))
    return "\n\n".join(parts)
