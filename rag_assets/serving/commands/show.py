"""`rag-assets show`: the page of a unit, with the unit marked; or its table as text."""

import argparse
from dataclasses import asdict
from pathlib import Path

from rag_assets import config as configuration
from rag_assets.config import Config
from rag_assets.serving.replies import CommandError, Reply, positive
from rag_assets.store import Store

SUMMARY = "draw the page of a search hit with the hit marked, or print its table"
EXAMPLES = """\
  rag-assets search "heat treatment of the rotor" --json     gives the unit_id of each hit
  rag-assets show 5f0c1e5e-7c0b-5d2a-9f55-0d1f3a4b2c6d --out page.png
  rag-assets show 5f0c1e5e-7c0b-5d2a-9f55-0d1f3a4b2c6d --page 21 --dpi 200 --out page.png
  rag-assets show 5f0c1e5e-7c0b-5d2a-9f55-0d1f3a4b2c6d       a table, a line for each row
  rag-assets show 5f0c1e5e-7c0b-5d2a-9f55-0d1f3a4b2c6d --json      its cells and Markdown as well"""


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Declare the options of this command."""
    command.add_argument("unit_id", help="unit_id of a hit (see search --json)")
    command.add_argument(
        "--out",
        type=Path,
        help="PNG file to write (overwritten); without it, the hit's table is printed",
    )
    command.add_argument("--variant", help="variant to use (default: the one that serves)")
    command.add_argument(
        "--page", type=positive, help="which page, if the hit spans several (default: the first)"
    )
    command.add_argument("--dpi", type=positive, default=120, help="dots per inch (default: 120)")


def run(options: argparse.Namespace) -> Reply:
    """Draw the page and write it to a file, or print the table."""
    config = configuration.load()
    if options.variant:
        config.variant(options.variant)
    if options.out is None and options.page is not None:
        raise CommandError("--page is for a picture: name the file to write with --out")
    if options.out is None:
        return _table(config, variant=options.variant, unit_id=options.unit_id)
    return _picture(config, options)


def _table(config: Config, *, variant: str | None, unit_id: str) -> Reply:
    from rag_assets.documents.chunks.location import NotShownError
    from rag_assets.documents.chunks.renditions import table_of_unit

    try:
        table = table_of_unit(Store.of(config), config, variant=variant, unit_id=unit_id)
    except NotShownError as error:
        raise CommandError(str(error)) from error
    return Reply(asdict(table), table.text)


def _picture(config: Config, options: argparse.Namespace) -> Reply:
    from rag_assets.documents.chunks.location import NotShownError
    from rag_assets.documents.figures.page_pictures import picture_of
    from rag_assets.store.atomic import write_atomically

    try:
        picture = picture_of(
            Store.of(config),
            config,
            variant=options.variant,
            unit_id=options.unit_id,
            page=options.page,
            dpi=options.dpi,
        )
    except NotShownError as error:
        raise CommandError(str(error)) from error
    try:
        write_atomically(options.out, picture.data)
    except OSError as error:
        raise CommandError(f"{options.out} cannot be written: {error.strerror}") from error
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
